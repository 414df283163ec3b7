//! `hookwright worker`: runs sessions that were submitted to workers.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use hookwright_agents::presets::presets;
use hookwright_engine::Secrets;
use hookwright_engine::ports::Clock;
use hookwright_pipeline::lease::Machine;
use hookwright_pipeline::submission::WorkerOffer;
use hookwright_pipeline::trees::WorkFolder;
use hookwright_process::find_program;
use hookwright_store::Store;

use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::error::{Failure, WorkerFailure};
use crate::interrupts::check_descriptors;
use crate::known_session::ProjectOption;
use crate::screen::Screen;
use crate::store_time::StoreTime;
use crate::submitting::label;
use crate::text::visible;
use crate::worker::{self, AT_ONCE_MAX, WorkedProject, WorkerSetup};
use crate::{project, state};

/// Run sessions that were submitted to workers
///
/// Takes sessions of `hookwright run --on workers`, the oldest first, and runs each in a process of
/// its own. A session is taken only if this machine has what it needs: labels, agents, secrets, and
/// the folder. On Ctrl-C, the worker returns its sessions to the queue, and other workers continue
/// them; a second Ctrl-C ends it at once. If it is killed, so are its agents, and other workers
/// continue its sessions. Anyone who can submit sessions of a project can run code here: see
/// docs/security.md. Needs a Postgres store.
#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    /// Run up to N sessions at once; the default is the number of processors
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=i64::from(AT_ONCE_MAX)))]
    at_once: Option<u16>,

    /// A label that sessions can ask for; may be given more than once
    #[arg(long, value_name = "LABEL", value_parser = label)]
    label: Vec<String>,

    /// The folder of a project whose sessions to take; may be given more than once. The default is
    /// the project of the working directory
    #[arg(long, value_name = "PROJECT")]
    project: Vec<String>,

    /// A shell command that recreates what git ignores, in each new work tree of a session. The
    /// default is `worker.setup` of the project's file
    #[arg(long, value_name = "COMMAND")]
    setup: Option<String>,

    /// Print one line of JSON for each event
    #[arg(long)]
    json: bool,

    /// Run the session that standard input names
    #[arg(long, hide = true)]
    session_process: bool,

    #[command(flatten)]
    working_dir: ProjectOption,
}

pub(crate) fn worker(arguments: &WorkerArguments, screen: &Screen) -> Result<u8, Failure> {
    if arguments.session_process {
        return worker::run_assigned(screen);
    }
    let store = state::store()?;
    let Some(workers) = store.workers() else { return Err(WorkerFailure::NoDatabase.into()) };
    let cwd = arguments.working_dir.cwd.clone();
    let here = ConfigFiles::find(&options(cwd))?;
    let projects = projects(&arguments.project, &here, &store)?;
    let usual = std::thread::available_parallelism().map_or(1, NonZero::get);
    let at_once = arguments.at_once.map_or(usual, usize::from).min(usize::from(AT_ONCE_MAX));
    let offer = WorkerOffer {
        at_once,
        projects: projects.iter().map(|project| project.key.clone()).collect(),
        labels: arguments.label.clone(),
        folders: folders(&projects, screen)?,
        ..offer_of_machine(&here)?
    };
    let setup = WorkerSetup {
        store,
        workers,
        projects,
        offer,
        json: arguments.json,
        command: arguments.setup.clone(),
    };
    check_descriptors().map_err(|cause| Failure::NoRuntime { cause })?;
    // Not the runtime of sessions, which adopts and reaps what its children leave.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Failure::NoRuntime { cause })?;
    let ended = runtime.block_on(worker::work(setup, screen));
    // A call of an unreachable store may still wait on another thread.
    runtime.shutdown_background();
    ended
}

fn options(cwd: Option<PathBuf>) -> ConfigOptions {
    ConfigOptions { config: Vec::new(), dialect: None, cwd, no_global_hooks: false }
}

/// The projects with these folders, or that of the working directory.
fn projects(
    given: &[String],
    here: &ConfigFiles,
    store: &Arc<dyn Store>,
) -> Result<Vec<WorkedProject>, Failure> {
    let worked = |root: &Path| {
        let key = project::bound(root, store)?;
        Ok::<_, Failure>(WorkedProject { key, root: root.to_owned() })
    };
    if given.is_empty() {
        return Ok(vec![worked(&here.project_root)?]);
    }
    let mut projects: Vec<WorkedProject> = Vec::new();
    for text in given {
        let folder = here.working_dir.join(text);
        let project = if folder.is_dir() {
            worked(&ConfigFiles::find(&options(Some(folder)))?.project_root)?
        } else {
            let project = worked(&here.project_root)?;
            if project.key != *text {
                return Err(WorkerFailure::NoCheckout { project: text.clone() }.into());
            }
            project
        };
        if !projects.iter().any(|known| known.key == project.key) {
            projects.push(project);
        }
    }
    Ok(projects)
}

/// The folders below which work trees of these projects can be made: the checkouts, and the folders
/// of the projects' files that this user can write to.
fn folders(projects: &[WorkedProject], screen: &Screen) -> Result<Vec<PathBuf>, Failure> {
    let mut folders = Vec::new();
    for project in projects {
        folders.push(project.root.clone());
        let Some(folder) = project::worker_settings(&project.root)?.folder else { continue };
        if let Err(error) = WorkFolder::chosen(&folder).make() {
            let folder = visible(&folder.display().to_string()).to_string();
            let error = visible(&error.to_string()).to_string();
            let project = visible(&project.key).to_string();
            screen.talk(&format!(
                "note: cannot use `{folder}`, the folder for work trees of {project}: {error}; its \
                 sessions are left to other workers\n"
            ));
            continue;
        }
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    Ok(folders)
}

/// The agents and secrets of this machine's user.
fn offer_of_machine(here: &ConfigFiles) -> Result<WorkerOffer, Failure> {
    let environment = process_environment();
    let path = environment.get("PATH").unwrap_or_default();
    let is_installed =
        |program: &str| find_program(program.as_ref(), path, &here.project_root).is_some();
    let agents = presets().iter().filter(|preset| is_installed(preset.program));
    let secrets = here.secrets().map_err(|faults| WorkerFailure::Secrets { faults })?;
    let names = secrets.names().filter(|name| *name != Secrets::STORE_PASSWORD);
    Ok(WorkerOffer {
        host: Machine::this().host,
        pid: std::process::id(),
        since: StoreTime.now(),
        agents: agents.map(|preset| preset.name.to_owned()).collect(),
        secrets: names.map(str::to_owned).collect(),
        ..WorkerOffer::default()
    })
}
