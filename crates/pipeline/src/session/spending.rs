//! [`Spending`]: what a session has cost, and what happens when that is as much as it may.
//!
//! Nothing is ended for it: before the next turn the session is left to a person, who lets it go on with
//! more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{PauseCause, RunEventKind, Usage};

use super::{Leave, Session};

/// What was used, by stage. A handle: those that its hooks have started add to it.
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

    /// In US dollars.
    fn cost_of(&self, stage: u32) -> f64 {
        self.by_stage().get(&stage).and_then(|usage| usage.cost_usd).unwrap_or(0.0)
    }

    fn cost(&self) -> f64 {
        self.by_stage().values().filter_map(|usage| usage.cost_usd).sum()
    }

    fn by_stage(&self) -> MutexGuard<'_, BTreeMap<u32, Usage>> {
        self.by_stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Leaves the session to a person if it has cost as much as it may.
    pub(super) fn check_cost(&self, index: usize) -> Result<(), Leave> {
        let stage = &self.plan.stages[index];
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let spending = &self.in_use.spending;
        let of_stage = if self.plan.stages.len() == 1 {
            "the session".to_owned()
        } else {
            format!("stage {}", stage.name)
        };
        for (most, cost, whose) in [
            (self.plan.max_cost, spending.cost(), "the session".to_owned()),
            (stage.max_cost, spending.cost_of(number), of_stage),
        ] {
            if let Some(most) = most.filter(|most| cost >= *most) {
                let reason = format!(
                    "{whose} has cost {}, and max_cost is {}",
                    dollars(cost),
                    dollars(most)
                );
                return Err(Leave::Paused { cause: PauseCause::Cost, reason });
            }
        }
        Ok(())
    }

    /// Says once of each agent that its cost cannot be counted, if there is a bound to it.
    pub(super) fn note_missing_cost(
        &mut self,
        index: usize,
        agent: &str,
        usage: Option<&Usage>,
    ) -> Result<(), Leave> {
        let is_bound = self.plan.max_cost.is_some() || self.plan.stages[index].max_cost.is_some();
        let is_told = usage.is_some_and(|usage| usage.cost_usd.is_some());
        if !is_bound || is_told || !self.in_use.without_cost.insert(agent.to_owned()) {
            return Ok(());
        }
        let note = format!("max_cost cannot be kept: {agent} reports no cost");
        Ok(self.write(vec![RunEventKind::Noted { note }])?)
    }
}

/// `$1.50`; small amounts with as many digits as they need.
fn dollars(amount: f64) -> String {
    if amount >= 0.01 || amount == 0.0 { format!("${amount:.2}") } else { format!("${amount:.6}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_costs_what_its_stages_cost() {
        let usage = |cost_usd| Usage { input_tokens: 1, output_tokens: 1, cost_usd };
        let spending = Spending::new(BTreeMap::from([(1, usage(Some(0.5)))]));
        spending.add(1, Some(&usage(Some(0.25))));
        spending.add(2, Some(&usage(Some(1.0))));
        spending.add(2, Some(&usage(None)));
        spending.add(3, None);
        let costs = [spending.cost_of(1), spending.cost_of(2), spending.cost_of(3)];
        assert_eq!((costs, spending.cost()), ([0.75, 1.0, 0.0], 1.75));
    }

    #[test]
    fn amounts_are_shown_so_that_they_can_be_told_apart() {
        for (amount, shown) in [(0.0, "$0.00"), (12.5, "$12.50"), (0.0003, "$0.000300")] {
            assert_eq!(dollars(amount), shown);
        }
    }
}
