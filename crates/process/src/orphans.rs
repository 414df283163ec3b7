//! Orphans: processes a run left behind that became our children when their parent ended.
//!
//! Only the binary makes itself a subreaper; a library has no business adopting its host's
//! descendants. A program that did lets [`collect_orphans`] run, so that those that have ended do not
//! stay as zombies: each counts against the user's limit of processes.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// How long after a child's end orphans are looked for. A leader has been collected by then, so that
/// its owner does not have to wait for this, and many that end together cost one look.
const COLLECT_AFTER: Duration = Duration::from_millis(20);

/// Orphans below this process become its children from now on, instead of init's. For a program
/// that starts children through this crate only.
pub fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    crate::limit_marker::this_is_its_own_host();
    #[cfg(target_os = "linux")]
    return Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?);
    #[cfg(not(target_os = "linux"))]
    return Err(io::ErrorKind::Unsupported.into());
}

/// Collects orphans as they end, for as long as it is polled. Returns only if SIGCHLD cannot be had.
/// Needs a tokio runtime with io and time.
pub async fn collect_orphans() -> io::Result<()> {
    let mut some_child_ended = signal(SignalKind::child())?;
    loop {
        reap_orphans();
        if some_child_ended.recv().await.is_none() {
            return Ok(());
        }
        sleep(COLLECT_AFTER).await;
    }
}

/// Collects the orphans that have ended, by pid.
///
/// A zombie no longer shows its environment, so an orphan is told by its process group. Everyone in
/// a run is in a leader's group or in a newer one; a child somebody else in this program started is
/// in our own group, unless he asked for another, and then it is mistaken for an orphan. A leader's
/// end is left to its owner.
pub fn reap_orphans() {
    #[cfg(target_os = "linux")]
    linux::reap_orphans();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::{Mutex, PoisonError};

    use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

    use crate::process_table::{Process, children, process};
    use crate::running::running;

    /// One at a time: a pid on our list stays that orphan's until we collect it.
    static REAPING: Mutex<()> = Mutex::new(());

    pub(super) fn reap_orphans() {
        let _one_at_a_time = REAPING.lock().unwrap_or_else(PoisonError::into_inner);
        // One system call, and as a rule the only one: no child has ended.
        if !some_child_has_ended() {
            return;
        }
        // Not by getpgrp and getsid: where our group or session began outside our pid namespace, as
        // in many a container, its number is 0, which they do not allow for.
        let Some(us) = process(std::process::id()) else {
            return;
        };
        let orphans = ended_outside_our_group(&us);
        let running = running();
        for orphan in orphans.iter().filter(|process| !running.may_lead(process, us.session)) {
            if let Some(pid) = Pid::from_raw(orphan.pid.cast_signed()) {
                // Gone is what we want.
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }

    fn some_child_has_ended() -> bool {
        let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::All, looking), Ok(Some(_)))
    }

    fn ended_outside_our_group(us: &Process) -> Vec<Process> {
        let mut children = children(us.pid);
        children.retain(|process| process.group != us.group && process.has_ended());
        children
    }
}
