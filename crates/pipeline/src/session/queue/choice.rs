//! The next work item of a queue: the first that is open and that no other session works on.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use hookwright_agents::{AgentWatch, Turn, shell_run};
use hookwright_events::{Event, EventName, ItemState, ProcessOutcome, WorkItem};
use hookwright_process::{Leader, Stream};
use hookwright_store::{JournalKey, Put, StoreError, TaskError};

use super::super::turn::failure_of;
use super::super::{Halt, Session};
use crate::course::{EarlyEnd, Happening};
use crate::history::History;
use crate::lease;
use crate::limits::{QUEUE_COMMAND_TIMEOUT, QUEUE_LINES_MAX, RECORD_CONFLICTS_MAX};
use crate::plan::Until;
use crate::queue::{IssueStates, Queue};
use crate::record::milliseconds;

/// A work item that was taken, and the dead session that worked on it before, if one did.
pub(super) type TakenItem = (WorkItem, Option<String>);

/// Work items that other processes changed between choosing and taking, and how often.
#[derive(Clone, Default)]
pub(super) struct MissedItems(BTreeMap<u64, u32>);

impl MissedItems {
    pub(super) fn note(&mut self, number: u64) {
        *self.0.entry(number).or_default() += 1;
    }

    /// Whether it was tried often enough: a record that keeps changing must not hold the session.
    pub(super) fn is_given_up(&self, number: u64) -> bool {
        self.0.get(&number).is_some_and(|times| *times >= RECORD_CONFLICTS_MAX)
    }
}

impl Session {
    /// Takes the next work item of the current stage that is not among these. With `unless`, the
    /// session ends so if there is one.
    pub(in crate::session) async fn take_item(
        &mut self,
        put_back: Arc<HashSet<String>>,
        unless: Option<EarlyEnd>,
    ) -> Result<Happening, Halt> {
        let taken = match self.queue_of(self.course.position().index()) {
            Queue::Command(command) => {
                return Ok(Happening::Lines(self.printed_by(&command).await?));
            }
            Queue::Issues(folder) => self.take_issue(&folder, put_back, unless).await?,
            Queue::Tasks => self.take_task(put_back, unless).await?,
        };
        let (item, left_by) = taken.unzip();
        if let Some(session) = left_by.flatten() {
            self.end_survivors_of(session).await?;
        }
        Ok(Happening::Item(item))
    }

    /// Ends what a dead session left running, before another one continues its work.
    async fn end_survivors_of(&self, session: String) -> Result<(), Halt> {
        let project = self.recorder.journal.project().to_owned();
        let lease = lease::name_of(&project, &session);
        let left = self.recorder.journal.calls().call(move |store| {
            // If its journal cannot be read, it is not resumed either, and its runs are unknown.
            let Ok(history) = History::read(store, &JournalKey { project, session }) else {
                return Ok(None);
            };
            // A process that has resumed it since has ended them, and what runs belongs to that
            // process.
            let is_held = lease::holder(store, &lease)?.is_some();
            Ok::<_, StoreError>((!is_held).then_some(history))
        });
        if let Some(history) = left.await? {
            self.end_what_is_left_of(&history, None).await;
        }
        Ok(())
    }

    /// Takes an interrupted work item again; `false` if another session has it or has finished it.
    pub(in crate::session) async fn take_again(&self, item: &WorkItem) -> Result<bool, Halt> {
        match self.queue_of(self.course.position().index()) {
            Queue::Command(_) => Ok(true),
            Queue::Issues(folder) => Ok(self.take(&folder, item).await?),
            Queue::Tasks => self.take_task_again(item).await,
        }
    }

    /// The number of open work items that this session has not begun.
    pub(in crate::session) async fn open_items(&self, index: usize) -> Result<usize, Halt> {
        let open = match self.queue_of(index) {
            // Running the command might change its output.
            Queue::Command(_) => return Ok(0),
            Queue::Issues(folder) => self.open_issues(index, &folder).await?,
            Queue::Tasks => self.open_tasks(index).await?,
        };
        Ok(open)
    }

    /// The keys of items that were begun and have not ended: they were interrupted with the
    /// session, and count as begun.
    pub(super) fn in_work(&self, index: usize) -> BTreeSet<&str> {
        let tried = self.course.history().tried(stage_number(index)).into_iter();
        tried.filter(|(_, state)| state.is_none()).map(|(key, _)| key).collect()
    }

    /// The record to write with the end of a work item.
    pub(super) fn put_end(
        &self,
        item: &WorkItem,
        state: ItemState,
        reason: Option<String>,
    ) -> impl FnMut() -> Result<Option<Put>, TaskError> + Send + use<> {
        let queue = self.queue_of(self.course.position().index());
        let (states, tasks) = (self.issue_states(), self.tasks());
        let (item, clock) = (item.clone(), Arc::clone(&self.recorder.clock));
        move || match &queue {
            Queue::Command(_) => Ok(None),
            Queue::Issues(folder) => {
                let end = (state, reason.as_deref());
                Ok(states.put_end(folder, &item, end, tasks.session(), &clock.now())?)
            }
            Queue::Tasks => tasks.put_end(&item, state, milliseconds(&clock.now())),
        }
    }

    fn queue_of(&self, index: usize) -> Queue {
        match &self.plan.stages[index].until {
            Until::Queue { queue, .. } => queue.clone(),
            Until::Fixed | Until::Judgment { .. } => unreachable!("it works through a queue"),
        }
    }

    pub(super) fn issue_states(&self) -> IssueStates {
        let journal = &self.recorder.journal;
        IssueStates::new(Arc::clone(journal.calls().store()), journal.project())
    }

    /// The marker of the queue's command, if a stage has one. It is the same after a crash without
    /// being recorded: only the output matters, so what a dead run left of it is ended.
    pub(in crate::session) fn run_of_queue_command(&self) -> Option<String> {
        let is_command =
            |until: &Until| matches!(until, Until::Queue { queue: Queue::Command(_), .. });
        let mut stages = self.plan.stages.iter();
        stages.any(|stage| is_command(&stage.until)).then(|| self.queue_run_id())
    }

    fn queue_run_id(&self) -> String {
        format!(
            "queue-{}-{}",
            self.recorder.session,
            self.recorder.journal.record().created_at_ms()
        )
    }

    /// The output lines of the queue's command.
    async fn printed_by(&self, command: &str) -> Result<Vec<String>, Halt> {
        let position = self.course.position();
        let event = Event::new(EventName::STAGE_START, self.data_of_stage(serde_json::json!({})));
        let mut environment = self.environment_of(&event);
        let _left_out = self.place_left_out(&mut environment).await?;
        let turn = Turn {
            prompt: Vec::new(),
            shared_env: environment.inherited,
            env: environment.strings,
            working_dir: self.workplace.root.clone(),
            stage: self.plan.stages[position.index()].name.clone(),
            iteration: position.iteration,
            is_final_delivery: false,
            attempt: 1,
            status_file: self.folder.path().to_owned(),
            timeout: QUEUE_COMMAND_TIMEOUT,
            run_id: self.queue_run_id(),
        };
        let what = shell_run::ShellRun {
            text: command,
            argument: None,
            stdin: Vec::new(),
            timeout: QUEUE_COMMAND_TIMEOUT,
        };
        let ended = shell_run::run(&turn, what, &mut Unwatched, self.interrupt.token()).await;
        if self.interrupt.token().is_cancelled() {
            return Err(self.interrupted());
        }
        match &ended.outcome {
            ProcessOutcome::Exited { code: 0, output } => {
                let printed = self.workplace.secrets.hide(&output.stdout);
                let lines = printed.lines().map(str::trim).filter(|line| !line.is_empty());
                Ok(lines.take(QUEUE_LINES_MAX).map(str::to_owned).collect())
            }
            outcome => {
                let why = failure_of("it", outcome).unwrap_or_else(|| "it did nothing".to_owned());
                let why = self.workplace.secrets.hide(&why);
                let words = format!("the queue's command `{command}` failed: {why}");
                Err(Halt::Leave(EarlyEnd::Failed(words)))
            }
        }
    }
}

/// A stage's number, from 1.
fn stage_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// Shows nothing of a queue's command.
struct Unwatched;

impl AgentWatch for Unwatched {
    fn running(&mut self, _: &Leader) {}

    fn output(&mut self, _: Stream, _: &[u8]) {}
}
