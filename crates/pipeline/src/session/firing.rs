//! How a session fires its events: known answers are taken from the history, and what the hooks ask
//! for is done.

use hookwright_engine::Firing;
use hookwright_events::{Decision, Event, FiringKey, Point, RunEventKind, Verdict};
use serde_json::{Map, Value};

use super::{Leave, Session};
use crate::history::Step;

impl Session {
    /// Fires an event, with these records in the same commit. What hooks had to say to the agent
    /// waits for the next prompt; an abort leaves the session.
    pub(super) async fn fire(
        &mut self,
        point: Point,
        data: Map<String, Value>,
        with: Vec<RunEventKind>,
    ) -> Result<Decision, Leave> {
        let decision = self.decide(point, data, with).await?;
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
        point: Point,
        data: Map<String, Value>,
        with: Vec<RunEventKind>,
    ) -> Result<Decision, Leave> {
        let key = FiringKey::from(point);
        let stage = key.stage();
        let (key, passed, again) = self.left_at(stage, key);
        let past = match self.history.step(&key) {
            // What it had to say to the agent is in the history as well.
            Step::Decided(decision) => return Ok(*decision),
            Step::Begin => None,
            Step::TakeUp(past) => Some(past),
        };
        let data = past.as_ref().and_then(|past| past.data()).unwrap_or(data);
        let name = key.event().expect("a session fires what it knows");
        let event = Event::new(name.clone(), data);
        let firing = Firing {
            session: Some(self.name.clone()),
            nobody_to_ask: true,
            key: Some(key.to_string()),
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
            let above = self.history.key_above(&key).clone();
            let within = (above != key).then(|| key.to_string());
            let stage = above.stage().filter(|index| *index < self.plan.stages.len());
            let engine = match above.task() {
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
