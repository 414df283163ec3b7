//! The one rule for hooks that can't be asked: where a guard may be, the answer is no.
//!
//! `hook`, `fire`, `task done` and the handler of crashes ask here, and put the answer into the form
//! that their callers read. A session asks its hooks itself, and has no caller to answer.

use hookwright_engine::can_block;
use hookwright_events::{Decision, Event, Power, Verdict};

use crate::exit_code::{BLOCK, GO_ON, INTERRUPTED, OUR_FAULT};

/// Why the hooks of an event can't be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// No hook could start: the event or the files can't be read, a file is not trusted or gone, or the
    /// system denies what hooks need.
    NotStarted,
    /// Hooks had not answered when the answer had to leave.
    TooLate,
    /// This program is ended before they have answered.
    Interrupted,
    /// This program has a fault of its own.
    Crashed,
}

/// Who gets the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// An agent in which our hooks run. It can do nothing about a broken hook, and must not be kept from
    /// its end.
    Agent,
    /// A program or a person who reads the exit code of `fire` or `task done`.
    Caller,
}

/// What happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// What the event announces must not happen.
    Refuse,
    /// It happens, and the user is told that no hook was asked.
    Tell,
    /// The command fails.
    Fail,
}

/// What happens when the hooks of an event with this power can't be asked. An event that
/// is not known may be one that hooks can block.
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

/// The decision in place of the one that hooks would have made.
pub(crate) fn decision(event: &Event, why: Unasked, asker: Asker, reason: String) -> Decision {
    match refuses(event, why, asker) {
        true => Decision { verdict: Verdict::Block { reason }, ..Decision::default() },
        false => Decision { system_messages: vec![reason], ..Decision::default() },
    }
}

/// The exit code where there is nothing else to answer with.
pub(crate) fn exit_code(power: Option<Power>, why: Unasked, asker: Asker) -> u8 {
    match (consequence(power, why, asker), why) {
        (Consequence::Refuse, _) => BLOCK,
        (Consequence::Tell, _) => GO_ON,
        (Consequence::Fail, Unasked::Interrupted) => INTERRUPTED,
        (Consequence::Fail, Unasked::NotStarted | Unasked::TooLate | Unasked::Crashed) => OUR_FAULT,
    }
}

/// What hooks can do at this very event. A stop after an interrupt or a failure happens anyway.
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
