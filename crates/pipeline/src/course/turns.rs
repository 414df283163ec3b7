//! A turn: the first agent in the stage's list that can work does it.
//!
//! An agent that is rate-limited, out of quota, unauthorised or unreachable gives its turn to the
//! next in the list, and is asked again at its time. If none can work, the session waits for the
//! one that can soonest. If waiting would not help, or the cost limit is reached, the session
//! pauses for a person. Such a turn is not an iteration, and no error event is fired.

use hookwright_events::{
    FailureCause, PauseCause, RunEventKind, SessionEvent, TurnEvent, TurnResult, Usage,
};

use super::step::{EarlyEnd, GivenUp, Happening, Step, TurnAttempt, TurnTask};
use super::way::{Way, unexpected};
use crate::availability::Choice;
use crate::record::milliseconds;

impl Way {
    /// Lets an agent do the turn, however many have to be tried.
    pub(super) async fn let_agents_work(
        &mut self,
        task: TurnTask,
        earlier_attempts: u32,
    ) -> Result<(TurnResult, RunEventKind), EarlyEnd> {
        let is_iteration = task.name.iteration > 0;
        let mut number = earlier_attempts;
        self.carry_out(Step::PrepareTurn(task)).await?;
        loop {
            let agent = self.available().await?;
            let change = self.change_to(agent);
            number += 1;
            let name = &self.stage_bounds().agents[agent];
            let was_refused = self.history.availability.reason(name).is_some();
            // A delivery that is not an iteration has no time limit.
            let time_left = self.time_left().filter(|_| is_iteration);
            let attempt = TurnAttempt { agent, was_refused, number, time_left, change };
            let (given_up, usage) = match self.ask(Step::Attempt(attempt)).await? {
                Happening::Attempted { given_up, usage } => (given_up, usage),
                other => unexpected(&other),
            };
            match given_up {
                Some(given_up) if self.gives_way(agent, &given_up) => {
                    self.carry_out(Step::GiveTurnUp(given_up)).await?;
                }
                _ => {
                    self.has_worked(agent, usage.as_ref()).await?;
                    break;
                }
            }
        }
        match self.ask(Step::EndTurn).await? {
            Happening::TurnEnded { result, record } => Ok((*result, *record)),
            other => unexpected(&other),
        }
    }

    /// An agent that can work, as soon as there is one, by its index in the list. It is chosen
    /// before the prompt is built: output of hooks during the wait belongs into the prompt.
    async fn available(&mut self) -> Result<usize, EarlyEnd> {
        if let Some(reason) = self.cost_reached() {
            return Err(EarlyEnd::Paused { cause: PauseCause::Cost, reason });
        }
        loop {
            let names: Vec<&str> = self.stage_bounds().agents.iter().map(String::as_str).collect();
            match self.history.availability.choose(&names, self.now()) {
                Choice::Ask(place) => return Ok(place),
                Choice::Wait { until, cause, reason } => {
                    self.carry_out(Step::Pause { until, cause, reason }).await?;
                }
                Choice::GiveUp { cause, reason } => return Err(EarlyEnd::Paused { cause, reason }),
            }
        }
    }

    /// Reports a change of the agent, if there is one.
    fn change_to(&mut self, agent: usize) -> Option<RunEventKind> {
        let names = &self.bounds.stages[self.position.index()].agents;
        let to = names[agent].clone();
        let before = self.history.at_work.replace(to.clone());
        let from = before.filter(|from| *from != to && names.contains(from))?;
        let reason = self.history.availability.reason(&from);
        let reason = reason.map_or_else(|| format!("{to} can be used again"), str::to_owned);
        Some(RunEventKind::Turn(TurnEvent::AgentChanged { from, to, reason }))
    }

    /// Whether the turn goes to another agent, or is repeated later. A crash is a failed iteration.
    /// So is a turn for which every agent is unauthorised: no wait fixes that, and hooks should
    /// learn of it.
    fn gives_way(&mut self, agent: usize, given_up: &GivenUp) -> bool {
        let GivenUp { cause, reason, until } = given_up;
        if *cause == FailureCause::Crash {
            return false;
        }
        let now = self.now();
        let names = &self.bounds.stages[self.position.index()].agents;
        let availability = &mut self.history.availability;
        availability.refuse(&names[agent], *cause, reason, *until, now);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let is_hopeless = availability.all_unauthorised(&names);
        if is_hopeless {
            names.iter().for_each(|name| availability.has_worked(name));
        }
        !is_hopeless
    }

    /// Notes that an agent has worked. If there is a cost limit, notes once per agent that its cost
    /// is unknown.
    async fn has_worked(&mut self, agent: usize, usage: Option<&Usage>) -> Result<(), EarlyEnd> {
        let stage = self.stage_bounds();
        let agent = stage.agents[agent].clone();
        let is_bound = self.bounds.max_cost.is_some() || stage.max_cost.is_some();
        self.history.availability.has_worked(&agent);
        let is_told = usage.is_some_and(|usage| usage.cost_usd.is_some());
        if !is_bound || is_told || self.without_cost.contains(&agent) {
            return Ok(());
        }
        let note = format!("max_cost cannot be enforced: {agent} reports no cost");
        self.without_cost.push(agent);
        self.carry_out(Step::Write(RunEventKind::Session(SessionEvent::Noted { note }))).await
    }

    /// The reason, if the cost limit is reached.
    pub(super) fn cost_reached(&self) -> Option<String> {
        let stage = self.stage_bounds();
        let whose = match &self.bounds.stages[..] {
            [_] => "the session".to_owned(),
            _ => format!("stage {}", stage.name),
        };
        let bounds = [
            (self.bounds.max_cost, self.measured.cost, "the session".to_owned()),
            (stage.max_cost, self.measured.stage_cost, whose),
        ];
        bounds.into_iter().find_map(|(most, cost, whose)| {
            let most = most.filter(|most| cost >= *most)?;
            let (cost, most) = (dollars(cost), dollars(most));
            Some(format!("{whose} has cost {cost}, and max_cost is {most}"))
        })
    }

    /// Milliseconds since 1970.
    fn now(&self) -> i64 {
        milliseconds(&self.measured.time).unwrap_or_default()
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
    fn amounts_have_enough_digits_to_be_distinguished() {
        for (amount, shown) in [(0.0, "$0.00"), (12.5, "$12.50"), (0.0003, "$0.000300")] {
            assert_eq!(dollars(amount), shown);
        }
    }
}
