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
        /// The event's subject.
        subject: Option<String>,
        /// The host's name for this firing, to find it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The event's data, for a journal. Omitted if no hook matches and the host can rebuild
        /// them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Map<String, Value>>,
        /// Answers of background hooks of earlier firings, returned with this firing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        late_answers: Vec<Answer>,
    },
    /// This process resumes a firing that another process began. Shown, but not stored: the journal
    /// knows.
    TakenUp {
        /// The event that was fired.
        event: EventName,
        /// The event's subject.
        subject: Option<String>,
    },
    /// A matching hook did not run.
    HookSkipped {
        /// The hook's id.
        hook: String,
        /// Why not.
        reason: String,
        /// The hook that ended the session before, if that is why. Absent in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_by: Option<String>,
    },
    /// A hook is about to start. Recorded before its effect begins.
    HookStarting {
        /// The hook's id.
        hook: String,
        /// 1 for the first attempt.
        attempt: u32,
        /// Whether the decision waits for it.
        awaited: bool,
        /// The marker that all its processes carry in their environment, for a journal: processes
        /// that survive a crash are found by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_id: Option<String>,
        /// Distinguishes this hook from a later one with the same id, for a journal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A hook's child process runs. These three facts identify it after a crash.
    HookRunning {
        /// The hook's id.
        hook: String,
        /// The leader's process id.
        pid: u32,
        /// The leader's start time, in clock ticks since boot, if the system tells it.
        start_time: Option<u64>,
        /// The marker that all its processes carry in their environment.
        run_id: String,
    },
    /// A hook printed something. Shown, not journalled: the outcome contains it.
    HookOutput {
        /// The hook's id.
        hook: String,
        /// `stdout` or `stderr`.
        stream: String,
        /// The printed text.
        text: String,
        /// Bytes before it that were printed too fast to be shown.
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
        /// The time it was opened, ISO 8601 in UTC.
        since: String,
        /// The deadline, ISO 8601 in UTC.
        until: String,
        /// The address for the answer. Everyone who has it can decide, so it is shown and never
        /// journalled.
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
    /// A hook will be retried.
    HookRetrying {
        /// The hook's id.
        hook: String,
        /// The next attempt.
        attempt: u32,
        /// The delay in milliseconds.
        after_ms: u64,
        /// Why the last one failed.
        reason: String,
    },
    /// A hook moved to the background; it decides nothing from now on.
    HookWentAsync {
        /// The hook's id.
        hook: String,
        /// Its answer before that, if any; this answer counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Box<Answer>>,
    },
    /// A background hook's answer, for the next safe point.
    LateAnswer {
        /// The hook's id.
        hook: String,
        /// The answer; only contexts and messages count.
        answer: Answer,
    },
    /// A hook's run is complete, including all attempts.
    HookReported {
        /// The record of the run.
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
    /// A hook started a session. Recorded before anything of it begins.
    HookSpawned {
        /// The hook's id.
        hook: String,
        /// The child's session. In JSON it is `child`: `session` is the hook's.
        #[serde(rename = "child")]
        session: String,
        /// The loop or pipeline that it runs.
        pipeline: String,
    },
    /// A hook is about to commit. Recorded before git is called: after a crash the hook checks with
    /// it whether its commit was made.
    HookCommitting {
        /// The hook's id.
        hook: String,
        /// The commit of HEAD; `None` in a repository without commits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// The git id of the staged tree.
        tree: String,
    },
    /// A session started by a hook, or one below it, used something.
    ChildUsed {
        /// The hook's id.
        hook: String,
        /// The child's session; in JSON it is `child`, as above.
        #[serde(rename = "child")]
        session: String,
        /// The stage in which it was started, from 1; its usage counts for that stage.
        stage: u32,
        /// The usage since the last report.
        usage: Usage,
    },
}
