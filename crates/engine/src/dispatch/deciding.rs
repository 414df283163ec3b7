//! How the answers of a firing's hooks become its decision.

use hookwright_events::{Answer, Decision, FiringEvent, Power, Verdict};

use super::step::Steps;
use super::{Dispatch, EndedBy, HookStep, stop};
use crate::ports::{Keepsake, StopBlocks};

impl Dispatch {
    /// Counts what the awaited hooks left and decided, in order, once all of them have ended.
    pub(super) fn settle_batch(&mut self, steps: &mut Steps) {
        for number in std::mem::take(&mut self.batch) {
            let run = &self.runs[number];
            let Some(meaning) = run.counted() else { continue };
            if let Some(status) = meaning.status.as_last_hook_status() {
                self.carried.last_hook_status = Some(status.into());
                steps.push(HookStep::Remember(Keepsake::LastHookStatus { status: status.into() }));
            }
            if let Some(response) = run.response().cloned() {
                self.carried.hook_response = Some(response.clone());
                steps.push(HookStep::Remember(Keepsake::HookResponse { response }));
            }
            if let Some(output) = run.spawn_output() {
                self.carried.spawn_output.clone_from(&output);
                steps.push(HookStep::Remember(Keepsake::SpawnOutput { output }));
            }
            let ends = match self.part(number).verdict {
                Verdict::Abort { .. } => Some(EndedBy::Abort(number)),
                Verdict::Stop { .. } => Some(EndedBy::Stop(number)),
                Verdict::Block { .. } => Some(EndedBy::Block(number)),
                Verdict::Proceed { .. } | Verdict::Allow { .. } | Verdict::Ask { .. } => None,
            };
            // An abort also ends what a block had left running. The first abort is final.
            let aborts = matches!(ends, Some(EndedBy::Abort(_)));
            let is_final = matches!(self.ended, Some(EndedBy::Interrupt | EndedBy::Abort(_)));
            if self.ended.is_none() || (aborts && !is_final) {
                self.ended = ends.or(self.ended.take());
            }
        }
        if matches!(self.ended, Some(EndedBy::Abort(_))) {
            self.end_retries(steps);
        }
    }

    /// What a hook contributes to the decision. If its dialect lets the first decision count, later
    /// ones don't.
    fn part(&self, number: usize) -> Decision {
        let run = &self.runs[number];
        let event = &self.given.event.name;
        let mut part = run.part(self.power);
        part.survives_error = run.counts() && run.policy.survives_errors_at.contains(event);
        let decides = |part: &Decision| {
            matches!(
                part.verdict,
                Verdict::Allow { .. } | Verdict::Ask { .. } | Verdict::Block { .. }
            )
        };
        let first_counts = run.policy.first_decision_at.contains(event);
        if first_counts && decides(&part) {
            let before = self.runs[..number].iter();
            let of_same = before.filter(|other| other.policy.dialect == run.policy.dialect);
            if of_same.map(|other| other.part(self.power)).any(|other| decides(&other)) {
                part.verdict = Verdict::Proceed { rewritten_input: None };
                part.updated_permissions = None;
            }
        }
        part
    }

    pub(super) fn finish(&mut self, steps: &mut Steps) {
        if self.finished {
            return;
        }
        self.finished = true;
        let late = std::mem::take(&mut self.given.remembered.late_answers);
        let mut parts: Vec<Decision> = late.into_iter().map(of_late_answer).collect();
        parts.extend(self.unreadable());
        parts.extend((0..self.runs.len()).map(|number| self.part(number)));
        if self.ended == Some(EndedBy::Interrupt) && self.power == Power::Blocks {
            let reason = "interrupted before its hooks had answered".into();
            parts.push(Decision { verdict: Verdict::Block { reason }, ..Decision::default() });
        }
        let mut decision = Decision::combine(parts);
        if let Verdict::Ask { reason, .. } = &decision.verdict
            && self.given.no_approver
        {
            let reason = reason.as_deref().unwrap_or("a hook asks for a person's decision");
            let reason = format!("cannot ask a person: {reason}");
            decision.verdict = Verdict::Block { reason };
        }
        let agent = StopBlocks::agent_of(&self.given.event);
        let blocked_before = self.given.remembered.stop_blocks.count_for(agent);
        if let Some(count) = stop::apply_rules(&self.given.event, &mut decision, blocked_before) {
            let agent = agent.to_owned();
            steps.push(HookStep::Remember(Keepsake::StopBlocks { agent, count }));
        }
        steps.record(|| FiringEvent::Decided {
            decision: decision.record(&self.given.event, &self.reports()),
        });
        steps.push(HookStep::Finished(Box::new(decision)));
    }

    fn unreadable(&self) -> Option<Decision> {
        let first = self.given.broken.first().filter(|_| self.power.can_block())?;
        let reason = format!("a hook cannot be read, so the event is blocked: {first}");
        Some(Decision { verdict: Verdict::Block { reason }, ..Decision::default() })
    }
}

fn of_late_answer(answer: Answer) -> Decision {
    Decision {
        additional_context: answer.additional_context,
        must_reach_agent: answer.must_reach_agent,
        system_messages: answer.system_message.into_iter().collect(),
        ..Decision::default()
    }
}
