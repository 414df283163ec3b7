//! The words that CI and people use: `cargo xtask test`.
#![expect(clippy::print_stderr, reason = "this program talks to whoever builds the project")]

mod fuzz;
mod peers;

use std::env;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask <command>

commands:
  test [ARGS]   install the outside programs that tests need where they are missing, then run all
                tests; ARGS go to `cargo test`
  fuzz [TARGET] [--seconds N]
                make up inputs for one or every fuzz target, N seconds each (300 unless told); installs
                cargo-fuzz where it is missing
  faults [--kills N] [--seed S] [--only PART]
                sessions are killed and interrupted at the points at which they write or start
                something, and at random moments, and resumed until they are done; counts what must
                not be (2500 kills unless told otherwise: an hour or two)
  peers [--version V]
                pipelines with the real Claude Code, Codex, Gemini CLI and opencode (from npm, kept in the
                target folder), and our hooks inside Claude Code, with a script in place of the models;
                nothing leaves this machine
  peers --record [AGENT] [CASE]
                record what these agents print, for the tests of their presets
  coverage      line coverage of events, process, engine and dialects (installs cargo-tarpaulin if missing)
";

/// A program that tests run, and the Debian package it comes from.
const PROGRAMS: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("dash", "dash"),
    ("faketime", "faketime"),
    ("git", "git"),
    ("jq", "jq"),
    ("kill", "procps"),
    ("mkfifo", "coreutils"),
    ("python3", "python3"),
    ("script", "bsdutils"),
    ("setsid", "util-linux"),
    ("strace", "strace"),
    ("tmux", "tmux"),
    ("unshare", "util-linux"),
];

/// The same for the tests of the page. They are skipped where no browser can be had.
const BROWSER: &[(&str, &str)] = &[("chromium", "chromium"), ("chromedriver", "chromium-driver")];

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("test") => install(PROGRAMS).and_then(|()| test(&args[1..])),
        Some("fuzz") => fuzz::run(&args[1..]),
        Some("faults") => faults(&args[1..]),
        Some("peers") => peers::run(&args[1..]),
        Some("coverage") => coverage(),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn test(args: &[String]) -> Result<(), String> {
    let mut all = vec!["test", "--workspace"];
    all.extend(args.iter().map(String::as_str));
    let mut command = Command::new(cargo_program());
    if has_browser() {
        // From here on a browser that does not start is a failure.
        command.env("HOOKWRIGHT_BROWSER", "required");
    }
    ended(command.args(&all), &format!("cargo {}", all.join(" ")))
}

/// Sees to a browser; whether there is one now.
fn has_browser() -> bool {
    match install(BROWSER) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("{error}\nnote: without a browser the tests of the page are skipped");
            false
        }
    }
}

fn faults(args: &[String]) -> Result<(), String> {
    let mut all = vec!["test", "--package", "hookwright", "--features", "faults"];
    all.extend(["--test", "faults", "--"]);
    all.extend(args.iter().map(String::as_str));
    cargo(&all)?;
    // Sessions that hooks start have a campaign of their own, among the tests.
    let mut children = vec!["test", "--package", "hookwright", "--features", "faults"];
    children.extend(["--test", "suite", "spawn_faults"]);
    cargo(&children)
}

fn coverage() -> Result<(), String> {
    if !is_installed("cargo-tarpaulin") {
        cargo(&["install", "cargo-tarpaulin", "--locked"])?;
    }
    cargo(&[
        "tarpaulin",
        "--packages",
        "hookwright-events",
        "hookwright-process",
        "hookwright-engine",
        "hookwright-dialects",
        "--include-files",
        "crates/events/*",
        "crates/process/*",
        "crates/engine/*",
        "crates/dialects/*",
        "--exclude-files",
        "*/tests/*",
        "*/tests.rs",
        "*/benches/*",
        "--engine",
        "llvm",
        "--follow-exec",
        "--skip-clean",
        "--target-dir",
        "target/coverage",
        "--timeout",
        "300",
    ])
}

/// Installs those programs that are missing.
fn install(programs: &[(&str, &'static str)]) -> Result<(), String> {
    let missing: Vec<&str> = programs
        .iter()
        .filter(|(program, _)| !is_installed(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("installing what tests need: {}", missing.join(" "));
    run("apt-get", &["update"])?;
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(&missing);
    run("apt-get", &install).map_err(|error| {
        format!("{error}\nhelp: install these packages yourself: {}", missing.join(" "))
    })
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn cargo(args: &[&str]) -> Result<(), String> {
    run(&cargo_program(), args)
}

fn cargo_program() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    ended(Command::new(program).args(args), &format!("{program} {}", args.join(" ")))
}

/// Waits for a command's end, which has to be a good one.
fn ended(command: &mut Command, shown: &str) -> Result<(), String> {
    let program = shown.split(' ').next().unwrap_or_default();
    let status = command
        .status()
        .map_err(|error| format!("error: `{program}` cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("error: `{shown}` failed ({status})")) }
}
