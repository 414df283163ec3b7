//! Claude Code: its settings files, the input of its hooks, and their answers.
//!
//! | part | contains |
//! |---|---|
//! | `files` | the location of its settings |
//! | `config` | matcher groups as native hooks; `handler` reads one, `switch` `disableAllHooks` |
//! | `matcher`, `rule` | when a handler runs: its group's `matcher`, its own `if` |
//! | `mcp_servers` | the servers of `.mcp.json`, for the built-in agent |
//! | [`event`] | [`HookInput`]: a hook's typed input, converted to and from our events |
//! | `environment` | a hook's variables |
//! | `reply` | the meaning of a hook's exit and output |
//! | [`answer`] | [`HookOutput`]: a hook's typed answer, converted to our answers |
//! | [`callbacks`] | functions of a Rust program as hooks |
//! | `tool_name` | its names of tools |
//! | `whole_characters` | repairs its JSON where it has cut a character in half |

pub mod answer;
pub mod callbacks;
mod config;
mod environment;
pub mod event;
mod files;
mod handler;
mod limits;
mod matcher;
mod mcp_servers;
mod reply;
mod rule;
mod switch;
mod tool_name;
mod whole_characters;

use std::path::Path;
use std::time::Duration;

use hookwright_config::{Dialect, ForeignFile, Loaded};
use hookwright_engine::hook::{Exhausted, Hook};
use hookwright_engine::policy::{Order, Policy};
use hookwright_engine::variables::Environment;
use hookwright_events::EventName;

pub use crate::sender::OtherAgentsEvent;
use crate::{Foreign, Location, Whereabouts};
pub use answer::HookOutput;
pub(crate) use config::read as read_settings;
pub use environment::{ENV_FILE_VARIABLE, wants_env_file};
pub use event::{HookInput, InputError};
pub(crate) use event::{known_event, snake_case};
pub(crate) use limits::default_timeout;
use reply::ClaudeWire;
pub(crate) use whole_characters::whole_characters;

/// Its name, both as a format and as a host.
pub(crate) const SYSTEM: &str = "claude";

/// Claude Code.
#[derive(Debug)]
pub struct ClaudeFormat;

/// The policy of its hooks.
static POLICY: Policy = Policy {
    dialect: SYSTEM,
    order: Order::AtOnce,
    awaits: Some(true),
    timeout: Some(limits::COMMAND_TIMEOUT),
    on_failure: Some(Exhausted::Continue),
    looks_behind_exit_2: false,
    shells: &["sh"],
    async_unit: Duration::from_millis(1),
    first_decision_at: &[EventName::PERMISSION_PROMPT],
    wire: &ClaudeWire { is_strict: false },
    ..Policy::NATIVE
};

/// The policy of hooks with `onFailure: block`.
static STRICT_POLICY: Policy = Policy { wire: &ClaudeWire { is_strict: true }, ..POLICY };

impl Dialect for ClaudeFormat {
    fn policy(&self) -> &'static Policy {
        &POLICY
    }

    fn read(&self, files: &[ForeignFile<'_>], environment: &Environment, loaded: &mut Loaded) {
        for file in files.iter().filter(|file| mcp_servers::owns(&file.file.path)) {
            mcp_servers::read(file, loaded);
        }
        let settings = files.iter().filter(|file| !mcp_servers::owns(&file.file.path));
        let settings: Vec<ForeignFile<'_>> =
            settings.map(|file| ForeignFile { file: file.file, text: file.text.clone() }).collect();
        read_settings(&settings, environment, loaded);
    }
}

impl Foreign for ClaudeFormat {
    fn locations(&self, whereabouts: &Whereabouts<'_>) -> Vec<Location> {
        files::locations(whereabouts)
    }

    fn owns(&self, path: &Path) -> bool {
        files::owns(path)
    }

    /// Claude Code reads its settings itself.
    fn runs_by_itself(&self) -> bool {
        true
    }

    fn differences(&self, hook: &Hook) -> Vec<&'static str> {
        let mut all = vec![
            "it reads Claude Code's JSON line, and its exit codes and output mean what they mean \
             in Claude Code",
        ];
        if handler::has_rule(hook) {
            all.push("its `if` has no native form, so it runs at every call that its matcher fits");
        }
        all
    }

    fn native_matcher(&self, hook: &Hook) -> Option<String> {
        matcher::native(hook)
    }
}
