//! The input and output of a course.

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

/// What the session does next. Each step is answered with the happening after the arrow, or with
/// [`Happening::Left`].
#[derive(Debug)]
pub(crate) enum Step {
    /// Start a new session → `Ready`.
    Begin,
    /// Resume what ran beside the course → `Ready`.
    Resume(Resumed),
    /// Journal this → `Done`.
    Write(RunEventKind),
    /// Fire an event → `Decided`.
    Fire(EventToFire),
    /// Wait as long as a person holds the session → `Done`.
    PassGate,
    /// Wait between iterations → `Done`.
    Wait(Duration),
    /// Wait for agents → `Done`.
    Pause {
        /// The end, in milliseconds since 1970.
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
    /// The last attempt counts; read its result → `TurnEnded`.
    EndTurn,
    /// Take the next work item of the stage's queue → `Item`, or `Lines` if it is a command.
    TakeItem {
        /// Items that are left to other sessions.
        put_back: Arc<HashSet<String>>,
        /// How the session ends early if there is one.
        unless: Option<EarlyEnd>,
    },
    /// Take an interrupted work item again → `Retaken`.
    RetakeItem(WorkItem),
    /// Read the task that the session works on → `TaskSeen`.
    LookAtTask(TaskId),
    /// Ask the hooks of `task:complete`, and complete the task → `TaskAsked`.
    CompleteTask { task: TaskId, occasion: Occasion },
    /// Record the end of a work item → `ItemEnded`.
    EndItem { state: ItemState, reason: Option<String>, iterations: u32 },
    /// Add this to the agent's next prompt → `Done`.
    Tell(String),
    /// Serve requests for tasks, and wait for the hooks of tasks that are being completed → `Done`.
    AwaitTasks,
    /// Accept no more requests for tasks → `Done`.
    CloseDesk,
    /// Check whether a hook of a task wants the session to end → `TaskAborted`.
    LookForAbort,
    /// Note the output that will not be delivered, for this reason → `Done`.
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

/// What a resumed session resumes beside its course.
#[derive(Debug)]
pub(crate) struct Resumed {
    /// How often it was resumed, including this time.
    pub(crate) time: u32,
    /// Hooks that were awaited and did not succeed where the session was ended.
    pub(crate) failed_at_ends: Vec<String>,
    /// Firings that it does not reach again, although some of their hooks have not ended.
    pub(crate) background: Vec<LeftFiring>,
    /// Tasks whose completion was interrupted.
    pub(crate) tasks: Vec<LeftTask>,
}

/// An interrupted firing.
#[derive(Debug)]
pub(crate) struct LeftFiring {
    pub(crate) key: FiringKey,
    /// The key of the firing that determines its stage: its own, or that of the hook's firing.
    pub(crate) above: FiringKey,
    pub(crate) past: PastFiring,
}

/// An event to fire.
#[derive(Debug)]
pub(crate) struct EventToFire {
    pub(crate) key: FiringKey,
    /// What is known of this firing, if it was interrupted.
    pub(crate) past: Option<Box<PastFiring>>,
    /// What is left to do at this point, if hooks have ended the session there before.
    pub(crate) again: Option<Again>,
    /// Data of the event that the course knows.
    pub(crate) data: Value,
    /// Written in the same commit.
    pub(crate) with: Vec<RunEventKind>,
}

/// A turn of an agent.
#[derive(Debug)]
pub(crate) struct TurnTask {
    pub(crate) name: TurnName,
    /// It delivers what hooks reported after the last iteration.
    pub(crate) is_final_delivery: bool,
    /// It failed when the session ended, and is repeated.
    pub(crate) is_again: bool,
    /// The error of the turn before, for a delivery without an iteration.
    pub(crate) error: Option<String>,
    /// What is left of the stage's time.
    pub(crate) time_left: Option<Duration>,
}

/// An attempt at a turn.
#[derive(Debug)]
pub(crate) struct TurnAttempt {
    /// The agent, by its index in the stage's list.
    pub(crate) agent: usize,
    /// It could not work when it was last asked.
    pub(crate) was_refused: bool,
    /// From 1.
    pub(crate) number: u32,
    pub(crate) time_left: Option<Duration>,
    /// Reports that another agent works from now on.
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

/// The result of a step.
#[derive(Debug)]
pub(crate) enum Happening {
    /// The session is ready to start, or to be resumed.
    Ready {
        /// The decisions about tasks that were left.
        tasks: Vec<(TaskFiring, Verdict)>,
        /// Written with the first event.
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
        /// Yet to be written, together with what follows.
        record: Box<RunEventKind>,
    },
    /// The next work item, if there is one.
    Item(Option<WorkItem>),
    /// The output of a queue's command, one work item per line.
    Lines(Vec<String>),
    /// Whether the work item belongs to the session; otherwise another session has it.
    Retaken(bool),
    /// The state of the task, and whether it still belongs to this session.
    TaskSeen { state: TaskState, is_ours: bool },
    /// Why the task is not completed, if it is not.
    TaskAsked { refused: Option<String>, aborted_by_task: Option<String> },
    /// What is recorded about the end of a work item.
    ItemEnded { state: ItemState, reason: Option<String> },
    /// Why a hook of a task wants the session to end.
    TaskAborted(Option<String>),
    /// Background hooks that were interrupted.
    Settled(Vec<String>),
    /// The step could not be carried out, and the session ends early.
    Left(EarlyEnd),
}

/// The hooks' decision.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) verdict: Verdict,
    /// Hooks want the session to continue after an error.
    pub(crate) is_answered: bool,
    /// Why a hook of a task wants the session to end.
    pub(crate) aborted_by_task: Option<String>,
}

/// Why the session ends early.
#[derive(Debug, Clone)]
pub(crate) enum EarlyEnd {
    /// A hook ended the session.
    Aborted(String),
    Failed(String),
    /// A person wants it to end, for this reason.
    Interrupted(String),
    /// It cannot continue before a person has acted.
    Paused {
        cause: PauseCause,
        reason: String,
    },
}

/// What the driver measures at every happening.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// How long the session has worked in this process, without pauses.
    pub(crate) worked: Duration,
    /// The time of day.
    pub(crate) time: String,
    /// Hook output waits for the agent.
    pub(crate) has_output: bool,
    /// What to do with that output after all iterations.
    pub(crate) last_output: Last,
    /// In US dollars, including the sessions that its hooks started.
    pub(crate) cost: f64,
    /// The same for the current stage.
    pub(crate) stage_cost: f64,
}
