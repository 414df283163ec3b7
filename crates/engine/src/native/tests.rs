use hookwright_events::{Event, EventName, FunctionOutcome, ProcessOutcome, WorkOutcome};
use serde_json::{Value, json};

use super::*;
use crate::hook::Hook;

const GUARD: &str = "tool:pre_execute";
const STOP: &str = "session:stop";
const RESULT: &str = "tool:post_execute";
const OBSERVED: &str = "iteration:complete";

fn event(name: &str) -> Event {
    let Value::Object(data) = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } })
    else {
        unreachable!("it is written as an object")
    };
    Event::new(EventName::resolve(name).expect("known"), data)
}

fn meaning_at(name: &str, awaited: bool, outcome: &Outcome) -> Meaning {
    let event = event(name);
    let power = event.name.power();
    let at = At { event: &event, power, awaited };
    NativeWire.meaning(outcome, at)
}

fn meaning(name: &str, outcome: &Outcome) -> Meaning {
    meaning_at(name, true, outcome)
}

fn printed(stdout: &str, stderr: &str) -> Output {
    Output { stdout: stdout.into(), stderr: stderr.into(), ..Output::default() }
}

fn exited(code: i32, stdout: &str, stderr: &str) -> Outcome {
    Outcome::Process(ProcessOutcome::Exited { code, output: printed(stdout, stderr) })
}

fn held(stdout: &str) -> Outcome {
    Outcome::Process(ProcessOutcome::Exited {
        code: 0,
        output: Output { held: true, ..printed(stdout, "") },
    })
}

fn well(answer: Answer) -> Meaning {
    Meaning { status: Status::Success, reason: None, answer, may_retry: false }
}

fn failed(reason: &str) -> Meaning {
    Meaning {
        status: Status::Failed,
        reason: Some(reason.into()),
        answer: Answer::default(),
        may_retry: true,
    }
}

fn failed_for_good(reason: &str) -> Meaning {
    Meaning { may_retry: false, ..failed(reason) }
}

fn denied(reason: &str) -> Meaning {
    Meaning {
        status: Status::Blocked,
        reason: Some(reason.into()),
        answer: Answer {
            decision: Some(AnswerDecision::Deny),
            reason: Some(reason.into()),
            ..Answer::default()
        },
        may_retry: false,
    }
}

#[test]
fn a_hook_reads_one_line_of_json_with_the_event_and_its_own_name() {
    let hook = Hook::on(GUARD, |_| async { Ok(Answer::default()) }).id("guard");
    let reader = WireReader {
        event: &event(GUARD),
        hook: &hook.build().expect("a hook"),
        attempt: 2,
        root: std::path::Path::new("/"),
    };
    let WireInput { stdin: line, variables } = NativeWire.input(&reader);
    assert_eq!(variables, []);
    assert_eq!(line.matches('\n').count(), 1);
    assert!(line.ends_with('\n'));
    assert_eq!(
        serde_json::from_str::<Value>(&line).expect("JSON"),
        json!({
            "event": "tool:pre_execute",
            "hook_event_name": "PreToolUse",
            "subject": "bash",
            "tool_name": "Bash",
            "tool_input": { "command": "ls" },
            "hook": { "id": "guard", "attempt": 2 },
        })
    );
}

#[test]
fn exit_0_without_an_answer_is_success_everywhere() {
    for name in [GUARD, STOP, RESULT, OBSERVED] {
        for stdout in ["", "all is well\n", "[1, 2]", "{\"level\": \"info\"}"] {
            assert_eq!(
                meaning(name, &exited(0, stdout, "a warning")),
                well(Answer::default()),
                "{name} {stdout}"
            );
        }
    }
}

#[test]
fn exit_2_blocks_if_the_event_can_be_blocked_and_standard_error_is_the_reason() {
    for name in [GUARD, STOP, RESULT] {
        assert_eq!(
            meaning(name, &exited(2, "checking…\n", " sudo is\nnot allowed \n")),
            denied("sudo is\nnot allowed"),
            "{name}"
        );
        assert_eq!(
            meaning(name, &exited(2, "", " \n")),
            denied("exit 2 without a message"),
            "{name}"
        );
    }
}

#[test]
fn exit_2_at_an_event_that_cannot_be_blocked_is_a_failure() {
    assert_eq!(
        meaning(OBSERVED, &exited(2, "", "no such file\n")),
        failed("exit code 2, but nothing can be blocked at iteration:complete: no such file")
    );
}

#[test]
fn a_json_deny_at_an_event_that_cannot_be_blocked_is_a_failure_without_retry() {
    for (code, stdout) in [
        (0, r#"{"decision": "deny", "reason": "no"}"#),
        (1, r#"{"decision": "block", "reason": "no"}"#),
    ] {
        assert_eq!(
            meaning(OBSERVED, &exited(code, stdout, "")),
            failed_for_good("it answered deny, but nothing can be blocked at iteration:complete")
        );
    }
}

#[test]
fn a_json_deny_counts_with_every_exit_code() {
    for code in [0, 1, 2, 126, 127] {
        assert_eq!(
            meaning(GUARD, &exited(code, r#"{"decision": "deny", "reason": "no"}"#, "")),
            denied("no"),
            "exit {code}"
        );
    }
}

#[test]
fn a_deny_needs_no_reason_and_feedback_follows_it() {
    assert_eq!(
        meaning(
            GUARD,
            &exited(0, r#"{"decision": "block", "reason": "no", "feedback": "use rm -i"}"#, "")
        ),
        denied("no\nuse rm -i")
    );
    let without = meaning(GUARD, &exited(0, r#"{"decision": "block"}"#, ""));
    assert_eq!(without.status, Status::Blocked);
    assert_eq!(without.reason.as_deref(), Some("denied without a reason"));
}

#[test]
fn an_allow_needs_a_success() {
    let allow = r#"{"decision": "approve", "reason": "fine"}"#;
    assert_eq!(
        meaning(GUARD, &exited(0, allow, "")),
        Meaning {
            reason: Some("fine".into()),
            ..well(Answer {
                decision: Some(AnswerDecision::Allow),
                reason: Some("fine".into()),
                ..Answer::default()
            })
        }
    );
    for code in [1, 126, 127, 255] {
        let after = meaning(GUARD, &exited(code, allow, ""));
        assert_eq!(after.status, Status::Failed, "exit {code}");
        assert_eq!(after.answer.decision, None, "exit {code}");
    }
}

#[test]
fn exit_2_blocks_though_the_output_allows_and_standard_error_is_still_the_reason() {
    let allow = r#"{"decision": "allow", "reason": "looks fine", "updatedInput": {"a": 1}}"#;
    assert_eq!(
        meaning(GUARD, &exited(2, allow, "sudo is not allowed\n")),
        denied("sudo is not allowed")
    );
    assert_eq!(meaning(GUARD, &exited(2, allow, "")), denied("exit 2 without a message"));
}

#[test]
fn exit_2_keeps_the_contexts_and_messages_of_its_answer() {
    let stdout = r#"{"systemMessage": "see the policy", "additionalContext": "rule 7"}"#;
    assert_eq!(
        meaning(GUARD, &exited(2, stdout, "no")),
        Meaning {
            answer: Answer {
                decision: Some(AnswerDecision::Deny),
                reason: Some("no".into()),
                system_message: Some("see the policy".into()),
                additional_context: vec!["rule 7".into()],
                ..Answer::default()
            },
            ..denied("no")
        }
    );
}

#[test]
fn any_other_exit_code_is_a_failure_with_the_last_line_of_standard_error() {
    for name in [GUARD, STOP, RESULT, OBSERVED] {
        for (code, stderr, reason) in [
            (1, "", "exit code 1"),
            (1, "first\n  last \n\n", "exit code 1: last"),
            (255, "oh", "exit code 255: oh"),
            (
                126,
                "bash: ./x: Permission denied\n",
                "cannot start: exit code 126 (not executable): bash: ./x: Permission denied",
            ),
            (127, "", "cannot start: exit code 127 (not found)"),
        ] {
            assert_eq!(meaning(name, &exited(code, "", stderr)), failed(reason), "{name}");
        }
    }
}

#[test]
fn a_long_last_line_is_shortened_between_characters() {
    let found = meaning(OBSERVED, &exited(1, "", &"ä".repeat(201)));
    assert_eq!(found, failed(&format!("exit code 1: {}…", "ä".repeat(200))));
    let found = meaning(OBSERVED, &exited(1, "", &"ä".repeat(200)));
    assert_eq!(found, failed(&format!("exit code 1: {}", "ä".repeat(200))));
}

#[test]
fn a_failed_hook_keeps_its_contexts_and_messages() {
    let stdout = r#"{"systemMessage": "half done", "additionalContext": ["one", "two"]}"#;
    assert_eq!(
        meaning(OBSERVED, &exited(1, stdout, "")),
        Meaning {
            answer: Answer {
                system_message: Some("half done".into()),
                additional_context: vec!["one".into(), "two".into()],
                ..Answer::default()
            },
            ..failed("exit code 1")
        }
    );
}

#[test]
fn a_refused_block_keeps_its_contexts_and_messages() {
    let kept = Answer {
        system_message: Some("m".into()),
        additional_context: vec!["c".into()],
        ..Answer::default()
    };
    let beside = r#""systemMessage": "m", "additionalContext": "c""#;
    let deny = format!(r#"{{"decision": "deny", "reason": "no", {beside}}}"#);
    for (name, awaited, outcome) in [
        (OBSERVED, true, exited(0, &deny, "")),
        (OBSERVED, true, exited(2, &format!("{{{beside}}}"), "")),
        (GUARD, false, exited(0, &deny, "")),
        (GUARD, false, exited(2, &format!("{{{beside}}}"), "")),
    ] {
        let found = meaning_at(name, awaited, &outcome);
        let said = Answer {
            system_message: found.answer.system_message,
            additional_context: found.answer.additional_context,
            ..Answer::default()
        };
        assert_eq!((found.status, said), (Status::Failed, kept.clone()), "{name} {outcome:?}");
    }
}

#[test]
fn broken_json_is_a_failure_at_exit_0() {
    for name in [GUARD, OBSERVED] {
        let found = meaning(name, &exited(0, r#"{"decision": "deny""#, ""));
        assert_eq!(found.status, Status::Failed);
        assert!(found.may_retry);
        assert_eq!(found.answer, Answer::default());
        let reason = found.reason.expect("a failure has a reason");
        assert!(
            reason.starts_with("its answer cannot be read: it begins with `{` but is not JSON"),
            "{reason}"
        );
    }
    assert_eq!(
        meaning(GUARD, &exited(0, r#"{"decision": "maybe"}"#, "")),
        failed(
            "its answer cannot be read: `decision` is `maybe`, expected allow, approve, deny, \
             block or ask"
        )
    );
}

#[test]
fn with_invalid_json_a_failing_exit_code_decides() {
    assert_eq!(meaning(GUARD, &exited(2, "{oops", "no")), denied("no"));
    assert_eq!(meaning(GUARD, &exited(1, "{oops", "")), failed("exit code 1"));
}

#[test]
fn held_output_fails_a_guard_that_gave_no_answer_and_nothing_else() {
    let reason = "a background child still holds its output open, so its answer may be \
         incomplete; redirect that child's output (`>/dev/null 2>&1 &`)";
    assert_eq!(meaning(GUARD, &held("started\n")), failed(reason));
    assert_eq!(meaning(STOP, &held("")), failed(reason));
    for (name, awaited) in [(RESULT, true), (OBSERVED, true), (GUARD, false)] {
        assert_eq!(
            meaning_at(name, awaited, &held("started\n")),
            well(Answer::default()),
            "{name}"
        );
    }
}

#[test]
fn held_output_with_an_answer_counts() {
    assert_eq!(meaning(GUARD, &held(r#"{"decision": "deny", "reason": "no"}"#)), denied("no"));
    let allowed = meaning(GUARD, &held(r#"{"decision": "allow"}"#));
    assert_eq!(
        allowed,
        well(Answer { decision: Some(AnswerDecision::Allow), ..Answer::default() })
    );
}

#[test]
fn a_process_that_does_not_end_by_itself_is_a_failure_with_a_reason() {
    let output = printed("", "waiting\n");
    for name in [GUARD, OBSERVED] {
        assert_eq!(
            meaning(
                name,
                &Outcome::Process(ProcessOutcome::Killed { signal: 9, output: output.clone() })
            ),
            failed("killed by signal 9: waiting")
        );
        assert_eq!(
            meaning(
                name,
                &Outcome::Process(ProcessOutcome::NotStarted { cause: "bash not found".into() })
            ),
            failed("cannot start: bash not found")
        );
        assert_eq!(
            meaning(
                name,
                &Outcome::Process(ProcessOutcome::Interrupted { output: output.clone() })
            ),
            failed_for_good("interrupted")
        );
        assert_eq!(
            meaning(
                name,
                &Outcome::Process(ProcessOutcome::WantedTerminal { output: output.clone() })
            ),
            failed_for_good(
                "stopped because it tried to read the terminal, which hooks do not have"
            )
        );
    }
}

#[test]
fn a_timeout_has_its_own_status_and_names_its_length() {
    for (after_ms, said) in [(300_000, "300 s"), (1_000, "1 s"), (1_500, "1.5 s"), (500, "500 ms")]
    {
        assert_eq!(
            meaning(
                GUARD,
                &Outcome::Process(ProcessOutcome::TimedOut { after_ms, output: Output::default() })
            ),
            Meaning { status: Status::TimedOut, ..failed(&format!("timed out after {said}")) }
        );
    }
}

#[test]
fn continue_false_ends_the_session_at_every_event_and_exit_code() {
    let stop = Answer { stop: true, stop_reason: Some("enough".into()), ..Answer::default() };
    for name in [GUARD, STOP, RESULT, OBSERVED] {
        for code in [0, 1] {
            let stdout = r#"{"continue": false, "stopReason": "enough"}"#;
            assert_eq!(
                meaning(name, &exited(code, stdout, "")),
                Meaning { reason: Some("enough".into()), ..well(stop.clone()) },
                "{name} {code}"
            );
        }
    }
}

#[test]
fn continue_true_asks_for_nothing() {
    for name in [STOP, GUARD] {
        assert_eq!(meaning(name, &exited(0, r#"{"continue": true}"#, "")), well(Answer::default()));
    }
}

#[test]
fn a_guard_that_asks_and_exits_with_1_has_failed() {
    let found = meaning(GUARD, &exited(1, r#"{"decision": "ask", "reason": "sure?"}"#, ""));
    assert_eq!((found.status, found.reason.as_deref()), (Status::Failed, Some("exit code 1")));
}

#[test]
fn an_answer_that_is_not_awaited_decides_nothing_and_is_a_failure() {
    for outcome in [
        exited(0, r#"{"decision": "deny", "reason": "no"}"#, ""),
        exited(2, "", "no"),
        exited(0, r#"{"continue": false}"#, ""),
    ] {
        assert_eq!(
            meaning_at(GUARD, false, &outcome),
            failed_for_good("it answered, but nothing waits for its answer")
        );
    }
}

#[test]
fn an_action_without_a_process_answers_directly() {
    let outcome =
        |answer: Answer| Outcome::Function(FunctionOutcome::Answered { answer: Box::new(answer) });
    let deny = denied("no").answer;
    assert_eq!(meaning(GUARD, &outcome(deny)), denied("no"));
    assert_eq!(meaning(GUARD, &outcome(Answer::default())), well(Answer::default()));
}

#[test]
fn an_actions_own_result_counts_and_the_output_of_its_programs_is_not_an_answer() {
    let output = printed(r#"{"decision": "deny", "reason": "no"}"#, "");
    let heard = Answer { additional_context: vec!["c".into()], ..Answer::default() };
    let said = || Box::new(Answer { stop: true, ..heard.clone() });
    for name in [GUARD, OBSERVED] {
        let done = Outcome::Work(WorkOutcome::Done {
            what: "done".into(),
            output: output.clone(),
            said: said(),
        });
        let found = meaning(name, &done);
        assert_eq!(found, Meaning { reason: Some("done".into()), ..well(heard.clone()) });
        assert_eq!(NativeWire.piped_output("commit", &done, &found), output.stdout);
        for may_retry in [true, false] {
            let cause = "locked".to_owned();
            let (exit_code, output) = (Some(2), output.clone());
            let outcome = Outcome::Work(WorkOutcome::Failed {
                cause,
                may_retry,
                exit_code,
                output,
                said: said(),
            });
            let expected = Meaning { may_retry, answer: heard.clone(), ..failed("locked") };
            assert_eq!(meaning(name, &outcome), expected);
        }
    }
}

#[test]
fn the_agent_sees_the_output_of_a_success() {
    for (stdout, stderr, shown) in [
        ("12 passed\n", "", "12 passed\n"),
        ("12 passed", "one warning", "12 passed\none warning"),
        ("", "one warning\n", "one warning\n"),
        ("", "", ""),
    ] {
        let outcome = exited(0, stdout, stderr);
        let meaning = meaning(OBSERVED, &outcome);
        assert_eq!(NativeWire.piped_output("tests", &outcome, &meaning), shown);
    }
}

#[test]
fn the_agents_view_of_a_failure_begins_with_what_failed_and_how() {
    let outcome = exited(1, "11 passed\n", "1 failed\n");
    let found = meaning(OBSERVED, &outcome);
    assert_eq!(
        NativeWire.piped_output("tests", &outcome, &found),
        "[hook tests: failed (exit code 1: 1 failed)]\n11 passed\n1 failed\n"
    );
    let outcome = Outcome::Process(ProcessOutcome::TimedOut {
        after_ms: 2_000,
        output: printed("1 passed", ""),
    });
    let found = meaning(OBSERVED, &outcome);
    assert_eq!(
        NativeWire.piped_output("tests", &outcome, &found),
        "[hook tests: timed_out (timed out after 2 s)]\n1 passed"
    );
    let outcome = Outcome::Process(ProcessOutcome::NotStarted { cause: "bash not found".into() });
    let found = meaning(OBSERVED, &outcome);
    assert_eq!(
        NativeWire.piped_output("tests", &outcome, &found),
        "[hook tests: failed (cannot start: bash not found)]\n"
    );
}

#[test]
fn an_answer_to_us_is_not_shown_to_the_agent() {
    let outcome = exited(0, r#"{"additionalContext": "c"}"#, "");
    let found = meaning(OBSERVED, &outcome);
    assert_eq!(NativeWire.piped_output("tests", &outcome, &found), "");
}
