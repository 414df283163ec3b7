//! Orphans: processes of a run that became our children when their parent ended.
//!
//! Only the binary makes itself a subreaper; a library must not adopt its host's descendants. Such
//! a program runs [`collect_orphans`], so that ended orphans do not stay as zombies: each counts
//! against the user's limit of processes.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// The delay between a child's end and the search for orphans. By then the leader has been reaped,
/// so its owner does not wait for this, and many that end together cost one search.
const COLLECT_AFTER: Duration = Duration::from_millis(20);

/// Makes this process adopt orphans below it, instead of init. For a program that starts children
/// through this crate only.
pub fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    crate::limit_marker::this_is_its_own_host();
    #[cfg(target_os = "linux")]
    return Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?);
    #[cfg(not(target_os = "linux"))]
    return Err(io::ErrorKind::Unsupported.into());
}

/// Reaps orphans as they end, for as long as it is polled. Returns only if SIGCHLD is not
/// available. Needs a tokio runtime with io and time.
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

/// Reaps the orphans that have ended, by pid.
///
/// A zombie no longer shows its environment, so an orphan is recognised by its process group. Every
/// process of a run is in a leader's group or in a newer one. A child that another part of this
/// program started is in our own group; if it was started in another one, it is mistaken for an
/// orphan. A leader's end is left to its owner.
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

    /// One at a time: a pid on the list stays that orphan's until it is reaped.
    static REAPING: Mutex<()> = Mutex::new(());

    pub(super) fn reap_orphans() {
        let _one_at_a_time = REAPING.lock().unwrap_or_else(PoisonError::into_inner);
        // One system call, and usually the only one: no child has ended.
        if !some_child_has_ended() {
            return;
        }
        // Not by getpgrp and getsid: if our group or session began outside our pid namespace, as in
        // many containers, its number is 0, which they do not allow for.
        let Some(us) = process(std::process::id()) else {
            return;
        };
        let orphans = ended_outside_our_group(&us);
        let running = running();
        for orphan in orphans.iter().filter(|process| !running.may_lead(process, us.session)) {
            if let Some(pid) = Pid::from_raw(orphan.pid.cast_signed()) {
                // If it is gone, that is fine.
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
