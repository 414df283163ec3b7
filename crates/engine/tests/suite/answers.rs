use hookwright_events::{Status, Verdict};
use serde_json::json;

use crate::support::{Host, block, only, proceed};

#[tokio::test]
async fn exit_code_2_blocks_the_tool_call_and_gives_stderr_as_the_reason() {
    let host = Host::new(
        "hooks: {tool:pre_execute: [{command: \"echo 'sudo is not allowed here' >&2; exit 2\"}]}",
    );
    let fired = host.fire("tool:pre_execute", json!({ "tool_name": "bash" })).await;
    assert_eq!(fired.decision.verdict, block("sudo is not allowed here"));
    assert_eq!(fired.reports[0].exit_code, Some(2));
    assert_eq!(fired.reports[0].stderr, "sudo is not allowed here\n");
}

// Conformance: claude-code-004
#[tokio::test]
async fn every_field_of_an_answer_reaches_the_decision() {
    let host = Host::new(
        r#"
hooks:
  PreToolUse:
    - command: |
        echo '{"decision": "allow", "reason": "fine", "systemMessage": "to the user",
               "additionalContext": "to the agent", "updatedInput": {"command": "ls"},
               "updatedOutput": "new", "suppressOutput": true}'
"#,
    );
    let fired = host.fire("PreToolUse", json!({ "tool_name": "bash" })).await;
    let record = fired.record();
    assert_eq!(record["decision"], "allow");
    assert_eq!(record["reason"], "fine");
    assert_eq!(record["system_messages"], json!(["to the user"]));
    assert_eq!(record["additional_context"], json!(["to the agent"]));
    assert_eq!(record["updated_input"], json!({ "command": "ls" }));
    assert_eq!(record["updated_output"], "new");
    assert_eq!(record["suppress_output"], true);
    assert_eq!(record["hooks"][0]["stdout"], "");
}

// Conformance: claude-code-010
#[tokio::test]
async fn a_script_written_for_claude_code_works_unchanged() {
    let host = Host::new("hooks: {PreToolUse: [{command: bash guard.sh, matcher: Bash}]}");
    host.write(
        "guard.sh",
        r#"INPUT=$(cat)
case "$INPUT" in *'"hook_event_name":"PreToolUse"'*'"tool_name":"Bash"'*) ;; *) exit 1;; esac
echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not today"}}'
"#,
    );
    let fired = host.fire("PreToolUse", json!({ "tool_name": "Bash", "tool_input": {} })).await;
    assert_eq!(fired.decision.verdict, block("not today"));
}

#[tokio::test]
async fn no_deny_gets_lost_in_a_log_and_no_log_grants_anything() {
    let host = Host::new(
        r#"
hooks:
  tool:pre_execute:a: [{command: "echo checking; echo '{\"decision\":\"deny\",\"reason\":\"no\"}'; echo done"}]
  tool:pre_execute:b: [{command: "echo checking; echo '{\"decision\":\"allow\"}'"}]
"#,
    );
    let denied = host.fire("tool:pre_execute", json!({ "tool_name": "a" })).await;
    assert_eq!(denied.decision.verdict, block("no"));
    let granted = host.fire("tool:pre_execute", json!({ "tool_name": "b" })).await;
    assert_eq!(granted.decision.verdict, proceed());
}

#[tokio::test]
async fn continue_false_ends_the_session_with_its_reason() {
    let host = Host::new(
        r#"hooks: {iteration:complete: [{await: true, command: "echo '{\"continue\": false, \"stopReason\": \"enough\"}'"}]}"#,
    );
    let fired = host.fire("iteration:complete", json!({})).await;
    assert_eq!(fired.decision.verdict, Verdict::Stop { reason: "enough".into() });
}

// Conformance: claude-code-023, claude-code-024
#[tokio::test]
async fn a_hook_that_goes_async_continues_in_the_background_and_is_not_started_twice() {
    let host = Host::new(
        r#"
hooks:
  tool:pre_execute:
    - command: |
        echo started >> starts
        echo '{"async": true}'
        until [ -e go ]; do sleep 0.01; done
        echo '{"additionalContext": "late news", "decision": "deny"}'
"#,
    );
    let fired = host.fire("tool:pre_execute", json!({ "session": "s" })).await;
    assert_eq!(fired.decision.verdict, proceed());
    assert_eq!(only(&fired).0, Status::Started);
    assert_eq!(host.engine.in_background(), ["hookwright/tool:pre_execute#0"]);
    host.write("go", "");
    host.engine.settle().await;
    assert_eq!(host.read("starts"), "started\n");
    assert!(host.engine.in_background().is_empty());
    // The next event of that session gets the answer; it decides nothing.
    let next = host.fire("session:message", json!({ "session": "s" })).await;
    assert_eq!(next.decision.additional_context, ["late news"]);
    assert_eq!(next.decision.verdict, proceed());
    let after = host.fire("session:message", json!({ "session": "s" })).await;
    assert!(after.decision.additional_context.is_empty());
}

#[tokio::test]
async fn an_async_command_continues_for_the_time_that_it_requested() {
    let host = Host::new(
        r#"hooks: {Stop: [{command: "echo '{\"async\": true, \"asyncTimeout\": 0.05}'; exec sleep 1000"}]}"#,
    );
    let fired = host.fire("Stop", json!({})).await;
    assert_eq!(only(&fired).0, Status::Started);
    host.engine.settle().await;
}

#[tokio::test]
async fn an_incomplete_or_longer_line_does_not_send_a_guard_to_the_background() {
    for line in [
        r#"printf '{"async":true}'; sleep 0.1; echo '{"decision":"deny"}'; exit 2"#,
        r#"echo '{"async":true,"command":"sudo"}'; exit 2"#,
    ] {
        let hooks = serde_json::json!({ "hooks": { "tool:pre_execute": [{ "command": line }] } });
        let fired = Host::new(&hooks.to_string()).fire("tool:pre_execute", json!({})).await;
        assert_eq!(fired.record()["decision"], "block", "{line}");
    }
}

#[tokio::test]
async fn piped_output_states_what_failed_and_how() {
    let host = Host::new(
        "hooks:
  iteration:complete:
    - {command: echo all good, pipe_output: true}
    - {command: 'echo 2 tests failed; echo see above >&2; exit 1', pipe_output: true, id: tests}
",
    );
    let fired = host.fire("iteration:complete", json!({})).await;
    assert_eq!(
        fired.decision.piped_output,
        "all good\n[hook tests: failed (exit code 1: see above)]\n2 tests failed\nsee above\n"
    );
}

#[tokio::test]
async fn without_an_approver_ask_is_deny() {
    let host = Host::new(
        r#"hooks: {PreToolUse: [{command: "echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'"}]}"#,
    );
    let event = crate::support::event("PreToolUse", json!({ "tool_name": "bash" }));
    let firing = hookwright_engine::Firing { no_approver: true, ..Default::default() };
    let fired = host.engine.fire(event, firing).await;
    assert_eq!(fired.decision.verdict, block("cannot ask a person: sure?"));
}

#[tokio::test]
async fn a_deny_that_may_be_lost_in_too_much_output_does_not_pass() {
    let host = Host::new(
        "hooks: {tool:pre_execute: [{command: 'yes log | head -c 700000; echo; echo ''{\"decision\":\"deny\"}''; yes log | head -c 700000'}]}",
    );
    let fired = host.fire("tool:pre_execute", json!({})).await;
    let (status, reason) = only(&fired);
    assert_eq!(status, Status::Failed);
    assert!(reason.contains("an answer in it may be lost"), "{reason}");
    assert_eq!(fired.record()["decision"], "block");
}

#[tokio::test]
async fn a_command_that_its_shell_cannot_read_blocks_nothing_on_purpose() {
    for shell in ["bash", "sh"] {
        let hooks = format!("hooks: {{Stop: [{{command: 'if [', shell: {shell}}}]}}");
        let fired = Host::new(&hooks).fire("Stop", json!({})).await;
        let (status, reason) = only(&fired);
        assert_eq!(status, Status::Failed, "{shell}");
        assert!(reason.contains("syntax error"), "{reason}");
        assert_eq!(fired.decision.verdict, proceed(), "a broken hook must not trap an agent");
        // A block because of a syntax error in another file is deliberate.
        let hooks = format!(
            "hooks: {{Stop: [{{command: 'echo \"x.sh: line 1: syntax error\" >&2; exit 2', shell: {shell}}}]}}"
        );
        let fired = Host::new(&hooks).fire("Stop", json!({})).await;
        assert_eq!(only(&fired).0, Status::Blocked, "{shell}");
    }
}

#[tokio::test]
async fn a_command_that_begins_with_a_dash_is_not_read_as_an_option_of_the_shell() {
    let host = Host::new("hooks: {Stop: [{command: '-x'}]}");
    let fired = host.fire("Stop", json!({})).await;
    assert!(only(&fired).1.contains("127"), "{fired:?}");
}

#[tokio::test]
async fn a_child_that_floods_the_output_after_its_leader_delays_nothing() {
    let host =
        Host::new("hooks: {tool:pre_execute: [{command: '(timeout 60 yes \"{\" &) ; exit 0'}]}");
    let fired = tokio::time::timeout(
        std::time::Duration::from_secs(40),
        host.fire("tool:pre_execute", json!({})),
    )
    .await
    .expect("it waits two seconds, not for the child");
    assert_eq!(fired.record()["decision"], "block");
    // Its output is no longer read, so it ends by itself.
}
