//! [`Session`]: one session from its beginning to its end, or from where it was cut off.
//!
//! ```text
//! session:start → [stage:start → [iteration:start → agent → iteration:complete | iteration:error]…
//!   → stage:complete]… → final delivery → session:stop → session:end
//! ```
//!
//! There is one way through. Every step asks the [`History`] first: what is recorded as complete is
//! taken from there, what was under way is done again with a higher attempt number, and the rest is
//! done for the first time. What announces an effect is journalled before it; the end of a turn and
//! the firing of its hooks are one commit, and so are the ends of stages.
//!
//! With a queue each piece of work is an execution around its iterations: `queue.rs`.
//!
//! What it is made of is in `parts.rs`. Stages are in `stage.rs`, turns of agents in `turn.rs`, what is delivered after the last in
//! `delivery.rs`, the end in `closing.rs`, and what a session
//! that a hook has started leaves in `leaving.rs`. Tasks that are completed meanwhile are in
//! `completing.rs` and `task_desk.rs`. What a killed session left running is ended in `survivors.rs`.

mod callers;
mod closing;
mod completing;
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
mod stage;
mod survivors;
mod task_desk;
mod turn;
mod turn_events;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hookwright_engine::ports::memory::InMemoryMemory;
use hookwright_engine::ports::{Clock, EndRequest, Ports};
use hookwright_engine::secrets::Secrets;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Observer};
use hookwright_events::firing_key::Part;
use hookwright_events::{PauseCause, Point, RunEvent, RunEventKind, SessionStatus, WorkItem};
use hookwright_process::MARKER;
use hookwright_store::StoreError;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::changed_files::WorkTree;
use crate::desk::DeskPlace;
use crate::folder::{FolderError, SessionFolder};
use crate::history::History;
use crate::journal::SessionJournal;
use crate::pending_output::SharedOutput;
use crate::plan::{Plan, Reason};
use crate::queue::IssueQueue;
use crate::sources::Sources;
use drive::AgentsInUse;
pub use gate::Gate;
pub use parts::{Around, AskPeople, Parts, Started};
pub(crate) use spending::Spending;
use stage::Course;
use task_desk::TaskDesk;

/// One session.
pub struct Session {
    plan: Plan,
    sources: Sources,
    folder: SessionFolder,
    journal: Arc<SessionJournal>,
    history: History,
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
    last_decision: Option<String>,
    /// What the agent said last that it has done.
    last_summary: String,
    /// Iterations of all stages.
    iterations: u32,
    /// How the stage that ended last has come to its end.
    last_stage: Course,
    /// The piece of work that is being done.
    item: Option<WorkItem>,
    /// What is known of its folders of issues, by their paths from the root.
    issue_queues: BTreeMap<String, IssueQueue>,
    /// What was said to be wrong with issues since it began: no more than there are.
    told_of_issues: BTreeSet<String>,
    /// What hooks reported after the last iteration was delivered, or is not delivered any more.
    is_delivered: bool,
    /// Blocks of its stop that this process has come to.
    stop_blocks: u32,
    /// What is known of its agents.
    in_use: AgentsInUse,
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

/// Why the way through is left early.
#[derive(Debug)]
enum Leave {
    /// A hook ended the session.
    Aborted(String),
    /// It went wrong.
    Failed(String),
    /// Somebody wants it to end.
    Interrupted,
    /// It cannot go on before a person has done something about it.
    Paused {
        /// What it waits for.
        cause: PauseCause,
        /// In words.
        reason: String,
    },
    /// Nothing may happen any more.
    Broken(SessionError),
}

impl From<StoreError> for Leave {
    fn from(error: StoreError) -> Self {
        Leave::Broken(error.into())
    }
}

impl From<FolderError> for Leave {
    fn from(error: FolderError) -> Self {
        Leave::Broken(error.into())
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
        if self.history.last == 0 {
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
        let left = self.work().await;
        let ended = self.close(left).await;
        match ended {
            Ok(ended) => Ok(ended),
            Err(Leave::Broken(error)) => Err(error),
            Err(Leave::Aborted(reason)) => Ok(self.ended(SessionStatus::Aborted, reason)),
            Err(Leave::Failed(reason)) => Ok(self.ended(SessionStatus::Failed, reason)),
            Err(Leave::Interrupted) => {
                Ok(self.ended(SessionStatus::Interrupted, self.why_interrupted()))
            }
            Err(Leave::Paused { reason, .. }) => Ok(self.ended(SessionStatus::Paused, reason)),
        }
    }

    fn ended(&self, status: SessionStatus, reason: String) -> Ended {
        let question = self.ended_by_question.clone().filter(|_| status == SessionStatus::Aborted);
        Ended { status, reason, iterations: self.iterations, question }
    }

    /// Why somebody wants it to end.
    fn why_interrupted(&self) -> String {
        self.asked_to_end.why().unwrap_or("interrupted").to_owned()
    }

    /// All of the work; returns why it is enough.
    async fn work(&mut self) -> Result<&'static str, Leave> {
        self.folder.create()?;
        let begins = self.history.last == 0;
        self.plan_open_issues()?;
        let with = if begins {
            vec![RunEventKind::SessionStarted {
                plan: self.plan.name.clone(),
                stages: self.plan.stages.iter().map(|stage| stage.name.clone()).collect(),
                sources: serde_json::to_value(&self.sources).unwrap_or_default(),
            }]
        } else {
            let sources = serde_json::to_value(&self.sources).ok().filter(|_| self.reloaded);
            let time = self.history.resumes + 1;
            self.write(vec![RunEventKind::SessionResumed { time, sources }])?;
            self.note_skipped_gates()?;
            self.take_up_background().await?;
            self.take_up_tasks().await?;
            Vec::new()
        };
        // A session that has ended begins once more: its hooks at `session:end` have run. One that was
        // cut off just goes on.
        let source = if self.history.endings == 0 { "startup" } else { "resume" };
        let data = self.data_of_session(json!({ "source": source }));
        let key = Point::SessionStart { endings: self.history.endings };
        self.fire(key, data, with).await?;
        let mut reason = Reason::Completed;
        for index in 0..self.plan.stages.len() {
            // Of several stages that reached a bound the last one counts.
            match self.stage(index).await? {
                Reason::Completed => {}
                bound => reason = bound,
            }
        }
        self.task_desk.open();
        self.deliver_before_stop().await?;
        self.ask_to_stop(reason).await?;
        self.deliver_the_rest().await?;
        self.note_undelivered()?;
        Ok(reason.as_str())
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

    /// The data that every event of the session has, and these.
    fn data_of_session(&self, more: Value) -> Map<String, Value> {
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut data = Map::new();
        data.insert("session".to_owned(), self.name.clone().into());
        data.insert("session_id".to_owned(), self.journal.session_id().into());
        data.insert("host".to_owned(), "run".into());
        data.insert("session_dir".to_owned(), path(self.folder.path().to_owned()).into());
        data.insert("transcript_path".to_owned(), "/dev/null".into());
        data.insert("progress".to_owned(), path(self.folder.progress()).into());
        data.insert("iteration".to_owned(), self.iterations.into());
        // In a pipeline each stage has its own.
        if let [stage] = &self.plan.stages[..] {
            let bound = stage.bound();
            data.extend(bound.map(|most| ("max_iterations".to_owned(), most.into())));
        }
        if let Some(decision) = &self.last_decision {
            data.insert("last_decision".to_owned(), decision.clone().into());
        }
        if let Value::Object(more) = more {
            data.extend(more);
        }
        data
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
