//! A stage that works off a queue: one execution after the other, until nothing is left to do.
//!
//! ```text
//! execution:pre_start → execution:post_start → iterations → execution:pre_end → execution:post_end
//! ```
//!
//! A piece of work is taken before anything is done about it, and what became of it is one commit with
//! the entry that tells of it. A blocked `pre_start` leaves it undone and marks it blocked, a blocked
//! `pre_end` makes it a failure; after a failure the next one follows.

mod choice;
mod issues;
mod tasks;

use std::collections::BTreeSet;
use std::time::Instant;

use hookwright_events::firing_key::ExecutionEvent;
use hookwright_events::{
    ItemState, Point, RunEventKind, TurnResult, Verdict, WorkItem, WorkSource,
};
use hookwright_process::faults;
use hookwright_store::StoreError;
use serde_json::{Map, Value, json};

use super::stage::{Course, fail_after_too_many, turn_name};
use super::{Leave, Session};
use crate::history::PastItem;
use crate::limits::{CHANGED_FILES_MAX, EXECUTION_OUTPUT_BYTES_MAX, RECORD_CONFLICTS_MAX};
use crate::plan::{Reason, Until};
use crate::record::milliseconds;

/// What the iterations for a piece of work have led to.
#[derive(Default)]
struct Work {
    iterations: u32,
    /// What they changed, at most [`CHANGED_FILES_MAX`].
    files: BTreeSet<String>,
    /// Who did the last of it.
    provider: Option<String>,
    /// What it failed with.
    failure: Option<String>,
    /// The bound that was reached in the middle of it.
    cut_by: Option<Reason>,
    /// Nothing more may be tried after it.
    is_last: bool,
}

impl Work {
    fn take_in(&mut self, result: &TurnResult) {
        self.iterations += 1;
        let room = CHANGED_FILES_MAX.saturating_sub(self.files.len());
        let new = result.changed_files.iter().filter(|file| !self.files.contains(*file));
        let new: Vec<String> = new.take(room).cloned().collect();
        self.files.extend(new);
        self.provider = result.agent.clone().or(self.provider.take());
        self.failure.clone_from(&result.error);
    }

    /// What becomes of it if nobody objects, and why.
    fn end(&self) -> (ItemState, Option<String>) {
        match (&self.failure, self.cut_by) {
            (_, Some(reason)) => (
                ItemState::Open,
                Some(format!("{} was reached before it was done", reason.as_str())),
            ),
            (Some(failure), None) => (ItemState::Failed, Some(failure.clone())),
            (None, None) => (ItemState::Done, None),
        }
    }
}

impl Session {
    /// Works a stage's queue off; returns why it ended.
    pub(super) async fn work_off(
        &mut self,
        index: usize,
        course: &mut Course,
        started: Instant,
    ) -> Result<Reason, Leave> {
        let stage = turn_name(index, 0).stage;
        loop {
            if let Some(reason) = self.is_enough(index, course, started) {
                // Those behind the last iteration were blocked, and are not asked about again.
                let executions = self.history.executions_at_end(stage);
                course.executions = executions.unwrap_or(course.executions);
                return Ok(reason);
            }
            let is_known = self.history.items.contains_key(&(stage, course.executions + 1));
            if !is_known {
                self.pass_gate().await?;
            }
            let Some(item) = self.next_item(index, course).await? else {
                return Ok(Reason::Completed);
            };
            if !is_known && course.iteration > 0 {
                self.wait_between(index, course, started).await?;
            }
            self.execution(index, course, started, item).await?;
        }
    }

    /// Does one piece of work more, although the stage has ended. Whether there was one.
    pub(super) async fn work_on(
        &mut self,
        index: usize,
        course: &mut Course,
        started: Instant,
    ) -> Result<bool, Leave> {
        if !matches!(self.plan.stages[index].until, Until::Queue { .. }) {
            return Ok(false);
        }
        let Some(item) = self.next_item(index, course).await? else { return Ok(false) };
        self.execution(index, course, started, item).await?;
        Ok(true)
    }

    /// All about one piece of work.
    async fn execution(
        &mut self,
        index: usize,
        course: &mut Course,
        started: Instant,
        item: WorkItem,
    ) -> Result<(), Leave> {
        course.executions += 1;
        let (stage, execution) = (turn_name(index, 0).stage, course.executions);
        let point = |event| Point::Execution { event, stage: index, execution };
        self.item = Some(item.clone());
        if let Some(begun) = self.left_to_another(index, execution, &item)? {
            let reason = "another session has taken it".to_owned();
            self.end_item(index, course, 0, (ItemState::Open, Some(reason)))?;
            // Those numbers are used up: hooks and the agent have heard of them.
            course.iteration = course.iteration.max(begun);
            self.item = None;
            return Ok(());
        }
        let with = match self.history.items.contains_key(&(stage, execution)) {
            true => Vec::new(),
            false => {
                let past = PastItem::new(item.clone(), self.clock.now());
                self.history.items.insert((stage, execution), past);
                vec![RunEventKind::ItemStarted { stage, execution, item: item.clone() }]
            }
        };
        faults::point("item taken");
        let data = self.data_of_execution(index, course, json!({}));
        let event = point(ExecutionEvent::PreStart);
        let decision = self.fire(event, data, with).await?;
        if let Verdict::Block { reason } = decision.verdict {
            self.end_item(index, course, 0, (ItemState::Blocked, Some(reason)))?;
            self.item = None;
            return Ok(());
        }
        let data = self.data_of_execution(index, course, json!({}));
        let event = point(ExecutionEvent::PostStart);
        self.fire(event, data, Vec::new()).await?;
        let work = self.iterations_for(index, course, started).await?;
        let mut end = work.end();
        if let (ItemState::Done, Some((state, reason))) = (end.0, self.said_by_agent()?) {
            end = (state, Some(reason));
        }
        let data = self.data_of_end(index, course, &work, (end.0, end.1.as_deref()))?;
        let event = point(ExecutionEvent::PreEnd);
        let decision = self.fire(event, data, Vec::new()).await?;
        if let (ItemState::Done, Verdict::Block { reason }) = (end.0, decision.verdict) {
            end = (ItemState::Failed, Some(reason));
        }
        if end.0 == ItemState::Done
            && let Some(reason) = self.ask_to_complete(index, execution).await?
        {
            end = (ItemState::Failed, Some(reason));
        }
        let end = self.end_item(index, course, work.iterations, end)?;
        let data = self.data_of_end(index, course, &work, (end.0, end.1.as_deref()))?;
        let event = point(ExecutionEvent::PostEnd);
        self.fire(event, data, Vec::new()).await?;
        self.item = None;
        match (&work.failure, work.is_last) {
            (Some(error), true) => fail_after_too_many(course, error),
            _ => Ok(()),
        }
    }

    /// The last iteration that was begun for a piece of work, if that was cut off and another session
    /// has taken it since.
    fn left_to_another(
        &self,
        index: usize,
        execution: u32,
        item: &WorkItem,
    ) -> Result<Option<u32>, Leave> {
        let stage = turn_name(index, 0).stage;
        match self.history.items.get(&(stage, execution)) {
            None => Ok(None),
            Some(past) if past.ended.is_some() => Ok(past.left_at),
            Some(_) if self.take_again(index, item)? => Ok(None),
            Some(_) => Ok(Some(self.history.last_begun(stage))),
        }
    }

    /// The iterations for a piece of work: until it is done, has failed, or has had as many as it may.
    async fn iterations_for(
        &mut self,
        index: usize,
        course: &mut Course,
        started: Instant,
    ) -> Result<Work, Leave> {
        let Until::Queue { per_item, .. } = self.plan.stages[index].until else {
            unreachable!("only queues have pieces of work")
        };
        let past = self.history.items.get(&(turn_name(index, 0).stage, course.executions));
        let (known, is_settled) = past.map_or((0, false), |past| past.extent());
        let mut work = Work::default();
        loop {
            let end = self.iteration(index, course, started).await?;
            work.take_in(&end.result);
            let is_failed = end.result.error.is_some();
            work.is_last = is_failed && fail_after_too_many(course, "").is_err();
            // What was recorded is gone through as it was, whatever the bounds are by now.
            if course.iteration < known {
                continue;
            }
            work.cut_by = self.is_out(index, course, started);
            let recovers = is_failed && end.is_answered && !self.pending.is_empty();
            let is_over = match end.result.decision.as_str() {
                _ if is_settled || work.is_last => true,
                _ if is_failed => !recovers,
                "stop" => true,
                _ => work.iterations >= per_item || self.is_closed_by_agent()?,
            };
            if is_over {
                // A bound that is reached with the last iteration has cut nothing.
                let is_cut = end.result.out_of_time;
                work.cut_by = work.cut_by.filter(|_| is_cut);
                return Ok(work);
            }
            if work.cut_by.is_some() {
                return Ok(work);
            }
            self.wait_between(index, course, started).await?;
        }
    }

    /// Which bound of the loop is reached, whatever was recorded.
    fn is_out(&self, index: usize, course: &Course, started: Instant) -> Option<Reason> {
        let is_late = self.time_left(index, course, started).is_some_and(|left| left.is_zero());
        if course.out_of_time || is_late {
            return Some(Reason::MaxRuntime);
        }
        let most = self.plan.stages[index].iterations_max;
        (course.iteration >= most).then_some(Reason::MaxIterations)
    }

    /// Writes down what became of a piece of work, once; returns what is written.
    fn end_item(
        &mut self,
        index: usize,
        course: &Course,
        iterations: u32,
        end: (ItemState, Option<String>),
    ) -> Result<(ItemState, Option<String>), Leave> {
        let (stage, execution) = (turn_name(index, 0).stage, course.executions);
        let Some(past) = self.history.items.get(&(stage, execution)) else { return Ok(end) };
        if let Some(ended) = &past.ended {
            return Ok(ended.clone());
        }
        let (state, reason) = (end.0, end.1.map(|reason| self.secrets.hide(&reason).into_owned()));
        let ended = RunEventKind::ItemEnded {
            stage,
            execution,
            key: past.item.key.clone(),
            state,
            reason: reason.clone(),
            iterations,
            duration_ms: self.since(&past.at) as f64,
        };
        let item = past.item.clone();
        let event = self.event(ended);
        faults::point("item ends");
        for time in 1.. {
            let put = self.put_end(index, &item, (state, reason.as_deref()))?;
            let put = put.into_iter().collect();
            match self.journal.write_with(std::slice::from_ref(&event), put) {
                Ok(()) => break,
                Err(StoreError::RecordConflict { .. }) if time < RECORD_CONFLICTS_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
        faults::point("item ended");
        self.show(&event);
        self.history.note_end_of_item(stage, &item.key, state);
        if let Some(past) = self.history.items.get_mut(&(stage, execution)) {
            past.ended = Some((state, reason.clone()));
        }
        Ok((state, reason))
    }

    /// Whether this session has put a piece of work back. Another session may take it; this one would take it
    /// again and again.
    fn is_put_back(&self, index: usize, key: &str) -> bool {
        self.history.is_put_back(turn_name(index, 0).stage, key)
    }

    /// Milliseconds since a time of the journal; a clock that was set back makes none negative.
    fn since(&self, at: &str) -> u64 {
        let now = milliseconds(&self.clock.now());
        let took = now.zip(milliseconds(at)).map_or(0, |(now, then)| now - then);
        took.max(0).unsigned_abs()
    }

    /// Milliseconds since the session began.
    pub(super) fn since_start(&self) -> u64 {
        self.since(&self.journal.record().start_time)
    }

    fn data_of_execution(&self, index: usize, course: &Course, more: Value) -> Map<String, Value> {
        let provider = self.plan.stages[index].first_agent();
        let mut data = self.data_of_stage(index, course, json!({ "provider": provider }));
        if let Value::Object(more) = more {
            data.extend(more);
        }
        data
    }

    fn data_of_end(
        &self,
        index: usize,
        course: &Course,
        work: &Work,
        end: (ItemState, Option<&str>),
    ) -> Result<Map<String, Value>, Leave> {
        let stage = turn_name(index, 0).stage;
        let past = self.history.items.get(&(stage, course.executions));
        let duration = past.map_or(0, |past| self.since(&past.at));
        let output = self
            .folder
            .read_output(self.iteration_at(index, course.iteration), EXECUTION_OUTPUT_BYTES_MAX)?;
        let mut data = self.data_of_execution(
            index,
            course,
            json!({
                "success": end.0 == ItemState::Done,
                "duration": duration,
                "files_modified": work.files,
                "output": self.secrets.hide(&output),
            }),
        );
        if let Some(provider) = &work.provider {
            data.insert("provider".to_owned(), provider.clone().into());
        }
        if let Some(error) = end.1 {
            data.insert("error".to_owned(), error.into());
        }
        Ok(data)
    }

    /// How many pieces of work are done, and how many there are, if there is a queue at all.
    pub(super) fn progress(&self) -> Result<Option<(usize, usize)>, Leave> {
        let mut is_queue = false;
        let mut open = 0;
        for index in 0..self.plan.stages.len() {
            if matches!(self.plan.stages[index].until, Until::Queue { .. }) {
                is_queue = true;
                open += self.open_items(index)?;
            }
        }
        let mut states: std::collections::BTreeMap<(u32, &str), bool> = Default::default();
        for ((stage, _), past) in &self.history.items {
            let is_done = matches!(past.ended, Some((ItemState::Done, _)));
            let is_open = matches!(past.ended, Some((ItemState::Open, _)));
            if !is_open {
                states.insert((*stage, &past.item.key), is_done);
            }
        }
        let done = states.values().filter(|is_done| **is_done).count();
        Ok(is_queue.then_some((done, states.len() + open)))
    }
}

/// The fields of a piece of work, as every event within its execution has them.
pub(super) fn data_of_item(item: &WorkItem) -> Map<String, Value> {
    let mut data = Map::new();
    let mut set = |name: &str, value: Value| data.insert(name.to_owned(), value);
    set("issue_title", item.title.clone().into());
    match item.source {
        WorkSource::Issues => {
            if let Some(number) = item.number() {
                set("issue_number", number.into());
            }
            set("issue_file", item.file.clone().unwrap_or_default().into());
            set("plan_file", item.plan_file.clone().unwrap_or_default().into());
        }
        WorkSource::Tasks => {
            set("task_id", item.key.clone().into());
            let content = item.content.clone().unwrap_or_else(|| item.title.clone());
            set("task_content", content.into());
        }
        WorkSource::Command => {}
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_several_iterations_changed_is_named_once_and_the_list_is_bounded() {
        let changed = |files: &mut dyn Iterator<Item = u32>| TurnResult {
            changed_files: files.map(|number| format!("{number:06}")).collect(),
            ..TurnResult::default()
        };
        let most = u32::try_from(CHANGED_FILES_MAX).expect("it is small");
        let mut work = Work::default();
        work.take_in(&changed(&mut (0..most - 1)));
        work.take_in(&changed(&mut (most - 3..most * 2)));
        let last = work.files.last().map(String::as_str);
        assert_eq!((work.files.len(), last), (CHANGED_FILES_MAX, Some("049999")));
    }
}
