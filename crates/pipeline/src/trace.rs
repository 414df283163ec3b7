//! Traces: what our hooks did inside other agents.
//!
//! `hookwright hook HOST` runs once for every event of an agent, and opens no store. It appends the
//! run events of its call to the file of the agent's session, in one write ([`OpenTrace::append`]).
//! A line of the file is a [`RunEvent`](hookwright_events::RunEvent) as a journal has it. So lists,
//! timeline, log and page read traces as they read journals: [`StoreWithTraces`] shows them beside
//! the sessions of a store.
//!
//! A trace is bounded: [`limits`](crate::limits) has the length of a line, of a call and of a file,
//! and how many files are kept. It is a record for the user and no proof: an agent that runs
//! commands has the rights to change it. So nothing in a trace is trusted: no path, no name and no
//! process id from it is used for anything but display.

mod file;
mod fold;
mod key;
mod lines;
mod store;

pub use file::{OpenTrace, TraceFolder, TraceHead};
pub use key::TraceKey;
pub use lines::trace_lines;
pub use store::StoreWithTraces;
