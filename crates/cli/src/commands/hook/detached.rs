//! Background hooks, in a process that outlives the call and the agent.
//!
//! The call writes a [`Job`] into an anonymous memory file, starts this program again with that as
//! its standard input, and ends. The new process leaves the agent's process group and session, so
//! that no signal sent there reaches it, and runs exactly the hooks that were due. It reads no file
//! again except the secrets: what was trusted when the agent called is what runs.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hookwright_config::{self as config, ConfigFile, Dialect, ReadFile, Scope};
use hookwright_dialects::hosts::{self, Host};
use hookwright_engine::hook::Layer;
use hookwright_engine::{HandedOver, Interest};
use hookwright_pipeline::trace::TraceFolder;
use rustix::process::{getpgrp, getpid, setsid};
use serde::{Deserialize, Serialize};

use super::memory::SessionMemory;
use super::trace::BackgroundTrace;
use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::error::Failure;
use crate::exit_code;
use crate::host::{EngineOptions, ProjectHooks, runtime};
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::{program_file, state};

/// Input of the other process. Only this program reads it, so it has no version.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    host: String,
    root: PathBuf,
    files: Vec<JobFile>,
    hooks: Vec<HandedOver>,
    /// Where their end is recorded.
    trace: Option<BackgroundTrace>,
}

/// A file as it was read and trusted.
#[derive(Debug, Serialize, Deserialize)]
struct JobFile {
    path: PathBuf,
    shown_as: PathBuf,
    is_global: bool,
    dialect: Option<String>,
    text: String,
}

/// Runs these hooks in a separate process, without waiting for it.
pub(super) fn start(
    host: &Host,
    found: &ProjectHooks,
    hooks: Vec<HandedOver>,
    trace: Option<BackgroundTrace>,
) -> io::Result<()> {
    let job = Job {
        host: host.name.to_owned(),
        root: found.root.clone(),
        files: found.files.iter().filter_map(JobFile::from_read).collect(),
        hooks,
        trace,
    };
    let mut input = nameless_file()?;
    input.write_all(&serde_json::to_vec(&job)?)?;
    input.rewind()?;
    let environment = found.environment.for_agents().iter().map(|(name, value)| (name, value));
    again(input).env_clear().envs(environment).process_group(0).spawn().map(drop)
}

/// Runs `hook --detached`.
pub(super) fn run(screen: &Screen) -> Result<u8, Failure> {
    // The leader of a group cannot begin a session, and any other process is in a foreign group. So
    // the first process leads its own group, and the second, in that group, begins a session.
    if getpgrp() == getpid() {
        let input = Stdio::inherit();
        let started = again(input).spawn();
        return Ok(if started.is_ok() { exit_code::GO_ON } else { exit_code::OUR_FAULT });
    }
    let _ = setsid();
    let Some(job) = read_job() else { return Ok(exit_code::OUR_FAULT) };
    let Some(host) = hosts::named(&job.host) else { return Ok(exit_code::OUR_FAULT) };
    let environment = process_environment();
    let files: Vec<(ConfigFile, String)> = job.files.into_iter().map(JobFile::into_file).collect();
    let texts = files.iter().map(|(file, text)| (file, text.as_str()));
    let loaded = config::load_texts(texts, &environment, Scope::All);
    let options = ConfigOptions {
        config: Vec::new(),
        dialect: None,
        cwd: Some(job.root.clone()),
        no_global_hooks: false,
    };
    let secrets = ConfigFiles::find(&options).ok().and_then(|found| found.secrets().ok());
    let mut hooks = ProjectHooks::loaded(job.root, environment, loaded);
    hooks.secrets = secrets.unwrap_or_default();
    let state = state::folder().ok();
    let memory = Arc::new(SessionMemory::new(host.name, state.clone()));
    let engine = hooks.engine(EngineOptions { memory: Some(memory), ..EngineOptions::default() });
    let traced = job.trace.zip(state).map(|(trace, state)| {
        let folder = TraceFolder::new(&state);
        (trace.collector(folder.clone(), host), folder, trace)
    });
    if let Some(observer) = traced.as_ref().and_then(|(collected, ..)| collected.observer()) {
        engine.observe(Interest::NoProcesses, observer);
    }
    // The numbers of the firings here and in the call.
    let mut firings = Vec::new();
    let ended = runtime()?.block_on(async {
        let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
        let work = async {
            for hook in job.hooks {
                let in_call = hook.firing;
                firings.extend(engine.take_over(hook).await.map(|here| (here, in_call)));
            }
            engine.settle().await;
        };
        interrupts.ending(&engine, screen, work).await;
        Ok(exit_code::GO_ON)
    });
    if let Some((collected, folder, trace)) = traced {
        let project = hooks.root.to_string_lossy().into_owned();
        trace.write(&collected, (folder, host), &firings, project, &hooks.secrets);
    }
    ended
}

/// This program again, with nothing inherited but its input.
fn again(input: impl Into<Stdio>) -> Command {
    let mut command = program_file::start_again();
    command.args(["hook", "--detached"]);
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn read_job() -> Option<Job> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(target_os = "linux")]
fn nameless_file() -> io::Result<File> {
    let memory = rustix::fs::memfd_create("hookwright", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(File::from(memory))
}

#[cfg(not(target_os = "linux"))]
fn nameless_file() -> io::Result<File> {
    tempfile::tempfile()
}

impl JobFile {
    fn from_read(read: &ReadFile) -> Option<Self> {
        let file = read.file();
        Some(Self {
            path: file.path.clone(),
            shown_as: file.shown_as.clone(),
            is_global: file.layer == Layer::Global,
            dialect: file.dialect.map(|dialect| dialect.name().to_owned()),
            text: read.text()?.to_owned(),
        })
    }

    fn into_file(self) -> (ConfigFile, String) {
        let layer = if self.is_global { Layer::Global } else { Layer::Project };
        let dialect = self.dialect.as_deref().and_then(hookwright_dialects::named);
        let file = ConfigFile::native(self.path, self.shown_as, layer)
            .with_systems(hookwright_dialects::known())
            .in_dialect(dialect.map(|dialect| dialect as &dyn Dialect));
        (file, self.text)
    }
}
