//! The desk of a running session: where other processes send requests.
//!
//! A caller sends a [`DeskRequest`] and gets a [`DeskAnswer`]. If the caller goes away, its request
//! is still carried out. A caller that cannot reach a running session does not do the work without
//! it: a guard that cannot be asked has not agreed. Only the session itself says that it accepts no
//! more requests.
//!
//! The trait [`Desks`] connects the two. [`SocketDesks`] are sockets in the user's state folder,
//! which no other user may enter: one line of JSON each way. A socket exists as long as its session
//! runs, and is restored if another process removes it. `caller.rs` is the caller's side,
//! `socket.rs` the session's. Callers on other machines send requests through the store
//! (`store_desk.rs`). `session/task_desk.rs` carries the requests out.

mod caller;
mod place;
mod socket;
mod store_desk;

use std::io;
use std::path::PathBuf;

use hookwright_engine::Chain;
use hookwright_engine::ports::Promise;
use hookwright_events::TaskId;
use serde::{Deserialize, Serialize};

pub use caller::DeskReply;
pub use place::DeskError;
pub(crate) use store_desk::{BothDesks, StoreDesk};
pub use store_desk::{ask_through_store, request_keys};

use place::DeskPlace;
use socket::SocketDesk;

/// Connects callers and running sessions.
pub trait Desks: Send + Sync {
    /// Opens the desk of a session that this process runs.
    fn open(&self, project: &str, session: &str) -> Result<Box<dyn OpenDesk>, DeskError>;

    /// Sends a request to a session, which the process `pid` runs, and waits for its answer.
    /// `waits` is called once if that takes longer.
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

    /// Opens the desk again if callers can no longer find it. Returns the callers that had reached
    /// it before.
    fn renew_if_gone(&mut self) -> Vec<Box<dyn DeskCaller>>;

    /// Closes the desk: callers no longer find it. Returns those that wait.
    fn close(self: Box<Self>) -> Vec<Box<dyn DeskCaller>>;
}

/// A caller whose request has not been read yet.
pub trait DeskCaller: Send {
    /// The caller's request, if it arrives in time.
    fn request(&mut self) -> Promise<'_, io::Result<DeskRequest>>;

    /// Answers a caller that still listens.
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

/// A request: a task is done, and its hooks shall decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeskRequest {
    /// [`hookwright_events::run_event::VERSION`].
    pub version: u32,
    /// The project, so that two sessions are never confused.
    pub project: String,
    /// The session's name.
    pub session: String,
    /// The task to complete.
    pub complete_task: TaskId,
    /// The hooks in which the caller runs.
    #[serde(default)]
    pub chain: Chain,
}

/// The session's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum DeskAnswer {
    /// The task is completed.
    Completed {
        /// Messages of hooks for people.
        messages: Vec<String>,
    },
    /// The task was already completed.
    Already,
    /// The request comes from a hook that runs because the task is being completed.
    Underway,
    /// A hook refuses; the task is unchanged.
    Blocked {
        /// The hook's reason.
        reason: String,
        /// Messages of hooks for people.
        messages: Vec<String>,
    },
    /// It could not be done; the task is unchanged.
    Failed {
        /// The error.
        reason: String,
    },
    /// The session accepts no more requests; the caller does it itself.
    Closed,
}
