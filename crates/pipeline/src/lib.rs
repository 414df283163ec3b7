//! Hookwright's runner: an agent goes through stages and iterations, hooks run at every point, and
//! nothing that happened is lost.
//!
//! | module | is |
//! |---|---|
//! | [`sources`] | every file that a session is configured by, found and kept as text |
//! | [`plan`] | what a session will do, worked out from those and checked whole |
//! | [`session`] | one session from its beginning, or from where it was cut off, to its end |
//! | [`history`] | what a session's journal says has happened |
//! | [`journal`], [`record`] | what is written down as it happens, and what lists tell of it |
//! | [`lease`] | one process at a time runs a session |
//! | [`stored_session`] | a session as the store has it, and whether somebody runs it |
//! | [`queue`] | where a stage's work is found, and what became of it |
//! | `children`, `lineage` | sessions that hooks start, and those above them |
//! | [`desk`] | where other processes ask a running session for something |
//! | [`caller`] | a process that asks for something, and whether it works inside a session |
//! | `pending_output` | hook output on its way to the agent |
//! | [`task_lease`] | one process at a time completes a task |
//! | `availability` | which agents can work now, and what to do when none can |
//! | [`folder`] | a session's folder and the files in it |
//! | [`changed_files`] | what changed in the work tree |
//! | [`timeline`] | a session's journal, told as stages, iterations and hooks |
#![warn(missing_docs)]

mod availability;
pub mod caller;
pub mod changed_files;
mod children;
mod course;
pub mod desk;
pub mod folder;
pub mod history;
pub mod journal;
pub mod lease;
pub mod limits;
mod lineage;
pub mod made_names;
mod pending_output;
pub mod plan;
mod prompt;
pub mod queue;
pub mod record;
pub mod session;
pub mod session_id;
pub mod session_issues;
pub mod session_state;
pub mod sources;
pub mod stored_session;
pub mod task_lease;
pub mod timeline;
