//! `cargo xtask peers`: the real agents, with a script instead of their models.
//!
//! Pipelines run each agent that has a preset (`pipelines.rs`), the built-in agent calls an MCP server
//! (`mcp.rs`), and hooks run
//! inside Claude Code (`scenario.rs`). Probes look at every agent in which our hooks run (`probes.rs`). The agents' output is recorded for the presets' tests (`recording.rs`), and the
//! responses of Claude Code's tools for the tests of ours (`tool_recording.rs`).
//!
//! Claude Code is installed from npm into the target folder. It gets its own home directory, no
//! telemetry, no updates, and no network address but this machine's. Its settings are exactly those
//! of `docs/claude-code.md`.

mod mcp;
mod pipelines;
mod probes;
mod program;
mod recording;
mod scenario;
mod tool_recording;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use scenario::ClaudePeer;

/// The program's package, and a version that is known to work.
const PACKAGE: &str = "@anthropic-ai/claude-agent-sdk";
const VERSION: &str = "0.3.325";

const USAGE: &str = "usage: cargo xtask peers [--version VERSION-OF-THE-PACKAGE]
       cargo xtask peers --inside [WORDS OF A RULE]
       cargo xtask peers --mcp
       cargo xtask peers --probe [AGENT]...
       cargo xtask peers --record [AGENT] [CASE]
       cargo xtask peers --record-tools";

/// The page whose settings are used.
const PAGE: &str = "docs/claude-code.md";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some((flag, only)) = args.split_first()
        && flag == "--record"
    {
        return recording::record(&program::installed(&target()?.join("peers/agents"))?, only);
    }
    if args == ["--record-tools"] {
        return tool_recording::record(&target()?);
    }
    if let Some((flag, only)) = args.split_first()
        && flag == "--probe"
    {
        crate::cargo(&["build", "--package", "hookwright"])?;
        return probes::probe(&target()?, only);
    }
    if args == ["--mcp"] {
        crate::cargo(&["build", "--package", "hookwright"])?;
        return report_mcp(&target()?).map_or(Ok(()), Err);
    }
    let (version, only_inside) = match args {
        [] => (VERSION, None),
        [flag, version] if flag == "--version" => (version.as_str(), None),
        [flag, words @ ..] if flag == "--inside" => (VERSION, Some(words.join(" "))),
        _ => return Err(USAGE.to_owned()),
    };
    let target = target()?;
    let package = format!("{PACKAGE}@{version}");
    let claude = installed(&target.join("peers").join(version), &package)?;
    crate::cargo(&["build", "--package", "hookwright"])?;
    let page = fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"))?;
    let settings = settings_of(&page).ok_or(format!("{PAGE} has no settings"))?;
    let peer = ClaudePeer { claude, hookwright: target.join("debug"), settings };
    let said = peer.version()?;
    eprintln!("{said}");
    let mut failed = match &only_inside {
        None => {
            let agents = program::installed(&target.join("peers/agents"))?;
            let of_probes = usize::from(report_probes(&target).is_err());
            let of_servers = usize::from(report_mcp(&target).is_some());
            of_probes + of_servers + pipelines::play_all(&agents, &target.join("debug"))
        }
        Some(_) => 0,
    };
    let wanted = |rule: &str| only_inside.as_ref().is_none_or(|words| rule.contains(words));
    for scenario in scenario::ALL.iter().filter(|scenario| wanted(scenario.rule)) {
        let seen = peer.play(scenario);
        let (mark, seen) = match &seen {
            Ok(seen) => ("ok    ", seen),
            Err(error) => ("FAILED", error),
        };
        failed += usize::from(mark == "FAILED");
        eprintln!("{mark}  {:<58}  {seen}", scenario.rule);
    }
    match failed {
        0 => Ok(()),
        failed => {
            Err(format!("{failed} of {} failed", scenario::ALL.len() + pipelines::count() + 2))
        }
    }
}

/// Probes all agents, and says what went wrong.
fn report_probes(target: &Path) -> Result<(), String> {
    probes::probe(target, &[]).inspect_err(|error| eprintln!("FAILED  probes: {error}"))
}

/// Plays the session with an MCP server, and says how it went. Returns what went wrong.
fn report_mcp(target: &Path) -> Option<String> {
    let rule = "the built-in agent calls tools of an MCP server";
    match mcp::play(target) {
        Ok(seen) => {
            eprintln!("ok      {rule:<58}  {seen}");
            None
        }
        Err(error) => {
            eprintln!("FAILED  {rule:<58}  {error}");
            Some("the session with an MCP server failed".to_owned())
        }
    }
}

fn target() -> Result<PathBuf, String> {
    let target = PathBuf::from(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    fs::create_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    fs::canonicalize(&target).map_err(|error| error.to_string())
}

/// The program, installed if it is not yet.
fn installed(folder: &Path, package: &str) -> Result<PathBuf, String> {
    if let Some(program) = program_in(folder) {
        return Ok(program);
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let prefix = folder.to_string_lossy();
    let options =
        ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"];
    let mut args = vec!["install", "--prefix", &prefix];
    args.extend(options);
    args.push(package);
    crate::run("npm", &args)?;
    program_in(folder).ok_or(format!("{package} has no program for this machine"))
}

/// Each platform's program is a separate package, of which npm has installed the right one.
fn program_in(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@anthropic-ai")).ok()?;
    let programs = packages.flatten().map(|package| package.path().join("claude"));
    // Older versions are one package for all.
    let mut programs = programs.chain([folder.join("node_modules/.bin/claude")]);
    programs.find(|program| program.is_file() && answers(program))
}

fn answers(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The first block of JSON, without its indentation.
fn settings_of(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("```json\n")?;
    let (block, _) = rest.split_once("```")?;
    Some(block.to_owned())
}
