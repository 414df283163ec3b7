//! Every error that a user can see: heading, place, help and exit code.
//!
//! Libraries return facts; the advice is written here, once, and every variant is matched, so that
//! a new one makes the compiler ask what a person should do about it. Each area that commands deal
//! with has a file of its own in `error/`; the faults of a configuration are in `error/advice.rs`.

mod advice;
mod agent;
mod approval;
mod connecting;
mod editing;
mod event_data;
mod firing;
mod importing;
mod not_a_person;
mod probing;
mod project;
mod serving;
mod session;
mod storage;
mod store_settings;
mod task;
mod testing;
mod trust;
mod warning;
mod work;
mod worker;

use std::io;
use std::path::PathBuf;

use hookwright_server::board::serving::ServeError;
use hookwright_store::StoreError;

pub(crate) use self::advice::{Advice, advice, fault_json};
pub(crate) use self::agent::{AgentFailure, model_help};
pub(crate) use self::approval::ApprovalFailure;
pub(crate) use self::connecting::{ConnectFailure, SettingsFileError};
pub(crate) use self::editing::EditFailure;
pub(crate) use self::event_data::{DataFailure, unknown_field};
pub(crate) use self::firing::{Certainty, fired_by, unfired_together};
pub(crate) use self::importing::{ImportFailure, still_found};
pub(crate) use self::not_a_person::{CallerPlace, PersonalDecision};
pub(crate) use self::probing::{ProbeFailure, ProbingFailure};
pub(crate) use self::project::ProjectFailure;
pub(crate) use self::session::{CANDIDATES_MAX, SessionFailure};
use self::storage::of_store;
pub(crate) use self::task::TaskFailure;
pub(crate) use self::testing::{ProjectCopyError, TestFailure};
pub(crate) use self::warning::{cut_folder, warning_advice, warning_json};
pub(crate) use self::work::WorkFailure;
pub(crate) use self::worker::WorkerFailure;
use crate::exit_code;
use crate::store_settings::StoreSettingsFailure;
use crate::trust::TrustError;
use crate::unasked::{self, Asker, Unasked};

/// What ends a command before it has done its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The folder has two files that could both be the configuration.
    MoreThanOneFile { folder: PathBuf, names: Vec<&'static str> },
    /// The path of a configuration is a pipe, a socket or a device.
    NotAFile { path: PathBuf },
    /// `HOME` is not an absolute path, so the user's own hooks cannot be found.
    HomeNotAbsolute { home: PathBuf },
    /// `--dialect` without `--config`.
    DialectOfNoFile { dialect: String },
    /// The file is already native, or its format is unknown.
    NothingToImport { file: PathBuf },
    /// `init` does not overwrite an existing file.
    FileIsThere { name: &'static str },
    /// `init` cannot write its file.
    CannotCreate { path: PathBuf, cause: io::Error },
    /// The terminal cannot be read.
    CannotAsk { cause: io::Error },
    /// There is no template of this name.
    UnknownTemplate { name: String, nearest: Option<&'static str> },
    /// The agent's input to `hook` is not an event.
    NoEventOfAgent { agent: &'static str, cause: String },
    /// The async runtime cannot start.
    NoRuntime { cause: io::Error },
    /// The folder of `--cwd` cannot be used.
    NoSuchFolder { folder: PathBuf, cause: io::Error },
    /// The working directory was deleted or is not accessible.
    NoWorkingDirectory { cause: io::Error },
    /// There is no event of this name.
    UnknownEvent { name: String, nearest: Option<&'static str> },
    /// An event of an open namespace, which the table does not describe.
    UnlistedEvent { name: String },
    /// Standard output cannot be written to.
    CannotWrite { cause: io::Error },
    /// Neither `XDG_STATE_HOME` nor `HOME` says where the user's state is.
    NoStateFolder,
    /// The store cannot be used.
    Store(StoreError),
    /// The settings of the store cannot be used.
    StoreSettings(StoreSettingsFailure),
    /// A command for databases, and the store is a file.
    NoDatabase,
    /// Sessions are moved to a database, and there is no file to move them from.
    NothingToMove,
    /// A file cannot be edited.
    Edit(EditFailure),
    /// `import --replace` cannot replace the file.
    Import(ImportFailure),
    /// The trust file cannot be read or changed.
    Trust(TrustError),
    /// Some files are not trusted, and there is no terminal to ask on.
    NoTerminalToAsk { places: Vec<PathBuf> },
    /// An agent, a session or a hook asked for what only a person may do.
    NotAPerson { decision: PersonalDecision, place: CallerPlace },
    /// An agent's settings cannot be changed.
    Connect(ConnectFailure),
    /// `--data` is not the data of an event.
    Data(DataFailure),
    /// Test cases cannot run.
    Test(TestFailure),
    /// The built-in agent cannot start.
    Agent(AgentFailure),
    /// A session cannot be used as asked.
    Session(SessionFailure),
    /// A session cannot be submitted, or a worker cannot work.
    Worker(WorkerFailure),
    /// A question cannot be answered or found.
    Approval(ApprovalFailure),
    /// A piece of work cannot be used.
    Work(WorkFailure),
    /// The project's name cannot be used.
    Project(ProjectFailure),
    /// A task cannot be used as asked.
    Task(TaskFailure),
    /// The page of sessions cannot be served.
    Serve(ServeError),
    /// An agent cannot be probed.
    Probing(ProbingFailure),
}

/// The text of a [`Failure`] for people.
pub(crate) struct Message {
    pub(crate) heading: String,
    pub(crate) place: Option<String>,
    pub(crate) help: String,
}

impl Message {
    /// The same in one line, for agents.
    pub(crate) fn in_one_line(&self) -> String {
        let place = self.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        format!("{place}{} ({})", self.heading, self.help)
    }
}

impl Failure {
    /// Its exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::NoEventOfAgent { .. } => {
                unasked::exit_code(None, Unasked::NotStarted, Asker::Agent)
            }
            Failure::MoreThanOneFile { .. }
            | Failure::NotAFile { .. }
            | Failure::HomeNotAbsolute { .. }
            | Failure::DialectOfNoFile { .. }
            | Failure::NothingToImport { .. }
            | Failure::FileIsThere { .. }
            | Failure::CannotCreate { .. }
            | Failure::CannotAsk { .. }
            | Failure::UnknownTemplate { .. }
            | Failure::NoRuntime { .. }
            | Failure::NoSuchFolder { .. }
            | Failure::NoWorkingDirectory { .. }
            | Failure::UnknownEvent { .. }
            | Failure::UnlistedEvent { .. }
            | Failure::CannotWrite { .. }
            | Failure::NoStateFolder
            | Failure::Store(_)
            | Failure::StoreSettings(_)
            | Failure::NoDatabase
            | Failure::NothingToMove
            | Failure::Edit(_)
            | Failure::Import(_)
            | Failure::Trust(_)
            | Failure::NoTerminalToAsk { .. }
            | Failure::NotAPerson { .. }
            | Failure::Connect(_)
            | Failure::Work(_)
            | Failure::Project(_)
            | Failure::Serve(_)
            | Failure::Probing(_)
            | Failure::Approval(_)
            | Failure::Task(_)
            | Failure::Data(_)
            | Failure::Test(_)
            | Failure::Agent(_)
            | Failure::Worker(_)
            | Failure::Session(_) => exit_code::OUR_FAULT,
        }
    }

    /// Whether guards may exist that could not be read. Then everything that can be blocked is blocked.
    pub(crate) fn is_about_configuration(&self) -> bool {
        matches!(
            self,
            Failure::MoreThanOneFile { .. }
                | Failure::NotAFile { .. }
                | Failure::HomeNotAbsolute { .. }
                | Failure::NoWorkingDirectory { .. }
        )
    }

    /// The text for people.
    pub(crate) fn message(&self) -> Message {
        match self {
            Failure::NotAFile { path } => Message {
                heading: "expected a file but found a pipe, a socket or a device".into(),
                place: Some(path.display().to_string()),
                help: "remove it, or name a file with `--config`".into(),
            },
            Failure::HomeNotAbsolute { home } => Message {
                heading: format!("HOME is `{}`, expected an absolute path", home.display()),
                place: None,
                help: "set HOME to your home folder: hooks for all projects are found there".into(),
            },
            Failure::DialectOfNoFile { dialect } => Message {
                heading: format!("`--dialect {dialect}` needs a file"),
                place: None,
                help: format!("name it: `--config FILE --dialect {dialect}`"),
            },
            Failure::NothingToImport { file } => Message {
                heading: "cannot tell which system this file is from".into(),
                place: Some(file.display().to_string()),
                help: format!("name it: `hookwright import FILE --dialect {}`", dialects()),
            },
            Failure::FileIsThere { name } => Message {
                heading: format!("`{name}` already exists, and `init` never overwrites a file"),
                place: None,
                help: "`hookwright template show NAME` prints hooks to copy into it".into(),
            },
            Failure::CannotCreate { path, cause } => Message {
                heading: format!("the file cannot be written: {}", without_number(cause)),
                place: Some(path.display().to_string()),
                help: "make the folder writable, or name another with `--cwd DIR`".into(),
            },
            Failure::CannotAsk { cause } => Message {
                heading: format!("the terminal cannot be read: {}", without_number(cause)),
                place: None,
                help: "choose a template: `hookwright init --template block-sudo`".into(),
            },
            Failure::UnknownTemplate { name, nearest } => Message {
                heading: format!("unknown template `{name}`"),
                place: None,
                help: did_you_mean(*nearest)
                    .unwrap_or_else(|| "`hookwright template list` lists them".into()),
            },
            Failure::NoEventOfAgent { agent, cause } => Message {
                heading: format!("expected an event of {agent} but found none: {cause}"),
                place: Some("standard input".into()),
                help: format!(
                    "{agent} calls `hookwright hook`; to try hooks yourself: `hookwright fire \
                     EVENT --data JSON`"
                ),
            },
            Failure::NoRuntime { cause } => Message {
                heading: format!("cannot start the async runtime: {}", without_number(cause)),
                place: None,
                help: "raise the limit on open files (`ulimit -n`)".into(),
            },
            Failure::MoreThanOneFile { folder, names } => Message {
                heading: format!(
                    "expected one configuration in this folder but found {}",
                    quoted(names, " and ")
                ),
                place: Some(folder.display().to_string()),
                help: format!(
                    "move everything into `{}` and remove the others, or name one file with \
                     `--config`",
                    names[0]
                ),
            },
            Failure::NoSuchFolder { folder, cause } => Message {
                heading: format!("`--cwd` names no usable folder: {}", without_number(cause)),
                place: Some(folder.display().to_string()),
                help: "name a folder that exists, or leave `--cwd` out".into(),
            },
            Failure::NoWorkingDirectory { cause } => Message {
                heading: format!("the working directory cannot be used: {}", without_number(cause)),
                place: None,
                help: "change to a folder that exists, or name one with `--cwd DIR`".into(),
            },
            Failure::UnknownEvent { name, nearest } => Message {
                heading: format!("unknown event `{name}`"),
                place: None,
                help: did_you_mean(*nearest)
                    .unwrap_or_else(|| "`hookwright events` lists every event".into()),
            },
            Failure::UnlistedEvent { name } => Message {
                heading: format!("hookwright has no description of `{name}`"),
                place: None,
                help: "hooks can listen to it; its data is whatever the agent sends".into(),
            },
            Failure::CannotWrite { cause } => Message {
                heading: format!("standard output cannot be written to: {}", without_number(cause)),
                place: None,
                help: "free space where the output goes, or redirect it".into(),
            },
            Failure::NoStateFolder => Message {
                heading: "cannot locate the state folder: HOME is not set".into(),
                place: None,
                help: "set HOME, or set XDG_STATE_HOME to a folder".into(),
            },
            Failure::Store(error) => of_store(error),
            Failure::StoreSettings(failure) => failure.message(),
            Failure::NoDatabase => storage::no_database(),
            Failure::NothingToMove => storage::nothing_to_move(),
            Failure::Edit(failure) => failure.message(),
            Failure::Import(failure) => failure.message(),
            Failure::Trust(error) => trust::of_trust(error),
            Failure::NoTerminalToAsk { places } => trust::no_terminal_to_ask(places),
            Failure::NotAPerson { decision, place } => not_a_person::message(*decision, place),
            Failure::Connect(failure) => failure.message(),
            Failure::Data(failure) => failure.message(),
            Failure::Test(failure) => failure.message(),
            Failure::Session(failure) => failure.message(),
            Failure::Worker(failure) => failure.message(),
            Failure::Agent(failure) => failure.message(),
            Failure::Work(failure) => failure.message(),
            Failure::Project(failure) => failure.message(),
            Failure::Approval(failure) => failure.message(),
            Failure::Task(failure) => failure.message(),
            Failure::Serve(error) => serving::of_serving(error),
            Failure::Probing(failure) => failure.message(),
        }
    }
}

/// The systems whose files we read.
fn dialects() -> String {
    let names = hookwright_dialects::all().iter().map(|foreign| foreign.name());
    let names = names.chain(hookwright_dialects::agent_files::names());
    names.collect::<Vec<_>>().join("|")
}

fn did_you_mean(nearest: Option<&str>) -> Option<String> {
    nearest.map(|name| format!("did you mean `{name}`?"))
}

fn quoted(words: &[&str], between: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(between)
}

pub(crate) fn without_number(error: &io::Error) -> String {
    cut_number(&error.to_string()).to_owned()
}

/// The system's words without `(os error 13)`.
fn cut_number(cause: &str) -> &str {
    cause.split(" (os error").next().unwrap_or(cause)
}
