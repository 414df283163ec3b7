//! `cargo xtask peers --probe`: probes the real agents with `hookwright doctor --probe`, in homes that
//! `hookwright connect` has connected, and writes the page of results.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hookwright_dialects::hosts::{self, Host};
use serde_json::Value;

/// The page of results.
const PAGE: &str = "docs/probed.md";

/// Claude Code needs a newer Node than many machines have.
const NODE: &str = "node@22";

/// Probes the named agents, or all, and writes the page.
pub(super) fn probe(target: &Path, only: &[String]) -> Result<(), String> {
    let hosts: Vec<&'static Host> = match only {
        [] => hosts::all().to_vec(),
        names => {
            let named =
                names.iter().map(|name| hosts::named(name).ok_or(format!("no agent `{name}`")));
            named.collect::<Result<_, _>>()?
        }
    };
    let folder = target.join("peers/hosts");
    installed(&folder.join("node"), NODE, "node")?;
    for host in &hosts {
        let (program, version) = (host.program, wanted(host));
        installed(
            &folder.join(host.name),
            &format!("{}@{version}", program.package),
            program.name,
        )?;
    }
    let results = target.join("peers/probes");
    fs::create_dir_all(&results).map_err(|error| format!("{}: {error}", results.display()))?;
    let mut failed = Vec::new();
    for host in &hosts {
        let report = report(host, &folder, &target.join("debug/hookwright"))?;
        let is_good = report["failed"] == false && report["connected"] == true;
        let mark = if is_good { "ok    " } else { "FAILED" };
        let version = report["agent_version"].as_str().unwrap_or("?");
        let rule = format!("{} {version}: every deny holds", host.name);
        eprintln!("{mark}  {rule:<58}  {} s", report["seconds"]);
        if !is_good {
            eprintln!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
            failed.push(host.name);
        }
        let file = results.join(format!("{}.json", host.name));
        fs::write(&file, report.to_string())
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    write_page(&results)?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", "))),
    }
}

/// Writes the page from the last result of every agent, if there is one of each.
fn write_page(results: &Path) -> Result<(), String> {
    let mut reports = BTreeMap::new();
    for host in hosts::all() {
        let text = fs::read(results.join(format!("{}.json", host.name)));
        let Some(report) = text.ok().and_then(|text| serde_json::from_slice(&text).ok()) else {
            eprintln!("not written: {PAGE}, for which {} was never probed here", host.name);
            return Ok(());
        };
        reports.insert(host.name, report);
    }
    fs::write(PAGE, page(hosts::all(), &reports)).map_err(|error| format!("{PAGE}: {error}"))?;
    eprintln!("written: {PAGE}");
    Ok(())
}

/// The version to probe: the measured one, or the newest whose hooks were recorded.
fn wanted(host: &Host) -> String {
    match host.name {
        // What is measured of it is older than what the recordings are of.
        "claude" => "2.1.325".to_owned(),
        _ => host.program.measured.to_string(),
    }
}

fn installed(folder: &Path, package: &str, program: &str) -> Result<(), String> {
    let path = folder.join("node_modules/.bin").join(program);
    if path.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let prefix = folder.to_string_lossy();
    let args = ["install", "--prefix", &prefix, "--no-save", "--no-audit", "--no-fund", package];
    crate::run("npm", &args)?;
    match path.exists() {
        true => Ok(()),
        false => Err(format!("{package} has no program `{program}`")),
    }
}

/// What a probe of one agent says, in a home of its own.
fn report(host: &Host, folder: &Path, hookwright: &Path) -> Result<Value, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = fs::canonicalize(home.path()).map(|path| (home, path));
    let (_home, home) = home.map_err(|error| error.to_string())?;
    let run = |arguments: &[&str]| {
        let mut command = Command::new(hookwright);
        command.args(arguments).current_dir(&home).env_clear();
        command.env("HOME", &home).env("PATH", path(host, folder));
        command.output().map_err(|error| error.to_string())
    };
    let connected = run(&["connect", host.name, "--yes"])?;
    if !connected.status.success() {
        return Err(String::from_utf8_lossy(&connected.stderr).into_owned());
    }
    let probed = run(&["doctor", "--probe", host.name, "--json"])?;
    serde_json::from_slice(&probed.stdout)
        .map_err(|_| format!("{}: {}", host.name, String::from_utf8_lossy(&probed.stderr)))
}

/// `PATH` with the agent and its Node first.
fn path(host: &Host, folder: &Path) -> OsString {
    let own = [host.name, "node"].map(|name| folder.join(name).join("node_modules/.bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = own.into_iter().chain(env::split_paths(&path)).collect();
    env::join_paths(all).unwrap_or(path)
}

/// The page: one table of all agents, and one for each.
fn page(hosts: &[&'static Host], reports: &BTreeMap<&str, Value>) -> String {
    let mut page = String::from(
        "# What was seen of each agent\n\n\
         Made by `cargo xtask peers --probe`, which installs the agents from npm, connects each in a home\n\
         of its own with `hookwright connect`, and probes it. Do not edit. The words are explained in\n\
         [Do my hooks hold?](doctor.md); each cell is what was seen with connected settings, or, where\n\
         that is only looked at in an empty home, there.\n\n",
    );
    let mut checks: Vec<String> = Vec::new();
    for row in reports.values().flat_map(rows).filter(|row| row["check"] != "hooks run") {
        let check = name_of_check(row);
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
    let names: Vec<&str> = hosts.iter().map(|host| host.display_name).collect();
    // On a busy machine a program may take too long to print it; it was installed by it.
    let printed = |host: &Host| reports[host.name]["agent_version"].as_str().map(str::to_owned);
    let versions = hosts.iter().map(|host| printed(host).unwrap_or_else(|| wanted(host)));
    let versions: Vec<String> = versions.collect();
    let _ = writeln!(page, "| | {} |", names.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(names.len()));
    let _ = writeln!(page, "| version | {} |", versions.join(" | "));
    for check in checks {
        let cells = hosts.iter().map(|host| {
            let row = rows(&reports[host.name]).find(|row| name_of_check(row) == check);
            row.map_or("".to_owned(), cell)
        });
        let _ = writeln!(page, "| {check} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    page.push_str("\nEmpty: the agent has no such call or event, or it was not measured.\n");
    for host in hosts {
        let report = &reports[host.name];
        let _ = writeln!(page, "\n## {}\n", host.display_name);
        page.push_str("| event | check | clean home | connected |\n|---|---|---|---|\n");
        for row in rows(report) {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} |",
                text("event"),
                text("check"),
                text("clean"),
                text("yours")
            );
        }
    }
    page
}

fn rows(report: &Value) -> impl Iterator<Item = &Value> {
    report["rows"].as_array().into_iter().flatten()
}

/// Contexts are one check at several events.
fn name_of_check(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    match text("check") {
        check @ "context reaches the model" => format!("{check} (`{}`)", text("native")),
        check => check.to_owned(),
    }
}

fn cell(row: &Value) -> String {
    let seen = row["yours"].as_str().or(row["clean"].as_str());
    seen.unwrap_or_default().to_owned()
}
