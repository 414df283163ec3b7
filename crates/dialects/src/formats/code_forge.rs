//! Code-Forge: hooks in `hooks.json`, a list of patterns and commands.
//!
//! Its events have native names, `domain:action`. Hooks are awaited one after the other. Before a
//! tool, a request, a permission or a prompt, any exit code but 0 blocks, and the hook's output is
//! the reason. A hook that cannot finish is logged, and the others run.
//!
//! Beside the parts of every dialect there are `entry.rs` (one hook of a file), `pattern.rs` (its
//! events), `hook_file.rs` (reads and saves whole files), `registry.rs` (the same for programs) and
//! `templates.rs` (hooks to start with).

mod config;
mod entry;
mod event;
mod files;
mod hook_file;
mod pattern;
mod registry;
mod reply;
pub mod templates;

use std::path::Path;
use std::time::Duration;

use hookwright_config::{Dialect, ForeignFile, Loaded};
use hookwright_engine::NativeWire;
use hookwright_engine::hook::{Exhausted, Hook};
use hookwright_engine::policy::{
    At, Meaning, Policy, VariableContent, Wire, WireInput, WireReader,
};
use hookwright_engine::variables::Environment;
use hookwright_events::Outcome;

pub use entry::Entry;
pub use event::{to_env, to_json};
pub use hook_file::{
    SaveError, default_hooks, load_global, load_project, save_global, save_project,
};
pub use registry::{AfterFailure, HookResult, KeptIn, RegistrationError, Registry};

use crate::{Foreign, Location, Whereabouts};

/// Default timeout of a hook.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The policy of Code-Forge's hooks.
pub static POLICY: Policy = Policy {
    dialect: "code-forge",
    global_first: true,
    awaits: Some(true),
    timeout: Some(DEFAULT_TIMEOUT),
    on_failure: Some(Exhausted::Continue),
    shells: &["bash", "sh"],
    wire: &ForgeWire,
    ..Policy::NATIVE
};

/// Code-Forge.
#[derive(Debug)]
pub struct CodeForge;

impl Dialect for CodeForge {
    fn policy(&self) -> &'static Policy {
        &POLICY
    }

    fn read(&self, files: &[ForeignFile<'_>], environment: &Environment, loaded: &mut Loaded) {
        for file in files {
            config::read(file, environment, loaded);
        }
    }
}

impl Foreign for CodeForge {
    fn locations(&self, whereabouts: &Whereabouts<'_>) -> Vec<Location> {
        files::locations(whereabouts)
    }

    fn owns(&self, path: &Path) -> bool {
        files::owns(path)
    }

    fn differences(&self, hook: &Hook) -> Vec<&'static str> {
        let mut all = vec!["it reads `FORGE_…` variables, `type` and `data`"];
        if hook.pattern.any(|event| reply::CAN_BLOCK.contains(&event.into())) {
            all.push("any exit code but 0 blocks, and standard output is the reason");
            all.push("a hook that cannot start, times out or is killed does not block");
        }
        all
    }
}

/// The input of its hooks, and the meaning of their outcomes.
#[derive(Debug)]
struct ForgeWire;

impl Wire for ForgeWire {
    fn input(&self, reader: &WireReader<'_>) -> WireInput {
        event::input(reader)
    }

    fn meaning(&self, outcome: &Outcome, at: At<'_>) -> Meaning {
        reply::meaning(outcome, at)
    }

    fn piped_output(&self, hook: &str, outcome: &Outcome, meaning: &Meaning) -> String {
        NativeWire.piped_output(hook, outcome, meaning)
    }

    fn variable(&self, name: &str) -> Option<VariableContent> {
        event::variable(name)
    }
}
