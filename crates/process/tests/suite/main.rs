//! The guarantees of `hookwright-process`, with real processes.
//!
//! Tests that read or change this whole program (its descriptors, its children, its terminal) are
//! `#[ignore]`d. A test beside each runs it in a process of its own.

mod background;
mod cancelling;
mod ending;
mod hidden;
mod ignored_signals;
mod interactive;
mod many;
mod orphans;
mod output;
mod situation;
mod starting;
mod terminal;
