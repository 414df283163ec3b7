//! A second marker of a run, which survives clearing the environment: a resource limit.
//!
//! The environment of a process cannot be read once it is not dumpable (`prctl(PR_SET_DUMPABLE,
//! 0)`), and is gone once its title overwrites it or it was started with `env -i`. Limits are
//! inherited like an environment, survive all this, and are readable by everyone. Only a process
//! that sets this very limit loses the mark.
//!
//! The limit is that of the time a real-time process may run without waiting, in microseconds. Each
//! mark is above 2^62, which is more than 100,000 years, so it limits nothing.
//!
//! A program that is its own host (see [`crate::become_subreaper`]) sets the mark on itself while
//! it starts a child, one start at a time, so that the child has it from its first instruction. In
//! a library that would mark children of the host's other threads; there the child is marked as
//! soon as it runs, and what it started before that is not.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// Set in every mark, so that no limit that a person chose is mistaken for one.
const IS_A_MARK: u64 = 1 << 62;

/// The limit's name in `/proc/PID/limits`.
const NAME: &str = "Max realtime timeout";

/// Whether all children of this process are started by this crate.
static IS_OWN_HOST: AtomicBool = AtomicBool::new(false);

/// Held by the one start that has changed this process's own limit.
static STARTING: Mutex<()> = Mutex::new(());

/// From here on children are marked before they run.
pub(crate) fn this_is_its_own_host() {
    IS_OWN_HOST.store(true, Ordering::Relaxed);
}

/// Starts a child and marks it, and with it all that it will start. Without the mark there is still
/// the environment, so a system that does not allow it is not an error.
pub(crate) fn spawn_marked<C>(
    run_id: &str,
    pid_of: impl Fn(&C) -> u32,
    spawn: impl FnOnce() -> io::Result<C>,
) -> io::Result<C> {
    let own = getrlimit(Resource::Rttime);
    // A limit that the administrator set stays.
    if own.maximum.is_some() {
        return spawn();
    }
    let marked = Rlimit { current: Some(limit_for_run(run_id)), maximum: None };
    if IS_OWN_HOST.load(Ordering::Relaxed) {
        let _one_at_a_time = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = setrlimit(Resource::Rttime, marked);
        let spawned = spawn();
        let _ = setrlimit(Resource::Rttime, own);
        return spawned;
    }
    let child = spawn()?;
    // A program of another user may refuse it.
    let _ = prlimit(Pid::from_raw(pid_of(&child).cast_signed()), Resource::Rttime, marked);
    Ok(child)
}

/// The mark of a run: the same in every version of this program, because a killed version leaves
/// its runs to the next.
pub(crate) fn limit_for_run(run_id: &str) -> u64 {
    const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const FNV_PRIME: u64 = 0x0100_0000_01b3;
    let hash = run_id
        .bytes()
        .fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    IS_A_MARK | (hash & (IS_A_MARK - 1))
}

/// The mark in the text of `/proc/PID/limits`.
pub(crate) fn read(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(NAME))?;
    let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    (limit & IS_A_MARK != 0).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_set_and_no_other_limit_is_one() {
        let limits = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        assert_eq!(read(&limits(std::process::id())), None);
        for is_own_host in [false, true] {
            if is_own_host {
                this_is_its_own_host();
            }
            let mut sleep = std::process::Command::new("/bin/sleep");
            let mut child =
                spawn_marked("run-1", std::process::Child::id, || sleep.arg("1000").spawn())
                    .unwrap();
            assert_eq!(read(&limits(child.id())), Some(limit_for_run("run-1")));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(read(&limits(std::process::id())), None);
        }
        assert_ne!(limit_for_run("run-1"), limit_for_run("run-2"));
        assert_eq!(
            read("Max realtime timeout      unlimited            unlimited            us"),
            None
        );
        assert_eq!(
            read("Max realtime timeout      200000               200000               us"),
            None
        );
    }

    #[test]
    fn a_mark_stays_the_same_from_version_to_version() {
        assert_eq!(limit_for_run("run-1"), 0x7a18_676a_3393_1f5c);
    }
}
