//! [`Spending`]: what a session has cost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::Usage;

/// The usage by stage. Clones share it: child sessions add to it.
#[derive(Clone)]
pub(crate) struct Spending {
    by_stage: Arc<Mutex<BTreeMap<u32, Usage>>>,
}

impl Spending {
    pub(super) fn new(by_stage: BTreeMap<u32, Usage>) -> Self {
        Self { by_stage: Arc::new(Mutex::new(by_stage)) }
    }

    pub(crate) fn add(&self, stage: u32, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            let mut by_stage = self.by_stage();
            let sum = by_stage.entry(stage).or_default();
            *sum = sum.and(*usage);
        }
    }

    /// The cost in US dollars.
    pub(super) fn cost_of(&self, stage: u32) -> f64 {
        self.by_stage().get(&stage).and_then(|usage| usage.cost_usd).unwrap_or(0.0)
    }

    pub(super) fn cost(&self) -> f64 {
        self.by_stage().values().filter_map(|usage| usage.cost_usd).sum()
    }

    fn by_stage(&self) -> MutexGuard<'_, BTreeMap<u32, Usage>> {
        self.by_stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_session_is_the_sum_of_its_stages() {
        let usage = |cost_usd| Usage { input_tokens: 1, output_tokens: 1, cost_usd };
        let spending = Spending::new(BTreeMap::from([(1, usage(Some(0.5)))]));
        spending.add(1, Some(&usage(Some(0.25))));
        spending.add(2, Some(&usage(Some(1.0))));
        spending.add(2, Some(&usage(None)));
        spending.add(3, None);
        let costs = [spending.cost_of(1), spending.cost_of(2), spending.cost_of(3)];
        assert_eq!((costs, spending.cost()), ([0.75, 1.0, 0.0], 1.75));
    }
}
