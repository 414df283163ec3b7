//! What Hookwright keeps: sessions, the journal of each, waits and tasks.
//!
//! One trait, [`Store`]; a [`StoreLocation`] opens the store that is there. [`SqliteStore`] keeps it in one
//! file of one folder, or in memory. What a store promises:
//!
//! - **All or nothing.** A [`Commit`] appends to a journal, writes and deletes records, and all of
//!   it is there afterwards or none of it, whenever the program or the machine stops.
//! - **Safe on return.** A [`Durability::Synced`] commit is on the disk when [`Store::commit`]
//!   returns, and with it every commit before it. A [`Durability::Unsynced`] one survives the end of
//!   the program, `kill -9` included, and is lost only with the machine. What is lost is always the
//!   newest: no commit is there without those before it. Others can read a commit before it is on the disk.
//! - **Nothing is overwritten unseen.** An append names the last sequence number that its writer
//!   knows, a put or delete the version. Somebody else was faster: the commit fails and says what it
//!   found.
//! - **One holder.** A lease is held by one at a time, and each grant has a higher token. A commit
//!   with a [`Fence`] fails once the token has been passed on, however late it comes.
//! - **Many processes.** Any number of them may use a [`SqliteStore`] at once. Writers take turns and
//!   wait at most [`limits::BUSY_MAX`]; readers wait for nobody and keep nobody waiting.
//! - **What cannot be read is left alone.** A file that is damaged, cut short, of a newer version or
//!   not ours is an error that says so, and stays as it is.
//! - **What was lost is told.** A store whose last commits are gone, because its log was removed or
//!   garbled or the machine went down, says so once ([`Store::take_losses`]).
//!
//! Values are text that the store does not look into; by convention JSON. A project is the text of
//! a path: whoever has a path that is no UTF-8 escapes it without loss first. Calls block; whoever
//! is async decides where.

#![warn(missing_docs)]

mod commit;
mod error;
mod journal;
mod kept_tasks;
mod kept_waits;
mod lease;
pub mod limits;
mod location;
mod loss;
mod page;
mod queue;
mod reclaimed;
mod record;
mod sqlite;
mod store;
#[cfg(feature = "testing")]
mod watched;

pub use commit::{Append, Commit, Committed, Delete, Durability, Expect, Expected, Fence, Put};
pub use error::StoreError;
pub use journal::{Entry, JournalKey};
pub use kept_tasks::{Claim, KeptTask, KeptTasks, NewTask, TaskChange, TaskError, TaskList};
pub use kept_waits::{Decide, KeptWaits, Opened, WaitError};
pub use lease::{Acquired, Held};
pub use location::{LocationError, StoreLocation};
pub use loss::Loss;
pub use page::{entries, headings, records};
pub use queue::{LaneKey, LaneMove, Queued};
pub use reclaimed::{Reclaimed, Rewrite};
pub use record::{Filter, Heading, Kind, Place, Record, RecordKey};
pub use sqlite::SqliteStore;
pub use store::Store;
#[cfg(feature = "testing")]
pub use watched::WatchedStore;
