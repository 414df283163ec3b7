//! [`Firings`]: which event was fired, and where in the session, for what is told of it later.

use std::collections::BTreeMap;

use hookwright_events::{EventName, TurnName};

use crate::limits::FIRINGS_REMEMBERED_MAX;

/// The latest firings, by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Firings {
    latest: BTreeMap<u64, Fired>,
    /// How many there were.
    count: u64,
}

#[derive(Debug, Clone)]
struct Fired {
    event: EventName,
    turn: Option<TurnName>,
    execution: Option<u32>,
    /// How many there were before.
    order: u64,
}

impl Firings {
    pub(super) fn add(&mut self, firing: u64, event: EventName) {
        let order = self.count;
        self.latest.insert(firing, Fired { event, turn: None, execution: None, order });
        self.count += 1;
        if self.latest.len() > FIRINGS_REMEMBERED_MAX {
            self.latest.pop_first();
        }
    }

    /// Remembers in which iteration and in which execution of its stage it was fired.
    pub(crate) fn place(&mut self, firing: u64, turn: Option<TurnName>, execution: Option<u32>) {
        if let Some(fired) = self.latest.get_mut(&firing) {
            (fired.turn, fired.execution) = (turn, execution);
        }
    }

    /// The event of the latest firing.
    pub(super) fn last(&self) -> Option<&EventName> {
        self.latest.last_key_value().map(|(_, fired)| &fired.event)
    }

    /// The event; nothing where it is not remembered.
    pub(super) fn event_of(&self, firing: u64) -> Option<&EventName> {
        self.latest.get(&firing).map(|fired| &fired.event)
    }

    /// The iteration in which it was fired.
    pub(crate) fn turn_of(&self, firing: u64) -> Option<TurnName> {
        self.latest.get(&firing).and_then(|fired| fired.turn.clone())
    }

    /// The execution in which it was fired.
    pub(crate) fn execution_of(&self, firing: u64) -> Option<u32> {
        self.latest.get(&firing).and_then(|fired| fired.execution)
    }

    /// A copy that remembers only these.
    pub(crate) fn only(&self, firings: impl Iterator<Item = u64>) -> Self {
        let known = firings.filter_map(|firing| Some((firing, self.latest.get(&firing)?.clone())));
        Self { latest: known.collect(), count: self.count }
    }

    /// Whether a copy was made after this firing.
    pub(crate) fn had_seen(&self, firing: u64, copy: &Self) -> bool {
        self.latest.get(&firing).is_some_and(|fired| fired.order < copy.count)
    }

    /// Tells a copy of a firing; `false` if it knows.
    pub(crate) fn recall(&self, firing: u64, copy: &mut Self) -> bool {
        let Some(fired) = self.latest.get(&firing) else { return false };
        let is_new = !copy.latest.contains_key(&firing);
        if is_new {
            copy.latest.insert(firing, fired.clone());
        }
        is_new
    }
}
