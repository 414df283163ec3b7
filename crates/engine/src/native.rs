//! The native policy and wire format: what native hooks read, and what their exit codes and output
//! mean.
//!
//! Guards fail closed: everything that is not a clear success or a clear block is a failure. The
//! hook's terms decide in `dispatch.rs` what follows from it.

use hookwright_events::wait::AnswerMeaning;
use hookwright_events::{
    Answer, AnswerDecision, EventName, FunctionOutcome, Outcome, Output, PersonOutcome, Power,
    ProcessOutcome, RequestOutcome, Status, WorkOutcome,
};
use serde_json::Value;

use crate::answer::{self, AnswerReading};
use crate::policy::{At, Meaning, Policy, Wire, WireInput, WireReader};
use crate::variables::stdin_line;

/// The policy of native hooks.
pub static NATIVE: Policy = Policy::NATIVE;

/// The wire format of native hooks.
#[derive(Debug)]
pub struct NativeWire;

/// The exit code that blocks.
const BLOCK: i32 = 2;

impl Wire for NativeWire {
    fn input(&self, reader: &WireReader<'_>) -> WireInput {
        let stdin = stdin_line(reader.event, &reader.hook.id, reader.attempt);
        WireInput { stdin, variables: Vec::new() }
    }

    fn meaning(&self, outcome: &Outcome, at: At<'_>) -> Meaning {
        match outcome {
            Outcome::Process(ProcessOutcome::Exited { code: 0, output }) => {
                read_success(output, at)
            }
            Outcome::Process(ProcessOutcome::Exited { code: BLOCK, output }) => exit_2(output, at),
            Outcome::Process(ProcessOutcome::Exited { output, .. }) => {
                other_exit(outcome, output, at)
            }
            Outcome::Process(ProcessOutcome::TimedOut { .. }) => {
                Meaning { status: Status::TimedOut, ..failed(why_not(outcome).unwrap_or_default()) }
            }
            Outcome::Process(ProcessOutcome::Killed { .. })
            | Outcome::Process(ProcessOutcome::NotStarted { .. }) => {
                failed(why_not(outcome).unwrap_or_default())
            }
            Outcome::Process(ProcessOutcome::Interrupted { .. })
            | Outcome::Process(ProcessOutcome::WantedTerminal { .. }) => {
                Meaning { may_retry: false, ..failed(why_not(outcome).unwrap_or_default()) }
            }
            Outcome::Work(WorkOutcome::Done { what, said: heard, .. }) => Meaning {
                reason: Some(what.clone()),
                ..succeeded(without_decision(Answer::clone(heard)))
            },
            Outcome::Work(WorkOutcome::Failed { cause, may_retry, said: heard, .. }) => Meaning {
                may_retry: *may_retry,
                answer: without_decision(Answer::clone(heard)),
                ..failed(cause.clone())
            },
            Outcome::Function(FunctionOutcome::Answered { answer }) => {
                of_answer(Answer::clone(answer), at)
            }
            Outcome::Request(RequestOutcome::Responded { status, output, .. }) => {
                responded(*status, output, at)
            }
            Outcome::Person(PersonOutcome::Decided { response, refused, by, .. }) => {
                decided(response, *refused, by, at)
            }
            Outcome::Person(PersonOutcome::Unanswered { .. }) => {
                let reason = why_not(outcome).unwrap_or_default();
                Meaning { status: Status::TimedOut, may_retry: false, ..failed(reason) }
            }
        }
    }

    fn piped_output(&self, hook: &str, outcome: &Outcome, meaning: &Meaning) -> String {
        let mut text = String::new();
        if meaning.status != Status::Success {
            let reason = meaning.reason.as_deref().unwrap_or("failed");
            text.push_str(&format!("[hook {hook}: {} ({reason})]\n", meaning.status.as_str()));
        }
        if let Some(output) = outcome.output() {
            // An answer is meant for the engine and is no news for the agent.
            let speaks_for_itself = matches!(
                outcome,
                Outcome::Work(WorkOutcome::Done { .. }) | Outcome::Work(WorkOutcome::Failed { .. })
            );
            if meaning.answer == Answer::default() || speaks_for_itself {
                text.push_str(&output.stdout);
            }
            if !output.stderr.is_empty() {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&output.stderr);
            }
        }
        text
    }
}

fn read_success(output: &Output, at: At<'_>) -> Meaning {
    let guards = at.power.can_block() && at.awaited;
    let denies = |answer: &Answer| answer.stop || answer.decision == Some(AnswerDecision::Deny);
    match answer::read(&output.stdout, output.stdout_left_out == 0, &at.event.name) {
        // The middle of the output was dropped and may have contained a deny.
        AnswerReading::Among(answer)
            if guards && output.stdout_left_out > 0 && !denies(&answer) =>
        {
            failed("its output was truncated, so an answer in it may be lost".into())
        }
        AnswerReading::Whole(answer) | AnswerReading::Among(answer) => of_answer(answer, at),
        AnswerReading::Broken { why } => failed(format!("its answer cannot be read: {why}")),
        AnswerReading::Nothing if output.held && at.power.can_block() && at.awaited => failed(
            "a background child still holds its output open, so its answer may be incomplete; \
             redirect that child's output (`>/dev/null 2>&1 &`)"
                .into(),
        ),
        // The middle of the output was dropped and may have contained a deny.
        AnswerReading::Nothing
            if output.stdout_left_out > 0 && at.power.can_block() && at.awaited =>
        {
            failed("its output was truncated, so an answer in it may be lost".into())
        }
        AnswerReading::Nothing => succeeded(Answer::default()),
    }
}

/// At events that can be blocked the body is read like a command's output; elsewhere it is only
/// kept.
fn responded(status: u16, output: &Output, at: At<'_>) -> Meaning {
    let said = format!("status {status}");
    if !(200..300).contains(&status) {
        // The receiver is busy or down. With other statuses the request itself is wrong.
        let may_retry = status >= 500 || matches!(status, 408 | 425 | 429);
        return Meaning { may_retry, ..failed(with_first_line(said, &output.stdout)) };
    }
    let read = match at.power.can_block() {
        true => read_success(output, at),
        false => succeeded(Answer::default()),
    };
    // The request has arrived: sending it again would repeat its effect there.
    let read = Meaning { may_retry: false, ..read };
    if read.status == Status::Failed && output.stdout_left_out > 0 {
        let reason = format!("{said}, but its body is incomplete, so an answer in it may be lost");
        return Meaning { reason: Some(reason), ..read };
    }
    Meaning { reason: read.reason.or(Some(said)), ..read }
}

fn decided(response: &Value, refused: bool, by: &str, at: At<'_>) -> Meaning {
    let text = |key: &str| response.get(key).and_then(Value::as_str).map(str::trim);
    let message = text("message").filter(|message| !message.is_empty());
    if refused {
        let reason = message.map_or_else(|| format!("rejected by {by}"), str::to_owned);
        let answer = Answer::default();
        return Meaning { status: Status::Blocked, reason: Some(reason), answer, may_retry: false };
    }
    let action = text("action").unwrap_or("approved");
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    let reason = Some(format!("`{action}` by {by}{message}"));
    // Here the event itself is a question, and this person has answered it. A word that the hook
    // offers besides yes and no is neither.
    let is_yes = AnswerMeaning::parse(action, &[]) == Some(AnswerMeaning::Yes);
    let is_question = at.event.name == EventName::PERMISSION_PROMPT;
    let decision = (is_yes && is_question).then_some(AnswerDecision::Allow);
    Meaning { reason, ..succeeded(Answer { decision, ..Answer::default() }) }
}

fn exit_2(output: &Output, at: At<'_>) -> Meaning {
    let mut read = match answer::read(&output.stdout, output.stdout_left_out == 0, &at.event.name) {
        AnswerReading::Whole(answer) | AnswerReading::Among(answer) => answer,
        AnswerReading::Broken { .. } | AnswerReading::Nothing => Answer::default(),
    };
    if read.decision == Some(AnswerDecision::Allow) {
        // The reason to allow is no reason to block.
        read.reason = None;
    }
    let read = read.restricting();
    if at.power == Power::Observes {
        let reason = format!("exit code 2, but nothing can be blocked at {}", at.event.name);
        return Meaning {
            answer: without_decision(read),
            ..failed(with_last_line(reason, output))
        };
    }
    let stderr = output.stderr.trim();
    let reason = read.reason.clone().unwrap_or_else(|| {
        if stderr.is_empty() { "exit 2 without a message".into() } else { stderr.to_owned() }
    });
    of_answer(Answer { decision: Some(AnswerDecision::Deny), reason: Some(reason), ..read }, at)
}

fn other_exit(outcome: &Outcome, output: &Output, at: At<'_>) -> Meaning {
    let read = answer::read(&output.stdout, output.stdout_left_out == 0, &at.event.name);
    let answer = match read {
        AnswerReading::Whole(answer) | AnswerReading::Among(answer) => answer.restricting(),
        AnswerReading::Broken { .. } | AnswerReading::Nothing => Answer::default(),
    };
    // A deny counts whatever the exit code. An ask is weaker than the failure of a guard, and
    // counts only if that failure does not block.
    if answer.stop || answer.decision == Some(AnswerDecision::Deny) {
        return of_answer(answer, at);
    }
    let asks = answer.decision.filter(|decision| *decision == AnswerDecision::Ask);
    let reason = answer.reason.clone().filter(|_| asks.is_some());
    let answer = Answer { decision: asks, reason, ..without_decision(answer) };
    Meaning { answer, ..failed(why_not(outcome).unwrap_or_default()) }
}

/// Describes what went wrong, whatever the hook answered; `None` if nothing did.
pub fn why_not(outcome: &Outcome) -> Option<String> {
    let (what, output) = match outcome {
        Outcome::Process(ProcessOutcome::Exited { code: 0, .. })
        | Outcome::Work(WorkOutcome::Done { .. })
        | Outcome::Function(FunctionOutcome::Answered { .. })
        | Outcome::Request(RequestOutcome::Responded { status: 200..=299, .. })
        | Outcome::Person(PersonOutcome::Decided { refused: false, .. }) => return None,
        Outcome::Process(ProcessOutcome::Exited { code: 126, output }) => {
            ("cannot start: exit code 126 (not executable)".to_owned(), output)
        }
        Outcome::Process(ProcessOutcome::Exited { code: 127, output }) => {
            ("cannot start: exit code 127 (not found)".to_owned(), output)
        }
        Outcome::Process(ProcessOutcome::Exited { code, output }) => {
            (format!("exit code {code}"), output)
        }
        Outcome::Process(ProcessOutcome::TimedOut { after_ms, output }) => {
            (format!("timed out after {}", seconds(*after_ms)), output)
        }
        Outcome::Process(ProcessOutcome::Killed { signal, output }) => {
            (format!("killed by signal {signal}"), output)
        }
        Outcome::Process(ProcessOutcome::Interrupted { .. }) => {
            return Some("interrupted".to_owned());
        }
        Outcome::Process(ProcessOutcome::WantedTerminal { .. }) => {
            return Some(
                "stopped because it tried to read the terminal, which hooks do not have".to_owned(),
            );
        }
        Outcome::Process(ProcessOutcome::NotStarted { cause }) => {
            return Some(format!("cannot start: {cause}"));
        }
        Outcome::Work(WorkOutcome::Failed { cause, .. }) => return Some(cause.clone()),
        Outcome::Request(RequestOutcome::Responded { status, .. }) => {
            return Some(format!("status {status}"));
        }
        Outcome::Person(PersonOutcome::Decided { by, .. }) => {
            return Some(format!("rejected by {by}"));
        }
        Outcome::Person(PersonOutcome::Unanswered { after_ms }) => {
            return Some(format!("no answer within {}", seconds(*after_ms)));
        }
    };
    Some(with_last_line(what, output))
}

fn of_answer(answer: Answer, at: At<'_>) -> Meaning {
    let denies = answer.decision == Some(AnswerDecision::Deny);
    if denies && at.power == Power::Observes {
        if answer.stop && at.awaited {
            // The event cannot be blocked, but the session can be ended.
            return succeeded(Answer { decision: None, ..answer });
        }
        let what = format!("it answered deny, but nothing can be blocked at {}", at.event.name);
        return Meaning { may_retry: false, answer: without_decision(answer), ..failed(what) };
    }
    if (denies || answer.stop) && !at.awaited {
        let what = "it answered, but nothing waits for its answer".to_owned();
        return Meaning { may_retry: false, answer: without_decision(answer), ..failed(what) };
    }
    if denies {
        let reason = answer.reason.clone().unwrap_or_else(|| "denied without a reason".into());
        return Meaning { status: Status::Blocked, reason: Some(reason), answer, may_retry: false };
    }
    succeeded(answer)
}

/// Keeps contexts and messages, which count even if the answer decides nothing.
fn without_decision(answer: Answer) -> Answer {
    Answer {
        system_message: answer.system_message,
        additional_context: answer.additional_context,
        must_reach_agent: answer.must_reach_agent,
        ..Answer::default()
    }
}

fn succeeded(answer: Answer) -> Meaning {
    let reason = answer.stop_reason.clone().filter(|_| answer.stop).or(answer.reason.clone());
    Meaning { status: Status::Success, reason, answer, may_retry: false }
}

fn failed(reason: String) -> Meaning {
    Meaning {
        status: Status::Failed,
        reason: Some(reason),
        answer: Answer::default(),
        may_retry: true,
    }
}

/// Appends the last line of standard error, which usually explains the failure best.
fn with_last_line(what: String, output: &Output) -> String {
    let last = output.stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    with_line(what, last)
}

/// Appends the first line of a response, which usually explains the refusal best.
fn with_first_line(what: String, body: &str) -> String {
    with_line(what, body.lines().map(str::trim).find(|line| !line.is_empty()))
}

fn with_line(what: String, line: Option<&str>) -> String {
    const CHARS_MAX: usize = 200;
    match line {
        None => what,
        Some(line) => {
            let short: String = line.chars().take(CHARS_MAX).collect();
            let more = if short.len() < line.len() { "…" } else { "" };
            format!("{what}: {short}{more}")
        }
    }
}

fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms if ms > 1000 => format!("{:.1} s", ms as f64 / 1000.0),
        ms => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests;
