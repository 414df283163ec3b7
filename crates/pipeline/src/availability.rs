//! [`Availability`]: which agents can work now, and what to do if none can.
//!
//! It is a table without a clock: a refusal goes in with its time, and a choice comes out. The
//! journal has every refusal, so a resumed session knows as much as before.

use std::collections::BTreeMap;
use std::time::Duration;

use hookwright_events::{FailureCause, PauseCause};

use crate::limits::{LIMITS_IN_A_ROW_MAX, OUTAGE_WAIT_MAX, OUTAGE_WAIT_MIN, OUTAGES_IN_A_ROW_MAX};

/// Agents that cannot work, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Availability {
    refusals: BTreeMap<String, AgentRefusal>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AgentRefusal {
    cause: FailureCause,
    reason: String,
    /// When it is asked again, in milliseconds since 1970; `None` if only after a person resumes
    /// the session.
    until: Option<i64>,
    /// The agent reported the time itself.
    is_reported: bool,
    /// Refusals in a row.
    times: u32,
}

/// What to do about a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Let this agent work, by its index in the list.
    Ask(usize),
    /// None can work now. This is the soonest time.
    Wait {
        /// The time, in milliseconds since 1970.
        until: i64,
        cause: PauseCause,
        reason: String,
    },
    /// None can work, and waiting would not help.
    GiveUp { cause: PauseCause, reason: String },
}

impl Availability {
    /// Notes that an agent could not work. `reported` is when it can again, if it reported that.
    pub(crate) fn refuse(
        &mut self,
        agent: &str,
        cause: FailureCause,
        reason: &str,
        reported: Option<i64>,
        now: i64,
    ) {
        let times = self.refusals.get(agent).map_or(0, |before| before.times) + 1;
        // A time in the past tells nothing: trusting it would mean asking without a pause.
        let reported = reported.filter(|reported| *reported > now);
        let until = match (cause, reported) {
            (FailureCause::Auth | FailureCause::Crash, _) => None,
            (_, Some(reported)) => (times <= LIMITS_IN_A_ROW_MAX).then_some(reported),
            (FailureCause::Quota, None) => None,
            (FailureCause::RateLimit | FailureCause::Outage, None) => {
                (times <= OUTAGES_IN_A_ROW_MAX).then(|| now.saturating_add(doubled(times)))
            }
        };
        let refusal = AgentRefusal {
            cause,
            reason: reason.to_owned(),
            until,
            is_reported: reported.is_some(),
            times,
        };
        self.refusals.insert(agent.to_owned(), refusal);
    }

    /// Notes that an agent has worked.
    pub(crate) fn has_worked(&mut self, agent: &str) {
        self.refusals.remove(agent);
    }

    /// A person resumed the session: agents that reported no time are asked again at once.
    pub(crate) fn start_over(&mut self) {
        self.refusals.retain(|_, refusal| refusal.is_reported && refusal.until.is_some());
        self.refusals.values_mut().for_each(|refusal| refusal.times = 0);
    }

    /// Why an agent could not work when it was last asked.
    pub(crate) fn reason(&self, agent: &str) -> Option<&str> {
        self.refusals.get(agent).map(|refusal| refusal.reason.as_str())
    }

    /// Whether all these agents are unauthorised.
    pub(crate) fn all_unauthorised(&self, agents: &[&str]) -> bool {
        let is_shut_out = |name: &&str| {
            self.refusals.get(*name).is_some_and(|refusal| refusal.cause == FailureCause::Auth)
        };
        agents.iter().all(is_shut_out)
    }

    /// The agent that works now: the first in the list that can.
    pub(crate) fn choose(&self, agents: &[&str], now: i64) -> Choice {
        let refusal_of = |name: &str| self.refusals.get(name);
        let can_work = |name: &&str| match refusal_of(name) {
            None => true,
            Some(refusal) => refusal.until.is_some_and(|until| until <= now),
        };
        if let Some(place) = agents.iter().position(can_work) {
            return Choice::Ask(place);
        }
        let refused = agents.iter().filter_map(|name| Some((*name, refusal_of(name)?)));
        let soonest =
            refused.clone().filter_map(|(name, refusal)| Some((refusal.until?, name, refusal)));
        if let Some((until, name, refusal)) = soonest.min_by_key(|(until, ..)| *until) {
            let reason = format!("{name}: {}", refusal.reason);
            return Choice::Wait { until, cause: refusal.pause_cause(), reason };
        }
        let reasons: Vec<String> =
            refused.clone().map(|(name, refusal)| format!("{name}: {}", refusal.reason)).collect();
        // Causes that a person can fix come first: an empty account before a service that is down.
        let causes: Vec<PauseCause> = refused.map(|(_, refusal)| refusal.pause_cause()).collect();
        let is_quota = causes.contains(&PauseCause::Quota);
        let first = causes.first().copied().unwrap_or(PauseCause::Outage);
        let cause = if is_quota { PauseCause::Quota } else { first };
        Choice::GiveUp { cause, reason: reasons.join("; ") }
    }
}

impl AgentRefusal {
    fn pause_cause(&self) -> PauseCause {
        match self.cause {
            FailureCause::RateLimit => PauseCause::RateLimit,
            FailureCause::Quota => PauseCause::Quota,
            FailureCause::Outage | FailureCause::Auth | FailureCause::Crash => PauseCause::Outage,
        }
    }
}

/// The wait after this many refusals, in milliseconds.
fn doubled(times: u32) -> i64 {
    let factor = 1_u32.checked_shl(times.saturating_sub(1)).unwrap_or(u32::MAX);
    let wait: Duration = OUTAGE_WAIT_MIN.saturating_mul(factor).min(OUTAGE_WAIT_MAX);
    i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use hookwright_events::FailureCause::{Auth, Outage, Quota, RateLimit};

    use super::*;

    fn after(refusals: &[(&str, FailureCause, Option<i64>)]) -> Availability {
        let mut availability = Availability::default();
        for (agent, cause, reported) in refusals {
            availability.refuse(agent, *cause, cause.as_str(), *reported, 1000);
        }
        availability
    }

    fn wait(until: i64, cause: PauseCause, reason: &str) -> Choice {
        Choice::Wait { until, cause, reason: reason.to_owned() }
    }

    fn give_up(cause: PauseCause, reason: &str) -> Choice {
        Choice::GiveUp { cause, reason: reason.to_owned() }
    }

    #[test]
    fn the_first_agent_that_can_work_does() {
        for (refusals, choice) in [
            (&[][..], Choice::Ask(0)),
            (&[("a", RateLimit, Some(5000))], Choice::Ask(1)),
            (&[("a", Auth, None)], Choice::Ask(1)),
            (&[("b", Quota, None)], Choice::Ask(0)),
            (
                &[("a", RateLimit, Some(5000)), ("b", RateLimit, Some(3000))],
                wait(3000, PauseCause::RateLimit, "b: rate_limit"),
            ),
            (
                &[("a", Quota, None), ("b", Outage, None)],
                wait(31_000, PauseCause::Outage, "b: outage"),
            ),
            (
                &[("a", Auth, None), ("b", Quota, None)],
                give_up(PauseCause::Quota, "a: auth; b: quota"),
            ),
        ] {
            assert_eq!(after(refusals).choose(&["a", "b"], 2000), choice, "{refusals:?}");
        }
    }

    #[test]
    fn the_first_one_is_asked_again_when_its_time_has_come() {
        let limited = after(&[("a", RateLimit, Some(5000))]);
        assert_eq!(limited.choose(&["a", "b"], 4999), Choice::Ask(1));
        assert_eq!(limited.choose(&["a", "b"], 5000), Choice::Ask(0));
    }

    #[test]
    fn without_a_time_waits_double_up_to_a_bound_and_end() {
        let mut waits = Vec::new();
        let mut availability = Availability::default();
        while let Choice::Wait { until, .. } = next(&mut availability) {
            waits.push(until / 1000);
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600, 600]);
        availability.has_worked("a");
        assert_eq!(next(&mut availability), wait(30_000, PauseCause::Outage, "a: down"));
    }

    fn next(availability: &mut Availability) -> Choice {
        availability.refuse("a", Outage, "down", None, 0);
        availability.choose(&["a"], 0)
    }

    #[test]
    fn a_past_time_is_ignored_and_an_agent_whose_times_never_help_is_given_up() {
        let mut availability = Availability::default();
        availability.refuse("a", RateLimit, "later", Some(999), 1000);
        assert_eq!(
            availability.choose(&["a"], 1000),
            wait(31_000, PauseCause::RateLimit, "a: later")
        );
        for time in 0..LIMITS_IN_A_ROW_MAX {
            let now = 2000 + i64::from(time);
            availability.refuse("a", RateLimit, "later", Some(now + 1), now);
        }
        assert_eq!(availability.choose(&["a"], 9000), give_up(PauseCause::RateLimit, "a: later"));
    }

    #[test]
    fn only_reported_times_are_waited_for_after_a_resume() {
        let mut availability =
            after(&[("a", RateLimit, Some(5000)), ("b", Outage, None), ("c", Quota, None)]);
        availability.start_over();
        assert_eq!(availability, after(&[("a", RateLimit, Some(5000))]).with_times(0));
        assert_eq!(availability.choose(&["a", "b", "c"], 2000), Choice::Ask(1));
    }

    impl Availability {
        fn with_times(mut self, times: u32) -> Self {
            self.refusals.values_mut().for_each(|refusal| refusal.times = times);
            self
        }
    }

    #[test]
    fn all_are_unauthorised_only_if_each_one_is() {
        let both = after(&[("a", Auth, None), ("b", Auth, None)]);
        assert!(both.all_unauthorised(&["a", "b"]));
        assert!(!both.all_unauthorised(&["a", "b", "c"]));
        assert!(!after(&[("a", Auth, None), ("b", Quota, None)]).all_unauthorised(&["a", "b"]));
    }
}
