//! An agent's turn: its name, its result, and what it used.

use serde::{Deserialize, Serialize};

/// Identifies a turn of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TurnName {
    /// The stage's number, from 1.
    pub stage: u32,
    /// The iteration within its stage, from 1. 0 delivers what hooks reported after all iterations.
    pub iteration: u32,
}

/// The result of an agent's turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    /// `continue`, `stop` or `error`.
    pub decision: String,
    /// The agent's reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What was done, in the agent's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What went wrong, for `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The agent was ended because the stage's time was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_time: bool,
    /// The files that changed in the work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// The agent that worked, if there is a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's name for its own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// What the agent used, if it reports that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What an agent used for a turn, as far as it reports that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that the model read, cached ones included.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    #[serde(default)]
    pub output_tokens: u64,
    /// The cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// The sum of both. A missing cost counts as zero.
    pub fn and(self, other: Self) -> Self {
        let cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_usd,
        }
    }

    /// Drops a cost that is negative or not a number: a negative one would raise the limit for all
    /// others.
    pub fn believable(self) -> Self {
        let cost_usd = self.cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0);
        Self { cost_usd, ..self }
    }

    /// The usage since `earlier` was reported, if there is any. A cost difference smaller than any
    /// charge counts as none: sums in another order end in other digits.
    pub fn since(self, earlier: Self) -> Option<Self> {
        let cost_usd = match (self.cost_usd, earlier.cost_usd) {
            (Some(all), earlier) => Some(all - earlier.unwrap_or(0.0)).filter(|more| *more > 1e-9),
            (None, _) => None,
        };
        let more = Self {
            input_tokens: self.input_tokens.saturating_sub(earlier.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(earlier.output_tokens),
            cost_usd,
        };
        (more != Self::default()).then_some(more)
    }
}

crate::words! {
    /// Why an agent could not do its turn.
    pub enum FailureCause {
        /// It is rate-limited, and may be asked again later.
        RateLimit = "rate_limit",
        /// It is out of quota.
        Quota = "quota",
        /// It is unauthorised.
        Auth = "auth",
        /// Its service is down or unreachable.
        Outage = "outage",
        /// Anything else.
        Crash = "crash",
    }
}

crate::words! {
    /// How a call of a tool ended.
    pub enum CallOutcome {
        /// The tool ran, also if what it ran failed.
        Ran = "ran",
        /// The tool could not do its work.
        Failed = "failed",
        /// The call was denied.
        Denied = "denied",
        /// The session ended before the call was started.
        NotStarted = "not_started",
        /// The user interrupted it.
        Interrupted = "interrupted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usages_add_up_and_an_unreported_cost_stays_unknown() {
        let sum = Usage { input_tokens: 1, output_tokens: 2, cost_usd: None };
        let sum = sum.and(Usage { input_tokens: 10, output_tokens: 20, cost_usd: None });
        assert_eq!(sum, Usage { input_tokens: 11, output_tokens: 22, cost_usd: None });
        let sum = sum.and(Usage { input_tokens: 0, output_tokens: 0, cost_usd: Some(0.5) });
        let sum = sum.and(Usage::default());
        assert_eq!(sum, Usage { input_tokens: 11, output_tokens: 22, cost_usd: Some(0.5) });
    }

    #[test]
    fn an_impossible_cost_is_dropped() {
        for (said, believed) in [
            (Some(0.5), Some(0.5)),
            (Some(0.0), Some(0.0)),
            (Some(-0.5), None),
            (Some(f64::NAN), None),
            (Some(f64::INFINITY), None),
            (None, None),
        ] {
            let usage = Usage { input_tokens: 1, output_tokens: 2, cost_usd: said };
            let expected = Usage { input_tokens: 1, output_tokens: 2, cost_usd: believed };
            assert_eq!(usage.believable(), expected, "{said:?}");
        }
    }

    #[test]
    fn only_usage_since_the_last_report_is_reported() {
        let usage =
            |input_tokens, output_tokens, cost_usd| Usage { input_tokens, output_tokens, cost_usd };
        for (all, earlier, more) in [
            (usage(5, 2, Some(0.75)), usage(0, 0, None), Some(usage(5, 2, Some(0.75)))),
            (usage(5, 2, Some(0.75)), usage(4, 2, Some(0.5)), Some(usage(1, 0, Some(0.25)))),
            (usage(5, 2, Some(0.1 + 0.2)), usage(5, 2, Some(0.3)), None),
            (usage(5, 2, None), usage(5, 1, None), Some(usage(0, 1, None))),
            (usage(5, 2, None), usage(6, 3, Some(1.0)), None),
        ] {
            assert_eq!(all.since(earlier), more, "{all:?} since {earlier:?}");
        }
    }

    #[test]
    fn causes_are_written_by_their_names() {
        for cause in FailureCause::ALL {
            assert_eq!(serde_json::to_value(cause).expect("a word"), cause.as_str());
        }
    }
}
