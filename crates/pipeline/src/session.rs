//! [`Session`]: one session from its start, or from where it was interrupted, to its end.
//!
//! Its `Course` decides what it does next; the session carries the steps out, and decides nothing.
//! Announcements are journalled before their effects; the end of a turn and the firing of its hooks
//! are one commit, and so are the ends of stages.
//!
//! | file | carries out |
//! |---|---|
//! | `firing.rs`, `data.rs`, `event_place.rs`, `gates.rs`, `engines.rs` | the events, with their data |
//! | `turn.rs`, `drive.rs`, `watching.rs`, `delivery.rs` | turns of agents |
//! | `queue.rs`, `queue/` | work items |
//! | `task_desk.rs`, `callers.rs`, `completing.rs` | tasks that are completed meanwhile |
//! | `closing.rs`, `leaving.rs` | the end |
//! | `carried_journal.rs` | ends together with the work, if other machines may continue the session |
//! | `gate.rs`, `spending.rs`, `stopwatch.rs` | pauses by a person, cost, working time |
//!
//! It is assembled in `parts.rs`. `survivors.rs` ends what a killed session left running.

mod callers;
mod carried_journal;
mod closing;
mod completing;
mod data;
mod delivery;
mod drive;
mod engines;
mod event_place;
mod firing;
mod gate;
mod gates;
mod leaving;
mod parts;
mod queue;
mod recorder;
mod spending;
mod stopwatch;
mod survivors;
mod task_desk;
mod turn;
mod turn_events;
mod watching;
mod workplace;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::ports::EndRequest;
use hookwright_engine::ports::memory::InMemoryMemory;
use hookwright_events::firing_key::TaskFiring;
use hookwright_events::{RunEventKind, SessionEvent, SessionStatus, Verdict};
use hookwright_process::{MARKER, faults};
use hookwright_store::StoreError;
use tokio_util::sync::CancellationToken;

use crate::course::{Course, EarlyEnd, Happening, Measured, Resumed, Step};
use crate::desk::Desks;
use crate::folder::{FolderError, SessionFolder};
use crate::journal::SessionJournal;
use crate::limits::LONG_WAIT;
use crate::orders::{Order, Orders};
use crate::pending_output::SharedOutput;
use crate::plan::Plan;
use crate::sources::Sources;
use crate::work_keeper::KeepError;
use carried_journal::CarriedJournal;
use engines::Engines;
pub use gate::PauseGate;
use gates::Questions;
pub use parts::{Around, AskPeople, Parts, Started};
use queue::IssueQueues;
pub(crate) use recorder::Recorder;
pub(crate) use spending::Spending;
use stopwatch::Stopwatch;
use task_desk::TaskDesk;
use turn::OpenTurn;
use workplace::Workplace;

/// A session, ready to run.
pub struct Session {
    plan: Arc<Plan>,
    sources: Sources,
    /// The sources are not those that it started with.
    reloaded: bool,
    course: Course,
    folder: Arc<SessionFolder>,
    recorder: Recorder,
    workplace: Workplace,
    engines: Engines,
    memory: Arc<InMemoryMemory>,
    /// Hook output on its way to the agent.
    pending: SharedOutput,
    gate: PauseGate,
    interrupt: EndRequest,
    orders: Orders,
    questions: Questions,
    task_desk: Arc<TaskDesk>,
    desks: Option<Arc<dyn Desks>>,
    /// The stage and iteration that the task desk knows.
    desk_at: Option<(usize, u32)>,
    /// The current turn.
    turn: Option<OpenTurn>,
    queues: IssueQueues,
    spending: Spending,
    stopwatch: Stopwatch,
    /// If other machines may continue it.
    carried: Option<Arc<CarriedJournal>>,
    is_child: bool,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOutcome {
    /// The final status.
    pub status: SessionStatus,
    /// The reason in words.
    pub reason: String,
    /// The number of iterations of all stages.
    pub iterations: u32,
    /// The hook whose question ended it, which is asked again when it is resumed.
    pub question: Option<String>,
}

/// Why a session cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The journal cannot be written, so nothing more may happen.
    #[error("cannot write to the journal: {0}")]
    Journal(#[from] StoreError),
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its work cannot be kept for other machines, or restored here.
    #[error(transparent)]
    Work(#[from] KeepError),
    /// It was ordered to end. It is cut off, and can be resumed.
    #[error("{why}")]
    CutOff {
        /// Why it was ordered.
        why: String,
    },
}

/// Why a step cannot be carried out.
#[derive(Debug)]
enum Halt {
    /// The session ends early.
    Leave(EarlyEnd),
    /// Nothing may happen any more.
    Broken(SessionError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Halt::Broken(error.into())
    }
}

impl From<KeepError> for Halt {
    fn from(error: KeepError) -> Self {
        Halt::Broken(error.into())
    }
}

impl From<FolderError> for Halt {
    fn from(error: FolderError) -> Self {
        Halt::Broken(error.into())
    }
}

impl Session {
    /// The session's journal.
    pub fn journal(&self) -> &Arc<SessionJournal> {
        &self.recorder.journal
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Runs it to its end. Meanwhile other processes may complete tasks.
    pub async fn run(mut self) -> Result<SessionOutcome, SessionError> {
        let task_desk = Arc::clone(&self.task_desk);
        // An agent that a dead run left behind must not be the first caller.
        self.end_survivors().await;
        self.move_desk(None);
        if !self.course.history().has_begun {
            task_desk.open();
        }
        let mut desk = self.open_desk();
        let (journal, interrupt) = (Arc::clone(self.journal()), self.interrupt.clone());
        let orders = self.orders.clone();
        let is_child = self.is_child();
        let killed = async {
            // A child ends with its parent.
            if is_child {
                return std::future::pending().await;
            }
            interrupt.ask(&orders.reached(Order::End).await.why);
            orders.reached(Order::Kill).await.why
        };
        let ended = tokio::select! {
            biased;
            // What it was doing is dropped, and with that every process of its steps is killed.
            why = killed => Err(SessionError::CutOff { why }),
            ended = self.go_to_its_end() => ended,
            never = task_desk.serve(&mut desk) => match never {},
            never = end_if_broken(&journal, &interrupt) => match never {},
        };
        if matches!(ended, Err(SessionError::CutOff { .. })) {
            self.engines.interrupt();
        }
        task_desk.dismiss(desk).await;
        ended
    }

    async fn go_to_its_end(&mut self) -> Result<SessionOutcome, SessionError> {
        let mut happened = Ok(Happening::Done);
        loop {
            let happening = match happened {
                Ok(happening) => happening,
                Err(Halt::Leave(leave)) => Happening::Left(leave),
                Err(Halt::Broken(error)) => {
                    self.engines.interrupt();
                    let of_work =
                        self.carried.as_ref().and_then(|carried| carried.keeper.failure());
                    return Err(of_work.map_or(error, SessionError::Work));
                }
            };
            let given = self.orders.current();
            if given.order >= Order::End && !self.is_child() {
                return Err(SessionError::CutOff { why: given.why });
            }
            happened = match self.course.advance(self.measured(), happening) {
                Step::Finished { status, reason } => return Ok(self.ended(status, reason)),
                step => self.carry_out(step).await,
            };
        }
    }

    fn ended(&self, status: SessionStatus, reason: String) -> SessionOutcome {
        let question = self.questions.ended_by.clone().filter(|_| status == SessionStatus::Aborted);
        SessionOutcome { status, reason, iterations: self.course.position().iterations, question }
    }

    /// Whether a hook has started it.
    fn is_child(&self) -> bool {
        self.workplace.inputs.is_some()
    }

    /// The early end after an interrupt.
    fn interrupted(&self) -> Halt {
        let why = self.interrupt.why().unwrap_or("interrupted").to_owned();
        Halt::Leave(EarlyEnd::Interrupted(why))
    }

    /// Prepares what a new session and a resumed one need.
    async fn make_ready(&mut self) -> Result<(), Halt> {
        self.folder.create()?;
        self.plan_open_issues().await
    }

    /// The record with which the session starts.
    fn beginning(&self) -> RunEventKind {
        let started = SessionEvent::SessionStarted {
            plan: self.plan.name.clone(),
            stages: self.plan.stages.iter().map(|stage| stage.name.clone()).collect(),
            sources: serde_json::to_value(&self.sources).unwrap_or_default(),
        };
        started.into()
    }

    /// Resumes what ran beside the session's course.
    async fn resume(&mut self, resumed: Resumed) -> Result<Happening, Halt> {
        let Resumed { time, failed_at_ends, background, tasks } = resumed;
        let sources = serde_json::to_value(&self.sources).ok().filter(|_| self.reloaded);
        self.recorder.write(SessionEvent::SessionResumed { time, sources }).await?;
        self.note_skipped_gates(&failed_at_ends).await?;
        self.resume_background(background).await?;
        let tasks = self.resume_tasks(tasks).await?;
        Ok(self.ready(tasks, Vec::new()))
    }

    fn ready(&self, tasks: Vec<(TaskFiring, Verdict)>, with: Vec<RunEventKind>) -> Happening {
        Happening::Ready { tasks, with, aborted_by_task: self.task_desk.take_abort() }
    }

    /// Carries out a step of the course; returns the result.
    async fn carry_out(&mut self, step: Step) -> Result<Happening, Halt> {
        self.keep_desk_position();
        match step {
            Step::Begin => {
                self.make_ready().await?;
                return Ok(self.ready(Vec::new(), vec![self.beginning()]));
            }
            Step::Resume(resumed) => {
                self.restore_work().await?;
                self.make_ready().await?;
                return self.resume(resumed).await;
            }
            Step::Write(kind) => self.write(kind).await?,
            Step::Fire(fire) => return self.fire(fire).await.map(Happening::Decided),
            Step::PassGate => self.pass_gate().await?,
            Step::Wait(delay) => self.wait(delay).await?,
            Step::Pause { until, cause, reason } => self.pause(until, cause, reason).await?,
            Step::PrepareTurn(task) => self.prepare_turn(task).await?,
            Step::Attempt(attempt) => return self.attempt(attempt).await,
            Step::GiveTurnUp(given_up) => self.give_turn_up(given_up).await?,
            Step::EndTurn => return self.end_turn().await,
            Step::TakeItem { put_back, unless } => return self.take_item(put_back, unless).await,
            Step::RetakeItem(item) => return Ok(Happening::Retaken(self.take_again(&item).await?)),
            Step::LookAtTask(task) => return self.look_at_task(task).await,
            Step::CompleteTask { task, occasion } => {
                return self.complete_task(task, occasion).await;
            }
            Step::EndItem { state, reason, iterations } => {
                return self.end_item(state, reason, iterations).await;
            }
            Step::Tell(text) => self.pending.lock().push(&text),
            Step::AwaitTasks => {
                self.task_desk.open();
                self.until_tasks_are_completed().await;
            }
            Step::CloseDesk => self.close_desk().await,
            Step::LookForAbort => return Ok(Happening::TaskAborted(self.task_desk.take_abort())),
            Step::NoteUndelivered(why) => self.note_undelivered(why).await?,
            Step::InterruptAll => self.begin_to_end().await,
            Step::Settle => {
                let cut_off = self.settle().await;
                faults::point("settled");
                return Ok(Happening::Settled(cut_off));
            }
            Step::Cut => {
                self.engines.interrupt();
                self.close_desk().await;
                return Ok(Happening::Settled(self.settle().await));
            }
            Step::End { status, reason } => self.record_end(status, reason).await?,
            Step::Finished { .. } => {}
        }
        Ok(Happening::Done)
    }

    /// The measurements for the course.
    fn measured(&self) -> Measured {
        let pending = self.pending.lock();
        Measured {
            worked: self.stopwatch.worked(),
            time: self.recorder.clock.now(),
            has_output: !pending.is_empty(),
            last_output: pending.last(),
            cost: self.spending.cost(),
            stage_cost: self.spending.cost_of(self.course.position().stage_number()),
        }
    }

    /// Waits between iterations.
    async fn wait(&self, delay: Duration) -> Result<(), Halt> {
        self.task_desk.open();
        if delay >= LONG_WAIT {
            let note = format!("waiting {delay:.1?} before the next iteration");
            self.recorder.show_note(note);
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => Ok(()),
            () = self.interrupt.token().cancelled() => Err(self.interrupted()),
        }
    }

    /// A marker for a new turn, which all its processes carry.
    fn new_run_id(&self) -> String {
        use std::hash::{BuildHasher, Hasher};
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        format!("turn-{random:016x}")
    }

    fn outer_marker(&self) -> Option<&std::ffi::OsStr> {
        self.workplace.environment.get(MARKER)
    }
}

/// When nothing can be recorded any more, ends what runs: agents and hooks must not work on.
async fn end_if_broken(journal: &SessionJournal, interrupt: &EndRequest) -> Infallible {
    journal.broken().await;
    interrupt.token().cancel();
    std::future::pending().await
}

/// Waits for work to end. When the token is cancelled, the work is interrupted.
async fn completed<T>(
    work: impl Future<Output = T>,
    cancelled: &CancellationToken,
    interrupt: impl FnOnce(),
) -> T {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = cancelled.cancelled() => interrupt(),
    }
    work.await
}

/// A session that is dropped before its end leaves nothing running: its background hooks belong to
/// it.
impl Drop for Session {
    fn drop(&mut self) {
        self.engines.interrupt();
    }
}
