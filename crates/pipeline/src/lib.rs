//! Hookwright's runner: an agent goes through stages and iterations, hooks run at every point, and
//! nothing that happened is lost.
//!
//! | module | is |
//! |---|---|
//! | [`sources`] | every file that configures a session, found and kept as text |
//! | [`plan`] | what a session will do, worked out from those and checked whole |
//! | [`session`] | one session from its start, or from where it was interrupted, to its end |
//! | [`prompted_session`] | a session of the built-in agent that a person prompts |
//! | [`history`] | what happened so far, according to the session's journal |
//! | [`journal`], [`record`] | what is stored as it happens, and what lists show of it |
//! | [`lease`] | one process at a time runs a session |
//! | [`store_calls`] | a session's calls to its store, which do not block it |
//! | [`heart`], [`orders`] | a process that shares its store with other machines: its beats, and what its sessions may do |
//! | [`leftovers`] | what dead workers left running on this machine |
//! | [`process_leases`] | what a session's process held that its worker has outlived |
//! | [`submission`] | sessions that wait for workers, and what they need |
//! | [`stored_session`] | a session in the store, and whether a process runs it |
//! | [`session_files`] | the files of a session's folder, in the store |
//! | [`queue`] | where a stage's work items come from, and what became of them |
//! | `children`, `lineage` | sessions that hooks start, and those above them |
//! | [`desk`] | where other processes send requests to a running session |
//! | [`caller`] | a process that makes a request, and whether it runs inside a session |
//! | `pending_output` | hook output on its way to the agent |
//! | [`task_lease`] | one process at a time completes a task |
//! | `availability` | which agents can work now, and what to do if none can |
//! | [`folder`] | a session's folder and the files in it |
//! | [`changed_files`] | what changed in the work tree |
//! | [`timeline`] | a session's journal as stages, iterations and hooks |
//! | [`trees`] | the states of a session's work tree, kept where other machines find them |
//! | [`work_keeper`] | what a session works on, kept so that another machine can continue it |
//! | [`trace`] | what our hooks did inside other agents |
#![warn(missing_docs)]

mod availability;
pub mod caller;
pub mod changed_files;
mod children;
mod course;
pub mod desk;
pub mod folder;
pub mod heart;
pub mod history;
pub mod journal;
pub mod lease;
pub mod leftovers;
pub mod limits;
mod lineage;
pub mod made_names;
pub mod orders;
mod pending_output;
pub mod plan;
pub mod process_leases;
mod prompt;
pub mod prompted_session;
pub mod queue;
pub mod record;
pub mod session;
pub mod session_files;
pub mod session_id;
pub mod session_issues;
pub mod session_state;
pub mod sources;
pub mod store_calls;
pub mod stored_session;
pub mod submission;
pub mod task_lease;
pub mod timeline;
pub mod trace;
pub mod trees;
pub mod work_keeper;
