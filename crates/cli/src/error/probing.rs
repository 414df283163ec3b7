//! What a person can do when an agent cannot be probed.

use std::io;
use std::path::PathBuf;

use hookwright_dialects::hosts::Host;

use super::{Message, without_number};

/// Why an agent was not looked at.
#[derive(Debug)]
pub(crate) enum ProbingFailure {
    /// Its program is not in `PATH`.
    NotInstalled { host: &'static Host },
    /// The probe itself failed.
    Probe(&'static Host, ProbeFailure),
}

/// Why an agent could not be probed.
#[derive(Debug)]
pub(crate) enum ProbeFailure {
    /// A home for it could not be made.
    NoHome(io::Error),
    /// The model server could not be started.
    NoModel(io::Error),
    /// The user interrupted it.
    Interrupted,
    /// This program's own path is unknown.
    NoOwnProgram(io::Error),
    /// The user's settings cannot be read.
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
}

impl ProbingFailure {
    pub(super) fn message(&self) -> Message {
        let plain = |heading: String, help: String| Message { heading, place: None, help };
        match self {
            ProbingFailure::NotInstalled { host } => plain(
                format!(
                    "{} is not installed: no `{}` in PATH",
                    host.display_name, host.program.name
                ),
                format!("install it: `{}`", host.program.install_command()),
            ),
            ProbingFailure::Probe(host, failure) => {
                let name = host.display_name;
                match failure {
                    ProbeFailure::NoHome(cause) => plain(
                        format!("no home for {name} can be made: {}", without_number(cause)),
                        "free space in the folder for temporary files, or name another: `TMPDIR=DIR`".into(),
                    ),
                    ProbeFailure::NoModel(cause) => plain(
                        format!("the model server cannot be started: {}", without_number(cause)),
                        "let programs listen on 127.0.0.1".into(),
                    ),
                    ProbeFailure::NoOwnProgram(cause) => plain(
                        format!("the path of hookwright itself is unknown: {}", without_number(cause)),
                        "start hookwright by its full path".into(),
                    ),
                    ProbeFailure::Interrupted => plain(
                        format!("the probe of {name} was interrupted, so nothing is proven"),
                        format!("run it again: `hookwright doctor --probe {}`", host.name),
                    ),
                    ProbeFailure::Settings { path, cause } => Message {
                        heading: format!("the settings of {name} cannot be read: {cause}"),
                        place: Some(path.display().to_string()),
                        help: "repair the file".into(),
                    },
                }
            }
        }
    }
}
