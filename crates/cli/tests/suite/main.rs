//! The real binary in a sandbox: one file per command, screen text inline.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approvals;
mod architecture;
mod check;
mod check_faults;
mod check_warnings;
mod config;
mod docs;
mod events;
mod explain;
mod faults;
mod fire;
mod first_steps;
mod hook_tests;
mod hostile_machine;
mod interrupts;
mod iteratr;
mod lifecycle;
mod list;
mod memory;
mod piped_output;
mod plans;
mod receiver;
mod resume;
mod run_screen;
mod runs;
mod secrets;
mod session_end;
mod sessions;
mod shown_output;
mod support;
mod termination;
mod tour;
mod trust;
mod usage;
mod webhooks;
