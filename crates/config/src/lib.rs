//! Reads Hookwright's files (hooks, loops, pipelines and tests), checks them whole, and reports
//! every fault with its place.
//!
//! A program that embeds the engine reads its hooks like this:
//!
//! ```
//! use hookwright_config::HookFiles;
//! use hookwright_engine::{Answer, Engine, Event, Firing, Hook, serde_json::json};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let root = std::env::current_dir()?;
//!     let rules = "hooks: {tool:pre_execute: [{id: named, command: 'test -n \"$TOOL_NAME\"'}]}";
//!     let files = HookFiles::in_project(&root).environment(std::env::vars_os()).text("rules", rules);
//!     let engine = Engine::builder(root)
//!         .environment(std::env::vars_os())
//!         .hooks(files.load()?.hooks)
//!         .hook(Hook::on("tool:pre_execute", |_| async { Ok(Answer::default()) }).id("function"))
//!         .build()?;
//!     let call = json!({ "tool_name": "bash", "tool_input": { "command": "ls" } });
//!     let fired = engine.fire(Event::named("tool:pre_execute", call)?, Firing::default()).await;
//!     for report in &fired.reports {
//!         println!("{} {}", report.id, report.status.as_str());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`mod@file`] | reads a file's bytes and its tree of values with their places |
//! | `node` | that tree; YAML becomes one here |
//! | `json` | JSON becomes one here |
//! | `notes` | questions to it that note a fault when the answer is wrong |
//! | `keys` | the top-level keys of each kind of file |
//! | `top_level` | what is written at them |
//! | `callback_address` | where people's answers are listened for |
//! | `entry` | one hook |
//! | `action` | what is particular to one type of hook |
//! | `written` | where the parts of a text value stand |
//! | `warning` | what `check` says about commands beyond faults |
//! | `hook_files` | what a program reads its hooks from |
//! | `secrets_file` | `secrets.env` |
//! | `config_file`, `loaded`, `load` | which files, what was read, and reading them |
//! | `file_kind` | whether a text is a loop or a pipeline |
//! | `dialect` | files in someone else's format |
//! | `duration` | `5`, `0.5`, `500ms`, `5m` |
//! | [`fault`] | what can be wrong |
//! | `agent` | the agents of a file, as data |
//! | `loop_file`, `pipeline_file` | the keys of loops and pipelines beside their hooks |
//! | `mcp_server` | the servers of the built-in agent, and the values of their variables |
//! | `termination` | when a loop is enough |
//! | [`schema`] | the same for editors |
//! | [`test_file`] | cases that say what hooks have to do |
//!
//! Reading does not stop at the first fault. An invalid entry is left out and remembered as broken;
//! the others stay.
#![warn(missing_docs)]

mod action;
mod agent;
mod agent_settings;
mod callback_address;
mod config_file;
mod dialect;
mod duration;
mod entry;
pub mod fault;
pub mod file;
mod file_kind;
pub mod first_program;
mod hook_files;
mod json;
mod keys;
pub mod limits;
mod load;
mod loaded;
mod loop_file;
mod mcp_server;
mod node;
mod notes;
mod pipeline_file;
mod project_name;
mod schema;
mod secrets_file;
mod termination;
pub mod test_file;
mod top_level;
mod warning;
mod worker_settings;
mod written;

/// A file's tree of values with their places, and functions that read it. Readers of other files
/// use it too, so that their faults look alike.
pub mod tree {
    pub use super::node::{Field, Mark, Node, Raw, parse};
    pub use super::notes::Notes;
}

pub use callback_address::CallbackAddress;
pub use config_file::ConfigFile;
pub use duration::parse_duration;
pub use file_kind::{TopLevel, is_loop, is_pipeline};
pub use hook_files::{FaultyFiles, HookFiles};
pub use hookwright_engine::hook::FilePlace;
pub use load::{check, check_text, load, load_read, load_text, load_texts, read_text};
pub use loaded::{Loaded, Scope};
pub use schema::schema;
pub use secrets_file::read_secrets;

pub use agent::{AgentDefinition, AgentSpec};
pub use agent_settings::{AgentSettings, WrittenRule};
pub use dialect::{Dialect, ForeignFile, KnownSystems};
pub use fault::{
    Conflict, ExpectedValue, Fault, FaultKind, MissingKey, SourceFile, SyntaxKind, TreeLimit,
};
pub use file::ReadFile;
pub use loop_file::{LoopFile, PromptSpec};
pub use mcp_server::{
    ExpandedServer, ExpansionError, McpServerSpec, ServerValues, args_of_server, command_of_server,
    env_of_server, is_server_name,
};
pub use pipeline_file::{Inputs, PipelineFile, Select, StageBody, StageSpec};
pub use project_name::{ProjectName, project_name};
pub use termination::{QueueSpec, Termination};
pub use warning::{Warning, WarningKind};
pub use worker_settings::{WorkerSettings, worker_settings};

#[cfg(test)]
mod tests;
