//! What would happen at an event, and why, without running anything.
//!
//! If an earlier hook can change the result, the explanation names that hook and does not guess.

use std::sync::Arc;

use hookwright_events::Event;

use crate::chain::Chain;
use crate::dispatch::start_check::{self, StartCheck};
use crate::hook::{Hook, Terms};
use crate::hook_set::HookSet;
use crate::pattern::PatternPoint;
use crate::variables::{Carried, Environment, Variables};

/// What would happen to one hook at this event.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The explained hook.
    pub hook: Arc<Hook>,
    /// What would happen to it.
    pub fate: Fate,
}

/// What would happen to a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It would start.
    Runs {
        /// The terms that apply.
        terms: Terms,
    },
    /// It may start: its condition depends on what an earlier hook leaves.
    Depends {
        /// The terms that apply.
        terms: Terms,
        /// The id of the earlier hook.
        on: String,
    },
    /// It matches, but would be passed over.
    Skipped {
        /// Why it is passed over.
        reason: String,
    },
    /// It would fail before it starts, because of its condition, the chain or its type.
    Fails {
        /// The terms that apply.
        terms: Terms,
        /// Why it fails.
        reason: String,
    },
    /// It does not match.
    Missed {
        /// Why it does not match.
        why: MissReason,
    },
}

/// Why a hook does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissReason {
    /// It is configured for other events.
    Event,
    /// The event has another subject, or none.
    Subject {
        /// The event's subject.
        subject: Option<String>,
    },
    /// Under the event name in its file, it matches certain reasons only.
    Reason {
        /// These reasons.
        only: &'static [&'static str],
    },
    /// The project's file disables global hooks at events that cannot be blocked.
    GlobalDisabled,
}

/// Further input of an explanation.
#[derive(Debug, Clone, Copy)]
pub struct ExplainOptions<'a> {
    /// Ids of hooks to skip.
    pub skip: &'a [String],
    /// The hooks above this firing.
    pub chain: &'a Chain,
    /// Where conditions look up names that are not built in.
    pub environment: &'a Environment,
}

/// Variables that hooks leave for later ones.
const LEFT_BY_HOOKS: &[&str] = &["LAST_HOOK_STATUS", "HOOK_RESPONSE", "SPAWN_OUTPUT"];

/// What would happen to every hook of the set: first the matching ones, in the order in which they
/// run, then the others.
pub fn explain(hooks: &HookSet, event: &Event, asked: ExplainOptions<'_>) -> Vec<Explained> {
    let woken = hooks.woken(event);
    let mut explained: Vec<Explained> = Vec::new();
    for hook in &woken {
        let fate = fate(hook, event, asked, &explained);
        explained.push(Explained { hook: Arc::clone(hook), fate });
    }
    let missed = hooks.hooks().iter().filter(|hook| !woken.iter().any(|w| Arc::ptr_eq(w, hook)));
    explained.extend(missed.map(|hook| Explained {
        hook: Arc::clone(hook),
        fate: Fate::Missed { why: why_missed(hook, event) },
    }));
    explained
}

fn fate(hook: &Hook, event: &Event, asked: ExplainOptions<'_>, before: &[Explained]) -> Fate {
    let mut terms = hook.terms(event.name.power());
    if let Some(reason) = start_check::switched_off(hook, event, asked.skip) {
        return Fate::Skipped { reason };
    }
    let asks_what_was_left = hook.when.as_ref().is_some_and(|when| {
        when.variables().any(|name| LEFT_BY_HOOKS.iter().any(|left| name.ends_with(left)))
    });
    if asks_what_was_left
        && let Some(last) = before.iter().rev().find(|earlier| may_leave_something(earlier))
    {
        return Fate::Depends { terms, on: last.hook.id.clone() };
    }
    let carried = Carried::default();
    let variables = Variables { event, carried: &carried, environment: asked.environment };
    let check = match start_check::condition(hook, &variables) {
        StartCheck::Runs => start_check::start(hook, event, asked.chain),
        other => other,
    };
    match check {
        StartCheck::Runs => Fate::Runs { terms },
        StartCheck::Passed(reason) => Fate::Skipped { reason },
        StartCheck::Refused(reason) => Fate::Fails { terms, reason },
        StartCheck::RefusedByChain(reason) => {
            if start_check::chain_blocks(hook, event, asked.chain) {
                terms.fail_closed();
            }
            Fate::Fails { terms, reason }
        }
    }
}

fn may_leave_something(earlier: &Explained) -> bool {
    match earlier.fate {
        Fate::Runs { terms } | Fate::Depends { terms, .. } | Fate::Fails { terms, .. } => {
            terms.awaited
        }
        Fate::Skipped { .. } | Fate::Missed { .. } => false,
    }
}

fn why_missed(hook: &Hook, event: &Event) -> MissReason {
    let here: Vec<&PatternPoint> = match event.name.spec() {
        Some(spec) => {
            hook.pattern.points.iter().filter(|point| std::ptr::eq(point.event, spec)).collect()
        }
        None if hook.pattern.open.iter().any(|glob| glob.matches(event.name.as_str())) => {
            return MissReason::Subject { subject: event.subject().map(str::to_owned) };
        }
        None => Vec::new(),
    };
    if here.is_empty() {
        return MissReason::Event;
    }
    let reason = event.text("reason").unwrap_or_default();
    let (awake, asleep): (Vec<&PatternPoint>, Vec<&PatternPoint>) = here
        .into_iter()
        .partition(|point| point.only_reasons.is_empty() || point.only_reasons.contains(&reason));
    if awake.is_empty() {
        return MissReason::Reason { only: asleep[0].only_reasons };
    }
    let subject = crate::matcher::Subject::from_event(event);
    let fits =
        hook.matcher.wakes(&subject) && awake.iter().any(|point| point.subjects.wakes(&subject));
    if fits {
        return MissReason::GlobalDisabled;
    }
    MissReason::Subject { subject: event.subject().map(str::to_owned) }
}
