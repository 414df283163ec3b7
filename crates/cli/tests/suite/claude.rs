//! Claude Code's settings with `fire`: what only the binary can show.

use serde_json::json;

use crate::support::Sandbox;

fn with_settings(event: &str, command: &str) -> Sandbox {
    let handler = json!({ "type": "command", "command": command });
    let settings = json!({ "hooks": { event: [{ "hooks": [handler] }] } });
    Sandbox::new().file(".claude/settings.json", settings.to_string())
}

#[test]
fn hooks_of_a_session_append_to_one_file_that_is_theirs_alone() {
    let command = "echo 'export A=1' >> \"$CLAUDE_ENV_FILE\"; \
                   stat -c %a \"$CLAUDE_ENV_FILE\" > mode; cat \"$CLAUDE_ENV_FILE\" > seen";
    let sandbox = with_settings("SessionStart", command);
    let fire = |session: &[&str]| {
        let ran = sandbox.run(&[&["fire", "SessionStart"], session].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).expect("written");
        (read("mode"), read("seen"))
    };
    let mine = || "600\n".to_owned();
    let once = "export A=1\n".to_owned();
    assert_eq!(fire(&["--session", "a"]), (mine(), once.clone()));
    assert_eq!(fire(&["--session", "a"]), (mine(), once.repeat(2)));
    assert_eq!(fire(&["--session", "../b"]), (mine(), once.clone()));
    assert_eq!(fire(&[]), (mine(), once.clone()));
    assert_eq!(fire(&[]), (mine(), once));
}

#[test]
fn entries_that_call_this_program_are_passed_over() {
    let page = std::fs::read_to_string(crate::support::repository().join("docs/claude-code.md"));
    let page = page.expect("a page");
    let settings = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    let hooks = "hooks: {tool:pre_execute: [{id: once, command: 'echo x >> ran'}]}";
    let sandbox = Sandbox::with_hooks(hooks)
        .file(".claude/settings.json", settings.expect("the settings to paste"));
    let (code, fired) =
        sandbox.json(&["fire", "PreToolUse", "--data", "{\"tool_name\": \"Bash\"}", "--json"]);
    assert_eq!((code, fired["hooks"].as_array().map(Vec::len)), (0, Some(1)), "{fired}");
    let ran = std::fs::read_to_string(sandbox.path("ran")).expect("written");
    assert_eq!(ran, "x\n");
    let (_, listed) = sandbox.json(&["list", "--json"]);
    assert_eq!(listed["hooks"].as_array().map(Vec::len), Some(1), "{listed}");
    let ran = sandbox.run(&["check", "--strict"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn elsewhere_no_file_is_lent_and_one_that_is_there_is_used() {
    let sandbox = with_settings("Stop", "echo \"${CLAUDE_ENV_FILE-none}\" > seen");
    sandbox.run(&["fire", "Stop"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("seen")).expect("written"), "none\n");
    let sandbox = with_settings("SessionStart", "echo \"$CLAUDE_ENV_FILE\" > seen")
        .set("CLAUDE_ENV_FILE", "/somewhere/env.sh");
    sandbox.run(&["fire", "SessionStart"]);
    let seen = std::fs::read_to_string(sandbox.path("seen")).expect("written");
    assert_eq!(seen, "/somewhere/env.sh\n");
}

#[test]
fn an_entry_that_cannot_be_read_blocks_what_it_would_have_guarded_and_explain_says_so() {
    let settings = json!({ "hooks": { "PreToolUse": [
        { "matcher": "Edit", "hooks": [{ "type": "prompt", "prompt": "ok?" }] },
        { "matcher": "Bash", "hooks": [{ "type": "command", "command": "true" }] },
    ] } });
    let sandbox = Sandbox::new().file(".claude/settings.json", settings.to_string());
    let asked = |tool: &str| {
        let data = json!({ "tool_name": tool, "tool_input": {} }).to_string();
        let fired = sandbox.run(&["fire", "PreToolUse", "--data", &data]);
        let (_, explained) = sandbox.json(&["explain", "PreToolUse", "--data", &data, "--json"]);
        (fired.code, explained["blocked_by"].clone())
    };
    let why = ".claude/settings.json:1:60: `type: prompt` is not available in this version";
    assert_eq!(asked("Edit"), (2, json!([why])));
    assert_eq!(asked("Bash"), (0, json!([])));
}
