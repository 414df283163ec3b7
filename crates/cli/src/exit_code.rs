//! Every exit code, each with its sentence. Hosts act on these numbers, so they never change.

/// Continue: no hook objects. For `check`: no faults. For `test`: every case passed. For `run` and
/// `resume`: the session is completed, also by `max_iterations` or `max_runtime`. For `trust`: all
/// the files are trusted.
pub(crate) const GO_ON: u8 = 0;

/// An error of hookwright, bad usage, or a faulty configuration. For `check`: there are faults, or
/// warnings with `--strict`. For `run`: nothing was started, or the journal could not be written.
/// For `trust`: a file is not trusted, because it was not confirmed or cannot be read.
pub(crate) const OUR_FAULT: u8 = 1;

/// `fire`: block what the event announced: a hook blocks it, has failed as a guard, or cannot be
/// read. `hook`: the same, where the agent reads only the exit code. `task done`: a hook says that
/// the task is not done.
pub(crate) const BLOCK: u8 = 2;

/// `fire`: end the pipeline (abort), or the turn or session (`continue: false`). For `run`: a hook did
/// that.
pub(crate) const ABORT: u8 = 3;

/// `fire`: a person has to decide first.
pub(crate) const ASK: u8 = 4;

/// `test`: at least one case failed. `run`: the session failed.
pub(crate) const FAILED: u8 = 5;

/// `run`: the session waits for a person, because no agent can work or because it has reached its
/// cost limit. `resume` continues it.
pub(crate) const PAUSED: u8 = 6;

/// Interrupted. For `fire`: and nothing was blocked. For `run`: `resume` continues the session.
pub(crate) const INTERRUPTED: u8 = 130;
