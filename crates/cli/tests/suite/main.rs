//! The real binary in a sandbox: one file per command, screen text inline.

mod architecture;
mod check;
mod check_faults;
mod events;
mod list;
mod support;
mod usage;
