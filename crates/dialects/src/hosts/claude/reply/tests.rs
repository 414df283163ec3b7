//! Rules of `reply.rs`.

use hookwright_events::EventName;
use hookwright_events::table::open_named;
use serde_json::json;

use super::super::capabilities::ALL;

use super::*;
use crate::claude::event::event_named;
use crate::hosts::{Inject, capability_table};

fn decided(verdict: Verdict) -> Decision {
    Decision { verdict, ..Decision::default() }
}

fn block() -> Decision {
    decided(Verdict::Block { reason: "no".into() })
}

fn ask() -> Decision {
    decided(Verdict::Ask { reason: Some("sure?".into()), rewritten_input: None })
}

fn stop() -> Decision {
    decided(Verdict::Stop { reason: "enough".into() })
}

fn event(claudes: &str) -> Event {
    Event::new(event_named(claudes).unwrap(), Map::new())
}

/// The output at an event, as JSON; `null` if there is none.
fn said_at(claudes: &str, decision: &Decision) -> Value {
    let line = reply_to(&event(claudes), decision).stdout;
    assert_eq!(line.ends_with('\n'), !line.is_empty());
    if line.is_empty() { Value::Null } else { serde_json::from_str(&line).unwrap() }
}

#[test]
fn there_is_nothing_to_say_where_hooks_asked_for_nothing() {
    for known in ALL {
        assert_eq!(reply_to(&event(known.event), &Decision::default()), HostReply::default());
    }
}

#[test]
fn a_tool_call_is_denied_asked_about_allowed_and_rewritten() {
    let specific = |fields: Value| {
        let mut all = json!({ "hookEventName": "PreToolUse" });
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "hookSpecificOutput": all })
    };
    let input = Some(json!({ "command": "ls" }));
    for (decision, fields) in [
        (block(), json!({ "permissionDecision": "deny", "permissionDecisionReason": "no" })),
        (ask(), json!({ "permissionDecision": "ask", "permissionDecisionReason": "sure?" })),
        (
            decided(Verdict::Allow { reason: None, rewritten_input: input.clone() }),
            json!({ "permissionDecision": "allow", "updatedInput": { "command": "ls" } }),
        ),
        (
            decided(Verdict::Proceed { rewritten_input: input }),
            json!({ "updatedInput": { "command": "ls" } }),
        ),
    ] {
        assert_eq!(said_at("PreToolUse", &decision), specific(fields));
    }
}

#[test]
fn an_end_of_the_turn_denies_as_well_where_something_was_about_to_happen() {
    for verdict in [stop().verdict, Verdict::Abort { reason: "enough".into() }] {
        assert_eq!(
            said_at("PreToolUse", &decided(verdict)),
            json!({ "continue": false, "stopReason": "enough", "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "enough" } })
        );
    }
    assert_eq!(
        said_at("UserPromptSubmit", &stop()),
        json!({ "continue": false, "stopReason": "enough", "decision": "block",
            "reason": "enough" })
    );
    for name in ["Stop", "SubagentStop", "PostToolUse", "PostToolBatch"] {
        assert_eq!(said_at(name, &stop()), json!({ "continue": false, "stopReason": "enough" }));
    }
}

#[test]
fn a_block_is_said_in_the_words_of_its_event() {
    let top = json!({ "decision": "block", "reason": "no" });
    for name in [
        "Stop",
        "SubagentStop",
        "UserPromptSubmit",
        "UserPromptExpansion",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "PreCompact",
        "ConfigChange",
        "TaskCreated",
        "Elicitation",
    ] {
        assert_eq!(reply_to(&event(name), &block()).exit_code, 0);
        assert_eq!(said_at(name, &block()), top, "{name}");
    }
    assert_eq!(
        said_at("PermissionRequest", &block()),
        json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest",
            "decision": { "behavior": "deny", "message": "no" } } })
    );
    assert_eq!(
        said_at("PreModelSwitch", &block()),
        json!({ "hookSpecificOutput": { "hookEventName": "PreModelSwitch",
            "permissionDecision": "deny", "permissionDecisionReason": "no" } })
    );
    assert_eq!(
        said_at("ElicitationResult", &block()),
        json!({ "hookSpecificOutput": { "hookEventName": "ElicitationResult",
            "action": "decline" } })
    );
}

#[test]
fn where_only_an_exit_code_can_say_no_it_does() {
    let json = "{\"decision\":\"block\",\"reason\":\"no\"}\n";
    for (name, stdout) in [("TeammateIdle", json), ("TaskCompleted", json), ("WorktreeCreate", "")]
    {
        let wanted =
            HostReply { stdout: stdout.into(), stderr: "no".into(), exit_code: 2, later: None };
        assert_eq!(reply_to(&event(name), &block()), wanted);
    }
}

#[test]
fn every_event_that_hooks_can_block_has_a_way_to_say_so() {
    for known in ALL {
        let name = event_named(known.event).unwrap();
        assert_eq!(known.deny.prevents(), name.power().can_block(), "{}", known.event);
    }
}

#[test]
fn every_event_of_claude_code_is_in_the_table_once() {
    let mut names: Vec<&str> = ALL.iter().map(|known| known.event).collect();
    assert_eq!(names.len(), 33);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 33);
    let is_listed = |name: &EventName| name.spec().is_some() || open_named(name.as_str()).is_some();
    assert!(ALL.iter().all(|known| is_listed(&event_named(known.event).unwrap())));
    assert_eq!(capability_table(ALL).lines().count(), 35);
}

#[test]
fn a_block_without_a_reason_has_claude_codes_own() {
    let silent = decided(Verdict::Block { reason: " ".into() });
    let wanted = json!({ "decision": "block", "reason": "Blocked by hook" });
    assert_eq!(said_at("Stop", &silent), wanted);
}

#[test]
fn a_permission_prompt_is_answered_in_place_of_the_user_or_left_to_them() {
    let rules = json!([{ "type": "setMode", "mode": "plan", "destination": "session" }]);
    let input = json!({ "command": "ls" });
    let allow = Decision {
        updated_permissions: Some(rules.clone()),
        ..decided(Verdict::Allow { reason: None, rewritten_input: Some(input.clone()) })
    };
    let answered = |decision: Value| {
        json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest",
            "decision": decision } })
    };
    assert_eq!(
        said_at("PermissionRequest", &allow),
        answered(
            json!({ "behavior": "allow", "updatedInput": input, "updatedPermissions": rules })
        )
    );
    let mut ended = answered(json!({ "behavior": "deny", "message": "enough", "interrupt": true }));
    ended["continue"] = false.into();
    ended["stopReason"] = "enough".into();
    assert_eq!(said_at("PermissionRequest", &stop()), ended);
    assert_eq!(said_at("PermissionRequest", &ask()), Value::Null);
    let only_rewrites = decided(Verdict::Proceed { rewritten_input: Some(input) });
    assert_eq!(
        said_at("PermissionRequest", &only_rewrites),
        json!({ "systemMessage": "PermissionRequest: the input cannot be rewritten here" })
    );
}

#[test]
fn an_ask_without_a_person_is_a_deny_but_never_keeps_an_agent_from_stopping() {
    assert_eq!(
        said_at("UserPromptSubmit", &ask()),
        json!({ "decision": "block", "reason": "sure?", "systemMessage":
            "UserPromptSubmit: cannot ask a person here, so it is denied: sure?" })
    );
    for name in ["Stop", "SubagentStop", "TeammateIdle", "TaskCompleted", "SessionStart"] {
        let wanted = json!({ "systemMessage": format!("{name}: cannot ask a person here: sure?") });
        assert_eq!(said_at(name, &ask()), wanted);
        assert_eq!(reply_to(&event(name), &ask()).exit_code, 0);
    }
}

#[test]
fn what_cannot_happen_at_an_event_is_told_to_the_user() {
    assert_eq!(
        said_at("SessionStart", &block()),
        json!({ "systemMessage": "SessionStart: nothing can be blocked here: no" })
    );
    assert_eq!(
        said_at("SessionStart", &stop()),
        json!({ "continue": false, "stopReason": "enough", "systemMessage":
            "SessionStart: the session cannot be ended here: enough" })
    );
    assert_eq!(
        said_at("PreCompact", &stop()),
        json!({ "continue": false, "stopReason": "enough", "decision": "block",
            "reason": "enough", "systemMessage":
            "PreCompact: the session cannot be ended here, so it is only denied: enough" })
    );
    let output = Decision { updated_output: Some(json!("x")), ..Decision::default() };
    assert_eq!(
        said_at("Stop", &output),
        json!({ "systemMessage": "Stop: the output cannot be rewritten here" })
    );
}

#[test]
fn contexts_and_piped_output_reach_the_agent_and_messages_the_user() {
    let decision = Decision {
        additional_context: vec!["one".into(), "two".into()],
        piped_output: "three\n".into(),
        system_messages: vec!["m".into(), "n".into()],
        suppress_output: true,
        ..Decision::default()
    };
    for known in ALL.iter().filter(|known| known.inject == Inject::Here) {
        assert_eq!(
            said_at(known.event, &decision),
            json!({ "suppressOutput": true, "systemMessage": "m\nn", "hookSpecificOutput": {
                "hookEventName": known.event, "additionalContext": "one\ntwo\nthree" } })
        );
    }
    let output = Decision { updated_output: Some(json!({ "stdout": "x" })), ..Decision::default() };
    assert_eq!(
        said_at("PostToolUse", &output),
        json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse",
            "updatedToolOutput": { "stdout": "x" } } })
    );
}

#[test]
fn a_context_at_a_stop_does_not_keep_the_agent_going_unless_it_is_blocked() {
    let told = Decision { additional_context: vec!["hint".into()], ..Decision::default() };
    let blocked = Decision { additional_context: vec!["hint".into()], ..block() };
    for name in ["Stop", "SubagentStop"] {
        let message = format!("{name}: the agent cannot be told here: hint");
        assert_eq!(said_at(name, &told), json!({ "systemMessage": message }));
        assert_eq!(
            said_at(name, &blocked),
            json!({ "decision": "block", "reason": "no", "hookSpecificOutput": {
                "hookEventName": name, "additionalContext": "hint" } })
        );
    }
}

#[test]
fn an_event_that_is_newer_than_this_program_is_only_told_about() {
    let name = EventName::resolve("claude:brand_new").unwrap();
    let line = reply_to(&Event::new(name, Map::new()), &block()).stdout;
    let wanted = "{\"systemMessage\":\"BrandNew: nothing can be blocked here: no\"}\n";
    assert_eq!(line, wanted);
}

#[test]
fn a_tool_call_under_a_name_that_is_not_known_is_denied_by_the_exit_code() {
    let event = json!({ "hook_event_name": "BeforeEverything", "tool_name": "Bash" });
    let event = Event::named("tool:pre_execute", event).unwrap();
    assert_eq!(reply_to(&event, &block()), HostReply::deny_to_any_host("no"));
    assert_eq!(HostReply::deny_to_any_host("no").exit_code, 2);
    let asked = reply_to(&event, &decided(Verdict::Ask { reason: None, rewritten_input: None }));
    assert_eq!(asked.exit_code, 2);
    assert_eq!(reply_to(&event, &Decision::default()), HostReply::default());
}

#[test]
fn an_agent_that_gives_calls_no_id_is_not_told_to_ask() {
    let call = |id: &str| {
        let data = json!({ "tool_name": "Execute", "tool_input": {}, "tool_use_id": id });
        Event::named("tool:pre_execute", data).unwrap()
    };
    let ask = decided(Verdict::Ask { reason: Some("sure?".into()), rewritten_input: None });
    assert!(reply_to(&call("toolu_1"), &ask).stdout.contains("\"permissionDecision\":\"ask\""));
    let denied = reply_to(&call(""), &ask).stdout;
    assert!(denied.contains("\"permissionDecision\":\"deny\""), "{denied}");
    assert!(denied.contains("cannot ask a person here, so it is denied: sure?"), "{denied}");
}

#[test]
fn a_text_takes_the_place_of_what_a_command_printed_and_of_no_other_object() {
    let output = Decision { updated_output: Some(json!("hidden")), ..Decision::default() };
    let after = |tool: &str, response: Value| {
        let data = json!({ "tool_name": tool, "tool_input": {}, "tool_response": response });
        let line = reply_to(&Event::named("tool:post_execute", data).unwrap(), &output).stdout;
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let printed = json!({ "stdout": "token", "stderr": "also", "interrupted": false,
        "isImage": false, "noOutputExpected": false });
    assert_eq!(
        after("Bash", printed)["hookSpecificOutput"]["updatedToolOutput"],
        json!({ "stdout": "hidden", "stderr": "", "interrupted": false, "isImage": false,
            "noOutputExpected": false })
    );
    assert_eq!(
        after("Read", json!({ "type": "text", "file": {} })),
        json!({ "systemMessage": "PostToolUse: the output of Read is an object, which a string cannot replace, so it \
            was not changed; make `updatedOutput` an object like `tool_response`" })
    );
    for response in [json!("text"), json!([{ "type": "text", "text": "x" }]), Value::Null] {
        let said = after("mcp__probe__poke", response);
        assert_eq!(said["hookSpecificOutput"]["updatedToolOutput"], json!("hidden"));
    }
}
