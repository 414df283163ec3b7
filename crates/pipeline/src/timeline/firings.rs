//! [`Firings`]: which event was fired, and in which iteration, for what is told of it later.

use std::collections::BTreeMap;

use hookwright_events::{EventName, TurnName};

use crate::limits::FIRINGS_REMEMBERED_MAX;

/// The latest firings, by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Firings {
    latest: BTreeMap<u64, Fired>,
    /// How many there were.
    count: u64,
}

#[derive(Debug, Clone)]
struct Fired {
    event: EventName,
    turn: Option<TurnName>,
    /// How many there were before.
    order: u64,
}

impl Firings {
    pub(super) fn add(&mut self, firing: u64, event: EventName, turn: Option<TurnName>) {
        self.latest.insert(firing, Fired { event, turn, order: self.count });
        self.count += 1;
        if self.latest.len() > FIRINGS_REMEMBERED_MAX {
            self.latest.pop_first();
        }
    }

    /// The event's name; nothing where it is not remembered.
    pub(super) fn event_of(&self, firing: u64) -> String {
        self.latest.get(&firing).map_or_else(String::new, |fired| fired.event.as_str().to_owned())
    }

    /// The iteration in which it was fired.
    pub(super) fn turn_of(&self, firing: u64) -> Option<TurnName> {
        self.latest.get(&firing).and_then(|fired| fired.turn.clone())
    }

    /// A copy that remembers only these.
    pub(super) fn only(&self, firings: impl Iterator<Item = u64>) -> Self {
        let known = firings.filter_map(|firing| Some((firing, self.latest.get(&firing)?.clone())));
        Self { latest: known.collect(), count: self.count }
    }

    /// Whether a copy was made after this firing.
    pub(super) fn had_seen(&self, firing: u64, copy: &Self) -> bool {
        self.latest.get(&firing).is_some_and(|fired| fired.order < copy.count)
    }

    /// Tells a copy of a firing; `false` if it knows.
    pub(super) fn recall(&self, firing: u64, copy: &mut Self) -> bool {
        let Some(fired) = self.latest.get(&firing) else { return false };
        let is_new = !copy.latest.contains_key(&firing);
        if is_new {
            copy.latest.insert(firing, fired.clone());
        }
        is_new
    }
}
