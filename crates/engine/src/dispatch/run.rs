//! [`Run`]: one hook within one firing, its part of the decision, and its report.

use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{
    AnswerDecision, Decision, Outcome, PersonOutcome, Power, ProcessOutcome, Report,
    RequestOutcome, Status, Verdict,
};
use serde_json::Value;

use crate::hook::{Action, Exhausted, Hook, Terms};
use crate::limits::SEND_DELAY_MAX;
use crate::policy::{Meaning, Order, Policy};

#[derive(Debug)]
pub(super) struct Run {
    pub(super) hook: Arc<Hook>,
    pub(super) terms: Terms,
    pub(super) policy: &'static Policy,
    pub(super) state: RunState,
    /// Whether its answer counts; false for a hook that runs in the background.
    pub(super) decides: bool,
    pub(super) attempts: u32,
    /// Time since its first start, including the delays between attempts.
    pub(super) took: Duration,
    pub(super) last: Option<(Outcome, Meaning)>,
    pub(super) reason: Option<String>,
    pub(super) early: Option<EarlyAnswer>,
}

/// A hook's answer from before it moved to the background. This answer counts, the hook's end does
/// not.
#[derive(Debug)]
pub(super) struct EarlyAnswer {
    pub(super) outcome: Outcome,
    pub(super) meaning: Meaning,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunState {
    Waiting,
    /// It runs, and the decision waits for it.
    Awaited,
    /// It runs, and the decision does not wait for it.
    Background,
    /// Another process runs it and sends no news.
    HandedOver,
    /// It will be retried, and the decision waits for it.
    AwaitedSleep,
    /// It will be retried, and the decision does not wait for it.
    BackgroundSleep,
    Skipped,
    Done,
}

impl Run {
    pub(super) fn new(hook: Arc<Hook>, power: Power) -> Self {
        let policy = hook.policy;
        let mut terms = hook.terms(power);
        if policy.order == Order::AtOnce && hook.awaits != Some(false) {
            terms.awaited = true;
        }
        Self {
            hook,
            decides: terms.awaited,
            terms,
            policy,
            state: RunState::Waiting,
            attempts: 0,
            took: Duration::ZERO,
            last: None,
            reason: None,
            early: None,
        }
    }

    pub(super) fn is_awaited(&self) -> bool {
        matches!(self.state, RunState::Awaited | RunState::AwaitedSleep)
    }

    /// Whether its result is part of the decision.
    pub(super) fn counts(&self) -> bool {
        self.decides && (self.state == RunState::Done || self.early.is_some())
    }

    /// The meaning that counts: of its end, or of its answer before it moved to the background.
    pub(super) fn counted(&self) -> Option<&Meaning> {
        let early = self.early.as_ref().map(|early| &early.meaning);
        early.or(self.last.as_ref().map(|(_, meaning)| meaning)).filter(|_| self.decides)
    }

    /// The hook's part of the decision.
    pub(super) fn part(&self, power: Power) -> Decision {
        let ended = self.last.as_ref().map(|(outcome, meaning)| (outcome, meaning, &self.reason));
        let early = self.early.as_ref();
        let early = early.map(|early| (&early.outcome, &early.meaning, &early.reason));
        let Some((outcome, meaning, reason)) = early.or(ended).filter(|_| self.counts()) else {
            return Decision::default();
        };
        let answer = &meaning.answer;
        let mut part = Decision {
            verdict: self.verdict(meaning, reason.as_deref(), power),
            additional_context: answer.additional_context.clone(),
            system_messages: answer.system_message.iter().cloned().collect(),
            updated_output: answer.updated_output.clone(),
            suppress_output: answer.suppress_output,
            piped_output: String::new(),
            piped_raw: self.policy.pipes_raw,
            must_reach_agent: false,
            survives_error: false,
            updated_permissions: answer.updated_permissions.clone(),
        };
        let blocks = match meaning.status {
            Status::Failed | Status::TimedOut => self.leads_to() == Exhausted::Block,
            Status::Blocked if self.was_refused() => self.terms.on_reject == Exhausted::Block,
            status => status == Status::Blocked,
        };
        if power == Power::Annotates && blocks {
            part.additional_context.extend(reason.clone());
        }
        if self.hook.pipe_output && !answer.suppress_output {
            part.piped_output = self.policy.wire.piped_output(&self.hook.id, outcome, meaning);
        }
        let is_told = !part.piped_output.is_empty() || !part.additional_context.is_empty();
        part.must_reach_agent = is_told && self.reports_failure(meaning);
        part
    }

    /// Whether its message to the agent is more than news of a success. Raw output has rules of its
    /// own.
    pub(super) fn reports_failure(&self, meaning: &Meaning) -> bool {
        let is_failure = meaning.status != Status::Success || meaning.answer.must_reach_agent;
        is_failure && !self.policy.pipes_raw
    }

    fn verdict(&self, meaning: &Meaning, reason: Option<&str>, power: Power) -> Verdict {
        let proceed = Verdict::Proceed { rewritten_input: meaning.answer.updated_input.clone() };
        let answer = &meaning.answer;
        let reason = || reason.unwrap_or_default().to_owned();
        match meaning.status {
            Status::Blocked if answer.stop => {
                Verdict::Stop { reason: answer.stop_reason.clone().unwrap_or_else(reason) }
            }
            Status::Blocked if self.was_refused() => match self.terms.on_reject {
                Exhausted::Abort => Verdict::Abort { reason: reason() },
                Exhausted::Block if power.can_block() => Verdict::Block { reason: reason() },
                Exhausted::Block | Exhausted::Continue => proceed,
            },
            Status::Blocked if power.can_block() => Verdict::Block { reason: reason() },
            Status::Failed | Status::TimedOut => match self.leads_to() {
                Exhausted::Abort => Verdict::Abort { reason: reason() },
                Exhausted::Block if power.can_block() => Verdict::Block { reason: reason() },
                Exhausted::Block | Exhausted::Continue => {
                    if answer.decision == Some(AnswerDecision::Ask) && power.can_block() {
                        let rewritten_input = None;
                        return Verdict::Ask { reason: answer.reason.clone(), rewritten_input };
                    }
                    proceed
                }
            },
            Status::Success if answer.stop => {
                let why = answer.stop_reason.clone().or_else(|| answer.reason.clone());
                let reason =
                    why.unwrap_or_else(|| format!("hook {} stopped the work", self.hook.id));
                Verdict::Stop { reason }
            }
            // If nothing can be blocked, there is nothing to allow or to ask about.
            _ if !power.can_block() => proceed,
            Status::Blocked | Status::Success | Status::Skipped | Status::Started => {
                let rewritten_input = answer.updated_input.clone();
                match answer.decision {
                    Some(AnswerDecision::Allow) => {
                        Verdict::Allow { reason: answer.reason.clone(), rewritten_input }
                    }
                    Some(AnswerDecision::Ask) => {
                        Verdict::Ask { reason: answer.reason.clone(), rewritten_input }
                    }
                    Some(AnswerDecision::Deny) | None => proceed,
                }
            }
        }
    }

    /// What its failure leads to. A person who did not answer is not a failed hook.
    fn leads_to(&self) -> Exhausted {
        match &self.last {
            Some((Outcome::Person(PersonOutcome::Unanswered { .. }), _)) => self.terms.on_timeout,
            _ => self.terms.on_failure,
        }
    }

    fn was_refused(&self) -> bool {
        matches!(
            &self.last,
            Some((Outcome::Person(PersonOutcome::Decided { refused: true, .. }), _))
        )
    }

    pub(super) fn response(&self) -> Option<&Value> {
        match &self.last {
            Some((Outcome::Person(PersonOutcome::Decided { response, .. }), _)) => Some(response),
            _ => None,
        }
    }

    /// The output of the child pipeline; the outer `None` for other actions.
    pub(super) fn spawn_output(&self) -> Option<Option<Value>> {
        if !self.hook.action.action_type().starts_session {
            return None;
        }
        let (outcome, _) = self.last.as_ref()?;
        let output = outcome.output().map(|output| output.stdout.as_str()).unwrap_or_default();
        Some(serde_json::from_str(output).ok())
    }

    /// The delay before the next attempt. `chance` spreads the retries of hooks that failed
    /// together.
    pub(super) fn delay(&self, outcome: &Outcome, chance: u64) -> Duration {
        let delay = self.terms.retry_delay;
        if !self.hook.action.action_type().is_request {
            return delay;
        }
        let doublings = self.attempts.saturating_sub(1).min(16);
        let doubled = delay.saturating_mul(1 << doublings).min(SEND_DELAY_MAX);
        let quarter = doubled / 4;
        let part = u32::try_from(chance % 1000).unwrap_or_default();
        let spread = doubled + quarter * part / 1000;
        let asked = match outcome {
            Outcome::Request(RequestOutcome::Responded { retry_after_ms: Some(after), .. }) => {
                *after
            }
            _ => 0,
        };
        spread.max(Duration::from_millis(asked)).min(SEND_DELAY_MAX)
    }

    /// The reason for the report and the agent.
    pub(super) fn explain(&self, meaning: &Meaning) -> Option<String> {
        let reason = meaning.reason.clone()?;
        if !matches!(meaning.status, Status::Failed | Status::TimedOut) {
            return Some(reason);
        }
        if matches!(self.last, Some((Outcome::Person(PersonOutcome::Unanswered { .. }), _))) {
            return Some(reason);
        }
        let id = &self.hook.id;
        let attempts = match self.attempts {
            0 | 1 => String::new(),
            attempts => format!(" in {attempts} attempts"),
        };
        Some(match self.terms.on_failure {
            _ if !self.decides => format!("{reason}{attempts}"),
            Exhausted::Block if self.terms.on_failure_by_default => {
                let way_out = self.hook.action.action_type().way_out;
                format!("hook {id} failed{attempts} ({reason}); {way_out}")
            }
            Exhausted::Block | Exhausted::Abort => format!("hook {id} failed{attempts} ({reason})"),
            Exhausted::Continue => format!("{reason}{attempts}"),
        })
    }

    pub(super) fn report(&self) -> Report {
        // A hook that denied and moved to the background has denied, however it ended.
        let denied = self.early.as_ref().filter(|early| early.meaning.status == Status::Blocked);
        let (status, outcome) = match (&self.last, self.state) {
            (_, RunState::Skipped | RunState::Waiting) => (Status::Skipped, None),
            (Some((outcome, meaning)), RunState::Done) => {
                (meaning.status, Some((outcome, meaning)))
            }
            (Some((outcome, meaning)), _) => (Status::Started, Some((outcome, meaning))),
            (None, _) => (Status::Started, None),
        };
        let output = outcome.and_then(|(outcome, _)| outcome.output());
        let hidden = outcome.is_some_and(|(_, meaning)| meaning.answer.suppress_output);
        Report {
            id: self.hook.id.clone(),
            action: self.hook.action.kind().to_owned(),
            source: self.hook.source.to_string(),
            status: denied.map_or(status, |_| Status::Blocked),
            exit_code: outcome.and_then(|(outcome, _)| outcome.exit_code()),
            stdout: output.filter(|_| !hidden).map_or_else(String::new, |o| o.stdout.clone()),
            stderr: output.filter(|_| !hidden).map_or_else(String::new, |o| o.stderr.clone()),
            attempts: self.attempts,
            duration_ms: milliseconds(self.took),
            reason: denied.map_or(&self.reason, |early| &early.reason).clone(),
            interrupted: denied.is_none()
                && status == Status::Failed
                && matches!(
                    outcome,
                    Some((Outcome::Process(ProcessOutcome::Interrupted { .. }), _))
                ),
            // Other actions describe in a reason what they did.
            shows_output: self.policy.shows_output
                && output.is_some()
                && matches!(self.hook.action, Action::Shell(_)),
            hides_output: hidden,
        }
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1000.0
}
