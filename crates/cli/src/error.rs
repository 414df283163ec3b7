//! Everything that can be wrong, in words for people: heading, place, help and exit code.
//!
//! Libraries return facts; the advice is written here, once, and every variant is matched, so that
//! a new one makes the compiler ask what a person should do about it. The faults of a configuration
//! are in `error/advice.rs`.

mod advice;
mod approval;
mod editing;
mod serving;
mod storage;
mod task;
mod trust;
mod work;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_pipeline::folder::{FolderError, SessionNameError};
use hookwright_pipeline::history::HistoryError;
use hookwright_pipeline::session::SessionError;
use hookwright_server::board::serving::ServeError;
use hookwright_store::StoreError;

pub(crate) use self::advice::{Advice, advice, fault_json, warning_advice, warning_json};
pub(crate) use self::approval::ApprovalFailure;
pub(crate) use self::editing::EditFailure;
use self::storage::{of_folder, of_store};
pub(crate) use self::task::TaskFailure;
pub(crate) use self::work::WorkFailure;
use crate::commands::TreeError;
use crate::exit_code;
use crate::trust::TrustError;

/// What ends a command before it has done its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Two files of which only one can be meant.
    MoreThanOneFile { folder: PathBuf, names: Vec<&'static str> },
    /// A pipe, socket or device where a configuration is looked for.
    NotAFile { path: PathBuf },
    /// HOME leads nowhere, so the user's own hooks cannot be found.
    HomeNotAbsolute { home: PathBuf },
    /// `--dialect` without a file that it is about.
    DialectOfNoFile { dialect: String },
    /// A file that is native already, or nobody's.
    NothingToImport { file: PathBuf },
    /// `init` never overwrites.
    FileIsThere { name: &'static str },
    /// A file of ours cannot be written.
    CannotCreate { path: PathBuf, cause: io::Error },
    /// The terminal cannot be read.
    CannotAsk { cause: io::Error },
    /// No template is called like that.
    UnknownTemplate { name: String, nearest: Option<&'static str> },
    /// `--data` cannot be read.
    DataUnreadable { source: String, cause: io::Error },
    /// What an agent sends to `hook` is no event.
    NoEventOfAgent { agent: &'static str, cause: String },
    /// `--data` is larger than any event.
    DataTooLarge { source: String, bytes_max: u64 },
    /// `--data` is no JSON.
    DataNotJson { source: String, cause: serde_json::Error },
    /// `--data` is JSON, but no object.
    DataNotAnObject { source: String, found: &'static str },
    /// `--data` say themselves that they belong to another event.
    DataOfOtherEvent { source: String, field: &'static str, named: String, fired: String },
    /// The system does not let us wait for anything.
    NoRuntime { cause: io::Error },
    /// `--cwd` names no folder that we can use.
    NoSuchFolder { folder: PathBuf, cause: io::Error },
    /// The folder we were started in is gone or closed to us.
    NoWorkingDirectory { cause: io::Error },
    /// No event is called like that.
    UnknownEvent { name: String, nearest: Option<&'static str> },
    /// An event of the open namespace, about which the table says nothing.
    UnlistedEvent { name: String },
    /// `test` without hooks to test.
    NoHookFile { folder: PathBuf },
    /// `test` without test files.
    NoTestFiles { looked_in: Vec<PathBuf> },
    /// `test` with files that hold no case, or none of that name.
    NoCases { filter: Option<String> },
    /// `test` while hooks are switched off.
    SwitchedOff { by: &'static str },
    /// The project cannot be copied for a test.
    CannotCopy { root: PathBuf, cause: TreeError },
    /// Standard output cannot be written to.
    CannotWrite { cause: io::Error },
    /// Nobody knows where the user's state is kept.
    NoStateFolder,
    /// The store cannot be used.
    Store(StoreError),
    /// A session's journal cannot be used.
    History(HistoryError),
    /// No session can be called like that.
    SessionName(SessionNameError),
    /// A session that is completed has this name.
    SessionTaken { name: String },
    /// Files of a session that nothing is recorded of.
    FolderTaken { name: String, folder: PathBuf },
    /// A session's folder cannot be made, so nothing was started.
    SessionFolder(FolderError),
    /// A session that is not completed has this name.
    SessionUnfinished { name: String, status: String },
    /// Another process runs the session.
    SessionRuns { name: String, pid: u32 },
    /// No session has this name.
    NoSuchSession { name: String },
    /// A session without the configuration that it began with.
    NothingKept { name: String },
    /// A session that a hook has started shall be resumed, or ended, by itself.
    OfHook { name: String, command: &'static str, origin: String, is_completed: bool },
    /// A session could not go on.
    Session(SessionError),
    /// This project has no session.
    NoSessions { project: PathBuf },
    /// Nobody runs the session that shall be ended.
    SessionNotRunning { name: String, status: String },
    /// Another machine runs the session.
    SessionElsewhere { name: String, pid: u32, host: String },
    /// A process that we may not send signals to runs the session.
    SessionOfOthers { name: String, pid: u32 },
    /// A session that shall end has not ended in time.
    StillRuns { name: String, pid: u32, waited: Duration },
    /// A session's folder cannot be removed.
    FolderStays { name: String, cause: FolderError },
    /// A file was not edited.
    Edit(EditFailure),
    /// What is trusted cannot be read or changed.
    Trust(TrustError),
    /// Files that are not trusted, and no terminal.
    NobodyToAsk { places: Vec<PathBuf> },
    /// Something is wrong with what waits for a person.
    Approval(ApprovalFailure),
    /// A piece of work cannot be used.
    Work(WorkFailure),
    /// Something is wrong with a task.
    Task(TaskFailure),
    /// The page of sessions cannot be served.
    Serve(ServeError),
}

/// What a person is told about a [`Failure`].
pub(crate) struct Message {
    pub(crate) heading: String,
    pub(crate) place: Option<String>,
    pub(crate) help: String,
}

impl Failure {
    /// The exit code it leads to.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            // Nobody knows which event it was, and a guard may stand at it.
            Failure::NoEventOfAgent { .. } => exit_code::BLOCK,
            Failure::MoreThanOneFile { .. }
            | Failure::NotAFile { .. }
            | Failure::HomeNotAbsolute { .. }
            | Failure::DialectOfNoFile { .. }
            | Failure::NothingToImport { .. }
            | Failure::FileIsThere { .. }
            | Failure::CannotCreate { .. }
            | Failure::CannotAsk { .. }
            | Failure::UnknownTemplate { .. }
            | Failure::DataUnreadable { .. }
            | Failure::DataTooLarge { .. }
            | Failure::DataNotJson { .. }
            | Failure::DataNotAnObject { .. }
            | Failure::DataOfOtherEvent { .. }
            | Failure::NoRuntime { .. }
            | Failure::NoSuchFolder { .. }
            | Failure::NoWorkingDirectory { .. }
            | Failure::UnknownEvent { .. }
            | Failure::UnlistedEvent { .. }
            | Failure::NoHookFile { .. }
            | Failure::NoTestFiles { .. }
            | Failure::NoCases { .. }
            | Failure::SwitchedOff { .. }
            | Failure::CannotCopy { .. }
            | Failure::CannotWrite { .. }
            | Failure::NoStateFolder
            | Failure::Store(_)
            | Failure::History(_)
            | Failure::SessionName(_)
            | Failure::SessionTaken { .. }
            | Failure::FolderTaken { .. }
            | Failure::SessionFolder(_)
            | Failure::SessionUnfinished { .. }
            | Failure::SessionRuns { .. }
            | Failure::NoSuchSession { .. }
            | Failure::NothingKept { .. }
            | Failure::OfHook { .. }
            | Failure::Session(_)
            | Failure::NoSessions { .. }
            | Failure::SessionNotRunning { .. }
            | Failure::SessionElsewhere { .. }
            | Failure::SessionOfOthers { .. }
            | Failure::StillRuns { .. }
            | Failure::FolderStays { .. }
            | Failure::Edit(_)
            | Failure::Trust(_)
            | Failure::NobodyToAsk { .. }
            | Failure::Work(_)
            | Failure::Serve(_)
            | Failure::Approval(_)
            | Failure::Task(_) => exit_code::OUR_FAULT,
        }
    }

    /// Whether there may be guards that we could not read. Then whatever can be blocked is.
    pub(crate) fn is_about_configuration(&self) -> bool {
        matches!(
            self,
            Failure::MoreThanOneFile { .. }
                | Failure::NotAFile { .. }
                | Failure::HomeNotAbsolute { .. }
                | Failure::NoWorkingDirectory { .. }
        )
    }

    /// What a person is told.
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
                heading: format!(
                    "`--dialect {dialect}` says how a file is read, but none is named"
                ),
                place: None,
                help: format!("name it: `--config FILE --dialect {dialect}`"),
            },
            Failure::NothingToImport { file } => Message {
                heading: "nothing says which system this file is from".into(),
                place: Some(file.display().to_string()),
                help: format!("name it: `hookwright import FILE --dialect {}`", dialects()),
            },
            Failure::FileIsThere { name } => Message {
                heading: format!("`{name}` is there already, and `init` never overwrites"),
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
                help: "name what you want: `hookwright init --template block-sudo`".into(),
            },
            Failure::UnknownTemplate { name, nearest } => Message {
                heading: format!("unknown template `{name}`"),
                place: None,
                help: did_you_mean(*nearest)
                    .unwrap_or_else(|| "`hookwright template list` lists them".into()),
            },
            Failure::DataUnreadable { source, cause } => Message {
                heading: format!("the event's data cannot be read: {}", without_number(cause)),
                place: Some(source.clone()),
                help: "`--data` takes a JSON object, `@FILE`, or `-` for standard input".into(),
            },
            Failure::NoEventOfAgent { agent, cause } => Message {
                heading: format!("expected an event of {agent} but found none: {cause}"),
                place: Some("standard input".into()),
                help: format!(
                    "`hookwright hook` is what {agent}'s settings call; to try hooks yourself: \
                     `hookwright fire EVENT --data JSON`"
                ),
            },
            Failure::DataTooLarge { source, bytes_max } => Message {
                heading: format!("the event's data have more than {bytes_max} bytes"),
                place: Some(source.clone()),
                help: "leave the large values out, or name a file in the data".into(),
            },
            Failure::DataNotJson { source, cause } => Message {
                heading: format!("the event's data are not JSON: {cause}"),
                place: Some(source.clone()),
                help: "`--data` takes a JSON object like '{\"tool_name\": \"bash\"}', `@FILE`, or \
                       `-` for standard input"
                    .into(),
            },
            Failure::DataNotAnObject { source, found } => Message {
                heading: format!("expected a JSON object as the event's data but found {found}"),
                place: Some(source.clone()),
                help: "write the fields in braces, like '{\"tool_name\": \"bash\"}'".into(),
            },
            Failure::DataOfOtherEvent { source, field, named, fired } => Message {
                heading: format!("the data's `{field}` is `{named}`, but `{fired}` was fired"),
                place: Some(source.clone()),
                help: format!("fire `{named}`, or take `{field}` out of the data"),
            },
            Failure::NoRuntime { cause } => Message {
                heading: format!("the system gives us no means to wait: {}", without_number(cause)),
                place: None,
                help: "raise the limit of open files (`ulimit -n`)".into(),
            },
            Failure::MoreThanOneFile { folder, names } => Message {
                heading: format!(
                    "expected one configuration in this folder but found {}",
                    quoted(names, " and ")
                ),
                place: Some(folder.display().to_string()),
                help: format!(
                    "move everything into `{}` and remove the rest, or name one with `--config`",
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
                heading: format!("nothing is written down about `{name}`"),
                place: None,
                help: "hooks can listen to it; its data are what the agent sends".into(),
            },
            Failure::NoHookFile { folder } => Message {
                heading: "expected a `hookwright.yaml` in this folder or above it but found none"
                    .into(),
                place: Some(folder.display().to_string()),
                help: "`hookwright init` writes a first one; `--cwd DIR` names another folder"
                    .into(),
            },
            Failure::NoTestFiles { looked_in } => {
                let folders: Vec<String> =
                    looked_in.iter().map(|folder| folder.display().to_string()).collect();
                Message {
                    heading: "found no `hookwright.test.yaml` and no \
                              `*.hookwright.test.yaml` in this folder or in `tests` below it"
                        .into(),
                    place: Some(folders.join(", ")),
                    help: FIRST_TEST_FILE.into(),
                }
            }
            Failure::NoCases { filter: Some(filter) } => Message {
                heading: format!("no case has `{filter}` in its name"),
                place: None,
                help: "`hookwright test --list` lists them".into(),
            },
            Failure::NoCases { filter: None } => Message {
                heading: "the test files hold no case".into(),
                place: None,
                help: FIRST_TEST_FILE.into(),
            },
            Failure::SwitchedOff { by } => Message {
                heading: format!("hooks are switched off ({by}), so there is nothing to test"),
                place: None,
                help: format!("unset it: `env -u {} hookwright test`", by.trim_end_matches("=0")),
            },
            Failure::CannotCopy { root, cause } => cannot_copy(root, cause),
            Failure::CannotWrite { cause } => Message {
                heading: format!("standard output cannot be written to: {}", without_number(cause)),
                place: None,
                help: "make room where the output goes, or send it elsewhere".into(),
            },
            Failure::NoStateFolder => Message {
                heading: "nobody knows where sessions are kept: HOME is not set".into(),
                place: None,
                help: "set HOME, or XDG_STATE_HOME to a folder".into(),
            },
            Failure::Store(error) => of_store(error),
            Failure::History(HistoryError::Store(error)) => of_store(error),
            Failure::History(error @ HistoryError::NotUnderstood { .. }) => Message {
                heading: error.to_string(),
                place: None,
                help: "it was written by another version; use that one, or start a new session"
                    .into(),
            },
            Failure::SessionName(error) => Message {
                heading: error.to_string(),
                place: None,
                help: "use letters, digits, `_` and `-`, at most 64 of them".into(),
            },
            Failure::SessionTaken { name } => Message {
                heading: format!("there is a session `{name}` already, and it is completed"),
                place: None,
                help: "give this one another name, or leave `--session` out".into(),
            },
            Failure::FolderTaken { name, folder } => Message {
                heading: format!(
                    "a session `{name}` of which nothing is recorded left its files here"
                ),
                place: Some(folder.display().to_string()),
                help: "move the folder away, or give this session another name".into(),
            },
            Failure::SessionFolder(error) => Message {
                heading: error.to_string(),
                place: None,
                help: "nothing was started; mend it, and run it again".into(),
            },
            Failure::SessionUnfinished { name, status } => Message {
                heading: format!("there is a session `{name}` already, and it is {status}"),
                place: None,
                help: format!(
                    "go on with it: `hookwright resume {name}`; or give this one another name"
                ),
            },
            Failure::SessionRuns { name, pid } => Message {
                heading: format!("process {pid} runs the session `{name}`"),
                place: None,
                help: format!("wait for it, or end it: `hookwright stop {name}`"),
            },
            Failure::NoSuchSession { name } => Message {
                heading: format!("there is no session `{name}` in this project"),
                place: None,
                help: "see which there are: `hookwright sessions list`".into(),
            },
            Failure::NothingKept { name } => Message {
                heading: format!("nothing is kept of how the session `{name}` began"),
                place: None,
                help: "start a new one with `hookwright run`".into(),
            },
            Failure::OfHook { name, command, origin, is_completed } => Message {
                heading: format!(
                    "a hook of session `{origin}` started `{name}`, which is part of it"
                ),
                place: None,
                help: match is_completed {
                    true => format!("`{origin}` is completed, and nothing of it goes on"),
                    false => format!("`hookwright {command} {origin}`"),
                },
            },
            Failure::Session(SessionError::Journal(error)) => of_store(error),
            Failure::Session(SessionError::Folder(error)) => {
                Message { heading: error.to_string(), place: None, help: of_folder(error).into() }
            }
            Failure::NoSessions { project } => Message {
                heading: "this project has no session yet".into(),
                place: Some(project.display().to_string()),
                help: "`hookwright run FILE` starts one; `--cwd DIR` names another project".into(),
            },
            Failure::SessionNotRunning { name, status } => Message {
                heading: format!("nobody runs the session `{name}`; it is {status}"),
                place: None,
                help: "`hookwright status` says what runs".into(),
            },
            Failure::SessionElsewhere { name, pid, host } => Message {
                heading: format!("process {pid} of the machine `{host}` runs the session `{name}`"),
                place: None,
                help: format!("there: `hookwright stop {name}`"),
            },
            Failure::SessionOfOthers { name, pid } => Message {
                heading: format!("process {pid} runs the session `{name}`, and we may not end it"),
                place: None,
                help: "do it as the user who started it".into(),
            },
            Failure::StillRuns { name, pid, waited } => Message {
                heading: format!(
                    "process {pid} still runs the session `{name}` after {} s",
                    waited.as_secs_f64()
                ),
                place: None,
                help: format!(
                    "wait longer with `--timeout`, or let it leave at once: \
                     `hookwright stop {name} --now`"
                ),
            },
            Failure::FolderStays { name, cause } => Message {
                heading: format!("the folder of the session `{name}` cannot be removed: {cause}"),
                place: None,
                help: "the session is still in the store; mend the folder, then try again".into(),
            },
            Failure::Edit(failure) => failure.message(),
            Failure::Trust(error) => trust::of_trust(error),
            Failure::NobodyToAsk { places } => trust::nobody_to_ask(places),
            Failure::Work(failure) => failure.message(),
            Failure::Approval(failure) => failure.message(),
            Failure::Task(failure) => failure.message(),
            Failure::Serve(error) => serving::of_serving(error),
        }
    }
}

const FIRST_TEST_FILE: &str = "write `hookwright.test.yaml` beside your hooks:
  cases:
    - name: sudo is blocked
      event: tool:pre_execute
      data: {tool_name: bash, tool_input: {command: sudo ls}}
      expect: {decision: block}";

fn cannot_copy(root: &Path, cause: &TreeError) -> Message {
    let help = match cause {
        TreeError::TooManyFiles { .. } | TreeError::TooManyBytes { .. } => {
            "let git ignore what hooks do not need, or run in the project itself: \
             `hookwright test --in-place`"
        }
        TreeError::Io { .. } => {
            "mend its permissions or make room, or run in the project itself: \
             `hookwright test --in-place`"
        }
    };
    Message {
        heading: format!("the project cannot be copied for each case: {}", cause.in_words()),
        place: Some(root.display().to_string()),
        help: help.into(),
    }
}

/// The systems whose files we read.
fn dialects() -> String {
    let names = hookwright_dialects::all().iter().map(|foreign| foreign.name());
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
