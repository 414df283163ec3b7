//! Tasks that are completed while a session runs: its hooks decide, and with their decision the
//! task is completed.
//!
//! [`TaskDesk`] does it beside the session's course, which continues meanwhile: both are parts of
//! one future, so neither interrupts a step of the other. Output of hooks for the agent joins what
//! waits for the next prompt.
//!
//! The journal has the decision and the task's new state in one commit. A completion that is
//! interrupted before is resumed with the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_engine::Chain;
use hookwright_engine::PastFiring;
use hookwright_engine::{Engine, Firing};
use hookwright_events::firing_key::{Occasion, TaskFiring, TaskHooks};
use hookwright_events::{
    Decision, Event, EventName, FiringEvent, FiringKey, RunEvent, RunEventKind, Task, TaskId,
    TaskState, Verdict,
};
use hookwright_process::faults;
use hookwright_store::{Fence, KeptTasks, Put, TaskError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::event_place::KeptPlace;
use crate::desk::DeskAnswer;
use crate::history::History;
use crate::journal::{Beside, SessionJournal};
use crate::lease;
use crate::limits::TASK_PAUSE;
use crate::pending_output::SharedOutput;
use crate::record::milliseconds;
use crate::store_calls::StoreCall;
use crate::task_lease::{Look, TaskLease};

pub(super) struct TaskDesk {
    pub(super) session: String,
    pub(super) tasks: KeptTasks,
    journal: Arc<SessionJournal>,
    pending: SharedOutput,
    interrupt: CancellationToken,
    state: Mutex<DeskState>,
    pub(super) hours: watch::Sender<Hours>,
    /// Tasks that are being completed.
    underway: watch::Sender<Vec<TaskId>>,
    /// Tasks whose completion was interrupted, and has not been resumed yet.
    left: watch::Sender<Vec<TaskId>>,
}

/// Whether callers are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hours {
    /// Not yet: a resumed session has not reached the stage in which it was interrupted, so the
    /// hooks to ask are unknown.
    NotYet,
    Open,
    Closed,
}

#[derive(Default)]
struct DeskState {
    position: Option<DeskPosition>,
    /// The answers for the tasks that are being completed.
    answers: HashMap<TaskId, watch::Receiver<Option<DeskAnswer>>>,
    /// The number of completions of each task that were begun.
    times: HashMap<TaskId, u32>,
    /// Why a hook wants the session to end.
    aborted: Option<String>,
}

/// Where the session is: the hooks to ask, and their data.
#[derive(Clone)]
pub(super) struct DeskPosition {
    /// With the hooks that decide.
    pub(super) before: Engine,
    /// With those that run after the fact, if there are any.
    pub(super) after: Option<Engine>,
    /// What the data of its events are made of.
    pub(super) place: KeptPlace,
}

impl TaskDesk {
    /// The desk of a session, as the journal has left it.
    pub(super) fn new(
        session: &str,
        history: &History,
        journal: &Arc<SessionJournal>,
        pending: &SharedOutput,
        interrupt: &CancellationToken,
    ) -> Self {
        let aborted = history.aborted_by_task().map(str::to_owned);
        let times = history.task_times();
        Self {
            session: session.to_owned(),
            tasks: KeptTasks::new(Arc::clone(journal.calls().store()), journal.project()),
            journal: Arc::clone(journal),
            pending: pending.clone(),
            interrupt: interrupt.clone(),
            state: Mutex::new(DeskState { times, aborted, ..DeskState::default() }),
            hours: watch::Sender::new(Hours::NotYet),
            underway: watch::Sender::default(),
            left: watch::Sender::new(history.tasks_left()),
        }
    }

    /// Sets the session's position.
    pub(super) fn move_to(&self, position: DeskPosition) {
        self.state().position = Some(position);
    }

    /// Removes and returns the reason why a hook wants the session to end.
    pub(super) fn take_abort(&self) -> Option<String> {
        self.state().aborted.take()
    }

    /// Serves callers from now on, unless the desk was closed.
    pub(super) fn open(&self) {
        self.hours.send_if_modified(|hours| {
            let opens = *hours == Hours::NotYet;
            if opens {
                *hours = Hours::Open;
            }
            opens
        });
    }

    /// From now on callers are told that the session accepts no more requests.
    pub(super) fn close(&self) {
        self.hours.send_replace(Hours::Closed);
    }

    /// Whether a completion of this task was interrupted, and has not been resumed yet.
    pub(super) fn is_left(&self, id: TaskId) -> bool {
        self.left.borrow().contains(&id)
    }

    /// Another running session that works on the task: its hooks have to be asked, not ours.
    pub(super) async fn other_holder(&self, id: TaskId) -> Result<Option<String>, TaskError> {
        let session = self.session.clone();
        let found = self.with_tasks(move |tasks| {
            let task = tasks.get(&id.to_string())?.task;
            let is_held = task.state == TaskState::InProgress;
            let other = task.session.filter(|other| is_held && *other != session);
            let Some(other) = other else { return Ok(None) };
            let lease = lease::name_of(tasks.project(), &other);
            let runs = lease::holder(tasks.store(), &lease)?.is_some();
            Ok(runs.then_some(other))
        });
        found.await
    }

    /// Makes calls about tasks.
    fn with_tasks<T: Send + 'static>(
        &self,
        work: impl FnOnce(&KeptTasks) -> T + Send + 'static,
    ) -> StoreCall<T> {
        let tasks = self.tasks.clone();
        self.journal.calls().call(move |_| work(&tasks))
    }

    async fn task(&self, id: TaskId) -> Result<Task, TaskError> {
        self.with_tasks(move |tasks| Ok(tasks.get(&id.to_string())?.task)).await
    }

    /// Gives a task's lease back. If the session ends meanwhile, the call is still made.
    async fn give_back(&self, lease: TaskLease, fence: Fence) {
        self.journal.calls().call(move |_| lease.give_back(&fence)).await;
    }

    /// The tasks that are being completed.
    pub(super) fn underway(&self) -> Vec<TaskId> {
        self.underway.borrow().clone()
    }

    /// Returns when no task is being completed.
    pub(super) async fn idle(&self) {
        // The sender lives as long as `self`.
        let _ = self.underway.subscribe().wait_for(Vec::is_empty).await;
    }

    /// Completes a task, on this occasion or because of a request. A request for a task that is
    /// being completed gets the same answer.
    pub(super) async fn complete(
        &self,
        id: TaskId,
        occasion: Option<Occasion>,
        chain: Chain,
    ) -> DeskAnswer {
        if self.is_left(id) {
            // The request comes from one of the interrupted hooks.
            if chain.depth() > 0 {
                return DeskAnswer::Underway;
            }
            let _ = self.left.subscribe().wait_for(|left| !left.contains(&id)).await;
        }
        let (tell, hear) = watch::channel(None);
        let other = {
            let mut state = self.state();
            let other = state.answers.get(&id).cloned();
            if other.is_none() {
                state.answers.insert(id, hear);
            }
            other
        };
        if let Some(mut other) = other {
            // Its own hook would wait for itself.
            if chain.depth() > 0 {
                return DeskAnswer::Underway;
            }
            let answer = other.wait_for(Option::is_some).await;
            return answer.ok().and_then(|answer| answer.clone()).unwrap_or(DeskAnswer::Closed);
        }
        self.underway.send_modify(|underway| underway.push(id));
        let answer = self.complete_alone(id, occasion, chain).await;
        self.state().answers.remove(&id);
        tell.send_replace(Some(answer.clone()));
        self.underway.send_modify(|underway| underway.retain(|other| *other != id));
        answer
    }

    async fn complete_alone(
        &self,
        id: TaskId,
        occasion: Option<Occasion>,
        chain: Chain,
    ) -> DeskAnswer {
        let lease = TaskLease::new(&self.tasks, id);
        let fence = match self.leased(&lease, &chain).await {
            Ok(fence) => fence,
            Err(answer) => return answer,
        };
        let answer = self.ask_and_complete(id, occasion, chain).await;
        self.give_back(lease, fence).await;
        answer.unwrap_or_else(|error| DeskAnswer::Failed { reason: error.to_string() })
    }

    async fn ask_and_complete(
        &self,
        id: TaskId,
        occasion: Option<Occasion>,
        chain: Chain,
    ) -> Result<DeskAnswer, TaskError> {
        let task = self.task(id).await?;
        if task.state == TaskState::Completed {
            return Ok(DeskAnswer::Already);
        }
        let Some(position) = self.state().position.clone() else { return Ok(DeskAnswer::Closed) };
        let occasion = occasion.unwrap_or_else(|| Occasion::Asked(self.next_time(id)));
        let part = if position.after.is_some() { TaskHooks::Before } else { TaskHooks::Whole };
        let firing = TaskFiring { task: id, occasion, part };
        self.before_and_after(firing, &position, &task, chain, None).await
    }

    /// Resumes an interrupted firing. Returns the answer, unless the task was completed.
    pub(super) async fn resume(
        &self,
        firing: TaskFiring,
        position: DeskPosition,
        past: Option<PastFiring>,
    ) -> Result<Option<DeskAnswer>, TaskError> {
        let lease = TaskLease::new(&self.tasks, firing.task);
        let resumed = match self.leased(&lease, &Chain::default()).await {
            Ok(fence) => {
                let resumed = self.go_on(firing, position, past.map(Box::new)).await;
                self.give_back(lease, fence).await;
                resumed
            }
            Err(answer) => Ok(Some(answer)),
        };
        self.left.send_modify(|left| left.retain(|id| *id != firing.task));
        resumed
    }

    async fn go_on(
        &self,
        firing: TaskFiring,
        position: DeskPosition,
        past: Option<Box<PastFiring>>,
    ) -> Result<Option<DeskAnswer>, TaskError> {
        let (task, chain) = (self.task(firing.task).await?, Chain::default());
        match firing.part {
            TaskHooks::After => {
                self.after(firing, &position, &task, chain, past).await;
                Ok(None)
            }
            // Another process has finished it meanwhile.
            TaskHooks::Whole | TaskHooks::Before if !task.state.is_unfinished() => Ok(None),
            TaskHooks::Whole | TaskHooks::Before => {
                self.before_and_after(firing, &position, &task, chain, past).await.map(Some)
            }
        }
    }

    /// Completes the task if the hooks that decide agree, then fires those that run after the fact.
    async fn before_and_after(
        &self,
        firing: TaskFiring,
        position: &DeskPosition,
        task: &Task,
        chain: Chain,
        past: Option<Box<PastFiring>>,
    ) -> Result<DeskAnswer, TaskError> {
        let answer = self.before(firing, position, task, chain.clone(), past).await?;
        if matches!(answer, DeskAnswer::Completed { .. }) && firing.part == TaskHooks::Before {
            self.after(firing, position, task, chain, None).await;
        }
        Ok(answer)
    }

    /// Asks the hooks that decide, and completes the task with their decision.
    async fn before(
        &self,
        firing: TaskFiring,
        position: &DeskPosition,
        task: &Task,
        chain: Chain,
        past: Option<Box<PastFiring>>,
    ) -> Result<DeskAnswer, TaskError> {
        let number = past.as_ref().map(|past| past.number);
        let beside = self.journal.keep_beside(self.completion(firing, number));
        let decision = self.fire(&position.before, firing, position, task, chain, past).await;
        self.journal.forget_beside(beside);
        faults::point("task decided");
        if let Some(error) = self.journal.failure() {
            return Err(error.into());
        }
        if self.interrupt.is_cancelled() {
            return Ok(DeskAnswer::Failed { reason: "the session was interrupted".to_owned() });
        }
        let messages = decision.system_messages;
        let reason = match decision.verdict {
            Verdict::Proceed { .. } | Verdict::Allow { .. } => {
                self.ensure_completed(firing.task).await?;
                return Ok(DeskAnswer::Completed { messages });
            }
            Verdict::Ask { reason, .. } => reason.unwrap_or_default(),
            Verdict::Block { reason } => reason,
            Verdict::Stop { reason } | Verdict::Abort { reason } => {
                self.state().aborted = Some(reason.clone());
                reason
            }
        };
        Ok(DeskAnswer::Blocked { reason, messages })
    }

    /// Fires the hooks that run after the fact.
    async fn after(
        &self,
        firing: TaskFiring,
        position: &DeskPosition,
        task: &Task,
        chain: Chain,
        past: Option<Box<PastFiring>>,
    ) {
        let Some(after) = &position.after else { return };
        let firing = TaskFiring { part: TaskHooks::After, ..firing };
        self.fire(after, firing, position, task, chain, past).await;
    }

    async fn fire(
        &self,
        engine: &Engine,
        firing: TaskFiring,
        position: &DeskPosition,
        task: &Task,
        chain: Chain,
        past: Option<Box<PastFiring>>,
    ) -> Decision {
        let mut data = position.place.data(&self.session, self.journal.session_id());
        data.insert("task_id".to_owned(), task.id.to_string().into());
        data.insert("task_content".to_owned(), task.content.clone().into());
        let data = past.as_ref().and_then(|past| past.data()).unwrap_or(data);
        let firing = Firing {
            session: Some(self.session.clone()),
            chain,
            no_approver: true,
            key: Some(FiringKey::from(firing).to_string()),
            past,
            ..Firing::default()
        };
        let fired = engine.fire(Event::new(EventName::TASK_COMPLETE, data), firing).await;
        self.pending.lock().take_in(&fired.decision, Some(&EventName::TASK_COMPLETE));
        fired.decision
    }

    /// The record to store with the decision of a firing: the completed task.
    fn completion(&self, firing: TaskFiring, number: Option<u64>) -> Beside {
        let (tasks, session) = (self.tasks.clone(), self.session.clone());
        let interrupt = self.interrupt.clone();
        let (key, mut number) = (FiringKey::from(firing).to_string(), number);
        Box::new(move |event: &RunEvent| {
            match &event.kind {
                RunEventKind::Firing(FiringEvent::Fired { key: Some(fired), .. })
                    if *fired == key =>
                {
                    number = Some(event.firing);
                }
                RunEventKind::Firing(FiringEvent::Decided { decision })
                    if number == Some(event.firing)
                        && !interrupt.is_cancelled()
                        && Decision::from_record(decision).verdict.lets_pass() =>
                {
                    return completed(&tasks, firing.task, &session, &event.at);
                }
                _ => {}
            }
            None
        })
    }

    /// Checks that the task was completed with the decision: other writers may have kept changing
    /// it.
    async fn ensure_completed(&self, id: TaskId) -> Result<(), TaskError> {
        let ensured = self.with_tasks(move |tasks| {
            let kept = tasks.get(&id.to_string())?;
            if kept.task.state != TaskState::Completed {
                tasks.set_state(id, TaskState::Completed, kept.task.updated_ms)?;
            }
            Ok(())
        });
        ensured.await
    }

    /// Keeps other processes from completing this task meanwhile.
    async fn leased(&self, lease: &TaskLease, chain: &Chain) -> Result<Fence, DeskAnswer> {
        let failed = |reason: String| DeskAnswer::Failed { reason };
        loop {
            let (this, chain) = (lease.clone(), chain.clone());
            let looked = self.journal.calls().call(move |_| this.look(&chain)).await;
            match looked.map_err(|error| failed(error.to_string()))? {
                Look::Ours(fence) => return Ok(fence),
                Look::Underway => return Err(DeskAnswer::Underway),
                Look::Busy { pid } => {
                    return Err(failed(format!("process {pid} is still completing it")));
                }
                Look::Theirs { .. } => {}
            }
            tokio::select! {
                () = tokio::time::sleep(TASK_PAUSE) => {}
                () = self.interrupt.cancelled() => {
                    return Err(failed("the session was interrupted".to_owned()));
                }
            }
        }
    }

    fn next_time(&self, id: TaskId) -> u32 {
        let mut state = self.state();
        let time = state.times.entry(id).or_default();
        *time += 1;
        *time
    }

    fn state(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The completed task's record; `None` if it is completed already.
fn completed(tasks: &KeptTasks, id: TaskId, session: &str, at: &str) -> Option<Put> {
    let mut kept = tasks.find(id).ok()??;
    if kept.task.state == TaskState::Completed {
        return None;
    }
    kept.task.set_state(TaskState::Completed);
    kept.task.session = Some(session.to_owned());
    kept.task.updated_ms = milliseconds(at).unwrap_or(kept.task.updated_ms);
    Some(tasks.put_for(&kept))
}
