//! Agents at work: what they receive, what they print, how their turns end.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod command;
mod preset;
mod recordings;
mod scripted;
mod situation;
