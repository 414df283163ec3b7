//! The system's processes as `/proc` shows them, and signals that hit only the intended one.
//!
//! A pid alone identifies no process: it is reused. A pid and a start time identify one process of
//! this boot, so both are compared before a signal is sent, through a pidfd opened before the
//! comparison.

use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal, test_kill_process,
};

use crate::{MARKER, Sent, limit_marker};

/// One process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// The controlling terminal's device; 0 is none.
    pub(crate) terminal: i32,
    /// The terminal's foreground group.
    pub(crate) foreground_group: i32,
    state: u8,
    threads: u32,
    /// Clock ticks since boot.
    pub(crate) start_time: u64,
}

impl Process {
    /// A zombie whose other threads still run has not ended: it holds its files.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.state == b'T'
    }
}

/// All processes. Empty if `/proc` cannot be read.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    folder
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let pid = std::str::from_utf8(name.as_bytes()).ok()?.parse().ok()?;
            process(pid)
        })
        .collect()
}

/// The children of a process, zombies too. Reads one file for each of its threads, instead of one
/// for every process; on a kernel without these files all processes are read.
pub(crate) fn children(parent: u32) -> Vec<Process> {
    let threads = std::fs::read_dir(format!("/proc/{parent}/task"));
    let lists = threads.into_iter().flatten().map(|thread| {
        let list = std::fs::read_to_string(thread?.path().join("children"))?;
        Ok(list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    });
    let mut children = match lists.collect::<std::io::Result<Vec<Vec<u32>>>>() {
        Ok(lists) => lists.into_iter().flatten().filter_map(process).collect(),
        // A thread that has just ended, or no such files.
        Err(_) => processes(),
    };
    children.retain(|process| process.parent == parent);
    children
}

/// The process with this pid, if it exists.
pub(crate) fn process(pid: u32) -> Option<Process> {
    parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether the process started in one of these runs, or in a run inside one of them: according to
/// its environment or, if that was cleared, overwritten or hidden, the run's [`limit_marker`].
pub(crate) fn carries_marker(pid: u32, run_ids: &[String]) -> bool {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    if marker(&environ).is_some_and(|chain| run_ids.iter().any(|id| names(chain, id))) {
        return true;
    }
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let limit = limit_marker::read(&limits);
    limit.is_some_and(|limit| run_ids.iter().any(|id| limit_marker::limit_for_run(id) == limit))
}

/// Sends a signal to this process, and to no other.
pub(crate) fn send(pid: u32, start_time: u64, signal: Signal) -> Sent {
    let Some(target) = Pid::from_raw(pid.cast_signed()) else {
        return Sent::Gone;
    };
    let pidfd = pidfd_open(target, PidfdFlags::empty());
    if process(pid).is_none_or(|now| now.start_time != start_time) {
        return Sent::Gone;
    }
    let sent = match pidfd {
        Ok(pidfd) => pidfd_send_signal(pidfd, signal),
        Err(Errno::SRCH) => Err(Errno::SRCH),
        // No pidfd is available: the comparison just made is the best there is.
        Err(_) => test_kill_process(target).and_then(|()| kill_process(target, signal)),
    };
    match sent {
        Ok(()) => Sent::Delivered,
        Err(Errno::PERM) => Sent::Refused,
        Err(_) => Sent::Gone,
    }
}

/// Parses `/proc/<pid>/stat`. The name in parentheses may itself contain spaces and parentheses.
fn parse(pid: u32, stat: &[u8]) -> Option<Process> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(&stat[after_name..]).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        terminal: fields.get(4)?.parse().ok()?,
        foreground_group: fields.get(5)?.parse().ok()?,
        threads: fields.get(17)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
    })
}

/// The marker's value in an environment block.
fn marker(environ: &[u8]) -> Option<&[u8]> {
    variable(environ, MARKER)
}

/// A variable's value in an environment block.
pub(crate) fn variable<'a>(environ: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environ.split(|byte| *byte == 0).find_map(|variable| {
        variable.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    })
}

/// Whether a chain of run ids contains this one, compared whole.
fn names(chain: &[u8], run_id: &str) -> bool {
    let (chain, run_id) = ([b":", chain, b":"].concat(), format!(":{run_id}:"));
    chain.windows(run_id.len()).any(|part| part == run_id.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = b"7 (a) Z 9 (b) T 1 2 3 4 5 0 0 0 0 0 0 0 0 0 20 0 6 0 777 0 0\n";
        let expected = Process {
            pid: 7,
            parent: 1,
            group: 2,
            session: 3,
            terminal: 4,
            foreground_group: 5,
            state: b'T',
            threads: 6,
            start_time: 777,
        };
        assert_eq!(parse(7, stat), Some(expected));
    }

    #[test]
    fn a_run_id_is_found_anywhere_in_the_chain_but_only_whole() {
        let environ = b"A=HOOKWRIGHT_RUN=no\0HOOKWRIGHT_RUN=outer:mid:inner\0B=1";
        let chain = marker(environ).unwrap();
        for id in ["outer", "mid", "inner"] {
            assert!(names(chain, id), "{id}");
        }
        for id in ["out", "uter", "inne", "no", "outerm"] {
            assert!(!names(chain, id), "{id}");
        }
    }

    #[test]
    fn a_process_with_another_start_time_is_never_hit() {
        let mut child = std::process::Command::new("/bin/sleep").arg("1000").spawn().unwrap();
        let start_time = process(child.id()).unwrap().start_time;
        assert_eq!(send(child.id(), start_time + 1, Signal::KILL), Sent::Gone);
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(send(child.id(), start_time, Signal::KILL), Sent::Delivered);
        child.wait().unwrap();
    }
}
