//! [`RunEvent`]: the one stream that screen, `--json`, journal and pages all read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::turn::{FailureCause, TurnName, TurnResult, Usage};
use crate::work_item::{ItemState, WorkItem};
use crate::{Answer, EventName, Outcome, Report, SessionStatus};

/// The version that every JSON record of ours carries.
pub const VERSION: u32 = 1;

/// One thing that happened while an event was fired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// [`VERSION`].
    pub version: u32,
    /// Number of the firing within its session.
    pub firing: u64,
    /// When, ISO 8601 in UTC.
    pub at: String,
    /// The session's name, if there is one.
    pub session: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: RunEventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunEventKind {
    /// An event was fired.
    Fired {
        /// Which.
        event: EventName,
        /// Its subject.
        subject: Option<String>,
        /// What its host calls this firing, so that it finds it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Its data, where a journal keeps them: not where no hook is woken and its host can make them
        /// anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Map<String, Value>>,
        /// What background hooks of earlier firings had to say, handed out here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        late_answers: Vec<Answer>,
    },
    /// A firing that another process began goes on in this one. It is shown, and never kept: the
    /// journal knows.
    TakenUp {
        /// Which event was fired.
        event: EventName,
        /// Its subject.
        subject: Option<String>,
    },
    /// A hook that fits did not run.
    HookSkipped {
        /// The hook's id.
        hook: String,
        /// Why not.
        reason: String,
    },
    /// A hook is about to be started. Recorded before its effect begins.
    HookStarting {
        /// The hook's id.
        hook: String,
        /// 1 for the first attempt.
        attempt: u32,
        /// Whether the decision waits for it.
        awaited: bool,
        /// The marker that everything it starts carries in its environment, where a journal keeps
        /// it: what runs after a crash is found by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_id: Option<String>,
        /// Tells this hook from another that later has its id, where a journal keeps it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A hook's child process runs. With these three facts it can be found after a crash.
    HookRunning {
        /// The hook's id.
        hook: String,
        /// The leader's process id.
        pid: u32,
        /// The leader's start time, in clock ticks since boot, where the system tells.
        start_time: Option<u64>,
        /// The marker that everything it starts carries in its environment.
        run_id: String,
    },
    /// A hook has printed something. Shown, not journalled: the outcome holds it all.
    HookOutput {
        /// The hook's id.
        hook: String,
        /// `stdout` or `stderr`.
        stream: String,
        /// The text.
        text: String,
        /// Bytes before it that were printed faster than they could be shown.
        left_out: u64,
    },
    /// A hook waits for a person.
    HookWaiting {
        /// The hook's id.
        hook: String,
        /// The wait's id, for `approve` and `reject`.
        wait: String,
        /// What is asked.
        question: String,
        /// Since when, ISO 8601 in UTC.
        since: String,
        /// Until when, ISO 8601 in UTC.
        until: String,
        /// Where it can be answered. Whoever has it can decide, so it is shown and never journalled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// One attempt of a hook has ended.
    HookEnded {
        /// The hook's id.
        hook: String,
        /// Which attempt.
        attempt: u32,
        /// How.
        outcome: Outcome,
        /// How long it ran, in milliseconds.
        duration_ms: f64,
    },
    /// A hook will be tried again.
    HookRetrying {
        /// The hook's id.
        hook: String,
        /// Which attempt comes next.
        attempt: u32,
        /// After how many milliseconds.
        after_ms: u64,
        /// Why the last one failed.
        reason: String,
    },
    /// A hook has turned itself into a background one; it decides nothing from now on.
    HookWentAsync {
        /// The hook's id.
        hook: String,
        /// What it answered before it did, if it answered; that counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Box<Answer>>,
    },
    /// What a background hook had to say, for the next safe point.
    LateAnswer {
        /// The hook's id.
        hook: String,
        /// What it says; only contexts and messages count.
        answer: Answer,
    },
    /// A hook's run is complete, all its attempts included.
    HookReported {
        /// Its record.
        report: Report,
    },
    /// The hooks have answered.
    Decided {
        /// The record that `fire --json` prints.
        decision: Value,
    },
    /// Something that the session remembers between events, as its memory wrote it.
    Remembered {
        /// What.
        what: Value,
    },
    /// A session begins.
    SessionStarted {
        /// The loop's or pipeline's name.
        plan: String,
        /// Its stages, in order.
        stages: Vec<String>,
        /// The configuration it runs with, whatever becomes of the files.
        sources: Value,
    },
    /// A session goes on in another process.
    SessionResumed {
        /// Which time.
        time: u32,
        /// The configuration from here on, if it was read anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sources: Option<Value>,
    },
    /// A stage begins.
    StageStarted {
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// It ends after so many iterations at the latest.
        iterations_max: u32,
    },
    /// All iterations are over, and hooks have reported something that the agent has to hear: it gets one
    /// iteration more for that.
    FinalDelivery {
        /// Which.
        turn: TurnName,
    },
    /// An agent's turn is about to begin. Recorded before its effect begins.
    TurnStarting {
        /// Which.
        turn: TurnName,
        /// 1, or more if an earlier attempt was cut off.
        attempt: u32,
        /// The marker that everything it starts carries in its environment.
        run_id: String,
        /// Who works, where that is a question: its user gave it a name, or another one could work too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// An agent's process runs.
    AgentRunning {
        /// The leader's process id.
        pid: u32,
        /// The leader's start time, in clock ticks since boot, where the system tells.
        start_time: Option<u64>,
    },
    /// What an agent is told in its turn, its first and its last part if it is very long. Shown, not
    /// journalled: a file of the iteration holds it.
    AgentPrompted {
        /// Which turn.
        turn: TurnName,
        /// The prompt.
        prompt: String,
    },
    /// An agent has printed something. Shown, not journalled: its output file holds it.
    AgentOutput {
        /// `stdout` or `stderr`.
        stream: String,
        /// The text.
        text: String,
    },
    /// An agent's turn has ended, and what came of it is known.
    TurnEnded {
        /// Which.
        turn: TurnName,
        /// Which attempt.
        attempt: u32,
        /// What came of it.
        result: TurnResult,
        /// How long the agent took, in milliseconds.
        duration_ms: f64,
    },
    /// A piece of work is taken from a stage's queue. Recorded before anything is done about it.
    ItemStarted {
        /// The stage's number, from 1.
        stage: u32,
        /// Which of the stage's executions, from 1.
        execution: u32,
        /// What is to be done.
        item: WorkItem,
    },
    /// A piece of work is over.
    ItemEnded {
        /// The stage's number, from 1.
        stage: u32,
        /// Which of the stage's executions, from 1.
        execution: u32,
        /// [`WorkItem::key`].
        key: String,
        /// What became of it.
        state: ItemState,
        /// Why, where it is not done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How many iterations it took; 0 where it was left to another session.
        iterations: u32,
        /// How long it took, its hooks included, in milliseconds.
        duration_ms: f64,
    },
    /// A hook has started a session of its own. Recorded before anything of it begins.
    HookSpawned {
        /// The hook's id.
        hook: String,
        /// The child's session. In JSON it is `child`: `session` is that of the hook.
        #[serde(rename = "child")]
        session: String,
        /// The loop or pipeline that it runs.
        pipeline: String,
    },
    /// A hook is about to commit. Recorded before git is called: after a crash the hook finds out by it
    /// whether its commit was made.
    HookCommitting {
        /// The hook's id.
        hook: String,
        /// The commit that HEAD named; nothing in a repository without commits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// What was staged, as git's id of a tree.
        tree: String,
    },
    /// A session that a hook has started, or one below that, has used something.
    ChildUsed {
        /// The hook's id.
        hook: String,
        /// The child's session; in JSON it is `child`, as above.
        #[serde(rename = "child")]
        session: String,
        /// The stage in which it was started, from 1; what it uses counts for that.
        stage: u32,
        /// How much more than was told before.
        usage: Usage,
    },
    /// An agent could not do its turn, through no fault of the work: it is done again, by another one or
    /// later. It is no iteration.
    TurnGivenUp {
        /// Which.
        turn: TurnName,
        /// Which attempt.
        attempt: u32,
        /// Who could not.
        agent: String,
        /// Why.
        cause: FailureCause,
        /// In words.
        reason: String,
        /// When it may be asked again, ISO 8601 in UTC, if it told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// What the agent calls its own session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_session: Option<String>,
        /// What it used until then, where it tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// How long it took, in milliseconds.
        duration_ms: f64,
    },
    /// Another agent takes over, because this one cannot work now.
    AgentChanged {
        /// Who could not.
        from: String,
        /// Who does.
        to: String,
        /// Why.
        reason: String,
    },
    /// The session waits, and nothing runs meanwhile.
    Paused {
        /// What for.
        cause: PauseCause,
        /// In words.
        reason: String,
        /// Until when, ISO 8601 in UTC, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// The pause is over.
    Continued {},
    /// A stage has ended.
    StageEnded {
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// Why: `completed`, `max_iterations`, `max_runtime`, `failed`.
        reason: String,
        /// How many iterations it had.
        iterations: u32,
    },
    /// A session has ended, or is left to be resumed.
    SessionEnded {
        /// How.
        status: SessionStatus,
        /// Why, in words.
        reason: String,
    },
    /// Something that a person should know.
    Noted {
        /// What.
        note: String,
    },
}

/// Why a session waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// The agent was asked too often, and says when it may be asked again.
    RateLimit,
    /// What may be used is used up.
    Quota,
    /// The agent's service is down.
    Outage,
    /// The session has cost as much as it may.
    Cost,
    /// Somebody wants it to wait.
    Person,
}

impl RunEventKind {
    /// Whether the journal keeps it.
    pub fn is_journalled(&self) -> bool {
        !matches!(
            self,
            RunEventKind::TakenUp { .. }
                | RunEventKind::HookOutput { .. }
                | RunEventKind::AgentPrompted { .. }
                | RunEventKind::AgentOutput { .. }
        )
    }

    /// What this tells that was used.
    pub fn used(&self) -> Option<Usage> {
        match self {
            RunEventKind::TurnEnded { result: TurnResult { usage, .. }, .. }
            | RunEventKind::TurnGivenUp { usage, .. } => *usage,
            RunEventKind::ChildUsed { usage, .. } => Some(*usage),
            _ => None,
        }
    }

    /// Takes out what is shown but must not be kept, and gives it.
    pub fn take_unkept(&mut self) -> Option<String> {
        match self {
            RunEventKind::HookWaiting { url, .. } => url.take(),
            _ => None,
        }
    }

    /// Puts back what [`take_unkept`](Self::take_unkept) gave.
    pub fn give_back(&mut self, unkept: Option<String>) {
        if let (RunEventKind::HookWaiting { url, .. }, Some(unkept)) = (self, unkept) {
            *url = Some(unkept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_flat_line_with_its_version() {
        let event = RunEvent {
            version: VERSION,
            firing: 3,
            at: "2026-01-02T03:04:05Z".into(),
            session: None,
            kind: RunEventKind::HookSkipped { hook: "a#0".into(), reason: "disabled".into() },
        };
        let line = serde_json::to_string(&event).expect("plain data");
        assert_eq!(
            line,
            r#"{"version":1,"firing":3,"at":"2026-01-02T03:04:05Z","session":null,"kind":"hook_skipped","hook":"a#0","reason":"disabled"}"#
        );
        assert_eq!(serde_json::from_str::<RunEvent>(&line).expect("as written"), event);
    }

    #[test]
    fn a_hook_that_starts_a_session_is_told_from_the_session_it_starts() {
        let event = RunEvent {
            version: VERSION,
            firing: 3,
            at: "2026-01-02T03:04:05Z".into(),
            session: Some("s".into()),
            kind: RunEventKind::HookSpawned {
                hook: "review".into(),
                session: "s--stage_complete-1".into(),
                pipeline: "review".into(),
            },
        };
        let line = serde_json::to_string(&event).expect("plain data");
        assert_eq!(
            line,
            r#"{"version":1,"firing":3,"at":"2026-01-02T03:04:05Z","session":"s","kind":"hook_spawned","hook":"review","child":"s--stage_complete-1","pipeline":"review"}"#
        );
        assert_eq!(serde_json::from_str::<RunEvent>(&line).expect("as written"), event);
    }

    #[test]
    fn output_on_its_way_is_shown_but_not_journalled() {
        let output = RunEventKind::HookOutput {
            hook: "a".into(),
            stream: "stdout".into(),
            text: "x".into(),
            left_out: 0,
        };
        assert!(!output.is_journalled());
        assert!(RunEventKind::HookWentAsync { hook: "a".into(), answer: None }.is_journalled());
    }

    #[test]
    fn the_address_of_a_wait_is_shown_but_not_kept() {
        let mut waiting = RunEventKind::HookWaiting {
            hook: "a".into(),
            wait: "w".into(),
            question: "deploy?".into(),
            since: "2026-01-02T03:04:05Z".into(),
            until: "2026-01-02T04:04:05Z".into(),
            url: Some("http://127.0.0.1/callback/token".into()),
        };
        assert!(waiting.is_journalled());
        assert_eq!(waiting.take_unkept().as_deref(), Some("http://127.0.0.1/callback/token"));
        let line = serde_json::to_string(&waiting).expect("plain data");
        assert!(!line.contains("token"), "{line}");
    }
}
