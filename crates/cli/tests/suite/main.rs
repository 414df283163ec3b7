//! The real binary in a sandbox: one file per command, screen text inline.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent_pipelines;
mod agents;
mod approvals;
mod architecture;
mod check;
mod check_faults;
mod check_warnings;
mod claude;
mod code_forge;
mod config;
mod docs;
#[expect(dead_code, reason = "the suite of the server looks at more of a page")]
#[path = "../../../server/tests/suite/driver.rs"]
mod driver;
mod events;
mod explain;
mod faults;
mod fire;
mod first_steps;
mod hook_claude;
mod hook_tests;
mod hostile_machine;
mod import;
mod interrupts;
mod iteratr;
mod lifecycle;
mod list;
mod live_view;
mod memory;
mod piped_output;
mod plans;
mod queue_bounds;
mod queues;
mod receiver;
mod resume;
mod run_screen;
mod runs;
mod secrets;
mod serve;
mod session_end;
mod sessions;
mod shown_output;
mod spawn;
mod spawn_costs;
mod spawn_faults;
mod support;
mod task_queues;
mod tasks;
mod tasks_of_sessions;
mod termination;
mod tour;
mod trust;
mod usage;
mod wanted;
mod webhooks;
