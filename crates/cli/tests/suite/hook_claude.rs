//! `hookwright hook claude`, called as Claude Code calls it: events come on standard input, and all
//! of standard output is the reply.

mod background;
mod broken;
mod deadline;
mod delivery;
mod hosts;
mod memory;
mod other_agents;
mod questions;

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

/// One event per line: its name, a tab, its JSON.
const PAYLOADS: &str = include_str!("../payloads/claude_code.tsv");

/// Claude Code's input at an event.
pub(crate) fn sent(event: &str) -> Value {
    let line = PAYLOADS.lines().find_map(|line| line.strip_prefix(&format!("{event}\t")));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no {event}"))).unwrap()
}

/// Every event of Claude Code.
pub(crate) fn events() -> Vec<String> {
    PAYLOADS.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// A project with these hooks, trusted.
pub(crate) fn trusted(hooks: &str) -> Sandbox {
    trust(Sandbox::with_hooks(hooks))
}

pub(crate) fn trust(sandbox: Sandbox) -> Sandbox {
    let ran = sandbox.run(&["trust", "--yes"]);
    assert!(ran.stdout.contains("trusted "), "{ran:?}");
    sandbox
}

/// A shell that acts as the agent, and calls it in the project.
fn agent(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let hook = sandbox.command(&[&["hook", "claude"], arguments].concat());
    let agent = "env CLAUDECODE=1 CLAUDE_PROJECT_DIR=\"$project\" \"$@\"; exit $?";
    let mut command = Command::new("sh");
    command.args(["-c", agent, "agent"]).arg(hook.get_program()).args(hook.get_args());
    command.env_clear().envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("project", sandbox.path(".")).current_dir(sandbox.path("."));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Calls it with a text, in the project.
pub(crate) fn call_with(sandbox: &Sandbox, arguments: &[&str], text: &[u8]) -> Ran {
    let mut child = agent(sandbox, arguments).spawn().unwrap();
    // A program need not read everything; only its answer counts.
    let _ = child.stdin.take().unwrap().write_all(text);
    Ran::from(child.wait_with_output().unwrap())
}

/// Calls it with an event.
pub(crate) fn call(sandbox: &Sandbox, event: &Value) -> Ran {
    call_with(sandbox, &[], format!("{event}\n").as_bytes())
}

/// A reply of one line of JSON.
pub(crate) fn reply(value: &Value) -> Ran {
    Ran::new(0, &format!("{value}\n"), "")
}

/// No reply: Claude Code continues.
pub(crate) fn nothing() -> Ran {
    Ran::new(0, "", "")
}

/// A denied tool call.
pub(crate) fn denied(reason: &str) -> Ran {
    reply(&json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": reason } }))
}

/// A message to the user.
pub(crate) fn told(message: &str) -> Ran {
    reply(&json!({ "systemMessage": message }))
}

/// Hooks at every event that print this.
fn printing(answer: &Value) -> String {
    format!("hooks: {{'*': [{{await: true, command: \"cat <<'E'\\n{}\\nE\"}}]}}", escaped(answer))
}

fn escaped(answer: &Value) -> String {
    answer.to_string().replace('\\', "\\\\").replace('"', "\\\"")
}

#[test]
fn where_no_hook_listens_nothing_is_said_at_any_event() {
    let sandbox = trusted("hooks: {git:pre_commit: [{command: 'exit 2'}]}");
    let events = events();
    assert_eq!(events.len(), 33);
    for event in events {
        assert_eq!(call(&sandbox, &sent(&event)), nothing(), "{event}");
    }
}

#[test]
fn without_any_file_nothing_is_said_and_nothing_is_kept() {
    let sandbox = Sandbox::new();
    for event in events() {
        assert_eq!(call(&sandbox, &sent(&event)), nothing(), "{event}");
    }
    assert!(!sandbox.path("../.local").exists());
}

// Conformance: claude-code-061
#[test]
fn a_block_is_said_in_the_words_of_its_event() {
    let sandbox = trusted("hooks: {'*': [{await: true, command: 'echo no >&2; exit 2'}]}");
    let specific = |fields: Value| json!({ "hookSpecificOutput": fields });
    let block = json!({ "decision": "block", "reason": "no" });
    let beside = json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse",
        "additionalContext": "no" } });
    for (event, said) in [
        (
            "PreToolUse",
            specific(json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "no" })),
        ),
        (
            "PermissionRequest",
            specific(json!({ "hookEventName": "PermissionRequest",
                "decision": { "behavior": "deny", "message": "no" } })),
        ),
        (
            "PreModelSwitch",
            specific(json!({ "hookEventName": "PreModelSwitch", "permissionDecision": "deny",
                "permissionDecisionReason": "no" })),
        ),
        (
            "ElicitationResult",
            specific(json!({ "hookEventName": "ElicitationResult", "action": "decline" })),
        ),
        ("PostToolUse", beside),
        ("UserPromptSubmit", block.clone()),
        ("UserPromptExpansion", block.clone()),
        ("Stop", block.clone()),
        ("SubagentStop", block.clone()),
        ("PreCompact", block.clone()),
        ("PostToolBatch", block.clone()),
        ("TaskCreated", block.clone()),
        ("Elicitation", block.clone()),
        ("ConfigChange", block),
    ] {
        assert_eq!(call(&sandbox, &sent(event)), reply(&said), "{event}");
    }
    let by_exit_code =
        |stdout: &str| Ran { code: 2, stdout: stdout.to_owned(), stderr: "no".to_owned() };
    let json = "{\"decision\":\"block\",\"reason\":\"no\"}\n";
    for (event, stdout) in [("TeammateIdle", json), ("TaskCompleted", json), ("WorktreeCreate", "")]
    {
        assert_eq!(call(&sandbox, &sent(event)), by_exit_code(stdout), "{event}");
    }
}

#[test]
fn a_block_where_nothing_can_be_blocked_is_told_to_the_user_once_in_a_session() {
    let sandbox = trusted("hooks: {'*': [{id: a, await: true, command: 'echo no >&2; exit 2'}]}");
    for (event, name) in [
        ("SessionStart", "session:start"),
        ("SubagentStart", "agent:start"),
        ("CwdChanged", "claude:cwd_changed"),
    ] {
        let message =
            format!("hook a failed: exit code 2, but nothing can be blocked at {name}: no");
        assert_eq!(call(&sandbox, &sent(event)), told(&message), "{event}");
        assert_eq!(call(&sandbox, &sent(event)), nothing(), "{event}");
    }
    // Claude Code shows no message at this event, so there is none.
    assert_eq!(call(&sandbox, &sent("SessionEnd")), nothing());
}

#[test]
fn a_tool_call_is_asked_about_allowed_rewritten_and_ended() {
    let specific = |fields: Value| {
        let mut all = json!({ "hookEventName": "PreToolUse" });
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "hookSpecificOutput": all })
    };
    let mut ended = json!({ "continue": false, "stopReason": "enough" });
    ended["hookSpecificOutput"] = json!({ "hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "enough" });
    for (answer, said) in [
        (
            json!({ "decision": "ask", "reason": "sure?" }),
            specific(json!({ "permissionDecision": "ask", "permissionDecisionReason": "sure?" })),
        ),
        (
            json!({ "decision": "allow", "reason": "fine" }),
            specific(json!({ "permissionDecision": "allow", "permissionDecisionReason": "fine" })),
        ),
        (
            json!({ "updatedInput": { "command": "ls" } }),
            specific(json!({ "updatedInput": { "command": "ls" } })),
        ),
        (
            json!({ "additionalContext": "it is Friday" }),
            specific(json!({ "additionalContext": "it is Friday" })),
        ),
        (json!({ "continue": false, "stopReason": "enough" }), ended),
        (json!({ "systemMessage": "look" }), json!({ "systemMessage": "look" })),
        (json!({ "suppressOutput": true }), json!({ "suppressOutput": true })),
    ] {
        let sandbox = trusted(&printing(&answer));
        assert_eq!(call(&sandbox, &sent("PreToolUse")), reply(&said), "{answer}");
    }
}

#[test]
fn a_context_reaches_the_model_where_it_can_and_else_the_user_is_told() {
    let sandbox = trusted(&printing(&json!({ "additionalContext": "hint" })));
    for event in [
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "UserPromptSubmit",
        "UserPromptExpansion",
        "SessionStart",
        "SubagentStart",
        "PostModelSwitch",
    ] {
        let said = json!({ "hookSpecificOutput": { "hookEventName": event,
            "additionalContext": "hint" } });
        assert_eq!(call(&sandbox, &sent(event)), reply(&said), "{event}");
    }
    for event in ["Stop", "PermissionRequest", "CwdChanged", "ConfigChange"] {
        let message = format!("{event}: the agent cannot be told here: hint");
        assert_eq!(call(&sandbox, &sent(event)), told(&message), "{event}");
    }
}

#[test]
fn a_prompt_can_be_ended_and_an_ask_there_is_a_deny() {
    let stop = trusted(&printing(&json!({ "continue": false, "stopReason": "enough" })));
    assert_eq!(
        call(&stop, &sent("UserPromptSubmit")),
        reply(&json!({ "continue": false, "stopReason": "enough", "decision": "block",
            "reason": "enough" }))
    );
    let ask = trusted(&printing(&json!({ "decision": "ask", "reason": "sure?" })));
    assert_eq!(
        call(&ask, &sent("UserPromptSubmit")),
        reply(&json!({ "decision": "block", "reason": "sure?", "systemMessage":
            "UserPromptSubmit: cannot ask a person here, so it is denied: sure?" }))
    );
}

#[test]
fn a_permission_prompt_is_answered_with_new_input_or_left_to_the_user() {
    let answer = json!({ "decision": "allow", "updatedInput": { "command": "ls" } });
    assert_eq!(
        call(&trusted(&printing(&answer)), &sent("PermissionRequest")),
        reply(&json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest",
            "decision": { "behavior": "allow", "updatedInput": { "command": "ls" } } } }))
    );
    let ask = trusted(&printing(&json!({ "decision": "ask" })));
    assert_eq!(call(&ask, &sent("PermissionRequest")), nothing());
}

#[test]
fn hooks_read_what_claude_code_sent_and_their_output_stays_theirs() {
    let sandbox = trusted(
        "hooks: {tool:pre_execute:bash: [{id: a, command: 'cat > seen; echo a line; echo talk >&2'}]}",
    );
    let event = sent("PreToolUse");
    assert_eq!(call(&sandbox, &event), nothing());
    let seen: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("seen")).unwrap()).unwrap();
    for (field, value) in event.as_object().unwrap() {
        assert_eq!(seen[field], *value, "{field}");
    }
    assert_eq!((&seen["event"], &seen["subject"]), (&json!("tool:pre_execute"), &json!("bash")));
}

#[test]
fn an_event_that_is_newer_than_this_program_wakes_hooks_by_its_name() {
    let sandbox = trusted("hooks: {claude:brand_new: [{await: true, command: 'cat > seen'}]}");
    let mut event = sent("SessionStart");
    event["hook_event_name"] = json!("BrandNew");
    event["colour"] = json!("blue");
    assert_eq!(call(&sandbox, &event), nothing());
    let seen: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("seen")).unwrap()).unwrap();
    assert_eq!(
        (&seen["event"], &seen["hook_event_name"], &seen["colour"]),
        (&json!("claude:brand_new"), &json!("BrandNew"), &json!("blue"))
    );
}

#[test]
fn an_event_with_half_a_character_in_it_is_read_all_the_same() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'echo no >&2; exit 2'}]}");
    let text = sent("PreToolUse").to_string().replace("rm -f", r"cut \ud83d");
    assert!(text.contains("ud83d"));
    assert_eq!(call_with(&sandbox, &[], text.as_bytes()), denied("no"));
    let text = [b"\xff".as_slice(), b"rm -f"].concat();
    let bytes = sent("PreToolUse").to_string().into_bytes();
    let at = bytes.windows(5).position(|window| window == b"rm -f").unwrap();
    let broken = [&bytes[..at], &text, &bytes[at + 5..]].concat();
    assert_eq!(call_with(&sandbox, &[], &broken), denied("no"));
}

#[test]
fn guards_come_along_wherever_the_agent_goes() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'echo no >&2; exit 2'}]}");
    let mut event = sent("PreToolUse");
    for folder in ["/", "/nowhere/at/all", "relative"] {
        event["cwd"] = json!(folder);
        assert_eq!(call(&sandbox, &event), denied("no"), "{folder}");
    }
}

#[test]
fn without_a_file_where_it_was_started_the_folder_counts_in_which_the_agent_is() {
    let sandbox =
        trusted("hooks: {tool:pre_execute: [{command: 'pwd > ran; echo no >&2; exit 2'}]}");
    let project = sandbox.path(".").canonicalize().unwrap();
    std::fs::create_dir_all(sandbox.path("../empty")).unwrap();
    std::fs::create_dir_all(sandbox.path("src/deep")).unwrap();
    let mut event = sent("PreToolUse");
    event["cwd"] = json!(project.join("src/deep"));
    let sandbox = sandbox.inside("../empty");
    assert_eq!(call(&sandbox, &event), denied("no"));
    let ran = std::fs::read_to_string(project.join("ran")).unwrap();
    assert_eq!(ran, format!("{}\n", project.display()));
}

#[test]
fn the_users_own_guards_run_in_every_project_and_first() {
    let sandbox = trust(
        Sandbox::with_hooks("hooks: {tool:pre_execute: [{command: 'echo project >&2; exit 2'}]}")
            .global("hooks: {tool:pre_execute: [{command: 'echo global >&2; exit 2'}]}"),
    );
    assert_eq!(call(&sandbox, &sent("PreToolUse")), denied("global"));
}

#[test]
fn claude_codes_own_hooks_are_left_to_claude_code() {
    let settings = json!({ "hooks": { "PreToolUse": [ { "hooks": [
        { "type": "command", "command": "touch ran; exit 2" } ] } ] } });
    let sandbox = Sandbox::with_hooks("hooks: {tool:pre_execute: [{command: 'true'}]}")
        .file(".claude/settings.json", settings.to_string());
    assert_eq!(call(&trust(sandbox), &sent("PreToolUse")), nothing());
}

#[test]
fn switched_off_it_answers_nothing() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'touch ran; exit 2'}]}")
        .set("HOOKWRIGHT", "0");
    let ran = call(&sandbox, &sent("PreToolUse"));
    assert_eq!(ran, Ran::new(0, "", "hooks are switched off (HOOKWRIGHT=0)\n"));
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn other_agents_are_refused_with_those_there_are() {
    let ran = Sandbox::new().run(&["hook", "cloud"]);
    assert_eq!(
        ran,
        Ran::new(
            1,
            "",
            "error: invalid value 'cloud' for '[AGENT]'\n  [possible values: claude, cline, codex, copilot, droid, gemini, opencode, qwen]\n\n  \
             tip: a similar value exists: 'claude'\n\nFor more information, try '--help'.\n"
        )
    );
    for arguments in [&["hook"][..], &["hook", "claude", "--deadline", "0"]] {
        assert_eq!(Sandbox::new().run(arguments).code, 1, "{arguments:?}");
    }
}
