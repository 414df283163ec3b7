//! The cost of the live view of `run`: CPU time of a session on a terminal with and without it,
//! relative to its duration. Figures: `docs/performance.md`.
//!
//! The terminal is real (`script` opens it). At its end the agent reads the CPU time of its runner,
//! of all threads and without the runner's children.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

const ROUNDS: usize = 3;

/// An agent that prints a line a hundred times a second.
const CHATTY: &str =
    "for i in $(seq LINES); do echo \"line $i of what the agent says\"; sleep 0.0095; done";

/// An agent that works without output.
const QUIET: &str = "sleep SECONDS";

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = std::env::args().any(|arg| arg == "--test");
    let (rounds, seconds) = if is_test { (1, 1) } else { (ROUNDS, 20) };
    for (name, agent) in [("100 lines a second", CHATTY), ("a quiet agent", QUIET)] {
        let mut shares: Vec<(f64, f64)> = (0..rounds)
            .map(|_| {
                (
                    share_of_a_core(agent, seconds, &[]),
                    share_of_a_core(agent, seconds, &["--plain"]),
                )
            })
            .collect();
        shares.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (with, without) = shares[shares.len() / 2];
        println!("{name}: {with:.2} % of a core with the view, {without:.2} % without");
    }
}

/// The runner's CPU usage while its agent worked, in per cent of a core.
fn share_of_a_core(agent: &str, seconds: u32, options: &[&str]) -> f64 {
    let folder = TempDir::new().unwrap();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    let agent = agent.replace("LINES", &(seconds * 100).to_string());
    let agent = agent.replace("SECONDS", &seconds.to_string());
    let measured = "cat /proc/$PPID/task/*/schedstat > used.$1";
    fs::write(
        project.join("agent"),
        format!("m() {{ {measured}; }}; m before\n{agent}\nm after\n"),
    )
    .unwrap();
    fs::write(
        project.join("loop.yaml"),
        "{name: work, agent: {type: command, command: '. ./agent'}, prompt: x, \
         termination: {type: fixed, iterations: 1}}",
    )
    .unwrap();
    let binary = env!("CARGO_BIN_EXE_hookwright");
    let run = format!(
        "stty rows 24 cols 100; exec {binary} run loop.yaml --session s {}",
        options.join(" ")
    );
    let began = Instant::now();
    let mut command = Command::new("script");
    command.args(["-qec", &run, "/dev/null"]).current_dir(&project).env_remove("CI");
    command.env("HOME", folder.path()).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    command.env("XDG_STATE_HOME", folder.path().join("state")).stdin(Stdio::piped());
    let mut running = command.stdout(Stdio::piped()).spawn().unwrap();
    // Kept open until the end: a keyboard without input.
    let keyboard = running.stdin.take();
    let output = running.wait_with_output().unwrap();
    let took = began.elapsed();
    drop(keyboard);
    let screen = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{screen}");
    assert_eq!(screen.contains("p pause"), options.is_empty(), "{screen}");
    let used = |name: &str| {
        let text = fs::read_to_string(project.join(format!("used.{name}"))).unwrap();
        // The first number is the nanoseconds on a processor, one line per thread.
        text.lines()
            .map(|line| line.split(' ').next().unwrap().parse::<f64>().unwrap())
            .sum::<f64>()
    };
    100.0 * (used("after") - used("before")) / took.as_nanos() as f64
}
