//! Who a run's leader is, in the words a journal needs to find it again after a crash.
//!
//! Only the pid is known for free. The rest is read when asked for, so that a run nobody journals
//! pays nothing.

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The process has it.
    Delivered,
    /// There is no such process any more.
    Gone,
    /// It belongs to someone else.
    Refused,
}

/// The process a run started, first of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leader {
    /// Its process id, which is also that of its group.
    pub pid: u32,
}

impl Leader {
    /// When it started, in clock ticks since boot. With the pid and the boot it names one process.
    /// `None` where the system does not tell, or when the leader is gone.
    pub fn start_time(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        return crate::process_table::process(self.pid).map(|process| process.start_time);
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// Whether the process that started then still runs. One that has ended and was not collected
    /// does not: nobody may ever collect it.
    pub fn runs_since(&self, start_time: u64) -> bool {
        #[cfg(target_os = "linux")]
        return crate::process_table::process(self.pid)
            .is_some_and(|process| process.start_time == start_time && !process.has_ended());
        #[cfg(not(target_os = "linux"))]
        return self.start_time() == Some(start_time);
    }

    /// Sends SIGTERM to the process that started then, or to nobody.
    pub fn terminate(&self, start_time: u64) -> Sent {
        #[cfg(target_os = "linux")]
        return crate::process_table::send(self.pid, start_time, rustix::process::Signal::TERM);
        // Without start times nobody can say whose pid it is now.
        #[cfg(not(target_os = "linux"))]
        return if self.runs_since(start_time) { Sent::Refused } else { Sent::Gone };
    }

    /// The name of the boot the pid and the start time belong to.
    pub fn boot_id(&self) -> Option<String> {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }
}
