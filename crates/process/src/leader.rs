//! Who a run's leader is, in the words a journal needs to find it again after a crash.
//!
//! Only the pid is known for free. The rest is read when asked for, so that a run nobody journals
//! pays nothing.

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

    /// The name of the boot the pid and the start time belong to.
    pub fn boot_id(&self) -> Option<String> {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }
}
