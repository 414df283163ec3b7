//! Storage of sessions, their journals, waits and tasks.
//!
//! The trait is [`Store`]. A [`StoreLocation`] opens a store; [`SqliteStore`] is one file in a
//! folder, or in memory. Every store promises:
//!
//! - **All or nothing.** A [`Commit`] appends to a journal, writes and deletes records. Afterwards
//!   all of it is there or none of it, whenever the program or the machine stops.
//! - **Safe on return.** A [`Durability::Synced`] commit is on the disk when [`Store::commit`]
//!   returns, together with every commit before it. A [`Durability::Unsynced`] one survives the end
//!   of the program, even `kill -9`, and is lost only if the machine stops. Only the newest commits
//!   can be lost: every stored commit has its predecessors. Others can read a commit before it is
//!   on the disk.
//! - **No lost updates.** An append names the last sequence number that its writer has read, a put
//!   or delete the version. If another process was faster, the commit fails with what it found.
//! - **One holder.** One process at a time holds a lease, and each grant has a higher token. A
//!   commit with a [`Fence`] fails once another process got the lease, however late it comes.
//! - **The dead are declared dead.** A store of several machines knows the [`Workers`] that hold
//!   leases, and gives none of them away before the holder was declared dead or has left.
//! - **Many processes.** Any number of them can use a [`SqliteStore`] at once. Writers take turns
//!   and wait at most [`limits::BUSY_MAX`]; readers neither wait nor make others wait.
//! - **Unreadable files stay unchanged.** A file that is damaged, truncated, of a newer version or
//!   not a store causes an error that says so.
//! - **Losses are reported.** A store that has lost its last commits, because its log was removed
//!   or garbled or the machine went down, reports that once ([`Store::take_losses`]).
//!
//! Values are text that the store does not interpret, by convention JSON. A project is its
//! name, else the text of its path. Calls block the thread, so async
//! callers choose where to run them.

#![warn(missing_docs)]

mod claim;
mod commit;
mod error;
mod journal;
mod kept_projects;
mod kept_tasks;
mod kept_waits;
mod lease;
pub mod limits;
mod living;
mod location;
mod loss;
mod page;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
mod reclaimed;
mod record;
mod sqlite;
mod store;
mod transfer;
#[cfg(feature = "testing")]
mod watched;
mod workers;

pub use claim::{ClaimLane, ClaimLease, ClaimRequest, ClaimedRecord, LeaseState};
pub use commit::{Append, Commit, Committed, Delete, Durability, Expect, Expected, Fence, Put};
pub use error::StoreError;
pub use journal::{Entry, JournalKey};
pub use kept_projects::{KeptProjects, NamedProject, ProjectError, ProjectOrigin};
pub use kept_tasks::{
    ClaimedTask, DeadLease, KeptTask, KeptTasks, NewTask, TaskChange, TaskClaim, TaskError,
    TaskList,
};
pub use kept_waits::{Decide, KeptWaits, Opened, WaitError};
pub use lease::{Acquired, Held};
#[cfg(feature = "testing")]
pub use living::AllButOneLive;
pub use living::{Life, Living};
pub use location::{LocationError, StoreLocation};
pub use loss::Loss;
pub use page::{entries, headings, records};
#[cfg(feature = "postgres")]
pub use postgres::{
    AddressError, Listener, Password, Patience, PostgresAccess, PostgresAddress, PostgresStore,
    Reachability, SchemaChange,
};
pub use queue::{LaneKey, LaneMove, Queued};
pub use reclaimed::{Reclaimed, Rewrite};
pub use record::{Filter, Heading, Kind, Record, RecordKey, RecordPosition};
pub use sqlite::SqliteStore;
pub use store::Store;
pub use transfer::{Transfer, TransferOutcome};
#[cfg(feature = "testing")]
pub use watched::WatchedStore;
pub use workers::{
    BeatReply, StoredWorker, WatchedWorker, WorkerId, WorkerIdError, WorkerLease, Workers,
};
