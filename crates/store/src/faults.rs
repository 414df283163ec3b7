//! Points at which a fault campaign ends the program, as a power cut would.
//!
//! Without the feature `faults` nothing is here: [`point`] is empty. With it, a program that was told
//! to ([`die_at`]) kills itself at the point with that number, and [`passed`] counts them all.

#[cfg(feature = "faults")]
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "faults")]
static PASSED: AtomicU64 = AtomicU64::new(0);
#[cfg(feature = "faults")]
static DIE_AT: AtomicU64 = AtomicU64::new(0);

/// A moment between two effects, before or behind a write.
#[inline]
pub fn point(name: &str) {
    let _ = name;
    #[cfg(feature = "faults")]
    {
        let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if number == DIE_AT.load(Ordering::SeqCst) {
            let pid = std::process::id().to_string();
            let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
            loop {
                std::thread::park();
            }
        }
    }
}

/// Ends the program at the point with this number, counted from 1.
#[cfg(feature = "faults")]
pub fn die_at(number: u64) {
    DIE_AT.store(number, Ordering::SeqCst);
}

/// How many points were passed.
#[cfg(feature = "faults")]
pub fn passed() -> u64 {
    PASSED.load(Ordering::SeqCst)
}
