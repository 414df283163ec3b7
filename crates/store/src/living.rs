//! [`Living`]: whether the holder of a lease, or the process that keeps a wait, may still run.
//!
//! A store that knows which of its holders are alive judges them itself ([`Store::living`]). For
//! other stores, the host of the store does: the machine knows its own processes.
//!
//! [`Store::living`]: crate::Store::living

/// Judges the holders of a store.
pub trait Living: Send + Sync {
    /// How this process describes itself when it takes a lease or asks a person.
    fn this(&self) -> String;

    /// Whether the process that described itself so may still run.
    fn judge(&self, holder: &str) -> Life;

    /// Wakes the process that described itself so, if it runs where this process cannot reach it
    /// otherwise: what it waits for may be in the store. A failure is not reported, since the process
    /// looks now and then.
    fn wake(&self, holder: &str) {
        let _ = holder;
    }
}

/// What is known of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It runs, or may run where this process cannot look.
    MayRun,
    /// It has ended.
    Ended,
    /// Its description cannot be read.
    Unreadable,
}

/// For tests: all holders live but one.
#[cfg(feature = "testing")]
#[derive(Debug, Clone, Default)]
pub struct AllButOneLive {
    /// The description of this process.
    pub this: String,
    /// The holder that has ended.
    pub ended: String,
}

#[cfg(feature = "testing")]
impl Living for AllButOneLive {
    fn this(&self) -> String {
        self.this.clone()
    }

    fn judge(&self, holder: &str) -> Life {
        if !self.ended.is_empty() && holder == self.ended { Life::Ended } else { Life::MayRun }
    }
}
