//! The hooks that may run at an agent's call, and why others may not.
//!
//! Files are searched from the project that the agent was started in, so the guards apply wherever
//! it goes. If there is no file, the current folder counts. Hooks that the agent runs itself are
//! skipped.

use std::path::PathBuf;

use hookwright_config::Loaded;
use hookwright_dialects::hosts::{Host, HostCall};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_events::Event;

use crate::config_files::{ConfigFiles, ConfigOptions};
use crate::error::{Failure, advice};
use crate::host::{MayRun, ProjectHooks};

/// Finds, judges and reads the files for a call.
pub(super) fn find(
    host: &Host,
    call: &HostCall,
    environment: Environment,
) -> Result<ProjectHooks, Failure> {
    let found = files(host, call)?.without_hooks_of_agents();
    Ok(ProjectHooks::read(found, environment, MayRun::TrustedFiles))
}

/// Messages for the user about faults that block nothing at this event.
pub(super) fn notices(loaded: &Loaded, event: &Event) -> Vec<String> {
    let broken = loaded.broken_for(event).map(|fault| {
        let advice = advice(fault);
        format!("{}: {} ({})", fault.location(), advice.heading, advice.help)
    });
    let broken = broken.map(|fault| format!("a hook cannot be read and does not run: {fault}"));
    let left_out = loaded
        .left_out
        .iter()
        .map(|fault| format!("left out: {}: {}", fault.location(), advice(fault).heading));
    broken.chain(left_out).collect()
}

fn files(host: &Host, call: &HostCall) -> Result<ConfigFiles, Failure> {
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
