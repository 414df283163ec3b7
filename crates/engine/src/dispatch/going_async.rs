//! Hooks that move to the background while the decision waits for them.

use hookwright_events::{Answer, FiringEvent, FunctionOutcome, Outcome};

use super::Dispatch;
use super::run::{EarlyAnswer, RunState};
use super::step::{HookStep, Steps};
use crate::ports::Keepsake;

impl Dispatch {
    /// Moves a hook to the background. Its answer so far counts; its end decides nothing.
    pub(super) fn went_async(
        &mut self,
        number: usize,
        answer: Option<Box<Answer>>,
        steps: &mut Steps,
    ) {
        if self.runs[number].state != RunState::Awaited {
            // The event does not wait for this hook, so an answer now is as late as one at its end.
            if let Some(answer) = answer {
                self.late_answer(number, &answer, answer.must_reach_agent, steps);
            }
            return;
        }
        let early = answer.clone().map(|answer| {
            let outcome = Outcome::Function(FunctionOutcome::Answered { answer });
            let meaning = self.read(number, &outcome);
            (outcome, meaning)
        });
        self.set_state(number, RunState::Background);
        let run = &mut self.runs[number];
        run.decides = early.is_some();
        run.reason = early.as_ref().and_then(|(_, meaning)| run.explain(meaning));
        run.early = early.map(|(outcome, meaning)| EarlyAnswer {
            outcome,
            meaning,
            reason: run.reason.clone(),
        });
        let hook = run.hook.id.clone();
        steps.record(|| FiringEvent::HookWentAsync { hook, answer });
    }

    /// Keeps the answer of a background hook for the next safe point. It decides nothing.
    pub(super) fn late_answer(
        &self,
        number: usize,
        answer: &Answer,
        reports_failure: bool,
        steps: &mut Steps,
    ) {
        let kept = Answer {
            system_message: answer.system_message.clone(),
            additional_context: answer.additional_context.clone(),
            must_reach_agent: reports_failure && !answer.additional_context.is_empty(),
            ..Answer::default()
        };
        if kept != Answer::default() {
            let hook = self.runs[number].hook.id.clone();
            steps.record(|| FiringEvent::LateAnswer { hook, answer: kept.clone() });
            steps.push(HookStep::Remember(Keepsake::LateAnswer { answer: Box::new(kept) }));
        }
    }
}
