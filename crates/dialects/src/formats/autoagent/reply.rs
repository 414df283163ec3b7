//! The meaning of an AutoAgent hook's exit code and output.
//!
//! One difference: the JSON answer is found among other lines too. AutoAgent parses the whole
//! output as JSON, so that a log line before the answer loses the block.

use hookwright_engine::NATIVE;
use hookwright_engine::answer::{self, AnswerReading};
use hookwright_engine::policy::{At, Meaning};
use hookwright_events::{
    Answer, AnswerDecision, FunctionOutcome, Outcome, Output, ProcessOutcome, Status, WorkOutcome,
};

/// The value of a hook's field `blocking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocking {
    /// Not set: exit code 2 or a JSON answer blocks.
    OnPurpose,
    /// `false`: it never blocks.
    Never,
    /// `true`: it also blocks if it cannot start or is killed.
    AlsoBroken,
}

/// Reason of a block that gives none.
const NO_REASON: &str = "Blocked by hook";

/// The exit code that blocks.
const BLOCK: i32 = 2;

/// The meaning of an outcome.
pub(super) fn meaning(blocking: Blocking, outcome: &Outcome, at: At<'_>) -> Meaning {
    match outcome {
        Outcome::Process(ProcessOutcome::Exited { code, output }) => {
            exited(blocking, *code, output, at)
        }
        // A timeout never blocks, whatever `blocking` says: the hook decided nothing.
        Outcome::Process(ProcessOutcome::TimedOut { after_ms, .. }) => {
            Meaning { status: Status::TimedOut, ..failed(format!("timed out after {after_ms} ms")) }
        }
        Outcome::Process(ProcessOutcome::Killed { signal, .. }) => {
            broken(blocking, format!("killed by signal {signal}"), at)
        }
        Outcome::Process(ProcessOutcome::WantedTerminal { .. }) => {
            let cause = "stopped because it tried to read the terminal, which hooks do not have";
            broken(blocking, cause.to_owned(), at)
        }
        Outcome::Process(ProcessOutcome::NotStarted { cause }) => {
            broken(blocking, format!("cannot start: {cause}"), at)
        }
        Outcome::Process(ProcessOutcome::Interrupted { .. }) => failed("interrupted".to_owned()),
        Outcome::Work(WorkOutcome::Done { what, said, .. }) => {
            Meaning { reason: Some(what.clone()), answer: Answer::clone(said), ..well() }
        }
        Outcome::Work(WorkOutcome::Failed { cause, said, .. }) => {
            Meaning { answer: Answer::clone(said), ..broken(blocking, cause.clone(), at) }
        }
        Outcome::Function(FunctionOutcome::Answered { answer }) => {
            answered(blocking, Answer::clone(answer), at).unwrap_or_else(well)
        }
        // AutoAgent sends no requests. A native file with `dialect: autoagent` may, and means a
        // native one.
        Outcome::Request(_) | Outcome::Person(_) => NATIVE.wire.meaning(outcome, at),
    }
}

/// The output that is piped to the agent, which only a native file can request.
pub(super) fn piped_output(outcome: &Outcome, meaning: &Meaning) -> String {
    let output = outcome.output().cloned().unwrap_or_default();
    match meaning.status {
        Status::Success => output.stdout,
        _ => format!("{}{}", output.stdout, output.stderr),
    }
}

fn exited(blocking: Blocking, code: i32, output: &Output, at: At<'_>) -> Meaning {
    let is_whole = output.stdout_left_out == 0;
    let (answer, unreadable) = match answer::read(&output.stdout, is_whole, &at.event.name) {
        AnswerReading::Whole(answer) | AnswerReading::Among(answer) => (answer, None),
        AnswerReading::Broken { why } => (Answer::default(), Some(why)),
        AnswerReading::Nothing => (Answer::default(), None),
    };
    if code == BLOCK {
        let stderr = Some(output.stderr.trim().to_owned()).filter(|text| !text.is_empty());
        let denies = answer.decision == Some(AnswerDecision::Deny);
        let reason = stderr.or(answer.reason.filter(|_| denies));
        let quiet = Answer { suppress_output: answer.suppress_output, ..Answer::default() };
        return Meaning { answer: quiet, ..asked_to_block(blocking, "exit code 2", reason, at) };
    }
    let suppress_output = answer.suppress_output;
    let denied = answered(blocking, answer, at);
    let mut meaning = denied.unwrap_or_else(|| match (code, unreadable) {
        (0, None) => well(),
        (0, Some(why)) => failed(format!("its answer cannot be read: {why}")),
        (126, _) => broken(blocking, "cannot start: exit code 126 (not executable)".to_owned(), at),
        (127, _) => broken(blocking, "cannot start: exit code 127 (not found)".to_owned(), at),
        // How a shell reports that its command was killed.
        (code @ 129..=192, _) => {
            broken(blocking, format!("exit code {code} (killed by signal {})", code - 128), at)
        }
        (code, _) => failed(format!("exit code {code}")),
    });
    meaning.answer.suppress_output = suppress_output;
    meaning
}

/// The meaning of a JSON answer; `approve` and unknown fields have none.
fn answered(blocking: Blocking, answer: Answer, at: At<'_>) -> Option<Meaning> {
    let denies = answer.decision == Some(AnswerDecision::Deny);
    denies.then(|| asked_to_block(blocking, "it answered block", answer.reason, at))
}

fn asked_to_block(blocking: Blocking, how: &str, reason: Option<String>, at: At<'_>) -> Meaning {
    let why = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    if !at.power.can_block() {
        return failed(format!("{how}, but nothing can be blocked at {}{why}", at.event.name));
    }
    match blocking {
        Blocking::OnPurpose | Blocking::AlsoBroken => {
            blocked(reason.unwrap_or_else(|| NO_REASON.to_owned()))
        }
        Blocking::Never => failed(format!("{how}, but `blocking` is false{why}")),
    }
}

/// The meaning of a hook that could not do its work.
fn broken(blocking: Blocking, why: String, at: At<'_>) -> Meaning {
    match blocking {
        Blocking::AlsoBroken if at.power.can_block() => blocked(why),
        Blocking::AlsoBroken | Blocking::OnPurpose | Blocking::Never => failed(why),
    }
}

fn well() -> Meaning {
    Meaning { status: Status::Success, reason: None, answer: Answer::default(), may_retry: false }
}

fn failed(reason: String) -> Meaning {
    Meaning { status: Status::Failed, reason: Some(reason), ..well() }
}

fn blocked(reason: String) -> Meaning {
    Meaning { status: Status::Blocked, reason: Some(reason), ..well() }
}

#[cfg(test)]
mod tests {
    use hookwright_events::{Event, PersonOutcome, Power};
    use serde_json::Value;

    use super::*;

    fn read(blocking: Blocking, outcome: &Outcome) -> (Status, Option<String>) {
        let event = Event::named("PreExecutionStart", Value::Null).expect("known");
        let at = At { event: &event, power: Power::Blocks, awaited: true };
        let meaning = meaning(blocking, outcome, at);
        (meaning.status, meaning.reason)
    }

    #[test]
    fn outcomes_that_no_command_brings_about_by_itself_follow_the_same_rules() {
        let output = Output::default;
        let stopped = "stopped because it tried to read the terminal, which hooks do not have";
        let denied =
            Outcome::Function(FunctionOutcome::Answered { answer: Box::new(Answer::deny("no")) });
        let granted = Outcome::Function(FunctionOutcome::Answered { answer: Box::default() });
        for (outcome, on_purpose, also_broken, reason) in [
            (
                Outcome::Process(ProcessOutcome::WantedTerminal { output: output() }),
                Status::Failed,
                Status::Blocked,
                Some(stopped),
            ),
            (
                Outcome::Process(ProcessOutcome::Interrupted { output: output() }),
                Status::Failed,
                Status::Failed,
                Some("interrupted"),
            ),
            (denied, Status::Blocked, Status::Blocked, Some("no")),
            (granted, Status::Success, Status::Success, None),
            (
                Outcome::Person(PersonOutcome::Unanswered { after_ms: 2000 }),
                Status::TimedOut,
                Status::TimedOut,
                Some("no answer within 2 s"),
            ),
        ] {
            let reason = reason.map(str::to_owned);
            assert_eq!(read(Blocking::OnPurpose, &outcome), (on_purpose, reason.clone()));
            assert_eq!(read(Blocking::AlsoBroken, &outcome), (also_broken, reason));
        }
    }

    #[test]
    fn an_agent_is_shown_standard_output_and_of_a_failure_standard_error_too() {
        let printed =
            Output { stdout: "out\n".into(), stderr: "err\n".into(), ..Output::default() };
        let ended = Outcome::Process(ProcessOutcome::Exited { code: 0, output: printed });
        assert_eq!(piped_output(&ended, &well()), "out\n");
        assert_eq!(piped_output(&ended, &failed("x".into())), "out\nerr\n");
    }
}
