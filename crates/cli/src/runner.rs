//! Shared by `run` and `resume`: finds a project and runs a session in it to its end.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hookwright_agents::AgentFactory;
use hookwright_config::{ConfigFile, Fault, FaultKind};
use hookwright_dialects::hosts::Connection;
use hookwright_engine::ports::{Clock, EndRequest};
use hookwright_engine::variables::Environment;
use hookwright_engine::{Observer, RunEvent, Secrets};
use hookwright_events::SessionStatus;
use hookwright_pipeline::folder::{SessionFolder, SessionName};
use hookwright_pipeline::plan::{Plan, PlanContext, Stage};
use hookwright_pipeline::record::{Metadata, SessionRecord};
use hookwright_pipeline::session::{
    Around, AskPeople, Parts, PauseGate, Session, SessionError, SessionOutcome,
};
use hookwright_pipeline::session_id;
use hookwright_pipeline::sources::{Finder, Gathered, ProjectRuns, RunRequest, Source, Sources};
use hookwright_pipeline::store_calls::StoreCalls;
use hookwright_pipeline::work_keeper::WorkKeeper;
use hookwright_pipeline::{lease, made_names};
use hookwright_server::AskingProject;
use hookwright_store::{Fence, Filter, Kind, Patience, Store};

use crate::approvals::{self, Asking};
use crate::carried_session::TakenWork;
use crate::config_files::{ConfigFiles, ConfigOptions, PROJECT_NAMES, process_environment};
use crate::error::{Certainty, Failure, SessionFailure, unfired_together};
use crate::exit_code;
use crate::hook_switches::HookSwitches;
use crate::host::runtime;
use crate::interrupts::Interrupts;
use crate::membership::Membership;
use crate::model_choice::KEYS;
use crate::render::session::SessionScreen;
use crate::screen::Screen;
use crate::session_options::SessionOptions;
use crate::store_time::StoreTime;
use crate::text::{count, visible};
use crate::view::{About, LiveView};
use crate::{absence, built_in_driver, program_file, project, state, tasks};

/// The requested run, found and checked.
pub(crate) struct Prepared {
    pub(crate) sources: Sources,
    pub(crate) plan: Plan,
    pub(crate) secrets: Secrets,
}

/// The loops and pipelines of a project.
pub(crate) struct RunFiles {
    pub(crate) files: Vec<ConfigFile>,
    /// Folders with too many entries, which were not read completely, as messages name them.
    pub(crate) cut: Vec<PathBuf>,
}

/// The project of a command.
pub(crate) struct ProjectRunner {
    /// The directory in which the command was started.
    started_in: PathBuf,
    pub(crate) found: ConfigFiles,
    environment: Environment,
    agents: AgentFactory,
    /// The project's name, else its path, once a store was opened.
    project: OnceCell<String>,
    patience: OnceCell<Option<Patience>>,
    membership: OnceCell<Membership>,
    /// Keeps the work of the session that a worker runs.
    work: Option<Arc<WorkKeeper>>,
    /// The checkout, if the project root is in a work tree of a session.
    checkout: Option<PathBuf>,
}

impl ProjectRunner {
    pub(crate) fn find(options: &ConfigOptions) -> Result<Self, Failure> {
        let found = ConfigFiles::find(options)?;
        let started_in = found.working_dir.clone();
        let environment = process_environment();
        let agents = agents(&found, &environment);
        let (project, patience, membership) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let (work, checkout) = (None, None);
        Ok(Self {
            started_in,
            found,
            environment,
            agents,
            project,
            patience,
            membership,
            work,
            checkout,
        })
    }

    /// The environment of a session's agents and hooks: this one, with the paths of this program
    /// and the project.
    fn environment_of_session(&self) -> Environment {
        let environment = self.environment.with(tasks::PROJECT, self.project_folder());
        match program_file::path() {
            Ok(program) => environment.with(tasks::PROGRAM, program),
            Err(_) => environment,
        }
    }

    /// The project's folder, also in a work tree.
    fn project_folder(&self) -> &Path {
        self.checkout.as_ref().unwrap_or(&self.found.project_root)
    }

    /// Works in the work tree of a session from here on. Its files, settings and name stay those of
    /// the checkout.
    pub(crate) fn work_in(&mut self, work: &TakenWork) {
        let root = work.root.clone();
        self.checkout = Some(std::mem::replace(&mut self.found.project_root, root.clone()));
        self.found.working_dir.clone_from(&root);
        self.started_in = root;
        self.work = Some(Arc::clone(&work.keeper));
    }

    /// Enters the project that a path leads to, if it has its own one below the working directory.
    pub(crate) fn enter_project_of(
        &mut self,
        file: &str,
        options: &ConfigOptions,
    ) -> Result<(), Failure> {
        let working_dir = self.found.working_dir.clone();
        let path = working_dir.join(file);
        if !path.exists() {
            return Ok(());
        }
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let below = path
            .ancestors()
            .take_while(|folder| folder.starts_with(&working_dir) && *folder != working_dir);
        let is_project =
            |folder: &&Path| PROJECT_NAMES.iter().any(|name| folder.join(name).is_file());
        if let Some(folder) = below.into_iter().find(is_project)
            && options.config.is_empty()
        {
            let options = ConfigOptions { cwd: Some(folder.to_owned()), ..options.searching() };
            self.found = ConfigFiles::find(&options)?;
            self.agents = agents(&self.found, &self.environment);
        }
        Ok(())
    }

    /// Opens the user's store, and makes sure that it may use the project's name.
    pub(crate) fn open_store(&self) -> Result<Arc<dyn Store>, Failure> {
        let (store, patience) = absence::store_of_session()?;
        self.bind_name(&store)?;
        let _ = self.patience.set(patience);
        Ok(store)
    }

    /// Uses the store that another value has opened.
    pub(crate) fn waits_as(&self, other: &Self) {
        let _ = self.patience.set(other.patience.get().cloned().flatten());
    }

    /// Makes sure that the project may use its name in this store.
    pub(crate) fn bind_name(&self, store: &Arc<dyn Store>) -> Result<(), Failure> {
        let name = project::bound(&self.found.project_root, store)?;
        let _ = self.project.set(name);
        Ok(())
    }

    /// The project's name, else its path.
    pub(crate) fn project(&self) -> String {
        self.project.get().expect("its name was bound when the store was opened").clone()
    }

    pub(crate) fn asked(&self, file: &str, agent: Option<&str>) -> RunRequest {
        RunRequest {
            file: file.to_owned(),
            from: self.started_in.clone(),
            agent: agent.map(str::to_owned),
        }
    }

    /// The faults of the loops and pipelines that hooks of these files start.
    pub(crate) fn faults_of_children(&self, found: &ConfigFiles) -> Result<Vec<Fault>, Failure> {
        let hook_files = found.files.iter().filter_map(Source::of_hook_file).collect();
        let (sources, mut faults) = self.searched(|finder| finder.with_children(hook_files))?;
        let around = self.plan_context(&[]);
        // The agent can still be given with `--agent`.
        let is_news = |fault: &Fault| !matches!(fault.kind, FaultKind::NoAgent);
        faults.extend(Plan::faults_of_children(&sources, &around).into_iter().filter(is_news));
        Ok(faults)
    }

    /// The project's loops and pipelines, and those that they name.
    pub(crate) fn runs_of_project(&self) -> Result<RunFiles, Failure> {
        let found = ProjectRuns::find(&self.found.project_root, &PROJECT_NAMES);
        let mut files = Vec::new();
        for path in found.files {
            let asked = self.asked(&path.to_string_lossy(), None);
            let gathered = self.searched(|finder| finder.gather(asked))?;
            match gathered.sources {
                Some(sources) => files.extend(sources.runs().filter_map(Source::config_file)),
                // Its fault is reported where its hooks are read.
                None => files.push(self.found.native_file(path)),
            }
        }
        let mut known = HashSet::new();
        files.retain(|file| known.insert(file.path.clone()));
        let cut = found.cut.iter().map(|folder| self.found.display_path(folder)).collect();
        Ok(RunFiles { files, cut })
    }

    /// Calls `search` with a finder of this project's files.
    fn searched<T>(&self, search: impl FnOnce(&Finder<'_>) -> T) -> Result<T, Failure> {
        let user_folder = self.found.user_folder()?;
        Ok(search(&Finder {
            root: &self.found.project_root,
            user_folder: user_folder.as_deref(),
            hook_files: &self.found.files,
            shown: &|path: &Path| self.found.display_path(path),
            environment: &self.environment,
        }))
    }

    /// Finds and checks everything that a run needs.
    pub(crate) fn prepare(
        &self,
        asked: RunRequest,
    ) -> Result<Result<Prepared, Vec<Fault>>, Failure> {
        let gathered = self.searched(|finder| finder.gather(asked))?;
        let Gathered { sources, faults, left_out } = gathered;
        let Some(sources) = sources else { return Ok(Err(faults)) };
        let mut prepared = self.plan(sources, faults);
        if let Ok(prepared) = &mut prepared {
            prepared.plan.left_out.extend(left_out.into_iter().map(Arc::new));
        }
        Ok(prepared)
    }

    pub(crate) fn plan(
        &self,
        sources: Sources,
        mut faults: Vec<Fault>,
    ) -> Result<Prepared, Vec<Fault>> {
        let connections = self.found.connections(&self.environment);
        let around = self.plan_context(&connections);
        let mut note = |more: Vec<Fault>| {
            for fault in more {
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        };
        let plan = Plan::new(&sources, &around).map_err(&mut note);
        let secrets = self.found.secrets().map_err(&mut note);
        match (plan, secrets) {
            (Ok(plan), Ok(secrets)) if faults.is_empty() => Ok(Prepared { sources, plan, secrets }),
            _ => Err(faults),
        }
    }

    /// Submitted sources with the hooks of this machine's user, and the faults of the files that
    /// have these.
    pub(crate) fn with_hooks_of_user(&self, submitted: Sources) -> (Sources, Vec<Fault>) {
        submitted.with_hooks_of_worker(&self.found.files, &self.environment)
    }

    fn plan_context<'a>(&'a self, connections: &'a [Connection]) -> PlanContext<'a> {
        let (root, environment) = (&self.found.project_root, &self.environment);
        PlanContext { root, environment, connections, agents: &self.agents }
    }

    /// A new session name, which no session and no folder of this project has.
    pub(crate) fn new_name(&self, store: &dyn Store) -> Result<SessionName, Failure> {
        new_session_name(store, &self.found.project_root)
    }

    pub(crate) fn new_record(
        &self,
        name: &SessionName,
        plan: &Plan,
        secrets: &Secrets,
    ) -> SessionRecord {
        // The arguments after the program and the command.
        let arguments = std::env::args_os().skip(2);
        let args = arguments.map(|word| secrets.hide(&word.to_string_lossy()).into_owned());
        let start_time = StoreTime.now();
        let mut record = SessionRecord {
            id: session_id::generate(&start_time),
            name: name.as_str().to_owned(),
            start_time,
            workspace: self.found.project_root.to_string_lossy().into_owned(),
            command: "run".to_owned(),
            args: args.collect(),
            provider: plan.stages.first().map_or("", |stage| stage.first_agent()).to_owned(),
            status: SessionStatus::Active,
            metadata: git_metadata(&self.found.project_root),
            ..SessionRecord::default()
        };
        record.set_project(self.project());
        record
    }

    /// This process among those that share the store.
    fn membership(&self, store: &dyn Store) -> Result<&Membership, Failure> {
        if let Some(membership) = self.membership.get() {
            return Ok(membership);
        }
        let patience = self.patience();
        let no_wait = move || {
            patience.iter().for_each(|patience| patience.set_limit(Duration::ZERO));
        };
        let joined = Membership::join(store, no_wait)?;
        Ok(self.membership.get_or_init(|| joined))
    }

    /// Runs its session for a worker, which has taken the lease.
    pub(crate) fn work_for(&self, membership: Membership) {
        let _ = self.membership.set(membership);
    }

    /// How long calls of its store wait, if that is on a network.
    pub(crate) fn patience(&self) -> Option<Patience> {
        self.patience.get().cloned().flatten()
    }

    /// Takes the session's lease, which ends with this process at the latest.
    pub(crate) fn take(&self, store: &dyn Store, name: &SessionName) -> Result<Fence, Failure> {
        let lease = lease::name_of(&self.project(), name.as_str());
        let membership = self.membership(store)?;
        membership.take(store, &lease, name.as_str()).map_err(|error| match error {
            lease::LeaseError::Runs { holder } => {
                let (name, pid) = (name.as_str().to_owned(), holder.pid);
                Failure::Session(match holder.machine.is_this() {
                    true => SessionFailure::Runs { name, pid },
                    false => {
                        let (host, is_worker) = (holder.machine.host, holder.worker.is_some());
                        SessionFailure::Elsewhere { name, pid, host, is_worker }
                    }
                })
            }
            lease::LeaseError::Store(error) => Failure::Store(error),
        })
    }

    /// Runs a session to its end.
    pub(crate) fn go(
        &self,
        parts: Parts,
        secrets: Secrets,
        store: Arc<dyn Store>,
        how: &SessionOptions,
        screen: &Screen,
    ) -> Result<u8, Failure> {
        let SessionOptions { shown, switches, .. } = how;
        let (plan, folder, fence) = (parts.plan, parts.folder.clone(), parts.fence.clone());
        let session_screen =
            Arc::new(Mutex::new(SessionScreen::new(shown.json, shown.agent_output)));
        screen.left_out(&plan.left_out);
        let without_hooks = switches.all_off().is_some();
        if let Some(why) = switches.all_off() {
            screen.talk(&format!("hooks are switched off ({why})\n"));
        } else {
            warn_of_unfired_hooks(switches, &plan, screen);
        }
        let hooks = plan.hook_count();
        let gate = PauseGate::default();
        let view = shown.is_live().then(|| about(&folder, &plan, &gate)).and_then(LiveView::start);
        let observer = match &view {
            Some(view) => view.observer(&session_screen),
            None => observer(&session_screen),
        };
        let around = Around {
            store: StoreCalls::new(Arc::clone(&store)).map_err(Failure::Store)?,
            root: self.found.project_root.clone(),
            environment: self.membership(&*store)?.marked(self.environment_of_session()),
            secrets,
            model_keys: KEYS,
            agents: self.agents.clone(),
            skip: switches.skip.clone(),
            without_hooks,
            observers: vec![observer],
            clock: Arc::new(StoreTime),
            waits: self.waits(&store)?,
            desks: Some(Arc::new(state::desks()?)),
            gate,
            work: self.work.clone(),
            orders: self.membership(&*store)?.orders(),
        };
        let interrupt = parts.interrupt.clone();
        let plan = if without_hooks { plan.without_hooks() } else { plan };
        let plan = plan.with_max_cost(how.max_cost);
        let session = Session::new(Parts { plan, ..parts }, around);
        let journal = Arc::clone(session.journal());
        let speaking = view.as_ref().map(|view| absence::speak_through(view.speaker()));
        let ended = drive(session, &interrupt, screen, view.as_ref());
        drop(speaking);
        view.into_iter().for_each(LiveView::end);
        let ended = ended?;
        // No other process may have the lease before the session has ended; after a crash the
        // holder is found dead.
        hookwright_process::faults::point("lease is given back");
        self.membership(&*store)?.release(&*store, &fence);
        let ended = ended.map_err(SessionFailure::Broken)?;
        let shown_folder = match folder.path().strip_prefix(&self.started_in) {
            Ok(below) => below.to_owned(),
            Err(_) => self.found.display_path(folder.path()),
        };
        let summary = session_screen.lock().unwrap_or_else(PoisonError::into_inner).summary(
            &ended,
            &journal.record(),
            &shown_folder,
            if without_hooks { 0 } else { hooks },
        );
        if shown.json {
            screen.talk(&summary)
        } else {
            screen.result(&summary)?
        }
        Ok(exit_code_of(ended.status))
    }
}

impl ProjectRunner {
    /// The port for questions to people, for a session and its children.
    fn waits(&self, store: &Arc<dyn Store>) -> Result<Arc<AskPeople>, Failure> {
        let orders = self.membership(&**store)?.orders();
        let is_shared = store.is_remote();
        let (store, name) = (Arc::clone(store), self.project());
        // By which a caller's environment is recognised, see `environment_of_session`.
        let root = project::root_beside(&name, self.project_folder());
        let project = AskingProject { name, root };
        Ok(Arc::new(move |plan| {
            let (pipeline, address) = (Some(plan.name.clone()), plan.callback.clone());
            let (kept_in, project) = (Arc::clone(&store), project.clone());
            let open = move || Ok((Arc::clone(&kept_in), project.clone()));
            let wakes = is_shared.then(|| orders.wakes());
            approvals::port(Asking { pipeline, address, wakes }, open)
        }))
    }
}

/// The agents that loops can name.
fn agents(found: &ConfigFiles, environment: &Environment) -> AgentFactory {
    // Faults of the file with the secrets are reported where a run is planned.
    let secrets = found.secrets().unwrap_or_default();
    let (environment, found) = (environment.clone(), found.clone());
    AgentFactory::default().with(built_in_driver::KIND, move |request| {
        built_in_driver::make(request, &found, &environment, &secrets)
    })
}

/// A new session name, which no session and no folder of this project has.
pub(crate) fn new_session_name(store: &dyn Store, root: &Path) -> Result<SessionName, Failure> {
    loop {
        let name = made_names::next(store).map_err(Failure::Store)?;
        let filter = Filter { name_prefix: Some(name.as_str().to_owned()), ..Filter::newest(1) };
        let used = store.list(Kind::Session, &filter).map_err(Failure::Store)?;
        if used.is_empty() && !SessionFolder::new(root, name.clone()).path().exists() {
            return Ok(name);
        }
    }
}

/// Whether the folder has a session's files. A folder without them was created but not used.
pub(crate) fn has_stages(folder: &SessionFolder) -> bool {
    let Ok(entries) = std::fs::read_dir(folder.path()) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("stage-"))
}

/// Warns about ids to skip that name no hook of any stage.
pub(crate) fn warn_of_unknown_skips(switches: &HookSwitches, plan: &Plan, screen: &Screen) {
    let sets = || plan.stages.iter().map(|stage| &stage.hooks).chain([&plan.hooks]);
    for id in &switches.skip {
        if !sets().any(|set| set.hooks().iter().any(|hook| hook.id == *id)) {
            screen.talk(&format!("warning: --skip: no hook has the id `{}`\n", visible(id)));
        }
    }
}

/// Warns about hooks that nothing in the session fires.
pub(crate) fn warn_of_unfired_hooks(switches: &HookSwitches, plan: &Plan, screen: &Screen) {
    let unfired = plan.unfired.iter().filter(|hook| !switches.skip.contains(&hook.id));
    let unfired: Vec<_> = unfired.cloned().collect();
    screen.advice("warning:", &unfired_together(Certainty::InThisRun, &unfired));
}

/// Runs a session; the first interrupt ends the session, the second this process.
fn drive(
    session: Session,
    interrupt: &EndRequest,
    screen: &Screen,
    view: Option<&LiveView>,
) -> Result<Result<SessionOutcome, SessionError>, Failure> {
    runtime()?.block_on(async {
        let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
        interrupts.leaving = view.map(LiveView::leaving);
        let asked = || {
            let words = "interrupted: ending the session (interrupt again to exit at once)\n";
            match view {
                Some(view) => view.interrupted(words),
                None => screen.talk(words),
            }
            interrupt.ask("interrupted");
        };
        let followed = async {
            match view {
                Some(view) => match view.follow_signals().await {},
                None => std::future::pending().await,
            }
        };
        let work = async {
            tokio::select! {
                ended = session.run() => ended,
                ended = followed => ended,
            }
        };
        Ok(interrupts.or_else(&asked, work).await)
    })
}

/// The static data of a session's live view.
fn about(folder: &SessionFolder, plan: &Plan, gate: &PauseGate) -> About {
    let agent = |stage: &Stage| stage.agents.first().map_or("", |first| &first.name).to_owned();
    let stages = plan.stages.iter().map(|stage| (stage.name.clone(), agent(stage)));
    About {
        session: folder.session().as_str().to_owned(),
        plan: plan.name.clone(),
        stages: stages.collect(),
        gate: gate.clone(),
        answering: Box::new(approvals::decide_in_view),
    }
}

/// Prints run events as they happen.
fn observer(session_screen: &Arc<Mutex<SessionScreen>>) -> Observer {
    let session_screen = Arc::clone(session_screen);
    Arc::new(move |event: &RunEvent| {
        let mut shown = session_screen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = shown.line(event) {
            // A reader that has closed the pipe does not end a session.
            let _ = Screen.result(&text);
        }
    })
}

/// The exit code for the end of a session.
pub(crate) fn exit_code_of(status: SessionStatus) -> u8 {
    match status {
        SessionStatus::Completed => exit_code::GO_ON,
        SessionStatus::Aborted => exit_code::ABORT,
        SessionStatus::Interrupted => exit_code::INTERRUPTED,
        SessionStatus::Paused => exit_code::PAUSED,
        SessionStatus::Failed => exit_code::FAILED,
        // A session that has run never ends with these.
        SessionStatus::Active
        | SessionStatus::Queued
        | SessionStatus::CutOff
        | SessionStatus::Deleting => exit_code::FAILED,
    }
}

pub(crate) fn show_faults(faults: &[Fault], screen: &Screen) -> u8 {
    screen.faults(faults);
    screen.talk(&format!("{}; nothing was started\n", count(faults.len(), "fault")));
    exit_code::OUR_FAULT
}

/// Branch and commit, if there is a repository.
fn git_metadata(root: &Path) -> Metadata {
    let ask = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(arguments).current_dir(root);
        for name in hookwright_engine::GIT_LOCATION_VARIABLES {
            command.env_remove(name);
        }
        let output = command.output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (!text.is_empty()).then_some(visible(&text).to_string())
    };
    Metadata {
        git_branch: ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]),
        git_commit: ask(&["rev-parse", "--quiet", "--verify", "HEAD"]),
        total_duration: None,
    }
}
