//! Identifies a run's leader, so that a journal can find it again after a crash.
//!
//! Only the pid is free. The rest is read on demand, so that a run without a journal pays nothing.

/// The result of sending a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The process received it.
    Delivered,
    /// The process no longer exists.
    Gone,
    /// It belongs to another user.
    Refused,
}

/// The process that a run started, first of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leader {
    /// The process id, which is also its group's.
    pub pid: u32,
}

impl Leader {
    /// The start time, in clock ticks since boot. With the pid and the boot it identifies one
    /// process. `None` if the system does not tell, or if the leader is gone.
    pub fn start_time(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        return crate::process_table::process(self.pid).map(|process| process.start_time);
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// Whether the process with this start time still runs. A zombie does not: it may never be
    /// reaped.
    pub fn runs_since(&self, start_time: u64) -> bool {
        #[cfg(target_os = "linux")]
        return crate::process_table::process(self.pid)
            .is_some_and(|process| process.start_time == start_time && !process.has_ended());
        #[cfg(not(target_os = "linux"))]
        return self.start_time() == Some(start_time);
    }

    /// Whether no process has this id, of whatever user. `/proc` may hide those of others.
    pub fn is_gone(&self) -> bool {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed());
        let asked = pid.map(rustix::process::test_kill_process);
        asked.is_none_or(|asked| asked == Err(rustix::io::Errno::SRCH))
    }

    /// Sends SIGTERM to the process with this start time, and to no other.
    pub fn terminate(&self, start_time: u64) -> Sent {
        #[cfg(target_os = "linux")]
        return crate::process_table::send(self.pid, start_time, rustix::process::Signal::TERM);
        // Without start times the pid may belong to another process by now.
        #[cfg(not(target_os = "linux"))]
        return if self.runs_since(start_time) { Sent::Refused } else { Sent::Gone };
    }

    /// The id of the boot that the pid and the start time belong to.
    pub fn boot_id(&self) -> Option<String> {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }
}
