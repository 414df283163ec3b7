//! [`RunEvent`]: the one stream that screen, `--json`, journal and pages all read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Answer, EventName, Outcome, Report};

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
    /// A hook has turned itself into a background one; it decides nothing any more.
    HookWentAsync {
        /// The hook's id.
        hook: String,
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
}

impl RunEventKind {
    /// Whether the journal keeps it.
    pub fn is_journalled(&self) -> bool {
        !matches!(self, RunEventKind::HookOutput { .. })
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
    fn output_on_its_way_is_shown_but_not_journalled() {
        let output = RunEventKind::HookOutput {
            hook: "a".into(),
            stream: "stdout".into(),
            text: "x".into(),
            left_out: 0,
        };
        assert!(!output.is_journalled());
        assert!(RunEventKind::HookWentAsync { hook: "a".into() }.is_journalled());
    }
}
