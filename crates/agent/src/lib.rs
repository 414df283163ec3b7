//! Hookwright's built-in agent: a prompt, turns, an end. It is the reference host for hooks inside an
//! agent's life: each event fires with all of its fields, and each answer is obeyed.
//!
//! | module | holds |
//! |---|---|
//! | [`agent`] | one session, from the prompt to the end |
//! | [`hook_stream`] | messages for programs about the hooks that run |
//! | [`hooks`] | the obeying layer: fires an event of the agent, says what the agent must do now |
//! | [`journal`] | the port that records requests, calls and questions before their effect |
//! | `mcp` | servers whose tools the model calls; with the feature `mcp` |
//! | [`message`] | the conversation: messages, their blocks, what a model used |
//! | [`model`] | the trait of a model, the events of an answer while it arrives, and the models that there are |
//! | [`permissions`] | whether a call may run, must be asked about, or is denied |
//! | [`tool`] | the trait of a tool, a call, and how it ended |
//! | [`tools`] | the built-in tools: bash, read, write, edit, glob, grep |
//! | [`transcript`] | the file with everything that was said |
//! | [`workspace`] | where file tools work, and the files that they may not change |
//! | [`input_schema`] | whether an input fits its tool's schema |
//! | [`limits`] | every limit, with its reason |
//!
//! Nothing here prints, exits or reads the environment: the host lends what is needed.
#![warn(missing_docs)]

pub mod agent;
pub mod hook_stream;
pub mod hooks;
pub mod input_schema;
pub mod journal;
pub mod limits;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod message;
pub mod model;
pub mod permissions;
pub mod tool;
pub mod tools;
pub mod transcript;
pub mod workspace;
