//! How a session fires its events: known answers are taken from the history, and what the hooks ask
//! for is done.

use hookwright_engine::Firing;
use hookwright_events::{Decision, Event, EventName, RunEventKind, Verdict};
use serde_json::{Map, Value};

use super::{Leave, Session};
use crate::history::Step;
use crate::task_firing::TaskFiring;

impl Session {
    /// Fires an event, with these records in the same commit. What hooks had to say to the agent
    /// waits for the next prompt; an abort leaves the session.
    pub(super) async fn fire(
        &mut self,
        stage: Option<usize>,
        name: EventName,
        key: String,
        data: Map<String, Value>,
        with: Vec<RunEventKind>,
    ) -> Result<Decision, Leave> {
        let decision = self.decide(stage, name, key, data, with).await?;
        self.obey_tasks()?;
        match &decision.verdict {
            Verdict::Abort { reason } | Verdict::Stop { reason } => {
                Err(Leave::Aborted(reason.clone()))
            }
            Verdict::Proceed { .. }
            | Verdict::Allow { .. }
            | Verdict::Ask { .. }
            | Verdict::Block { .. } => Ok(decision),
        }
    }

    /// The same, but whoever asks decides what an abort means.
    pub(super) async fn decide(
        &mut self,
        stage: Option<usize>,
        name: EventName,
        key: String,
        data: Map<String, Value>,
        with: Vec<RunEventKind>,
    ) -> Result<Decision, Leave> {
        let (key, passed, again) = self.left_at(stage, key);
        let past = match self.history.step(&key) {
            // What it had to say to the agent is in the history as well.
            Step::Decided(decision) => return Ok(*decision),
            Step::Begin => None,
            Step::TakeUp(past) => Some(past),
        };
        let data = past.as_ref().and_then(|past| past.data()).unwrap_or(data);
        let event = Event::new(name.clone(), data);
        let firing = Firing {
            session: Some(self.name.clone()),
            nobody_to_ask: true,
            key: Some(key),
            with,
            past,
            passed,
            again,
            remakes_data: true,
            ..Firing::default()
        };
        let engine = self.engine(stage);
        let fired = {
            let mut firing = std::pin::pin!(engine.fire(event, firing));
            tokio::select! {
                fired = &mut firing => fired,
                () = self.interrupt.cancelled() => {
                    engine.interrupt();
                    firing.await
                }
            }
        };
        if let Some(error) = self.journal.failure() {
            return Err(error.into());
        }
        self.note_question(stage, &fired);
        self.pending.take_in(&fired.decision, Some(&name));
        if self.interrupt.is_cancelled() {
            return Err(Leave::Interrupted);
        }
        Ok(fired.decision)
    }

    /// Goes on with hooks that ran in the background when the session was cut off, and with those of an
    /// earlier end.
    pub(super) async fn take_up_background(&mut self) -> Result<(), Leave> {
        for (key, past) in self.history.left_in_background() {
            let Some((event, data)) = past.fired() else { continue };
            let event = Event::new(event, data);
            // What a hook has fired belongs where the hook does.
            let above = self.history.key_above(&key).to_owned();
            let within = (above != key).then_some(key);
            let stage = stage_of(&above).filter(|index| *index < self.plan.stages.len());
            let engine = match TaskFiring::of(&above) {
                Some(firing) => self.engine_of_task(firing, &event),
                None => self.engine(stage),
            };
            let firing = Firing {
                session: Some(self.name.clone()),
                nobody_to_ask: true,
                within,
                past: Some(Box::new(past)),
                ..Firing::default()
            };
            self.unless_interrupted(engine.fire(event, firing)).await?;
        }
        Ok(())
    }
}

/// The stage in which the firing with this key was fired: `iteration:complete/2/5` is of the one with
/// the number 2. The session's own events belong to none.
fn stage_of(key: &str) -> Option<usize> {
    let mut parts = key.split('/');
    let event = parts.next()?;
    let of_stages = ["stage:", "iteration:", "execution:"];
    let is_of_stage = of_stages.iter().any(|domain| event.starts_with(domain));
    parts.next().filter(|_| is_of_stage)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_fires_its_own_events_and_no_others() {
        for (key, stage) in [
            ("iteration:complete/2/5", Some(2)),
            ("stage:start/0", Some(0)),
            ("execution:post_end/1/7", Some(1)),
            ("session:start/0", None),
            ("session:stop/1", None),
            ("closing/session:end/1", None),
        ] {
            assert_eq!(stage_of(key), stage, "{key}");
        }
    }
}
