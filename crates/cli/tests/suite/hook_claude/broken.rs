//! Broken, unreadable and untrusted files: they block where they can, and the message says what to
//! do.

use serde_json::{Value, json};

use super::{call, call_with, denied, nothing, reply, sent, told, trust, trusted};
use crate::support::{Ran, Sandbox};

const GUARD: &str = "hooks: {tool:pre_execute: [{command: 'touch ran'}]}";

/// The absolute path of the project's file.
fn file(sandbox: &Sandbox) -> String {
    let folder = sandbox.path(".").canonicalize().unwrap();
    folder.join("hookwright.yaml").display().to_string()
}

fn in_session(mut event: Value, session: &str) -> Value {
    event["session_id"] = json!(session);
    event
}

fn not_trusted(sandbox: &Sandbox, how: &str) -> String {
    let file = file(sandbox);
    format!(
        "the hook file {file} {how}, so its hooks do not run; \
         to review and trust it, run in a terminal: hookwright trust {file}"
    )
}

#[test]
fn an_untrusted_file_does_not_run_and_blocks() {
    let sandbox = Sandbox::with_hooks(GUARD);
    let reason = not_trusted(&sandbox, "is not trusted");
    assert_eq!(call(&sandbox, &sent("PreToolUse")), denied(&reason));
    assert_eq!(
        call(&sandbox, &sent("UserPromptSubmit")),
        reply(&json!({ "decision": "block", "reason": reason }))
    );
    assert!(!sandbox.path("ran").exists());
    assert_eq!(call(&trust(sandbox), &sent("PreToolUse")), nothing());
}

#[test]
fn a_file_that_has_changed_has_to_be_trusted_again_also_if_its_guard_is_gone() {
    let sandbox = trusted(GUARD).file("hookwright.yaml", "hooks: {}");
    let reason = not_trusted(&sandbox, "has changed since it was trusted");
    assert_eq!(call(&sandbox, &sent("PreToolUse")), denied(&reason));
    let sandbox = sandbox.file("hookwright.yaml", GUARD);
    assert_eq!(call(&sandbox, &sent("PreToolUse")), nothing());
}

#[test]
fn where_nothing_can_be_blocked_the_user_is_told_once_in_a_session() {
    let sandbox = Sandbox::with_hooks(GUARD);
    let reason = not_trusted(&sandbox, "is not trusted");
    // Claude Code ignores messages at this event, so the notice does not count as shown.
    assert_eq!(call(&sandbox, &sent("SessionEnd")), nothing());
    assert_eq!(call(&sandbox, &sent("SessionStart")), told(&reason));
    assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
    let other = in_session(sent("SessionStart"), "another");
    assert_eq!(call(&sandbox, &other), told(&reason));
    // An agent that cannot fix it is not kept going; the notice was shown already.
    assert_eq!(call(&sandbox, &sent("Stop")), nothing());
}

#[test]
fn the_users_own_guards_still_run_beside_a_file_that_is_not_trusted() {
    let sandbox =
        trust(Sandbox::new().global("hooks: {'*': [{await: true, command: 'touch ran'}]}"))
            .file("hookwright.yaml", "hooks: {'*': [{command: 'touch hostile'}]}");
    let reason = not_trusted(&sandbox, "is not trusted");
    assert_eq!(call(&sandbox, &sent("PreToolUse")), denied(&reason));
    assert!(sandbox.path("ran").exists() && !sandbox.path("hostile").exists());
}

#[test]
fn a_trust_file_that_others_can_write_means_that_nothing_is_trusted() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = trusted(GUARD);
    let path = sandbox.path("../.local/state/hookwright/trust").canonicalize().unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(
        call(&sandbox, &sent("PreToolUse")),
        denied(&format!(
            "{}: others can write the trust file (mode 666, expected 600), so nothing is trusted (they may have changed it: remove it, then trust \
             your files again: `hookwright trust`)",
            path.display()
        ))
    );
}

#[test]
fn an_entry_that_cannot_be_read_blocks_the_events_that_it_would_have_woken() {
    let sandbox = trusted("hooks:\n  tool:pre_execute:bash:\n    - comand: x\n");
    let Ran { code, stdout, stderr } = call(&sandbox, &sent("PreToolUse"));
    let said: Value = serde_json::from_str(&stdout).unwrap();
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    let start =
        "a hook cannot be read, so the event is blocked: hookwright.yaml:3:7: unknown key `comand`";
    assert!(reason.starts_with(start), "{reason}");
    assert_eq!((code, stderr.as_str()), (0, ""));
    let mut other = sent("PreToolUse");
    other["tool_name"] = json!("Read");
    assert_eq!(call(&sandbox, &other), nothing());
    assert_eq!(call(&sandbox, &sent("UserPromptSubmit")), nothing());
    assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
}

#[test]
fn a_file_that_cannot_be_read_blocks_every_event_and_elsewhere_the_user_is_told_once() {
    let sandbox = trusted("hooks: [");
    let reason = |ran: Ran| -> String {
        let said: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        said["reason"].as_str().or(said["systemMessage"].as_str()).unwrap().to_owned()
    };
    let start = "a hook cannot be read, so the event is blocked: hookwright.yaml:";
    for event in ["UserPromptSubmit", "PreCompact", "TaskCreated"] {
        let reason = reason(call(&sandbox, &sent(event)));
        assert!(reason.starts_with(start), "{reason}");
    }
    let message = reason(call(&sandbox, &sent("SessionStart")));
    let start = "a hook cannot be read and does not run: hookwright.yaml:";
    assert!(message.starts_with(start), "{message}");
    assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
}

#[test]
fn two_files_of_which_only_one_can_be_meant_block_and_are_named() {
    let sandbox = trusted(GUARD).file("hookwright.json", "{}");
    assert_eq!(
        call(&sandbox, &sent("PreToolUse")),
        denied(
            "no hook could run: ~/project: expected one configuration in this folder but found \
             `hookwright.yaml` and `hookwright.json` (move everything into `hookwright.yaml` and remove \
             the others, or name one file with `--config`)"
        )
    );
}

#[test]
fn a_guard_that_fails_blocks_and_an_observer_that_fails_is_told() {
    let sandbox = trusted(
        "hooks:\n  tool:pre_execute: [{id: a, command: 'exit 1'}]\n  \
         tool:post_execute: [{id: b, command: 'echo oh >&2; exit 1'}]\n",
    );
    assert_eq!(
        call(&sandbox, &sent("PreToolUse")),
        denied("hook a failed (exit code 1); make it exit with 0, or set on_failure: continue")
    );
    assert_eq!(call(&sandbox, &sent("PostToolUse")), told("hook b failed: exit code 1: oh"));
}

#[test]
fn what_is_no_event_blocks_and_says_what_was_expected() {
    let sandbox = trusted(GUARD);
    let help = "help: Claude Code calls `hookwright hook`; to try hooks \
                yourself: `hookwright fire EVENT --data JSON`\n";
    for (text, cause) in [
        ("", "expected a JSON object: EOF while parsing a value at line 1 column 0"),
        (
            "[1]",
            "expected a JSON object: invalid type: sequence, expected a map at line \
             1 column 0",
        ),
        ("{}", "missing `hook_event_name`"),
        ("{\"hook_event_name\":\"no such\"}", "`no such` is not a valid event name"),
    ] {
        let said = format!(
            "error: expected an event of Claude Code but found none: {cause}\n \
             --> standard input\n{help}"
        );
        assert_eq!(call_with(&sandbox, &[], text.as_bytes()), Ran::new(2, "", &said), "{text}");
    }
}

#[test]
fn an_event_that_lacks_what_guards_look_at_blocks_and_elsewhere_is_told() {
    let sandbox = trusted(GUARD);
    let mut event = sent("PreToolUse");
    event.as_object_mut().unwrap().remove("tool_input");
    assert_eq!(
        call(&sandbox, &event),
        denied(
            "the event PreToolUse cannot be read: missing \
             field `tool_input`, so no hook could check it"
        )
    );
    let mut event = sent("SessionStart");
    event["source"] = json!(7);
    let Ran { code, stdout, .. } = call(&sandbox, &event);
    assert_eq!(code, 0);
    assert!(stdout.starts_with("{\"systemMessage\":\"the event SessionStart cannot be read: "));
}
