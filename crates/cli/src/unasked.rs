//! The rule for hooks that cannot be asked: if there may be a guard, the answer is no.
//!
//! `hook`, `fire`, `task done` and the crash handler use it, and put the answer into their callers'
//! format. A session asks its hooks itself, and has no caller to answer.

use hookwright_engine::can_block;
use hookwright_events::{Decision, Event, Power, Verdict};

use crate::exit_code::{BLOCK, GO_ON, INTERRUPTED, OUR_FAULT};

/// Why the hooks of an event cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// No hook could start: the event or a file is unreadable, a file is untrusted or gone, or the
    /// system refuses what hooks need.
    NotStarted,
    /// Hooks had not answered when the answer was due.
    TooLate,
    /// This program was interrupted before they answered.
    Interrupted,
    /// This program crashed.
    Crashed,
}

/// The recipient of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// An agent that runs our hooks. It cannot fix a broken hook, and must not be kept from ending.
    Agent,
    /// A program or a person who reads the exit code of `fire` or `task done`.
    Caller,
}

/// What happens instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// What the event announces must not happen.
    Refuse,
    /// It happens, and the user is told that no hook ran.
    Tell,
    /// The command fails.
    Fail,
}

/// What happens when the hooks of an event with this power cannot be asked. Hooks might be able to
/// block an unknown event.
pub(crate) fn consequence(power: Option<Power>, why: Unasked, asker: Asker) -> Consequence {
    match (power, asker, why) {
        (None | Some(Power::Blocks), _, _) => Consequence::Refuse,
        (Some(Power::BlocksOnPurpose), Asker::Caller, Unasked::NotStarted | Unasked::Crashed) => {
            Consequence::Refuse
        }
        (_, Asker::Agent, Unasked::NotStarted | Unasked::TooLate) => Consequence::Tell,
        (_, Asker::Agent, Unasked::Interrupted | Unasked::Crashed) | (_, Asker::Caller, _) => {
            Consequence::Fail
        }
    }
}

/// Whether what this event announces must not happen.
pub(crate) fn refuses(event: &Event, why: Unasked, asker: Asker) -> bool {
    consequence(power_at(event), why, asker) == Consequence::Refuse
}

/// The decision instead of the hooks' own.
pub(crate) fn decision(event: &Event, why: Unasked, asker: Asker, reason: String) -> Decision {
    match refuses(event, why, asker) {
        true => Decision { verdict: Verdict::Block { reason }, ..Decision::default() },
        false => Decision { system_messages: vec![reason], ..Decision::default() },
    }
}

/// The exit code if there is nothing else to answer with.
pub(crate) fn exit_code(power: Option<Power>, why: Unasked, asker: Asker) -> u8 {
    match (consequence(power, why, asker), why) {
        (Consequence::Refuse, _) => BLOCK,
        (Consequence::Tell, _) => GO_ON,
        (Consequence::Fail, Unasked::Interrupted) => INTERRUPTED,
        (Consequence::Fail, Unasked::NotStarted | Unasked::TooLate | Unasked::Crashed) => OUR_FAULT,
    }
}

/// What hooks can do at this particular event. A stop after an interrupt or a failure happens
/// anyway.
fn power_at(event: &Event) -> Option<Power> {
    let power = event.name.power();
    Some(if power.can_block() && !can_block(event) { Power::Observes } else { power })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Consequence::{Fail, Refuse, Tell};
    use super::*;

    /// Not started, too late, interrupted, crashed.
    const REASONS: [Unasked; 4] =
        [Unasked::NotStarted, Unasked::TooLate, Unasked::Interrupted, Unasked::Crashed];

    #[test]
    fn where_a_guard_may_be_the_answer_is_no() {
        for (name, in_agents, for_callers) in [
            ("tool:pre_execute", [Refuse; 4], [Refuse; 4]),
            ("user:prompt_submit", [Refuse; 4], [Refuse; 4]),
            ("claude:config_change", [Refuse; 4], [Refuse; 4]),
            ("task:complete", [Tell, Tell, Fail, Fail], [Refuse, Fail, Fail, Refuse]),
            ("session:stop", [Tell, Tell, Fail, Fail], [Refuse, Fail, Fail, Refuse]),
            ("tool:post_execute", [Tell, Tell, Fail, Fail], [Fail; 4]),
            ("session:end", [Tell, Tell, Fail, Fail], [Fail; 4]),
            ("claude:brand_new", [Tell, Tell, Fail, Fail], [Fail; 4]),
        ] {
            let event = Event::named(name, json!({})).expect("known");
            let answers = |asker| REASONS.map(|why| consequence(power_at(&event), why, asker));
            assert_eq!(answers(Asker::Agent), in_agents, "{name}");
            assert_eq!(answers(Asker::Caller), for_callers, "{name}");
        }
    }

    #[test]
    fn an_event_that_is_not_known_may_be_guarded() {
        for why in REASONS {
            for asker in [Asker::Agent, Asker::Caller] {
                assert_eq!(exit_code(None, why, asker), BLOCK, "{why:?}");
            }
        }
    }

    #[test]
    fn a_stop_that_nothing_can_prevent_is_not_refused() {
        let stop = |reason: &str| Event::named("Stop", json!({ "reason": reason })).expect("known");
        for (reason, is_refused) in [("completed", true), ("interrupted", false), ("error", false)]
        {
            let refused = refuses(&stop(reason), Unasked::NotStarted, Asker::Caller);
            assert_eq!(refused, is_refused, "{reason}");
        }
    }

    #[test]
    fn an_exit_code_says_what_became_of_the_event() {
        let code = |power, why| exit_code(Some(power), why, Asker::Caller);
        assert_eq!(code(Power::Blocks, Unasked::Interrupted), BLOCK);
        assert_eq!(code(Power::Observes, Unasked::Interrupted), INTERRUPTED);
        assert_eq!(code(Power::Observes, Unasked::Crashed), OUR_FAULT);
        assert_eq!(exit_code(Some(Power::Observes), Unasked::TooLate, Asker::Agent), GO_ON);
    }
}
