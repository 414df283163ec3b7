//! What `hookwright-process` promises, with real processes.
//!
//! Tests that look at or change this whole program (its descriptors, its children, its terminal)
//! are `#[ignore]`d and run one by one in a process of their own, by a test beside them.

mod background;
mod cancelling;
mod ending;
mod hidden;
mod ignored_signals;
mod many;
mod orphans;
mod output;
mod situation;
mod starting;
mod terminal;
