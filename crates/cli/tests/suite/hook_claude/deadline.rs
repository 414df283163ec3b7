//! A call ends before Claude Code stops waiting.

use super::{call_with, denied, nothing, sent, told, trusted};
use crate::interrupts::{self, until};
use crate::support::{Ran, Sandbox};

/// A hook that writes its id and never ends.
fn endless(event: &str, more: &str) -> Sandbox {
    trusted(&format!("hooks: {{{event}: [{{id: a, command: 'echo $$ > pid; {more} sleep 600'}}]}}"))
}

fn call(sandbox: &Sandbox, event: &str) -> Ran {
    call_with(sandbox, &["--deadline", "2"], sent(event).to_string().as_bytes())
}

/// The possible replies. They name the hook only if it could be killed before the answer was due,
/// which may take longer on a busy machine.
fn late(say: fn(&str) -> Ran) -> [Ran; 2] {
    ["hook a", "its hooks"].map(|who| {
        say(&format!(
            "{who} had not answered after 1.4 s, shortly before \
             Claude Code would have continued without an answer"
        ))
    })
}

/// Whether the hook has ended, if it got far enough to write its id.
fn is_gone(sandbox: &Sandbox) -> bool {
    let pid = std::fs::read_to_string(sandbox.path("pid")).unwrap_or_default();
    pid.trim().is_empty() || interrupts::is_gone(pid.trim())
}

#[test]
fn a_guard_that_has_not_answered_is_ended_and_blocks() {
    let sandbox = endless("tool:pre_execute", "");
    let ran = call(&sandbox, "PreToolUse");
    assert!(late(denied).contains(&ran), "{ran:?}");
    until("it is gone", || is_gone(&sandbox));
}

#[test]
fn elsewhere_the_user_is_told_and_no_stop_is_blocked() {
    for (event, claudes) in [("tool:post_execute", "PostToolUse"), ("session:stop", "Stop")] {
        let ran = call(&endless(event, ""), claudes);
        assert!(late(told).contains(&ran), "{event}: {ran:?}");
    }
}

#[test]
fn a_guard_that_does_not_want_to_end_is_killed() {
    let sandbox = endless("tool:pre_execute", "trap \"\" TERM;");
    let ran = call(&sandbox, "PreToolUse");
    assert!(late(denied).contains(&ran), "{ran:?}");
    until("it is gone", || is_gone(&sandbox));
}

#[test]
fn what_turned_itself_into_a_background_hook_has_decided_nothing_and_blocks_nothing() {
    // A busy machine needs longer until the hook has written its id.
    for deadline in (0..6).map(|doubled| (2 << doubled).to_string()) {
        let more = "echo \"{\\\"async\\\": true, \\\"asyncTimeout\\\": 600}\"; touch said;";
        let sandbox = endless("tool:pre_execute", more);
        let event = sent("PreToolUse").to_string();
        let ran = call_with(&sandbox, &["--deadline", &deadline], event.as_bytes());
        until("it is gone", || is_gone(&sandbox));
        if sandbox.path("said").exists() {
            return assert_eq!(ran, nothing());
        }
    }
    panic!("the hook never came so far as to say so");
}
