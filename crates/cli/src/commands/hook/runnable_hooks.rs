//! [`RunnableHooks`]: the hooks that may run at a call of an agent, and what stands against the others.
//!
//! Files are searched from the project that the agent was started in: one that goes elsewhere takes
//! its guards along. Only without any file there, the folder counts in which it is now. An agent that
//! runs hooks of its own is not done their work twice.

use std::path::{Path, PathBuf};

use hookwright_config::{Loaded, ReadFile};
use hookwright_dialects::hosts::{Host, HostCall};
use hookwright_engine::hook::Layer;
use hookwright_engine::secrets::Secrets;
use hookwright_engine::variables::Environment;
use hookwright_events::Event;

use crate::config_files::{ConfigFiles, ConfigOptions};
use crate::error::{Failure, Message, advice};
use crate::render::visible;
use crate::trust::{self, Standing, Trust, Untrusted};

/// What was found for one call.
pub(super) struct RunnableHooks {
    /// The project, where hooks run.
    pub(super) root: PathBuf,
    /// The files that are trusted, as they were read.
    pub(super) files: Vec<ReadFile>,
    /// What stands in them.
    pub(super) loaded: Loaded,
    pub(super) secrets: Secrets,
    /// Where those of them are that had to be trusted.
    pub(super) trusted: Vec<PathBuf>,
    /// Why nothing may pass that hooks can block: there are files that are not trusted.
    pub(super) refusal: Option<String>,
}

impl RunnableHooks {
    /// Finds the files for a call, judges and reads them.
    pub(super) fn find(
        host: &dyn Host,
        call: &HostCall,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let found = files(host, call)?.without_hooks_of_agents();
        let read = found.read();
        let (refusal, untrusted) = judge(&found, &read);
        let mut read = read;
        read.retain(|file| !untrusted.contains(&file.file().path));
        let trusted = found.in_need_of_trust(&read).map(|file| trust::place(&file.file().path));
        let trusted = trusted.collect();
        let (loaded, secrets) = found.load_read(&read, environment);
        Ok(Self { root: found.project_root, files: read, loaded, secrets, trusted, refusal })
    }

    /// What the user has to know although it blocks nothing at this event.
    pub(super) fn notices(&self, event: &Event) -> Vec<String> {
        let broken = self.loaded.broken_for(event).map(|fault| {
            let advice = advice(fault);
            format!("{}: {} ({})", fault.location(), advice.heading, advice.help)
        });
        let broken = broken.map(|fault| format!("a hook cannot be read and does not run: {fault}"));
        let left_out = self
            .loaded
            .left_out
            .iter()
            .map(|fault| format!("left out: {}: {}", fault.location(), advice(fault).heading));
        broken.chain(left_out).collect()
    }
}

fn files(host: &dyn Host, call: &HostCall) -> Result<ConfigFiles, Failure> {
    let is_there = |folder: &PathBuf| folder.is_absolute() && folder.is_dir();
    let project = host.project(call, &|name| std::env::var_os(name)).filter(is_there);
    let now_in = call.event.text("cwd").map(PathBuf::from).filter(is_there);
    let from = |folder: Option<PathBuf>| {
        ConfigFiles::find(&ConfigOptions {
            config: Vec::new(),
            dialect: None,
            cwd: folder,
            no_global_hooks: false,
        })
    };
    let Some(project) = project else { return from(now_in) };
    let of_project = from(Some(project))?;
    let has_one = of_project.files.iter().any(|file| file.layer == Layer::Project);
    match now_in {
        Some(folder) if !has_one => from(Some(folder)),
        Some(_) | None => Ok(of_project),
    }
}

/// Why files may not run, and which.
fn judge(found: &ConfigFiles, read: &[ReadFile]) -> (Option<String>, Vec<PathBuf>) {
    let mut in_need = found.in_need_of_trust(read).peekable();
    if in_need.peek().is_none() {
        return (None, Vec::new());
    }
    match Trust::of_user().or_problem() {
        Ok(trust) => {
            let untrusted = trust.untrusted(in_need);
            let paths = untrusted.iter().map(|file| file.read.file().path.clone());
            (refusal(&untrusted), paths.collect())
        }
        Err(problem) => {
            let paths = in_need.map(|file| file.file().path.clone());
            (Some(said(&Failure::Trust(problem).message())), paths.collect())
        }
    }
}

fn refusal(untrusted: &[Untrusted<'_>]) -> Option<String> {
    let first = untrusted.first()?;
    let how = match first.standing {
        Standing::Changed => "has changed since it was trusted",
        Standing::Unknown | Standing::Trusted => "is not trusted",
    };
    let more = match untrusted.len() {
        1 => String::new(),
        many => format!(" (and {} more)", many - 1),
    };
    let command = trust::command_to_type(untrusted.iter().map(|file| &*file.place), false);
    Some(format!(
        "the hook file {} {how}{more}, so its hooks do not run; to look at it and let it run, type \
         in a terminal: {command}",
        shown(&first.place)
    ))
}

pub(super) fn shown(place: &Path) -> String {
    visible(&place.to_string_lossy()).replace('\n', "␊")
}

/// A failure as an agent and its user read it.
pub(super) fn said(message: &Message) -> String {
    let place = message.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{place}{} ({})", message.heading, message.help)
}
