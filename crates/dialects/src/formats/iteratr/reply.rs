//! The meaning of an iteratr hook's outcome: success, or text about the failure. It decides
//! nothing, whatever its output and exit code.
//!
//! The texts are exactly iteratr's, because agents and prompts rely on them. One thing is fixed:
//! standard error of a hook that timed out is not lost.

use hookwright_engine::policy::Meaning;
use hookwright_engine::why_not;
use hookwright_events::{
    Answer, FunctionOutcome, Outcome, Output, PersonOutcome, ProcessOutcome, RequestOutcome,
    Status, WorkOutcome,
};

pub(super) fn meaning(outcome: &Outcome) -> Meaning {
    let reason = why_not(outcome);
    let status = match outcome {
        Outcome::Process(ProcessOutcome::TimedOut { .. }) => Status::TimedOut,
        _ if reason.is_some() => Status::Failed,
        _ => Status::Success,
    };
    let is_over = matches!(
        outcome,
        Outcome::Process(ProcessOutcome::Interrupted { .. })
            | Outcome::Process(ProcessOutcome::WantedTerminal { .. })
    );
    let may_retry = reason.is_some() && !is_over;
    Meaning { status, reason, answer: Answer::default(), may_retry }
}

/// The piped text that the agent gets.
pub(super) fn piped_output(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Process(ProcessOutcome::Exited { code: 0, output })
        | Outcome::Work(WorkOutcome::Done { output, .. }) => printed(output),
        Outcome::Process(ProcessOutcome::Exited { code, output }) => {
            failed(&format!("exit status {code}"), output)
        }
        Outcome::Process(ProcessOutcome::Killed { signal, output }) => {
            failed(&format!("signal: {}", signal_name(*signal)), output)
        }
        Outcome::Process(ProcessOutcome::TimedOut { after_ms, output }) => {
            let seconds = *after_ms as f64 / 1000.0;
            format!("[Hook timed out after {seconds}s]\nPartial output:\n{}", printed(output))
        }
        Outcome::Process(ProcessOutcome::WantedTerminal { output }) => {
            failed("stopped because it tried to read the terminal, which hooks do not have", output)
        }
        Outcome::Process(ProcessOutcome::NotStarted { cause }) => failed(cause, &Output::default()),
        Outcome::Work(WorkOutcome::Failed { cause, output, .. }) => failed(cause, output),
        Outcome::Request(RequestOutcome::Responded { status: 200..=299, output, .. }) => {
            printed(output)
        }
        Outcome::Request(RequestOutcome::Responded { status, output, .. }) => {
            failed(&format!("status {status}"), output)
        }
        Outcome::Person(PersonOutcome::Decided { refused: true, .. })
        | Outcome::Person(PersonOutcome::Unanswered { .. }) => {
            failed(&why_not(outcome).unwrap_or_default(), &Output::default())
        }
        // The session is ending, or nothing ran that could print.
        Outcome::Process(ProcessOutcome::Interrupted { .. })
        | Outcome::Function(FunctionOutcome::Answered { .. })
        | Outcome::Person(PersonOutcome::Decided { .. }) => String::new(),
    }
}

fn printed(output: &Output) -> String {
    match output.stderr.as_str() {
        "" => output.stdout.clone(),
        stderr => format!("{}\n[stderr]\n{stderr}", output.stdout),
    }
}

fn failed(how: &str, output: &Output) -> String {
    format!("[Hook command failed: {how}]\n{}", printed(output))
}

/// Go's, and so iteratr's, name of a signal, by Linux's numbers. Other systems share the low ones.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trace/breakpoint trap",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        10 => "user defined signal 1",
        11 => "segmentation fault",
        12 => "user defined signal 2",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        24 => "CPU time limit exceeded",
        25 => "file size limit exceeded",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &str, stderr: &str) -> Output {
        Output { stdout: stdout.into(), stderr: stderr.into(), ..Output::default() }
    }

    // Conformance: iteratr-016
    #[test]
    fn every_outcome_has_iteratrs_own_text() {
        let killed = |signal| {
            Outcome::Process(ProcessOutcome::Killed { signal, output: output("out\n", "") })
        };
        for (outcome, text) in [
            (
                Outcome::Process(ProcessOutcome::Exited { code: 0, output: output("out\n", "") }),
                "out\n",
            ),
            (Outcome::Process(ProcessOutcome::Exited { code: 0, output: output("", "") }), ""),
            (
                Outcome::Process(ProcessOutcome::Exited { code: 0, output: output("", "e\n") }),
                "\n[stderr]\ne\n",
            ),
            (
                Outcome::Process(ProcessOutcome::Exited {
                    code: 3,
                    output: output("out\n", "e\n"),
                }),
                "[Hook command failed: exit status 3]\nout\n\n[stderr]\ne\n",
            ),
            (killed(9), "[Hook command failed: signal: killed]\nout\n"),
            (killed(6), "[Hook command failed: signal: aborted]\nout\n"),
            (killed(13), "[Hook command failed: signal: broken pipe]\nout\n"),
            (killed(40), "[Hook command failed: signal: signal 40]\nout\n"),
            (
                Outcome::Process(ProcessOutcome::TimedOut {
                    after_ms: 90_000,
                    output: output("out", "e\n"),
                }),
                "[Hook timed out after 90s]\nPartial output:\nout\n[stderr]\ne\n",
            ),
            (
                Outcome::Process(ProcessOutcome::TimedOut {
                    after_ms: 500,
                    output: output("", ""),
                }),
                "[Hook timed out after 0.5s]\nPartial output:\n",
            ),
        ] {
            assert_eq!(piped_output(&outcome), text);
        }
    }

    #[test]
    fn outcomes_that_iteratr_does_not_know_have_a_text_in_the_same_form() {
        let responded = |status| {
            Outcome::Request(RequestOutcome::Responded {
                status,
                output: output("body", ""),
                retry_after_ms: None,
            })
        };
        let decided = |refused| {
            Outcome::Person(PersonOutcome::Decided {
                response: Box::default(),
                refused,
                by: "ann".into(),
                at: String::new(),
            })
        };
        let said = |what: &str| {
            Outcome::Work(WorkOutcome::Failed {
                cause: what.into(),
                may_retry: true,
                exit_code: None,
                output: output("", "e\n"),
                said: Box::default(),
            })
        };
        for (outcome, text) in [
            (
                Outcome::Process(ProcessOutcome::NotStarted {
                    cause: "shell `sh` not found".into(),
                }),
                "[Hook command failed: shell `sh` not found]\n",
            ),
            (
                Outcome::Process(ProcessOutcome::WantedTerminal { output: output("name? ", "") }),
                "[Hook command failed: stopped because it tried to read the terminal, which hooks do not have]\nname? ",
            ),
            (
                said("there is no remote `up`"),
                "[Hook command failed: there is no remote `up`]\n\n[stderr]\ne\n",
            ),
            (
                Outcome::Work(WorkOutcome::Done {
                    what: "pushed".into(),
                    output: output("x\n", ""),
                    said: Box::default(),
                }),
                "x\n",
            ),
            (responded(204), "body"),
            (responded(503), "[Hook command failed: status 503]\nbody"),
            (decided(false), ""),
            (decided(true), "[Hook command failed: rejected by ann]\n"),
            (
                Outcome::Person(PersonOutcome::Unanswered { after_ms: 2000 }),
                "[Hook command failed: no answer within 2 s]\n",
            ),
            (Outcome::Process(ProcessOutcome::Interrupted { output: output("half", "") }), ""),
            (Outcome::Function(FunctionOutcome::Answered { answer: Box::default() }), ""),
        ] {
            assert_eq!(piped_output(&outcome), text);
        }
    }

    #[test]
    fn nothing_that_a_hook_does_is_more_than_success_or_failure() {
        let deny = r#"{"decision": "block", "reason": "no", "continue": false}"#;
        let of = |outcome: Outcome| {
            let Meaning { status, answer, may_retry, .. } = meaning(&outcome);
            assert_eq!(answer, Answer::default());
            (status, may_retry)
        };
        let end =
            |code| Outcome::Process(ProcessOutcome::Exited { code, output: output(deny, "") });
        assert_eq!(of(end(0)), (Status::Success, false));
        assert_eq!(of(end(2)), (Status::Failed, true));
        let interrupted =
            Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() });
        assert_eq!(of(interrupted), (Status::Failed, false));
        let timed_out =
            Outcome::Process(ProcessOutcome::TimedOut { after_ms: 1, output: Output::default() });
        assert_eq!(of(timed_out), (Status::TimedOut, true));
    }
}
