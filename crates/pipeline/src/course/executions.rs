//! A stage with a queue: one execution after the other, until the queue is empty.
//!
//! ```text
//! execution:pre_start → execution:post_start → iterations → execution:pre_end → execution:post_end
//! ```
//!
//! A work item is taken before anything is done about it, and its result is committed together with
//! the entry that reports it. A blocked `pre_start` leaves it undone and marks it blocked; a
//! blocked `pre_end` makes it a failure. After a failure the next one follows.

use hookwright_events::firing_key::{ExecutionEvent, Occasion};
use hookwright_events::{
    ItemState, PauseCause, Point, RunEventKind, SessionEvent, TaskId, TaskState, Verdict, WorkItem,
    WorkSource,
};
use serde_json::json;

use super::position::ItemWork;
use super::step::{Decided, EarlyEnd, Happening, Step};
use super::way::{Way, unexpected};
use crate::history::PastItem;
use crate::plan::{Reason, Until};
use crate::queue::without_nul;

impl Way {
    /// Works through a stage's queue; returns why it ended.
    pub(super) async fn work_off(&mut self) -> Result<Reason, EarlyEnd> {
        let stage = self.position.stage_number();
        loop {
            if let Some(reason) = self.is_enough() {
                // Items after the last iteration were blocked, and are not asked about again.
                if let Some(past) = self.history.stages_ended.get(&stage) {
                    self.position.executions = past.executions;
                }
                return Ok(reason);
            }
            let is_known = self.history.items.contains_key(&(stage, self.position.executions + 1));
            if !is_known {
                self.carry_out(Step::PassGate).await?;
            }
            let Some(item) = self.next_item().await? else { return Ok(Reason::Completed) };
            if !is_known && self.position.iteration > 0 {
                self.wait_between().await?;
            }
            self.execution(item).await?;
        }
    }

    /// Does one more work item, although the stage has ended. Returns whether there was one.
    pub(super) async fn work_on(&mut self) -> Result<bool, EarlyEnd> {
        if !matches!(self.stage_bounds().until, Until::Queue { .. }) {
            return Ok(false);
        }
        let Some(item) = self.next_item().await? else { return Ok(false) };
        self.execution(item).await?;
        Ok(true)
    }

    /// The next work item, if there is one.
    async fn next_item(&mut self) -> Result<Option<WorkItem>, EarlyEnd> {
        // Items that were put back are for another session; this one would take them again and
        // again.
        let put_back = self.history.put_back(self.position.stage_number());
        // If the cost limit is reached, the work item stays in the queue, and no hook is fired for
        // it.
        let too_costly = self.cost_reached();
        let unless = too_costly.map(|reason| EarlyEnd::Paused { cause: PauseCause::Cost, reason });
        match self.ask(Step::TakeItem { put_back, unless: unless.clone() }).await? {
            Happening::Item(item) => Ok(item),
            Happening::Lines(lines) => match (self.next_line(&lines), unless) {
                (Some(_), Some(leave)) => Err(leave),
                (item, _) => Ok(item),
            },
            other => unexpected(&other),
        }
    }

    /// The first line that is new; else the first that was done and is still printed, since there
    /// is more to do about it. One that failed or was blocked is not tried again.
    fn next_line(&self, lines: &[String]) -> Option<WorkItem> {
        let tried = self.history.tried(self.position.stage_number());
        let is_new = |line: &&String| !tried.contains_key(line.as_str());
        let is_done = |line: &&String| tried.get(line.as_str()) == Some(&Some(ItemState::Done));
        let line = lines.iter().find(is_new).or_else(|| lines.iter().find(is_done))?;
        Some(WorkItem {
            source: WorkSource::Command,
            key: line.clone(),
            title: without_nul(line),
            content: None,
            file: None,
            plan_file: None,
        })
    }

    /// Runs one execution, from `pre_start` to `post_end`.
    async fn execution(&mut self, item: WorkItem) -> Result<(), EarlyEnd> {
        self.position.executions += 1;
        self.position.item = Some(item.clone());
        let done = self.do_item(item).await;
        if done.is_ok() {
            self.position.item = None;
        }
        done
    }

    async fn do_item(&mut self, item: WorkItem) -> Result<(), EarlyEnd> {
        let place = self.position.place();
        if let Some(begun) = self.left_to_another(&item).await? {
            let reason = "another session has taken it".to_owned();
            self.end_item(0, (ItemState::Open, Some(reason))).await?;
            // Those numbers are used up: hooks and the agent have seen them.
            self.position.iteration = self.position.iteration.max(begun);
            return Ok(());
        }
        let mut with = Vec::new();
        if !self.history.items.contains_key(&place) {
            let past = PastItem::new(item.clone(), self.measured.time.clone());
            self.history.items.insert(place, past);
            let (stage, execution) = place;
            with.push(SessionEvent::ItemStarted { stage, execution, item }.into());
        }
        let decided = self.fire_execution(ExecutionEvent::PreStart, with).await?;
        if let Verdict::Block { reason } = decided.verdict {
            self.end_item(0, (ItemState::Blocked, Some(reason))).await?;
            return Ok(());
        }
        self.fire_execution(ExecutionEvent::PostStart, Vec::new()).await?;
        self.iterations_for_item().await?;
        let work = &self.position.work;
        let (is_last, failure, iterations) = (work.is_last, work.failure.clone(), work.iterations);
        let end = self.judge().await?;
        let end = self.end_item(iterations, end).await?;
        self.position.item_end = Some(end);
        self.fire_execution(ExecutionEvent::PostEnd, Vec::new()).await?;
        match failure {
            Some(error) if is_last => self.fail_after_too_many(&error),
            _ => Ok(()),
        }
    }

    async fn fire_execution(
        &mut self,
        event: ExecutionEvent,
        with: Vec<RunEventKind>,
    ) -> Result<Decided, EarlyEnd> {
        let (stage, execution) = (self.position.index(), self.position.executions);
        self.fire(Point::Execution { event, stage, execution }, json!({}), with).await
    }

    /// The last iteration that was begun for a work item, if it was interrupted and another session
    /// has taken the item since.
    async fn left_to_another(&mut self, item: &WorkItem) -> Result<Option<u32>, EarlyEnd> {
        let place = self.position.place();
        let past = self.history.items.get(&place);
        match past.map(|past| (past.ended.is_some(), past.left_at)) {
            None => Ok(None),
            Some((true, left_at)) => Ok(left_at),
            Some((false, _)) => match self.ask(Step::RetakeItem(item.clone())).await? {
                Happening::Retaken(true) => Ok(None),
                Happening::Retaken(false) => Ok(Some(self.history.last_begun(place.0))),
                other => unexpected(&other),
            },
        }
    }

    /// The iterations for a work item: until it is done, has failed, or has reached its limit.
    async fn iterations_for_item(&mut self) -> Result<(), EarlyEnd> {
        let Until::Queue { per_item, .. } = self.stage_bounds().until else {
            unreachable!("only queues have pieces of work")
        };
        let past = self.history.items.get(&self.position.place());
        let (known, is_settled) = past.map_or((0, false), |past| past.extent());
        self.position.work = ItemWork::default();
        loop {
            let end = self.iteration().await?;
            let is_failed = end.result.error.is_some();
            let is_last = is_failed && self.fail_after_too_many("").is_err();
            let work = &mut self.position.work;
            work.note_result(&end.result);
            work.is_last = is_last;
            let iterations = work.iterations;
            // Recorded iterations are replayed, whatever the limits are now.
            if self.position.iteration < known {
                continue;
            }
            let bound = self.bound_reached();
            let recovers = is_failed && end.is_answered && self.measured.has_output;
            let is_over = match end.result.decision.as_str() {
                _ if is_settled || is_last => true,
                _ if is_failed => !recovers,
                "stop" => true,
                _ => iterations >= per_item || self.is_closed_by_agent().await?,
            };
            // A limit that is reached with the last iteration has cut nothing.
            let is_cut = !is_over || end.result.out_of_time;
            self.position.work.cut_by = bound.filter(|_| is_cut);
            if is_over || bound.is_some() {
                return Ok(());
            }
            self.wait_between().await?;
        }
    }

    /// The limit of the loop that is reached, ignoring the record.
    fn bound_reached(&self) -> Option<Reason> {
        if self.position.out_of_time || self.is_late() {
            return Some(Reason::MaxRuntime);
        }
        let most = self.stage_bounds().iterations_max;
        (self.position.iteration >= most).then_some(Reason::MaxIterations)
    }

    /// Decides the state of a work item after its iterations: by their result, by what the agent
    /// reported itself, and by hooks.
    async fn judge(&mut self) -> Result<(ItemState, Option<String>), EarlyEnd> {
        let mut end = self.position.work.end();
        if let (ItemState::Done, Some((state, reason))) = (end.0, self.said_by_agent(end.0).await?)
        {
            end = (state, Some(reason.to_owned()));
        }
        self.position.item_end = Some(end.clone());
        let decided = self.fire_execution(ExecutionEvent::PreEnd, Vec::new()).await?;
        if let (ItemState::Done, Verdict::Block { reason }) = (end.0, decided.verdict) {
            end = (ItemState::Failed, Some(reason));
        }
        if end.0 == ItemState::Done
            && let Some(reason) = self.ask_to_complete().await?
        {
            end = (ItemState::Failed, Some(reason));
        }
        Ok(end)
    }

    /// Records the end of a work item, once; returns what is recorded.
    async fn end_item(
        &mut self,
        iterations: u32,
        end: (ItemState, Option<String>),
    ) -> Result<(ItemState, Option<String>), EarlyEnd> {
        let (state, reason) = end;
        let end = match self.ask(Step::EndItem { state, reason, iterations }).await? {
            Happening::ItemEnded { state, reason } => (state, reason),
            other => unexpected(&other),
        };
        let place = self.position.place();
        if let Some(past) = self.history.items.get_mut(&place).filter(|past| past.ended.is_none()) {
            past.ended = Some(end.clone());
            let key = past.item.key.clone();
            self.history.note_end_of_item(place.0, &key, end.0);
        }
        Ok(end)
    }

    /// The task that the session works on, if its work item is a task without a recorded end.
    fn open_task(&self) -> Option<TaskId> {
        let item = self.position.item.as_ref().filter(|item| item.source == WorkSource::Tasks)?;
        let past = self.history.items.get(&self.position.place());
        let is_ended = past.is_some_and(|past| past.ended.is_some());
        TaskId::typed(&item.key).filter(|_| !is_ended)
    }

    async fn look_at(&mut self, task: TaskId) -> Result<(TaskState, bool), EarlyEnd> {
        match self.ask(Step::LookAtTask(task)).await? {
            Happening::TaskSeen { state, is_ours } => Ok((state, is_ours)),
            other => unexpected(&other),
        }
    }

    /// Whether the agent itself has closed the task that it works on.
    async fn is_closed_by_agent(&mut self) -> Result<bool, EarlyEnd> {
        let Some(task) = self.open_task() else { return Ok(false) };
        let (_, is_ours) = self.look_at(task).await?;
        Ok(!is_ours)
    }

    /// The state that the agent gave the task it worked on, if it is not done.
    async fn said_by_agent(
        &mut self,
        end: ItemState,
    ) -> Result<Option<(ItemState, &'static str)>, EarlyEnd> {
        let Some(task) = self.open_task().filter(|_| end == ItemState::Done) else {
            return Ok(None);
        };
        let (state, _) = self.look_at(task).await?;
        Ok(match state {
            TaskState::Blocked => Some((ItemState::Blocked, "the agent says it is blocked")),
            TaskState::Open => Some((ItemState::Open, "the agent has reopened it")),
            TaskState::Cancelled => Some((ItemState::Blocked, "the agent has cancelled it")),
            TaskState::InProgress | TaskState::Completed => None,
        })
    }

    /// Asks the hooks of `task:complete` about the task of this execution, unless they were asked
    /// before. Returns why it is not completed.
    async fn ask_to_complete(&mut self) -> Result<Option<String>, EarlyEnd> {
        let Some(task) = self.open_task() else { return Ok(None) };
        let (stage, execution) = (self.position.index(), self.position.executions);
        let occasion = Occasion::Execution { stage, execution };
        let complete = Step::CompleteTask { task, occasion };
        if self.recorded(&complete).is_none() && !self.look_at(task).await?.1 {
            return Ok(None);
        }
        match self.ask(complete).await? {
            Happening::TaskAsked { refused, aborted_by_task } => {
                self.leave_if(aborted_by_task)?;
                Ok(refused)
            }
            other => unexpected(&other),
        }
    }
}
