use hookwright_events::{ItemState, Outcome, ProcessOutcome, Report, TurnResult, Usage};
use serde_json::json;

use super::*;

/// Folds lines of a journal; `at` counts the seconds.
#[derive(Default)]
struct Fold {
    state: SessionState,
    seconds: u32,
}

impl Fold {
    fn see(&mut self, firing: u64, kind: impl Into<RunEventKind>) -> EndedParts {
        self.see_of("s", firing, kind)
    }

    fn see_of(&mut self, session: &str, firing: u64, kind: impl Into<RunEventKind>) -> EndedParts {
        self.seconds += 1;
        let at = format!("2026-01-02T03:{:02}:{:02}Z", self.seconds / 60, self.seconds % 60);
        let session = Some(session.to_owned());
        let event = RunEvent { version: 1, firing, at, session, kind: kind.into() };
        if event.session.as_deref() == Some("s") {
            self.state.apply(&event)
        } else {
            self.state.apply_of_child(&event);
            EndedParts::default()
        }
    }
}

fn turn(stage: u32, iteration: u32) -> TurnName {
    TurnName { stage, iteration }
}

fn starting(stage: u32, iteration: u32, agent: Option<&str>) -> TurnEvent {
    let (run_id, agent) = (String::new(), agent.map(str::to_owned));
    TurnEvent::TurnStarting { turn: turn(stage, iteration), attempt: 1, run_id, agent }
}

fn ended(stage: u32, iteration: u32, usage: Option<Usage>) -> TurnEvent {
    let result = TurnResult { usage, ..TurnResult::default() };
    TurnEvent::TurnEnded { turn: turn(stage, iteration), attempt: 1, result, duration_ms: 1.0 }
}

fn hook(id: &str, attempt: u32, awaited: bool) -> FiringEvent {
    let hook = id.to_owned();
    FiringEvent::HookStarting { hook, attempt, awaited, run_id: None, digest: None }
}

fn reported(id: &str, status: &str) -> FiringEvent {
    let report: Report = serde_json::from_value(json!({
        "id": id, "type": "shell", "source": "", "status": status, "exit_code": null, "stdout": "",
        "stderr": "", "attempts": 1, "duration_ms": 1.0, "reason": null,
    }))
    .expect("a report");
    FiringEvent::HookReported { report }
}

fn waiting(hook: &str, wait: &str) -> FiringEvent {
    FiringEvent::HookWaiting {
        hook: hook.to_owned(),
        wait: wait.to_owned(),
        question: "deploy?".to_owned(),
        since: "2026-01-02T03:04:05Z".to_owned(),
        until: "2026-01-02T04:04:05Z".to_owned(),
        url: None,
    }
}

fn hook_ended(hook: &str) -> FiringEvent {
    let outcome = Outcome::Process(ProcessOutcome::NotStarted { cause: String::new() });
    FiringEvent::HookEnded { hook: hook.to_owned(), attempt: 1, outcome, duration_ms: 1.0 }
}

fn ids(hooks: &[RunningHook]) -> Vec<&str> {
    hooks.iter().map(|hook| hook.id.as_str()).collect()
}

#[test]
fn it_knows_stage_iteration_item_and_the_agent_at_work() {
    let mut fold = Fold::default();
    let stage = "work".to_owned();
    fold.see(1, SessionEvent::StageStarted { stage, index: 1, iterations_max: 5 });
    let item: WorkItem =
        serde_json::from_value(json!({ "source": "tasks", "key": "TAS-7", "title": "t" })).unwrap();
    fold.see(1, SessionEvent::ItemStarted { stage: 1, execution: 1, item });
    assert_eq!(fold.state.task(), Some(TaskId(7)));
    fold.see(1, starting(1, 1, None));
    fold.see(1, TurnEvent::AgentRunning { pid: 12, start_time: None });
    let agent = fold.state.agent.clone().expect("it works");
    assert_eq!((agent.name, agent.pid, agent.is_final), (None, Some(12), false));
    assert_eq!((fold.state.iteration, fold.state.iterations_max), (1, Some(5)));
    let (from, to, reason) = ("a".to_owned(), "b".to_owned(), String::new());
    fold.see(1, TurnEvent::AgentChanged { from, to, reason });
    let agent = fold.state.agent.clone().expect("it works");
    assert_eq!((agent.name.as_deref(), agent.pid), (Some("b"), None));
    let usage = Usage { input_tokens: 1, output_tokens: 2, cost_usd: None };
    fold.see(1, ended(1, 1, Some(usage)));
    assert!(fold.state.agent.is_none());
    // The agent that took over keeps working in this stage.
    fold.see(1, starting(1, 2, None));
    assert_eq!(fold.state.agent.as_ref().and_then(|agent| agent.name.as_deref()), Some("b"));
    fold.see(1, TurnEvent::FinalDelivery { turn: turn(1, 3) });
    fold.see(1, starting(1, 3, Some("c")));
    let agent = fold.state.agent.clone().expect("it works");
    assert_eq!((agent.name.as_deref(), agent.is_final), (Some("c"), true));
    assert_eq!(fold.state.iterations_max, None);
    let (key, state, reason) = ("TAS-7".to_owned(), ItemState::Done, None);
    let (stage, execution, iterations, duration_ms) = (1, 1, 3, 1.0);
    fold.see(
        1,
        SessionEvent::ItemEnded { stage, execution, key, state, reason, iterations, duration_ms },
    );
    assert_eq!(fold.state.item, None);
    assert_eq!((fold.state.record.stage, fold.state.record.iterations), (1, 1));
    assert_eq!(fold.state.record.usage.map(Usage::from), Some(usage));
}

#[test]
fn a_hook_runs_until_it_is_reported_and_one_in_the_background_until_the_second_time() {
    let mut fold = Fold::default();
    let event = EventName::STAGE_START;
    let (key, data, late_answers) = (None, None, Vec::new());
    fold.see(4, FiringEvent::Fired { event, subject: None, key, data, late_answers });
    fold.see(4, hook("b", 1, true));
    fold.see(4, hook("a", 1, false));
    assert_eq!(ids(&fold.state.hooks), ["b", "a"]);
    assert_eq!(fold.state.hooks[0].event, Some(EventName::STAGE_START));
    let (reason, after_ms) = ("exit code 1".to_owned(), 2000);
    fold.see(4, FiringEvent::HookRetrying { hook: "b".into(), attempt: 2, after_ms, reason });
    let retried = &fold.state.hooks[0];
    assert_eq!((retried.attempt, retried.started), (2, 1));
    assert_eq!(retried.retry.as_ref().map(Retry::at_ms), Some(retried.since_ms() + 4_000));
    fold.see(4, hook("b", 2, true));
    // It began with its first attempt, and is the latest to start.
    assert_eq!(ids(&fold.state.hooks), ["a", "b"]);
    assert_eq!(fold.state.hooks[1].since, "2026-01-02T03:00:02Z");
    assert_eq!(fold.state.hooks[1].attempt_since, "2026-01-02T03:00:05Z");
    assert_eq!(ids(&fold.see(4, reported("b", "failed")).hooks), ["b"]);
    assert!(fold.see(4, reported("a", "started")).hooks.is_empty());
    assert!(fold.state.hooks[0].is_reported);
    assert_eq!(ids(&fold.see(4, reported("a", "success")).hooks), ["a"]);
    assert!(fold.state.hooks.is_empty());
}

#[test]
fn a_question_is_open_until_its_hook_ends_also_in_a_session_that_a_hook_started() {
    let mut fold = Fold::default();
    fold.see(4, waiting("gate", "w1"));
    fold.see_of("child", 4, waiting("gate", "w2"));
    fold.see(4, waiting("gate", "w3"));
    let open = |fold: &Fold| -> Vec<String> {
        fold.state.questions.iter().map(|open| open.wait.clone()).collect()
    };
    // The hook asks again; the child's question is another.
    assert_eq!(open(&fold), ["w2", "w3"]);
    let closed = fold.see(4, hook_ended("gate")).questions;
    assert_eq!(closed.iter().map(|open| open.wait.as_str()).collect::<Vec<_>>(), ["w3"]);
    assert_eq!(open(&fold), ["w2"]);
    fold.see_of("child", 4, hook_ended("gate"));
    assert!(open(&fold).is_empty());
}

#[test]
fn a_pause_ends_when_the_session_continues_and_running_parts_end_with_the_session_or_its_resume() {
    for over in [
        SessionEvent::SessionResumed { time: 1, sources: None },
        SessionEvent::SessionEnded { status: Default::default(), reason: String::new() },
    ] {
        let mut fold = Fold::default();
        let paused = || {
            let (cause, reason) = (hookwright_events::PauseCause::Quota, "used up".to_owned());
            SessionEvent::Paused { cause, reason, until: None }
        };
        fold.see(0, paused());
        let (pause, since) = fold.see(0, SessionEvent::Continued {}).pause.expect("it was paused");
        assert_eq!((pause.reason.as_str(), since.as_str()), ("used up", "2026-01-02T03:00:01Z"));
        assert!(fold.state.paused_at.is_none() && fold.state.record.pause.is_none());
        fold.see(0, paused());
        fold.see(2, hook("a", 1, true));
        fold.see(2, waiting("a", "w"));
        fold.see(2, starting(1, 1, None));
        let closed = fold.see(0, over);
        assert!(closed.pause.is_some());
        assert_eq!((closed.hooks.len(), closed.questions.len()), (1, 1));
        let SessionState { agent, hooks, questions, paused_at, .. } = &fold.state;
        assert!(agent.is_none() && hooks.is_empty() && questions.is_empty());
        assert_eq!(*paused_at, None);
    }
}

#[test]
fn parts_in_progress_have_a_limit_and_the_oldest_is_dropped() {
    let mut fold = Fold::default();
    for number in 0..UNDER_WAY_MAX {
        assert!(fold.see(number as u64, hook("a", 1, true)).hooks.is_empty());
    }
    let closed = fold.see(UNDER_WAY_MAX as u64, hook("a", 1, true)).hooks;
    assert_eq!(closed.first().map(|hook| hook.firing), Some(0));
    assert_eq!(fold.state.hooks.len(), UNDER_WAY_MAX);
}
