//! Journals, event by event, and what is left to do after them.

use hookwright_events::{
    EventName, FailureCause, FiringEvent, Outcome, Output, ProcessOutcome, Report, SessionEvent,
    Status, TaskId, TurnEvent, Verdict,
};
use serde_json::json;

use super::*;
use crate::availability::Choice;
use crate::pending_output::Last;
use hookwright_events::firing_key::Occasion;

/// A journal under construction.
#[derive(Default)]
struct Told {
    history: History,
    firing: u64,
}

impl Told {
    fn tell(mut self, kind: RunEventKind) -> Self {
        let (at, session) = (String::new(), None);
        self.history.add(RunEvent { version: 1, firing: self.firing, at, session, kind });
        self
    }

    fn fires(mut self, key: &str) -> Self {
        self.firing += 1;
        let event = FiringKey::parse(key).event().expect("it is known");
        self.tell(RunEventKind::Firing(FiringEvent::Fired {
            event,
            subject: None,
            key: Some(key.to_owned()),
            data: None,
            late_answers: Vec::new(),
        }))
    }

    fn starts(self, hook: &str) -> Self {
        self.tell(RunEventKind::Firing(FiringEvent::HookStarting {
            hook: hook.to_owned(),
            attempt: 1,
            awaited: true,
            run_id: Some(format!("run of {hook}")),
            digest: None,
        }))
    }

    fn ends(self, hook: &str, outcome: Outcome) -> Self {
        let id = hook.to_owned();
        let hook = hook.to_owned();
        let ended = RunEventKind::Firing(FiringEvent::HookEnded {
            hook,
            attempt: 1,
            outcome,
            duration_ms: 1.0,
        });
        let report = Report { id, status: Status::Success, ..report() };
        self.tell(ended).tell(RunEventKind::Firing(FiringEvent::HookReported { report }))
    }

    fn decides(self, decision: &Decision) -> Self {
        let event = hookwright_events::Event::new(
            EventName::resolve("iteration:complete").expect("it is known"),
            serde_json::Map::new(),
        );
        let decision = decision.record(&event, &[]);
        self.tell(RunEventKind::Firing(FiringEvent::Decided { decision }))
    }

    fn turn_starts(self, iteration: u32, attempt: u32) -> Self {
        let turn = TurnName { stage: 1, iteration };
        let run_id = format!("turn {iteration}/{attempt}");
        self.tell(RunEventKind::Turn(TurnEvent::TurnStarting {
            turn,
            attempt,
            run_id,
            agent: None,
        }))
    }

    fn turn_ends(self, iteration: u32, error: Option<&str>) -> Self {
        let turn = TurnName { stage: 1, iteration };
        let error = error.map(str::to_owned);
        let result = TurnResult { decision: "continue".into(), error, ..TurnResult::default() };
        self.tell(RunEventKind::Turn(TurnEvent::TurnEnded {
            turn,
            attempt: 1,
            result,
            duration_ms: 5.0,
        }))
    }

    fn session_ends(self, status: SessionStatus) -> Self {
        self.tell(RunEventKind::Session(SessionEvent::SessionEnded {
            status,
            reason: String::new(),
        }))
    }

    /// The history as it is read.
    fn read(mut self) -> History {
        self.history.pending.put_before(std::mem::take(&mut self.history.in_flight));
        self.history
    }
}

fn report() -> Report {
    serde_json::from_value(json!({
        "id": "", "type": "shell", "source": "", "status": "success", "exit_code": 0,
        "stdout": "", "stderr": "", "attempts": 1, "duration_ms": 1.0, "reason": null
    }))
    .expect("a report")
}

fn exited() -> Outcome {
    Outcome::Process(ProcessOutcome::Exited { code: 0, output: Output::default() })
}

fn interrupted() -> Outcome {
    Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() })
}

fn pipes(text: &str) -> Decision {
    Decision { piped_output: text.to_owned(), ..Decision::default() }
}

fn verdict(verdict: Verdict) -> Decision {
    Decision { verdict, ..Decision::default() }
}

fn turn(iteration: u32) -> TurnName {
    TurnName { stage: 1, iteration }
}

/// What is known of the firing with this key.
pub(super) fn known(history: &mut History, key: &str) -> &'static str {
    let key = FiringKey::parse(key);
    match history.decided(&key).is_some() {
        true => "decided",
        false if history.take_past(&key).is_some() => "take up",
        false => "begin",
    }
}

#[test]
fn a_firing_is_new_resumed_or_known() {
    let mut history = Told::default()
        .fires("iteration:complete/0/1")
        .starts("a")
        .ends("a", exited())
        .decides(&Decision::default())
        .fires("iteration:complete/0/2")
        .starts("a")
        .read();
    assert_eq!(known(&mut history, "iteration:complete/0/1"), "decided");
    assert_eq!(history.unfinished_runs(), ["run of a"]);
    assert_eq!(known(&mut history, "iteration:complete/0/2"), "take up");
    assert_eq!(known(&mut history, "iteration:complete/0/3"), "begin");
    assert_eq!(history.firings, 2);
}

#[test]
fn hook_output_waits_until_the_turn_that_was_given_it_has_ended() {
    let told =
        || Told::default().fires("iteration:start/0/1").decides(&pipes("first")).turn_starts(1, 1);
    let history = told().fires("iteration:complete/0/1").decides(&pipes("second")).read();
    assert!(history.pending.block().expect("both").ends_with("first\n\nsecond"));
    let history = told().turn_ends(1, None).read();
    assert!(history.pending.is_empty());
}

#[test]
fn a_raw_delivery_gets_the_raw_output_and_the_rest_keeps_waiting() {
    let told = || {
        Told::default()
            .fires("iteration:complete/0/1")
            .decides(&Decision { piped_raw: true, ..pipes("raw") })
            .fires("stage:complete/0")
            .decides(&pipes("news"))
            .turn_starts(0, 1)
    };
    let cut_off = told().read();
    assert_eq!(cut_off.raw_delivery(), Some(&turn(0)));
    assert_eq!(cut_off.pending.raw_block().as_deref(), Some("raw"));
    let ended = told().turn_ends(0, None).read();
    assert_eq!((ended.raw_delivery(), ended.pending.raw_block()), (Some(&turn(0)), None));
    assert!(ended.pending.block().expect("the rest").ends_with("\n\nnews"));
}

#[test]
fn a_final_delivery_is_known_from_before_its_hooks_to_its_end_and_may_be_done_again() {
    let begun = || {
        Told::default()
            .fires("iteration:complete/0/1")
            .decides(&Decision { must_reach_agent: true, ..pipes("red") })
            .tell(RunEventKind::Turn(TurnEvent::FinalDelivery { turn: turn(2) }))
    };
    let history = begun().fires("iteration:start/0/2").decides(&pipes("start")).read();
    assert_eq!(history.final_delivery, Some(turn(2)));
    assert_eq!(history.pending.last(), Last::Failure);
    let failed = begun().turn_starts(2, 1).turn_ends(2, Some("no key"));
    let redone = failed
        .fires("iteration:error/0/2")
        .decides(&Decision::default())
        .session_ends(SessionStatus::Failed)
        .read();
    assert!(redone.final_delivery == Some(turn(2)) && !redone.has_ended(&turn(2)));
    // It gets the same output again.
    assert_eq!(redone.pending.last(), Last::Failure);
}

#[test]
fn an_interrupted_turn_keeps_its_attempts_and_its_marker() {
    let history = Told::default().turn_starts(1, 1).turn_starts(1, 2).read();
    assert_eq!(history.turns[&turn(1)].attempts, 2);
    assert_eq!(history.unfinished_runs(), ["turn 1/2"]);
    assert!(!history.has_ended(&turn(1)));
    assert_eq!(history.iterations(), 0);
}

#[test]
fn hooks_that_an_interrupt_ended_still_have_to_run() {
    let skipped = RunEventKind::Firing(FiringEvent::HookSkipped {
        hook: "c".into(),
        reason: "interrupted".into(),
        ended_by: None,
    });
    let mut history = Told::default()
        .fires("iteration:complete/0/1")
        .starts("a")
        .ends("a", exited())
        .starts("b")
        .ends("b", interrupted())
        .tell(skipped)
        .decides(&pipes("half of it"))
        .session_ends(SessionStatus::Interrupted)
        .read();
    assert!(history.pending.is_empty(), "nothing was decided");
    let past = history.take_past(&FiringKey::parse("iteration:complete/0/1")).expect("undecided");
    assert!(!past.is_decided());
    assert_eq!(history.left_in_background().len(), 0);
}

#[test]
fn a_background_hook_that_an_interrupt_ended_is_resumed() {
    let mut history = Told::default()
        .fires("iteration:complete/0/1")
        .starts("slow")
        .decides(&Decision::default())
        .ends("slow", interrupted())
        .session_ends(SessionStatus::Interrupted)
        .read();
    assert_eq!(known(&mut history, "iteration:complete/0/1"), "decided");
    let left = history.left_in_background();
    assert_eq!(left.len(), 1);
    assert!(left[0].1.is_decided());
}

#[test]
fn the_iteration_a_session_failed_with_is_done_again() {
    let told = Told::default()
        .turn_starts(1, 1)
        .turn_ends(1, Some("early"))
        .fires("iteration:error/0/1")
        .decides(&pipes("fix it"))
        .turn_starts(2, 1)
        .turn_ends(2, Some("no key"))
        .fires("iteration:error/0/2")
        .decides(&Decision::default());
    let history = told.session_ends(SessionStatus::Failed).read();
    assert!(history.has_ended(&turn(1)) && history.turns[&turn(1)].is_forgiven);
    assert!(!history.has_ended(&turn(2)) && !history.turns[&turn(2)].is_forgiven);
    assert_eq!(history.turns[&turn(2)].failed_before.as_deref(), Some("no key"));
    assert_eq!(history.turns[&turn(1)].redone, 0);
    // Its hooks have run for the first failure; the next one is another.
    assert_eq!(history.turns[&turn(2)].redone, 1);
    assert_eq!(history.turns[&turn(2)].attempts, 1);
    assert_eq!(history.iterations(), 1);
}

#[test]
fn a_failure_that_did_not_end_the_session_is_not_done_again() {
    let failed = |told: Told| {
        told.turn_starts(1, 1)
            .turn_ends(1, Some("broken"))
            .fires("iteration:error/0/1")
            .decides(&pipes("fix it"))
    };
    // The recovery prompt comes next.
    let history = failed(Told::default()).session_ends(SessionStatus::Interrupted).read();
    assert!(history.has_ended(&turn(1)));
    // The stage continued to its end.
    let ended = RunEventKind::Session(SessionEvent::StageEnded {
        stage: "a".into(),
        index: 1,
        reason: "completed".into(),
        iterations: 1,
    });
    let history = failed(Told::default()).tell(ended).session_ends(SessionStatus::Aborted).read();
    assert!(history.has_ended(&turn(1)));
    let PastStage { reason, iterations, .. } = &history.stages_ended[&1];
    assert_eq!((*reason, *iterations), (Reason::Completed, 1));
}

#[test]
fn the_abort_that_ended_the_session_does_not_end_it_again_and_a_block_stays() {
    let reason = || "enough".to_owned();
    let history = Told::default()
        .fires("session:stop/1")
        .decides(&verdict(Verdict::Block { reason: reason() }))
        .turn_starts(2, 1)
        .turn_ends(2, None)
        .fires("iteration:complete/0/2")
        .decides(&verdict(Verdict::Abort { reason: reason() }))
        .session_ends(SessionStatus::Aborted)
        .read();
    let verdict_of = |key: &str| history.decided(&FiringKey::parse(key)).cloned();
    let blocked = Verdict::Block { reason: reason() };
    assert_eq!(verdict_of("session:stop/1"), Some(blocked));
    let goes_on = Verdict::Proceed { rewritten_input: None };
    assert_eq!(verdict_of("iteration:complete/0/2"), Some(goes_on));
    assert_eq!(history.endings, 1);
}

#[test]
fn after_a_hook_that_ended_the_session_the_hooks_that_have_not_run_are_left_to_do() {
    let skips = |hook: &str, reason: &str, ended_by: Option<&str>| {
        RunEventKind::Firing(FiringEvent::HookSkipped {
            hook: hook.to_owned(),
            reason: reason.to_owned(),
            ended_by: ended_by.map(str::to_owned),
        })
    };
    let ends = |told: Told, key: &str| {
        told.fires(key)
            .starts("gate")
            .tell(skips("off", "enabled: false", None))
            .tell(skips("behind", "in other words", Some("gate")))
            // As an older journal has it.
            .tell(skips("behind too", "gate aborted", None))
            .tell(skips("odd", "somebody else aborted", None))
            .decides(&verdict(Verdict::Abort { reason: "no".into() }))
            .session_ends(SessionStatus::Aborted)
    };
    let point = "iteration:complete/0/1";
    let once = ends(Told::default(), point);
    let (key, again) = once.history.again_at(&FiringKey::parse(point)).expect("it was ended there");
    assert_eq!(
        (key.to_string().as_str(), again.fires_anew),
        ("iteration:complete/0/1/again-1", false)
    );
    assert_eq!(again.ran, ["gate", "off", "odd"]);
    let twice = ends(once, "iteration:complete/0/1/again-1");
    let (key, _) = twice.history.again_at(&FiringKey::parse(point)).expect("it was ended there");
    assert_eq!(key.to_string(), "iteration:complete/0/1/again-2");
    // A point that is reached again anyway has all its hooks.
    let started = ends(Told::default(), "session:start/0");
    assert!(started.history.again_at(&FiringKey::parse("session:start/0")).is_none());
    let (key, again) =
        started.history.again_at(&FiringKey::parse("session:start/1")).expect("it begins again");
    assert_eq!((key.to_string().as_str(), again.fires_anew), ("session:start/1", true));
}

#[test]
fn a_session_aborted_at_its_end_ends_in_the_same_way_again() {
    let end = "closing/session:end/0/completed";
    let history = Told::default()
        .fires(end)
        .starts("gate")
        .decides(&verdict(Verdict::Abort { reason: "no".into() }))
        .session_ends(SessionStatus::Aborted)
        .read();
    assert_eq!((history.endings, history.is_at_its_end()), (0, true));
    assert!(history.again_at(&FiringKey::parse(end)).is_some());
}

#[test]
fn a_stop_that_nothing_followed_is_asked_about_again() {
    let mut history = Told::default()
        .fires("session:stop/1")
        .decides(&verdict(Verdict::Abort { reason: "enough".into() }))
        .session_ends(SessionStatus::Aborted)
        .read();
    assert_eq!(known(&mut history, "session:stop/1"), "begin");
}

#[test]
fn configuration_that_was_read_anew_takes_the_place_of_the_first() {
    let sources = |file: &str| json!({ "all": [], "loops": [], "asked": { "file": file, "from": "/", "agent": null } });
    let began = RunEventKind::Session(SessionEvent::SessionStarted {
        plan: "x".into(),
        stages: Vec::new(),
        sources: sources("first"),
    });
    let resumed =
        |sources| RunEventKind::Session(SessionEvent::SessionResumed { time: 1, sources });
    let history = Told::default()
        .tell(began)
        .tell(resumed(Some(sources("second"))))
        .tell(resumed(None))
        .read();
    assert_eq!(history.sources.expect("kept").asked.file, "second");
    assert_eq!(history.resumes, 2);
}

fn left(told: &mut Told) -> Vec<(String, bool)> {
    let left = told.history.left_tasks();
    left.into_iter()
        .map(|left| (FiringKey::from(left.firing).to_string(), left.past.is_some()))
        .collect()
}

#[test]
fn the_completion_of_a_task_is_resumed_unless_it_was_decided() {
    let blocked = Verdict::Block { reason: "no".into() };
    let blocked = Decision { verdict: blocked, ..Decision::default() };
    let mut told = Told::default()
        .fires("task:complete/TAS-1/1")
        .decides(&blocked)
        .fires("task:complete/TAS-2/1")
        .decides(&Decision::default())
        .fires("task:complete/TAS-1/2")
        .starts("tests");
    assert_eq!(told.history.tasks_left(), [TaskId(1)]);
    assert_eq!(left(&mut told), [("task:complete/TAS-1/2".to_owned(), true)]);
    let mut times: Vec<(TaskId, u32)> = told.history.task_times().into_iter().collect();
    times.sort();
    assert_eq!(times, [(TaskId(1), 2), (TaskId(2), 1)]);
}

#[test]
fn hooks_that_come_after_the_fact_are_not_lost_between_the_decision_and_their_start() {
    let before = || Told::default().fires("task:complete/TAS-1/1/before");
    let after = "task:complete/TAS-1/1/after";
    let mut passed = before().decides(&Decision::default());
    assert_eq!(left(&mut passed), [(after.to_owned(), false)]);
    let mut begun = before().decides(&Decision::default()).fires(after).starts("tell");
    assert_eq!(left(&mut begun), [(after.to_owned(), true)]);
    let mut over =
        before().decides(&Decision::default()).fires(after).decides(&Decision::default());
    assert_eq!(left(&mut over), []);
    let verdict = Verdict::Block { reason: "no".into() };
    let mut blocked = before().decides(&Decision { verdict, ..Decision::default() });
    assert_eq!(left(&mut blocked), []);
}

#[test]
fn a_decision_about_a_task_of_an_execution_is_kept_and_an_abort_is_obeyed_once() {
    let occasion = Occasion::Execution { stage: 0, execution: 1 };
    let verdict = Verdict::Abort { reason: "broken".into() };
    let decision = Decision { verdict: verdict.clone(), ..Decision::default() };
    let told = Told::default().fires("task:complete/TAS-1/0-1").decides(&decision);
    assert_eq!(told.history.decided_task(TaskId(1), occasion), Some(&verdict));
    assert_eq!(told.history.aborted_by_task(), Some("broken"));
    let (status, reason) = (SessionStatus::Aborted, "broken".to_owned());
    let told = told.tell(RunEventKind::Session(SessionEvent::SessionEnded { status, reason }));
    assert_eq!(told.history.aborted_by_task(), None);
    assert_eq!(told.history.decided_task(TaskId(2), occasion), None);
}

fn given_up(cause: FailureCause, until: Option<&str>) -> RunEventKind {
    RunEventKind::Turn(TurnEvent::TurnGivenUp {
        turn: TurnName { stage: 1, iteration: 1 },
        attempt: 1,
        agent: "a".into(),
        cause,
        reason: "no".into(),
        until: until.map(str::to_owned),
        agent_session: None,
        usage: Some(Usage { input_tokens: 5, output_tokens: 1, cost_usd: Some(0.5) }),
        duration_ms: 1.0,
    })
}

#[test]
fn a_turn_that_was_given_up_is_not_an_iteration_but_its_usage_counts() {
    let told = Told::default()
        .turn_starts(1, 1)
        .tell(given_up(FailureCause::RateLimit, Some("2026-01-02T03:04:05Z")))
        .history;
    assert_eq!((told.iterations(), told.unfinished_runs().len()), (0, 0));
    assert_eq!(told.turns[&TurnName { stage: 1, iteration: 1 }].attempts, 1);
    assert_eq!(told.usage().and_then(|usage| usage.cost_usd), Some(0.5));
    let until = milliseconds("2026-01-02T03:04:05Z").expect("a time");
    let wait = |now| told.availability.choose(&["a"], now);
    assert!(matches!(wait(until - 1), Choice::Wait { until: told, .. } if told == until));
    assert_eq!(wait(until), Choice::Ask(0));
}

#[test]
fn a_resumed_session_tries_agents_again_that_reported_no_time() {
    let refused = || Told::default().turn_starts(1, 1).tell(given_up(FailureCause::Quota, None));
    assert!(matches!(refused().history.availability.choose(&["a"], 0), Choice::GiveUp { .. }));
    let ended = RunEventKind::Session(SessionEvent::SessionEnded {
        status: SessionStatus::Paused,
        reason: String::new(),
    });
    assert_eq!(refused().tell(ended).history.availability.choose(&["a"], 0), Choice::Ask(0));
}

#[test]
fn a_childs_usage_counts_for_the_stage_that_started_it_and_survives_a_resume() {
    let usage = |input_tokens, cost_usd| Usage { input_tokens, output_tokens: 0, cost_usd };
    let starts = |index| {
        RunEventKind::Session(SessionEvent::StageStarted {
            stage: "work".into(),
            index,
            iterations_max: 1,
        })
    };
    let spawned = |hook: &str| {
        RunEventKind::Firing(FiringEvent::HookSpawned {
            hook: hook.to_owned(),
            session: format!("s--{hook}"),
            pipeline: "review".into(),
        })
    };
    let used = |hook: &str, stage, usage| {
        RunEventKind::Firing(FiringEvent::ChildUsed {
            hook: hook.to_owned(),
            session: format!("s--{hook}"),
            stage,
            usage,
        })
    };
    let history = Told::default()
        .fires("session:start/0")
        .tell(spawned("early"))
        .tell(used("early", 1, usage(1, Some(0.25))))
        .tell(starts(1))
        .tell(starts(2))
        .fires("stage:start/1")
        .tell(spawned("review"))
        .tell(used("review", 2, usage(10, Some(0.5))))
        .tell(used("review", 2, usage(20, None)))
        .history;
    let by_stage = [(1, usage(1, Some(0.25))), (2, usage(30, Some(0.5)))];
    assert_eq!(history.usage, BTreeMap::from(by_stage));
    let all = Some(usage(31, Some(0.75)));
    assert_eq!((history.usage(), history.usage_of_children()), (all, all));
    let open = |session: &str, stage, used| OpenChild { session: session.into(), stage, used };
    assert_eq!(
        history.children,
        HashMap::from([
            ((1, "early".to_owned()), open("s--early", 1, usage(1, Some(0.25)))),
            ((2, "review".to_owned()), open("s--review", 2, usage(30, Some(0.5)))),
        ])
    );
}
