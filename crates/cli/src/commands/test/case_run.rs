//! Runs one case.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hookwright_config::test_file::{CaseStep, TestCase};
use hookwright_config::{ConfigFile, Loaded, load, load_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::limits::KILL_GRACE;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Fired, Firing, Interest, nearest};
use hookwright_events::{Event, EventName, RunEvent, Status};
use serde_json::{Map, json};

use super::comparison::{Came, Difference, differences};
use super::workspace::CaseFolder;
use crate::chain_above::chain_above;
use crate::commands::late::{Late, with_late};
use crate::config_files::ConfigFiles;
use crate::error::{ProjectCopyError, advice};
use crate::host::{ProjectHooks, with_session};
use crate::interrupts::Interrupts;
use crate::screen::Screen;

/// The session of a case that names none. The same everywhere, so that hooks print the same.
const SESSION: &str = "test";

/// Result of a case.
pub(super) struct CaseResult {
    /// The fired steps; the last may have failed.
    pub(super) steps: Vec<StepResult>,
    /// Why the case could not be completed.
    pub(super) problem: Option<String>,
    pub(super) duration: Duration,
}

/// Result of one event.
pub(super) struct StepResult {
    pub(super) line: u32,
    pub(super) fired: Fired,
    pub(super) differences: Vec<Difference>,
}

impl CaseResult {
    pub(super) fn passed(&self) -> bool {
        self.problem.is_none() && self.steps.iter().all(|step| step.differences.is_empty())
    }
}

/// What all cases of a run share.
pub(super) struct Runner<'a> {
    pub(super) config: &'a ConfigFiles,
    pub(super) screen: &'a Screen,
    pub(super) interrupts: Interrupts,
}

impl Runner<'_> {
    /// Runs a case in its workspace. The result is meaningless after an interrupt.
    pub(super) async fn run(&mut self, case: &TestCase, workspace: &CaseFolder) -> CaseResult {
        let started = Instant::now();
        let marker = format!("test-{:016x}", RandomState::new().build_hasher().finish());
        let mut result =
            CaseResult { steps: Vec::new(), problem: None, duration: Duration::default() };
        result.problem = self.steps(case, workspace, &marker, &mut result.steps).await.err();
        // Processes that hooks left behind would run in a folder that is about to be removed.
        hookwright_process::end_run(&marker, KILL_GRACE).await;
        hookwright_process::reap_orphans();
        result.duration = started.elapsed();
        result
    }

    async fn steps(
        &mut self,
        case: &TestCase,
        workspace: &CaseFolder,
        marker: &str,
        results: &mut Vec<StepResult>,
    ) -> Result<(), String> {
        let environment = workspace.environment(case, marker);
        workspace.lay_down(&case.files)?;
        if let Some(command) = &case.setup {
            self.set_up(command, workspace, &environment).await?;
        }
        let loaded = without_faults(load(&workspace.config_files(self.config), &environment))?;
        check_ids(case, &loaded)?;
        let chain = chain_above();
        let firing = Firing { session: case.session.clone(), chain, ..Firing::default() };
        // Without the user's secrets: a case behaves the same on every machine, and sets what it
        // needs in `env`.
        let engine = ProjectHooks::loaded(workspace.root.clone(), environment, loaded)
            .engine_without_people();
        let late = watch(&engine);
        for step in &case.steps {
            workspace.lay_down(&step.files)?;
            let result = self.step(step, &engine, &firing, &late, workspace).await?;
            let failed = !result.differences.is_empty();
            results.push(result);
            // Later steps may fail only because of this one.
            if failed || self.interrupts.came {
                break;
            }
        }
        Ok(())
    }

    async fn step(
        &mut self,
        step: &CaseStep,
        engine: &Engine,
        firing: &Firing,
        late: &Mutex<Late>,
        workspace: &CaseFolder,
    ) -> Result<StepResult, String> {
        let in_words =
            |error: ProjectCopyError| format!("the files cannot be compared: {}", error.in_words());
        let wanted = step.expected.files.as_deref();
        let before = wanted.map(|_| workspace.snapshot()).transpose().map_err(in_words)?;
        let session = firing.session.as_deref().unwrap_or(SESSION);
        let event = with_session(step.event.clone(), session);
        let fired = self.fire(engine, event, firing.clone(), late).await;
        let touched = match (before, wanted) {
            (Some(before), Some(wanted)) => {
                let after = workspace.snapshot().map_err(in_words)?;
                before.touched(&after, &workspace.root, wanted)
            }
            _ => Vec::new(),
        };
        let came = Came { decision: &fired.decision, reports: &fired.reports, touched: &touched };
        let differences = differences(&step.expected, &came);
        Ok(StepResult { line: step.line, fired, differences })
    }

    /// Fires an event and waits for everything that it starts.
    async fn fire(
        &mut self,
        engine: &Engine,
        event: Event,
        firing: Firing,
        late: &Mutex<Late>,
    ) -> Fired {
        let locked = || late.lock().unwrap_or_else(PoisonError::into_inner);
        *locked() = Late::default();
        let work = async {
            let fired = engine.fire(event, firing).await;
            engine.settle().await;
            fired
        };
        let mut fired = self.interrupts.ending(engine, self.screen, work).await;
        let late = std::mem::take(&mut *locked());
        fired.reports = with_late(std::mem::take(&mut fired.reports), late);
        fired
    }

    /// Runs a case's setup like a hook: with a timeout, and ended by an interrupt.
    async fn set_up(
        &mut self,
        command: &str,
        workspace: &CaseFolder,
        environment: &Environment,
    ) -> Result<(), String> {
        let hook = json!({ "id": "setup", "command": command, "await": true });
        let text = json!({ "hooks": { (EventName::SESSION_SETUP.as_str()): [hook] } }).to_string();
        let file = ConfigFile::native("setup", "setup", Layer::Project);
        let loaded = without_faults(load_text(&text, &file, environment))?;
        let (root, environment) = (workspace.root.clone(), environment.clone());
        let engine = ProjectHooks::loaded(root, environment, loaded).engine_without_people();
        let late = watch(&engine);
        let event = Event::new(EventName::SESSION_SETUP, Map::new());
        let fired = self.fire(&engine, event, Firing::default(), &late).await;
        match fired.reports.first() {
            Some(report) if report.status != Status::Success => {
                let why = report.reason.as_deref().unwrap_or_default();
                let all = report.stderr.trim_end();
                // One line of it is already in the reason.
                let rest = if why.ends_with(all) { "" } else { all };
                Err(format!("setup failed: {why}\n{rest}"))
            }
            _ => Ok(()),
        }
    }
}

/// Collects reports that come after a decision.
fn watch(engine: &Engine) -> Arc<Mutex<Late>> {
    let late = Arc::new(Mutex::new(Late::default()));
    let keep = Arc::clone(&late);
    let observer = move |event: &RunEvent| {
        keep.lock().unwrap_or_else(PoisonError::into_inner).see(event);
    };
    engine.observe(Interest::NoOutput, Arc::new(observer));
    late
}

/// An unknown hook id is a typo, which is reported before anything is fired.
fn check_ids(case: &TestCase, loaded: &Loaded) -> Result<(), String> {
    let ids = || loaded.hooks.hooks().iter().map(|hook| hook.id.as_str());
    let wanted = case.steps.iter().filter_map(|step| step.expected.hooks.as_ref()).flatten();
    for hook in wanted {
        if ids().any(|id| id == hook.id) {
            continue;
        }
        let help = match nearest(&hook.id, ids()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`hookwright list` lists the hooks".to_owned(),
        };
        return Err(format!("no hook has the id `{}`\nhelp: {help}", hook.id));
    }
    Ok(())
}

fn without_faults(loaded: Loaded) -> Result<Loaded, String> {
    match loaded.faults.first() {
        None => Ok(loaded),
        Some(fault) => {
            let advice = advice(fault);
            Err(format!("{}: {}\nhelp: {}", fault.location(), advice.heading, advice.help))
        }
    }
}
