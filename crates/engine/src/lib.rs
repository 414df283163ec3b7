//! Hookwright's engine.
#![warn(missing_docs)]

pub mod answer;
pub mod chain;
pub mod condition;
pub mod config;
pub mod dispatch;
pub mod glob;
pub mod hook;
pub mod hook_set;
pub mod limits;
pub mod matcher;
pub mod native;
pub mod nearest;
pub mod pattern;
pub mod policy;
pub mod ports;
pub mod template;
pub mod variables;
