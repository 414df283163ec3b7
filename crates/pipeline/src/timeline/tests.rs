//! Short journals, and the whole timeline of each.

use hookwright_events::{FailureCause, SessionStatus, TurnName};
use hookwright_events::{
    ItemState, Outcome, PauseCause, PersonOutcome, ProcessOutcome, TurnResult, WorkItem, WorkSource,
};
use serde_json::{Value, json};

use super::*;

/// The timeline of these entries, one per second, as JSON without `null` and empty fields.
fn told(kinds: Vec<(u64, RunEventKind)>, runs: bool) -> Value {
    let mut timeline = Timeline::default();
    let mut parts = Vec::new();
    for (second, (firing, kind)) in kinds.into_iter().enumerate() {
        let at = format!("2026-01-02T03:04:{second:02}Z");
        parts.extend(timeline.see(RunEvent { version: 1, firing, at, session: None, kind }));
    }
    parts.extend(timeline.finish(runs));
    without_nothing(serde_json::to_value(parts).expect("plain data"))
}

fn without_nothing(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(without_nothing).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, without_nothing(value)));
            let nothing = |value: &Value| value.is_null() || *value == json!([]);
            Value::Object(fields.filter(|(_, value)| !nothing(value)).collect())
        }
        other => other,
    }
}

fn began() -> (u64, RunEventKind) {
    let sources = Value::Null;
    (
        0,
        RunEventKind::Session(SessionEvent::SessionStarted {
            plan: "p".into(),
            stages: vec!["work".into()],
            sources,
        }),
    )
}

fn stage() -> (u64, RunEventKind) {
    let stage = "work".to_owned();
    (0, RunEventKind::Session(SessionEvent::StageStarted { stage, index: 1, iterations_max: 9 }))
}

fn fired(firing: u64, event: &str, key: &str) -> (u64, RunEventKind) {
    let event = EventName::resolve(event).expect("it is in the table");
    let key = Some(key.to_owned());
    (
        firing,
        RunEventKind::Firing(FiringEvent::Fired {
            event,
            subject: None,
            key,
            data: None,
            late_answers: vec![],
        }),
    )
}

fn turn(iteration: u32) -> TurnName {
    TurnName { stage: 1, iteration }
}

fn starts(iteration: u32) -> (u64, RunEventKind) {
    let run_id = "r".to_owned();
    (
        0,
        RunEventKind::Turn(TurnEvent::TurnStarting {
            turn: turn(iteration),
            attempt: 1,
            run_id,
            agent: None,
        }),
    )
}

fn ends(iteration: u32, usage: Option<Usage>) -> (u64, RunEventKind) {
    let result = TurnResult { decision: "continue".into(), usage, ..TurnResult::default() };
    (
        0,
        RunEventKind::Turn(TurnEvent::TurnEnded {
            turn: turn(iteration),
            attempt: 1,
            result,
            duration_ms: 5.0,
        }),
    )
}

fn item() -> WorkItem {
    WorkItem {
        source: WorkSource::Issues,
        key: "3".into(),
        title: "Parser".into(),
        content: None,
        file: None,
        plan_file: None,
    }
}

fn item_starts() -> (u64, RunEventKind) {
    (0, RunEventKind::Session(SessionEvent::ItemStarted { stage: 1, execution: 1, item: item() }))
}

fn item_ends() -> (u64, RunEventKind) {
    let kind = RunEventKind::Session(SessionEvent::ItemEnded {
        stage: 1,
        execution: 1,
        key: "3".into(),
        state: ItemState::Failed,
        reason: Some("no".into()),
        iterations: 1,
        duration_ms: 7.0,
    });
    (0, kind)
}

fn ran(firing: u64, hook: &str) -> Vec<(u64, RunEventKind)> {
    let starting = RunEventKind::Firing(FiringEvent::HookStarting {
        hook: hook.to_owned(),
        attempt: 1,
        awaited: true,
        run_id: None,
        digest: None,
    });
    let report = Report {
        id: hook.to_owned(),
        action: "shell".into(),
        source: "f:1".into(),
        status: Status::Success,
        exit_code: Some(0),
        stdout: String::new(),
        stderr: String::new(),
        attempts: 1,
        duration_ms: 2.0,
        reason: None,
        interrupted: false,
        shows_output: false,
        hides_output: false,
    };
    vec![(firing, starting), (firing, RunEventKind::Firing(FiringEvent::HookReported { report }))]
}

const COST: Usage = Usage { input_tokens: 100, output_tokens: 10, cost_usd: Some(0.5) };

#[test]
fn a_piece_of_work_holds_its_iterations_and_its_last_hooks() {
    let mut journal =
        vec![began(), stage(), item_starts(), fired(1, "iteration:start", "iteration:start/0/1")];
    journal.extend([starts(1), ends(1, Some(COST)), fired(2, "execution:pre_end", "k")]);
    journal.extend(ran(2, "check"));
    journal.extend([item_ends(), fired(3, "execution:post_end", "k")]);
    journal.extend(ran(3, "tell"));
    journal.push((
        0,
        RunEventKind::Session(SessionEvent::StageEnded {
            stage: "work".into(),
            index: 1,
            reason: "completed".into(),
            iterations: 1,
        }),
    ));
    let (status, reason) = (SessionStatus::Completed, "completed".to_owned());
    journal.push((0, RunEventKind::Session(SessionEvent::SessionEnded { status, reason })));
    let cost = json!({ "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.5 });
    let hook = |at: &str, event: &str, hook: &str| {
        json!({ "kind": "hook", "at": at, "event": event, "hook": hook, "status": "success",
                "attempts": 1, "duration_ms": 2.0 })
    };
    assert_eq!(
        told(journal, false),
        json!([
            { "kind": "session_began", "at": "2026-01-02T03:04:00Z", "plan": "p",
              "stages": ["work"] },
            { "kind": "stage_began", "at": "2026-01-02T03:04:01Z", "stage": "work", "index": 1,
              "iterations_max": 9 },
            { "kind": "item_began", "at": "2026-01-02T03:04:02Z", "stage": 1, "execution": 1,
              "item": { "source": "issues", "key": "3", "title": "Parser" }, "goes_on": false },
            { "kind": "iteration", "at": "2026-01-02T03:04:03Z", "stage": 1, "iteration": 1,
              "attempt": 1, "state": "ended", "duration_ms": 5.0,
              "result": { "decision": "continue", "usage": cost } },
            hook("2026-01-02T03:04:07Z", "execution:pre_end", "check"),
            hook("2026-01-02T03:04:11Z", "execution:post_end", "tell"),
            { "kind": "item_ended", "stage": 1, "execution": 1, "key": "3", "state": "failed",
              "reason": "no", "iterations": 1, "duration_ms": 7.0, "usage": cost },
            { "kind": "stage_ended", "stage": "work", "index": 1, "reason": "completed",
              "iterations": 1, "duration_ms": 12000.0, "usage": cost },
            { "kind": "session_ended", "at": "2026-01-02T03:04:14Z", "status": "completed",
              "reason": "completed", "usage": cost },
        ])
    );
}

#[test]
fn an_interrupted_work_item_continues_with_the_session() {
    let journal = vec![
        began(),
        stage(),
        item_starts(),
        starts(1),
        (0, RunEventKind::Session(SessionEvent::SessionResumed { time: 1, sources: None })),
        starts(1),
        ends(1, None),
        item_ends(),
    ];
    let story = told(journal, true);
    let kinds: Vec<String> = story
        .as_array()
        .expect("a list")
        .iter()
        .map(|part| {
            let more = match part["kind"].as_str() {
                Some("item_began") => part["goes_on"].to_string(),
                Some("item_ended") => part["state"].to_string(),
                Some("iteration") => part["state"].to_string(),
                _ => String::new(),
            };
            format!("{} {more}", part["kind"].as_str().expect("text"))
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "session_began ",
            "stage_began ",
            "item_began false",
            "iteration \"cut_off\"",
            "item_ended null",
            "stage_ended ",
            "session_resumed ",
            "stage_began ",
            "item_began true",
            "iteration \"ended\"",
        ]
    );
}

#[test]
fn a_pause_is_shown_with_its_cause_and_duration() {
    let pause = |until: Option<&str>| {
        let (cause, reason) = (PauseCause::RateLimit, "asked too often".to_owned());
        (
            0,
            RunEventKind::Session(SessionEvent::Paused {
                cause,
                reason,
                until: until.map(str::to_owned),
            }),
        )
    };
    let changed = RunEventKind::Turn(TurnEvent::AgentChanged {
        from: "a".into(),
        to: "b".into(),
        reason: "down".into(),
    });
    let journal = vec![
        began(),
        starts(1),
        pause(Some("2026-01-02T03:04:03Z")),
        (0, RunEventKind::Session(SessionEvent::Continued {})),
        (0, changed),
        ends(1, None),
        pause(None),
    ];
    let story = told(journal, true);
    let deed = |at: &str, more: Value| {
        let mut deed = json!({ "kind": "pause", "at": at, "cause": "rate_limit",
                               "reason": "asked too often" });
        for (name, value) in more.as_object().expect("fields") {
            deed[name] = value.clone();
        }
        deed
    };
    let until = json!({ "until": "2026-01-02T03:04:03Z", "duration_ms": 1000.0 });
    assert_eq!(
        story[2]["deeds"],
        json!([
            deed("2026-01-02T03:04:02Z", until),
            { "kind": "agent_changed", "from": "a", "to": "b", "reason": "down" },
        ])
    );
    // One between two iterations belongs to neither.
    assert_eq!(story[3], deed("2026-01-02T03:04:06Z", json!({})));
}

#[test]
fn an_iteration_continues_after_an_agent_gave_up_and_its_usage_counts() {
    let given_up = RunEventKind::Turn(TurnEvent::TurnGivenUp {
        turn: turn(1),
        attempt: 1,
        agent: "a".into(),
        cause: FailureCause::Outage,
        reason: "no route".into(),
        until: None,
        agent_session: None,
        usage: Some(COST),
        duration_ms: 4.0,
    });
    let journal = vec![began(), starts(1), (0, given_up), starts(1), ends(1, Some(COST))];
    let story = told(journal, true);
    assert_eq!(
        story[2],
        json!({
            "kind": "iteration", "at": "2026-01-02T03:04:01Z", "stage": 1, "iteration": 1,
            "attempt": 1, "state": "ended", "duration_ms": 5.0,
            "result": { "decision": "continue", "usage": story[2]["result"]["usage"] },
            "deeds": [{ "kind": "given_up", "agent": "a", "cause": "outage", "reason": "no route",
                        "duration_ms": 4.0 }],
        })
    );
    assert_eq!(story.as_array().map(Vec::len), Some(3));
}

#[test]
fn a_question_is_shown_with_the_answerer_and_the_waiting_time() {
    let waiting = RunEventKind::Firing(FiringEvent::HookWaiting {
        hook: "gate".into(),
        wait: "w1".into(),
        question: "Deploy?".into(),
        since: "2026-01-02T03:00:00Z".into(),
        until: "2026-01-02T04:00:00Z".into(),
        url: None,
    });
    let ended = |outcome: Outcome| {
        (
            7,
            RunEventKind::Firing(FiringEvent::HookEnded {
                hook: "gate".into(),
                attempt: 1,
                outcome,
                duration_ms: 1.0,
            }),
        )
    };
    let decided = |refused: bool, action: &str, message: &str| {
        Outcome::Person(PersonOutcome::Decided {
            response: Box::new(json!({ "action": action, "message": message })),
            refused,
            by: "kim in the terminal".into(),
            at: "2026-01-02T03:02:00Z".into(),
        })
    };
    let question = |more: Value| {
        let mut told = json!({ "kind": "question", "event": "stage:complete", "hook": "gate",
                               "wait": "w1", "question": "Deploy?",
                               "since": "2026-01-02T03:00:00Z" });
        for (name, value) in more.as_object().expect("fields") {
            told[name] = value.clone();
        }
        told
    };
    let by = "kim in the terminal";
    for (outcome, expected) in [
        (
            Some(decided(false, "approve", "")),
            json!({ "state": "approved", "action": "approve", "by": by, "duration_ms": 120000.0 }),
        ),
        (
            Some(decided(true, "reject", "not today")),
            json!({ "state": "rejected", "action": "reject", "message": "not today", "by": by,
                    "duration_ms": 120000.0 }),
        ),
        (
            Some(Outcome::Person(PersonOutcome::Unanswered { after_ms: 3 })),
            json!({ "state": "unanswered", "duration_ms": 3.0 }),
        ),
        (
            Some(Outcome::Process(ProcessOutcome::Interrupted { output: Default::default() })),
            json!({ "state": "cut_off" }),
        ),
        (
            Some(Outcome::Process(ProcessOutcome::NotStarted { cause: "x".into() })),
            json!({ "state": "withdrawn" }),
        ),
        (None, json!({ "state": "waiting" })),
    ] {
        let mut journal = vec![fired(7, "stage:complete", "k"), (7, waiting.clone())];
        journal.extend(outcome.map(ended));
        assert_eq!(told(journal, true), json!([question(expected)]));
    }
    let journal = vec![fired(7, "stage:complete", "k"), (7, waiting)];
    assert_eq!(told(journal, false), json!([question(json!({ "state": "cut_off" }))]));
}

#[test]
fn a_child_is_shown_with_its_session() {
    let (hook, session, pipeline) = ("review".into(), "one-review-1".into(), "review".into());
    let spawned = RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline });
    assert_eq!(
        told(vec![fired(4, "stage:complete", "k"), (4, spawned)], false),
        json!([{ "kind": "child", "event": "stage:complete", "hook": "review",
                 "session": "one-review-1", "pipeline": "review" }])
    );
}

#[test]
fn the_reported_usage_of_agents_is_added_up() {
    let mut timeline = Timeline::default();
    assert_eq!(timeline.used(), None);
    let free = Usage { input_tokens: 1, output_tokens: 2, cost_usd: None };
    for (number, usage) in [(1, Some(COST)), (2, None), (3, Some(free)), (4, Some(COST))] {
        let (firing, kind) = ends(number, usage);
        let at = "2026-01-02T03:04:05Z".to_owned();
        timeline.see(RunEvent { version: 1, firing, at, session: None, kind });
    }
    let all = Usage { input_tokens: 201, output_tokens: 22, cost_usd: Some(1.0) };
    assert_eq!(timeline.used(), Some(all));
}

#[test]
fn a_childs_usage_counts_for_the_place_where_it_was_started() {
    let spawned = |firing, hook: &str| {
        let (hook, session, pipeline) = (hook.to_owned(), "child".into(), "review".into());
        (firing, RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline }))
    };
    let used = |firing, hook: &str| {
        let (hook, session) = (hook.to_owned(), "child".into());
        (
            firing,
            RunEventKind::Firing(FiringEvent::ChildUsed { hook, session, stage: 1, usage: COST }),
        )
    };
    let mut journal = vec![began(), fired(1, "session:start", "k"), spawned(1, "early")];
    journal.extend([
        used(1, "early"),
        stage(),
        item_starts(),
        fired(2, "iteration:start", "iteration:start/0/1"),
    ]);
    journal.extend([starts(1), ends(1, Some(COST)), fired(3, "execution:pre_end", "k")]);
    // A hook that waits for it is not reported before it has ended.
    journal.extend(ran(3, "review").into_iter().take(1));
    journal.extend([spawned(3, "review"), used(3, "review"), item_ends(), used(1, "early")]);
    let (status, reason) = (SessionStatus::Completed, "completed".to_owned());
    journal.push((0, RunEventKind::Session(SessionEvent::SessionEnded { status, reason })));
    let told = told(journal, false);
    let of_kind = |kind: &str| {
        let parts = told.as_array().expect("parts");
        let part = parts.iter().find(|part| part["kind"] == kind).expect("it is told");
        part["usage"]["cost_usd"].clone()
    };
    let costs = ["item_ended", "stage_ended", "session_ended"].map(of_kind);
    assert_eq!(costs, [json!(1.0), json!(1.5), json!(2.0)]);
}

#[test]
fn of_very_many_deeds_the_middle_is_counted_and_its_trouble_is_known() {
    use crate::limits::DEEDS_KEPT_AT_EACH_END;
    let note = |number: usize| {
        (0, RunEventKind::Session(SessionEvent::Noted { note: number.to_string() }))
    };
    let notes = 2 * DEEDS_KEPT_AT_EACH_END + 7;
    let entries = [began(), stage(), starts(1), ends(1, None)].into_iter();
    let parts = told(entries.chain((0..notes).map(note)).collect(), false);
    let iteration = &parts[2];
    let deeds = iteration["deeds"].as_array().unwrap();
    assert_eq!(deeds.len(), 2 * DEEDS_KEPT_AT_EACH_END);
    assert_eq!(iteration["deeds_left_out"], 7);
    assert_eq!(deeds[DEEDS_KEPT_AT_EACH_END - 1]["note"], json!("2499"));
    assert_eq!(deeds[DEEDS_KEPT_AT_EACH_END]["note"], json!("2507"));
    assert_eq!(deeds.last().unwrap()["note"], json!((notes - 1).to_string()));
}

#[test]
fn hooks_that_never_end_are_not_kept_forever() {
    use crate::limits::UNDER_WAY_MAX;
    let mut timeline = Timeline::default();
    let starting = |number: usize| {
        RunEventKind::Firing(FiringEvent::HookStarting {
            hook: number.to_string(),
            attempt: 1,
            awaited: true,
            run_id: None,
            digest: None,
        })
    };
    let mut parts = Vec::new();
    for number in 0..UNDER_WAY_MAX + 5 {
        let at = "2026-01-02T03:04:05Z".to_owned();
        let (version, firing, session) = (1, number as u64, None);
        parts.extend(timeline.see(RunEvent {
            version,
            firing,
            at,
            session,
            kind: starting(number),
        }));
    }
    assert_eq!(parts.len(), 5, "those are cut off");
    assert_eq!(timeline.finish(false).len(), UNDER_WAY_MAX);
}
