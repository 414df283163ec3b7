//! A denial counts whatever happens to the pipes: a closed reader, input that does not end.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{agent, sent, trusted};
use crate::support::Sandbox;

/// The exit code of a command whose readers close before it prints.
fn code_unread(mut command: Command, event: &Value) -> i32 {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    child.wait().unwrap().code().expect("it was not killed")
}

fn unread(sandbox: &Sandbox, event: &str) -> i32 {
    code_unread(agent(sandbox, &[]), &sent(event))
}

#[test]
fn a_deny_whose_reader_is_gone_is_said_by_the_exit_code() {
    let sandbox = trusted("hooks: {'*': [{await: true, command: 'echo no >&2; exit 2'}]}");
    for event in [
        "PreToolUse",
        "UserPromptSubmit",
        "PermissionRequest",
        "PreCompact",
        "Stop",
        "SubagentStop",
    ] {
        assert_eq!(unread(&sandbox, event), 2, "{event}");
    }
    for event in ["PostToolUse", "SessionStart", "SessionEnd"] {
        assert_eq!(unread(&sandbox, event), 0, "{event}");
    }
}

#[test]
fn a_deny_into_nowhere_is_said_by_the_exit_code() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'echo no >&2; exit 2'}]}");
    for script in ["\"$@\" >/dev/null", "\"$@\" >&-", "\"$@\" >&- 2>&-"] {
        let hook = agent(&sandbox, &[]);
        let mut closing = Command::new("sh");
        closing.args(["-c", script, "closing"]).arg(hook.get_program()).args(hook.get_args());
        closing.env_clear();
        closing.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
        closing.current_dir(sandbox.path("."));
        assert_eq!(code_unread(closing, &sent("PreToolUse")), 2, "{script}");
    }
}

#[test]
fn an_allow_whose_reader_is_gone_allows_nothing_and_no_stop_is_blocked_for_a_message() {
    let print = |answer: &str| {
        trusted(&format!(
            "hooks: {{'*': [{{await: true, command: \"cat <<'E'\\n{answer}\\nE\"}}]}}"
        ))
    };
    let allows = print("{\\\"decision\\\": \\\"allow\\\"}");
    assert_eq!(unread(&allows, "PreToolUse"), 2);
    let tells = print("{\\\"systemMessage\\\": \\\"look\\\"}");
    assert_eq!(unread(&tells, "Stop"), 0);
    let silent = trusted("hooks: {'*': [{await: true, command: 'true'}]}");
    assert_eq!(unread(&silent, "PreToolUse"), 0);
}

#[test]
fn a_fired_event_that_is_blocked_says_so_by_its_exit_code_without_any_reader() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'echo no >&2; exit 2'}]}");
    for more in [&[][..], &["--json"]] {
        let arguments = [&["fire", "tool:pre_execute", "--data", "-"], more].concat();
        let command = sandbox.command(&arguments);
        assert_eq!(code_unread(command, &json!({ "tool_name": "bash" })), 2, "{more:?}");
    }
}

#[test]
fn input_that_does_not_end_in_time_is_no_event_and_blocks() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'true'}]}");
    for part in ["", "{\"hook_event_name\": \"PreToolUse\""] {
        let mut child = agent(&sandbox, &["--deadline", "1"]).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(part.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.starts_with(
                "error: expected an event of Claude Code but found none: standard input had not \
                 ended after 0.7 s\n"
            ),
            "{stderr}"
        );
    }
}
