//! [`Agent`]: who does the work. A prompt goes in, the work tree changes, output comes out.
//!
//! A driver decides nothing: it runs one turn to its end and says how it ended. Whoever wants to
//! drive an agent of another kind implements this trait.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::Outcome;
use hookwright_process::{Leader, Stream};
use tokio_util::sync::CancellationToken;

/// What a driver promises to give.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Drives an agent.
pub trait Agent: Send + Sync {
    /// What it is called in records: `command`, `scripted`.
    fn kind(&self) -> &'static str;

    /// Runs one turn to its end. When `cancel` is cancelled, the agent is asked to end, and the turn
    /// ends as [`Outcome::Interrupted`].
    fn run<'a>(
        &'a self,
        turn: &'a Turn,
        watch: &'a mut dyn AgentWatch,
        cancel: &'a CancellationToken,
    ) -> Promise<'a, TurnEnd>;
}

/// One turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What the agent is told, in blocks: output of hooks before the prompt itself. An agent without
    /// blocks gets them joined by an empty line.
    pub prompt: Vec<String>,
    /// What the host's environment gives.
    pub shared_env: Arc<[(OsString, OsString)]>,
    /// What stands on top of that: our variables.
    pub env: Vec<(OsString, OsString)>,
    /// Where it works: the project root.
    pub working_dir: PathBuf,
    /// The stage's name.
    pub stage: String,
    /// The iteration within its stage, from 1.
    pub iteration: u32,
    /// 1, or more if an earlier attempt of this turn was cut off by a crash.
    pub attempt: u32,
    /// Where the agent writes how it went.
    pub status_file: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// The unique name of this run, which every process of it carries.
    pub run_id: String,
}

/// How a turn ended, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// How.
    pub outcome: Outcome,
    /// How long.
    pub took: Duration,
}

/// Looks on while an agent works.
pub trait AgentWatch: Send {
    /// Its process runs. Called before the agent can have any effect, where that is possible.
    fn running(&mut self, leader: &Leader);

    /// It has printed something.
    fn output(&mut self, stream: Stream, bytes: &[u8]);
}
