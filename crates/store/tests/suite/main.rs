//! What `hookwright-store` promises. `contract.rs` holds for every store; the rest is about real
//! files, real processes and their sudden ends.
//!
//! Tests that another process runs are `#[ignore]`d; `actor.rs` starts them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod actor;
mod contract;
mod crashes;
mod damage;
#[cfg(target_os = "linux")]
mod durability;
mod postgres;
mod processes;
mod projects;
mod queues;
mod reclaim;
mod room;
mod situation;
mod tasks;
mod transfer;
mod waits;
mod workers;
