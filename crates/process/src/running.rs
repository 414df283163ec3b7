//! The leaders that this process is running.
//!
//! One list, so that an interrupt can kill everything and `orphans.rs` never reaps a leader. A
//! leader is on it from its start until it is reaped, which happens under the same lock: the holder
//! of the lock may signal every group on the list.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::pipes::ChildEnds;
use crate::reach::Reach;
use crate::spawn::{ChildProcess, Program};

static RUNNING: Mutex<RunningLeaders> =
    Mutex::new(RunningLeaders { starting: 0, started: 0, killed_all: 0, leaders: BTreeMap::new() });

pub(crate) struct RunningLeaders {
    /// Starts in progress: their leaders may live, and even have ended, but are not listed yet.
    starting: usize,
    /// Starts ever begun.
    started: u64,
    /// How often everything was killed, so that a start in progress learns of it.
    killed_all: usize,
    leaders: BTreeMap<u32, String>,
}

/// Kills every group and tree that this process is running, at once. For the second Ctrl-C.
pub fn kill_everything_now() {
    let mut running = running();
    running.killed_all += 1;
    let runs: Vec<(u32, &str)> =
        running.leaders.iter().map(|(pid, run_id)| (*pid, run_id.as_str())).collect();
    if !runs.is_empty() {
        Reach::new(&runs).kill_now();
    }
}

/// How many runs this process has started; `None` while a start is in progress. The same number
/// twice means that nothing ran in between, except for background processes of ended runs.
pub fn runs_started() -> Option<u64> {
    let running = running();
    (running.starting == 0 && running.leaders.is_empty()).then_some(running.started)
}

/// Starts a leader and lists it.
pub(crate) fn spawn(program: &Program, ends: &ChildEnds, run_id: &str) -> io::Result<ChildProcess> {
    let killed_all = {
        let mut running = running();
        running.starting += 1;
        running.started += 1;
        running.killed_all
    };
    // Not under the lock: starts on several threads need not wait for each other.
    #[cfg(target_os = "linux")]
    let spawned =
        crate::limit_marker::spawn_marked(run_id, ChildProcess::id, || program.spawn(ends));
    #[cfg(not(target_os = "linux"))]
    let spawned = program.spawn(ends);
    let mut running = running();
    running.starting -= 1;
    let child = spawned?;
    running.leaders.insert(child.id(), run_id.to_owned());
    if running.killed_all != killed_all {
        Reach::new(&[(child.id(), run_id)]).kill_now();
    }
    Ok(child)
}

/// Reaps a leader if it has ended, and removes it from the list.
pub(crate) fn collect(child: &ChildProcess) -> io::Result<Option<ExitStatus>> {
    let mut running = running();
    let status = child.try_wait();
    if !matches!(status, Ok(None)) {
        running.leaders.remove(&child.id());
    }
    status
}

/// The list, locked: no leader is listed or reaped meanwhile.
pub(crate) fn running() -> MutexGuard<'static, RunningLeaders> {
    // Every change is one step, so a panic elsewhere leaves the list correct.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(target_os = "linux")]
impl RunningLeaders {
    /// Whether this is a leader, or may be one whose start is in progress.
    pub(crate) fn may_lead(&self, process: &crate::process_table::Process, session: u32) -> bool {
        let looks_like_a_leader = process.pid == process.group && process.session == session;
        self.leaders.contains_key(&process.pid) || (self.starting > 0 && looks_like_a_leader)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_leader_that_is_being_started_is_not_mistaken_for_an_orphan() {
        let mut child = Command::new("/bin/sleep").arg("1000").process_group(0).spawn().unwrap();
        let newborn = crate::process_table::process(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let mut running =
            RunningLeaders { starting: 1, started: 1, killed_all: 0, leaders: BTreeMap::new() };
        assert!(running.may_lead(&newborn, newborn.session));
        assert!(!running.may_lead(&newborn, newborn.session + 1), "it has a session of its own");
        running.starting = 0;
        assert!(!running.may_lead(&newborn, newborn.session));
    }
}
