//! The meaning of a Code-Forge hook's outcome.
//!
//! | the hook | before a tool, request, permission, prompt | elsewhere |
//! |---|---|---|
//! | exits with 0 | continue; a JSON object on standard output is an answer | the same |
//! | exits with another code | blocked; standard output is the reason | a warning |
//! | exits with 126 or 127: command not found | logged, continue | the same |
//! | cannot start, times out, is killed by a signal | logged, continue | the same |

use hookwright_engine::NativeWire;
use hookwright_engine::answer::{self, AnswerReading};
use hookwright_engine::policy::{At, Meaning, Wire};
use hookwright_events::report::WARNING;
use hookwright_events::{
    Answer, AnswerDecision, EventName, FunctionOutcome, Outcome, Output, ProcessOutcome, Status,
};

use super::event;

/// Code-Forge's events that hooks can block. At other blockable events its hooks block nothing.
pub(super) const CAN_BLOCK: &[EventName] = &[
    EventName::TOOL_PRE_EXECUTE,
    EventName::LLM_PRE_REQUEST,
    EventName::PERMISSION_CHECK,
    EventName::PERMISSION_PROMPT,
    EventName::USER_PROMPT_SUBMIT,
];

/// The meaning of an outcome.
pub(super) fn meaning(outcome: &Outcome, at: At<'_>) -> Meaning {
    let can_block = CAN_BLOCK.contains(&at.event.name);
    match outcome {
        Outcome::Process(ProcessOutcome::Exited { code: 0, output }) => {
            with_warning(NativeWire.meaning(outcome, at), output)
        }
        Outcome::Process(ProcessOutcome::Exited { code: 126 | 127, .. }) => {
            NativeWire.meaning(outcome, at)
        }
        Outcome::Process(ProcessOutcome::Exited { code, output }) if can_block => {
            blocked(*code, output, at)
        }
        Outcome::Process(ProcessOutcome::Exited { code, output }) => warned(*code, output, at),
        // A guard that could not check a value because of its size has not allowed it.
        Outcome::Process(ProcessOutcome::NotStarted { cause })
            if can_block && event::may_not_fit(at.event) =>
        {
            answered(Answer::deny(format!("cannot start: {cause}")), at)
        }
        Outcome::Process(_)
        | Outcome::Work(_)
        | Outcome::Request(_)
        | Outcome::Person(_)
        | Outcome::Function(_) => NativeWire.meaning(outcome, at),
    }
}

/// Success, with standard error as a warning.
fn with_warning(meaning: Meaning, output: &Output) -> Meaning {
    if meaning.status != Status::Success || meaning.reason.is_some() {
        return meaning;
    }
    let reason = last_line(&output.stderr).map(|line| format!("{WARNING}{line}"));
    Meaning { reason, ..meaning }
}

fn blocked(code: i32, output: &Output, at: At<'_>) -> Meaning {
    let (answer, is_all) = restricting(output, at);
    let words = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let printed = if is_all { None } else { words(&output.stdout) };
    let said = answer.reason.clone().filter(|_| is_all);
    let reason = said
        .or(printed)
        .or_else(|| words(&output.stderr))
        .unwrap_or_else(|| format!("exit code {code}"));
    let decision = Some(AnswerDecision::Deny);
    answered(Answer { decision, reason: Some(reason), ..answer }, at)
}

fn warned(code: i32, output: &Output, at: At<'_>) -> Meaning {
    let (answer, _) = restricting(output, at);
    if answer.stop || answer.decision == Some(AnswerDecision::Deny) {
        return answered(answer, at);
    }
    let reason = match last_line(&output.stderr) {
        Some(line) => format!("exit code {code}: {line}"),
        None => format!("exit code {code}"),
    };
    let answer = Answer { decision: None, reason: None, ..answer };
    Meaning { status: Status::Failed, reason: Some(reason), answer, may_retry: true }
}

/// The restrictions in a failing hook's output, and whether all of it is the answer.
fn restricting(output: &Output, at: At<'_>) -> (Answer, bool) {
    match answer::read(&output.stdout, output.stdout_left_out == 0, &at.event.name) {
        AnswerReading::Whole(answer) => {
            // The reason of an allow is not a reason to block.
            let allows = answer.decision == Some(AnswerDecision::Allow);
            let reason = answer.reason.clone().filter(|_| !allows);
            (Answer { reason, ..answer.restricting() }, true)
        }
        AnswerReading::Among(answer) => (answer.restricting(), false),
        AnswerReading::Broken { .. } | AnswerReading::Nothing => (Answer::default(), false),
    }
}

fn answered(answer: Answer, at: At<'_>) -> Meaning {
    NativeWire
        .meaning(&Outcome::Function(FunctionOutcome::Answered { answer: Box::new(answer) }), at)
}

/// The last line usually explains the failure best.
fn last_line(stderr: &str) -> Option<String> {
    const CHARS_MAX: usize = 200;
    let line = stderr.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let short: String = line.chars().take(CHARS_MAX).collect();
    let more = if short.len() < line.len() { "…" } else { "" };
    Some(format!("{short}{more}"))
}

#[cfg(test)]
mod tests {
    use hookwright_engine::limits::ENV_VALUE_BYTES_MAX;
    use hookwright_events::Event;
    use serde_json::json;

    use super::*;

    fn at_event(name: &str, input: &str, outcome: &Outcome) -> (Status, Option<String>) {
        let data = json!({ "tool_name": "bash", "tool_input": { "command": input } });
        let event = Event::named(name, data).expect("known");
        let at = At { event: &event, power: event.name.power(), awaited: true };
        let meaning = meaning(outcome, at);
        (meaning.status, meaning.reason)
    }

    #[test]
    fn only_a_value_that_does_not_fit_makes_a_hook_that_cannot_start_a_block() {
        let outcome = Outcome::Process(ProcessOutcome::NotStarted { cause: "why".into() });
        let huge = "x".repeat(ENV_VALUE_BYTES_MAX);
        for (event, input, status) in [
            ("tool:pre_execute", huge.as_str(), Status::Blocked),
            ("tool:pre_execute", "a\0b", Status::Blocked),
            ("tool:pre_execute", "ls", Status::Failed),
            ("tool:post_execute", huge.as_str(), Status::Failed),
        ] {
            let expected = (status, Some("cannot start: why".to_owned()));
            assert_eq!(at_event(event, input, &outcome), expected, "{event}");
        }
    }

    #[test]
    fn a_long_last_line_is_shortened_in_warnings() {
        let output = Output { stderr: format!("{}\n\n", "y".repeat(300)), ..Output::default() };
        let failed = Outcome::Process(ProcessOutcome::Exited { code: 1, output });
        let reason = format!("exit code 1: {}…", "y".repeat(200));
        assert_eq!(at_event("tool:error", "ls", &failed), (Status::Failed, Some(reason)));
    }
}
