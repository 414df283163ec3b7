//! Starts a program with `posix_spawn`. All `unsafe` code of the program is in this file.
//!
//! `std::process` calls `posix_spawn` too, but lets a child inherit ignored signals: a hook below
//! `nohup` could not catch SIGHUP, and one in a pane of tmux would read an error from the terminal
//! instead of being stopped. Its way to change that, `pre_exec`, forks, which costs 50 ms per start
//! in a host of 1 GB. Here the child starts with default signals and none blocked, in a group of
//! its own.
//!
//! Why the `unsafe` blocks are sound: every pointer passed to the C library points to a value that
//! lives until the call returns; attributes and file actions are initialised before they are used
//! and destroyed once, by `Drop`; the lists of arguments and variables end with a null pointer.

use std::ffi::{CString, OsStr, OsString, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::c_strings::{CStrings, EnvironmentEntry, last_of_each_name};
use crate::pipes::ChildEnds;

/// Signals that are reset to the default: all except real-time signals, which no program ignores.
const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=31;

/// Room for the variables of an ordinary hook: ours twice, and those of a desktop's shell.
const ENVIRONMENT_STRINGS: usize = 160;

/// A program, its arguments and its environment in the system's format.
pub(crate) struct Program {
    path: CString,
    arguments: CStrings,
    environment: CStrings,
    working_dir: CString,
}

/// A process that we started and have not reaped yet.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    pid: Pid,
}

impl Program {
    /// If a name occurs more than once in the environment, the last one counts.
    pub(crate) fn new<'a>(
        path: &Path,
        arguments: &[OsString],
        environment: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
        working_dir: &Path,
    ) -> io::Result<Self> {
        let mut variables: Vec<EnvironmentEntry<'a>> = Vec::with_capacity(ENVIRONMENT_STRINGS);
        variables
            .extend(environment.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()]));
        let words = [path.as_os_str()].into_iter().chain(arguments.iter().map(OsString::as_os_str));
        let words: Vec<[&[u8]; 1]> = words.map(|word| [word.as_bytes()]).collect();
        Ok(Self {
            path: c_string(path.as_os_str())?,
            arguments: CStrings::new(&words)?,
            environment: CStrings::new(&last_of_each_name(variables))?,
            working_dir: c_string(working_dir.as_os_str())?,
        })
    }

    /// Starts it with these ends of pipes as its standard streams.
    pub(crate) fn spawn(&self, ends: &ChildEnds) -> io::Result<ChildProcess> {
        // A stream must not be overwritten by another one before it is in its place.
        let stdin = ChildStream::new(ends.stdin.as_fd())?;
        let stdout = ChildStream::new(ends.stdout.as_fd())?;
        let stderr = ChildStream::new(ends.stderr.as_fd())?;
        let mut actions = FileActions::new()?;
        for (source, target) in [(&stdin, 0), (&stdout, 1), (&stderr, 2)] {
            actions.duplicate(source.raw(), target)?;
        }
        actions.change_folder(&self.working_dir)?;
        let attributes = Attributes::new()?;
        let arguments = self.arguments.pointers();
        let environment = self.environment.pointers();
        let mut pid: libc::pid_t = 0;
        #[expect(unsafe_code, reason = "the call that this file is about; see its head")]
        let failed = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.path.as_ptr(),
                actions.0.as_ptr(),
                attributes.0.as_ptr(),
                arguments.as_ptr(),
                environment.as_ptr(),
            )
        };
        check(failed)?;
        let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(ChildProcess { pid })
    }
}

impl ChildProcess {
    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_pid().cast_unsigned()
    }

    /// Reaps it, if it has ended.
    pub(crate) fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        let ended = waitpid(Some(self.pid), WaitOptions::NOHANG)?;
        Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
    }
}

/// A stream for a child, with a descriptor other than 0, 1 and 2.
enum ChildStream<'a> {
    Borrowed(BorrowedFd<'a>),
    Copied(OwnedFd),
}

impl<'a> ChildStream<'a> {
    fn new(stream: BorrowedFd<'a>) -> io::Result<Self> {
        if stream.as_raw_fd() > 2 {
            return Ok(Self::Borrowed(stream));
        }
        Ok(Self::Copied(rustix::io::fcntl_dupfd_cloexec(stream, 3)?))
    }

    fn raw(&self) -> c_int {
        match self {
            Self::Borrowed(stream) => stream.as_raw_fd(),
            Self::Copied(stream) => stream.as_raw_fd(),
        }
    }
}

/// What the child does before it becomes the program.
struct FileActions(MaybeUninit<libc::posix_spawn_file_actions_t>);

#[expect(unsafe_code, reason = "see the head of this file")]
impl FileActions {
    fn new() -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        Ok(Self(actions))
    }

    fn duplicate(&mut self, source: c_int, target: c_int) -> io::Result<()> {
        check(unsafe {
            libc::posix_spawn_file_actions_adddup2(self.0.as_mut_ptr(), source, target)
        })
    }

    fn change_folder(&mut self, folder: &CString) -> io::Result<()> {
        check(unsafe {
            libc::posix_spawn_file_actions_addchdir_np(self.0.as_mut_ptr(), folder.as_ptr())
        })
    }
}

#[expect(unsafe_code, reason = "see the head of this file")]
impl Drop for FileActions {
    fn drop(&mut self) {
        unsafe { libc::posix_spawn_file_actions_destroy(self.0.as_mut_ptr()) };
    }
}

/// A group of its own, default signals, none blocked.
struct Attributes(MaybeUninit<libc::posix_spawnattr_t>);

#[expect(unsafe_code, reason = "see the head of this file")]
impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        let mut new = Self(attributes);
        let flags = libc::POSIX_SPAWN_SETPGROUP
            | libc::POSIX_SPAWN_SETSIGDEF
            | libc::POSIX_SPAWN_SETSIGMASK;
        let flags = libc::c_short::try_from(flags).map_err(io::Error::other)?;
        let (all, none) = (signals(SIGNALS), signals(std::iter::empty()));
        unsafe {
            check(libc::posix_spawnattr_setpgroup(new.0.as_mut_ptr(), 0))?;
            check(libc::posix_spawnattr_setsigdefault(new.0.as_mut_ptr(), all.as_ptr()))?;
            check(libc::posix_spawnattr_setsigmask(new.0.as_mut_ptr(), none.as_ptr()))?;
            check(libc::posix_spawnattr_setflags(new.0.as_mut_ptr(), flags))?;
        }
        Ok(new)
    }
}

#[expect(unsafe_code, reason = "see the head of this file")]
impl Drop for Attributes {
    fn drop(&mut self) {
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}

/// A set of signals.
#[expect(unsafe_code, reason = "see the head of this file")]
fn signals(all: impl Iterator<Item = c_int>) -> MaybeUninit<libc::sigset_t> {
    let mut set = MaybeUninit::uninit();
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in all {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
    }
    set
}

/// Turns an error number into a result.
fn check(number: c_int) -> io::Result<()> {
    if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(number)) }
}

/// A text that ends with a NUL byte. Another NUL byte in it is an error.
fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}
