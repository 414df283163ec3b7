//! Processes that wait for a person's answer: the CPU time of all of them together while nothing
//! happens.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::print;
use crate::project::Project;

const TARGET: &str = "under 1 % of a core for 1,000";

/// Longer than the longest pause between two checks, so that all checks are counted.
const WINDOW: Duration = Duration::from_secs(125);

/// Pause between two measurements. Figures of ended threads are lost; those that read the store
/// last ten seconds.
const LOOK_PAUSE: Duration = Duration::from_secs(5);

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
    let began = Instant::now();
    let mut used = waiting.processor_time();
    let before: u64 = used.values().sum();
    while began.elapsed() < window {
        std::thread::sleep(LOOK_PAUSE);
        used.extend(waiting.processor_time());
    }
    let took = Duration::from_nanos(used.values().sum::<u64>() - before);
    took.as_secs_f64() / began.elapsed().as_secs_f64() * 100.0
}

/// The number of open questions.
fn asked(project: &Project) -> usize {
    let output = project.command(&["approvals", "--json"]).stdout(Stdio::piped()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().matches("\"url\"").count()
}

/// Waiting processes, until this is dropped.
struct Waiting(Vec<Child>);

impl Waiting {
    /// The CPU time of each of their threads so far, in nanoseconds.
    fn processor_time(&self) -> HashMap<PathBuf, u64> {
        let threads = |child: &Child| fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let mut used = HashMap::new();
        for thread in self.0.iter().flat_map(threads).flatten() {
            // A thread that ended meanwhile was counted before.
            let Ok(times) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            let on_processor = times.split(' ').next().unwrap().parse().unwrap();
            used.insert(thread.path(), on_processor);
        }
        used
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
