//! The dialects: other systems' files, read as they are, under the rules of their own
//! specifications.
//!
//! One folder for each system, all with the same parts:
//!
//! | part | holds |
//! |---|---|
//! | `files.rs` | where the system's files are |
//! | `config.rs` | what stands in them, as hooks of ours; every fault with its place |
//! | `event.rs` | what a hook reads: standard input, variables, `{{names}}` |
//! | `reply.rs` | what its exit code and output mean, and what is shown of it |
//!
//! [`agents`] are the other way round: programs that we drive, and what the lines mean that they print.
//!
//! [`connections`] are the events for which agents' own settings call this program.
//!
//! [`native`] says their hooks in the native format, for people who move.
//!
//! What differs from native hooks reaches the engine as a
//! [`Policy`](hookwright_engine::policy::Policy) and a [`Wire`](hookwright_engine::policy::Wire); the
//! engine knows no dialect. Foreign spelling stops here.

#![warn(missing_docs)]

pub mod agent_pipelines;
pub mod agents;
mod autoagent;
pub mod claude;
pub mod code_forge;
mod connection;
mod foreign;
pub mod iteratr;
pub mod native;

pub use connection::{CONNECTABLE, Connectable, Connection, connections};
pub use foreign::{Foreign, Location, Whereabouts, all, known, named, of_file};
