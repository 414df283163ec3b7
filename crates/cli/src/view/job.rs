//! Ctrl-Z: stops this process, if there is a shell that can continue it.

use rustix::process::{Pid, Signal, getpgid, getpgrp, getpid, getppid, getsid, kill_process};

/// Stops this process after `before`. Without a shell with job control the system would not stop it
/// either, and nothing happens.
pub(super) fn stop(before: impl FnOnce()) {
    if is_orphaned() {
        return;
    }
    before();
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Whether no ancestor in this session belongs to another job, as a shell with job control does.
fn is_orphaned() -> bool {
    let (job, session) = (getpgrp(), getsid(None));
    let mut above = getppid();
    while let Some(parent) = above {
        if getsid(Some(parent)).ok() != session.ok() {
            return true;
        }
        if getpgid(Some(parent)) != Ok(job) {
            return false;
        }
        above = parent_of(parent);
    }
    true
}

/// The fourth field of `/proc/PID/stat`; the second, a name, may contain anything.
fn parent_of(pid: Pid) -> Option<Pid> {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let text = std::fs::read_to_string(path).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Pid::from_raw(fields.split_whitespace().nth(1)?.parse().ok()?)
}
