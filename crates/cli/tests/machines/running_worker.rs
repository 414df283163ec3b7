//! [`RunningWorker`]: a worker on a machine, and what it prints. Sessions are submitted and followed
//! on another machine, [`SUBMITTER`].

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hookwright_events::{RunEventKind, SessionEvent, SessionStatus};
use hookwright_machine_lab::MachineProcess;
use rustix::process::Signal;
use serde_json::Value;

use super::audit::{Audit, Violation};
use super::fleet::{Fleet, RunningSession};

/// The machine from which sessions are submitted. No fault happens to it alone.
pub(crate) const SUBMITTER: usize = 2;

/// How long a session may take on a busy machine, with its takeover.
const SESSION_MAX: Duration = Duration::from_secs(180);

/// Pause between two looks at a session's journal.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct RunningWorker {
    pub(crate) process: MachineProcess,
    output: PathBuf,
}

impl RunningWorker {
    /// Starts one and waits until it has joined.
    pub(crate) fn start(fleet: &Fleet, machine: usize) -> Self {
        Self::start_with(fleet, machine, |_| {})
    }

    /// The same with other variables. It may end, or stand still, before it has joined.
    pub(crate) fn start_with(
        fleet: &Fleet,
        machine: usize,
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let mut worker = Self::start_to_die(fleet, machine, prepare);
        wait_until(|| worker.id().is_some() || worker.process.ended().is_some());
        worker
    }

    /// The same, but waits for nothing.
    pub(crate) fn start_to_die(
        fleet: &Fleet,
        machine: usize,
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let shared = fleet.lab.shared_folder();
        let number = fs::read_dir(&shared).expect("a folder").count();
        let output = shared.join(format!("worker-{number}"));
        let mut command = fleet.machines[machine].command("hookwright", &["worker", "--json"]);
        prepare(&mut command);
        command.stdout(File::create(&output).expect("a file"));
        command.stderr(File::create(output.with_extension("errors")).expect("a file"));
        let process = fleet.machines[machine].spawn(command);
        Self { process, output }
    }

    /// The id under which it has joined last.
    pub(crate) fn id(&self) -> Option<String> {
        let said = fs::read_to_string(&self.output).unwrap_or_default();
        let events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let joined = events.rev().find(|event| event["event"] == "joined")?;
        joined["worker"].as_str().map(str::to_owned)
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn end(&mut self) {
        self.process.signal(Signal::TERM);
        let _ = self.process.wait();
    }
}

/// Waits until this holds, but not for ever; whether it does.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > SESSION_MAX {
            return false;
        }
        sleep(LOOK_PAUSE);
    }
    true
}

impl Fleet {
    /// Submits a session to workers and follows it: what that prints was acknowledged.
    pub(crate) fn submit(&self, name: &str, file: &str) -> RunningSession {
        let submit = ["run", file, "--on", "workers", "--session", name, "--follow", "--json"];
        let follower = self.start(SUBMITTER, name, &submit);
        wait_until(|| !self.journal(name).is_empty());
        follower
    }

    /// Whether a session has ended, in whatever way.
    pub(crate) fn is_over(&self, session: &str) -> bool {
        self.journal(session).iter().any(|event| {
            matches!(event.kind, RunEventKind::Session(SessionEvent::SessionEnded { .. }))
        })
    }

    /// Whether a session has completed.
    pub(crate) fn is_completed(&self, session: &str) -> bool {
        self.journal(session).iter().any(|event| match &event.kind {
            RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
                *status == SessionStatus::Completed
            }
            _ => false,
        })
    }

    /// What `hookwright status` prints.
    pub(crate) fn status(&self) -> String {
        let status = self.machines[SUBMITTER].hookwright(&["status"]);
        String::from_utf8_lossy(&status.stdout).into_owned()
    }

    /// Waits until the session is over and its follower has ended.
    pub(crate) fn wait_for_end(&self, follower: &mut RunningSession, audit: &mut Audit) {
        let name = &follower.name;
        if !wait_until(|| self.is_over(name)) {
            audit.found(Violation::NotFinished, format!("{name}: {}", self.status()));
            follower.process.kill();
            return;
        }
        if !wait_until(|| follower.process.ended().is_some()) {
            let what = format!("the follower of {name} goes on behind the session's end");
            audit.found(Violation::NotFinished, what);
            follower.process.kill();
        }
    }
}
