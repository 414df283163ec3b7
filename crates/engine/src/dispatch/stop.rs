//! Rules for stop events: hooks may keep a session going, but not forever.
//!
//! A block of a stop is ignored after an interrupt or a failure, and after [`STOP_BLOCKS_MAX`]
//! blocks in a row of the same agent with no work in between. The user is told in both cases.

use hookwright_events::{Decision, Event, EventName, Verdict};

use crate::limits::STOP_BLOCKS_MAX;

/// Whether hooks can block this event: not a stop after an interrupt or a failure.
pub fn can_block(event: &Event) -> bool {
    event.name.power().can_block() && !(is_stop(event) && forced(event).is_some())
}

fn is_stop(event: &Event) -> bool {
    event.name.spec().is_some_and(|spec| spec.is_stop)
}

/// The reason of a stop that hooks cannot block.
fn forced(event: &Event) -> Option<&str> {
    event.text("reason").filter(|reason| matches!(*reason, "interrupted" | "error"))
}

/// Applies the rules to a decision. `blocked_before` counts the blocked stops of this agent in a
/// row. Returns the new count if it changes.
pub(super) fn apply_rules(
    event: &Event,
    decision: &mut Decision,
    blocked_before: u32,
) -> Option<u32> {
    let started_anew = (blocked_before > 0).then_some(0);
    if !is_stop(event) {
        let is_work = event.name.spec().is_some_and(|spec| spec.is_work);
        return started_anew.filter(|_| is_work);
    }
    let Verdict::Block { reason } = &decision.verdict else { return started_anew };
    let ignored = match forced(event) {
        Some(why) => format!("a hook blocked the stop, which is ignored after `{why}`: {reason}"),
        None if blocked_before >= STOP_BLOCKS_MAX => format!(
            "hooks blocked the stop {blocked_before} times in a row with no work in between; {} stops \
             anyway: {reason}",
            if event.name == EventName::AGENT_STOP { "the subagent" } else { "the session" }
        ),
        None => return Some(blocked_before + 1),
    };
    decision.system_messages.push(ignored);
    decision.verdict = Verdict::Proceed { rewritten_input: None };
    started_anew
}
