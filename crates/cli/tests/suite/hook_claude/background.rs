//! Background hooks run in a separate process, and the reply does not wait for them.

use std::path::Path;

use serde_json::{Value, json};

use super::{call, denied, nothing, reply, sent, trusted};
use crate::interrupts::{is_gone, until};
use crate::support::Sandbox;

/// A command that continues once a file exists, and ends soon after its test in any case.
fn wait_for(file: &str) -> String {
    format!("for i in $(seq 600); do [ -e {file} ] && break; sleep 0.1; done")
}

fn read(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path(name)).unwrap_or_default()
}

/// Waits for the text of a file that a hook writes.
fn written(sandbox: &Sandbox, name: &str) -> String {
    until(&format!("{name} is written"), || read(sandbox, name).ends_with('\n'));
    read(sandbox, name)
}

#[test]
fn the_reply_comes_while_they_run_and_they_run_to_their_end() {
    let sandbox = trusted(&format!(
        "hooks: {{session:start: [{{command: 'cat > input; echo begun > begun; {}; echo done > done'}}]}}",
        wait_for("go")
    ));
    // All pipes of the call are closed when this returns.
    assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
    assert!(!sandbox.path("done").exists());
    assert_eq!(written(&sandbox, "begun"), "begun\n");
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(written(&sandbox, "done"), "done\n");
    let input: Value = serde_json::from_str(&read(&sandbox, "input")).unwrap();
    assert_eq!(input["source"], "startup");
}

#[test]
fn they_have_a_session_of_their_own_and_nothing_of_the_event_on_the_command_line() {
    let sandbox = trusted(&format!(
        "hooks: {{user:prompt_submit: [{{await: false, command: 'echo $PPID > keeper; {}'}}]}}",
        wait_for("go")
    ));
    let mut event = sent("UserPromptSubmit");
    event["prompt"] = json!("the secret plan");
    assert_eq!(call(&sandbox, &event), nothing());
    let keeper = written(&sandbox, "keeper");
    let process = Path::new("/proc").join(keeper.trim());
    let command = std::fs::read(process.join("cmdline")).unwrap();
    assert_eq!(String::from_utf8_lossy(&command), "hookwright\0hook\0--detached\0");
    let stat = std::fs::read_to_string(process.join("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // After the name: state, parent, group, session.
    assert_eq!((fields[2], fields[3]), (keeper.trim(), keeper.trim()));
    for stream in ["1", "2"] {
        let target = std::fs::read_link(process.join("fd").join(stream)).unwrap();
        assert_eq!(target, Path::new("/dev/null"));
    }
    std::fs::write(sandbox.path("go"), "").unwrap();
    until("it ends", || is_gone(keeper.trim()));
}

#[test]
fn what_they_have_to_say_reaches_the_sessions_next_event_once() {
    let answer = r#"{\"additionalContext\":\"tests fail\",\"systemMessage\":\"look\"}"#;
    let sandbox = trusted(&format!("hooks: {{session:start: [{{command: \"echo '{answer}'\"}}]}}"));
    assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
    let folder = sandbox.path("../.local/state/hookwright/agents");
    until("it is kept", || {
        let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut texts = files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default());
        texts.any(|text| text.contains("tests fail"))
    });
    let mut other = sent("PreToolUse");
    other["session_id"] = json!("another");
    assert_eq!(call(&sandbox, &other), nothing());
    // Claude Code ignores messages at this event.
    assert_eq!(call(&sandbox, &sent("Notification")), nothing());
    assert_eq!(
        call(&sandbox, &sent("PreToolUse")),
        reply(&json!({ "systemMessage": "look", "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "additionalContext": "tests fail" } }))
    );
    assert_eq!(call(&sandbox, &sent("PreToolUse")), nothing());
}

#[test]
fn a_log_sees_what_was_denied() {
    let sandbox = trusted(
        "hooks:\n  tool:pre_execute:\n    - {command: 'echo no >&2; exit 2'}\n    \
         - {await: false, command: 'echo $LAST_HOOK_STATUS ${TOOL_NAME} > log'}\n",
    );
    assert_eq!(call(&sandbox, &sent("PreToolUse")), denied("no"));
    assert_eq!(written(&sandbox, "log"), "failed Bash\n");
}

#[test]
fn they_are_judged_when_the_event_comes_and_tried_again_as_ever() {
    let sandbox = trusted(
        "hooks:\n  session:start:\n    - {when: 'false', command: 'echo > never'}\n    \
         - {once: true, on_failure: retry, retry_delay: 10ms, command: 'echo x >> tries; \
         [ $(wc -l < tries) -eq 3 ] && echo done > done'}\n",
    );
    for _ in 0..2 {
        assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
    }
    assert_eq!(written(&sandbox, "done"), "done\n");
    assert_eq!(read(&sandbox, "tries"), "x\nx\nx\n");
    assert!(!sandbox.path("never").exists());
}

#[test]
fn what_was_trusted_when_the_event_came_is_what_runs() {
    let hooks = |text: &str| {
        format!(
            "hooks:\n  session:start:\n    - {{await: true, command: 'cp hostile.yaml hookwright.yaml'}}\n    \
             - {{command: 'echo {text} > ran'}}\n"
        )
    };
    let sandbox = trusted(&hooks("harmless")).file("hostile.yaml", hooks("hostile"));
    assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
    assert_eq!(written(&sandbox, "ran"), "harmless\n");
}

#[test]
fn hundreds_of_kilobytes_of_event_and_unicode_arrive_whole() {
    let sandbox =
        trusted("hooks: {tool:post_execute: [{await: false, command: 'cat > big; echo > done'}]}");
    let mut event = sent("PostToolUse");
    event["tool_response"]["stdout"] = json!("ä😀'\"\\\n".repeat(40_000));
    assert_eq!(call(&sandbox, &event), nothing());
    written(&sandbox, "done");
    let seen: Value = serde_json::from_str(&read(&sandbox, "big")).unwrap();
    assert_eq!(seen["tool_response"], event["tool_response"]);
}
