//! [`process_outcome`]: how a process ended, in the form that journals keep.

use std::time::Duration;

use hookwright_events::{Output, ProcessOutcome};
use hookwright_process::{Ended, How, StartFailure};

/// The outcome of a process. `say` words why it did not start.
pub fn process_outcome(ended: Ended, say: impl FnOnce(&StartFailure) -> String) -> ProcessOutcome {
    let output = Output {
        stdout: ended.stdout.text().into_owned(),
        stderr: ended.stderr.text().into_owned(),
        stdout_left_out: ended.stdout.left_out(),
        stderr_left_out: ended.stderr.left_out(),
        held: ended.output_held,
    };
    match ended.how {
        How::Exited { code } => ProcessOutcome::Exited { code, output },
        How::Killed { signal } => ProcessOutcome::Killed { signal, output },
        How::TimedOut { after } => timed_out(after, output),
        How::Cancelled => ProcessOutcome::Interrupted { output },
        How::WantedTerminal => ProcessOutcome::WantedTerminal { output },
        How::NotStarted { cause } => ProcessOutcome::NotStarted { cause: say(&cause) },
    }
}

/// Why a process did not start, if the cause of an oversized start is unknown.
pub fn say_start_failure(failure: &StartFailure) -> String {
    match failure {
        StartFailure::TooBig { .. } => {
            "command and environment together are larger than the system allows".to_owned()
        }
        other => other.to_string(),
    }
}

/// The outcome of an action that was ended by its timeout.
pub fn timed_out(after: Duration, output: Output) -> ProcessOutcome {
    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    ProcessOutcome::TimedOut { after_ms, output }
}
