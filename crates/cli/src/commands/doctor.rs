//! `hookwright doctor`: whether hooks hold inside the agents of this machine.

mod agent;
mod entry_trust;
mod finding;
mod own_program;
mod project;
mod settings;

use std::ffi::OsStr;
use std::io;

use clap::Args;
use hookwright_dialects::hosts::{self, Host};
use serde_json::{Value, json};

use self::finding::{Finding, Standing};
use self::own_program::OwnProgram;
use super::hook::host_names;
use crate::config_files::{ConfigFiles, ConfigOptions};
use crate::error::{Failure, ProbeFailure, ProbingFailure};
use crate::exit_code;
use crate::host::runtime;
use crate::installed_agent::{self, InstalledAgent};
use crate::interrupts::Interrupts;
use crate::probe::record::ProbeRecord;
use crate::probe::{self, ProbeReport};
use crate::screen::Screen;
use crate::state;
use crate::text::count;

/// Check whether your hooks hold inside the agents of this machine
///
/// Reads, and changes nothing: the agents' programs and versions, their settings, what they trust,
/// your hook files, and the addresses of listeners. For everything that is wrong it says what to
/// do. Exits with 1 if something leaves a guard open.
///
/// With --probe, it proves it: it starts the agent, offline, with a script in place of its model,
/// once in an empty home and once with what matters of your settings, and lets it make calls that
/// hooks deny. Both homes and their project are thrown away. Exits with 1 if a denied call ran.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Only this agent
    #[arg(value_name = "AGENT", value_parser = host_names())]
    agent: Option<&'static Host>,

    /// Start the agent, and see whether what hooks deny happens all the same
    #[arg(long, requires = "agent")]
    probe: bool,

    /// Print one JSON value on standard output instead of text
    #[arg(long)]
    json: bool,

    /// Be the MCP server of a probe
    #[arg(long, hide = true, conflicts_with_all = ["agent", "json", "probe"])]
    mcp_server: bool,

    #[command(flatten)]
    options: ConfigOptions,
}

pub(crate) fn doctor(arguments: &DoctorArguments, screen: &Screen) -> Result<u8, Failure> {
    if arguments.mcp_server {
        let served = probe::mcp_server::serve(io::stdin(), io::stdout());
        return served.map(|()| exit_code::GO_ON).map_err(|cause| Failure::CannotWrite { cause });
    }
    match arguments.agent.filter(|_| arguments.probe) {
        Some(host) => prove(host, arguments.json, screen),
        None => look(arguments, screen),
    }
}

/// What was found about one agent, or about this place.
struct Section {
    /// The agent; `None` for this place.
    host: Option<&'static Host>,
    findings: Vec<Finding>,
}

/// Reads everything, and says what is wrong.
fn look(arguments: &DoctorArguments, screen: &Screen) -> Result<u8, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let (agents, missing) = installed(arguments.agent, &path)?;
    let own = OwnProgram::this();
    let mut here = vec![own.in_path()];
    here.extend(project::findings(&arguments.options)?);
    let project = ConfigFiles::find(&arguments.options)?.project_root;
    let versions = runtime()?.block_on(installed_agent::versions(&agents));
    let mut sections: Vec<Section> = agents
        .iter()
        .zip(&versions)
        .map(|(agent, version)| Section {
            host: Some(agent.host),
            findings: agent::findings(agent, version, &own, &project),
        })
        .collect();
    sections.push(Section { host: None, findings: here });
    let open = sections.iter().flat_map(|section| &section.findings);
    let open = open.filter(|finding| finding.standing == Standing::Open).count();
    if arguments.json {
        screen.json(&as_json(&sections, &missing, open))?;
    } else {
        screen.result(&as_text(&sections, &missing, open))?;
    }
    Ok(if open > 0 { exit_code::OUR_FAULT } else { exit_code::GO_ON })
}

/// The agents to look at, and those that are not installed.
fn installed(
    only: Option<&'static Host>,
    path: &OsStr,
) -> Result<(Vec<InstalledAgent>, Vec<&'static Host>), Failure> {
    if let Some(host) = only {
        let agent = InstalledAgent::find(host, path);
        let agent = agent.ok_or(Failure::Probing(ProbingFailure::NotInstalled { host }))?;
        return Ok((vec![agent], Vec::new()));
    }
    let (mut agents, mut missing) = (Vec::new(), Vec::new());
    for host in hosts::all() {
        match InstalledAgent::find(host, path) {
            Some(agent) => agents.push(agent),
            None => missing.push(*host),
        }
    }
    Ok((agents, missing))
}

fn as_text(sections: &[Section], missing: &[&'static Host], open: usize) -> String {
    let mut text = String::new();
    for Section { host, findings } in sections {
        let name = host.map_or("here", |host| host.display_name);
        text.push_str(&format!("{name}\n"));
        findings.iter().for_each(|finding| text.push_str(&finding.lines()));
        text.push('\n');
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|host| host.display_name).collect();
        text.push_str(&format!("not installed: {}\n", names.join(", ")));
    }
    text.push_str(&match open {
        0 => "no guard is open\n".to_owned(),
        open => format!("{} open\n", count(open, "guard")),
    });
    text
}

fn as_json(sections: &[Section], missing: &[&'static Host], open: usize) -> Value {
    let findings =
        |section: &Section| section.findings.iter().map(Finding::json).collect::<Vec<_>>();
    let agents = sections.iter().filter_map(|section| {
        let host = section.host?;
        Some(json!({ "agent": host.name, "name": host.display_name,
            "findings": findings(section) }))
    });
    let here = sections.iter().find(|section| section.host.is_none()).map(findings);
    json!({
        "version": 1,
        "agents": agents.collect::<Vec<_>>(),
        "here": here,
        "not_installed": missing.iter().map(|host| host.name).collect::<Vec<_>>(),
        "open": open,
    })
}

/// Probes one agent.
fn prove(host: &'static Host, json: bool, screen: &Screen) -> Result<u8, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let agent = InstalledAgent::find(host, &path)
        .ok_or(Failure::Probing(ProbingFailure::NotInstalled { host }))?;
    let tell = |text: &str| screen.talk(text);
    let report = runtime()?.block_on(async {
        let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
        let work = async {
            let version = agent.version().await.ok();
            probe::probe(&agent, version, &tell).await
        };
        let end = || {
            screen.talk("interrupted: ending the agent (interrupt again to exit at once)\n");
            hookwright_process::kill_everything_now();
        };
        let report = interrupts.or_else(&end, work).await;
        if interrupts.came {
            return Err(Failure::Probing(ProbingFailure::Probe(host, ProbeFailure::Interrupted)));
        }
        report.map_err(|failure| Failure::Probing(ProbingFailure::Probe(host, failure)))
    })?;
    // A probe that cannot be recorded is still a proof.
    if let Err(error) =
        state::folder().map(|state| ProbeRecord::store(&state, &report)).unwrap_or(Ok(()))
    {
        screen.talk(&format!("warning: the result cannot be stored: {error}\n"));
    }
    show(&report, json, screen)?;
    Ok(if report.has_failed() || !report.is_connected {
        exit_code::OUR_FAULT
    } else {
        exit_code::GO_ON
    })
}

fn show(report: &ProbeReport, json: bool, screen: &Screen) -> Result<(), Failure> {
    if json {
        return screen.json(&report.json());
    }
    screen.result(&report.table())?;
    for talk in &report.talk {
        screen.talk(&format!("{}\n", crate::text::visible(talk)));
    }
    screen.result(&format!("\n{}\n", report.summary()))?;
    if !report.is_connected {
        screen.talk(&format!(
            "your settings of {} do not call hookwright, so no guard holds there\nhelp: {}\n",
            report.host.display_name,
            agent::how_to_connect(report.host)
        ));
    }
    Ok(())
}
