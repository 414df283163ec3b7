//! What would happen at an event, and why, without running anything.
//!
//! Whatever an earlier hook can change is not guessed: the explanation names that hook instead.

use std::sync::Arc;

use hookwright_events::Event;

use crate::chain::Chain;
use crate::dispatch::whether::{self, Whether};
use crate::hook::{Hook, Terms};
use crate::hook_set::HookSet;
use crate::pattern::PatternPoint;
use crate::variables::{Carried, Environment, Variables};

/// One hook, and what this event means to it.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The hook.
    pub hook: Arc<Hook>,
    /// What would happen.
    pub fate: Fate,
}

/// What would happen to a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It would start.
    Runs {
        /// Under these rules.
        terms: Terms,
    },
    /// It may start: its condition asks what an earlier hook leaves.
    Depends {
        /// Under these rules.
        terms: Terms,
        /// The id of that hook.
        on: String,
    },
    /// It fits, but would be passed.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It would fail before it starts: its condition, the firings above, or its type.
    Fails {
        /// Under these rules.
        terms: Terms,
        /// Why.
        reason: String,
    },
    /// It does not fit.
    Missed {
        /// Why.
        why: MissReason,
    },
}

/// Why a hook does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissReason {
    /// It listens elsewhere.
    Event,
    /// The subject is another one, or there is none.
    Subject {
        /// The event's subject.
        subject: Option<String>,
    },
    /// Under the name it listens to, it wakes for certain reasons only.
    Reason {
        /// Those.
        only: &'static [&'static str],
    },
    /// A project's file switches global hooks off where nothing can be blocked.
    GlobalDisabled,
}

/// What else an explanation depends on.
#[derive(Debug, Clone, Copy)]
pub struct ExplainOptions<'a> {
    /// Ids that are to be skipped.
    pub skip: &'a [String],
    /// The firings above.
    pub chain: &'a Chain,
    /// Where conditions find names that are not ours.
    pub environment: &'a Environment,
}

/// Variables that hooks leave for later ones.
const LEFT_BY_HOOKS: &[&str] = &["LAST_HOOK_STATUS", "HOOK_RESPONSE", "SPAWN_OUTPUT"];

/// What would happen to every hook of the set: first those that fit, in the order in which they
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
    if let Some(reason) = whether::switched_off(hook, event, asked.skip) {
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
    let whether = match whether::condition(hook, &variables) {
        Whether::Runs => whether::start(hook, event, asked.chain),
        other => other,
    };
    match whether {
        Whether::Runs => Fate::Runs { terms },
        Whether::Passed(reason) => Fate::Skipped { reason },
        Whether::Refused(reason) => Fate::Fails { terms, reason },
        Whether::RefusedByChain(reason) => {
            if whether::chain_blocks(hook, event, asked.chain) {
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
