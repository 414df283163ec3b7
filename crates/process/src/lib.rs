//! One child process, with everything it starts.
//!
//! [`run`] starts a program in a process group of its own, feeds it, reads it, and returns when it
//! has ended or its time is over. It guarantees:
//!
//! - The timeout bounds wall time, whatever the command does. It ends the process group, the tree
//!   below the leader, and every process that carries this run's [`MARKER`] in its environment or,
//!   on Linux, this run's mark in its limits.
//! - A child that ends in time keeps its background children.
//! - Output kept in memory is bounded; within that limit no output is lost.
//! - No thread, no signal handler and no read of `/proc` in the normal case (on Linux).
//!
//! [`InteractiveChild`] is a child whose standard input stays open, such as a server. It is owned in
//! the same way, and ends when its owner says so.
//!
//! Out of reach: a process that left the tree (a double fork) and removed both marks, processes of
//! other users, and work handed to a daemon.
//!
//! All this holds on Linux. Other Unix systems use `reach_portable.rs`: the process group only.
#![warn(missing_docs)]

mod abandoned;
mod ancestry;
mod c_strings;
mod captured;
mod clock;
mod connection;
mod end_of_leader;
mod ended;
pub mod faults;
mod find_program;
mod ignored_signals;
mod interactive;
mod launch;
mod leader;
#[cfg(target_os = "linux")]
mod limit_marker;
mod orphans;
mod pipes;
#[cfg(target_os = "linux")]
mod process_table;
#[cfg_attr(not(target_os = "linux"), path = "reach_portable.rs")]
mod reach;
mod run;
mod running;
mod spawn;
mod start;
mod terminal;
mod utf8_chunks;
mod watch;

pub use ancestry::{AncestorProcess, Ancestry};
pub use captured::Captured;
pub use connection::Client;
pub use ended::{Ended, How};
pub use find_program::find_program;
pub use ignored_signals::IgnoredSignals;
pub use interactive::{ChildStreams, InteractiveChild, InteractiveEnd, InteractiveLaunch};
pub use launch::{Launch, MARKER};
pub use leader::{Leader, Sent};
pub use orphans::{become_subreaper, collect_orphans, reap_orphans};
pub use reach::{end_run, end_runs, wait_for_runs};
pub use run::run;
pub use running::{kill_everything_now, runs_started};
pub use start::StartFailure;
pub use utf8_chunks::Utf8Chunks;
pub use watch::{OutputFilter, Stream, Watch};
