//! [`FiringEvent`]: the first level of a run, one event and its hooks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::turn::Usage;
use crate::{Answer, EventName, Outcome, Report};

/// What happened in a firing: to its event and to its hooks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FiringEvent {
    /// An event was fired.
    Fired {
        /// The event.
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
        /// The event that was fired.
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
        /// The attempt that ended, from 1.
        attempt: u32,
        /// How it ended.
        outcome: Outcome,
        /// How long it ran, in milliseconds.
        duration_ms: f64,
    },
    /// A hook will be tried again.
    HookRetrying {
        /// The hook's id.
        hook: String,
        /// The attempt that comes next.
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
        /// The record of the memory.
        what: Value,
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
}
