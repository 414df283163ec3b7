//! Agents, which do the work of a session, and the drivers that run them.
//!
//! | module | is |
//! |---|---|
//! | [`agent`] | the trait [`Agent`], and a turn as a driver gets it and ends it |
//! | [`factory`] | makes the driver of an agent that a configuration defines |
//! | [`command`] | any program |
//! | [`preset`], [`presets`] | a program that is known by name, and what the lines mean that it prints |
//! | [`scripted`] | a file of turns, which needs no model |
//! | [`shell_run`] | shell text, run for one turn |
#![warn(missing_docs)]

pub mod agent;
pub mod command;
pub mod factory;
pub mod limits;
pub mod preset;
pub mod presets;
pub mod scripted;
pub mod shell_run;

pub use agent::{Agent, AgentWatch, Turn, TurnEnd, TurnEvents, TurnPorts};
pub use factory::{AgentFactory, AgentFile, AgentRequest};
