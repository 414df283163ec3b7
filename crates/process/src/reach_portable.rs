//! Which processes belong to a run if there is no `/proc`: the leader's process group.
//!
//! Replaces `reach.rs` on other Unix systems. A process that left the group is out of reach.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::time::{Instant, sleep};

use crate::clock::far;

/// Between two checks whether the leaders have ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Does nothing: markers cannot be read here.
pub async fn end_run(_run_id: &str, _grace: Duration) -> Vec<u32> {
    Vec::new()
}

/// Does nothing: markers cannot be read here.
pub async fn end_runs(_run_ids: Vec<String>, _grace: Duration) -> Vec<u32> {
    Vec::new()
}

/// Returns at once: markers cannot be read here.
pub async fn wait_for_runs(_run_ids: &[String], _limit: Duration) -> bool {
    true
}

/// The process groups of one or several runs, whose leaders have not been reaped.
pub(crate) struct Reach {
    leaders: Vec<Pid>,
}

impl Reach {
    /// For these runs: leader and run id of each.
    pub(crate) fn new(runs: &[(u32, &str)]) -> Self {
        let leaders = runs.iter().filter_map(|(pid, _)| Pid::from_raw(pid.cast_signed()));
        Reach { leaders: leaders.collect() }
    }

    /// SIGTERM, up to `grace` for the leaders to end, SIGKILL to the rest of the groups.
    pub(crate) async fn end(&mut self, grace: Duration) {
        let grace_end = far(Instant::now(), grace);
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
        while self.any_left() && Instant::now() < grace_end {
            sleep(PAUSE).await;
        }
        self.signal(Signal::KILL);
        let kill_end = Instant::now() + Duration::from_secs(2);
        while self.any_left() && Instant::now() < kill_end {
            sleep(PAUSE).await;
        }
    }

    /// SIGKILL to all, without waiting.
    pub(crate) fn kill_now(&mut self) {
        self.signal(Signal::KILL);
    }

    /// Whether a leader has not ended.
    pub(crate) fn any_left(&mut self) -> bool {
        let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.leaders.iter().any(|leader| matches!(waitid(WaitId::Pid(*leader), looking), Ok(None)))
    }

    fn signal(&self, signal: Signal) {
        for leader in &self.leaders {
            // An empty group is fine.
            let _ = kill_process_group(*leader, signal);
        }
    }
}
