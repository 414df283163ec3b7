//! Which processes belong to a run, and how they are ended.
//!
//! They are: the leader's process group, the tree below the leader and below every process already
//! found, and every process that carries one of the run's two markers. A scan finds them. Scans are
//! repeated until one finds none, because a process that is being ended may still start others.
//! Each phase has a time limit.
//!
//! A leader given here must not have been reaped: its pid is also the name of its group.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, waitid};
use tokio::time::{Instant, sleep, sleep_until};

use crate::Sent;
use crate::clock::far;
use crate::process_table::{Process, carries_marker, process, processes, send};

/// How long SIGKILL is repeated for processes that keep appearing. After that they are left.
const KILL_MAX: Duration = Duration::from_secs(2);

/// Scans in a row if waiting is not possible.
const LOOKS_AT_ONCE_MAX: usize = 8;

/// Between two checks whether the known processes have ended: short at first, then longer.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// Ends everything that carries `run_id`: SIGTERM, `grace`, SIGKILL, until none is left. Returns
/// the pids that have ended. For the survivors of a run whose owner died.
pub async fn end_run(run_id: &str, grace: Duration) -> Vec<u32> {
    end_runs(vec![run_id.to_owned()], grace).await
}

/// The same for several runs at once.
pub async fn end_runs(run_ids: Vec<String>, grace: Duration) -> Vec<u32> {
    let mut reach = Reach { run_ids, ..Reach::default() };
    reach.end(grace).await;
    let left = reach.known;
    reach.met.into_keys().filter(|pid| !left.contains_key(pid)).collect()
}

/// Waits until no process carries one of these run ids, for `limit` at most. Returns whether that
/// happened. Sends no signal.
pub async fn wait_for_runs(run_ids: &[String], limit: Duration) -> bool {
    let limit_end = far(Instant::now(), limit);
    let mut reach = Reach { run_ids: run_ids.to_vec(), ..Reach::default() };
    let mut pause = FIRST_PAUSE;
    while reach.any_left() {
        if Instant::now() >= limit_end {
            return false;
        }
        sleep_until(limit_end.min(Instant::now() + pause)).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
    true
}

/// The processes of one or several runs.
#[derive(Default)]
pub(crate) struct Reach {
    leaders: Vec<Pid>,
    run_ids: Vec<String>,
    /// No process of these runs is older than this, so older ones need no closer look.
    oldest_start: u64,
    /// Processes found that have not ended: pid and start time.
    known: BTreeMap<u32, u64>,
    /// All processes ever found.
    met: BTreeMap<u32, u64>,
    /// Processes found that we may not signal.
    refused: BTreeMap<u32, u64>,
}

impl Reach {
    /// For these runs: leader and run id of each.
    pub(crate) fn new(runs: &[(u32, &str)]) -> Self {
        let starts = runs.iter().map(|(leader, _)| process(*leader).map_or(0, |l| l.start_time));
        Reach {
            leaders: runs.iter().filter_map(|(pid, _)| Pid::from_raw(pid.cast_signed())).collect(),
            run_ids: runs.iter().map(|(_, run_id)| (*run_id).to_owned()).collect(),
            oldest_start: starts.min().unwrap_or(0),
            ..Reach::default()
        }
    }

    /// SIGTERM, up to `grace` to end, SIGKILL. Returns as soon as none is left.
    pub(crate) async fn end(&mut self, grace: Duration) {
        let grace_end = far(Instant::now(), grace);
        self.look();
        self.signal(Signal::TERM);
        // A stopped process would not notice SIGTERM.
        self.signal(Signal::CONT);
        let mut asked = self.known.clone();
        let mut pause = FIRST_PAUSE;
        while self.any_left() && Instant::now() < grace_end {
            // A process that was just being started during the scan has not received the signal
            // yet.
            let unasked = self.known.iter().filter(|(pid, start)| asked.get(pid) != Some(start));
            let unasked: BTreeMap<u32, u64> = unasked.map(|(pid, start)| (*pid, *start)).collect();
            self.send_to(&unasked, Signal::TERM);
            self.send_to(&unasked, Signal::CONT);
            asked.extend(unasked);
            sleep_until(grace_end.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }

        let kill_end = Instant::now() + KILL_MAX;
        let mut pause = FIRST_PAUSE;
        self.look();
        loop {
            self.signal(Signal::KILL);
            if !self.any_left() || Instant::now() >= kill_end {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
            self.look();
        }
    }

    /// SIGKILL to all, without waiting.
    pub(crate) fn kill_now(&mut self) {
        self.signal(Signal::KILL);
        for _ in 0..LOOKS_AT_ONCE_MAX {
            let met_before = self.met.len();
            self.look();
            if self.met.len() == met_before {
                return;
            }
            self.signal(Signal::KILL);
        }
    }

    /// Whether a process in reach has not ended. Scans again only when all known ones have.
    pub(crate) fn any_left(&mut self) -> bool {
        self.known.retain(|pid, start_time| {
            process(*pid).is_some_and(|now| now.start_time == *start_time && !now.has_ended())
        });
        if self.known.is_empty() {
            self.look();
        }
        !self.known.is_empty() || !self.leaders.iter().all(|leader| has_ended(*leader))
    }

    /// Finds all processes in reach.
    fn look(&mut self) {
        let table: Vec<Process> = processes()
            .into_iter()
            .filter(|process| process.start_time >= self.oldest_start && !process.has_ended())
            .collect();
        let was_known = std::mem::take(&mut self.known);
        let us = getpid().as_raw_nonzero().get().cast_unsigned();
        let mut rest = Vec::new();
        for process in table {
            if process.pid == us {
                continue;
            }
            if was_known.get(&process.pid) == Some(&process.start_time)
                || self.leads_group_of(&process)
                || carries_marker(process.pid, &self.run_ids)
            {
                self.find(&process);
            } else {
                rest.push(process);
            }
        }
        // Children may come before their parents in the table.
        loop {
            let (children, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|process| self.known.contains_key(&process.parent));
            if children.is_empty() {
                break;
            }
            children.iter().for_each(|child| self.find(child));
            rest = others;
        }
        self.known.retain(|pid, start_time| self.refused.get(pid) != Some(start_time));
    }

    fn leads_group_of(&self, process: &Process) -> bool {
        let group = Pid::from_raw(process.group.cast_signed());
        group.is_some_and(|group| self.leaders.contains(&group))
    }

    fn find(&mut self, process: &Process) {
        self.known.insert(process.pid, process.start_time);
        self.met.insert(process.pid, process.start_time);
    }

    /// To the groups first: that is one step, during which no member can start another.
    fn signal(&mut self, signal: Signal) {
        for leader in &self.leaders {
            // An empty group is fine.
            let _ = kill_process_group(*leader, signal);
        }
        let outside: BTreeMap<u32, u64> = self
            .known
            .iter()
            .filter(|(pid, _)| process(**pid).is_some_and(|process| !self.leads_group_of(&process)))
            .map(|(pid, start_time)| (*pid, *start_time))
            .collect();
        self.send_to(&outside, signal);
    }

    fn send_to(&mut self, whom: &BTreeMap<u32, u64>, signal: Signal) {
        for (pid, start_time) in whom {
            if send(*pid, *start_time, signal) == Sent::Refused {
                self.refused.insert(*pid, *start_time);
            }
        }
    }
}

/// Whether a child of ours has ended. It is not reaped.
fn has_ended(leader: Pid) -> bool {
    let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(leader), looking), Ok(None))
}
