//! A child that stops because it wants the terminal.
//!
//! It is not in the foreground group, so reading the terminal (or changing its settings, as a
//! password prompt does) stops its whole group, and it would stay stopped until its deadline.
//! Usually the leader is stopped too, and the system reports the signal. If not, the tree is
//! searched, less often.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::time::sleep;

/// The interval for checking the leader. A child that ends sooner is never checked.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// How many checks of the leader there are per search of the tree below it.
#[cfg(target_os = "linux")]
const LOOKS_PER_TREE_LOOK: u32 = 5;

/// Returns when the leader or a process below it has stopped to use the terminal. Without a
/// controlling terminal it waits forever.
pub(crate) async fn wanted(leader: u32) {
    sleep(LOOK_PAUSE).await;
    let Some(pid) = Pid::from_raw(leader.cast_signed()) else {
        return;
    };
    #[cfg(target_os = "linux")]
    let Some(mut tree) = TreeLooks::new(leader) else {
        return std::future::pending().await;
    };
    loop {
        if leader_wants_it(pid) {
            return;
        }
        #[cfg(target_os = "linux")]
        if tree.wants_it() {
            return;
        }
        sleep(LOOK_PAUSE).await;
    }
}

fn leader_wants_it(leader: Pid) -> bool {
    let looking = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let stopped = waitid(WaitId::Pid(leader), looking).ok().flatten();
    let signal = stopped.and_then(|status| status.stopping_signal());
    signal == Some(Signal::TTIN.as_raw()) || signal == Some(Signal::TTOU.as_raw())
}

/// Searches the processes below the leader. What stopped them is not visible from outside, so only
/// a process counts that is stopped in the background of our terminal in two searches in a row. A
/// job that is stopped in a terminal of its own, below `script` or tmux, does not want ours.
#[cfg(target_os = "linux")]
struct TreeLooks {
    leader: u32,
    /// The controlling terminal of this process.
    terminal: i32,
    looks: u32,
    stopped_before: Vec<u32>,
}

#[cfg(target_os = "linux")]
impl TreeLooks {
    /// `None` without a controlling terminal.
    fn new(leader: u32) -> Option<Self> {
        let terminal = crate::process_table::process(std::process::id())?.terminal;
        let looks = TreeLooks { leader, terminal, looks: 0, stopped_before: Vec::new() };
        (terminal != 0).then_some(looks)
    }

    fn wants_it(&mut self) -> bool {
        self.looks += 1;
        if !self.looks.is_multiple_of(LOOKS_PER_TREE_LOOK) {
            return false;
        }
        let stopped = self.stopped();
        let again = stopped.iter().any(|pid| self.stopped_before.contains(pid));
        self.stopped_before = stopped;
        again
    }

    fn stopped(&self) -> Vec<u32> {
        let table = crate::process_table::processes();
        let mut tree = vec![self.leader];
        let mut seen = 0;
        while seen < tree.len() {
            let parent = tree[seen];
            tree.extend(table.iter().filter(|process| process.parent == parent).map(|p| p.pid));
            seen += 1;
        }
        // `leader_wants_it` checks the leader itself; it knows the signal.
        let below = |process: &&crate::process_table::Process| tree[1..].contains(&process.pid);
        table
            .iter()
            .filter(|process| process.is_stopped() && process.terminal == self.terminal)
            .filter(|process| process.group.cast_signed() != process.foreground_group)
            .filter(below)
            .map(|process| process.pid)
            .collect()
    }
}
