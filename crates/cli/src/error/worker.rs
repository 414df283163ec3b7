//! What a person can do about workers, and sessions that are submitted to them.

use hookwright_config::Fault;
use hookwright_pipeline::trees::{CarryError, SetupError, TreeError, WorkFolderError};
use hookwright_pipeline::work_keeper::{KeepError, TakeError};

use super::session::of_work;
use super::{Failure, Message, advice};

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
    /// The user's secrets cannot be read.
    Secrets { faults: Vec<Fault> },
    /// All generated names were taken at the same moment.
    NoNameIsFree,
    /// The project's commit cannot be sent to workers.
    NotCarried { error: CarryError },
    /// The session was submitted without a commit.
    NothingCarried,
    /// The folder of work trees cannot be used.
    NoWorkFolder { error: WorkFolderError },
    /// The work tree of a session cannot be made.
    NoWork { error: TakeError },
    /// The command that sets a work tree up has failed.
    NoSetup { error: SetupError },
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
                format!("`{project}` is neither a folder nor the name of the project in the working directory"),
                "name the folder of a checkout: `hookwright worker --project DIR`".to_owned(),
            ),
            Self::Secrets { faults } => (
                faults.first().map_or_else(
                    || "secrets.env cannot be read".to_owned(),
                    |fault| advice(fault).heading,
                ),
                "`hookwright check` shows what is wrong with secrets.env".to_owned(),
            ),
            Self::NotCarried { error } => (
                format!("this project cannot be sent to workers: {error}"),
                of_carrying(error).to_owned(),
            ),
            Self::NothingCarried => (
                "the session was submitted without a commit, by an older version".to_owned(),
                SUBMIT_AGAIN.to_owned(),
            ),
            Self::NoWorkFolder { error } => {
                (format!("cannot make work trees here: {error}"), of_work_folder(error))
            }
            Self::NoWork { error } => (
                format!("cannot make the work tree of the session: {error}"),
                of_taking(error).to_owned(),
            ),
            Self::NoSetup { error } => (
                format!("cannot set the work tree up: {error}"),
                "correct `worker.setup` in hookwright.yaml, or the command of `hookwright worker \
                 --setup`"
                    .to_owned(),
            ),
            Self::NoNameIsFree => (
                "cannot find a free name for the session".to_owned(),
                "run it again, or choose a name with `--session`".to_owned(),
            ),
        };
        Message { heading, place: None, help }
    }
}

const SUBMIT_AGAIN: &str = "submit it again: `hookwright run FILE --on workers`";

/// What to do if a worker cannot make the work tree of a session.
fn of_taking(error: &TakeError) -> &'static str {
    match error {
        TakeError::Name(_) => SUBMIT_AGAIN,
        TakeError::Keep(KeepError::Tree(TreeError::Unreachable { .. })) => {
            "check the worker's access to the git remote"
        }
        TakeError::Keep(error) => of_work(error),
    }
}

/// What to do if a folder cannot be used for work trees.
fn of_work_folder(error: &WorkFolderError) -> String {
    match error {
        WorkFolderError::NotAFolder { path } | WorkFolderError::OfAnotherUser { path } => format!(
            "find out who made it; then remove `{}`, or set another folder: `worker: {{folder: …}}` \
             in hookwright.yaml",
            path.display()
        ),
        WorkFolderError::WritableByOthers { path } => format!(
            "if all in it is yours, run `chmod go-w '{}'`; otherwise remove it",
            path.display()
        ),
        WorkFolderError::Tracked { path } => format!(
            "a repository must not contain what workers make: `git rm -r --cached '{path}'`, and \
             remove it"
        ),
        WorkFolderError::System { .. } => "check the rights of the folder".to_owned(),
        WorkFolderError::Git(_) => "check the checkout: `git status`".to_owned(),
    }
}

/// What to do if a project cannot be sent to workers.
fn of_carrying(error: &CarryError) -> &'static str {
    match error {
        CarryError::NotARepository { .. } => {
            "put it into one that has a remote: `git init`, commit its files, and `git remote add \
             origin ADDRESS`"
        }
        CarryError::Ignored { .. } => {
            "remove the rule that `git check-ignore --verbose .` shows, and commit the project"
        }
        CarryError::NoCommit { .. } => "commit something: `git commit`",
        CarryError::NoRemote { .. } => "add a remote: `git remote add origin ADDRESS`",
        CarryError::SeveralRemotes { .. } => {
            "choose one for this branch: `git branch --set-upstream-to=REMOTE/BRANCH`"
        }
        CarryError::PasswordInAddress { .. } => {
            "keep the password in a credential helper: `git remote set-url NAME ADDRESS`"
        }
        CarryError::RelativeAddress { .. } => {
            "set an address that workers can reach: `git remote set-url NAME ADDRESS`"
        }
        CarryError::Shallow { .. } => "fetch the rest: `git fetch --unshallow`",
        CarryError::Tree(TreeError::Unreachable { .. }) => {
            "check the address and your access: `git push --dry-run`"
        }
        CarryError::Tree(TreeError::Refused { .. }) => "ask for the right to push to the remote",
        CarryError::Tree(TreeError::HoldsSecret { .. }) => {
            "remove the secret from the commits that the remote does not have"
        }
        CarryError::Tree(TreeError::NoGit) => "install git, here and on the machines of workers",
        CarryError::Tree(
            TreeError::Failed { .. }
            | TreeError::TookTooLong { .. }
            | TreeError::MissingCommit { .. }
            | TreeError::Missing { .. }
            | TreeError::File { .. },
        ) => "check the repository: `git status`",
    }
}
