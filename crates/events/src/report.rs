//! [`Report`]: the record of one hook's run.

use serde::{Deserialize, Serialize};

crate::words! {
    /// The status of a hook's run.
    #[derive(Hash)]
    pub enum Status {
        /// It ran and restricted nothing.
        Success = "success",
        /// It blocked on purpose.
        Blocked = "blocked",
        /// It failed.
        Failed = "failed",
        /// It exceeded its deadline.
        TimedOut = "timed_out",
        /// It did not run; the reason says why.
        Skipped = "skipped",
        /// A background hook that still ran when the decision was made.
        Started = "started",
    }
}

impl Status {
    /// The value of `LAST_HOOK_STATUS` for later hooks; skipped and started hooks leave it
    /// unchanged.
    pub fn as_last_hook_status(self) -> Option<&'static str> {
        match self {
            Status::Success => Some("success"),
            Status::Blocked | Status::Failed | Status::TimedOut => Some("failed"),
            Status::Skipped | Status::Started => None,
        }
    }
}

/// The prefix of the reason of a successful hook that has a warning.
pub const WARNING: &str = "warning: ";

/// The record of one hook's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The hook's id.
    pub id: String,
    /// The type of its action.
    #[serde(rename = "type")]
    pub action: String,
    /// The file and line of its configuration.
    pub source: String,
    /// The status of its run.
    pub status: Status,
    /// The exit code, if it was a command that ended by itself.
    pub exit_code: Option<i32>,
    /// Its standard output; empty if it requested to hide it.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// How often it was started.
    pub attempts: u32,
    /// The duration in milliseconds: all attempts and the delays between them.
    pub duration_ms: f64,
    /// Why it was blocked, failed or skipped.
    pub reason: Option<String>,
    /// It failed because it was ended early: the host was interrupted, or had no more time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// People see all its output, even on success.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_output: bool,
    /// It requested to hide its output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_output: bool,
}

impl Report {
    /// Whether it succeeded, and its standard error is a warning.
    pub fn warns(&self) -> bool {
        let warns = self.reason.as_deref().is_some_and(|reason| reason.starts_with(WARNING));
        self.status == Status::Success && warns && !self.stderr.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hook_status_is_either_success_or_failed() {
        let seen: Vec<Option<&str>> = [
            Status::Success,
            Status::Blocked,
            Status::Failed,
            Status::TimedOut,
            Status::Skipped,
            Status::Started,
        ]
        .map(Status::as_last_hook_status)
        .to_vec();
        let failed = Some("failed");
        assert_eq!(seen, [Some("success"), failed, failed, failed, None, None]);
    }

    #[test]
    fn the_status_on_screen_is_the_status_in_the_json() {
        for status in [Status::Success, Status::TimedOut, Status::Started] {
            assert_eq!(serde_json::to_value(status).expect("plain"), status.as_str());
        }
    }
}
