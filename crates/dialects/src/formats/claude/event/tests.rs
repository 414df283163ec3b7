//! Rules of `event.rs`.

use hookwright_events::table::OPEN_EVENTS;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use super::*;

/// Recorded input of Claude Code: an event's name, a tab, its JSON.
const SENT: &str = include_str!("../../../../tests/payloads/claude_code.tsv");

fn sent() -> impl Iterator<Item = (&'static str, &'static str)> {
    SENT.lines().map(|line| line.split_once('\t').expect("name and JSON"))
}

fn event(name: &str, data: Value) -> Event {
    Event::named(name, data).expect("an event")
}

fn is_typed(input: &HookInput) -> bool {
    !matches!(input, HookInput::Other(_))
}

// Conformance: claude-code-003
#[test]
fn recorded_events_are_written_back_byte_for_byte() {
    let mut seen = Vec::new();
    for (name, line) in sent() {
        let input = HookInput::parse(line).unwrap();
        assert!(is_typed(&input), "{name}");
        assert_eq!(input.base().hook_event_name, name);
        assert_eq!(input.to_line(), format!("{line}\n"));
        let event = input.clone().into_event();
        assert_eq!(event.name.hook_event_name(), name);
        assert_eq!(HookInput::of_event(&event, "/elsewhere"), input);
        seen.push(name);
    }
    let all = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop"];
    assert_eq!(seen, [&all[..], &["SessionEnd"]].concat());
}

/// Every typed event with all possible fields, in Claude Code's order.
fn whole() -> Vec<Value> {
    let base = json!({
        "session_id": "s", "transcript_path": "/t", "cwd": "/p", "prompt_id": "id",
        "permission_mode": "acceptEdits", "agent_id": "a", "agent_type": "reviewer",
        "effort": { "level": "high" },
    });
    let server = json!({ "name": "github", "source": "project" });
    let tasks = json!([{ "id": "1", "type": "shell", "status": "running", "description": "d",
        "command": "sleep 5" }]);
    let crons = json!([{ "id": "1", "schedule": "* * * * *", "recurring": true, "prompt": "p" }]);
    let rules = json!([
        { "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "git *" },
            { "toolName": "Read" }], "behavior": "allow", "destination": "localSettings" },
        { "type": "replaceRules", "rules": [], "behavior": "deny", "destination": "userSettings" },
        { "type": "removeRules", "rules": [], "behavior": "ask", "destination": "cliArg" },
        { "type": "setMode", "mode": "dontAsk", "destination": "projectSettings" },
        { "type": "removeDirectories", "directories": ["/x"], "destination": "session" },
        { "type": "brandNew", "x": 1 },
    ]);
    let own = [
        (
            "PreToolUse",
            json!({ "tool_name": "mcp__github__x", "tool_input": { "b": 1, "a": 2 },
            "tool_use_id": "u", "mcp_server": server }),
        ),
        (
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_input": {}, "tool_response": "out",
            "tool_use_id": "u", "duration_ms": 12, "mcp_server": server }),
        ),
        (
            "PostToolUseFailure",
            json!({ "tool_name": "Bash", "tool_input": {}, "tool_use_id": "u",
            "error": "no", "is_interrupt": true, "duration_ms": 1.5, "mcp_server": server }),
        ),
        (
            "Notification",
            json!({ "message": "m", "title": "t",
            "notification_type": "idle_prompt" }),
        ),
        (
            "UserPromptSubmit",
            json!({ "prompt": "p", "session_title": "t",
            "source": "loop_wakeup" }),
        ),
        ("SessionEnd", json!({ "reason": "prompt_input_exit" })),
        (
            "Stop",
            json!({ "stop_hook_active": true, "last_assistant_message": "m",
            "background_tasks": tasks, "session_crons": crons }),
        ),
        ("PreCompact", json!({ "trigger": "manual", "custom_instructions": null })),
        (
            "PermissionRequest",
            json!({ "tool_name": "Bash", "tool_input": {},
            "permission_suggestions": rules, "mcp_server": server }),
        ),
        ("Setup", json!({ "trigger": "maintenance" })),
        ("TeammateIdle", json!({ "teammate_name": "n", "team_name": "t" })),
        (
            "TaskCompleted",
            json!({ "task_id": "1", "task_subject": "s", "task_description": "d",
            "teammate_name": "n", "team_name": "t" }),
        ),
    ];
    let mut all: Vec<Value> = own.into_iter().map(|(name, own)| joined(&base, name, own)).collect();
    // Here the agent's fields belong to the event itself.
    let mut short = base;
    for name in ["agent_id", "agent_type"] {
        short.as_object_mut().unwrap().shift_remove(name);
    }
    let agents = [
        (
            "SessionStart",
            json!({ "source": "resume", "agent_type": "x", "model": "opus",
            "session_title": "t", "context_tokens": 5 }),
        ),
        ("SubagentStart", json!({ "agent_id": "a", "agent_type": "x" })),
        (
            "SubagentStop",
            json!({ "stop_hook_active": false, "agent_id": "a",
            "agent_transcript_path": "/a", "agent_type": "", "last_assistant_message": "m",
            "background_tasks": [], "session_crons": [] }),
        ),
    ];
    all.extend(agents.into_iter().map(|(name, own)| joined(&short, name, own)));
    all
}

fn joined(base: &Value, name: &str, own: Value) -> Value {
    let mut fields = base.as_object().unwrap().clone();
    fields.insert(NAME.into(), name.into());
    fields.extend(own.as_object().unwrap().clone());
    fields.insert("brand_new".into(), json!({ "z": 1, "a": [null] }));
    Value::Object(fields)
}

// Conformance: claude-code-001, claude-code-002
#[test]
fn all_fifteen_events_are_typed_both_ways_with_every_field_and_in_order() {
    let all = whole();
    assert_eq!(all.len(), 15);
    for fields in all {
        let line = format!("{fields}\n");
        let input = HookInput::parse(&line).unwrap();
        assert!(is_typed(&input), "{line}");
        assert_eq!(input.to_line(), line);
        assert_eq!(HookInput::of_event(&input.clone().into_event(), "/elsewhere"), input);
    }
}

/// Fields that may be missing, because other agents that send Claude Code's events leave them out.
const OPTIONAL: &[&str] = &[
    "session_id",
    "transcript_path",
    "cwd",
    "tool_use_id",
    "tool_response",
    "agent_transcript_path",
];

/// The fields that Claude Code always sends with each event, beside the common ones.
const REQUIRED: &[(&str, &[&str])] = &[
    ("PreToolUse", &["tool_name", "tool_input", "tool_use_id"]),
    ("PostToolUse", &["tool_name", "tool_input", "tool_response", "tool_use_id"]),
    ("PostToolUseFailure", &["tool_name", "tool_input", "tool_use_id", "error"]),
    ("Notification", &["message", "notification_type"]),
    ("UserPromptSubmit", &["prompt"]),
    ("SessionStart", &["source"]),
    ("SessionEnd", &["reason"]),
    ("Stop", &["stop_hook_active"]),
    ("SubagentStart", &["agent_id", "agent_type"]),
    ("SubagentStop", &["stop_hook_active", "agent_id", "agent_transcript_path", "agent_type"]),
    ("PreCompact", &["trigger", "custom_instructions"]),
    ("PermissionRequest", &["tool_name", "tool_input"]),
    ("Setup", &["trigger"]),
    ("TeammateIdle", &["teammate_name", "team_name"]),
    ("TaskCompleted", &["task_id", "task_subject"]),
];

// Conformance: claude-code-007
#[test]
fn exactly_the_required_fields_are_demanded_and_our_own_events_fill_all_of_them() {
    const COMMON: &[&str] = &["session_id", "transcript_path", "cwd"];
    for (name, required) in REQUIRED {
        let whole = whole().into_iter().find(|fields| fields[NAME] == *name).unwrap();
        for field in whole.as_object().unwrap().keys().filter(|field| *field != NAME) {
            let mut fields = whole.as_object().unwrap().clone();
            fields.shift_remove(field);
            let is_required =
                required.contains(&field.as_str()) && !OPTIONAL.contains(&field.as_str());
            assert_eq!(HookInput::of_fields(fields).is_err(), is_required, "{name}.{field}");
        }
        let input = HookInput::of_event(&event(name, json!({})), "/root");
        assert!(is_typed(&input), "{name} without data");
        let filled: Vec<String> = input.into_fields().keys().cloned().collect();
        assert_eq!(filled, [COMMON, &[NAME], required].concat(), "{name}");
    }
}

#[test]
fn the_other_events_are_carried_with_their_common_fields_typed() {
    for open in OPEN_EVENTS {
        let name = EventName::resolve(open.name).unwrap().hook_event_name().into_owned();
        let line = format!(
            r#"{{"session_id":"s","transcript_path":"/t","cwd":"/p","permission_mode":"plan","hook_event_name":"{name}","x":[1,{{"b":2,"a":1}}]}}"#
        );
        let input = HookInput::parse(&line).unwrap();
        assert_eq!(input.base().permission_mode, Some(base::PermissionMode::Plan));
        assert_eq!(input.to_line(), format!("{line}\n"));
        let event = input.into_event();
        assert_eq!(event.name.as_str(), open.name);
        assert_eq!(HookInput::of_event(&event, "/p").to_line(), format!("{line}\n"));
    }
}

#[test]
fn an_event_that_is_newer_than_this_program_keeps_its_name() {
    for (name, ours) in [("BrandNew", "claude:brand_new"), ("PreMCPCall", "claude:pre_m_c_p_call")]
    {
        let line = format!(
            "{{\"session_id\":\"\",\"transcript_path\":\"\",\"cwd\":\"\",\"{NAME}\":\"{name}\"}}\n"
        );
        let event = HookInput::parse(&line).unwrap().into_event();
        assert_eq!(event.name.as_str(), ours);
        assert_eq!(HookInput::of_event(&event, "").to_line(), line);
    }
}

#[test]
fn an_unknown_event_about_a_tool_that_is_going_to_run_is_a_tool_call() {
    let call = |more: Value| {
        let mut fields = json!({ NAME: "BeforeEverything", "tool_name": "Bash",
            "tool_input": { "command": "ls" } });
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        HookInput::parse(&fields.to_string()).unwrap().into_event()
    };
    let event = call(json!({}));
    assert_eq!(event.name.as_str(), "tool:pre_execute");
    assert_eq!(event.text("hook_event_name"), Some("BeforeEverything"));
    assert_eq!(event.text_at("/tool_input/command"), Some("ls"));
    let told = HookInput::of_event(&event, "/root");
    assert_eq!(told.base().hook_event_name, "PreToolUse");
    for result in ["tool_response", "tool_result", "error"] {
        let after = call(json!({ result: "x" }));
        assert_eq!(after.name.as_str(), "claude:before_everything", "{result}");
    }
    // A known event keeps its meaning.
    let denied = json!({ NAME: "PermissionDenied", "tool_name": "Bash", "tool_input": {} });
    let denied = HookInput::parse(&denied.to_string()).unwrap().into_event();
    assert_eq!(denied.name.as_str(), "claude:permission_denied");
}

#[test]
fn an_event_of_another_agent_is_refused_with_words_that_name_it() {
    for (fields, said, can_block) in [
        (
            json!({ NAME: "BeforeTool", "tool_name": "run_shell_command", "tool_input": {} }),
            "`BeforeTool` is an event of Gemini CLI, not of Claude Code",
            true,
        ),
        (
            json!({ NAME: "AfterAgent", "prompt": "x" }),
            "`AfterAgent` is an event of Gemini CLI, not of Claude Code",
            false,
        ),
        (
            json!({ NAME: "beforeShellExecution", "conversation_id": "c", "generation_id": "g" }),
            "`beforeShellExecution` is an event of Cursor, not of Claude Code",
            true,
        ),
        (
            json!({ "sessionId": "s", "timestamp": 1, "toolName": "bash", "toolArgs": {} }),
            "this is an event of Copilot CLI, not of Claude Code",
            true,
        ),
        (
            json!({ "sessionId": "s", "timestamp": 1, "toolName": "bash", "toolResult": {} }),
            "this is an event of Copilot CLI, not of Claude Code",
            false,
        ),
        (
            json!({ "clineVersion": "", "hookName": "tool_call", "preToolUse": {} }),
            "`tool_call` is an event of Cline, not of Claude Code",
            true,
        ),
    ] {
        match HookInput::parse(&fields.to_string()) {
            Err(InputError::OtherAgent(event)) => {
                assert_eq!((event.to_string().as_str(), event.can_block), (said, can_block));
            }
            other => panic!("{fields}: {other:?}"),
        }
    }
}

#[test]
fn a_file_events_kind_does_not_overwrite_the_name_of_the_event() {
    let line = "{\"session_id\":\"\",\"transcript_path\":\"\",\"cwd\":\"\",\
                \"hook_event_name\":\"FileChanged\",\"file_path\":\"/x\",\"event\":\"unlink\"}\n";
    let event = HookInput::parse(line).unwrap().into_event();
    assert_eq!(event.text("file_event"), Some("unlink"));
    assert_eq!(event.data.get("event"), None);
    assert_eq!(HookInput::of_event(&event, "").to_line(), line);
}

#[test]
fn input_that_is_not_an_event_is_refused_with_the_reason() {
    let long = |name: &str| {
        format!(r#"{{"session_id":"s","transcript_path":"","cwd":"","hook_event_name":"{name}"}}"#)
    };
    for (text, why) in [
        ("", "expected a JSON object: EOF while parsing a value at line 1 column 0"),
        ("[]", "expected a JSON object: invalid type: sequence, expected a map at line 1 column 0"),
        ("{}", "missing `hook_event_name`"),
        (r#"{"hook_event_name":1}"#, "missing `hook_event_name`"),
        (&long("tool:pre_execute"), "`tool:pre_execute` is not a valid event name"),
        (&long(""), "`` is not a valid event name"),
        (&long("PreToolUse"), "the event PreToolUse cannot be read: missing field `tool_name`"),
    ] {
        assert_eq!(HookInput::parse(text).unwrap_err().to_string(), why, "{text}");
    }
    assert!(HookInput::parse("\u{feff}{\"hook_event_name\":\"X\",\"session_id\":\"\",\"transcript_path\":\"\",\"cwd\":\"\"}").is_ok());
}

#[test]
fn one_of_our_events_is_written_in_claude_codes_format() {
    let ours = event(
        "tool:pre_execute",
        json!({ "tool_name": "bash", "tool_input": { "command": "ls" }, "session": "calm-fox",
            "session_dir": "/s", "timestamp": "now", "stage": "plan", "iteration": 3, "custom": 1 }),
    );
    let line = HookInput::of_event(&ours, "/root").to_line();
    assert_eq!(
        line,
        "{\"session_id\":\"calm-fox\",\"transcript_path\":\"\",\"cwd\":\"/root\",\
         \"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\
         \"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"\",\"custom\":1}\n"
    );
}

#[test]
fn tools_are_spelled_as_claude_code_spells_them() {
    for (ours, claudes) in [
        ("bash", "Bash"),
        ("run_shell_command", "Bash"),
        ("read", "Read"),
        ("write_file", "Write"),
        ("apply_patch", "Edit"),
        ("glob", "Glob"),
        ("grep", "Grep"),
        ("task", "Agent"),
        ("Task", "Task"),
        ("Agent", "Agent"),
        ("MultiEdit", "MultiEdit"),
        ("mcp__github__create_issue", "mcp__github__create_issue"),
        ("WebFetch", "WebFetch"),
        ("", ""),
    ] {
        assert_eq!(tool_name::claudes(ours), claudes);
    }
}

// Conformance: claude-code-008
#[test]
fn data_that_do_not_fit_their_types_are_written_anyway() {
    let odd = event("Stop", json!({ "stop_hook_active": "yes", "session_id": 7, "x": 1 }));
    let input = HookInput::of_event(&odd, "/root");
    assert_eq!(
        input.to_line(),
        "{\"session_id\":\"7\",\"transcript_path\":\"\",\"cwd\":\"/root\",\
         \"hook_event_name\":\"Stop\",\"stop_hook_active\":\"yes\",\"x\":1}\n"
    );
    let null = event("Stop", json!({ "cwd": null, "stop_hook_active": 1 }));
    assert_eq!(HookInput::of_event(&null, "/root").base().cwd, "/root");
}

/// Any JSON value, a few levels deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    // Conformance: claude-code-003
    #[test]
    fn any_tool_call_is_written_back_byte_for_byte(
        (session, cwd, tool) in (any::<String>(), any::<String>(), "[A-Z][a-zA-Z_]{0,12}"),
        mode in prop::option::of(any::<String>()),
        (input, response) in (any_json(), any_json()),
        more in prop::collection::vec(("x_[a-z]{1,8}", any_json()), 0..4),
    ) {
        let mut fields = json!({ "session_id": session, "transcript_path": "/t", "cwd": cwd });
        if let Some(mode) = mode {
            fields["permission_mode"] = mode.into();
        }
        fields[NAME] = "PostToolUse".into();
        fields["tool_name"] = tool.into();
        fields["tool_input"] = input;
        fields["tool_response"] = response;
        fields["tool_use_id"] = "u".into();
        for (name, value) in more {
            fields[name] = value;
        }
        let line = format!("{fields}\n");
        let input = HookInput::parse(&line).unwrap();
        prop_assert_eq!(input.to_line(), line);
        let back = HookInput::of_event(&input.clone().into_event(), "/elsewhere");
        prop_assert_eq!(back, input);
    }

    #[test]
    fn reading_never_panics(text in any::<String>(), fields in any_json(), name in "[A-Z][A-Za-z]{0,20}") {
        let _ = HookInput::parse(&text);
        if let Value::Object(mut fields) = fields {
            fields.insert(NAME.into(), name.into());
            if let Ok(input) = HookInput::of_fields(fields) {
                let _ = HookInput::of_event(&input.into_event(), "").to_line();
            }
        }
    }

    #[test]
    fn any_data_are_written_in_one_line(at in 0..REQUIRED.len(), data in any_json()) {
        let Value::Object(data) = data else { return Ok(()) };
        let event = Event::named(REQUIRED[at].0, Value::Object(data)).unwrap();
        let line = HookInput::of_event(&event, "/root").to_line();
        prop_assert_eq!(line.matches('\n').count(), 1);
        prop_assert!(serde_json::from_str::<Map<String, Value>>(&line).is_ok());
    }
}
