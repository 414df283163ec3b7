//! What a session costs whose store is a database instead of a file: 20 iterations with three hooks
//! each, on the same disk, in one run. Figures: `docs/performance.md`.
//!
//! `cargo bench -p hookwright --bench machines`
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use hookwright_postgres_server::Cluster;
use tempfile::TempDir;

const ROUNDS: usize = 15;

const ITERATIONS: usize = 20;

/// A project whose sessions are in one store.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new(iterations: usize, store: Option<&str>) -> Self {
        let project = Self { folder: TempDir::new().unwrap() };
        fs::create_dir_all(project.root()).unwrap();
        let text = format!(
            "prompt: p
agent: {{type: scripted, script: say.yaml}}
termination: {{type: fixed, iterations: {iterations}}}
hooks:
  iteration:start: [{{command: 'true'}}]
  iteration:complete: [{{command: 'true'}}, {{command: 'true'}}]
"
        );
        fs::write(project.root().join("loop.yaml"), text).unwrap();
        let turns = "turns: [[{say: something}]]\nthen: repeat\n";
        fs::write(project.root().join("say.yaml"), turns).unwrap();
        if let Some(address) = store {
            let settings = project.folder.path().join(".config/hookwright");
            fs::create_dir_all(&settings).unwrap();
            fs::write(settings.join("store.yaml"), format!("store: {address}\n")).unwrap();
            project.hookwright(&["store", "init"]);
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn hookwright(&self, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookwright"));
        command.args(arguments).current_dir(self.root()).env_clear();
        command.env("HOME", self.folder.path()).env("PATH", std::env::var_os("PATH").unwrap());
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Runs one session; returns how long it took, in milliseconds.
    fn session(&self) -> f64 {
        let began = Instant::now();
        self.hookwright(&["run", "loop.yaml", "--plain"]);
        began.elapsed().as_secs_f64() * 1000.0
    }
}

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (rounds, iterations) = if is_test { (1, 2) } else { (ROUNDS, ITERATIONS) };
    let cluster = Cluster::shared();
    cluster.create_named("bench");
    let file = Project::new(iterations, None);
    let database = Project::new(iterations, Some(&cluster.address("bench")));
    let (mut ratios, mut floors, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        // Both baselines run equally often behind the measured session.
        let (before, measured, after) = match round % 2 {
            0 => (file.session(), database.session(), file.session()),
            _ => {
                let other = file.session();
                let measured = database.session();
                (file.session(), measured, other)
            }
        };
        ratios.push(measured / before);
        floors.push(before / after);
        times.push((before, measured));
    }
    let milliseconds = |which: fn(&(f64, f64)) -> f64| median(times.iter().map(which).collect());
    println!(
        "{iterations} iterations with 3 hooks: file {:.0} ms, database {:.0} ms, ratio {:.2} (A/A' {:.3})",
        milliseconds(|(file, _)| *file),
        milliseconds(|(_, database)| *database),
        median(ratios),
        median(floors),
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
