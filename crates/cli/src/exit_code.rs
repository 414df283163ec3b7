//! Every exit code, each with its sentence. Hosts act on these numbers, so they never change.

/// Go on: nothing stands against it. For `check`: no faults. For `test`: every case passed. For `run`
/// and `resume`: the session is completed, also by `max_iterations` or `max_runtime`. For `trust`: all
/// the files are trusted.
pub(crate) const GO_ON: u8 = 0;

/// Our own fault, bad usage, or a faulty configuration. For `check`: there are faults, or
/// warnings with `--strict`. For `run`: nothing was started, or what happened could not be written
/// down. For `trust`: a file is not trusted, because nobody said yes or it cannot be read.
pub(crate) const OUR_FAULT: u8 = 1;

/// `fire`: block what the event announced: a hook says so, has failed as a guard, or cannot be read.
/// `hook`: the same, where the agent reads it from nothing but the exit code. `task done`: a hook says
/// that the task is not done.
pub(crate) const BLOCK: u8 = 2;

/// `fire`: end the pipeline (abort), or the turn or session (`continue: false`). For `run`: a hook did
/// that.
pub(crate) const ABORT: u8 = 3;

/// `fire`: a person has to be asked first.
pub(crate) const ASK: u8 = 4;

/// `test`: at least one case failed. `run`: the session failed.
pub(crate) const FAILED: u8 = 5;

/// `run`: the session waits for a person: for an agent that cannot work, or because it has cost as much
/// as it may. `resume` goes on with it.
pub(crate) const PAUSED: u8 = 6;

/// Interrupted. For `fire`: and nothing was blocked. For `run`: `resume` goes on with the session.
pub(crate) const INTERRUPTED: u8 = 130;
