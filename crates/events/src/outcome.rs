//! [`Outcome`]: how one action ended. A failing hook is a result, not an error of the engine.
//!
//! Outcomes are journalled, and a resumed run is the same machine fed with them, so they contain
//! everything that a decision can depend on.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, EnumAccess, IntoDeserializer, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::Answer;

/// The output of an action, as text; bounded by the limit on kept output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Bytes of standard output that were not kept.
    pub stdout_left_out: u64,
    /// Bytes of standard error that were not kept.
    pub stderr_left_out: u64,
    /// A background child still held the output open when the wait for its end was over.
    pub held: bool,
}

/// How one action ended, by the kind of work it did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// A process; or an action of any type that did not start or was ended early.
    Process(ProcessOutcome),
    /// An action that interprets the results of its programs.
    Work(WorkOutcome),
    /// An HTTP request.
    Request(RequestOutcome),
    /// A person's answer.
    Person(PersonOutcome),
    /// A function of the host's program.
    Function(FunctionOutcome),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessOutcome {
    /// The process ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
        /// What it printed.
        output: Output,
    },
    /// It exceeded its deadline and was ended, with everything that it had started.
    TimedOut {
        /// The deadline, in milliseconds.
        after_ms: u64,
        /// What it had printed by then.
        output: Output,
    },
    /// It was ended by a signal that we did not send.
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
        /// The reason, as a clause: `program … not found`.
        cause: String,
    },
}

/// How an action ended that interprets the results of its programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkOutcome {
    /// It has done its work. Its programs' output is not an answer.
    Done {
        /// What was done, as a clause: `nothing to commit`.
        what: String,
        /// The output of the program that did it.
        output: Output,
        /// Contexts and messages of the hooks of fired events.
        said: Box<Answer>,
    },
    /// It could not do its work.
    Failed {
        /// The reason, as a clause: `there is no remote `up``.
        cause: String,
        /// Whether a retry could help.
        may_retry: bool,
        /// The exit code of the program that failed.
        exit_code: Option<i32>,
        /// What it printed.
        output: Output,
        /// Contexts and messages of the hooks of fired events.
        said: Box<Answer>,
    },
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// The receiver responded.
    Responded {
        /// The HTTP status.
        status: u16,
        /// The response's body, as standard output.
        output: Output,
        /// The delay that the receiver requests, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
}

/// The result of a question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonOutcome {
    /// A person decided.
    Decided {
        /// The whole answer: `{"action": …, "message": …}`.
        response: Box<Value>,
        /// The answer was no.
        refused: bool,
        /// Who decided, as far as known.
        by: String,
        /// The time, ISO 8601 in UTC.
        at: String,
    },
    /// No person answered in time.
    Unanswered {
        /// How long the question waited, in milliseconds.
        after_ms: u64,
    },
}

/// The result of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionOutcome {
    /// It returned an answer.
    Answered {
        /// The answer.
        answer: Box<Answer>,
    },
}

impl ProcessOutcome {
    /// The output of the process, if it started.
    pub fn output(&self) -> Option<&Output> {
        match self {
            ProcessOutcome::Exited { output, .. }
            | ProcessOutcome::TimedOut { output, .. }
            | ProcessOutcome::Killed { output, .. }
            | ProcessOutcome::Interrupted { output }
            | ProcessOutcome::WantedTerminal { output } => Some(output),
            ProcessOutcome::NotStarted { .. } => None,
        }
    }

    /// The exit code, if the process ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            ProcessOutcome::Exited { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl Outcome {
    /// The output of the action, if it was a command that started.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Outcome::Process(process) => process.output(),
            Outcome::Work(
                WorkOutcome::Done { output, .. } | WorkOutcome::Failed { output, .. },
            )
            | Outcome::Request(RequestOutcome::Responded { output, .. }) => Some(output),
            Outcome::Person(_) | Outcome::Function(_) => None,
        }
    }

    /// The exit code, if the command ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Outcome::Process(process) => process.exit_code(),
            Outcome::Work(WorkOutcome::Done { .. }) => Some(0),
            Outcome::Work(WorkOutcome::Failed { exit_code, .. }) => *exit_code,
            Outcome::Request(_) | Outcome::Person(_) | Outcome::Function(_) => None,
        }
    }

    /// Whether the action was ended because the host was interrupted.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Outcome::Process(ProcessOutcome::Interrupted { .. }))
    }
}

impl From<ProcessOutcome> for Outcome {
    fn from(outcome: ProcessOutcome) -> Self {
        Self::Process(outcome)
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Outcome", &[], OutcomeVisitor)
    }
}

/// Reads an outcome: its name determines the kind.
struct OutcomeVisitor;

impl<'de> Visitor<'de> for OutcomeVisitor {
    type Value = Outcome;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an outcome")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, outcome: A) -> Result<Outcome, A::Error> {
        let (name, fields) = outcome.variant::<Cow<'de, str>>()?;
        let named = NamedVariant { name: &name, fields };
        match &*name {
            "done" | "failed" => WorkOutcome::deserialize(named).map(Outcome::Work),
            "responded" => RequestOutcome::deserialize(named).map(Outcome::Request),
            "decided" | "unanswered" => PersonOutcome::deserialize(named).map(Outcome::Person),
            "answered" => FunctionOutcome::deserialize(named).map(Outcome::Function),
            _ => ProcessOutcome::deserialize(named).map(Outcome::Process),
        }
    }
}

/// A variant whose name has been read already.
struct NamedVariant<'n, A> {
    name: &'n str,
    fields: A,
}

impl<'de, A: VariantAccess<'de>> Deserializer<'de> for NamedVariant<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: VariantAccess<'de>> EnumAccess<'de> for NamedVariant<'_, A> {
    type Error = A::Error;
    type Variant = A;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, A), A::Error> {
        Ok((seed.deserialize(self.name.into_deserializer())?, self.fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_read_from_the_journal_as_it_was_written() {
        let output = Output { stdout: "x".into(), held: true, ..Output::default() };
        for outcome in [
            Outcome::Process(ProcessOutcome::Exited { code: 2, output: output.clone() }),
            Outcome::Process(ProcessOutcome::TimedOut { after_ms: 300, output: output.clone() }),
            Outcome::Process(ProcessOutcome::Killed { signal: 9, output: output.clone() }),
            Outcome::Process(ProcessOutcome::Interrupted { output: output.clone() }),
            Outcome::Process(ProcessOutcome::WantedTerminal { output: output.clone() }),
            Outcome::Work(WorkOutcome::Done {
                what: "x".into(),
                output: output.clone(),
                said: Box::default(),
            }),
            Outcome::Work(WorkOutcome::Failed {
                cause: "x".into(),
                may_retry: true,
                exit_code: Some(128),
                output: output.clone(),
                said: Box::default(),
            }),
            Outcome::Process(ProcessOutcome::NotStarted { cause: "bash not found".into() }),
            Outcome::Function(FunctionOutcome::Answered { answer: Box::default() }),
            Outcome::Request(RequestOutcome::Responded {
                status: 503,
                output,
                retry_after_ms: Some(2000),
            }),
            Outcome::Person(PersonOutcome::Decided {
                response: Box::new(serde_json::json!({ "action": "approve" })),
                refused: false,
                by: "x".into(),
                at: "2026-01-02T03:04:05Z".into(),
            }),
            Outcome::Person(PersonOutcome::Unanswered { after_ms: 3_600_000 }),
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
