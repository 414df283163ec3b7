//! The cost of the runner itself: time, syncs and memory of a session whose agent does almost
//! nothing, without hooks, outside of git and in it. Figures: `docs/performance.md`.
//!
//! The time of an iteration is the difference between a long and a short session, so that start and
//! end do not count. The store is on a file system in memory, so that no sync takes time. The last
//! agent of a session reads the runner's peak memory.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const ROUNDS: usize = 7;

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = std::env::args().any(|arg| arg == "--test");
    let (rounds, many) = if is_test { (1, 50) } else { (ROUNDS, 10_000) };
    // `cargo bench --bench iterations -- git` measures that alone.
    if std::env::args().any(|arg| arg == "git") {
        return work_of_an_iteration_in_git(rounds, many / 20);
    }
    time_of_an_iteration(rounds, many / 10);
    work_of_an_iteration_in_git(rounds, many / 20);
    bytes_of_an_iteration(many / 20);
    time_of_a_spawn(rounds, many / 50);
    syncs_of_an_iteration(many / 10);
    memory(many / 10);
    memory(many);
}

/// A project whose pipeline has this many iterations and one more.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new(iterations: u32) -> Self {
        // In memory, if there is such a file system.
        let in_memory = Path::new("/dev/shm");
        let folder = if in_memory.is_dir() {
            TempDir::new_in(in_memory).unwrap()
        } else {
            TempDir::new().unwrap()
        };
        // The store is outside the project.
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        let write = |name: &str, text: &str| fs::write(project.join(name), text).unwrap();
        write(
            "pipeline.yaml",
            &format!(
                "name: many
stages:
  - name: many
    loop:
      agent: {{type: scripted, script: say.yaml}}
      prompt: Say something.
      termination: {{type: fixed, iterations: {iterations}}}
  - name: last
    loop:
      agent: {{type: scripted, script: last.yaml}}
      prompt: Measure.
      termination: {{type: fixed, iterations: 1}}
"
            ),
        );
        write("say.yaml", "turns: [[{say: something}]]\nthen: repeat\n");
        write("last.yaml", "turns: [[{run: . ./last}]]\n");
        write("last", "grep ^VmHWM: /proc/$PPID/status > peak\n");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("project").join(name)
    }

    fn command(&self, before: &[&str], arguments: &[&str]) -> Command {
        let binary = env!("CARGO_BIN_EXE_hookwright");
        let mut words = before.to_vec();
        words.push(binary);
        words.extend(arguments);
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .current_dir(self.path(""))
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .stdout(Stdio::null());
        command
    }

    fn run(&self, before: &[&str]) -> Duration {
        let began = Instant::now();
        let arguments = ["run", "pipeline.yaml", "--session", "s"];
        assert!(self.command(before, &arguments).status().unwrap().success());
        began.elapsed()
    }

    /// The same as a repository with everything committed.
    fn in_git(self) -> Self {
        for words in [
            "init --quiet",
            "add -A",
            "-c user.name=a -c user.email=a@example.com commit --quiet -m first",
        ] {
            let mut git = Command::new("git");
            git.args(words.split(' ')).current_dir(self.path("")).env("HOME", self.folder.path());
            assert!(git.status().unwrap().success());
        }
        self
    }

    /// Runs the session; returns its CPU time with that of all it started, in seconds.
    fn work(&self) -> f64 {
        let before = work_of_children();
        self.run(&[]);
        work_of_children() - before
    }

    fn peak(&self) -> String {
        let peak = fs::read_to_string(self.path("peak")).unwrap();
        let kilobytes: f64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        format!("{:.1} MB", kilobytes / 1024.0)
    }
}

fn time_of_an_iteration(rounds: usize, iterations: u32) {
    let more = f64::from(iterations);
    let mut each: Vec<f64> = (0..rounds)
        .map(|_| {
            let short = Project::new(1).run(&[]);
            let long = Project::new(1 + iterations).run(&[]);
            (long.as_secs_f64() - short.as_secs_f64()) * 1000.0 / more
        })
        .collect();
    each.sort_by(f64::total_cmp);
    let (least, median) = (each[0], each[each.len() / 2]);
    println!(
        "one iteration, without agent, hooks, git and syncs: {median:.2} ms (least {least:.2})"
    );
}

/// CPU time of all ended child processes, in seconds.
fn work_of_children() -> f64 {
    // In hundredths of a second: the 14th and 15th numbers after the name in parentheses.
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let numbers = stat.rsplit(')').next().unwrap().split_whitespace().skip(13).take(2);
    numbers.map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

/// The CPU time of an iteration in a repository, with the calls of git, compared with one outside
/// of a repository, and with one that calls `git status` once.
fn work_of_an_iteration_in_git(rounds: usize, iterations: u32) {
    let each = |make: &dyn Fn(u32) -> Project| {
        let (short, long) = (make(1).work(), make(1 + iterations).work());
        (long - short) * 1000.0 / f64::from(iterations)
    };
    let (mut without, mut within, mut floor) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        without.push(each(&Project::new));
        within.push(each(&|iterations| Project::new(iterations).in_git()));
        let project = Project::new(1).in_git();
        let before = work_of_children();
        for _ in 0..iterations {
            let mut git = Command::new("git");
            git.args(["status", "--porcelain=v2", "-z"]).current_dir(project.path(""));
            assert!(git.stdout(Stdio::null()).status().unwrap().success());
        }
        floor.push((work_of_children() - before) * 1000.0 / f64::from(iterations));
    }
    let median = |mut each: Vec<f64>| {
        each.sort_by(f64::total_cmp);
        each[each.len() / 2]
    };
    let (without, within, floor) = (median(without), median(within), median(floor));
    println!(
        "one iteration in git: {within:.2} ms of a processor (target: at most 2.5), without git \
         {without:.2} ms, one `git status` {floor:.2} ms; ratio to both {:.2}",
        within / (without + floor)
    );
}

/// A child session after every iteration whose agent is `true`, compared with a hook that runs
/// `true` in a shell: both start the same process.
fn time_of_a_spawn(rounds: usize, spawns: u32) {
    let run = |hook: &str| {
        let project = Project::new(spawns);
        let hooks = format!("hooks: {{iteration:complete: [{{await: true, {hook}}}]}}\n");
        fs::write(project.path("hookwright.yaml"), hooks).unwrap();
        let child =
            "agent: {command: 'true'}\nprompt: p\ntermination: {type: fixed, iterations: 1}\n";
        fs::write(project.path("child.yaml"), child).unwrap();
        project.run(&[]).as_secs_f64()
    };
    let mut each: Vec<f64> = (0..rounds)
        .map(|_| {
            let floor = run("command: 'true'");
            // The last stage has an iteration too.
            (run("pipeline: child") - floor) * 1000.0 / f64::from(spawns + 1)
        })
        .collect();
    each.sort_by(f64::total_cmp);
    let (least, median) = (each[0], each[each.len() / 2]);
    println!("spawn of a child pipeline, beside its agent: {median:.2} ms (least {least:.2})");
}

/// The bytes that an iteration adds to the store, mostly in its journal.
fn bytes_of_an_iteration(iterations: u32) {
    let bytes = |iterations: u32| {
        let project = Project::new(iterations);
        project.run(&[]);
        let files = fs::read_dir(project.folder.path().join("state/hookwright")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    let each = bytes(1 + iterations).saturating_sub(bytes(1)) as f64 / f64::from(iterations);
    println!("one iteration in the store: {each:.0} bytes");
}

fn syncs_of_an_iteration(iterations: u32) {
    let syncs = |iterations: u32| {
        let project = Project::new(iterations);
        let file = project.folder.path().join("syncs").to_string_lossy().into_owned();
        let strace = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", &file];
        project.run(&strace);
        fs::read_to_string(&file).unwrap().lines().count()
    };
    let (short, long) = (syncs(1), syncs(1 + iterations));
    let each = (long - short) as f64 / f64::from(iterations);
    println!("syncs for one iteration: {each:.2}");
}

fn memory(iterations: u32) {
    let project = Project::new(iterations);
    project.run(&[]);
    println!("peak of memory after {iterations} iterations: {}", project.peak());

    // The same, but the runner is killed after the last iteration.
    let project = Project::new(iterations);
    let last = "[ -e again ] || { touch again; kill -9 $PPID; sleep 10; }\n";
    let measure = fs::read_to_string(project.path("last")).unwrap();
    fs::write(project.path("last"), format!("{last}{measure}")).unwrap();
    let _ = project.command(&[], &["run", "pipeline.yaml", "--session", "s"]).status().unwrap();
    let began = Instant::now();
    assert!(project.command(&[], &["resume", "s"]).status().unwrap().success());
    let took = began.elapsed();
    let peak = project.peak();
    println!("peak of memory of a resume behind {iterations} iterations: {peak}, in {took:.1?}");
}
