//! The desk of a running session: where other processes ask it for something while it runs.
//!
//! A caller hands in a [`DeskRequest`] and gets an [`DeskAnswer`]. A caller that goes away changes nothing: what it
//! asked for is done. A caller that cannot reach a session that runs does not do the work without it: a guard
//! that cannot be asked has not agreed. Only the session itself says that it takes nothing any more.
//!
//! How the two reach each other is the trait [`Desks`]. [`SocketDesks`] are sockets in the user's state
//! folder, which no other user may enter: one line of JSON each way. A socket is there as long as its session
//! runs, and comes back when another process removes it. `caller.rs` is the side of the caller, `socket.rs`
//! that of the session. What is asked for is done in `session/task_desk.rs`.

mod caller;
mod place;
mod socket;

use std::io;
use std::path::PathBuf;

use hookwright_engine::Chain;
use hookwright_engine::ports::Promise;
use hookwright_events::TaskId;
use serde::{Deserialize, Serialize};

pub use caller::DeskReply;
pub use place::DeskError;

use place::DeskPlace;
use socket::SocketDesk;

/// The desks of sessions: how callers and running sessions reach each other.
pub trait Desks: Send + Sync {
    /// Opens the desk of a session that this process runs.
    fn open(&self, project: &str, session: &str) -> Result<Box<dyn OpenDesk>, DeskError>;

    /// Asks a session, which the process with the id `pid` runs, and waits for its answer. `waits` is called
    /// once if that takes longer.
    fn ask(
        &self,
        pid: u32,
        request: &DeskRequest,
        waits: &mut dyn FnMut(),
    ) -> Result<DeskReply, DeskError>;
}

/// The session's side of a desk. Dropping it closes it.
pub trait OpenDesk: Send {
    /// The next caller.
    fn next(&mut self) -> Promise<'_, Box<dyn DeskCaller>>;

    /// Opens the desk once more if callers cannot find it any more. Gives those who had reached it before.
    fn renew_if_gone(&mut self) -> Vec<Box<dyn DeskCaller>>;

    /// Closes it: no caller finds it any more. Gives those who wait.
    fn close(self: Box<Self>) -> Vec<Box<dyn DeskCaller>>;
}

/// A caller whose request was not read yet.
pub trait DeskCaller: Send {
    /// What it asks for, if it says so in time.
    fn request(&mut self) -> Promise<'_, io::Result<DeskRequest>>;

    /// Answers a caller that listens.
    fn answer<'a>(&'a mut self, answer: &'a DeskAnswer) -> Promise<'a, io::Result<()>>;
}

/// Desks that are sockets in a folder of this machine.
#[derive(Debug, Clone)]
pub struct SocketDesks {
    state_folder: PathBuf,
}

impl SocketDesks {
    /// The desks of the user with this state folder.
    pub fn new(state_folder: PathBuf) -> Self {
        Self { state_folder }
    }
}

impl Desks for SocketDesks {
    fn open(&self, project: &str, session: &str) -> Result<Box<dyn OpenDesk>, DeskError> {
        let place = DeskPlace::new(&self.state_folder, project, session);
        Ok(Box::new(SocketDesk::open(place)?))
    }

    fn ask(
        &self,
        pid: u32,
        request: &DeskRequest,
        waits: &mut dyn FnMut(),
    ) -> Result<DeskReply, DeskError> {
        let place = DeskPlace::new(&self.state_folder, &request.project, &request.session);
        caller::ask(&place, pid, request, waits)
    }
}

/// What a caller wants: a task is done, and its hooks shall say what they think.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeskRequest {
    /// [`hookwright_events::run_event::VERSION`].
    pub version: u32,
    /// The project, so that two sessions are never taken for each other.
    pub project: String,
    /// The session.
    pub session: String,
    /// The task.
    pub complete_task: TaskId,
    /// The hooks in which the caller runs.
    #[serde(default)]
    pub chain: Chain,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum DeskAnswer {
    /// The task is completed.
    Completed {
        /// What hooks want people to know.
        messages: Vec<String>,
    },
    /// It was before.
    Already,
    /// A hook that runs because the task is being completed asked for it.
    Underway,
    /// A hook says no; the task is as it was.
    Blocked {
        /// Why.
        reason: String,
        /// What hooks want people to know.
        messages: Vec<String>,
    },
    /// It could not be done; the task is as it was.
    Failed {
        /// Why.
        reason: String,
    },
    /// The session takes nothing any more; the caller does it.
    Closed,
}
