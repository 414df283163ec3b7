//! Rules of `answer.rs`.

use hookwright_engine::answer::{AnswerReading, read};
use hookwright_events::EventName;
use serde_json::json;

use super::*;

/// Answers of every kind, each with its event.
fn answers() -> Vec<(&'static str, Value)> {
    let specific = |event: &str, fields: Value| {
        let mut all = json!({ "hookEventName": event });
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "hookSpecificOutput": all })
    };
    let rules = json!([{ "type": "setMode", "mode": "plan", "destination": "session" }]);
    let mut all = vec![
        ("Stop", json!({})),
        (
            "Stop",
            json!({ "continue": false, "suppressOutput": true, "stopReason": "enough",
                "decision": "block", "reason": "tests fail", "systemMessage": "m" }),
        ),
        ("Stop", json!({ "terminalSequence": "\u{7}", "brandNew": 1 })),
        ("PreToolUse", json!({ "decision": "approve", "reason": "fine" })),
        (
            "PostToolUse",
            specific(
                "PostToolUse",
                json!({ "additionalContext": "c",
            "classifierContext": "d", "updatedToolOutput": { "stdout": "x" } }),
            ),
        ),
        ("PostToolUse", specific("PostToolUse", json!({ "updatedMCPToolOutput": [1] }))),
        (
            "UserPromptSubmit",
            specific(
                "UserPromptSubmit",
                json!({ "additionalContext": "c",
            "sessionTitle": "t", "suppressOriginalPrompt": true }),
            ),
        ),
        (
            "SessionStart",
            specific(
                "SessionStart",
                json!({ "additionalContext": "c",
            "initialUserMessage": "m", "sessionTitle": "t", "watchPaths": ["/x"],
            "reloadSkills": true }),
            ),
        ),
        (
            "PermissionRequest",
            specific(
                "PermissionRequest",
                json!({ "decision": {
            "behavior": "allow", "updatedInput": { "command": "ls" },
            "updatedPermissions": rules } }),
            ),
        ),
        (
            "PermissionRequest",
            specific(
                "PermissionRequest",
                json!({ "decision": {
            "behavior": "deny", "message": "no", "interrupt": true } }),
            ),
        ),
        (
            "claude:user_prompt_expansion",
            specific("UserPromptExpansion", json!({ "additionalContext": "c" })),
        ),
        (
            "claude:pre_model_switch",
            specific(
                "PreModelSwitch",
                json!({ "permissionDecision": "deny", "permissionDecisionReason": "dear" }),
            ),
        ),
        ("claude:permission_denied", specific("PermissionDenied", json!({ "retry": true }))),
        ("claude:cwd_changed", specific("CwdChanged", json!({ "watchPaths": ["/x"] }))),
        ("claude:file_changed", specific("FileChanged", json!({ "watchPaths": [] }))),
        ("claude:worktree_create", specific("WorktreeCreate", json!({ "worktreePath": "/w" }))),
        ("claude:message_display", specific("MessageDisplay", json!({ "displayContent": "x" }))),
        (
            "claude:elicitation",
            specific("Elicitation", json!({ "action": "accept", "content": { "a": 1 } })),
        ),
    ];
    for word in ["allow", "deny", "ask", "defer"] {
        let fields = json!({ "permissionDecision": word, "permissionDecisionReason": "because",
            "updatedInput": { "command": "ls" }, "additionalContext": "c" });
        all.push(("PreToolUse", specific("PreToolUse", fields)));
    }
    for (event, name) in [
        ("PostToolUseFailure", "PostToolUseFailure"),
        ("claude:post_tool_batch", "PostToolBatch"),
        ("Setup", "Setup"),
        ("SubagentStart", "SubagentStart"),
        ("Stop", "Stop"),
        ("SubagentStop", "SubagentStop"),
        ("Notification", "Notification"),
        ("claude:post_model_switch", "PostModelSwitch"),
    ] {
        all.push((event, specific(name, json!({ "additionalContext": "c" }))));
    }
    all
}

// Conformance: claude-code-004, claude-code-005
#[test]
fn every_answer_is_typed_both_ways_with_every_field() {
    for (_, written) in answers() {
        let output: HookOutput = serde_json::from_value(written.clone()).unwrap();
        assert!(matches!(output, HookOutput::Sync(_)), "{written}");
        assert_eq!(serde_json::to_value(&output).unwrap(), written);
    }
}

// Conformance: claude-code-005
#[test]
fn a_typed_answer_means_the_same_as_its_text() {
    for (event, written) in answers() {
        let name = EventName::resolve(event).unwrap();
        let typed: HookOutput = serde_json::from_value(written.clone()).unwrap();
        let printed = match read(&written.to_string(), true, &name) {
            AnswerReading::Whole(answer) => answer,
            AnswerReading::Nothing => Answer::default(),
            other => panic!("{written}: {other:?}"),
        };
        assert_eq!(typed.into_answer(), printed, "{written}");
    }
}

// Conformance: claude-code-006
#[test]
fn an_async_answer_announces_itself_and_requests_nothing() {
    for (text, timeout) in
        [(r#"{"async":true}"#, None), (r#"{"async":true,"asyncTimeout":1500.0}"#, Some(1500.0))]
    {
        let output: HookOutput = serde_json::from_str(text).unwrap();
        let wanted = AsyncHookOutput { is_async: True, async_timeout: timeout };
        assert_eq!(output, HookOutput::Async(wanted));
        assert_eq!(serde_json::to_string(&output).unwrap(), text);
        assert_eq!(output.into_answer(), Answer::default());
    }
    let now: HookOutput = serde_json::from_str(r#"{"async":false}"#).unwrap();
    assert!(matches!(now, HookOutput::Sync(_)));
}

#[test]
fn declining_a_servers_question_denies_it() {
    for (action, decision) in [
        (ElicitationAction::Decline, Some(AnswerDecision::Deny)),
        (ElicitationAction::Cancel, None),
        (ElicitationAction::Accept, None),
    ] {
        let output = ElicitationOutput { action: Some(action), content: None };
        let output = HookOutput::from(HookSpecificOutput::ElicitationResult(output));
        assert_eq!(output.into_answer(), Answer { decision, ..Answer::default() });
    }
}

#[test]
fn if_two_places_disagree_the_stricter_one_counts_with_its_own_reason() {
    let top = |decision, reason: &str, word| SyncHookOutput {
        decision: Some(decision),
        reason: Some(reason.into()),
        ..HookSpecificOutput::PreToolUse(PreToolUseOutput {
            permission_decision: Some(word),
            permission_decision_reason: Some("special".into()),
            ..PreToolUseOutput::default()
        })
        .into()
    };
    for (output, answer) in [
        (top(TopDecision::Block, "top", PermissionDecision::Allow), Answer::deny("top")),
        (top(TopDecision::Approve, "top", PermissionDecision::Deny), Answer::deny("special")),
        (top(TopDecision::Approve, "top", PermissionDecision::Ask), Answer::ask("special")),
        (SyncHookOutput::block("no"), Answer::deny("no")),
        (SyncHookOutput::default(), Answer::default()),
    ] {
        assert_eq!(Answer::from(output), answer);
    }
    assert_eq!(HookOutput::nothing().into_answer(), Answer::default());
}
