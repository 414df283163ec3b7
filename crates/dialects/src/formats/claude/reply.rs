//! [`ClaudeWire`]: the input of a Claude Code hook, and the meaning of its exit and output.
//!
//! The table of exit codes and output is Claude Code's own, with three fixes for cases that would
//! let through what a guard has denied: a deny counts if a log line follows, if the answer is wrong
//! elsewhere, and if the middle of the output was too long to keep. At a stop none of that may keep
//! an agent from stopping.

mod said;

use std::path::Path;

use hookwright_engine::policy::{At, Meaning, Wire, WireInput, WireReader};
use hookwright_events::{
    Answer, AnswerDecision, Event, EventName, FunctionOutcome, Outcome, Output, PersonOutcome,
    Power, ProcessOutcome, RequestOutcome, Status, WorkOutcome,
};

use super::environment;
use super::event::HookInput;
use said::ParsedOutput;

/// The input of a Claude Code hook, and the meaning of its exit and output.
#[derive(Debug)]
pub(super) struct ClaudeWire {
    /// `onFailure: block`: everything but a clean exit is a failure.
    pub(super) is_strict: bool,
}

/// Claude Code's text if standard error is empty.
const NO_STDERR: &str = "No stderr output";

/// Claude Code's text for a block without a reason.
const NO_REASON: &str = "Blocked by hook";

/// How Claude Code treats the answers of an event's hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// By the table.
    Listens,
    /// By the table, and plain output is context.
    TakesText,
    /// Ignores them.
    Deaf,
    /// Only the exit code counts: the output is a path.
    ByExitCode,
}

impl Manner {
    fn at(event: &Event) -> Self {
        match event.name {
            EventName::USER_PROMPT_SUBMIT
            | EventName::CLAUDE_USER_PROMPT_EXPANSION
            | EventName::SESSION_START
            | EventName::CLAUDE_POST_MODEL_SWITCH => Manner::TakesText,
            EventName::SESSION_END
            | EventName::CLAUDE_STOP_FAILURE
            | EventName::CLAUDE_POST_COMPACT
            | EventName::CLAUDE_INSTRUCTIONS_LOADED
            | EventName::CLAUDE_PERMISSION_DENIED
            | EventName::CLAUDE_MESSAGE_DISPLAY => Manner::Deaf,
            EventName::CLAUDE_WORKTREE_CREATE | EventName::CLAUDE_WORKTREE_REMOVE => {
                Manner::ByExitCode
            }
            _ => Manner::Listens,
        }
    }
}

impl Wire for ClaudeWire {
    fn input(&self, reader: &WireReader<'_>) -> WireInput {
        let root = reader.root.to_string_lossy();
        WireInput {
            stdin: HookInput::of_event(reader.event, &root).to_line(),
            variables: environment::hook_variables(reader.event, reader.root),
        }
    }

    fn working_dir<'e>(&self, event: &'e Event) -> Option<&'e Path> {
        event.text("cwd").filter(|cwd| !cwd.is_empty()).map(Path::new)
    }

    fn meaning(&self, outcome: &Outcome, at: At<'_>) -> Meaning {
        match outcome {
            Outcome::Process(ProcessOutcome::Exited { code, output }) => {
                self.ended(*code, output, at)
            }
            // Claude Code reports a death by a signal as exit code 1.
            Outcome::Process(ProcessOutcome::Killed { signal, output }) => {
                let meaning = self.ended(1, output, at);
                match meaning.status {
                    Status::Failed => failed(format!("killed by signal {signal}")),
                    _ => meaning,
                }
            }
            Outcome::Process(ProcessOutcome::TimedOut { after_ms, .. }) => {
                let reason = format!("timed out after {} s", *after_ms as f64 / 1000.0);
                match at.event.name {
                    EventName::CLAUDE_PRE_MODEL_SWITCH => blocked(Answer::deny(reason)),
                    _ => Meaning { status: Status::TimedOut, ..failed(reason) },
                }
            }
            Outcome::Process(ProcessOutcome::Interrupted { .. }) => failed("interrupted".into()),
            Outcome::Process(ProcessOutcome::WantedTerminal { .. }) => failed(
                "stopped because it tried to read the terminal, which hooks do not have".into(),
            ),
            Outcome::Process(ProcessOutcome::NotStarted { cause }) => {
                failed(format!("cannot start: {cause}"))
            }
            Outcome::Work(WorkOutcome::Done { what, .. }) => {
                Meaning { reason: Some(what.clone()), ..well(Answer::default()) }
            }
            Outcome::Work(WorkOutcome::Failed { cause, .. }) => failed(cause.clone()),
            Outcome::Function(FunctionOutcome::Answered { answer }) => {
                heard(Answer::clone(answer), at)
            }
            Outcome::Request(RequestOutcome::Responded { status, output, .. }) => {
                responded(*status, output, at)
            }
            Outcome::Person(PersonOutcome::Decided { .. } | PersonOutcome::Unanswered { .. }) => {
                failed("a person was asked, which these hooks cannot do".into())
            }
        }
    }

    fn piped_output(&self, _hook: &str, outcome: &Outcome, _meaning: &Meaning) -> String {
        outcome.output().map(|output| output.stdout.clone()).unwrap_or_default()
    }
}

impl ClaudeWire {
    /// The table of exit codes and output.
    fn ended(&self, code: i32, output: &Output, at: At<'_>) -> Meaning {
        match Manner::at(at.event) {
            Manner::Deaf if code == 0 => return well(Answer::default()),
            Manner::Deaf => return failed(self.failure(code, output)),
            Manner::ByExitCode if code == 0 => return well(Answer::default()),
            Manner::ByExitCode if at.power.can_block() => {
                return blocked(Answer::deny(stderr_of(output)));
            }
            Manner::ByExitCode => return failed(self.failure(code, output)),
            Manner::Listens | Manner::TakesText => {}
        }
        let said = ParsedOutput::parse(output, at);
        match code {
            0 => exit_0(said, at),
            2 => self.exit_2(said, output, at),
            code => self.other_exit(code, said, output, at),
        }
    }

    fn other_exit(&self, code: i32, said: ParsedOutput, output: &Output, at: At<'_>) -> Meaning {
        match said {
            ParsedOutput::Answer(answer) if !self.is_strict => {
                heard(of_exit(code, *answer, at), at)
            }
            // A failure neither cancels a deny nor grants anything.
            ParsedOutput::Answer(answer) if denies(&answer) => heard(*answer, at),
            ParsedOutput::Unreadable { denial: Some(why), .. } if guards(at) => {
                blocked(Answer::deny(why))
            }
            ParsedOutput::Answer(_)
            | ParsedOutput::Unreadable { .. }
            | ParsedOutput::Text(_)
            | ParsedOutput::Nothing => failed(self.failure(code, output)),
        }
    }

    fn exit_2(&self, said: ParsedOutput, output: &Output, at: At<'_>) -> Meaning {
        let said_more = matches!(
            said,
            ParsedOutput::Answer(_) | ParsedOutput::Text(_) | ParsedOutput::Unreadable { .. }
        );
        let answer = match said {
            ParsedOutput::Answer(answer) => of_exit(2, *answer, at),
            ParsedOutput::Nothing | ParsedOutput::Text(_) | ParsedOutput::Unreadable { .. } => {
                Answer::default()
            }
        };
        let stderr = stderr_of(output);
        match at.event.name {
            EventName::PERMISSION_PROMPT if denies(&answer) => return heard(answer, at),
            EventName::PERMISSION_PROMPT => {
                return failed("exit code 2 is not an answer to a permission request".into());
            }
            // An interpreter that cannot open its script also exits with 2, and must not keep an
            // agent running.
            EventName::SESSION_STOP | EventName::AGENT_STOP | EventName::TASK_COMPLETE
                if !said_more && is_about_a_missing_file(&output.stderr) =>
            {
                return failed(self.failure(2, output));
            }
            EventName::TOOL_ERROR => {
                let told = answer.with_context(stderr);
                return well(Answer { decision: None, ..told.restricting() });
            }
            _ if at.power == Power::Observes => {
                let answer = Answer { decision: None, ..answer.restricting() };
                return Meaning { answer, ..failed(self.failure(2, output)) };
            }
            _ => {}
        }
        // The reason of an allow is not a reason to block.
        let reason = answer.reason.clone().filter(|_| denies(&answer)).unwrap_or(stderr);
        let denial =
            Answer { decision: Some(AnswerDecision::Deny), reason: Some(reason), ..answer };
        heard(denial.restricting(), at)
    }

    /// The text of a failure: Claude Code's own line if it stops nothing.
    fn failure(&self, code: i32, output: &Output) -> String {
        let stderr = stderr_of(output);
        let first = stderr.lines().next().unwrap_or_default();
        match self.is_strict {
            true => format!("exit code {code}: {first}"),
            false => format!("Failed with non-blocking status code: {first}"),
        }
    }
}

/// A request's response: its body is read like a command's output, except that plain text is no
/// answer.
fn responded(status: u16, output: &Output, at: At<'_>) -> Meaning {
    if !(200..300).contains(&status) {
        return failed(format!("status {status}"));
    }
    match Manner::at(at.event) {
        Manner::Deaf | Manner::ByExitCode => return well(Answer::default()),
        Manner::Listens | Manner::TakesText => {}
    }
    match ParsedOutput::parse(output, at) {
        ParsedOutput::Text(_) => {
            failed(format!("status {status}, but its body is not a JSON object"))
        }
        said => exit_0(said, at),
    }
}

fn exit_0(said: ParsedOutput, at: At<'_>) -> Meaning {
    match said {
        ParsedOutput::Nothing => well(Answer::default()),
        ParsedOutput::Text(text) if Manner::at(at.event) == Manner::TakesText => {
            well(Answer::context(text))
        }
        ParsedOutput::Text(_) => well(Answer::default()),
        ParsedOutput::Answer(answer) => heard(*answer, at),
        ParsedOutput::Unreadable { denial: Some(why), .. } if guards(at) => {
            blocked(Answer::deny(why))
        }
        ParsedOutput::Unreadable { why, .. } => failed(why),
    }
}

/// The part of an answer that counts with this exit code: only a clean exit can answer a server's
/// question.
fn of_exit(code: i32, answer: Answer, at: At<'_>) -> Answer {
    let asks_a_person = matches!(
        at.event.name,
        EventName::CLAUDE_ELICITATION | EventName::CLAUDE_ELICITATION_RESULT
    );
    if asks_a_person && code != 0 { answer.restricting() } else { answer }
}

/// The meaning of an answer at this event.
fn heard(answer: Answer, at: At<'_>) -> Meaning {
    let mut answer = fitted(answer, at);
    if !at.awaited {
        answer = Answer { decision: None, stop: false, ..answer };
    }
    if answer.decision != Some(AnswerDecision::Deny) {
        return well(answer);
    }
    match at.power {
        Power::Blocks | Power::BlocksOnPurpose | Power::Annotates => blocked(answer),
        // The agent reads the reason beside the error.
        Power::Observes if at.event.name == EventName::TOOL_ERROR => {
            let reason = answer.reason.clone().unwrap_or_else(|| NO_REASON.into());
            well(Answer { decision: None, ..answer.with_context(reason) })
        }
        Power::Observes if answer.stop => well(Answer { decision: None, ..answer }),
        Power::Observes => {
            let what =
                format!("it answered block, but nothing can be blocked at {}", at.event.name);
            Meaning { answer: Answer { decision: None, ..answer }, ..failed(what) }
        }
    }
}

/// The answer without the fields that Claude Code ignores at this event.
fn fitted(answer: Answer, at: At<'_>) -> Answer {
    match at.event.name {
        // Context for an agent that wants to stop keeps it going.
        EventName::SESSION_STOP | EventName::AGENT_STOP => {
            let contexts = answer.additional_context.join("\n");
            if contexts.is_empty() || answer.stop || denies(&answer) {
                return without_allow(answer);
            }
            Answer {
                decision: Some(AnswerDecision::Deny),
                reason: Some(contexts),
                additional_context: Vec::new(),
                ..answer
            }
        }
        EventName::SESSION_PRE_COMPACT => {
            Answer { stop: false, system_message: None, ..without_allow(answer) }
        }
        EventName::CLAUDE_TASK_CREATED => Answer { stop: false, ..without_allow(answer) },
        EventName::TOOL_PRE_EXECUTE
        | EventName::PERMISSION_PROMPT
        | EventName::CLAUDE_PRE_MODEL_SWITCH => answer,
        _ => without_allow(answer),
    }
}

/// Removes an allow at events where no permission would be asked.
fn without_allow(answer: Answer) -> Answer {
    let decision = answer.decision.filter(|decision| *decision != AnswerDecision::Allow);
    Answer { decision, ..answer }
}

fn denies(answer: &Answer) -> bool {
    answer.decision == Some(AnswerDecision::Deny)
}

/// Whether a denial counts even if the answer is malformed.
fn guards(at: At<'_>) -> bool {
    at.power == Power::Blocks && at.awaited
}

fn well(answer: Answer) -> Meaning {
    let reason = answer.stop_reason.clone().filter(|_| answer.stop).or(answer.reason.clone());
    Meaning { status: Status::Success, reason, answer, may_retry: false }
}

fn blocked(answer: Answer) -> Meaning {
    let reason = answer.reason.clone().unwrap_or_else(|| NO_REASON.into());
    Meaning { status: Status::Blocked, reason: Some(reason), answer, may_retry: false }
}

fn failed(reason: String) -> Meaning {
    Meaning {
        status: Status::Failed,
        reason: Some(reason),
        answer: Answer::default(),
        may_retry: false,
    }
}

fn stderr_of(output: &Output) -> String {
    let stderr = output.stderr.trim();
    if stderr.is_empty() { NO_STDERR.into() } else { stderr.to_owned() }
}

fn is_about_a_missing_file(stderr: &str) -> bool {
    ["No such file", "an't open", "annot open", "not found", "annot find"]
        .iter()
        .any(|words| stderr.contains(words))
}

#[cfg(test)]
mod tests;
