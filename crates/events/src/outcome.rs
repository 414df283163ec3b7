//! [`Outcome`]: how one action ended. A hook that fails is news, not an error of ours.
//!
//! Outcomes are journalled, and a resumed run is the same machine fed with them, so they hold all
//! that a decision can depend on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Answer;

/// What an action printed, as text; bounded by the limit on kept output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Bytes of standard output that were counted, not kept.
    pub stdout_left_out: u64,
    /// Bytes of standard error that were counted, not kept.
    pub stderr_left_out: u64,
    /// A background child still held the output when we stopped waiting for its end.
    pub held: bool,
}

/// How one action ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The command ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
        /// What it printed.
        output: Output,
    },
    /// It ran past its deadline and was ended, with all that it had started.
    TimedOut {
        /// The deadline, in milliseconds.
        after_ms: u64,
        /// What it had printed by then.
        output: Output,
    },
    /// A signal that we did not send ended it.
    Killed {
        /// The signal's number.
        signal: i32,
        /// What it had printed by then.
        output: Output,
    },
    /// We ended it because the host was interrupted.
    Interrupted {
        /// What it had printed by then.
        output: Output,
    },
    /// It stopped to read the terminal, which a hook does not have.
    WantedTerminal {
        /// What it had printed by then.
        output: Output,
    },
    /// It could not be started.
    NotStarted {
        /// Why, as a clause: `program … not found`.
        cause: String,
    },
    /// An action that knows what its programs mean has done its work. What they printed is no
    /// answer.
    Done {
        /// What was done, as a clause: `nothing to commit`.
        what: String,
        /// What the program printed that did it.
        output: Output,
        /// What hooks of the events that it fired had to say: contexts and messages only.
        said: Box<Answer>,
    },
    /// Such an action could not do its work.
    Failed {
        /// Why, as a clause: `there is no remote `up``.
        cause: String,
        /// Whether trying again could help.
        may_retry: bool,
        /// The exit code of the program that failed.
        exit_code: Option<i32>,
        /// What it printed.
        output: Output,
        /// What hooks of the events that it fired had to say: contexts and messages only.
        said: Box<Answer>,
    },
    /// A request was sent, and its receiver responded.
    Responded {
        /// The HTTP status.
        status: u16,
        /// The response's body, as standard output.
        output: Output,
        /// When the receiver wants to be asked again, in milliseconds from then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// A person was asked, and has decided.
    Decided {
        /// The whole answer: `{"action": …, "message": …}`.
        response: Box<Value>,
        /// The answer was no.
        refused: bool,
        /// Who, as far as that is known.
        by: String,
        /// When, ISO 8601 in UTC.
        at: String,
    },
    /// A person was asked, and nobody answered in time.
    Unanswered {
        /// How long the question waited, in milliseconds.
        after_ms: u64,
    },
    /// An action without a process answered directly.
    Answered {
        /// What it asks for.
        answer: Box<Answer>,
    },
}

impl Outcome {
    /// What the action printed, if it was a command that started.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Outcome::Exited { output, .. }
            | Outcome::TimedOut { output, .. }
            | Outcome::Killed { output, .. }
            | Outcome::Interrupted { output }
            | Outcome::WantedTerminal { output }
            | Outcome::Done { output, .. }
            | Outcome::Failed { output, .. }
            | Outcome::Responded { output, .. } => Some(output),
            Outcome::NotStarted { .. }
            | Outcome::Answered { .. }
            | Outcome::Decided { .. }
            | Outcome::Unanswered { .. } => None,
        }
    }

    /// The exit code, if the command ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Outcome::Exited { code, .. } => Some(*code),
            Outcome::Done { .. } => Some(0),
            Outcome::Failed { exit_code, .. } => *exit_code,
            Outcome::TimedOut { .. }
            | Outcome::Killed { .. }
            | Outcome::Interrupted { .. }
            | Outcome::WantedTerminal { .. }
            | Outcome::NotStarted { .. }
            | Outcome::Answered { .. }
            | Outcome::Responded { .. }
            | Outcome::Decided { .. }
            | Outcome::Unanswered { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_reads_back_from_the_journal_as_it_was_written() {
        let output = Output { stdout: "x".into(), held: true, ..Output::default() };
        for outcome in [
            Outcome::Exited { code: 2, output: output.clone() },
            Outcome::TimedOut { after_ms: 300, output: output.clone() },
            Outcome::Killed { signal: 9, output: output.clone() },
            Outcome::Interrupted { output: output.clone() },
            Outcome::WantedTerminal { output: output.clone() },
            Outcome::Done { what: "x".into(), output: output.clone(), said: Box::default() },
            Outcome::Failed {
                cause: "x".into(),
                may_retry: true,
                exit_code: Some(128),
                output: output.clone(),
                said: Box::default(),
            },
            Outcome::NotStarted { cause: "bash not found".into() },
            Outcome::Answered { answer: Box::default() },
            Outcome::Responded { status: 503, output, retry_after_ms: Some(2000) },
            Outcome::Decided {
                response: Box::new(serde_json::json!({ "action": "approve" })),
                refused: false,
                by: "x".into(),
                at: "2026-01-02T03:04:05Z".into(),
            },
            Outcome::Unanswered { after_ms: 3_600_000 },
        ] {
            let line = serde_json::to_string(&outcome).expect("outcomes are plain data");
            let back: Outcome = serde_json::from_str(&line).expect("as written");
            assert_eq!(back, outcome);
            assert_eq!(back.output().is_some(), line.contains("stdout"));
            let has_code =
                ["\"exited\"", "\"done\"", "\"failed\""].iter().any(|word| line.contains(word));
            assert_eq!(back.exit_code().is_some(), has_code, "{line}");
        }
    }
}
