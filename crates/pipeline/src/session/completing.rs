//! The session's side of its task desk: which hooks it asks, when it opens and closes, and what is
//! resumed.

use std::sync::Arc;

use hookwright_engine::Chain;
use hookwright_engine::Engine;
use hookwright_events::firing_key::{Occasion, TaskFiring, TaskHooks};
use hookwright_events::{Event, EventName, TaskId, Verdict};

use super::event_place::KeptPlace;
use super::task_desk::DeskPosition;
use super::{Halt, Session, completed};
use crate::course::Happening;
use crate::desk::{BothDesks, DeskAnswer, OpenDesk, StoreDesk};
use crate::history::LeftTask;

impl Session {
    /// Asks the hooks of `task:complete`, and completes a task on this occasion.
    pub(super) async fn complete_task(
        &self,
        id: TaskId,
        occasion: Occasion,
    ) -> Result<Happening, Halt> {
        let completing = self.task_desk.complete(id, Some(occasion), Chain::default());
        let refused = match self.unless_interrupted(completing).await? {
            DeskAnswer::Completed { .. }
            | DeskAnswer::Already
            | DeskAnswer::Underway
            | DeskAnswer::Closed => None,
            DeskAnswer::Blocked { reason, .. } | DeskAnswer::Failed { reason } => Some(reason),
        };
        let aborted_by_task = self.task_desk.take_abort();
        Ok(Happening::TaskAsked { refused, aborted_by_task })
    }

    /// Waits for hooks; an interrupt ends them.
    pub(super) async fn unless_interrupted<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Halt> {
        let interrupt = || self.engines.interrupt();
        let done = completed(work, self.interrupt.token(), interrupt).await;
        if let Some(error) = self.recorder.journal.failure() {
            return Err(error.into());
        }
        if self.interrupt.token().is_cancelled() {
            return Err(self.interrupted());
        }
        Ok(done)
    }

    /// Tells the desk where the session is, if that has changed.
    pub(super) fn keep_desk_position(&mut self) {
        let position = self.course.position();
        let Some(stage) = position.stage else { return };
        let at = Some((stage, position.iteration));
        if self.desk_at == at {
            return;
        }
        self.desk_at = at;
        self.move_desk(Some(stage));
    }

    /// From now on completed tasks use the hooks of this stage and the data of the current position.
    pub(super) fn move_desk(&mut self, stage: Option<usize>) {
        let position = self.desk_position(stage);
        self.task_desk.move_to(position);
    }

    fn desk_position(&mut self, stage: Option<usize>) -> DeskPosition {
        let place = KeptPlace::new(&self.plan, &self.folder, self.course.position());
        let known = |part| self.engines.get(stage, part);
        if let (Some(before), after @ Some(_)) = (known(TaskHooks::Before), known(TaskHooks::After))
        {
            return DeskPosition { before, after, place };
        }
        match self.hooks_of(stage).split_after_the_fact(&EventName::TASK_COMPLETE) {
            (_, None) => DeskPosition { before: self.engine(stage), after: None, place },
            (before, Some(after)) => {
                let before = self.engines.make(stage, TaskHooks::Before, before);
                let after = Some(self.engines.make(stage, TaskHooks::After, after));
                DeskPosition { before, after, place }
            }
        }
    }

    /// The engine in which a task was completed.
    pub(super) fn engine_of_task(&mut self, firing: TaskFiring, event: &Event) -> Engine {
        let stage = self.stage_called(event.text("stage"));
        let DeskPosition { before, after, .. } = self.desk_position(stage);
        match firing.part {
            TaskHooks::Whole | TaskHooks::Before => before,
            TaskHooks::After => after.unwrap_or(before),
        }
    }

    fn stage_called(&self, name: Option<&str>) -> Option<usize> {
        self.plan.stages.iter().position(|stage| Some(stage.name.as_str()) == name)
    }

    /// Opens the desk: a socket, and the store if other machines share it. Without one no command can
    /// complete a task that needs this session's hooks.
    pub(super) fn open_desk(&mut self) -> Option<Box<dyn OpenDesk>> {
        let (journal, session) = (&self.recorder.journal, &self.recorder.session);
        let socket = match self.desks.take()?.open(journal.project(), session) {
            Ok(desk) => Some(desk),
            Err(error) => {
                let note =
                    format!("this session cannot receive requests to complete tasks: {error}");
                self.recorder.show_note(note);
                None
            }
        };
        let calls = journal.calls();
        let shared = calls.is_remote().then(|| {
            let (fence, wakes) = (journal.fence().clone(), self.orders.wakes());
            let desk = StoreDesk::open(calls.clone(), journal.project(), session, fence, wakes);
            Box::new(desk) as Box<dyn OpenDesk>
        });
        match (socket, shared) {
            (Some(first), Some(second)) => Some(Box::new(BothDesks { first, second })),
            (one, other) => one.or(other),
        }
    }

    /// Resumes tasks whose completion was interrupted. Returns the decisions about them.
    pub(super) async fn resume_tasks(
        &mut self,
        left: Vec<LeftTask>,
    ) -> Result<Vec<(TaskFiring, Verdict)>, Halt> {
        let mut decided = Vec::new();
        for LeftTask { firing, past, stage } in left {
            let stage = self.stage_called(stage.as_deref());
            let position = self.desk_position(stage);
            let task_desk = Arc::clone(&self.task_desk);
            let resuming = task_desk.resume(firing, position, past);
            match self.unless_interrupted(resuming).await? {
                Ok(Some(DeskAnswer::Completed { .. })) => {
                    decided.push((firing, Verdict::Proceed { rewritten_input: None }));
                }
                Ok(Some(DeskAnswer::Blocked { reason, .. })) => {
                    decided.push((firing, Verdict::Block { reason }));
                }
                Ok(Some(DeskAnswer::Failed { reason })) => self.note_left(firing, &reason).await?,
                Ok(
                    Some(DeskAnswer::Already | DeskAnswer::Underway | DeskAnswer::Closed) | None,
                ) => {}
                Err(error) => self.note_left(firing, &error.to_string()).await?,
            }
        }
        Ok(decided)
    }

    async fn note_left(&self, firing: TaskFiring, why: &str) -> Result<(), Halt> {
        let note = format!("task {} was not completed: {why}", firing.task);
        Ok(self.recorder.note(note).await?)
    }

    /// Waits for the hooks of tasks that are being completed.
    pub(super) async fn until_tasks_are_completed(&self) {
        let underway = self.task_desk.underway();
        if underway.is_empty() {
            return;
        }
        let ids: Vec<String> = underway.iter().map(ToString::to_string).collect();
        let note = format!("waiting for the hooks of tasks: {}", ids.join(", "));
        self.recorder.show_note(note);
        let interrupt = || self.engines.interrupt();
        completed(self.task_desk.idle(), self.interrupt.token(), interrupt).await;
    }

    /// Accepts no more requests, and waits for the accepted ones.
    pub(super) async fn close_desk(&self) {
        self.task_desk.close();
        self.until_tasks_are_completed().await;
    }
}
