//! What a person can do about workers, and sessions that are submitted to them.

use std::io;

use hookwright_config::Fault;

use super::{Failure, Message, advice, without_number};

/// Why a session cannot be submitted, or a worker cannot work.
#[derive(Debug)]
pub(crate) enum WorkerFailure {
    /// The store is a file, which no other machine can reach.
    NoDatabase,
    /// Hooks are switched off for sessions that run elsewhere.
    SwitchesOnWorkers,
    /// A session on workers is to continue in another way than it was submitted.
    ChangedOnWorkers { name: String },
    /// The named project is neither a folder nor the project of the working directory.
    NoCheckout { project: String },
    /// A process for a session cannot be started.
    NoProcess { cause: io::Error },
    /// The user's secrets cannot be read.
    Secrets { faults: Vec<Fault> },
    /// All generated names were taken at the same moment.
    NoNameIsFree,
}

impl From<WorkerFailure> for Failure {
    fn from(failure: WorkerFailure) -> Self {
        Failure::Worker(failure)
    }
}

impl WorkerFailure {
    pub(super) fn message(&self) -> Message {
        let (heading, help) = match self {
            Self::NoDatabase => (
                "workers need a Postgres store, but your sessions are in a file on this machine"
                    .to_owned(),
                "set `store: postgres://USER@HOST/DATABASE` in ~/.config/hookwright/store.yaml and \
                 run `hookwright store init`; docs/machines.md shows each step"
                    .to_owned(),
            ),
            Self::SwitchesOnWorkers => (
                "hooks cannot be switched off for sessions on workers".to_owned(),
                "leave out `--no-hooks` and `--skip`; remove the hooks from the files instead"
                    .to_owned(),
            ),
            Self::ChangedOnWorkers { name } => (
                format!("session `{name}` runs on workers, which continue it as it was submitted"),
                format!(
                    "leave out `--reload`, `--no-hooks` and `--skip`: `hookwright resume {name}`"
                ),
            ),
            Self::NoCheckout { project } => (
                format!("there is no folder `{project}`, and it is not the project here"),
                "name the folder of a checkout: `hookwright worker --project DIR`".to_owned(),
            ),
            Self::NoProcess { cause } => (
                format!("cannot start a process for a session: {}", without_number(cause)),
                "check the limits of this user and the machine's memory".to_owned(),
            ),
            Self::Secrets { faults } => (
                faults.first().map_or_else(
                    || "secrets.env cannot be read".to_owned(),
                    |fault| advice(fault).heading,
                ),
                "`hookwright check` shows what is wrong with secrets.env".to_owned(),
            ),
            Self::NoNameIsFree => (
                "cannot find a free name for the session".to_owned(),
                "run it again, or choose a name with `--session`".to_owned(),
            ),
        };
        Message { heading, place: None, help }
    }
}
