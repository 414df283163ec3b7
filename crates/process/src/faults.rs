//! Points at which a fault campaign kills the program, as `kill -9` would.
//!
//! Without the feature `faults`, [`point`] is empty. With it, a program that is told to (`die_at`)
//! kills itself at the point with that number, and `passed` counts them by name. Its children live
//! on: the process that resumes the work must deal with them. If the whole machine is to die there,
//! the program stands still at the point (`stand_still_instead`) until it is killed.
//!
//! The points are in this crate because all crates with effects depend on it.

#[cfg(feature = "faults")]
pub use counted::{
    die_at, die_at_name, interrupt_at, leave_mark, passed, point, stand_still_instead,
};

/// A moment before or after an effect: a write, a child's start.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn point(_name: &'static str) {}

#[cfg(feature = "faults")]
mod counted {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::path::PathBuf;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static POINTS: Mutex<Points> = Mutex::new(Points {
        passed: 0,
        by_name: BTreeMap::new(),
        die_at: None,
        die_at_name: None,
        interrupt_at: None,
        mark: None,
        stands_still: false,
    });

    struct Points {
        passed: u64,
        by_name: BTreeMap<&'static str, u64>,
        die_at: Option<u64>,
        die_at_name: Option<(String, u64)>,
        interrupt_at: Option<u64>,
        /// Created before the death. A process that finds it lives on.
        mark: Option<PathBuf>,
        stands_still: bool,
    }

    fn points() -> MutexGuard<'static, Points> {
        POINTS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment before or after an effect: a write, a child's start.
    pub fn point(name: &'static str) {
        let mut points = points();
        points.passed += 1;
        let times = points.by_name.entry(name).or_default();
        *times += 1;
        let times = *times;
        if points.interrupt_at == Some(points.passed) {
            let this = rustix::process::getpid();
            let _ = rustix::process::kill_process(this, rustix::process::Signal::INT);
        }
        let is_named = |(known, at): &(String, u64)| known == name && *at == times;
        let is_chosen = points.die_at == Some(points.passed)
            || points.die_at_name.as_ref().is_some_and(is_named);
        if is_chosen && points.mark.as_ref().is_none_or(|mark| File::create_new(mark).is_ok()) {
            if !points.stands_still {
                let this = rustix::process::getpid();
                let _ = rustix::process::kill_process(this, rustix::process::Signal::KILL);
            }
            // No other thread passes a point either, until the signal has taken effect.
            loop {
                std::thread::park();
            }
        }
    }

    /// Kills the program at the point with this number, counted from 1.
    pub fn die_at(number: u64) {
        points().die_at = Some(number);
    }

    /// Kills the program at the point with this name, when it is passed for the `time`th time.
    pub fn die_at_name(name: &str, time: u64) {
        points().die_at_name = Some((name.to_owned(), time));
    }

    /// Lets only one of several programs with the same settings die: the one that creates this file.
    pub fn leave_mark(mark: PathBuf) {
        points().mark = Some(mark);
    }

    /// Lets the program stand still at its point, until something else kills it.
    pub fn stand_still_instead() {
        points().stands_still = true;
    }

    /// Interrupts the program at the point with this number, as Ctrl-C does.
    pub fn interrupt_at(number: u64) {
        points().interrupt_at = Some(number);
    }

    /// How many points were passed, by name.
    pub fn passed() -> Vec<(&'static str, u64)> {
        points().by_name.iter().map(|(name, count)| (*name, *count)).collect()
    }
}
