//! `hookwright hook claude` called by agents other than Claude Code, with recorded events.

use serde_json::{Value, json};

use super::{call, call_with, denied, nothing, reply, trusted};
use crate::support::Ran;

/// One recorded event per line: the agent and its event, a tab, its JSON. `copilot-pascal` is
/// Copilot CLI with event names in PascalCase in its settings.
const RECORDED: &str = include_str!("../../payloads/other_agents.tsv");

fn sent(event: &str) -> Value {
    let line = RECORDED.lines().find_map(|line| line.strip_prefix(&format!("{event}\t")));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no {event}"))).unwrap()
}

const NO: &str = "hooks: {'*': [{await: true, command: 'echo no >&2; exit 2'}]}";
const NO_SHELL: &str = "hooks: {tool:pre_execute:bash: [{command: 'echo no >&2; exit 2'}]}";

/// The same text on standard error and in every format that an agent might read.
fn refused(agent: &str, host: &str, event: &str) -> Ran {
    let reason = format!(
        "{event} is an event of {agent}, not of Claude Code, so no hook looked at it; call \
         `hookwright hook {host}` in the settings of {agent} instead"
    );
    let stdout = json!({ "decision": "block", "reason": reason, "cancel": true,
        "errorMessage": reason, "permission": "deny", "permissionDecision": "deny",
        "permissionDecisionReason": reason });
    Ran::new(2, &format!("{stdout}\n"), &format!("{reason}\n"))
}

#[test]
fn what_another_agent_is_about_to_do_is_refused_with_words_that_name_it() {
    for hooks in [NO, "hooks: {}"] {
        let sandbox = trusted(hooks);
        for (event, agent, named) in [
            ("gemini/BeforeTool", "Gemini CLI", "`BeforeTool`"),
            ("gemini/BeforeAgent", "Gemini CLI", "`BeforeAgent`"),
            ("copilot/preToolUse", "Copilot CLI", "this"),
            ("copilot/preMcpToolCall", "Copilot CLI", "this"),
            ("copilot/permissionRequest", "Copilot CLI", "`permissionRequest`"),
            ("copilot/userPromptSubmitted", "Copilot CLI", "this"),
            ("cline/PreToolUse", "Cline", "`tool_call`"),
        ] {
            let host = event.split('/').next().unwrap();
            assert_eq!(call(&sandbox, &sent(event)), refused(agent, host, named), "{event}");
        }
    }
}

#[test]
fn what_another_agent_has_done_is_refused_and_keeps_no_agent_going() {
    let sandbox = trusted(NO);
    for event in [
        "gemini/AfterTool",
        "gemini/AfterAgent",
        "gemini/PreCompress",
        "copilot/postToolUse",
        "copilot/agentStop",
        "cline/PostToolUse",
    ] {
        let ran = call(&sandbox, &sent(event));
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{event}");
        assert!(ran.stderr.contains(", not of Claude Code"), "{event}: {}", ran.stderr);
    }
}

#[test]
fn events_without_ids_and_paths_are_read_and_guards_are_asked() {
    let sandbox = trusted(NO_SHELL);
    for event in ["copilot-pascal/PreToolUse", "droid/PreToolUse-Execute"] {
        assert_eq!(call(&sandbox, &sent(event)), denied("no"), "{event}");
    }
    for event in [
        "copilot-pascal/SessionStart",
        "copilot-pascal/UserPromptSubmit",
        "copilot-pascal/PostToolUse",
        "copilot-pascal/Stop",
        "copilot-pascal/SessionEnd",
        "droid/SessionStart",
        "droid/PreToolUse-Create",
        "droid/PreToolUse-Edit",
        "droid/PostToolUse",
        "droid/Stop",
        "droid/SessionEnd",
        "gemini/SessionStart",
    ] {
        assert_eq!(call(&sandbox, &sent(event)), nothing(), "{event}");
    }
    let sandbox = trusted("hooks: {tool:pre_execute:write: [{command: 'echo no >&2; exit 2'}]}");
    assert_eq!(call(&sandbox, &sent("droid/PreToolUse-Create")), denied("no"));
    let bare = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} });
    assert_eq!(call(&trusted(NO_SHELL), &bare), denied("no"));
}

#[test]
fn what_a_tool_returned_is_read_under_the_name_that_copilot_has_for_it() {
    let sandbox = trusted("hooks: {tool:post_execute: [{await: true, command: 'cat > seen'}]}");
    assert_eq!(call(&sandbox, &sent("copilot-pascal/PostToolUse")), nothing());
    let seen = std::fs::read_to_string(sandbox.path("seen")).unwrap();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["tool_response"]["result_type"], "success");
}

#[test]
fn an_agent_that_runs_the_tool_when_it_is_told_to_ask_is_told_no() {
    let hooks =
        "hooks: {tool:pre_execute: [{command: 'echo \"{\\\"decision\\\": \\\"ask\\\"}\"'}]}";
    for event in ["copilot-pascal/PreToolUse", "droid/PreToolUse-Execute"] {
        let why = "a hook asks for a person's decision";
        let said = json!({ "systemMessage":
                format!("PreToolUse: cannot ask a person here, so it is denied: {why}"),
            "hookSpecificOutput": { "hookEventName": "PreToolUse",
                "permissionDecision": "deny", "permissionDecisionReason": why } });
        assert_eq!(call(&trusted(hooks), &sent(event)), reply(&said), "{event}");
    }
}

#[test]
fn an_unknown_event_about_a_tool_that_is_going_to_run_is_a_tool_call() {
    let mut event = sent("gemini/BeforeTool");
    event["hook_event_name"] = json!("BeforeAnyTool");
    let ran = call(&trusted(NO_SHELL), &event);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, "no\n"));
    assert_eq!(call(&trusted("hooks: {session:stop: [{command: 'exit 2'}]}"), &event), nothing());
    // Unreadable input blocks there as well.
    event["tool_name"] = json!(7);
    assert_eq!(call(&trusted(NO_SHELL), &event).code, 2);
    assert_eq!(call_with(&trusted(NO_SHELL), &[], b"").code, 2);
}
