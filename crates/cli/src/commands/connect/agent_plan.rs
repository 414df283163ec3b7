//! [`AgentPlan`]: what has to change for one agent. Nothing is written here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hookwright_dialects::can_be_called;
use hookwright_dialects::hosts::{self, Host, ProgramVersion};

use super::Work;
use super::agent_trust::AgentTrust;
use super::plan::{self, FileChange, FilePlan, PlanFailure};
use super::plugin_check::{self, PluginCheck};
use super::warnings::warnings;
use crate::error::{ConnectFailure, Failure};
use crate::host::runtime;
use crate::installed_agent::{InstalledAgent, VersionUnknown, versions};
use crate::text::one_line;

/// Characters of what a program prints instead of its version.
const SHOWN_CHARS_MAX: usize = 80;

/// What has to change for one agent.
pub(super) struct AgentPlan {
    pub(super) host: &'static Host,
    /// Its program; always there unless the agent is disconnected.
    pub(super) installed: Option<InstalledAgent>,
    pub(super) version: Option<ProgramVersion>,
    pub(super) files: Vec<FilePlan>,
    pub(super) warnings: Vec<String>,
    /// The number of entries that it has to trust in all, if it runs only trusted ones.
    pub(super) entries: usize,
    /// Commands that it does not trust yet.
    pub(super) to_trust: Vec<String>,
    /// Whether it has to be asked to forget the trust.
    pub(super) to_forget: bool,
}

impl Work<'_> {
    /// The named hosts, or all whose programs are there, or, to disconnect, all.
    fn hosts(&self) -> Result<Vec<&'static Host>, Failure> {
        if !self.arguments.all {
            let mut hosts: Vec<&'static Host> = Vec::new();
            for host in &self.arguments.agents {
                if !hosts.iter().any(|known| known.name == host.name) {
                    hosts.push(*host);
                }
            }
            return Ok(hosts);
        }
        if self.arguments.undo {
            return Ok(hosts::all().to_vec());
        }
        let hosts: Vec<_> = hosts::all()
            .iter()
            .copied()
            .filter(|host| InstalledAgent::find(host, &self.path).is_some())
            .collect();
        match hosts.is_empty() {
            true => Err(Failure::Connect(ConnectFailure::NoneInstalled)),
            false => Ok(hosts),
        }
    }

    /// The plans of all agents; `None` if one of them failed, which was said.
    pub(super) fn plans(&self) -> Result<Option<Vec<AgentPlan>>, Failure> {
        let hosts = self.hosts()?;
        let mut plans = Vec::new();
        let mut failed = false;
        let mut keep = |plan: Result<AgentPlan, PlanFailure>| match plan {
            Ok(plan) => plans.push(plan),
            Err(failure) => {
                failed = true;
                self.tell(failure);
            }
        };
        if self.arguments.undo {
            hosts.iter().for_each(|host| keep(self.plan_to_disconnect(host)));
        } else {
            let program = own_program(&self.path)?;
            let installed: Vec<Option<InstalledAgent>> =
                hosts.iter().map(|host| InstalledAgent::find(host, &self.path)).collect();
            let there: Vec<InstalledAgent> = installed.iter().flatten().cloned().collect();
            let mut versions = runtime()?.block_on(versions(&there)).into_iter();
            for (host, installed) in hosts.iter().zip(installed) {
                let version = installed.as_ref().and_then(|_| versions.next());
                keep(self.plan_to_connect(host, installed, version, &program));
            }
        }
        if failed {
            self.screen.talk("nothing was changed\n");
        }
        Ok((!failed).then_some(plans))
    }

    fn tell(&self, failure: PlanFailure) {
        match failure {
            PlanFailure::Failed(failure) => self.screen.failure(&Failure::Connect(failure)),
            PlanFailure::Fault(fault) => self.screen.faults([&*fault]),
        }
    }

    fn plan_to_connect(
        &self,
        host: &'static Host,
        installed: Option<InstalledAgent>,
        version: Option<Result<ProgramVersion, VersionUnknown>>,
        program: &str,
    ) -> Result<AgentPlan, PlanFailure> {
        let agent = host.display_name;
        let own = host.program;
        let Some(installed) = installed else {
            return Err(ConnectFailure::NotInstalled { agent, program: own }.into());
        };
        let mut warned = Vec::new();
        let version = match version {
            Some(Ok(found)) if found < own.measured => {
                if let Some(missing) = own.missing_before {
                    return Err(
                        ConnectFailure::TooOld { agent, found, program: own, missing }.into()
                    );
                }
                warned.push(format!(
                    "{agent} {found} is older than {}, the first version whose hooks were measured",
                    own.measured
                ));
                Some(found)
            }
            Some(Ok(found)) => Some(found),
            Some(Err(unknown)) => {
                warned.push(format!("the version of {agent} is unknown: {}", why(&unknown)));
                None
            }
            None => None,
        };
        let (mut files, mut entries, mut to_trust) = (Vec::new(), 0, Vec::new());
        for target in host.files(program) {
            let path = self.folders.path(host, &target)?;
            let (plan, notes) = plan::to_connect(host, &target, &path)?;
            warned.extend(notes.into_iter().map(|note| format!("{agent}: {note}")));
            if host.differences.trust.is_some() {
                entries += target.entries();
                to_trust.extend(target.commands());
            }
            if matches!(plan.change, FileChange::Write(_)) {
                match plugin_check::check(host, &target, &self.path) {
                    Ok(PluginCheck::Passed) => {}
                    Ok(PluginCheck::NoNode) => warned.push(format!(
                        "whether {agent} loads the plugin was not checked: `node` is not installed"
                    )),
                    Err(Failure::Connect(failure)) => return Err(failure.into()),
                    Err(other) => {
                        let cause = other.message().in_one_line();
                        return Err(ConnectFailure::PluginFails { agent, cause }.into());
                    }
                }
            }
            files.push(plan);
        }
        warned.extend(warnings(host, &self.folders, &self.here));
        let mut plan = AgentPlan {
            host,
            installed: Some(installed),
            version,
            files,
            warnings: warned,
            entries,
            to_trust,
            to_forget: false,
        };
        let is_changed = plan.files.iter().any(|file| file.change != FileChange::Nothing);
        if !is_changed && let Some(trust) = self.trust_of(&plan) {
            plan.to_trust = trust.untrusted()?;
        }
        plan.to_trust.sort();
        plan.to_trust.dedup();
        Ok(plan)
    }

    fn plan_to_disconnect(&self, host: &'static Host) -> Result<AgentPlan, PlanFailure> {
        let mut files = Vec::new();
        for target in host.files("hookwright") {
            let path = self.folders.path(host, &target)?;
            files.push(plan::to_disconnect(host, &target, &path, &self.folders.state)?);
        }
        let installed = InstalledAgent::find(host, &self.path);
        let mut plan = AgentPlan {
            host,
            installed,
            version: None,
            files,
            warnings: Vec::new(),
            entries: 0,
            to_trust: Vec::new(),
            to_forget: false,
        };
        if let Some(trust) = self.trust_of(&plan) {
            match trust.plan_to_forget()? {
                Some(file) => plan.files.push(file),
                None => plan.to_forget = true,
            }
        }
        Ok(plan)
    }

    /// How the agent of a plan is asked to trust our hooks, if it runs only trusted ones.
    pub(super) fn trust_of<'p>(&'p self, plan: &'p AgentPlan) -> Option<AgentTrust<'p>> {
        let (trust, agent) = (plan.host.differences.trust?, plan.installed.as_ref()?);
        let settings = plan.files.first()?.file.named.clone();
        Some(AgentTrust { agent, trust, settings, folders: &self.folders })
    }
}

/// The path of this program for settings: the one in `PATH` if it is this program, since an update
/// may move the file that it links to.
pub(super) fn own_program(path: &OsStr) -> Result<String, Failure> {
    let own = std::env::current_exe()
        .map_err(|cause| Failure::Connect(ConnectFailure::OwnPathUnknown { cause }))?;
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let same = |candidate: &PathBuf| {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        real(candidate).is_some_and(|it| Some(it) == real(&own))
    };
    let program = folders.map(|folder| folder.join("hookwright")).find(same).unwrap_or(own);
    match program.to_str() {
        Some(text) if can_be_called(text) && program.is_file() => Ok(text.to_owned()),
        _ => Err(Failure::Connect(ConnectFailure::OwnPath { path: program })),
    }
}

fn why(unknown: &VersionUnknown) -> String {
    match unknown {
        VersionUnknown::Failed { cause } => one_line(cause, SHOWN_CHARS_MAX),
        VersionUnknown::NotPrinted { printed } => {
            format!("`--version` printed `{}`", one_line(printed, SHOWN_CHARS_MAX))
        }
    }
}
