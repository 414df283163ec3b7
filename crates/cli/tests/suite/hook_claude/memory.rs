//! What a session remembers between calls.

use serde_json::json;

use super::{call, denied, nothing, reply, sent, told, trusted};
use crate::support::Sandbox;

fn lines(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_stop_is_blocked_eight_times_in_a_row_and_work_begins_the_count_anew() {
    let sandbox = trusted("hooks: {session:stop: [{command: 'echo more >&2; exit 2'}]}");
    let mut stop = sent("Stop");
    let block = reply(&json!({ "decision": "block", "reason": "more" }));
    for round in 0..2 {
        for number in 0..8 {
            assert_eq!(call(&sandbox, &stop), block, "{round} {number}");
            stop["stop_hook_active"] = json!(true);
        }
        if round == 0 {
            assert_eq!(call(&sandbox, &sent("PostToolUse")), nothing());
        }
    }
    let message = "hooks blocked the stop 8 times in a row with no work in between; the session stops anyway: more";
    assert_eq!(call(&sandbox, &stop), told(message));
    assert_eq!(call(&sandbox, &stop), block);
}

#[test]
fn blocked_stops_are_counted_for_each_subagent() {
    let sandbox = trusted("hooks: {agent:stop: [{command: 'echo more >&2; exit 2'}]}");
    let block = reply(&json!({ "decision": "block", "reason": "more" }));
    let of_agent = |event: &str, agent: &str| {
        let mut event = sent(event);
        event["agent_id"] = json!(agent);
        event
    };
    for agent in 0..11 {
        let stop = of_agent("SubagentStop", &format!("agent-{agent}"));
        assert_eq!(call(&sandbox, &stop), block, "{agent}");
    }
    // Another agent's calls do not count for this one.
    for time in 1..8 {
        assert_eq!(call(&sandbox, &of_agent("PostToolUse", "agent-1")), nothing());
        assert_eq!(call(&sandbox, &of_agent("SubagentStop", "agent-0")), block, "{time}");
    }
    let message = "hooks blocked the stop 8 times in a row with no work in between; the subagent stops anyway: more";
    assert_eq!(call(&sandbox, &of_agent("SubagentStop", "agent-0")), told(message));
    assert_eq!(call(&sandbox, &of_agent("SubagentStop", "agent-2")), block);
}

#[test]
fn once_is_once_in_a_session() {
    let sandbox = trusted(
        "hooks:\n  tool:pre_execute: [{once: true, command: 'echo x >> awaited'}]\n  \
         session:stop: [{once: true, command: 'exit 2'}]\n",
    );
    let mut event = sent("PreToolUse");
    for session in ["a", "a", "b", "a", "b"] {
        event["session_id"] = json!(session);
        assert_eq!(call(&sandbox, &event), nothing());
    }
    assert_eq!(lines(&sandbox, "awaited").len(), 2);
}

#[test]
fn how_the_last_hook_ended_is_known_to_the_next_event_of_the_session() {
    let sandbox = trusted(
        "hooks:\n  tool:pre_execute: [{command: 'echo \"[$LAST_HOOK_STATUS]\" >> seen; exit 2'}]\n  \
         tool:post_execute: [{command: 'echo \"[$LAST_HOOK_STATUS]\" >> seen'}]\n",
    );
    let no = denied("exit 2 without a message");
    assert_eq!(call(&sandbox, &sent("PreToolUse")), no);
    assert_eq!(call(&sandbox, &sent("PostToolUse")), nothing());
    assert_eq!(call(&sandbox, &sent("PreToolUse")), no);
    let mut other = sent("PreToolUse");
    other["session_id"] = json!("another");
    assert_eq!(call(&sandbox, &other), no);
    assert_eq!(lines(&sandbox, "seen"), ["[]", "[failed]", "[success]", "[]"]);
}

#[test]
fn nothing_is_written_while_there_is_nothing_new() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'true'}]}");
    assert_eq!(call(&sandbox, &sent("PreToolUse")), nothing());
    let folder = sandbox.path("../.local/state/hookwright/agents");
    let written = || {
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = files
            .map(|file| (file.file_name(), file.metadata().unwrap().modified().unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = written();
    assert_eq!(call(&sandbox, &sent("PreToolUse")), nothing());
    assert_eq!(written(), before);
    assert_eq!(before.len(), 2);
    let state = std::fs::read_dir(sandbox.path("../.local/state/hookwright")).unwrap();
    let mut names: Vec<_> = state.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["agents", "traces", "trust", "trust.lock"], "no store is opened");
}

#[test]
fn a_state_folder_that_cannot_be_written_keeps_no_hook_from_deciding() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{once: true, command: 'exit 2'}]}");
    let folder = sandbox.path("../.local/state/hookwright/agents");
    std::fs::write(&folder, "no folder").unwrap();
    for _ in 0..2 {
        assert_eq!(call(&sandbox, &sent("PreToolUse")), denied("exit 2 without a message"));
    }
}
