//! Fires a session's events, and resumes its background hooks.

use hookwright_engine::Firing;
use hookwright_events::firing_key::ExecutionEvent;
use hookwright_events::{Event, Point};
use hookwright_process::faults;

use super::{Halt, Session, completed};
use crate::course::{Decided, EventToFire, LeftFiring};

impl Session {
    /// Fires an event, or resumes its firing. Output of hooks for the agent waits for the next
    /// prompt.
    pub(super) async fn fire(&mut self, fire: EventToFire) -> Result<Decided, Halt> {
        let EventToFire { key, past, again, data, with } = fire;
        match key.point {
            Point::StageStart { .. } if !with.is_empty() => self.task_desk.open(),
            Point::Execution { event: ExecutionEvent::PreStart, .. } => faults::point("item taken"),
            _ => {}
        }
        let stage = key.stage();
        let (passed, again) = self.left_at(stage, again.as_ref());
        let data = match past.as_ref().and_then(|past| past.data()) {
            Some(data) => data,
            None => self.data_of(&key, data).await?,
        };
        let name = key.event().expect("a session fires what it knows");
        let event = Event::new(name.clone(), data);
        let firing = Firing {
            session: Some(self.recorder.session.clone()),
            no_approver: true,
            key: Some(key.to_string()),
            with,
            past,
            passed,
            again,
            remakes_data: true,
            ..Firing::default()
        };
        let engine = self.engine(stage);
        let firing = engine.fire(event, firing);
        let fired = completed(firing, self.interrupt.token(), || engine.interrupt()).await;
        if let Some(error) = self.recorder.journal.failure() {
            return Err(error.into());
        }
        self.note_question(stage, &fired);
        self.pending.lock().take_in(&fired.decision, Some(&name));
        if self.interrupt.token().is_cancelled() {
            return Err(self.interrupted());
        }
        let decision = fired.decision;
        Ok(Decided {
            is_answered: !decision.piped_output.is_empty() || decision.survives_error,
            verdict: decision.verdict,
            aborted_by_task: self.task_desk.take_abort(),
        })
    }

    /// Resumes hooks that ran in the background when the session was interrupted, and those of an
    /// earlier end.
    pub(super) async fn resume_background(&mut self, left: Vec<LeftFiring>) -> Result<(), Halt> {
        for LeftFiring { key, above, past } in left {
            let Some((event, data)) = past.fired() else { continue };
            let event = Event::new(event, data);
            // A firing by a hook belongs to the hook's stage.
            let within = (above != key).then(|| key.to_string());
            let stage = above.stage().filter(|index| *index < self.plan.stages.len());
            let engine = match above.task() {
                Some(firing) => self.engine_of_task(firing, &event),
                None => self.engine(stage),
            };
            let firing = Firing {
                session: Some(self.recorder.session.clone()),
                no_approver: true,
                within,
                past: Some(Box::new(past)),
                ..Firing::default()
            };
            self.unless_interrupted(engine.fire(event, firing)).await?;
        }
        Ok(())
    }
}
