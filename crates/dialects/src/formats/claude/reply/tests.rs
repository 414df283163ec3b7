//! Rules of `reply.rs` that a case folder cannot show.

use hookwright_config::{ConfigFile, load_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Firing, Setup, Verdict};
use serde_json::json;

use super::*;
use crate::claude::ClaudeFormat;

const LENIENT: ClaudeWire = ClaudeWire { is_strict: false };
const STRICT: ClaudeWire = ClaudeWire { is_strict: true };
const DENY: &str = r#"{"decision":"block","reason":"no"}"#;

fn read(wire: &ClaudeWire, outcome: &Outcome, name: &str, awaited: bool) -> Meaning {
    let event = Event::named(name, json!({})).unwrap();
    wire.meaning(outcome, At { event: &event, power: event.name.power(), awaited })
}

fn printed(stdout: &str) -> Output {
    Output { stdout: stdout.into(), ..Output::default() }
}

fn failure(reason: &str) -> Meaning {
    failed(reason.into())
}

#[test]
fn output_before_a_timeout_does_not_count() {
    let outcome =
        Outcome::Process(ProcessOutcome::TimedOut { after_ms: 1500, output: printed(DENY) });
    let wanted = Meaning { status: Status::TimedOut, ..failure("timed out after 1.5 s") };
    assert_eq!(read(&LENIENT, &outcome, "PreToolUse", true), wanted);
    let switch = read(&LENIENT, &outcome, "claude:pre_model_switch", true);
    assert_eq!(switch, blocked(Answer::deny("timed out after 1.5 s")));
}

#[test]
fn an_end_that_is_not_the_hooks_own_is_a_failure() {
    let output = Output::default;
    for (outcome, reason) in [
        (Outcome::Process(ProcessOutcome::Interrupted { output: output() }), "interrupted"),
        (
            Outcome::Process(ProcessOutcome::WantedTerminal { output: output() }),
            "stopped because it tried to read the terminal, which hooks do not have",
        ),
        (Outcome::Process(ProcessOutcome::NotStarted { cause: "no".into() }), "cannot start: no"),
        (
            Outcome::Process(ProcessOutcome::Killed { signal: 9, output: output() }),
            "killed by signal 9",
        ),
        (
            Outcome::Work(WorkOutcome::Failed {
                cause: "broken".into(),
                may_retry: true,
                exit_code: None,
                output: output(),
                said: Box::default(),
            }),
            "broken",
        ),
    ] {
        assert_eq!(read(&LENIENT, &outcome, "PreToolUse", true), failure(reason));
    }
    let done = Outcome::Work(WorkOutcome::Done {
        what: "committed".into(),
        output: output(),
        said: Box::default(),
    });
    let wanted = Meaning { reason: Some("committed".into()), ..well(Answer::default()) };
    assert_eq!(read(&LENIENT, &done, "PreToolUse", true), wanted);
}

#[test]
fn a_hook_that_is_killed_after_it_has_denied_has_denied() {
    let outcome = Outcome::Process(ProcessOutcome::Killed { signal: 15, output: printed(DENY) });
    for wire in [&LENIENT, &STRICT] {
        assert_eq!(read(wire, &outcome, "PreToolUse", true), blocked(Answer::deny("no")));
    }
}

#[test]
fn a_denial_in_output_of_which_the_middle_is_missing_still_denies() {
    let torn = "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\",\"x\":\"aaa";
    let output = Output { stdout_left_out: 5, ..printed(torn) };
    let meaning = read(
        &LENIENT,
        &Outcome::Process(ProcessOutcome::Exited { code: 0, output }),
        "PreToolUse",
        true,
    );
    assert_eq!(meaning.status, Status::Blocked);
    let output = Output { stdout_left_out: 5, ..printed("{\"ok\": \"aaa") };
    let meaning = read(
        &LENIENT,
        &Outcome::Process(ProcessOutcome::Exited { code: 0, output }),
        "PreToolUse",
        true,
    );
    assert_eq!(meaning.status, Status::Failed);
}

#[test]
fn an_invalid_denial_counts_with_any_exit_code_at_events_that_can_be_blocked() {
    for code in [0, 1] {
        let outcome = Outcome::Process(ProcessOutcome::Exited {
            code,
            output: printed("{\"decision\":\"block\",}"),
        });
        for wire in [&LENIENT, &STRICT] {
            assert_eq!(read(wire, &outcome, "PreToolUse", true).status, Status::Blocked);
            assert_eq!(read(wire, &outcome, "Stop", true).status, Status::Failed);
        }
    }
}

#[test]
fn nothing_waits_for_a_hook_in_the_background() {
    let text = r#"{"decision":"block","reason":"no","continue":false,"systemMessage":"m"}"#;
    let outcome = Outcome::Process(ProcessOutcome::Exited { code: 0, output: printed(text) });
    let meaning = read(&LENIENT, &outcome, "PreToolUse", false);
    let said = meaning.answer;
    assert_eq!((meaning.status, said.decision, said.stop), (Status::Success, None, false));
    assert_eq!(said.system_message.as_deref(), Some("m"));
}

#[test]
fn a_block_of_an_event_that_cannot_be_blocked_is_the_hooks_failure_unless_it_ends_the_turn() {
    let outcome =
        |text| Outcome::Process(ProcessOutcome::Exited { code: 0, output: printed(text) });
    let meaning = read(&LENIENT, &outcome(DENY), "SessionStart", true);
    let what = "it answered block, but nothing can be blocked at session:start";
    assert_eq!((meaning.status, meaning.reason.as_deref()), (Status::Failed, Some(what)));
    let ends = r#"{"decision":"block","continue":false,"stopReason":"enough"}"#;
    let meaning = read(&LENIENT, &outcome(ends), "SessionStart", true);
    assert_eq!((meaning.status, meaning.answer.stop), (Status::Success, true));
}

#[test]
fn exit_2_answers_a_permission_request_only_with_a_denial_in_json() {
    let text = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#;
    let outcome = Outcome::Process(ProcessOutcome::Exited { code: 2, output: printed(text) });
    assert_eq!(read(&LENIENT, &outcome, "PermissionRequest", true), blocked(Answer::deny("no")));
}

#[test]
fn the_hooks_output_is_piped_to_the_agent_unchanged() {
    let outcome = Outcome::Process(ProcessOutcome::Exited { code: 0, output: printed("x\n") });
    let meaning = read(&LENIENT, &outcome, "PreToolUse", true);
    assert_eq!(LENIENT.piped_output("id", &outcome, &meaning), "x\n");
    let none = Outcome::Process(ProcessOutcome::NotStarted { cause: "no".into() });
    assert_eq!(LENIENT.piped_output("id", &none, &meaning), "");
}

/// Every shell exits with 2 if it cannot read its script, whatever message it prints.
#[tokio::test]
async fn a_command_that_its_shell_cannot_read_blocks_as_exit_2_does() {
    static CLAUDE: ClaudeFormat = ClaudeFormat;
    let file = ConfigFile::native("settings.json", "settings.json", Layer::Project)
        .in_dialect(Some(&CLAUDE));
    let text = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"if then"}]}]}}"#;
    let path = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let environment = Environment::new(path);
    let loaded = load_text(text, &file, &environment);
    let root = tempfile::tempdir().unwrap();
    let engine = Engine::new(Setup::new(loaded.hooks, root.path().to_owned(), environment));
    let event = Event::named("PreToolUse", json!({ "tool_name": "Bash" })).unwrap();
    let fired = engine.fire(event, Firing::default()).await;
    assert!(matches!(fired.decision.verdict, Verdict::Block { .. }), "{:?}", fired.decision);
}
