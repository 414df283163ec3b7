//! A child whose standard input stays open: a server that answers over its standard streams.
//!
//! It is owned like the child of [`run`](crate::run): own group, both markers, default signals, no
//! inherited environment. The differences:
//!
//! - The caller writes its standard input and reads its standard output, for as long as it likes.
//!   The pipes are the limit: a child that is not read waits.
//! - It has no deadline. The caller decides when it ends.
//! - Nothing of it outlives its owner: [`InteractiveChild::end`] ends the whole tree, also if the
//!   leader has ended before. Dropping the child kills the tree at once.
//!
//! Standard error is read while [`InteractiveChild::wait`] is polled, and bounded: the first and the
//! last half stay.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::ioctl_fionbio;
use tokio::net::unix::pipe;

use crate::end_of_leader::OwnedLeader;
use crate::pipes::{ChildEnds, OutputPipe};
use crate::start::start_with;
use crate::{Captured, How, Launch, Leader, StartFailure, faults, orphans, terminal};

/// What to run, for as long as the caller needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InteractiveLaunch {
    /// Absolute, or relative to `working_dir`. It is never searched in `PATH`; see
    /// [`find_program`](crate::find_program).
    pub program: PathBuf,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The part of the environment that all children of a host share.
    pub shared_env: Arc<[(OsString, OsString)]>,
    /// The rest of the environment, which overrides the shared part; nothing else is inherited.
    /// The marker is added, after one that may be here already.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub working_dir: PathBuf,
    /// The time between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
    /// Bytes kept of standard error: the first and the last half.
    pub stderr_bytes_max: usize,
    /// The unique name of this run, and the marker's value.
    pub run_id: String,
}

/// A running child, with everything that it starts. Dropping it kills all of that at once.
pub struct InteractiveChild {
    leader: OwnedLeader,
    stderr: OutputPipe,
    chunk: Vec<u8>,
    stderr_bytes_max: usize,
    kill_grace: Duration,
    terminal_wanted: Pin<Box<dyn Future<Output = ()> + Send>>,
    has_wanted_terminal: bool,
}

/// Our ends of a child's standard input and output. Dropping `stdin` closes it.
#[derive(Debug)]
pub struct ChildStreams {
    /// The child reads what is written here.
    pub stdin: pipe::Sender,
    /// What the child prints.
    pub stdout: pipe::Receiver,
}

/// How an interactive child ended.
#[derive(Debug)]
pub struct InteractiveEnd {
    /// How the leader ended; [`How::Cancelled`] if it still ran.
    pub how: How,
    /// Its standard error.
    pub stderr: Captured,
}

impl InteractiveChild {
    /// Starts a child. Needs a tokio runtime with io and time, of any flavour.
    pub async fn start(launch: InteractiveLaunch) -> Result<(Self, ChildStreams), StartFailure> {
        let (kill_grace, stderr_bytes_max) = (launch.kill_grace, launch.stderr_bytes_max);
        faults::point("child starts");
        let (leader, (streams, stderr)) =
            start_with(launch.into(), open_pipes, |(_, stderr)| stderr.watch()).await?;
        faults::point("child runs");
        let terminal_wanted = Box::pin(terminal::wanted(leader.pid()));
        let child = InteractiveChild {
            leader,
            stderr,
            chunk: Vec::new(),
            stderr_bytes_max,
            kill_grace,
            terminal_wanted,
            has_wanted_terminal: false,
        };
        Ok((child, streams))
    }

    /// The process that was started.
    pub fn leader(&self) -> Leader {
        Leader { pid: self.leader.pid() }
    }

    /// What came on standard error so far.
    pub fn stderr(&self) -> &Captured {
        &self.stderr.captured
    }

    /// Waits until the leader has ended or has stopped to use the terminal, and reads standard error
    /// meanwhile. Processes that the leader has started may still run. Cancel-safe; returns at once
    /// if it has returned before.
    pub async fn wait(&mut self) {
        while !self.has_wanted_terminal {
            tokio::select! {
                biased;
                () = self.leader.exited() => return,
                () = &mut self.terminal_wanted => self.has_wanted_terminal = true,
                () = self.stderr.next(&mut self.chunk, self.stderr_bytes_max) => {
                    // A child that prints without end leaves time to others.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Ends the whole tree: SIGTERM, the grace, SIGKILL. Returns as soon as nothing of it is left.
    pub async fn end(mut self) -> InteractiveEnd {
        let ended_before = self.leader.has_ended();
        let (chunk, bytes_max) = (&mut self.chunk, self.stderr_bytes_max);
        let status = {
            let mut ending = pin!(self.leader.end_tree(self.kill_grace));
            loop {
                tokio::select! {
                    biased;
                    status = &mut ending => break status,
                    () = self.stderr.next(chunk, bytes_max) => tokio::task::yield_now().await,
                }
            }
        };
        self.stderr.drain(chunk, bytes_max);
        faults::point("child ended");
        // If we are a subreaper, killed orphans are ours to reap.
        orphans::reap_orphans();
        let how = match status {
            Some(how) if ended_before => how,
            _ if self.has_wanted_terminal => How::WantedTerminal,
            Some(_) | None => How::Cancelled,
        };
        InteractiveEnd { how, stderr: self.stderr.captured }
    }
}

impl From<InteractiveLaunch> for Launch {
    fn from(launch: InteractiveLaunch) -> Self {
        let InteractiveLaunch { program, args, shared_env, env, working_dir, .. } = launch;
        Launch {
            program,
            args,
            shared_env,
            env,
            working_dir,
            stdin: Vec::new(),
            // The three that only `run` keeps.
            timeout: Duration::MAX,
            linger: Duration::ZERO,
            output_bytes_max: launch.stderr_bytes_max,
            kill_grace: launch.kill_grace,
            run_id: launch.run_id,
        }
    }
}

fn open_pipes() -> io::Result<((ChildStreams, OutputPipe), ChildEnds)> {
    let (child_stdin, our_stdin) = io::pipe()?;
    let (our_stdout, child_stdout) = io::pipe()?;
    let (our_stderr, child_stderr) = io::pipe()?;
    ioctl_fionbio(&our_stdin, true)?;
    ioctl_fionbio(&our_stdout, true)?;
    let streams = ChildStreams {
        stdin: pipe::Sender::from_owned_fd_unchecked(OwnedFd::from(our_stdin))?,
        stdout: pipe::Receiver::from_owned_fd_unchecked(OwnedFd::from(our_stdout))?,
    };
    let ends = ChildEnds { stdin: child_stdin, stdout: child_stdout, stderr: child_stderr };
    Ok(((streams, OutputPipe::new(our_stderr)?), ends))
}
