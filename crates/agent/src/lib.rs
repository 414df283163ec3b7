//! Hookwright's built-in agent: a prompt, turns, an end. It is the reference host for hooks inside an
//! agent's life: each event fires with all of its fields, and each answer is obeyed.
//!
//! | module | holds |
//! |---|---|
//! | [`message`] | the conversation: messages, their blocks, what a model used |
//! | [`model`] | the trait of a model, and the events of an answer while it arrives |
//! | [`tool`] | the trait of a tool, a call, and how it ended |
//!
//! Nothing here prints, exits or reads the environment: the host lends what is needed.
#![warn(missing_docs)]

pub mod message;
pub mod model;
pub mod tool;
