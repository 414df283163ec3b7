//! What goes into a course, and what comes out of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::PastFiring;
use hookwright_events::firing_key::{Occasion, TaskFiring};
use hookwright_events::{
    FailureCause, FiringKey, ItemState, PauseCause, RunEventKind, SessionStatus, TaskId, TaskState,
    TurnName, TurnResult, Usage, Verdict, WorkItem,
};
use serde_json::Value;

use crate::history::{Again, LeftTask};
use crate::pending_output::Last;

/// What the session does next. Each step is answered with the happening behind the arrow, or with
/// [`Happening::Left`].
#[derive(Debug)]
pub(crate) enum Step {
    /// Begin a new session → `Ready`.
    Begin,
    /// Go on with what was under way beside the course → `Ready`.
    Resume(Resumed),
    /// Write this in the journal → `Done`.
    Write(RunEventKind),
    /// Fire an event → `Decided`.
    Fire(EventToFire),
    /// Wait before the next step as long as a person wants that → `Done`.
    PassGate,
    /// Wait between iterations → `Done`.
    Wait(Duration),
    /// Wait for agents → `Done`.
    Pause {
        /// Until when, in milliseconds since 1970.
        until: i64,
        cause: PauseCause,
        reason: String,
    },
    /// Prepare the files of a turn → `Done`.
    PrepareTurn(TurnTask),
    /// Let an agent work → `Attempted`.
    Attempt(TurnAttempt),
    /// The agent of the last attempt could not work, and another attempt follows → `Done`.
    GiveTurnUp(GivenUp),
    /// The last attempt counts; read what came of it → `TurnEnded`.
    EndTurn,
    /// Take the next piece of work of the stage's queue → `Item`, or `Lines` if it is a command.
    TakeItem {
        /// Those that are left to other sessions.
        put_back: Arc<HashSet<String>>,
        /// How the session is left if there is one.
        unless: Option<EarlyEnd>,
    },
    /// Take a piece of work again that was cut off → `Retaken`.
    RetakeItem(WorkItem),
    /// Look at the task that the session works on → `TaskSeen`.
    LookAtTask(TaskId),
    /// Ask the hooks of `task:complete`, and complete the task → `TaskAsked`.
    CompleteTask { task: TaskId, occasion: Occasion },
    /// Write what became of a piece of work → `ItemEnded`.
    EndItem { state: ItemState, reason: Option<String>, iterations: u32 },
    /// Add this to what the agent is told next → `Done`.
    Tell(String),
    /// Serve requests for tasks, and wait for the hooks of tasks that are being completed → `Done`.
    AwaitTasks,
    /// Accept no more requests for tasks → `Done`.
    CloseDesk,
    /// Look whether a hook of a task wants the session to end → `TaskAborted`.
    LookForAbort,
    /// Note what the agent does not get any more, for this reason → `Done`.
    NoteUndelivered(&'static str),
    /// Interrupt everything that runs, so that only the last hooks run → `Done`.
    InterruptAll,
    /// Wait for hooks in the background → `Settled`.
    Settle,
    /// Interrupt hooks in the background and wait for them → `Settled`.
    Cut,
    /// Record the end → `Done`.
    End { status: SessionStatus, reason: String },
    /// Nothing is left to do.
    Finished { status: SessionStatus, reason: String },
}

/// What a resumed session goes on with, beside its course.
#[derive(Debug)]
pub(crate) struct Resumed {
    /// How often it was resumed, this time included.
    pub(crate) time: u32,
    /// Hooks that were waited for and did not succeed where the session was ended.
    pub(crate) failed_at_ends: Vec<String>,
    /// Firings that it does not come to again, although some of their hooks have not ended.
    pub(crate) background: Vec<LeftFiring>,
    /// Tasks whose completion was cut off.
    pub(crate) tasks: Vec<LeftTask>,
}

/// A firing that was cut off.
#[derive(Debug)]
pub(crate) struct LeftFiring {
    pub(crate) key: FiringKey,
    /// The key of the firing in whose stage it was fired: its own, or that of the hook's firing.
    pub(crate) above: FiringKey,
    pub(crate) past: PastFiring,
}

/// An event to fire.
#[derive(Debug)]
pub(crate) struct EventToFire {
    pub(crate) key: FiringKey,
    /// What is known of this firing, if it was cut off.
    pub(crate) past: Option<Box<PastFiring>>,
    /// What is left to do at this point, if hooks have ended the session there before.
    pub(crate) again: Option<Again>,
    /// Data of the event that follow from the course.
    pub(crate) data: Value,
    /// Is written in the same commit.
    pub(crate) with: Vec<RunEventKind>,
}

/// A turn of an agent.
#[derive(Debug)]
pub(crate) struct TurnTask {
    pub(crate) name: TurnName,
    /// It delivers what hooks reported after the last iteration.
    pub(crate) is_final_delivery: bool,
    /// It failed when the session ended, and is done again.
    pub(crate) is_again: bool,
    /// What the turn before failed with, for a delivery without an iteration.
    pub(crate) error: Option<String>,
    /// What is left of the stage's time.
    pub(crate) time_left: Option<Duration>,
}

/// An attempt at a turn.
#[derive(Debug)]
pub(crate) struct TurnAttempt {
    /// The agent, by its place in the stage's list.
    pub(crate) agent: usize,
    /// It could not work when it was asked last.
    pub(crate) was_refused: bool,
    /// From 1.
    pub(crate) number: u32,
    pub(crate) time_left: Option<Duration>,
    /// Tells that another agent works from now on.
    pub(crate) change: Option<RunEventKind>,
}

/// Why an agent could not do its turn.
#[derive(Debug, Clone)]
pub(crate) struct GivenUp {
    pub(crate) cause: FailureCause,
    pub(crate) reason: String,
    /// When it can work again, in milliseconds since 1970.
    pub(crate) until: Option<i64>,
}

/// What came of a step.
#[derive(Debug)]
pub(crate) enum Happening {
    /// The session is ready to begin, or to go on.
    Ready {
        /// What was decided about tasks that were left.
        tasks: Vec<(TaskFiring, Verdict)>,
        /// Is written with the first event.
        with: Vec<RunEventKind>,
        /// Why a hook of a task wants the session to end.
        aborted_by_task: Option<String>,
    },
    /// The step was carried out.
    Done,
    /// Hooks have decided.
    Decided(Decided),
    /// An agent has ended.
    Attempted { given_up: Option<GivenUp>, usage: Option<Usage> },
    /// A turn has ended.
    TurnEnded {
        result: Box<TurnResult>,
        /// Has still to be written, together with what follows.
        record: Box<RunEventKind>,
    },
    /// The next piece of work, if there is one.
    Item(Option<WorkItem>),
    /// What the command of a queue prints, one piece of work a line.
    Lines(Vec<String>),
    /// Whether the piece of work is the session's; otherwise another session has it.
    Retaken(bool),
    /// How far the task is, and whether it is still this session's.
    TaskSeen { state: TaskState, is_ours: bool },
    /// Why the task is not completed, if it is not.
    TaskAsked { refused: Option<String>, aborted_by_task: Option<String> },
    /// What is written about the end of a piece of work.
    ItemEnded { state: ItemState, reason: Option<String> },
    /// Why a hook of a task wants the session to end.
    TaskAborted(Option<String>),
    /// Hooks in the background that were interrupted.
    Settled(Vec<String>),
    /// The step could not be carried out, and the session ends early.
    Left(EarlyEnd),
}

/// What hooks have decided.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) verdict: Verdict,
    /// Hooks want the session to go on after an error.
    pub(crate) is_answered: bool,
    /// Why a hook of a task wants the session to end.
    pub(crate) aborted_by_task: Option<String>,
}

/// Why the session ends early.
#[derive(Debug, Clone)]
pub(crate) enum EarlyEnd {
    /// A hook ended the session.
    Aborted(String),
    /// It went wrong.
    Failed(String),
    /// A person wants it to end, for this reason.
    Interrupted(String),
    /// It cannot go on before a person has done something about it.
    Paused { cause: PauseCause, reason: String },
}

/// What the driver measures whenever it tells what happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// How long the session has worked in this process. Pauses do not count.
    pub(crate) worked: Duration,
    /// The time of day.
    pub(crate) time: String,
    /// Hook output waits for the agent.
    pub(crate) has_output: bool,
    /// What to do about that output when all iterations are over.
    pub(crate) last_output: Last,
    /// In US dollars, with the sessions that its hooks started.
    pub(crate) cost: f64,
    /// The same of the current stage.
    pub(crate) stage_cost: f64,
}
