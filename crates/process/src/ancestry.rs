//! [`Ancestry`]: a process and its ancestors.
//!
//! A process can clear its own environment and leave its group, but it cannot choose its parent:
//! when its parent ends, it becomes a child of the nearest subreaper above. A program that made
//! itself one ([`become_subreaper`](crate::become_subreaper)) stays above everything that it has
//! started.
//!
//! Not covered: work that is handed to a daemon, and systems without `/proc`, where every ancestry
//! is empty.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use crate::process_table;

/// A process and its ancestors at one moment. The process itself comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ancestry(Vec<AncestorProcess>);

/// One process of an [`Ancestry`]. A process id and a start time identify one process of this boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AncestorProcess {
    /// The process id.
    pub pid: u32,
    /// The start time, in clock ticks since boot.
    pub start_time: u64,
}

/// The most ancestors that are read. The kernel allows deeper trees; no real machine has one.
#[cfg(target_os = "linux")]
const DEPTH_MAX: usize = 1024;

/// Bytes of a command line that are read: the program and its first arguments.
const ARGUMENTS_BYTES_MAX: u64 = 16 * 1024;

/// Attempts to read a process whose parent ends at that moment.
#[cfg(target_os = "linux")]
const LOOKS_MAX: usize = 8;

impl Ancestry {
    /// This process and its ancestors.
    pub fn of_this() -> Self {
        Self::of(std::process::id())
    }

    /// The process with this id and its ancestors; empty if it does not exist.
    #[cfg(target_os = "linux")]
    pub fn of(pid: u32) -> Self {
        let mut found: Vec<AncestorProcess> = Vec::new();
        let (mut next, mut looks) = (pid, 0);
        while next != 0 && found.len() < DEPTH_MAX && looks < DEPTH_MAX + LOOKS_MAX {
            looks += 1;
            let process = process_table::process(next);
            // A parent is never younger than its child. If it seems to be, it has ended and its id
            // was reused: the child has another parent.
            let below = found.last().copied();
            let is_above = |above: &process_table::Process| {
                below.is_none_or(|below| above.start_time <= below.start_time)
            };
            match (process.filter(is_above), below) {
                (Some(process), _) => {
                    let process_table::Process { pid, start_time, parent, .. } = process;
                    found.push(AncestorProcess { pid, start_time });
                    next = parent;
                }
                (None, None) => break,
                (None, Some(below)) => match process_table::process(below.pid) {
                    Some(now) if now.start_time == below.start_time => next = now.parent,
                    _ => break,
                },
            }
        }
        Self(found)
    }

    /// Always empty: the system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_pid: u32) -> Self {
        Self::default()
    }

    /// The processes, nearest first.
    pub fn processes(&self) -> &[AncestorProcess] {
        &self.0
    }

    /// How many levels above this process is: 0 is the process itself.
    pub fn distance_to(&self, pid: u32, start_time: u64) -> Option<usize> {
        self.0.iter().position(|above| *above == AncestorProcess { pid, start_time })
    }

    /// The nearest process that is also in another ancestry, and its ancestors.
    pub fn shared_with(&self, other: &Ancestry) -> &[AncestorProcess] {
        let first = self.0.iter().position(|process| other.0.contains(process));
        first.map_or(&[], |first| &self.0[first..])
    }

    /// Whether this very program started one of these processes with a variable of this value: the
    /// parent of a process that has it runs the same file as we.
    pub fn was_started_by_us_with(&self, name: &str, value: &OsStr) -> bool {
        self.0.windows(2).any(|pair| {
            let [below, above] = pair else { return false };
            above.runs_our_program() && below.variable(name).is_some_and(|it| it == value)
        })
    }
}

impl AncestorProcess {
    /// The value of a variable when the process started its program. `None` also if the process may
    /// not be read.
    #[cfg(target_os = "linux")]
    pub fn variable(&self, name: &str) -> Option<OsString> {
        use std::os::unix::ffi::OsStringExt;

        let environ = std::fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        self.still_runs().then_some(())?;
        let value = process_table::variable(&environ, name)?;
        Some(OsString::from_vec(value.to_vec()))
    }

    /// Always `None`: the system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub fn variable(&self, _name: &str) -> Option<OsString> {
        None
    }

    /// Whether it was started in a run, or below a process of one, according to the limit that
    /// marks runs besides [`MARKER`](crate::MARKER): a process that clears its environment keeps
    /// that mark.
    #[cfg(target_os = "linux")]
    pub fn has_mark_of_a_run(&self) -> bool {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.pid));
        limits.is_ok_and(|limits| crate::limit_marker::read(&limits).is_some())
    }

    /// Always false: the system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub fn has_mark_of_a_run(&self) -> bool {
        false
    }

    /// The name of its program, as the system shows it: at most 15 bytes.
    pub fn name(&self) -> Option<String> {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", self.pid)).ok()?;
        Some(name.trim_end().to_owned())
    }

    /// Its program and arguments as it was started with, as far as they fit into a few kilobytes.
    pub fn arguments(&self) -> Vec<OsString> {
        use std::io::Read;
        use std::os::unix::ffi::OsStringExt;

        let mut bytes = Vec::new();
        let Ok(file) = std::fs::File::open(format!("/proc/{}/cmdline", self.pid)) else {
            return Vec::new();
        };
        if file.take(ARGUMENTS_BYTES_MAX).read_to_end(&mut bytes).is_err() {
            return Vec::new();
        }
        let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.map(|word| OsString::from_vec(word.to_vec())).collect()
    }

    /// The file that it runs.
    pub fn program(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    /// Whether it runs the same file as this process.
    pub fn runs_our_program(&self) -> bool {
        self.runs_program_of(std::process::id())
    }

    /// Whether it runs the same file as the process with this id.
    pub fn runs_program_of(&self, pid: u32) -> bool {
        use std::os::unix::fs::MetadataExt;

        let file = |pid: u32| {
            let file = std::fs::metadata(format!("/proc/{pid}/exe")).ok()?;
            Some((file.dev(), file.ino()))
        };
        let theirs = file(self.pid);
        theirs.is_some() && theirs == file(pid)
    }

    #[cfg(target_os = "linux")]
    fn still_runs(&self) -> bool {
        process_table::process(self.pid).is_some_and(|now| now.start_time == self.start_time)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell, and the id of the process that it started and waits for.
    fn shell(script: &str) -> (Child, u32) {
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .env("HOOKWRIGHT_TEST_MARK", "outer")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it does");
        let mut line = String::new();
        let mut output = shell.stdout.take().expect("it does");
        let mut byte = [0];
        while output.read(&mut byte).expect("it does") == 1 && byte != [b'\n'] {
            line.push(char::from(byte[0]));
        }
        let inner = line.trim().parse().expect("it does");
        (shell, inner)
    }

    fn at(pid: u32) -> AncestorProcess {
        AncestorProcess {
            pid,
            start_time: process_table::process(pid).expect("it does").start_time,
        }
    }

    #[test]
    fn a_process_that_cleared_its_environment_is_still_below_its_ancestors() {
        let (mut shell, inner) = shell("env -i sh -c 'echo $$; read line'; exit 0");
        let ancestry = Ancestry::of(inner);
        let us = at(std::process::id());
        let (inner, outer) = (at(inner), at(shell.id()));
        assert_eq!(ancestry.processes()[..3], [inner, outer, us]);
        assert_eq!(ancestry.distance_to(us.pid, us.start_time), Some(2));
        assert_eq!(ancestry.distance_to(us.pid, us.start_time + 1), None, "another process");
        assert_eq!(inner.variable("HOOKWRIGHT_TEST_MARK"), None);
        assert_eq!(outer.variable("HOOKWRIGHT_TEST_MARK"), Some("outer".into()));
        assert_eq!(outer.variable("HOOKWRIGHT_TEST"), None);
        assert_eq!(ancestry.shared_with(&Ancestry::of_this())[0], us);
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn only_a_variable_that_our_program_has_set_is_ours() {
        let (mut shell, inner) =
            shell("HOOKWRIGHT_TEST_MARK=inner sh -c 'echo $$; read line'; exit");
        let ancestry = Ancestry::of(inner);
        let name = "HOOKWRIGHT_TEST_MARK";
        assert!(ancestry.was_started_by_us_with(name, OsStr::new("outer")));
        assert!(!ancestry.was_started_by_us_with(name, OsStr::new("inner")), "the shell set it");
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(Ancestry::of(shell.id()), Ancestry::default(), "it is gone");
    }
}
