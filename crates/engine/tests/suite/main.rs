//! The engine with real shells: what a hook reads, what its end means, what it leaves running.
//!
//! Dispatch decides order, retries and giving up, and is tested as a table without processes.

mod answers;
mod approvals;
mod background;
mod background_callbacks;
mod broken_hooks;
mod builder;
mod callbacks;
mod ending_callbacks;
mod environment;
mod examples;
mod explain;
mod fuzzing;
mod git;
mod handed_over;
mod hook_set;
mod many;
mod observers;
mod past;
mod ports;
mod program;
mod receiver;
mod secrets;
mod spawns;
mod support;
mod templates;
mod webhooks;
