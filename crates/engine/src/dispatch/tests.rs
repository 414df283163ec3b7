mod entry;

use std::collections::HashMap;
use std::path::Path;

use hookwright_events::{
    Answer, Decision, EventName, Output, PersonOutcome, ProcessOutcome, RequestOutcome, Verdict,
    WorkOutcome,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::hook_set::HookSet;
use crate::ports::Memory;
use crate::ports::memory::InMemoryMemory;

const GUARD: &str = "tool:pre_execute";
const STOP: &str = "session:stop";
const RESULT: &str = "tool:post_execute";
const OBSERVED: &str = "iteration:complete";

static AT_ONCE: Policy = Policy { dialect: "at-once", order: Order::AtOnce, ..Policy::NATIVE };

/// What a hook does in one attempt.
#[derive(Debug, Clone)]
enum Play {
    Ends(Outcome),
    /// It moves to the background and ends like this after the decision.
    GoesAsync(Outcome),
}

impl From<Outcome> for Play {
    fn from(outcome: Outcome) -> Self {
        Play::Ends(outcome)
    }
}

fn exited(code: i32, stdout: &str, stderr: &str) -> Outcome {
    Outcome::Process(ProcessOutcome::Exited {
        code,
        output: Output { stdout: stdout.into(), stderr: stderr.into(), ..Output::default() },
    })
}

fn exit(code: i32) -> Outcome {
    exited(code, "", "")
}

fn blocks(reason: &str) -> Outcome {
    exited(2, "", reason)
}

fn answers(answer: Value) -> Outcome {
    exited(0, &answer.to_string(), "")
}

fn timed_out() -> Outcome {
    Outcome::Process(ProcessOutcome::TimedOut { after_ms: 2_000, output: Output::default() })
}

fn responded(status: u16, retry_after_ms: Option<u64>) -> Outcome {
    Outcome::Request(RequestOutcome::Responded {
        status,
        output: Output::default(),
        retry_after_ms,
    })
}

fn said(action: &str, refused: bool) -> Outcome {
    let (response, by) = (Box::new(json!({ "action": action })), "ann".to_owned());
    Outcome::Person(PersonOutcome::Decided { response, refused, by, at: String::new() })
}

fn interrupted() -> Outcome {
    Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() })
}

fn decision(verdict: Verdict) -> Decision {
    Decision { verdict, ..Decision::default() }
}

fn blocked(reason: &str) -> Decision {
    decision(Verdict::Block { reason: reason.into() })
}

fn stopped(reason: &str) -> Decision {
    decision(Verdict::Stop { reason: reason.into() })
}

fn aborted(reason: &str) -> Decision {
    decision(Verdict::Abort { reason: reason.into() })
}

fn with_contexts(contexts: &[&str]) -> Decision {
    Decision {
        additional_context: contexts.iter().map(|text| (*text).to_owned()).collect(),
        ..Decision::default()
    }
}

/// An event to fire, with its hooks.
struct Firing {
    given: DispatchInput,
}

impl Firing {
    /// The hooks of one event, one entry per line.
    fn at(event: &str, entries: &str) -> Self {
        let name = EventName::resolve(event).expect("known");
        let entries = entries.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut hooks = HookSet::new();
        for (number, line) in entries.enumerate() {
            hooks.add(entry::read(name.as_str(), number, line)).expect("not full");
        }
        let event = Event::new(name, serde_json::Map::new());
        Self {
            given: DispatchInput {
                chance: 0,
                hooks: hooks.woken(&event),
                event: Arc::new(event),
                broken: Vec::new(),
                skip: Arc::default(),
                started_by: Arc::default(),
                remembered: Remembered::default(),
                chain: Chain::default(),
                environment: Arc::new(Environment::default()),
                no_approver: false,
                is_watched: true,
                past: Vec::new(),
                background: Background::Here,
            },
        }
    }

    fn data(mut self, data: Value) -> Self {
        let Value::Object(data) = data else { panic!("data is an object") };
        self.given.event = Arc::new(Event::new(self.given.event.name.clone(), data));
        self
    }

    fn skip(mut self, ids: &[&str]) -> Self {
        self.given.skip = ids.iter().map(|id| (*id).to_owned()).collect();
        self
    }

    fn broken(mut self, broken: &[&str]) -> Self {
        self.given.broken = broken.iter().map(|text| (*text).to_owned()).collect();
        self
    }

    fn background_elsewhere(mut self) -> Self {
        self.given.background = Background::Elsewhere;
        self
    }

    fn remembered(mut self, remembered: Remembered) -> Self {
        self.given.remembered = remembered;
        self
    }

    fn chain(mut self, links: &[(&str, &str)]) -> Self {
        for (event, hook) in links {
            let event = EventName::resolve(event).expect("known");
            self.given.chain =
                self.given.chain.with(&event, hook, std::path::Path::new("hookwright.yaml"));
        }
        self
    }

    fn change(mut self, ids: &[&str], change: impl Fn(&mut Hook)) -> Self {
        for hook in &mut self.given.hooks {
            if ids.contains(&hook.id.as_str()) {
                change(Arc::make_mut(hook));
            }
        }
        self
    }

    fn at_once(self, ids: &[&str]) -> Self {
        self.change(ids, |hook| hook.policy = &AT_ONCE)
    }

    fn in_file(self, ids: &[&str], file: &str) -> Self {
        self.change(ids, |hook| hook.source.file = Path::new(file).into())
    }

    /// Fires it; the test controls what happens next.
    fn fire(self) -> Machine {
        let mut machine = Machine {
            dispatch: Dispatch::new(self.given),
            lines: Vec::new(),
            kept: Vec::new(),
            decision: None,
            running: Vec::new(),
            sleeping: Vec::new(),
        };
        machine.feed(HookHappening::Fired);
        machine
    }

    /// Fires it; every hook does what its script says, or succeeds. Awaited hooks end first, so
    /// that the others still run when the decision is made.
    fn play<const N: usize>(self, script: [(&str, Vec<Play>); N]) -> Machine {
        let mut script: HashMap<&str, std::vec::IntoIter<Play>> =
            script.into_iter().map(|(id, plays)| (id, plays.into_iter())).collect();
        let mut machine = self.fire();
        let mut late: HashMap<usize, Outcome> = HashMap::new();
        while let Some(number) = machine.whose_turn() {
            if machine.sleeping.contains(&number) {
                machine.feed(HookHappening::TimeToRetry { hook: number, slept: SLEPT });
                continue;
            }
            let id = machine.id(number);
            let next = script.get_mut(id.as_str()).and_then(Iterator::next);
            match (late.remove(&number), next) {
                (Some(outcome), _) | (None, Some(Play::Ends(outcome))) => {
                    machine.ends(&id, outcome);
                }
                (None, None) => machine.ends(&id, exit(0)),
                (None, Some(Play::GoesAsync(outcome))) => {
                    late.insert(number, outcome);
                    machine.feed(HookHappening::WentAsync { hook: number, answer: None });
                }
            }
        }
        for (id, mut rest) in script {
            assert!(rest.next().is_none(), "{id} did not do all of its script");
        }
        machine
    }
}

/// How long a delay before the next attempt took.
const SLEPT: Duration = Duration::from_secs(5);

/// A firing in progress: feeds the machine and records its steps.
struct Machine {
    dispatch: Dispatch,
    lines: Vec<String>,
    kept: Vec<Keepsake>,
    decision: Option<Decision>,
    running: Vec<usize>,
    sleeping: Vec<usize>,
}

impl Machine {
    fn id(&self, number: usize) -> String {
        self.dispatch.hook(number).id.clone()
    }

    fn number(&self, id: &str) -> usize {
        self.dispatch
            .reports()
            .iter()
            .position(|report| report.id == id)
            .expect("there is such a hook")
    }

    fn whose_turn(&self) -> Option<usize> {
        let in_background = self.dispatch.in_background();
        let is_awaited = |number: &&usize| !in_background.contains(*number);
        let all = || self.running.iter().chain(&self.sleeping);
        all().find(is_awaited).or_else(|| all().next()).copied()
    }

    fn ends(&mut self, id: &str, outcome: Outcome) {
        let hook = self.number(id);
        let took = Duration::from_millis(3);
        self.feed(HookHappening::Ended { hook, outcome, took });
    }

    fn goes_async(&mut self, id: &str) {
        let hook = self.number(id);
        self.feed(HookHappening::WentAsync { hook, answer: None });
    }

    fn wakes(&mut self, id: &str) {
        let hook = self.number(id);
        self.feed(HookHappening::TimeToRetry { hook, slept: SLEPT });
    }

    fn feed(&mut self, happening: HookHappening) {
        match &happening {
            HookHappening::Ended { hook, .. } => {
                assert!(self.running.contains(hook), "only what runs can end");
                self.running.retain(|number| number != hook);
            }
            HookHappening::TimeToRetry { hook, .. } => {
                self.sleeping.retain(|number| number != hook)
            }
            HookHappening::Fired | HookHappening::WentAsync { .. } | HookHappening::Interrupted => {
            }
        }
        for step in self.dispatch.advance(happening) {
            self.take(step);
        }
    }

    fn take(&mut self, step: HookStep) {
        let line = match step {
            HookStep::Start { hook, attempt } => {
                assert!(!self.running.contains(&hook), "it runs already");
                self.running.push(hook);
                match attempt {
                    1 => format!("start {}", self.id(hook)),
                    attempt => format!("start {}, attempt {attempt}", self.id(hook)),
                }
            }
            HookStep::HandOver { hook } => format!("hand over {}", self.id(hook)),
            HookStep::Sleep { hook, delay } => {
                self.sleeping.push(hook);
                format!("sleep {} {delay:?}", self.id(hook))
            }
            HookStep::Remember(keepsake) => {
                let line = match &keepsake {
                    Keepsake::Once { hook } => format!("remember once {hook}"),
                    Keepsake::LastHookStatus { status } => format!("remember {status}"),
                    Keepsake::HookResponse { response } => format!("remember {response}"),
                    Keepsake::SpawnOutput { output } => format!("remember {output:?}"),
                    Keepsake::StopBlocks { agent, count } => {
                        format!("remember {count} stop blocks{agent}")
                    }
                    Keepsake::LateAnswer { .. } => "remember a late answer".into(),
                };
                self.kept.push(keepsake);
                line
            }
            HookStep::Record(kind) => record(*kind),
            HookStep::Finished(decision) => {
                assert_eq!(self.decision, None, "it finishes once");
                self.decision = Some(*decision);
                "finished".into()
            }
        };
        self.lines.push(line);
    }

    /// What started, slept and was skipped, and when the decision was made.
    fn order(&self) -> Vec<&str> {
        const SHOWN: &[&str] = &["start ", "hand over ", "sleep ", "skip ", "finished"];
        self.lines
            .iter()
            .map(String::as_str)
            .filter(|line| SHOWN.iter().any(|start| line.starts_with(start)))
            .collect()
    }

    fn decided(&self) -> Decision {
        self.decision.clone().expect("a decision was made")
    }

    /// Id, status, attempts and reason of every hook.
    fn reports(&self) -> Vec<String> {
        self.dispatch.reports().iter().map(report_line).collect()
    }
}

fn report_line(report: &Report) -> String {
    let Report { id, status, attempts, reason, .. } = report;
    let reason = reason.as_deref().map_or(String::new(), |r| format!(": {r}"));
    format!("{id} {} x{attempts}{reason}", status.as_str())
}

fn record(kind: FiringEvent) -> String {
    match kind {
        FiringEvent::Fired { event, subject, .. } => format!("fired {event} {subject:?}"),
        FiringEvent::HookSkipped { hook, reason, ended_by } => {
            let by = ended_by.map_or(String::new(), |by| format!(" (ended by {by})"));
            format!("skip {hook}: {reason}{by}")
        }
        FiringEvent::HookStarting { hook, attempt, awaited, .. } => {
            format!("record starting {hook} {attempt} awaited={awaited}")
        }
        FiringEvent::HookEnded { hook, attempt, .. } => format!("record ended {hook} {attempt}"),
        FiringEvent::HookRetrying { hook, attempt, after_ms, reason } => {
            format!("record retrying {hook} {attempt} after {after_ms} ms: {reason}")
        }
        FiringEvent::HookWentAsync { hook, .. } => format!("record async {hook}"),
        FiringEvent::LateAnswer { hook, .. } => format!("record late answer {hook}"),
        FiringEvent::HookReported { report } => format!("record report {}", report_line(&report)),
        FiringEvent::Decided { decision } => format!("record decided {}", decision["decision"]),
        other => unreachable!("dispatch knows no processes and no sessions: {other:?}"),
    }
}

/// Fires in a session that remembers.
async fn fire_in<const N: usize>(
    memory: &InMemoryMemory,
    firing: Firing,
    script: [(&str, Vec<Play>); N],
) -> Machine {
    let remembered = memory.recall("s").await;
    let mut machine = firing.remembered(remembered).play(script);
    for keepsake in std::mem::take(&mut machine.kept) {
        memory.keep("s", keepsake).await;
    }
    machine
}

// Order, records and the end.

#[test]
fn without_hooks_the_decision_is_made_at_once() {
    let machine = Firing::at(GUARD, "").data(json!({ "tool_name": "Bash" })).fire();
    assert_eq!(
        machine.lines,
        ["fired tool:pre_execute Some(\"bash\")", "record decided null", "finished"]
    );
    assert_eq!(machine.decided(), Decision::default());
    assert_eq!(machine.reports(), [""; 0]);
}

#[test]
fn every_effect_is_recorded_before_it_begins_and_the_decision_before_it_is_made() {
    let machine = Firing::at(
        OBSERVED,
        "id: a, command: x, await: true, once: true, on_failure: retry, retries: 1
         id: b, command: x, enabled: false
         id: c, command: x",
    )
    .play([("a", vec![exit(1).into()])]);
    assert_eq!(
        machine.lines,
        [
            "fired iteration:complete None",
            "record starting a 1 awaited=true",
            "remember once hookwright.yaml#a",
            "start a",
            "record ended a 1",
            "record retrying a 2 after 5000 ms: exit code 1",
            "sleep a 5s",
            "record starting a 2 awaited=true",
            "start a, attempt 2",
            "record ended a 2",
            "record report a success x2",
            "remember success",
            "skip b: enabled: false",
            "record starting c 1 awaited=false",
            "start c",
            "record decided null",
            "finished",
            "record ended c 1",
            "record report c success x1",
        ]
    );
}

// Conformance: agent-pipelines-015
#[test]
fn awaited_hooks_run_one_by_one_in_order_and_the_others_start_and_go_on() {
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x, await: false
         id: c, command: x
         id: d, command: x, await: false",
    )
    .fire();
    assert_eq!(machine.order(), ["start a"]);
    machine.ends("a", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "start c"]);
    machine.ends("b", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "start c"]);
    machine.ends("c", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "start c", "start d", "finished"]);
    let reports = |last: &str| {
        vec![
            "a success x1".to_owned(),
            "b success x1".to_owned(),
            "c success x1".to_owned(),
            last.to_owned(),
        ]
    };
    assert_eq!(machine.reports(), reports("d started x1"));
    machine.ends("d", exit(1));
    assert_eq!(machine.reports(), reports("d failed x1: exit code 1"));
    assert_eq!(machine.decided(), Decision::default());
}

#[test]
fn a_report_describes_the_whole_run() {
    let machine = Firing::at(GUARD, "id: a, command: x, on_failure: retry, retries: 1")
        .play([("a", vec![exited(1, "one", "").into(), exited(2, "out", "no\n").into()])]);
    assert_eq!(
        machine.dispatch.reports(),
        [Report {
            id: "a".into(),
            action: "shell".into(),
            source: "hookwright.yaml:4".into(),
            status: Status::Blocked,
            exit_code: Some(2),
            stdout: "out".into(),
            stderr: "no\n".into(),
            attempts: 2,
            duration_ms: 5006.0,
            reason: Some("no".into()),
            interrupted: false,
            shows_output: false,
            hides_output: false,
        }]
    );
}

#[test]
fn the_decision_is_recorded_with_the_reports_of_all_hooks() {
    let mut dispatch = Dispatch::new(
        Firing::at(
            GUARD,
            "id: a, command: x, enabled: false
             id: b, command: x, await: false",
        )
        .given,
    );
    let steps = dispatch.advance(HookHappening::Fired);
    let recorded = steps.iter().find_map(|step| match step {
        HookStep::Record(kind) => match kind.as_ref() {
            FiringEvent::Decided { decision } => Some(decision),
            _ => None,
        },
        _ => None,
    });
    let event = Event::new(EventName::resolve(GUARD).expect("known"), serde_json::Map::new());
    assert_eq!(recorded, Some(&Decision::default().record(&event, &dispatch.reports())));
}

// Skipped hooks.

#[test]
fn disabled_unmet_done_and_skipped_hooks_are_passed_with_a_reason() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x, enabled: false
         id: b, command: x
         id: c, command: x, when: \"${TOOL_NAME} == 'write'\"
         id: d, command: x, once: true
         id: e, command: x, once: true, when: \"${TOOL_NAME} == 'bash'\"",
    )
    .data(json!({ "tool_name": "bash" }))
    .skip(&["b"])
    .remembered(Remembered { once: vec!["hookwright.yaml#d".into()], ..Remembered::default() })
    .play([]);
    assert_eq!(
        machine.order(),
        [
            "skip a: enabled: false",
            "skip b: --skip b",
            "skip c: when: ${TOOL_NAME} == 'write'",
            "skip d: once: it has already run in this session",
            "start e",
            "finished"
        ]
    );
    assert_eq!(
        machine.reports(),
        [
            "a skipped x0: enabled: false",
            "b skipped x0: --skip b",
            "c skipped x0: when: ${TOOL_NAME} == 'write'",
            "d skipped x0: once: it has already run in this session",
            "e success x1"
        ]
    );
    assert_eq!(machine.decided(), Decision::default());
}

#[tokio::test]
async fn a_hook_with_once_runs_once_per_session_even_if_it_fails() {
    let memory = InMemoryMemory::default();
    let entries = "id: a, command: x, once: true, on_failure: continue";
    let first = fire_in(&memory, Firing::at(GUARD, entries), [("a", vec![exit(1).into()])]).await;
    assert_eq!(first.order(), ["start a", "finished"]);
    let second = fire_in(&memory, Firing::at(GUARD, entries), []).await;
    assert_eq!(second.order(), ["skip a: once: it has already run in this session", "finished"]);
}

#[test]
fn a_hook_with_once_that_is_skipped_or_refused_is_not_remembered() {
    let machine = Firing::at(
        OBSERVED,
        "id: a, command: x, once: true, enabled: false
         id: b, command: x, once: true, when: \"${ITERATION} + 1 > 1\"",
    )
    .play([]);
    assert_eq!(machine.kept, []);
}

#[test]
fn a_condition_that_fails_is_a_failed_hook_and_blocks_at_a_guard() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x, when: \"${ITERATION} + 1 > 1\"
         id: b, command: x",
    )
    .play([]);
    let reason = "hook a failed (cannot start: its condition `${ITERATION} + 1 > 1` cannot be evaluated: `+` \
                  needs a number but `${ITERATION}` is empty); make it exit with 0, or set \
                  on_failure: continue";
    assert_eq!(machine.order(), ["skip b: a blocked", "finished"]);
    assert_eq!(
        machine.reports(),
        [format!("a failed x0: {reason}"), "b skipped x0: a blocked".into()]
    );
    assert_eq!(machine.decided(), blocked(reason));
}

#[test]
fn a_failed_condition_is_handled_by_on_failure_and_not_retried() {
    let fails = "command: x, when: \"${ITERATION} + 1 > 1\"";
    let cause = "cannot start: its condition `${ITERATION} + 1 > 1` cannot be evaluated: `+` needs a number but \
                 `${ITERATION}` is empty";
    for (terms, decision) in [
        ("on_failure: continue", Decision::default()),
        ("on_failure: abort", aborted(&format!("hook a failed ({cause})"))),
        ("on_failure: retry, on_exhausted: continue", Decision::default()),
        ("await: false", Decision::default()),
    ] {
        let machine = Firing::at(GUARD, &format!("id: a, {fails}, {terms}")).play([]);
        assert_eq!(machine.order(), ["finished"], "{terms}");
        assert_eq!(machine.decided(), decision, "{terms}");
        assert_eq!(machine.dispatch.reports()[0].status, Status::Failed, "{terms}");
    }
}

// LAST_HOOK_STATUS.

// Conformance: agent-pipelines-064
#[test]
fn a_later_condition_sees_how_the_last_awaited_hook_ended() {
    for (outcome, expected) in [
        (exit(0), "start succeeded"),
        (exit(1), "start failed"),
        (timed_out(), "start failed"),
        (blocks("no"), "start failed"),
    ] {
        // The observer starts after a block too.
        let machine = Firing::at(
            GUARD,
            "id: a, command: x, on_failure: continue
             id: succeeded, await: false, command: x, when: \"${LAST_HOOK_STATUS} == 'success'\"
             id: failed, await: false, command: x, when: \"${LAST_HOOK_STATUS} == 'failed'\"",
        )
        .play([("a", vec![outcome.clone().into()])]);
        let started: Vec<&str> =
            machine.order().into_iter().filter(|line| line.starts_with("start")).collect();
        assert_eq!(started, ["start a", expected], "{outcome:?}");
    }
}

#[test]
fn skipped_and_background_hooks_leave_the_last_hook_status_as_it_was() {
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: skipped, command: x, enabled: false
         id: background, command: x, await: false
         id: b, command: x, on_failure: continue
         id: c, command: x, when: \"${LAST_HOOK_STATUS} == 'success'\"",
    )
    .fire();
    machine.ends("a", exit(0));
    machine.ends("background", exit(1));
    assert_eq!(machine.dispatch.carried().last_hook_status.as_deref(), Some("success"));
    machine.ends("b", exit(0));
    machine.ends("c", exit(0));
    assert_eq!(machine.kept, vec![Keepsake::LastHookStatus { status: "success".into() }; 3]);
}

#[tokio::test]
async fn the_last_hook_status_lasts_across_events() {
    let memory = InMemoryMemory::default();
    let first = Firing::at(OBSERVED, "id: a, command: x, await: true");
    fire_in(&memory, first, [("a", vec![timed_out().into()])]).await;
    let second = Firing::at(GUARD, "id: b, command: x, when: \"${LAST_HOOK_STATUS} == 'failed'\"");
    let second = fire_in(&memory, second, []).await;
    assert_eq!(second.order(), ["start b", "finished"]);
}

#[test]
fn a_hook_that_went_async_leaves_the_last_hook_status_as_it_was() {
    let entries = "id: a, command: x
                   id: b, command: x, on_failure: retry, retries: 1, on_exhausted: continue
                   id: c, command: x";
    let machine = Firing::at(GUARD, entries).play([("b", vec![Play::GoesAsync(exit(1))])]);
    let success = Keepsake::LastHookStatus { status: "success".into() };
    assert_eq!(machine.kept, vec![success.clone(); 2]);

    // Its first attempt failed, and the second moved to the background.
    let machine =
        Firing::at(GUARD, entries).play([("b", vec![exit(1).into(), Play::GoesAsync(exit(0))])]);
    assert_eq!(machine.kept, vec![success; 2]);
}

#[test]
fn an_answer_before_a_hook_goes_async_counts_and_its_end_does_not() {
    let entries = "id: a, command: x
                   id: b, command: x";
    for (answer, ends_with) in [
        (Answer::deny("no"), exited(0, r#"{"decision": "allow"}"#, "")),
        (Answer::deny("no"), exit(1)),
    ] {
        let mut machine = Firing::at(GUARD, entries).fire();
        let answer = Some(Box::new(answer));
        machine.feed(HookHappening::WentAsync { hook: 0, answer });
        let verdict = machine.decision.as_ref().map(|decision| decision.verdict.clone());
        assert_eq!(verdict, Some(Verdict::Block { reason: "no".into() }));
        machine.ends("a", ends_with);
        let report = &machine.dispatch.reports()[0];
        assert_eq!((report.status, report.reason.as_deref()), (Status::Blocked, Some("no")));
    }
    // The second one still runs while the first continues, even if that ends first.
    let mut machine = Firing::at(GUARD, entries).fire();
    let answer = Some(Box::new(Answer::context("told")));
    machine.feed(HookHappening::WentAsync { hook: 0, answer });
    machine.ends("a", exited(0, r#"{"decision": "deny", "additionalContext": "late"}"#, ""));
    machine.ends("b", exit(0));
    let decision = machine.decision.as_ref().expect("all that is awaited has ended");
    assert_eq!(decision.verdict, Verdict::Proceed { rewritten_input: None });
    assert_eq!(decision.additional_context, ["told"]);
    let late = |kept: &Keepsake| matches!(kept, Keepsake::LateAnswer { answer } if answer.additional_context == ["late"]);
    assert!(machine.kept.iter().any(late), "{:?}", machine.kept);
}

// Failures.

#[test]
fn a_failed_guard_blocks_with_a_reason_that_names_it_and_the_fix() {
    for (outcome, how) in [
        (exit(1), "exit code 1"),
        (exit(126), "cannot start: exit code 126 (not executable)"),
        (exit(127), "cannot start: exit code 127 (not found)"),
        (exited(1, "", "boom\n"), "exit code 1: boom"),
        (timed_out(), "timed out after 2 s"),
        (interrupted(), "interrupted"),
        (
            Outcome::Process(ProcessOutcome::Killed { signal: 9, output: Output::default() }),
            "killed by signal 9",
        ),
        (
            Outcome::Process(ProcessOutcome::WantedTerminal { output: Output::default() }),
            "stopped because it tried to read the terminal, which hooks do not have",
        ),
        (
            Outcome::Process(ProcessOutcome::NotStarted { cause: "bash not found".into() }),
            "cannot start: bash not found",
        ),
        (
            exited(0, r#"{"decision": "maybe"}"#, ""),
            "its answer cannot be read: `decision` is `maybe`, expected allow, approve, deny, \
             block or ask",
        ),
        (
            Outcome::Process(ProcessOutcome::Exited {
                code: 0,
                output: Output { held: true, ..Output::default() },
            }),
            "a background child still holds its output open, so its answer may be incomplete; \
             redirect that child's output (`>/dev/null 2>&1 &`)",
        ),
    ] {
        let status = match outcome {
            Outcome::Process(ProcessOutcome::TimedOut { .. }) => "timed_out",
            _ => "failed",
        };
        let machine = Firing::at(
            GUARD,
            "id: a, command: x
             id: b, command: x
             id: c, command: x, await: false",
        )
        .play([("a", vec![outcome.into()])]);
        let reason =
            format!("hook a failed ({how}); make it exit with 0, or set on_failure: continue");
        assert_eq!(machine.decided(), blocked(&reason));
        assert_eq!(machine.order(), ["start a", "skip b: a blocked", "start c", "finished"]);
        assert_eq!(machine.reports()[0], format!("a {status} x1: {reason}"));
    }
}

#[test]
fn the_effect_of_a_failure_depends_on_the_event_unless_configured() {
    let sentence = "hook a failed (exit code 1); make it exit with 0, or set on_failure: continue";
    let plain = "hook a failed (exit code 1)";
    let go_on = Decision::default;
    for (event, terms, expected) in [
        (GUARD, "", blocked(sentence)),
        ("user:prompt_submit", "", blocked(sentence)),
        ("git:pre_commit", "", blocked(sentence)),
        (STOP, "", go_on()),
        ("agent:stop", "", go_on()),
        ("agent:idle", "", go_on()),
        ("task:complete", "", go_on()),
        (RESULT, "", go_on()),
        (OBSERVED, ", await: true", go_on()),
        (GUARD, ", on_failure: continue", go_on()),
        (GUARD, ", on_failure: block", blocked(plain)),
        (STOP, ", on_failure: block", blocked(plain)),
        (GUARD, ", on_failure: abort", aborted(plain)),
        (OBSERVED, ", on_failure: abort", aborted(plain)),
        (GUARD, ", on_failure: retry, retries: 0", blocked(sentence)),
        (STOP, ", on_failure: retry, retries: 0", go_on()),
    ] {
        let machine = Firing::at(event, &format!("id: a, command: x{terms}"))
            .play([("a", vec![exit(1).into()])]);
        assert_eq!(machine.decided(), expected, "{event}{terms}");
        assert_eq!(machine.dispatch.reports()[0].status, Status::Failed);
    }
}

#[test]
fn a_failure_that_is_passed_over_lets_the_next_hook_run() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x, on_failure: continue
         id: b, command: x",
    )
    .play([("a", vec![exit(1).into()])]);
    assert_eq!(machine.order(), ["start a", "start b", "finished"]);
    assert_eq!(machine.reports(), ["a failed x1: exit code 1", "b success x1"]);
}

#[test]
fn a_blocking_failure_after_a_result_adds_its_reason() {
    let machine = Firing::at(RESULT, "id: a, command: x, on_failure: block")
        .play([("a", vec![exit(1).into()])]);
    let told = with_contexts(&["hook a failed (exit code 1)"]);
    assert_eq!(machine.decided(), Decision { must_reach_agent: true, ..told });
}

#[test]
fn a_hook_does_not_start_the_session_again_that_it_has_started() {
    let started_by = |event: &str| {
        let mut firing = Firing::at(event, "id: a, pipeline: x\n id: b, command: x, await: true");
        let keys = firing.given.hooks.iter().map(|hook| hook.key());
        firing.given.started_by = keys.collect();
        firing
    };
    let machine = started_by(OBSERVED).play([("b", vec![exit(0).into()])]);
    assert_eq!(machine.reports(), ["a skipped x0: it started this session", "b success x1"]);
    // A guard that is passed over guards nothing.
    let machine =
        started_by(GUARD).play([("a", vec![exit(0).into()]), ("b", vec![exit(0).into()])]);
    assert_eq!(machine.order(), ["start a", "start b", "finished"]);
}

// Retries.

// Conformance: agent-pipelines-034
#[test]
fn a_send_is_retried_with_any_on_failure_and_its_delay_doubles() {
    let busy = || responded(503, None).into();
    let machine = Firing::at(OBSERVED, "id: a, url: 'https://x', on_failure: abort")
        .play([("a", vec![busy(), busy(), busy(), busy()])]);
    assert_eq!(
        machine.order(),
        [
            "start a",
            "sleep a 5s",
            "start a, attempt 2",
            "sleep a 10s",
            "start a, attempt 3",
            "sleep a 20s",
            "start a, attempt 4",
            "finished"
        ]
    );
    assert_eq!(machine.decided(), aborted("hook a failed in 4 attempts (status 503)"));
}

#[test]
fn a_receiver_may_ask_for_more_time_within_a_bound() {
    let machine = Firing::at(OBSERVED, "id: a, url: 'https://x', on_failure: abort").play([(
        "a",
        vec![
            responded(429, Some(60_000)).into(),
            responded(503, Some(1_000)).into(),
            responded(503, Some(86_400_000)).into(),
        ],
    )]);
    let order = machine.order();
    let slept: Vec<&&str> = order.iter().filter(|line| line.starts_with("sleep")).collect();
    assert_eq!(slept, [&"sleep a 60s", &"sleep a 10s", &"sleep a 300s"]);
}

#[test]
fn delays_differ_between_firings_and_are_never_shorter_than_requested() {
    let delay_with = |chance: u64| {
        let mut firing = Firing::at(OBSERVED, "id: a, url: 'https://x', retry_delay: 8s");
        firing.given.chance = chance;
        let machine = firing.play([("a", vec![responded(500, None).into()])]);
        machine.order()[2].to_owned()
    };
    assert_eq!(delay_with(0), "sleep a 8s");
    // One bit further for the first attempt.
    assert_eq!(delay_with(250), "sleep a 9s");
    assert_eq!(delay_with(499), "sleep a 9.996s");
}

#[test]
fn a_send_that_cannot_succeed_is_not_tried_again() {
    for status in [400, 401, 404, 410, 302] {
        let machine = Firing::at(OBSERVED, "id: a, url: 'https://x', on_failure: abort")
            .play([("a", vec![responded(status, None).into()])]);
        assert_eq!(machine.order(), ["start a", "finished"], "{status}");
    }
}

// People.

// Conformance: agent-pipelines-038
#[test]
fn a_rejection_by_a_person_is_handled_by_on_reject() {
    let proceed = Decision::default;
    for (event, more, expected) in [
        (OBSERVED, "", aborted("rejected by ann")),
        (OBSERVED, ", on_reject: continue", proceed()),
        (OBSERVED, ", on_failure: continue", aborted("rejected by ann")),
        (GUARD, "", blocked("rejected by ann")),
        (GUARD, ", on_reject: abort", aborted("rejected by ann")),
        (GUARD, ", on_reject: continue", proceed()),
        (STOP, "", blocked("rejected by ann")),
    ] {
        let machine = Firing::at(event, &format!("id: a, url: 'https://x', await: true{more}"))
            .play([("a", vec![said("no", true).into()])]);
        assert_eq!(machine.decided(), expected, "{event}{more}");
        assert_eq!(machine.reports(), ["a blocked x1: rejected by ann"], "{event}{more}");
    }
}

#[test]
fn a_persons_approval_allows_at_a_permission_prompt_and_elsewhere_only_continues() {
    let allowed = Decision {
        verdict: Verdict::Allow { reason: None, rewritten_input: None },
        ..Decision::default()
    };
    for (event, action, expected) in [
        ("permission:prompt", "approve", allowed.clone()),
        ("permission:prompt", "yes", allowed),
        ("permission:prompt", "later", Decision::default()),
        (GUARD, "approve", Decision::default()),
        (OBSERVED, "approve", Decision::default()),
    ] {
        let machine = Firing::at(event, "id: a, url: 'https://x', await: true")
            .play([("a", vec![said(action, false).into()])]);
        assert_eq!(machine.decided(), expected, "{event} {action}");
    }
    let machine = Firing::at("permission:prompt", "id: a, url: 'https://x', await: true")
        .play([("a", vec![said("no", true).into()])]);
    assert_eq!(machine.decided(), blocked("rejected by ann"));
}

#[test]
fn an_unanswered_question_is_handled_by_on_timeout_and_not_repeated() {
    let (proceed, reason) = (Decision::default, "no answer within 60 s");
    for (event, more, expected) in [
        (OBSERVED, "", aborted(reason)),
        (OBSERVED, ", on_timeout: continue, on_failure: abort", proceed()),
        (GUARD, "", blocked(reason)),
        (GUARD, ", on_timeout: abort", aborted(reason)),
        (GUARD, ", on_timeout: continue", proceed()),
    ] {
        let machine = Firing::at(event, &format!("id: a, url: 'https://x', await: true{more}"))
            .play([(
                "a",
                vec![Outcome::Person(PersonOutcome::Unanswered { after_ms: 60_000 }).into()],
            )]);
        assert_eq!(machine.decided(), expected, "{event}{more}");
        assert_eq!(machine.order(), ["start a", "finished"]);
        assert_eq!(machine.reports(), [format!("a timed_out x1: {reason}")], "{event}{more}");
    }
}

// Conformance: agent-pipelines-036
#[test]
fn a_persons_answer_is_available_to_later_hooks_and_events() {
    let machine = Firing::at(
        OBSERVED,
        "id: a, url: 'https://x', await: true
         id: b, command: x, await: true, when: \"${HOOK_RESPONSE.action} == 'later'\"
         id: c, command: x, await: true, when: \"${HOOK_RESPONSE.action} == 'never'\"",
    )
    .play([("a", vec![said("later", false).into()])]);
    assert_eq!(
        machine.order(),
        ["start a", "start b", "skip c: when: ${HOOK_RESPONSE.action} == 'never'", "finished"]
    );
    let response = json!({ "action": "later" });
    assert!(machine.kept.contains(&Keepsake::HookResponse { response: response.clone() }));
    let mut remembered = Remembered::default();
    remembered.keep(Keepsake::HookResponse { response });
    let next = Firing::at(STOP, "id: d, command: x, when: \"${HOOK_RESPONSE.action} == 'later'\"")
        .remembered(remembered)
        .play([]);
    assert_eq!(next.order(), ["start d", "finished"]);
}

// Retries of commands.

#[test]
fn a_failed_hook_is_tried_again_after_its_delay_until_it_succeeds() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x, on_failure: retry, retries: 5, retry_delay: 1500ms
         id: b, command: x",
    )
    .play([("a", vec![exit(1).into(), timed_out().into()])]);
    assert_eq!(
        machine.order(),
        [
            "start a",
            "sleep a 1.5s",
            "start a, attempt 2",
            "sleep a 1.5s",
            "start a, attempt 3",
            "start b",
            "finished"
        ]
    );
    assert_eq!(machine.reports(), ["a success x3", "b success x1"]);
    assert_eq!(machine.decided(), Decision::default());
    assert_eq!(machine.kept, vec![Keepsake::LastHookStatus { status: "success".into() }; 2]);
}

// Conformance: agent-pipelines-021
#[test]
fn retry_means_three_attempts_more_five_seconds_apart() {
    let machine = Firing::at(GUARD, "id: a, command: x, on_failure: retry")
        .play([("a", vec![exit(1).into(); 4])]);
    assert_eq!(
        machine.order(),
        [
            "start a",
            "sleep a 5s",
            "start a, attempt 2",
            "sleep a 5s",
            "start a, attempt 3",
            "sleep a 5s",
            "start a, attempt 4",
            "finished"
        ]
    );
}

#[test]
fn a_report_counts_the_delays_between_attempts() {
    for awaits in [true, false] {
        let entry = format!("id: a, command: x, await: {awaits}, on_failure: retry, retries: 2");
        let machine = Firing::at(OBSERVED, &entry).play([("a", vec![exit(1).into(); 3])]);
        let took = machine.dispatch.reports()[0].duration_ms;
        assert!((took - 10_009.0).abs() < 0.001, "await: {awaits}: {took}");
    }
}

#[test]
fn exhausted_attempts_are_handled_by_on_exhausted_or_the_events_default() {
    let plain = "hook a failed in 2 attempts (exit code 1)";
    let sentence = format!("{plain}; make it exit with 0, or set on_failure: continue");
    for (event, exhausted, expected) in [
        (GUARD, "", blocked(&sentence)),
        (GUARD, ", on_exhausted: continue", Decision::default()),
        (GUARD, ", on_exhausted: block", blocked(plain)),
        (GUARD, ", on_exhausted: abort", aborted(plain)),
        (STOP, "", Decision::default()),
        (STOP, ", on_exhausted: block", blocked(plain)),
        (OBSERVED, ", await: true", Decision::default()),
        (OBSERVED, ", on_exhausted: abort", aborted(plain)),
    ] {
        let entry = format!("id: a, command: x, on_failure: retry, retries: 1{exhausted}");
        let machine = Firing::at(event, &entry).play([("a", vec![exit(1).into(); 2])]);
        assert_eq!(machine.decided(), expected, "{event}{exhausted}");
        assert_eq!(machine.dispatch.reports()[0].attempts, 2);
    }
    let machine = Firing::at(
        GUARD,
        "id: a, command: x, on_failure: retry, retries: 1, on_exhausted: continue",
    )
    .play([("a", vec![exit(1).into(); 2])]);
    assert_eq!(machine.reports(), ["a failed x2: exit code 1 in 2 attempts"]);
}

#[test]
fn a_hook_that_is_not_awaited_is_retried_in_the_background() {
    let mut machine = Firing::at(
        OBSERVED,
        "id: a, command: x, on_failure: retry, retries: 1
         id: b, command: x",
    )
    .fire();
    assert_eq!(machine.order(), ["start a", "start b", "finished"]);
    machine.ends("a", exit(1));
    assert_eq!(machine.reports(), ["a started x1".to_owned(), "b started x1".to_owned()]);
    machine.ends("b", exit(0));
    machine.wakes("a");
    machine.ends("a", exit(0));
    assert_eq!(
        machine.order(),
        ["start a", "start b", "finished", "sleep a 5s", "start a, attempt 2"]
    );
    assert_eq!(machine.reports(), ["a success x2", "b success x1"]);
    assert!(machine.dispatch.in_background().is_empty());
}

#[test]
fn a_block_is_never_tried_again() {
    for outcome in [
        blocks("no"),
        answers(json!({ "decision": "deny", "reason": "no" })),
        exited(1, r#"{"decision": "deny", "reason": "no"}"#, ""),
    ] {
        let machine = Firing::at(GUARD, "id: a, command: x, on_failure: retry")
            .play([("a", vec![outcome.into()])]);
        assert_eq!(machine.order(), ["start a", "finished"]);
        assert_eq!(machine.reports(), ["a blocked x1: no"]);
        assert_eq!(machine.decided(), blocked("no"));
    }
}

#[test]
fn a_failure_that_a_retry_cannot_fix_is_not_retried() {
    for outcome in [
        interrupted(),
        Outcome::Process(ProcessOutcome::WantedTerminal { output: Output::default() }),
    ] {
        let machine = Firing::at(GUARD, "id: a, command: x, on_failure: retry")
            .play([("a", vec![outcome.into()])]);
        assert_eq!(machine.order(), ["start a", "finished"]);
    }
}

// Block, stop, abort.

#[test]
fn the_first_block_ends_the_awaited_hooks_and_observers_still_start() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x
         id: c, command: x, await: false
         id: d, command: x
         id: e, command: x, await: false",
    )
    .play([("b", vec![blocks("no").into()])]);
    assert_eq!(
        machine.order(),
        ["start a", "start b", "start c", "skip d: b blocked", "start e", "finished"]
    );
    assert_eq!(
        machine.reports(),
        [
            "a success x1",
            "b blocked x1: no",
            "c success x1",
            "d skipped x0: b blocked",
            "e success x1"
        ]
    );
    assert_eq!(machine.decided(), blocked("no"));
}

// Conformance: agent-pipelines-073
#[test]
fn abort_ends_the_list_and_its_observers_too() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x, on_failure: abort
         id: b, command: x
         id: c, command: x, await: false",
    )
    .play([("a", vec![exit(1).into()])]);
    let order =
        ["start a", "skip b: a aborted (ended by a)", "skip c: a aborted (ended by a)", "finished"];
    assert_eq!(machine.order(), order);
    assert_eq!(machine.decided(), aborted("hook a failed (exit code 1)"));
}

#[test]
fn after_an_abort_no_background_hook_is_retried() {
    let entries = "id: a, command: x, await: false, on_failure: retry
                   id: b, command: x, on_failure: abort";
    // It sleeps when the abort comes.
    let mut machine = Firing::at(OBSERVED, entries).fire();
    machine.ends("a", exit(1));
    machine.ends("b", exit(1));
    machine.wakes("a");
    assert_eq!(machine.order(), ["start a", "start b", "sleep a 5s", "finished"]);
    assert_eq!(machine.reports()[0], "a failed x1: exit code 1");

    // It runs when the abort comes.
    let mut machine = Firing::at(OBSERVED, entries).fire();
    machine.ends("b", exit(1));
    machine.ends("a", exit(1));
    assert_eq!(machine.order(), ["start a", "start b", "finished"]);
    assert_eq!(machine.reports()[0], "a failed x1: exit code 1");
}

#[test]
fn continue_false_ends_the_awaited_hooks_and_observers_still_start() {
    for event in [GUARD, STOP, RESULT, OBSERVED] {
        let machine = Firing::at(
            event,
            "id: a, command: x, await: true
             id: b, command: x, await: true
             id: c, command: x, await: false",
        )
        .play([("a", vec![answers(json!({ "continue": false, "stopReason": "enough" })).into()])]);
        assert_eq!(
            machine.order(),
            ["start a", "skip b: a ended the session (ended by a)", "start c", "finished"]
        );
        assert_eq!(machine.reports()[0], "a success x1: enough");
        assert_eq!(machine.decided(), stopped("enough"));
    }
}

#[test]
fn the_reason_of_a_stop_is_its_stop_reason_then_its_reason_then_the_hook() {
    for (answer, reason) in [
        (json!({ "continue": false, "stopReason": "s", "reason": "r" }), "s"),
        (json!({ "continue": false, "reason": "r" }), "r"),
        (json!({ "continue": false }), "hook a stopped the work"),
        (json!({ "continue": false, "stopReason": "s", "decision": "block", "reason": "r" }), "s"),
    ] {
        let machine = Firing::at(GUARD, "id: a, command: x")
            .play([("a", vec![answers(answer.clone()).into()])]);
        assert_eq!(machine.decided(), stopped(reason), "{answer}");
    }
}

#[test]
fn a_stop_is_stronger_than_a_block_in_one_answer() {
    let machine = Firing::at(RESULT, "id: a, command: x").play([(
        "a",
        vec![answers(json!({ "continue": false, "decision": "block", "reason": "r" })).into()],
    )]);
    assert_eq!(machine.decided().verdict, Verdict::Stop { reason: "r".into() });
}

// Several answers.

#[test]
fn the_strongest_answer_decides_and_among_equals_the_first_gives_the_reason() {
    let allow = |reason: &str| answers(json!({ "decision": "allow", "reason": reason }));
    let ask = |reason: &str| answers(json!({ "decision": "ask", "reason": reason }));
    let stop = |reason: &str| answers(json!({ "continue": false, "stopReason": reason }));
    let allowed = |reason: &str| {
        decision(Verdict::Allow { reason: Some(reason.into()), rewritten_input: None })
    };
    let asked = |reason: &str| {
        decision(Verdict::Ask { reason: Some(reason.into()), rewritten_input: None })
    };
    // At once, so that a block or stop does not keep the later ones from answering.
    for (first, second, third, expected) in [
        (exit(0), allow("1"), allow("2"), allowed("1")),
        (allow("1"), ask("2"), ask("3"), asked("2")),
        (ask("1"), blocks("2"), blocks("3"), blocked("2")),
        (blocks("1"), stop("2"), stop("3"), stopped("2")),
        (stop("1"), exit(1), exit(3), aborted("hook b failed (exit code 1)")),
    ] {
        let machine = Firing::at(
            GUARD,
            "id: a, command: x
             id: b, command: x, on_failure: abort
             id: c, command: x, on_failure: abort",
        )
        .at_once(&["a", "b", "c"])
        .play([
            ("a", vec![first.into()]),
            ("b", vec![second.into()]),
            ("c", vec![third.into()]),
        ]);
        assert_eq!(machine.decided(), expected);
    }
}

#[test]
fn one_by_one_ask_and_allow_let_the_next_hook_answer_too() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x
         id: c, command: x",
    )
    .play([
        ("a", vec![answers(json!({ "decision": "ask" })).into()]),
        ("b", vec![answers(json!({ "decision": "approve" })).into()]),
        ("c", vec![blocks("no").into()]),
    ]);
    assert_eq!(machine.order(), ["start a", "start b", "start c", "finished"]);
    assert_eq!(machine.decided(), blocked("no"));
}

#[test]
fn the_last_rewritten_input_in_configuration_order_wins() {
    let rewrites = |to: i32| answers(json!({ "updatedInput": { "n": to } }));
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x
         id: c, command: x",
    )
    .at_once(&["a", "b", "c"])
    .fire();
    machine.ends("c", answers(json!({ "decision": "allow" })));
    machine.ends("b", rewrites(2));
    machine.ends("a", rewrites(1));
    assert_eq!(
        machine.decided(),
        decision(Verdict::Allow { reason: None, rewritten_input: Some(json!({ "n": 2 })) })
    );
}

#[test]
fn contexts_messages_and_piped_output_keep_configuration_order() {
    let says = |word: &str| {
        answers(json!({ "additionalContext": word, "systemMessage": format!("m{word}") }))
    };
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x
         id: p, command: x, pipe_output: true
         id: c, command: x
         id: q, command: x, pipe_output: true",
    )
    .at_once(&["a", "b", "c", "p", "q"])
    .fire();
    machine.ends("q", exited(0, "q\n", ""));
    machine.ends("c", says("c"));
    machine.ends("p", exited(0, "p", ""));
    machine.ends("b", says("b"));
    machine.ends("a", says("a"));
    assert_eq!(
        machine.decided(),
        Decision {
            system_messages: vec!["ma".into(), "mb".into(), "mc".into()],
            piped_output: "p\nq\n".into(),
            ..with_contexts(&["a", "b", "c"])
        }
    );
}

#[test]
fn a_block_keeps_the_contexts_and_messages_of_the_hooks_before_it() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x",
    )
    .play([
        ("a", vec![answers(json!({ "additionalContext": "c", "systemMessage": "m" })).into()]),
        ("b", vec![blocks("no").into()]),
    ]);
    assert_eq!(
        machine.decided(),
        Decision {
            additional_context: vec!["c".into()],
            system_messages: vec!["m".into()],
            ..blocked("no")
        }
    );
}

// Groups that run at once.

#[test]
fn a_group_starts_at_once_with_the_values_from_before_and_the_next_one_follows() {
    let when = "when: \"${LAST_HOOK_STATUS} == 'success'\"";
    let mut machine = Firing::at(
        OBSERVED,
        &format!(
            "id: a, command: x, await: true
             id: b, command: x, {when}
             id: c, command: x, {when}
             id: d, command: x, await: true"
        ),
    )
    .at_once(&["b", "c"])
    .in_file(&["c"], "other.yaml")
    .fire();
    machine.ends("a", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "start c"]);
    machine.ends("c", exit(0));
    machine.ends("b", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "start c", "start d"]);
    machine.ends("d", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "start c", "start d", "finished"]);
}

#[test]
fn a_member_of_a_group_that_asks_not_to_be_awaited_is_not() {
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x, await: false",
    )
    .at_once(&["a", "b"])
    .fire();
    machine.ends("a", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "finished"]);
}

#[test]
fn of_hooks_that_are_the_same_only_the_strictest_runs() {
    let same =
        |machine: Firing| machine.change(&["a", "b", "c"], |hook| hook.twin = Some("x".into()));
    let mut machine = same(Firing::at(
        GUARD,
        "id: a, command: x, on_failure: continue
         id: b, command: x, on_failure: block
         id: c, command: x, on_failure: block
         id: d, command: x",
    ))
    .fire();
    machine.ends("b", exit(0));
    machine.ends("d", exit(0));
    let order = ["skip a: b does the same and runs", "start b", "skip c: b does the same and runs"];
    assert_eq!(machine.order()[..3], order);
    let mut machine = same(Firing::at(
        GUARD,
        "id: a, command: x, on_failure: block, enabled: false
         id: b, command: x, on_failure: continue
         id: c, command: x, await: false",
    ))
    .fire();
    machine.ends("b", exit(0));
    let order =
        ["skip a: enabled: false", "start b", "skip c: b does the same and runs", "finished"];
    assert_eq!(machine.order(), order);
}

#[test]
fn if_a_dialects_first_decision_counts_later_ones_do_not() {
    static FIRST: Policy = Policy {
        dialect: "first",
        order: Order::AtOnce,
        first_decision_at: &[EventName::TOOL_PRE_EXECUTE],
        ..Policy::NATIVE
    };
    let deny = || answers(json!({ "decision": "deny", "reason": "no" }));
    let allow = || answers(json!({ "decision": "allow", "reason": "fine" }));
    let fired = |first: Outcome, second: Outcome, goes_on: bool| {
        let mut machine = Firing::at(
            GUARD,
            "id: silent, command: x
             id: a, command: x
             id: b, command: x
             id: native, command: x",
        )
        .change(&["silent", "a", "b"], |hook| hook.policy = &FIRST)
        .fire();
        // In the order in which they end.
        machine.ends("b", second);
        machine.ends("a", first);
        machine.ends("silent", exit(0));
        if goes_on {
            machine.ends("native", exit(0));
        }
        machine.decision.expect("decided").verdict
    };
    let reason = Some("fine".to_owned());
    assert_eq!(fired(allow(), deny(), true), Verdict::Allow { reason, rewritten_input: None });
    assert_eq!(fired(deny(), allow(), false), Verdict::Block { reason: "no".into() });
}

#[test]
fn the_last_of_a_group_in_order_leaves_the_status() {
    let mut machine = Firing::at(
        OBSERVED,
        "id: a, command: x
         id: b, command: x",
    )
    .at_once(&["a", "b"])
    .fire();
    machine.ends("b", exit(0));
    machine.ends("a", exit(1));
    assert_eq!(
        machine.kept,
        [
            Keepsake::LastHookStatus { status: "failed".into() },
            Keepsake::LastHookStatus { status: "success".into() }
        ]
    );
}

#[test]
fn a_block_in_a_group_stops_no_sibling_but_the_awaited_hooks_after_it() {
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x, on_failure: retry, retries: 1
         id: c, command: x
         id: d, command: x, await: false",
    )
    .at_once(&["a", "b"])
    .fire();
    machine.ends("a", blocks("no"));
    machine.ends("b", exit(1));
    machine.wakes("b");
    machine.ends("b", answers(json!({ "additionalContext": "c" })));
    assert_eq!(
        machine.order(),
        [
            "start a",
            "start b",
            "sleep b 5s",
            "start b, attempt 2",
            "skip c: a blocked",
            "start d",
            "finished"
        ]
    );
    assert_eq!(
        machine.decided(),
        Decision { additional_context: vec!["c".into()], ..blocked("no") }
    );
}

#[test]
fn the_first_abort_of_a_group_is_named_to_the_hooks_after_it() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x, on_failure: abort
         id: c, command: x, on_failure: abort
         id: d, command: x, await: false",
    )
    .at_once(&["a", "b", "c"])
    .play([
        ("a", vec![blocks("no").into()]),
        ("b", vec![exit(1).into()]),
        ("c", vec![exit(1).into()]),
    ]);
    let order = ["start a", "start b", "start c", "skip d: b aborted (ended by b)", "finished"];
    assert_eq!(machine.order(), order);
    assert_eq!(machine.decided(), aborted("hook b failed (exit code 1)"));
}

// Hooks that move to the background, and hooks that are not awaited.

#[test]
fn a_hook_that_goes_async_does_not_delay_the_decision_and_is_reported_as_started() {
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x",
    )
    .fire();
    machine.goes_async("a");
    assert_eq!(machine.order(), ["start a", "start b"]);
    machine.ends("b", exit(0));
    assert_eq!(machine.order(), ["start a", "start b", "finished"]);
    assert_eq!(machine.reports(), ["a started x1", "b success x1"]);
    let running: Vec<&str> = machine
        .dispatch
        .in_background()
        .iter()
        .map(|number| machine.dispatch.hook(*number).id.as_str())
        .collect();
    assert_eq!(running, ["a"]);
    assert_eq!(machine.decided(), Decision::default());
}

#[test]
fn a_background_hook_has_ended_once_and_not_while_it_is_tried_again() {
    let mut machine = Firing::at(
        "session:start",
        "id: a, command: x, on_failure: retry, retries: 1
         id: b, command: x",
    )
    .fire();
    assert_eq!(machine.dispatch.in_background().iter().collect::<Vec<_>>(), [&0, &1]);
    machine.ends("a", exit(1));
    assert_eq!(machine.dispatch.take_out_of_background(), [0; 0]);
    machine.ends("b", exit(0));
    assert_eq!(machine.dispatch.take_out_of_background(), [1]);
    machine.wakes("a");
    assert_eq!(machine.dispatch.in_background().iter().collect::<Vec<_>>(), [&0]);
    machine.ends("a", exit(1));
    assert_eq!(machine.dispatch.take_out_of_background(), [0]);
    assert!(machine.dispatch.in_background().is_empty());
    assert_eq!(machine.dispatch.take_out_of_background(), [0; 0]);
}

#[tokio::test]
async fn a_late_answer_of_an_async_hook_is_delivered_once_with_the_next_decision() {
    let memory = InMemoryMemory::default();
    let late = answers(json!({
        "additionalContext": ["c1", "c2"],
        "systemMessage": "m",
        "updatedInput": { "n": 1 },
        "suppressOutput": true,
    }));
    let first = fire_in(
        &memory,
        Firing::at(GUARD, "id: a, command: x"),
        [("a", vec![Play::GoesAsync(late)])],
    )
    .await;
    assert_eq!(first.decided(), Decision::default());
    assert_eq!(
        first.lines[first.lines.len() - 4..],
        [
            "record ended a 1",
            "record late answer a",
            "remember a late answer",
            "record report a success x1"
        ]
    );
    let next = Firing::at(GUARD, "id: b, command: x");
    let says = answers(json!({ "additionalContext": "now" }));
    let second = fire_in(&memory, next, [("b", vec![says.into()])]).await;
    assert_eq!(
        second.decided(),
        Decision { system_messages: vec!["m".into()], ..with_contexts(&["c1", "c2", "now"]) }
    );
    let third = fire_in(&memory, Firing::at(GUARD, ""), []).await;
    assert_eq!(third.decided(), Decision::default());
}

// Conformance: claude-code-025
#[test]
fn a_late_deny_decides_nothing_but_its_contexts_and_messages_are_kept() {
    let deny = answers(json!({
        "decision": "deny",
        "reason": "no",
        "additionalContext": "c",
        "systemMessage": "m",
    }));
    let machine = Firing::at(GUARD, "id: a, command: x").play([("a", vec![Play::GoesAsync(deny)])]);
    assert_eq!(machine.decided(), Decision::default());
    assert_eq!(
        machine.kept,
        [Keepsake::LateAnswer {
            answer: Box::new(Answer {
                system_message: Some("m".into()),
                additional_context: vec!["c".into()],
                must_reach_agent: true,
                ..Answer::default()
            })
        }]
    );
}

#[test]
fn an_async_hook_that_ends_before_the_decision_still_decides_nothing() {
    for outcome in [
        exit(1),
        timed_out(),
        blocks("no"),
        answers(json!({ "decision": "deny", "reason": "no" })),
        answers(json!({ "decision": "allow", "updatedInput": { "n": 1 } })),
        answers(json!({ "continue": false })),
    ] {
        for on_failure in ["block", "abort"] {
            let entries = format!(
                "id: a, command: x, on_failure: {on_failure}
                 id: b, command: x
                 id: c, command: x"
            );
            let mut one_by_one = Firing::at(GUARD, &entries).fire();
            let mut at_once = Firing::at(GUARD, &entries).at_once(&["a", "b", "c"]).fire();
            for machine in [&mut one_by_one, &mut at_once] {
                machine.goes_async("a");
                machine.ends("a", outcome.clone());
                machine.ends("b", exit(0));
                machine.ends("c", exit(0));
                assert_eq!(machine.decided(), Decision::default(), "{outcome:?}");
                assert_eq!(
                    machine.kept,
                    vec![Keepsake::LastHookStatus { status: "success".into() }; 2],
                    "{outcome:?}"
                );
            }
        }
    }
}

#[test]
fn an_async_hooks_answer_before_the_decision_is_delivered_once() {
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x",
    )
    .fire();
    machine.goes_async("a");
    machine.ends("a", answers(json!({ "additionalContext": "c" })));
    machine.ends("b", exit(0));
    let late = machine
        .kept
        .iter()
        .filter(|keepsake| matches!(keepsake, Keepsake::LateAnswer { .. }))
        .count();
    assert_eq!(late + machine.decided().additional_context.len(), 1);
}

#[test]
fn the_answer_of_a_hook_that_is_not_awaited_decides_nothing() {
    for outcome in [
        blocks("no"),
        answers(json!({ "decision": "deny", "reason": "no" })),
        answers(json!({ "continue": false })),
    ] {
        let mut machine = Firing::at(
            GUARD,
            "id: a, command: x, await: false
             id: b, command: x",
        )
        .fire();
        machine.ends("a", outcome);
        machine.ends("b", exit(0));
        assert_eq!(machine.decided(), Decision::default());
        assert_eq!(
            machine.reports(),
            ["a failed x1: it answered, but nothing waits for its answer", "b success x1"]
        );
    }
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x, await: false
         id: b, command: x",
    )
    .fire();
    machine.ends("a", answers(json!({ "decision": "allow" })));
    machine.ends("b", exit(0));
    assert_eq!(machine.decided(), Decision::default());
}

// Answers at the different events.

#[test]
fn a_block_of_an_event_that_cannot_be_blocked_is_a_failure_of_the_hook() {
    for (outcome, how) in [
        (blocks("no"), "exit code 2, but nothing can be blocked at iteration:complete: no"),
        (
            answers(json!({ "decision": "deny" })),
            "it answered deny, but nothing can be blocked at iteration:complete",
        ),
    ] {
        let machine = Firing::at(
            OBSERVED,
            "id: a, command: x, await: true
             id: b, command: x, await: true",
        )
        .play([("a", vec![outcome.clone().into()])]);
        assert_eq!(machine.order(), ["start a", "start b", "finished"]);
        assert_eq!(machine.reports(), [format!("a failed x1: {how}"), "b success x1".into()]);
        assert_eq!(machine.decided(), Decision::default());

        let machine = Firing::at(OBSERVED, "id: a, command: x, on_failure: abort")
            .play([("a", vec![outcome.into()])]);
        assert_eq!(machine.decided(), aborted(&format!("hook a failed ({how})")));
    }
}

#[test]
fn a_block_after_a_result_adds_its_reason_and_blocks_nothing() {
    let machine = Firing::at(
        RESULT,
        "id: a, command: x
         id: b, command: x
         id: c, command: x",
    )
    .play([
        ("a", vec![blocks("bad style").into()]),
        (
            "b",
            vec![
                answers(json!({
                    "decision": "block", "reason": "no tests", "additionalContext": "see CI",
                }))
                .into(),
            ],
        ),
    ]);
    assert_eq!(machine.order(), ["start a", "start b", "start c", "finished"]);
    let told = with_contexts(&["bad style", "see CI", "no tests"]);
    assert_eq!(machine.decided(), Decision { must_reach_agent: true, ..told });
    assert_eq!(
        machine.reports(),
        ["a blocked x1: bad style", "b blocked x1: no tests", "c success x1"]
    );
}

#[test]
fn an_answer_decides_at_a_guard() {
    for (outcome, expected) in [
        (
            answers(json!({ "decision": "ask", "reason": "sure?" })),
            decision(Verdict::Ask { reason: Some("sure?".into()), rewritten_input: None }),
        ),
        (
            answers(json!({ "decision": "approve", "updatedInput": { "n": 1 } })),
            decision(Verdict::Allow { reason: None, rewritten_input: Some(json!({ "n": 1 })) }),
        ),
        (
            answers(json!({ "updatedInput": { "n": 1 } })),
            decision(Verdict::Proceed { rewritten_input: Some(json!({ "n": 1 })) }),
        ),
        (
            answers(json!({ "decision": "deny", "reason": "no", "feedback": "use trash" })),
            blocked("no\nuse trash"),
        ),
        (answers(json!({ "decision": "deny" })), blocked("denied without a reason")),
        (exit(2), blocked("exit 2 without a message")),
        (exited(2, r#"{"decision": "allow"}"#, "no"), blocked("no")),
        (exited(1, r#"{"decision": "deny", "reason": "no"}"#, ""), blocked("no")),
        (
            exited(1, r#"{"decision": "allow"}"#, ""),
            blocked(
                "hook a failed (exit code 1); make it exit with 0, or set on_failure: continue",
            ),
        ),
        (exited(0, "checking\n{\"decision\": \"deny\", \"reason\": \"no\"}\n", ""), blocked("no")),
        (exited(0, "checking\n{\"decision\": \"allow\"}\n", ""), Decision::default()),
        (
            answers(json!({
                "updatedOutput": "short",
                "suppressOutput": true,
                "systemMessage": "m",
            })),
            Decision {
                updated_output: Some(json!("short")),
                suppress_output: true,
                system_messages: vec!["m".into()],
                ..Decision::default()
            },
        ),
    ] {
        let machine =
            Firing::at(GUARD, "id: a, command: x").play([("a", vec![outcome.clone().into()])]);
        assert_eq!(machine.decided(), expected, "{outcome:?}");
    }
}

#[test]
fn a_guard_that_asks_and_exits_with_1_blocks() {
    let machine = Firing::at(GUARD, "id: a, command: x")
        .play([("a", vec![exited(1, r#"{"decision": "ask"}"#, "").into()])]);
    assert_eq!(
        machine.decided(),
        blocked("hook a failed (exit code 1); make it exit with 0, or set on_failure: continue")
    );
}

#[test]
fn output_that_is_to_be_suppressed_is_in_no_report_and_not_piped() {
    let quiet = exited(0, r#"{"suppressOutput": true}"#, "secret");
    let machine =
        Firing::at(GUARD, "id: a, command: x, pipe_output: true").play([("a", vec![quiet.into()])]);
    assert_eq!(
        machine.dispatch.reports(),
        [Report {
            id: "a".into(),
            action: "shell".into(),
            source: "hookwright.yaml:4".into(),
            status: Status::Success,
            exit_code: Some(0),
            stdout: String::new(),
            stderr: String::new(),
            attempts: 1,
            duration_ms: 3.0,
            reason: None,
            interrupted: false,
            shows_output: false,
            hides_output: true,
        }]
    );
    assert_eq!(machine.decided().piped_output, "");
}

#[test]
fn piped_output_is_the_text_of_a_success_and_a_failure_begins_with_what_failed() {
    let machine = Firing::at(
        OBSERVED,
        "id: a, command: x, pipe_output: true
         id: b, command: x, pipe_output: true
         id: c, command: x, pipe_output: true
         id: d, command: x, await: true",
    )
    .play([
        ("a", vec![exited(0, "12 passed", "").into()]),
        ("b", vec![exited(1, "", "1 failed").into()]),
        ("c", vec![answers(json!({ "additionalContext": "c" })).into()]),
        ("d", vec![exited(0, "not piped", "").into()]),
    ]);
    assert_eq!(
        machine.decided(),
        Decision {
            piped_output: "12 passed\n[hook b: failed (exit code 1: 1 failed)]\n1 failed".into(),
            must_reach_agent: true,
            ..with_contexts(&["c"])
        }
    );
}

#[test]
fn a_message_to_the_agent_must_reach_it_if_its_hook_failed() {
    let says = || answers(json!({ "additionalContext": "c" }));
    for (hook, end, must_reach) in [
        ("pipe_output: true", exited(0, "12 passed", ""), false),
        ("await: true", says(), false),
        ("pipe_output: true", exited(1, "1 failed", ""), true),
        ("pipe_output: true", timed_out(), true),
        // It fails, and tells the agent nothing.
        ("await: true", exited(1, "1 failed", ""), false),
    ] {
        let hooks = format!("id: a, command: x, {hook}");
        let machine = Firing::at(OBSERVED, &hooks).play([("a", vec![end.clone().into()])]);
        assert_eq!(machine.decided().must_reach_agent, must_reach, "{hook} {end:?}");
    }
}

// Firings within firings.

#[test]
fn a_hook_that_would_wake_itself_again_is_refused_and_the_circle_is_named() {
    let machine = Firing::at(
        OBSERVED,
        "id: a, command: x, await: true, on_failure: retry
         id: b, command: x, await: true",
    )
    .chain(&[(OBSERVED, "a"), ("tool:error", "b")])
    .play([]);
    assert_eq!(machine.order(), ["start b", "finished"]);
    assert_eq!(
        machine.reports(),
        [
            "a failed x0: cannot start: it would wake itself again: iteration:complete (a) → \
             tool:error (b) → iteration:complete (a)",
            "b success x1"
        ]
    );
    let machine = Firing::at(GUARD, "id: a, command: x").chain(&[(GUARD, "a")]).play([]);
    assert_eq!(
        machine.decided(),
        blocked(
            "hook a failed (cannot start: it would wake itself again: tool:pre_execute (a) → \
             tool:pre_execute (a))"
        )
    );
}

#[test]
fn a_chain_never_lets_an_event_pass_that_a_guard_was_to_answer() {
    let deep = [OBSERVED, "stage:start", "tool:error", "session:end"].map(|event| (event, "x"));
    let guards = [("tool:pre_execute", true), ("task:complete", false), (STOP, false)];
    for (event, blocks_always) in guards {
        for links in [&[(event, "a")][..], &deep] {
            for on_failure in ["continue", "block", "retry"] {
                let entry = format!("id: a, command: x, on_failure: {on_failure}");
                let proven = Firing::at(event, &entry).chain(links);
                let mut claimed = Firing::at(event, &entry).chain(links);
                claimed.given.chain = Chain::from_text(&claimed.given.chain.to_text());
                let proceeds = |firing: Firing| {
                    matches!(firing.play([]).decided().verdict, Verdict::Proceed { .. })
                };
                let case = format!("{event} {links:?} {on_failure}");
                assert!(!proceeds(claimed), "{case}");
                let may_proceed = !blocks_always && on_failure != "block";
                assert_eq!(proceeds(proven), may_proceed, "{case}");
            }
        }
    }
}

#[test]
fn events_are_fired_at_most_4_deep() {
    let links = [
        ("session:start", "1"),
        ("stage:start", "2"),
        ("tool:error", "3"),
        ("llm:stream_end", "4"),
    ];
    let at_depth = |depth: usize| {
        Firing::at(OBSERVED, "id: a, command: x, await: true").chain(&links[..depth]).play([])
    };
    assert_eq!(at_depth(3).reports(), ["a success x1"]);
    assert_eq!(
        at_depth(4).reports(),
        ["a failed x0: cannot start: events are already nested 4 deep: session:start (1) → \
          stage:start (2) → tool:error (3) → llm:stream_end (4)"]
    );
}

// Hosts.

#[test]
fn a_hook_that_names_its_host_is_passed_over_if_another_host_fired_the_event() {
    for (host, runs) in [("run", true), ("another", false), ("", false)] {
        let machine = Firing::at(GUARD, "id: a, command: x, host: run")
            .data(json!({ "host": host }))
            .play([]);
        let order = if runs { "start a" } else { "skip a: host: run" };
        assert_eq!(machine.order(), [order, "finished"], "{host}");
    }
    // The host is unknown, so the guard runs.
    for data in [json!({}), json!({ "host": null })] {
        let machine = Firing::at(GUARD, "id: a, command: x, host: [run]").data(data).play([]);
        assert_eq!(machine.order(), ["start a", "finished"]);
    }
}

// Stops.

#[tokio::test]
async fn a_stop_is_blocked_eight_times_in_a_row_and_then_it_ends_anyway() {
    for (event, who) in [(STOP, "the session"), ("agent:stop", "the subagent")] {
        let memory = InMemoryMemory::default();
        for round in ["first", "again"] {
            for time in 1..=8 {
                let firing = Firing::at(event, "id: a, command: x");
                let machine = fire_in(&memory, firing, [("a", vec![blocks("work left").into()])]);
                assert_eq!(machine.await.decided(), blocked("work left"), "{round} {time}");
            }
            let firing = Firing::at(event, "id: a, command: x");
            let ninth = fire_in(&memory, firing, [("a", vec![blocks("work left").into()])]).await;
            assert_eq!(
                ninth.decided(),
                Decision {
                    system_messages: vec![format!(
                        "hooks blocked the stop 8 times in a row with no work in between; {who} stops \
                         anyway: work left"
                    )],
                    ..Decision::default()
                }
            );
        }
    }
}

#[tokio::test]
async fn work_or_an_unblocked_stop_starts_the_counting_of_stop_blocks_anew() {
    let memory = InMemoryMemory::default();
    for (event, count) in [
        (OBSERVED, 0),
        (RESULT, 0),
        ("tool:error", 0),
        ("execution:post_end", 0),
        ("task:complete", 0),
        (STOP, 0),
        (GUARD, 2),
        ("session:start", 2),
    ] {
        memory.keep("s", stop_blocks("", 2)).await;
        fire_in(&memory, Firing::at(event, "id: a, command: x"), []).await;
        assert_eq!(memory.recall("s").await.stop_blocks.count_for(""), count, "{event}");
    }
    memory.keep("s", stop_blocks("", 2)).await;
    let firing = Firing::at(STOP, "id: a, command: x");
    fire_in(&memory, firing, [("a", vec![blocks("more").into()])]).await;
    assert_eq!(memory.recall("s").await.stop_blocks.count_for(""), 3);
}

fn stop_blocks(agent: &str, count: u32) -> Keepsake {
    Keepsake::StopBlocks { agent: agent.into(), count }
}

#[tokio::test]
async fn blocked_stops_are_counted_for_each_agent_and_only_its_own_work_starts_anew() {
    let memory = InMemoryMemory::default();
    for number in 0..11 {
        let firing = Firing::at("agent:stop", "id: a, command: x")
            .data(json!({ "agent_id": format!("agent-{number}") }));
        let machine = fire_in(&memory, firing, [("a", vec![blocks("more").into()])]).await;
        assert_eq!(machine.decided(), blocked("more"), "{number}");
    }
    memory.keep("s", stop_blocks("agent-3", 8)).await;
    let work = Firing::at(RESULT, "id: a, command: x").data(json!({ "agent_id": "agent-2" }));
    fire_in(&memory, work, []).await;
    let counts = memory.recall("s").await.stop_blocks;
    assert_eq!(
        ["agent-1", "agent-2", "agent-3", ""].map(|agent| counts.count_for(agent)),
        [1, 0, 8, 0]
    );
    let ninth =
        Firing::at("agent:stop", "id: a, command: x").data(json!({ "agent_id": "agent-3" }));
    let machine = fire_in(&memory, ninth, [("a", vec![blocks("more").into()])]).await;
    assert_eq!(machine.decided().verdict, Decision::default().verdict);
}

#[test]
fn a_block_of_a_stop_after_an_interrupt_or_an_error_is_ignored_and_reported() {
    for why in ["interrupted", "error"] {
        let machine = Firing::at(STOP, "id: a, command: x")
            .data(json!({ "reason": why }))
            .play([("a", vec![blocks("work left").into()])]);
        assert_eq!(
            machine.decided(),
            Decision {
                system_messages: vec![format!(
                    "a hook blocked the stop, which is ignored after `{why}`: work left"
                )],
                ..Decision::default()
            }
        );
        assert_eq!(machine.reports(), ["a blocked x1: work left"]);
    }
    let machine = Firing::at(STOP, "id: a, command: x")
        .data(json!({ "reason": "completed" }))
        .play([("a", vec![blocks("work left").into()])]);
    assert_eq!(machine.decided(), blocked("work left"));
}

// Conformance: claude-code-040
#[test]
fn continue_true_at_a_stop_does_not_count_as_an_answer() {
    let machine = Firing::at(STOP, "id: a, command: x")
        .play([("a", vec![answers(json!({ "continue": true })).into()])]);
    assert_eq!(machine.decided(), Decision::default());
    assert_eq!(machine.reports(), ["a success x1"]);
}

// Interrupts.

#[test]
fn an_interrupt_while_a_guard_runs_blocks_and_nothing_new_starts() {
    let mut machine = Firing::at(
        GUARD,
        "id: a, command: x, on_failure: continue
         id: b, command: x
         id: c, command: x, await: false",
    )
    .fire();
    machine.feed(HookHappening::Interrupted);
    assert_eq!(machine.order(), ["start a"]);
    machine.ends("a", interrupted());
    assert_eq!(
        machine.order(),
        ["start a", "skip b: interrupted", "skip c: interrupted", "finished"]
    );
    assert_eq!(machine.decided(), blocked("interrupted before its hooks had answered"));
}

#[test]
fn that_a_hook_was_interrupted_is_a_fact_of_its_report_and_not_a_matter_of_words() {
    let hooks = "id: a, command: x\nid: b, command: x";
    let says_so = exited(1, "", "the build (interrupted)");
    let mut machine = Firing::at(GUARD, "id: a, command: x, on_failure: continue").fire();
    machine.ends("a", says_so);
    let report = &machine.dispatch.reports()[0];
    assert!(report.reason.as_deref().is_some_and(|reason| reason.contains("(interrupted)")));
    assert!(!report.interrupted);
    let mut machine = Firing::at(GUARD, hooks).fire();
    machine.feed(HookHappening::Interrupted);
    machine.ends("a", interrupted());
    let reports = machine.dispatch.reports();
    assert_eq!([reports[0].interrupted, reports[1].interrupted], [true, false]);
}

#[test]
fn an_interrupt_elsewhere_blocks_nothing() {
    for event in [STOP, RESULT, OBSERVED] {
        let mut machine = Firing::at(
            event,
            "id: a, command: x, await: true
             id: b, command: x, await: true",
        )
        .fire();
        machine.feed(HookHappening::Interrupted);
        machine.ends("a", interrupted());
        assert_eq!(machine.order(), ["start a", "skip b: interrupted", "finished"]);
        assert_eq!(machine.decided(), Decision::default());
        assert_eq!(machine.reports()[0], "a failed x1: interrupted");
    }
}

#[test]
fn an_interrupt_ends_the_sleep_between_attempts() {
    let mut machine = Firing::at(
        OBSERVED,
        "id: a, command: x, on_failure: retry
         id: b, command: x, await: true, on_failure: retry",
    )
    .fire();
    machine.ends("a", exit(1));
    machine.ends("b", exit(1));
    machine.feed(HookHappening::Interrupted);
    let order = ["start a", "start b", "sleep a 5s", "sleep b 5s", "finished"];
    assert_eq!(machine.order(), order);
    assert_eq!(machine.reports(), ["a failed x1: exit code 1", "b failed x1: exit code 1"]);
    machine.wakes("a");
    machine.wakes("b");
    assert_eq!(machine.order(), order);
}

#[test]
fn after_an_interrupt_nothing_is_retried() {
    // With `await: false` the decision was made before the interrupt.
    for awaits in [true, false] {
        let entry = format!("id: a, command: x, await: {awaits}, on_failure: retry");
        let mut machine = Firing::at(OBSERVED, &entry).fire();
        machine.feed(HookHappening::Interrupted);
        machine.ends("a", exit(1));
        assert_eq!(machine.order(), ["start a", "finished"], "await: {awaits}");
        assert_eq!(machine.reports(), ["a failed x1: exit code 1"], "await: {awaits}");
    }
}

// Invalid entries.

#[test]
fn an_invalid_entry_blocks_if_the_event_can_be_blocked_and_observers_still_start() {
    for event in [GUARD, STOP] {
        let machine = Firing::at(
            event,
            "id: a, command: x
             id: b, command: x, await: false",
        )
        .broken(&["hookwright.yaml:3:5: unknown key", "another"])
        .play([]);
        assert_eq!(
            machine.order(),
            ["skip a: a hook that cannot be read blocks this event", "start b", "finished"]
        );
        assert_eq!(
            machine.decided(),
            blocked(
                "a hook cannot be read, so the event is blocked: hookwright.yaml:3:5: unknown key"
            )
        );
    }
    let machine = Firing::at(GUARD, "").broken(&["x"]).play([]);
    assert_eq!(machine.decided(), blocked("a hook cannot be read, so the event is blocked: x"));
}

#[test]
fn hooks_that_nothing_waits_for_are_judged_here_and_handed_over() {
    let machine = Firing::at(
        OBSERVED,
        "id: a, command: x
         id: b, command: x, await: true
         id: c, command: x, when: \"${LAST_HOOK_STATUS} == 'failed'\", once: true
         id: d, command: x, when: \"${LAST_HOOK_STATUS} == 'success'\"
         id: e, command: x, enabled: false",
    )
    .background_elsewhere()
    .play([("b", vec![Play::Ends(exit(1))])]);
    assert_eq!(
        machine.order(),
        [
            "hand over a",
            "start b",
            "hand over c",
            "skip d: when: ${LAST_HOOK_STATUS} == 'success'",
            "skip e: enabled: false",
            "finished"
        ]
    );
    assert!(machine.kept.contains(&Keepsake::Once { hook: "hookwright.yaml#c".into() }));
    assert!(machine.dispatch.in_background().is_empty());
    let statuses: Vec<Status> =
        machine.dispatch.reports().iter().map(|report| report.status).collect();
    assert_eq!(
        statuses,
        [Status::Started, Status::Failed, Status::Started, Status::Skipped, Status::Skipped]
    );
}

#[test]
fn an_observer_of_a_denied_call_is_handed_over_too() {
    let machine = Firing::at(
        GUARD,
        "id: a, command: x
         id: b, command: x
         id: c, command: x, await: false",
    )
    .background_elsewhere()
    .play([("a", vec![Play::Ends(exit(2))])]);
    assert_eq!(machine.order(), ["start a", "skip b: a blocked", "hand over c", "finished"]);
}

#[test]
fn an_entry_that_cannot_be_read_does_nothing_elsewhere() {
    for event in [RESULT, OBSERVED] {
        let machine = Firing::at(event, "id: a, command: x, await: true").broken(&["x"]).play([]);
        assert_eq!(machine.order(), ["start a", "finished"]);
        assert_eq!(machine.decided(), Decision::default());
    }
}

// Properties for random hooks that end in any order.

/// One hook of a random set.
#[derive(Debug, Clone)]
struct Any {
    awaits: Option<bool>,
    terms: &'static str,
    more: &'static str,
    at_once: bool,
    file: &'static str,
}

fn any_hook() -> impl Strategy<Value = Any> {
    let terms = [
        "",
        ", on_failure: continue",
        ", on_failure: abort",
        ", on_failure: retry, retries: 1",
        ", on_failure: retry, retries: 2, on_exhausted: abort",
        ", on_failure: retry, retries: 1, on_exhausted: continue",
    ];
    let more = [
        "",
        ", enabled: false",
        ", once: true",
        ", pipe_output: true",
        ", when: \"${LAST_HOOK_STATUS} == 'success'\"",
        ", when: \"${LAST_HOOK_STATUS} != 'success'\"",
    ];
    (
        proptest::option::of(any::<bool>()),
        prop::sample::select(terms.to_vec()),
        prop::sample::select(more.to_vec()),
        any::<bool>(),
        prop::sample::select(vec!["one.yaml", "two.yaml"]),
    )
        .prop_map(|(awaits, terms, more, at_once, file)| Any {
            awaits: awaits.filter(|awaits| *awaits || !terms.contains("abort")),
            terms,
            more,
            at_once,
            file,
        })
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let output = Output::default;
    prop::sample::select(vec![
        exit(0),
        exit(0),
        exit(1),
        blocks("no"),
        exit(127),
        timed_out(),
        interrupted(),
        Outcome::Process(ProcessOutcome::Killed { signal: 15, output: output() }),
        Outcome::Process(ProcessOutcome::WantedTerminal { output: output() }),
        Outcome::Process(ProcessOutcome::NotStarted { cause: "x".into() }),
        Outcome::Work(WorkOutcome::Done {
            what: "x".into(),
            output: output(),
            said: Box::default(),
        }),
        Outcome::Work(WorkOutcome::Failed {
            cause: "x".into(),
            may_retry: true,
            exit_code: None,
            output: output(),
            said: Box::default(),
        }),
        answers(json!({ "decision": "allow", "updatedInput": {} })),
        answers(json!({ "decision": "ask" })),
        answers(json!({ "decision": "deny" })),
        answers(json!({ "continue": false })),
        answers(json!({ "additionalContext": "c", "systemMessage": "m" })),
        exited(0, "{oops", ""),
    ])
}

/// What happens next: which running or sleeping hook, how it ends, and what else happens.
fn any_turn() -> impl Strategy<Value = (prop::sample::Index, Outcome, u8)> {
    (any::<prop::sample::Index>(), any_outcome(), 0_u8..40)
}

fn firing_of(event: &str, hooks: &[Any]) -> Firing {
    let entries: Vec<String> = hooks
        .iter()
        .enumerate()
        .map(|(number, hook)| {
            let awaits = hook.awaits.map_or(String::new(), |awaits| format!(", await: {awaits}"));
            format!("id: h{number}, command: x{awaits}{}{}", hook.terms, hook.more)
        })
        .collect();
    let mut firing = Firing::at(event, &entries.join("\n"));
    for (number, hook) in hooks.iter().enumerate() {
        let id = format!("h{number}");
        firing = firing.in_file(&[&id], hook.file);
        if hook.at_once {
            firing = firing.at_once(&[&id]);
        }
    }
    firing
}

/// Checks from outside which hooks may start when.
#[derive(Default)]
struct Watch {
    seen: usize,
    went_async: Vec<usize>,
    blocked: bool,
    aborted_by: Option<usize>,
    interrupted: bool,
}

impl Watch {
    fn look(&mut self, machine: &Machine, hooks: &[Any]) {
        let lines = machine.lines[self.seen..].to_vec();
        self.seen = machine.lines.len();
        let power = machine.dispatch.power();
        for line in lines {
            let mut words = line.split([' ', ',']);
            let (first, second) = (words.next(), words.next());
            match (first, second) {
                (Some("start"), Some(id)) => {
                    let number = machine.number(id);
                    let again = line.contains("attempt");
                    let awaited = machine.dispatch.terms(number).awaited;
                    assert!(!self.interrupted, "started after an interrupt: {line}");
                    assert!(
                        !(self.blocked && awaited && !again),
                        "awaited, started after a block: {line}"
                    );
                    // The answers of a group count when all of it has ended.
                    let in_force = |by: usize| !hooks[by].at_once || machine.decision.is_some();
                    assert!(
                        !self.aborted_by.is_some_and(in_force),
                        "started after an abort: {line}"
                    );
                }
                (Some("record"), Some("report")) => {
                    let number = machine.number(words.next().expect("an id"));
                    let terms = machine.dispatch.terms(number);
                    if !terms.awaited || self.went_async.contains(&number) {
                        continue;
                    }
                    let report = &machine.dispatch.reports()[number];
                    match (report.status, terms.on_failure) {
                        (Status::Blocked, _) => self.blocked |= power.can_block(),
                        (Status::Failed | Status::TimedOut, crate::hook::Exhausted::Block) => {
                            self.blocked |= power.can_block();
                        }
                        (Status::Failed | Status::TimedOut, crate::hook::Exhausted::Abort) => {
                            self.aborted_by.get_or_insert(number);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn any_hooks_come_to_one_decision_and_start_nothing_that_they_must_not(
        event in prop::sample::select(vec![GUARD, STOP, RESULT, OBSERVED]),
        hooks in prop::collection::vec(any_hook(), 0..7),
        turns in prop::collection::vec(any_turn(), 64),
    ) {
        let mut machine = firing_of(event, &hooks).fire();
        let mut watch = Watch::default();
        watch.look(&machine, &hooks);
        for (which, outcome, chance) in turns {
            let all: Vec<usize> =
                machine.running.iter().chain(&machine.sleeping).copied().collect();
            if all.is_empty() {
                break;
            }
            let number = *which.get(&all);
            let awaited = machine.dispatch.terms(number).awaited;
            if chance == 0 && !watch.interrupted {
                machine.feed(HookHappening::Interrupted);
                watch.look(&machine, &hooks);
                watch.interrupted = true;
            } else if machine.sleeping.contains(&number) {
                machine.feed(HookHappening::TimeToRetry { hook: number, slept: SLEPT });
            } else if chance < 5 && awaited && !watch.went_async.contains(&number) {
                watch.went_async.push(number);
                machine.feed(HookHappening::WentAsync { hook: number, answer: None });
            } else {
                let id = machine.id(number);
                machine.ends(&id, outcome);
            }
            watch.look(&machine, &hooks);
        }
        prop_assert!(machine.running.is_empty() && machine.sleeping.is_empty());
        prop_assert!(machine.decision.is_some());
        prop_assert!(machine.dispatch.in_background().is_empty());
        let reports = machine.dispatch.reports();
        prop_assert_eq!(reports.len(), hooks.len());
        for (number, report) in reports.iter().enumerate() {
            prop_assert_eq!(&report.id, &format!("h{number}"));
            let told = machine.lines.iter().filter(|line| {
                line.starts_with(&format!("record report {} ", report.id))
                    || line.starts_with(&format!("skip {}:", report.id))
            });
            prop_assert_eq!(told.count(), 1, "{}", report.id);
        }
    }
}
