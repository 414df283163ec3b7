//! Owns the leader of a run: only this file waits for its end and reaps it.
//!
//! The wait is a pidfd in the runtime's poll set: no SIGCHLD handler, no thread. Without a pidfd
//! (an old kernel, a sandbox, another Unix, no descriptor left) a thread waits, and without a
//! thread either the leader is polled.
//!
//! The leader stays a zombie until the tree has been ended: its pid cannot be reused before it is
//! reaped, so a signal to its group cannot hit another process. Dropping an [`OwnedLeader`] that
//! was not reaped kills its whole tree; `abandoned.rs` does the rest.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::reach::Reach;
use crate::spawn::ChildProcess;
use crate::{How, abandoned, running};

pub(crate) struct OwnedLeader {
    /// `None` once it was reaped.
    child: Option<ChildProcess>,
    pid: u32,
    run_id: String,
    end: EndReport,
}

enum EndReport {
    #[cfg(target_os = "linux")]
    Pidfd(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>),
    Thread(oneshot::Receiver<()>),
    Looks,
}

/// The interval for polling a leader whose end is not reported.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

impl OwnedLeader {
    pub(crate) fn new(child: ChildProcess, run_id: String) -> Self {
        let pid = child.id();
        OwnedLeader { child: Some(child), pid, run_id, end: EndReport::for_leader(pid) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the leader's end and reaps it. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> How {
        loop {
            self.reported().await;
            if let Some(how) = self.collect() {
                return how;
            }
        }
    }

    /// Waits for the leader's end without reaping it: its group can still be signalled. Cancel-safe.
    pub(crate) async fn exited(&mut self) {
        while !self.has_ended() {
            self.reported().await;
        }
    }

    /// Whether the leader has ended. It is not reaped.
    pub(crate) fn has_ended(&self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid.cast_signed()) else { return true };
        let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.child.is_none() || !matches!(waitid(WaitId::Pid(pid), looking), Ok(None))
    }

    /// Waits for a report that the leader may have ended.
    async fn reported(&mut self) {
        match &mut self.end {
            #[cfg(target_os = "linux")]
            EndReport::Pidfd(pidfd) => match pidfd.readable().await {
                // If this report is false, another one follows.
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => self.end = EndReport::Looks,
            },
            EndReport::Thread(report) => {
                // It reports once.
                let _ = report.await;
                self.end = EndReport::Looks;
            }
            EndReport::Looks => sleep(LOOK_PAUSE).await,
        }
    }

    /// Ends the whole tree: SIGTERM, `grace`, SIGKILL. Then reaps the leader, and returns how it
    /// ended, unless it cannot be killed.
    pub(crate) async fn end_tree(&mut self, grace: Duration) -> Option<How> {
        Reach::new(&[(self.pid, &self.run_id)]).end(grace).await;
        self.collect()
    }

    fn collect(&mut self) -> Option<How> {
        let status = running::collect(self.child.as_ref()?).transpose()?;
        self.child = None;
        Some(match status {
            Ok(status) => how(status),
            Err(_) => How::Killed { signal: 0 },
        })
    }
}

impl Drop for OwnedLeader {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            Reach::new(&[(self.pid, &self.run_id)]).kill_now();
            abandoned::hand_over(child, std::mem::take(&mut self.run_id));
        }
    }
}

fn how(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exited { code },
        (None, signal) => How::Killed { signal: signal.unwrap_or(0) },
    }
}

impl EndReport {
    fn for_leader(pid: u32) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(pidfd) = pidfd(pid) {
            return EndReport::Pidfd(pidfd);
        }
        let (tell, told) = oneshot::channel();
        let wait = move || {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                let looking = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), looking) {}
            }
            // The receiver is gone if the run was dropped.
            let _ = tell.send(());
        };
        match std::thread::Builder::new().name("hookwright-wait".to_owned()).spawn(wait) {
            Ok(_) => EndReport::Thread(told),
            Err(_) => EndReport::Looks,
        }
    }
}

#[cfg(target_os = "linux")]
fn pidfd(pid: u32) -> Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::{Interest, unix::AsyncFd};

    let pidfd = pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
    #[expect(
        deprecated,
        reason = "its fault needs a type whose descriptor changes; this one is owned"
    )]
    AsyncFd::with_interest(pidfd, Interest::READABLE).ok()
}
