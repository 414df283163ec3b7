//! Turns a [`Launch`] into a running child, or returns why not.
//!
//! `spawn.rs` makes the call; this file prepares it and explains its failure.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use tokio::time::{Instant, sleep};

use crate::end_of_leader::OwnedLeader;
use crate::find_program::is_executable;
use crate::pipes::{ChildEnds, Pipes};
use crate::spawn::Program;
use crate::{Launch, MARKER, running};

/// How long a start waits for other runs to release file descriptors.
const DESCRIPTORS_WAIT_MAX: Duration = Duration::from_secs(5);
const DESCRIPTORS_PAUSE: Duration = Duration::from_millis(10);

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// There is no such program.
    #[error("`{}` does not exist", program.display())]
    ProgramMissing {
        /// The program's path.
        program: PathBuf,
    },
    /// The interpreter in its first line does not exist.
    #[error("`{}` names an interpreter that does not exist", program.display())]
    InterpreterMissing {
        /// The program's path.
        program: PathBuf,
    },
    /// It may not be run.
    #[error("`{}` is not executable", program.display())]
    NotExecutable {
        /// The program's path.
        program: PathBuf,
    },
    /// The working directory does not exist.
    #[error("the working directory `{}` does not exist", working_dir.display())]
    WorkingDirMissing {
        /// The directory's path.
        working_dir: PathBuf,
    },
    /// The working directory is not a directory.
    #[error("the working directory `{}` is not a directory", working_dir.display())]
    WorkingDirNotADirectory {
        /// The path.
        working_dir: PathBuf,
    },
    /// Arguments and environment together are larger than the system allows.
    #[error("the arguments and environment of `{}` are too big for the system", program.display())]
    TooBig {
        /// The program's path.
        program: PathBuf,
    },
    /// The system refused, for another reason.
    #[error("`{}` could not be started: {source}", program.display())]
    Other {
        /// The program's path.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Starts the child. As much of its standard input as fits is already written.
pub(crate) async fn start(mut launch: Launch) -> Result<(OwnedLeader, Pipes), StartFailure> {
    let (stdin, bytes_max) = (std::mem::take(&mut launch.stdin), launch.output_bytes_max);
    start_with(launch, || Pipes::open(bytes_max), |pipes| pipes.child_runs(stdin)).await
}

/// Starts the child with these pipes, which are opened again where descriptors were missing, and
/// calls `runs` before the child's ends of them are closed here.
pub(crate) async fn start_with<P>(
    launch: Launch,
    open: impl Fn() -> io::Result<(P, ChildEnds)>,
    runs: impl FnOnce(&mut P),
) -> Result<(OwnedLeader, P), StartFailure> {
    // A bare name would be searched in PATH.
    let program = if launch.program.components().count() == 1 && !launch.program.is_absolute() {
        Path::new(".").join(&launch.program)
    } else {
        launch.program.clone()
    };
    let marker = launch.marker();
    let shared =
        launch.shared_env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let own = launch.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let environment = shared.chain(own).chain([(OsStr::new(MARKER), marker.as_os_str())]);
    let prepared = Program::new(&program, &launch.args, environment, &launch.working_dir);
    let prepared = prepared.map_err(|problem| failure(problem, &program, &launch.working_dir))?;

    let patience = Instant::now() + DESCRIPTORS_WAIT_MAX;
    loop {
        let problem = match open() {
            Ok((mut pipes, ends)) => {
                match running::spawn(&prepared, &ends, &launch.run_id) {
                    Ok(child) => {
                        runs(&mut pipes);
                        // If the child's ends stayed open here, the output could never end.
                        drop(ends);
                        return Ok((OwnedLeader::new(child, launch.run_id), pipes));
                    }
                    Err(problem) => problem,
                }
            }
            Err(problem) => problem,
        };
        match Errno::from_io_error(&problem) {
            Some(Errno::MFILE | Errno::NFILE) if Instant::now() < patience => {
                sleep(DESCRIPTORS_PAUSE).await;
            }
            _ => return Err(failure(problem, &program, &launch.working_dir)),
        }
    }
}

/// Distinguishes failures that the system reports with one number.
fn failure(source: io::Error, program: &Path, working_dir: &Path) -> StartFailure {
    let place = working_dir.join(program);
    let (program, working_dir) = (program.to_owned(), working_dir.to_owned());
    match Errno::from_io_error(&source) {
        Some(Errno::TOOBIG) => StartFailure::TooBig { program },
        Some(Errno::NOENT | Errno::NOTDIR) if !working_dir.exists() => {
            StartFailure::WorkingDirMissing { working_dir }
        }
        Some(Errno::NOENT | Errno::NOTDIR) if !working_dir.is_dir() => {
            StartFailure::WorkingDirNotADirectory { working_dir }
        }
        Some(Errno::NOENT | Errno::NOTDIR) if !place.exists() => {
            StartFailure::ProgramMissing { program }
        }
        Some(Errno::NOENT) => StartFailure::InterpreterMissing { program },
        Some(Errno::ACCESS) if !is_executable(&place) => StartFailure::NotExecutable { program },
        _ => StartFailure::Other { program, source },
    }
}
