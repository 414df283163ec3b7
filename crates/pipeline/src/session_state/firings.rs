//! [`Firings`]: the event and the place of each firing, for later entries about it.

use std::collections::BTreeMap;

use hookwright_events::{EventName, TurnName};

use crate::limits::FIRINGS_REMEMBERED_MAX;

/// The latest firings, by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Firings {
    latest: BTreeMap<u64, RememberedFiring>,
    /// The number of all firings.
    count: u64,
}

#[derive(Debug, Clone)]
struct RememberedFiring {
    event: EventName,
    turn: Option<TurnName>,
    execution: Option<u32>,
    /// The number of earlier firings.
    order: u64,
}

impl Firings {
    pub(super) fn add(&mut self, firing: u64, event: EventName) {
        let order = self.count;
        self.latest.insert(firing, RememberedFiring { event, turn: None, execution: None, order });
        self.count += 1;
        if self.latest.len() > FIRINGS_REMEMBERED_MAX {
            self.latest.pop_first();
        }
    }

    /// Remembers the iteration and the execution of a firing.
    pub(crate) fn place(&mut self, firing: u64, turn: Option<TurnName>, execution: Option<u32>) {
        if let Some(fired) = self.latest.get_mut(&firing) {
            (fired.turn, fired.execution) = (turn, execution);
        }
    }

    /// The event of the latest firing.
    pub(super) fn last(&self) -> Option<&EventName> {
        self.latest.last_key_value().map(|(_, fired)| &fired.event)
    }

    /// The event; `None` if it is not remembered.
    pub(super) fn event_of(&self, firing: u64) -> Option<&EventName> {
        self.latest.get(&firing).map(|fired| &fired.event)
    }

    /// The iteration of a firing.
    pub(crate) fn turn_of(&self, firing: u64) -> Option<TurnName> {
        self.latest.get(&firing).and_then(|fired| fired.turn.clone())
    }

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

    /// Adds a firing to a copy; `false` if the copy has it already.
    pub(crate) fn recall(&self, firing: u64, copy: &mut Self) -> bool {
        let Some(fired) = self.latest.get(&firing) else { return false };
        let is_new = !copy.latest.contains_key(&firing);
        if is_new {
            copy.latest.insert(firing, fired.clone());
        }
        is_new
    }
}
