//! [`Session`]: one session from its beginning to its end, or from where it was cut off.
//!
//! What it does next is decided by its [`Course`]; the session carries the steps out, and decides nothing.
//! What announces an effect is journalled before it; the end of a turn and the firing of its hooks are
//! one commit, and so are the ends of stages.
//!
//! | file | carries out |
//! |---|---|
//! | `firing.rs`, `data.rs`, `gates.rs`, `engines.rs` | the events, with their data |
//! | `turn.rs`, `drive.rs`, `watching.rs`, `delivery.rs` | turns of agents |
//! | `queue.rs`, `queue/` | pieces of work |
//! | `task_desk.rs`, `callers.rs`, `completing.rs` | tasks that are completed meanwhile |
//! | `closing.rs`, `leaving.rs` | the end |
//! | `gate.rs`, `spending.rs`, `stopwatch.rs` | what a person wants, what it costs, what it takes |
//!
//! It is assembled in `parts.rs`. What a killed session left running is ended in `survivors.rs`.

mod callers;
mod closing;
mod completing;
mod data;
mod delivery;
mod drive;
mod engines;
mod firing;
mod gate;
mod gates;
mod leaving;
mod parts;
mod queue;
mod spending;
mod stopwatch;
mod survivors;
mod task_desk;
mod turn;
mod turn_events;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hookwright_engine::ports::memory::InMemoryMemory;
use hookwright_engine::ports::{Clock, EndRequest, Ports};
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Observer, Secrets};
use hookwright_events::firing_key::Part;
use hookwright_events::{RunEvent, RunEventKind, SessionEvent, SessionStatus};
use hookwright_process::{MARKER, faults};
use hookwright_store::StoreError;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::changed_files::WorkTree;
use crate::course::{Course, Happening, Leave, Measured, Step};
use crate::desk::DeskPlace;
use crate::folder::{FolderError, SessionFolder};
use crate::journal::SessionJournal;
use crate::limits::LONG_WAIT;
use crate::pending_output::SharedOutput;
use crate::plan::Plan;
use crate::queue::IssueQueue;
use crate::sources::Sources;
pub use gate::Gate;
pub use parts::{Around, AskPeople, Parts, Started};
use queue::ItemEnd;
pub(crate) use spending::Spending;
use stopwatch::Stopwatch;
use task_desk::TaskDesk;
use turn::OpenTurn;

/// One session.
pub struct Session {
    plan: Plan,
    sources: Sources,
    folder: SessionFolder,
    journal: Arc<SessionJournal>,
    /// Decides what it does.
    course: Course,
    reloaded: bool,
    root: PathBuf,
    environment: Environment,
    secrets: Secrets,
    skip: Vec<String>,
    observers: Vec<Observer>,
    clock: Arc<dyn Clock>,
    /// What a hook has given it.
    inputs: Option<Map<String, Value>>,
    /// Where its agent works.
    agent_dir: PathBuf,
    /// The hooks that have started it, and the sessions above it.
    started_by: Vec<String>,
    gate: Gate,
    interrupt: CancellationToken,
    asked_to_end: EndRequest,
    /// Hooks whose questions have ended it before, and are not asked again.
    skip_gates: Vec<String>,
    /// The hook whose question has ended it.
    ended_by_question: Option<String>,
    ports: Ports,
    memory: Arc<InMemoryMemory>,
    firings: Arc<AtomicU64>,
    /// By stage, the session's own under `None`, and by the hooks that they have of it.
    engines: BTreeMap<(Option<usize>, Part), Engine>,
    work_tree: WorkTree,
    pending: SharedOutput,
    task_desk: Arc<TaskDesk>,
    desk: Option<DeskPlace>,
    /// The stage and iteration of which the task desk was told last.
    standing_at: Option<(usize, u32)>,
    /// The turn that an agent does.
    turn: Option<OpenTurn>,
    /// What is known of its folders of issues, by their paths from the root.
    issue_queues: BTreeMap<String, IssueQueue>,
    /// What was said to be wrong with issues since it began: no more than there are.
    told_of_issues: BTreeSet<String>,
    spending: Spending,
    stopwatch: Stopwatch,
    name: String,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub status: SessionStatus,
    /// Why, in words.
    pub reason: String,
    /// Iterations of all stages.
    pub iterations: u32,
    /// The hook whose question has ended it, which is asked again when it is resumed.
    pub question: Option<String>,
}

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// What happens cannot be written down, so nothing more may happen.
    #[error("what happens cannot be written down: {0}")]
    Journal(#[from] StoreError),
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Why a step cannot be carried out.
#[derive(Debug)]
enum Halt {
    /// The session is left early.
    Leave(Leave),
    /// Nothing may happen any more.
    Broken(SessionError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Halt::Broken(error.into())
    }
}

impl From<FolderError> for Halt {
    fn from(error: FolderError) -> Self {
        Halt::Broken(error.into())
    }
}

impl Session {
    /// Where it is written down.
    pub fn journal(&self) -> &Arc<SessionJournal> {
        &self.journal
    }

    /// Runs it to its end. Meanwhile others may complete tasks.
    pub async fn run(mut self) -> Result<Ended, SessionError> {
        let task_desk = Arc::clone(&self.task_desk);
        // An agent that a dead run left behind must not be the first caller.
        self.end_survivors().await;
        self.stand(None, self.data_of_session(json!({})));
        if self.course.history().last == 0 {
            task_desk.open();
        }
        let mut reception = self.open_desk();
        let ended = tokio::select! {
            biased;
            ended = self.go_to_its_end() => ended,
            never = task_desk.serve(&mut reception) => match never {},
        };
        task_desk.dismiss(reception).await;
        ended
    }

    async fn go_to_its_end(&mut self) -> Result<Ended, SessionError> {
        let mut happened = self.get_ready().await;
        loop {
            let happening = match happened {
                Ok(happening) => happening,
                Err(Halt::Leave(leave)) => Happening::Left(leave),
                Err(Halt::Broken(error)) => {
                    self.interrupt_all();
                    return Err(error);
                }
            };
            happened = match self.course.advance(self.measured(), happening) {
                Step::Finished { status, reason } => return Ok(self.ended(status, reason)),
                step => self.carry_out(step).await,
            };
        }
    }

    fn ended(&self, status: SessionStatus, reason: String) -> Ended {
        let question = self.ended_by_question.clone().filter(|_| status == SessionStatus::Aborted);
        Ended { status, reason, iterations: self.course.position().iterations, question }
    }

    /// Why the session is left after an interrupt.
    fn interrupted(&self) -> Halt {
        let why = self.asked_to_end.why().unwrap_or("interrupted").to_owned();
        Halt::Leave(Leave::Interrupted(why))
    }

    /// Begins the session, or resumes what was under way beside its course.
    async fn get_ready(&mut self) -> Result<Happening, Halt> {
        self.folder.create()?;
        self.plan_open_issues()?;
        let mut with = Vec::new();
        let history = self.course.history();
        if history.last == 0 {
            with.push(RunEventKind::Session(SessionEvent::SessionStarted {
                plan: self.plan.name.clone(),
                stages: self.plan.stages.iter().map(|stage| stage.name.clone()).collect(),
                sources: serde_json::to_value(&self.sources).unwrap_or_default(),
            }));
        } else {
            let sources = serde_json::to_value(&self.sources).ok().filter(|_| self.reloaded);
            let time = history.resumes + 1;
            self.write(vec![RunEventKind::Session(SessionEvent::SessionResumed {
                time,
                sources,
            })])?;
            self.note_skipped_gates()?;
            self.take_up_background().await?;
            self.take_up_tasks().await?;
        }
        Ok(Happening::Ready { with, aborted_by_task: self.task_desk.take_abort() })
    }

    /// Carries out a step of the course; returns what came of it.
    async fn carry_out(&mut self, step: Step) -> Result<Happening, Halt> {
        self.keep_standing();
        match step {
            Step::Write(kind) => self.write(vec![kind])?,
            Step::Fire(fire) => return self.fire(fire).await.map(Happening::Decided),
            Step::PassGate => self.pass_gate().await?,
            Step::Wait(delay) => self.wait(delay).await?,
            Step::Pause { until, cause, reason } => self.pause(until, cause, reason).await?,
            Step::PrepareTurn(task) => self.prepare_turn(task).await?,
            Step::Attempt(attempt) => return self.attempt(attempt).await,
            Step::GiveTurnUp(given_up) => self.give_turn_up(given_up)?,
            Step::EndTurn => return self.end_turn().await,
            Step::TakeItem { too_costly } => return self.take_item(too_costly).await,
            Step::RetakeItem(item) => return Ok(Happening::Retaken(self.take_again(&item)?)),
            Step::LookAtTask(task) => return self.look_at_task(task),
            Step::CompleteTask { task, occasion } => {
                return self.complete_task(task, occasion).await;
            }
            Step::EndItem { execution, item, taken_at, state, reason, iterations } => {
                let end = ItemEnd { execution, item, taken_at, state, reason, iterations };
                return self.end_item(end);
            }
            Step::Tell(text) => self.pending.push(&text),
            Step::AwaitTasks => {
                self.task_desk.open();
                self.until_tasks_are_completed().await;
            }
            Step::CloseDesk => self.close_desk().await,
            Step::LookForAbort => return Ok(Happening::TaskAborted(self.task_desk.take_abort())),
            Step::NoteUndelivered(why) => self.note_undelivered(why)?,
            Step::InterruptAll => self.begin_to_end().await,
            Step::Settle => {
                let cut_off = self.settle().await;
                faults::point("settled");
                return Ok(Happening::Settled(cut_off));
            }
            Step::Cut => {
                self.interrupt_all();
                self.close_desk().await;
                return Ok(Happening::Settled(self.settle().await));
            }
            Step::End { status, reason } => self.record_end(status, reason)?,
            Step::Finished { .. } => {}
        }
        Ok(Happening::Done)
    }

    /// What the course decides by.
    fn measured(&self) -> Measured {
        Measured {
            worked: self.stopwatch.worked(),
            time: self.clock.now(),
            has_output: !self.pending.is_empty(),
            last_output: self.pending.last(),
            cost: self.spending.cost(),
            stage_cost: self.spending.cost_of(self.course.position().stage_number()),
        }
    }

    /// Waits between iterations.
    async fn wait(&self, delay: Duration) -> Result<(), Halt> {
        self.task_desk.open();
        if delay >= LONG_WAIT {
            let note = format!("waiting {delay:.1?} before the next iteration");
            self.show(&self.event(RunEventKind::Session(SessionEvent::Noted { note })));
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => Ok(()),
            () = self.interrupt.cancelled() => Err(self.interrupted()),
        }
    }

    /// Writes down what happens outside of firings, then shows it.
    fn write(&self, kinds: Vec<RunEventKind>) -> Result<(), StoreError> {
        let events: Vec<RunEvent> = kinds.into_iter().map(|kind| self.event(kind)).collect();
        self.journal.write(&events)?;
        events.iter().for_each(|event| self.show(event));
        Ok(())
    }

    fn show(&self, event: &RunEvent) {
        self.observers.iter().for_each(|observer| observer(event));
    }

    fn event(&self, kind: RunEventKind) -> RunEvent {
        RunEvent {
            version: hookwright_events::run_event::VERSION,
            firing: 0,
            at: self.clock.now(),
            session: Some(self.name.clone()),
            kind,
        }
    }

    /// A marker for a new turn, which everything that it starts carries.
    fn new_run_id(&self) -> String {
        use std::hash::{BuildHasher, Hasher};
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        format!("turn-{random:016x}")
    }

    fn outer_marker(&self) -> Option<&std::ffi::OsStr> {
        self.environment.get(MARKER)
    }
}

/// A session that is dropped before its end leaves nothing running: what its hooks do in the
/// background belongs to it.
impl Drop for Session {
    fn drop(&mut self) {
        self.interrupt_all();
    }
}
