//! Processes that wait for a person's answer: what all of them together take of a core while nothing happens.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::print;
use crate::project::Project;

const TARGET: &str = "under 1 % of a core for 1,000";

/// Longer than the longest pause between two looks, so that all looks are counted.
const WINDOW: Duration = Duration::from_secs(65);

/// What the system counts processor time in.
const TICK_MS: f64 = 10.0;

const HOOK: &str = "\
hooks:
  on_stage_complete:
    - {type: webhook, await: true, body: {text: 'Shall it go on?'}}
";

const LOOP: &str = "\
name: asking
agent: {command: 'true'}
prompt: work
max_iterations: 1
";

pub(crate) fn of_events(is_test: bool) {
    measure("events whose hook waits for a person", &["fire", "stage:complete"], is_test);
}

pub(crate) fn of_sessions(is_test: bool) {
    measure("sessions that wait for a person", &["run", "loop.yaml"], is_test);
}

fn measure(what: &str, arguments: &[&str], is_test: bool) {
    let (sizes, window): (&[usize], _) =
        if is_test { (&[1, 2], Duration::ZERO) } else { (&[100, 1_000], WINDOW) };
    let costs: Vec<(usize, f64)> =
        sizes.iter().map(|size| (*size, cost(arguments, *size, window))).collect();
    print(what, "% of a core", &costs, TARGET);
}

/// In percent of a core.
fn cost(arguments: &[&str], size: usize, window: Duration) -> f64 {
    let project = Project::new();
    project.write("hookwright.yaml", HOOK);
    project.write("loop.yaml", LOOP);
    let mut waiting = Waiting(Vec::new());
    for _ in 0..size {
        waiting.0.push(project.command(arguments).spawn().unwrap());
    }
    while asked(&project) < size {
        std::thread::sleep(Duration::from_millis(200));
    }
    let (began, before) = (Instant::now(), waiting.processor_ms());
    std::thread::sleep(window);
    (waiting.processor_ms() - before) / began.elapsed().as_secs_f64() / 10.0
}

/// How many questions wait.
fn asked(project: &Project) -> usize {
    let output = project.command(&["approvals", "--json"]).stdout(Stdio::piped()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().matches("\"url\"").count()
}

/// Processes that wait, until this is dropped.
struct Waiting(Vec<Child>);

impl Waiting {
    /// What they have taken of the processor so far.
    fn processor_ms(&self) -> f64 {
        let ticks = |child: &Child| {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            let times = fields.split(' ').skip(11).take(2);
            times.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>()
        };
        self.0.iter().map(ticks).sum::<f64>() * TICK_MS
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}
