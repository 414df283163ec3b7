//! The probe: starts an installed agent with a script in place of its model, and sees whether what
//! hooks deny happens all the same.
//!
//! The agent runs twice through the same script: in an empty home with the settings that we would
//! write, and in a home with the user's entries for us, the switches of hooks and the trust; nothing
//! else of the user's is read. Both homes are thrown away, with the project in them. The environment
//! is empty but for `PATH` and what makes the agent work offline.
//!
//! | module | does |
//! |---|---|
//! | `check` | what is checked, and what the model says for it |
//! | `script` | the hooks, and the turns of the model |
//! | `home` | a home that is thrown away |
//! | `run` | one run of the agent, and what it left |
//! | `verdict` | what a run shows about a check |
//! | `user_settings` | what is taken over of the user's settings |
//! | `report` | the results, as a table and as JSON |
//! | `record` | which program was probed, for `hook` and `doctor` |
//! | `mcp_server` | the MCP server of the script |

mod check;
mod home;
mod limits;
pub(crate) mod mcp_server;
pub(crate) mod record;
pub(crate) mod report;
mod run;
mod script;
mod user_settings;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hookwright_dialects::hosts::{Host, ProgramVersion};
use tokio::sync::Semaphore;

use self::home::{HomeSettings, ProbeHome};
use self::limits::RUNS_AT_ONCE_MAX;
pub(crate) use self::report::ProbeReport;
use self::report::ProbeRow;
use self::run::AgentRun;
use self::script::{CalledProgram, RunPlan};
use self::user_settings::UserSettings;
use self::verdict::ProbeVerdict;
use crate::error::ProbeFailure;
use crate::installed_agent::InstalledAgent;

/// Probes an agent whose version is known.
pub(crate) async fn probe(
    agent: &InstalledAgent,
    version: Option<ProgramVersion>,
    tell: &dyn Fn(&str),
) -> Result<ProbeReport, ProbeFailure> {
    let began = Instant::now();
    let host = agent.host;
    let own = std::env::current_exe().map_err(ProbeFailure::NoOwnProgram)?;
    let user = UserSettings::read(host)?;
    let mut planned: Vec<(RunPlan, HomeSettings)> = script::clean_runs(host)
        .into_iter()
        .map(|plan| (plan, HomeSettings::Generated(host)))
        .collect();
    if user.calls_us() {
        let runs = script::user_runs(host).into_iter();
        planned.extend(runs.map(|plan| (plan, HomeSettings::OfUser(user.files().to_vec()))));
    }
    tell(&format!(
        "{} runs of {} in homes that are thrown away, {RUNS_AT_ONCE_MAX} at a time\n",
        planned.len(),
        host.display_name
    ));
    let seen = all_runs(agent, &own, planned).await?;
    let rows = check::all(host).into_iter().map(|check| {
        let of_home = |is_users: bool| {
            let mut runs = seen.iter().filter(|(plan, _)| plan.is_users == is_users);
            let run = runs.find(|(plan, _)| plan.checks.contains(&check));
            run.map(|(plan, run)| verdict::of(host, check, plan, run))
        };
        ProbeRow { check, clean: of_home(false), of_user: of_home(true) }
    });
    let rows: Vec<ProbeRow> = rows.collect();
    let failed = |it: &&(RunPlan, AgentRun)| {
        let home =
            |row: &ProbeRow| if it.0.is_users { row.of_user.clone() } else { row.clean.clone() };
        it.0.checks.iter().any(|check| {
            let row = rows.iter().find(|row| row.check == *check);
            row.and_then(home).is_some_and(|verdict| verdict.is_failure())
        })
    };
    let talk: Vec<String> =
        seen.iter().filter(failed).map(|(plan, run)| run.last_words(plan)).collect();
    Ok(ProbeReport {
        host,
        program: agent.program.clone(),
        version,
        rows,
        is_connected: user.calls_us(),
        took: began.elapsed(),
        talk,
    })
}

/// Runs all of them, a few at a time.
async fn all_runs(
    agent: &InstalledAgent,
    own: &Path,
    planned: Vec<(RunPlan, HomeSettings)>,
) -> Result<Vec<(RunPlan, AgentRun)>, ProbeFailure> {
    let slots = Arc::new(Semaphore::new(RUNS_AT_ONCE_MAX));
    let mut tasks = Vec::new();
    for (number, (plan, settings)) in planned.into_iter().enumerate() {
        let (agent, own, slots) = (agent.clone(), own.to_owned(), Arc::clone(&slots));
        tasks.push(tokio::spawn(async move {
            let _slot = slots.acquire().await;
            let home = ProbeHome::make(agent.host, &own, &plan, &settings)?;
            let run = run::run(&agent, &home, &plan, number).await?;
            Ok::<_, ProbeFailure>((plan, run))
        }));
    }
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await.map_err(|_| ProbeFailure::Interrupted)??);
    }
    Ok(seen)
}

/// The name under which a host's own settings call us, for a path.
fn own_program(plan: &CalledProgram, own: &Path, home: &Path) -> PathBuf {
    match plan {
        CalledProgram::This => own.to_owned(),
        CalledProgram::Missing => home.join("missing/hookwright"),
        CalledProgram::Crashing => home.join("crashing/hookwright"),
    }
}

impl ProbeReport {
    /// Whether something that hooks denied happened, or could not be proven.
    pub(crate) fn has_failed(&self) -> bool {
        let failed =
            |verdict: &Option<ProbeVerdict>| verdict.as_ref().is_some_and(ProbeVerdict::is_failure);
        self.rows.iter().any(|row| failed(&row.clean) || failed(&row.of_user))
    }
}

/// A host's name of an event.
fn name_of_event(host: &Host, native: &str) -> String {
    let known = host.capabilities.iter().find(|known| known.native == native);
    known.map_or(native, |known| known.event).to_owned()
}
