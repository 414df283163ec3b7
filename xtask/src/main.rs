//! The commands that CI and people use: `cargo xtask test`.
#![expect(clippy::print_stderr, reason = "this program prints for developers")]

mod fuzz;
mod needed;
mod peers;

use std::env;
use std::num::NonZero;
use std::process::{Command, ExitCode};
use std::thread;

const USAGE: &str = "usage: cargo xtask <command>

commands:
  test [--without browser,tmux] [ARGS]
                run all tests; ARGS go to `cargo test`. What is missing of the outside programs that they
                need is installed (as root, with apt-get), or named with the command that installs it
  fuzz [TARGET] [--seconds N]
                make up inputs for one or every fuzz target, N seconds each (300 unless told); installs
                cargo-fuzz where it is missing
  faults [--kills N] [--seed S] [--only PART]
                sessions are killed and interrupted at the points at which they write or start
                something, and at random moments, and resumed until they are done; counts what must
                not be (2500 kills unless told otherwise: an hour or two). PART: whole, asking, queue,
                queue-of-tasks, queue-at-once, ends, orphans, agent (the built-in agent, continued),
                agent-in-pipeline (a loop with it, resumed)
  machines [--kills N] [--seed S] [--only PART]
                several machines share a store while servers, machines, networks, git remotes and
                processes are killed, stopped or given false data; counts what must not be. PART, with its
                number of faults unless told otherwise: server (50), away (takes 12 minutes),
                deliveries (200), standstill (50), silence (50), stopped-worker (20), takeover (300),
                workers (300), remote (12), fenced (50), identities, databases (as root also with a
                full disk)
  peers [--version V]
                pipelines with the real Claude Code, Codex, Gemini CLI and opencode (from npm, kept in the
                target folder), and our hooks inside Claude Code, with a script in place of the models;
                nothing leaves this machine
  peers --probe [AGENT]...
                only the probes of all agents in which our hooks run, or of these; writes docs/probed.md
  peers --record [AGENT] [CASE]
                record what these agents print, for the tests of their presets
  coverage      line coverage of events, process, engine and dialects (installs cargo-tarpaulin if missing)
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("test") => test(&args[1..]),
        Some("fuzz") => fuzz::run(&args[1..]),
        Some("faults") => faults(&args[1..]),
        Some("machines") => machines(&args[1..]),
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

/// How many tests run at once, for the test harness.
const THREADS: &str = "RUST_TEST_THREADS";

fn test(args: &[String]) -> Result<(), String> {
    let (without, args) = match args {
        [flag, words, rest @ ..] if flag == "--without" => (words.split(',').collect(), rest),
        _ => (Vec::new(), args),
    };
    let known: Vec<&str> = needed::PARTS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = without.iter().find(|word| !known.contains(word)) {
        let known = known.join(", ");
        return Err(format!("error: `--without {unknown}`: expected one or more of {known}"));
    }
    needed::provide(&without)?;
    let mut all = vec!["test", "--workspace"];
    all.extend(args.iter().map(String::as_str));
    let mut command = Command::new(cargo_program());
    if without.contains(&"tmux") {
        if !args.iter().any(|arg| arg == "--") {
            all.push("--");
        }
        all.extend(["--skip", "live_view::"]);
    }
    if !without.contains(&"browser") {
        // From here on a browser that does not start is a failure.
        command.env("HOOKWRIGHT_BROWSER", "required");
    } else {
        command.env("HOOKWRIGHT_BROWSER", "none");
    }
    if env::var_os(THREADS).is_none() {
        // Most tests wait for other programs most of the time.
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        command.env(THREADS, (2 * cores).to_string());
    }
    let has_namespaces = needed::has_namespaces();
    if !has_namespaces {
        command.env("HOOKWRIGHT_NAMESPACES", "none");
    }
    let ended = ended(command.args(&all), &format!("cargo {}", all.join(" ")));
    if !has_namespaces {
        eprintln!(
            "skipped: webhooks to hosts by name; this machine does not allow private networks"
        );
    }
    for (_, what) in needed::PARTS.iter().filter(|(name, _)| without.contains(name)) {
        eprintln!("skipped: {what}");
    }
    ended
}

fn faults(args: &[String]) -> Result<(), String> {
    let mut all = vec!["test", "--package", "hookwright", "--features", "faults"];
    all.extend(["--test", "faults", "--"]);
    all.extend(args.iter().map(String::as_str));
    cargo(&all)?;
    // Sessions that hooks start have their own campaign among the tests.
    let mut children = vec!["test", "--package", "hookwright", "--features", "faults"];
    children.extend(["--test", "suite", "spawn_faults"]);
    cargo(&children)
}

fn machines(args: &[String]) -> Result<(), String> {
    needed::provide(&[])?;
    let mut all = vec!["test", "--package", "hookwright", "--features", "faults"];
    all.extend(["--test", "machines", "--"]);
    all.extend(args.iter().map(String::as_str));
    let mut command = Command::new(cargo_program());
    // A program that is linked statically takes its time from the kernel, whatever libfaketime says.
    command.env("HOOKWRIGHT_LINK", "dynamic").args(&all);
    ended(&mut command, &format!("cargo {}", all.join(" ")))
}

fn coverage() -> Result<(), String> {
    if !needed::is_installed("cargo-tarpaulin") {
        cargo(&["install", "cargo-tarpaulin", "--locked"])?;
    }
    cargo(&[
        "tarpaulin",
        "--packages",
        "hookwright-events",
        "hookwright-process",
        "hookwright-engine",
        "hookwright-config",
        "hookwright-dialects",
        "--include-files",
        "crates/events/*",
        "crates/process/*",
        "crates/engine/*",
        "crates/config/*",
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

fn cargo(args: &[&str]) -> Result<(), String> {
    run(&cargo_program(), args)
}

fn cargo_program() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    ended(Command::new(program).args(args), &format!("{program} {}", args.join(" ")))
}

/// Waits for a command, and fails unless it succeeds.
fn ended(command: &mut Command, shown: &str) -> Result<(), String> {
    let program = shown.split(' ').next().unwrap_or_default();
    let status = command
        .status()
        .map_err(|error| format!("error: `{program}` cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("error: `{shown}` failed ({status})")) }
}
