//! Errors about sessions, and what the user can do about them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use hookwright_events::SessionStatus;
use hookwright_pipeline::folder::{FolderError, SessionNameError};
use hookwright_pipeline::history::HistoryError;
use hookwright_pipeline::session::SessionError;
use hookwright_pipeline::trees::TreeError;
use hookwright_pipeline::work_keeper::KeepError;

use super::storage::{of_folder, of_store};
use super::{Failure, Message};

/// How many sessions an error names at most.
pub(crate) const CANDIDATES_MAX: usize = 5;

/// Why a session cannot be started, found, resumed, ended or deleted.
#[derive(Debug)]
pub(crate) enum SessionFailure {
    /// A session's journal cannot be used.
    History(HistoryError),
    /// The text is not a valid session name.
    Name(SessionNameError),
    /// A session that is completed has this name.
    Taken { name: String },
    /// The folder has files of a session that the store does not know.
    FolderTaken { name: String, folder: PathBuf },
    /// The session's folder cannot be created, so nothing was started.
    Folder(FolderError),
    /// A session that is not completed has this name.
    Unfinished { name: String, status: SessionStatus },
    /// A prune has begun to delete the session with this name.
    HalfDeleted { name: String },
    /// Another process runs the session.
    Runs { name: String, pid: u32 },
    /// No session has this name.
    Unknown { name: String },
    /// Several sessions match the text.
    Ambiguous { text: String, names: Vec<String> },
    /// The user named no session, and the project has none for this command.
    NoneToChoose { command: &'static str, which: &'static str },
    /// The user named no session, and the project has several for this command.
    SeveralToChoose { command: &'static str, which: &'static str, names: Vec<String> },
    /// The store has no copy of the session's configuration.
    NothingKept { name: String },
    /// A hook started this session, so it is resumed and ended with its parent only.
    OfHook { name: String, command: &'static str, origin: String, is_completed: bool },
    /// `resume` was called for a session of the built-in agent.
    OfAgent { name: String },
    /// `resume` or `stop` was called for a session of another agent.
    InAgent { name: String },
    /// The session could not continue.
    Broken(SessionError),
    /// This project has no session.
    NoneYet { project: PathBuf },
    /// `stop` was called for a session that no process runs.
    NotRunning { name: String, status: SessionStatus },
    /// `stop` was called for a queued session, and a worker took it at that moment.
    TakenByWorker { name: String },
    /// Another machine runs the session.
    /// Others notice its death if it is a worker.
    Elsewhere { name: String, pid: u32, host: String, is_worker: bool },
    /// Another user's process runs the session.
    OfOthers { name: String, pid: u32 },
    /// The session did not end in time after `stop`.
    StillRuns { name: String, pid: u32, waited: Duration },
    /// The session has no such iteration.
    NoIteration { name: String, what: String },
    /// Several stages of the session have such an iteration.
    SeveralStages { what: String, stages: Vec<String> },
    /// The session has no such stage.
    UnknownStage { name: String, stage: String, stages: Vec<String> },
    /// A file in the session's folder cannot be read.
    Unreadable(FolderError),
    /// The session's folder cannot be deleted.
    FolderStays { name: String, cause: FolderError },
    /// The session's work trees in its git remote cannot be deleted.
    TreesStay { name: String, cause: TreeError },
    /// The trace of another agent's session cannot be deleted.
    TraceStays { name: String, cause: io::Error },
}

impl From<SessionFailure> for Failure {
    fn from(failure: SessionFailure) -> Self {
        Failure::Session(failure)
    }
}

impl SessionFailure {
    /// The text for people.
    pub(super) fn message(&self) -> Message {
        match self {
            SessionFailure::History(HistoryError::Store(error)) => of_store(error),
            SessionFailure::History(error @ HistoryError::NotUnderstood { .. }) => Message {
                heading: error.to_string(),
                place: None,
                help: "another version of hookwright wrote it; use that version, or start a new \
                     session"
                    .into(),
            },
            SessionFailure::Name(error) => Message {
                heading: error.to_string(),
                place: None,
                help: "use at most 64 letters, digits, `_` and `-`".into(),
            },
            SessionFailure::OfAgent { name } => Message {
                heading: format!("session `{name}` is a session of `hookwright agent`"),
                place: None,
                help: format!("continue it: `hookwright agent --resume {name} -p PROMPT`"),
            },
            SessionFailure::InAgent { name } => Message {
                heading: format!("`{name}` is a session of another agent"),
                place: None,
                help:
                    "end or continue it in that agent; `hookwright sessions` only shows what your \
                     hooks did there"
                        .into(),
            },
            SessionFailure::Taken { name } => Message {
                heading: format!("session `{name}` already exists (completed)"),
                place: None,
                help: "choose another name, or leave out `--session`".into(),
            },
            SessionFailure::FolderTaken { name, folder } => Message {
                heading: format!("found files of an unknown session `{name}` here"),
                place: Some(folder.display().to_string()),
                help: "move the folder, or choose another name for this session".into(),
            },
            SessionFailure::Folder(error) => Message {
                heading: error.to_string(),
                place: None,
                help: "nothing was started; fix the problem and run it again".into(),
            },
            SessionFailure::Unfinished { name, status } => Message {
                heading: format!("session `{name}` already exists ({})", status.in_words()),
                place: None,
                help: format!("resume it: `hookwright resume {name}`; or choose another name"),
            },
            SessionFailure::HalfDeleted { name } => Message {
                heading: format!(
                    "`sessions prune` began to delete session `{name}` and did not finish"
                ),
                place: None,
                help: "delete what is left: `hookwright sessions prune --status deleting --keep 0 \
                     --yes`"
                    .into(),
            },
            SessionFailure::Runs { name, pid } => Message {
                heading: format!("process {pid} is running session `{name}`"),
                place: None,
                help: format!("wait for it, or end it: `hookwright stop {name}`"),
            },
            SessionFailure::Unknown { name } => Message {
                heading: format!("there is no session `{name}` in this project"),
                place: None,
                help: "list them: `hookwright sessions list`".into(),
            },
            SessionFailure::Ambiguous { text, names } => Message {
                heading: format!("`{text}` is ambiguous: {}", in_words(names)),
                place: None,
                help: "type more of the name".into(),
            },
            SessionFailure::NoneToChoose { command, which } => Message {
                heading: format!("this project has no session that {which}"),
                place: None,
                help: format!(
                    "name a session: `hookwright {command} NAME`; `hookwright sessions list` shows all"
                ),
            },
            SessionFailure::SeveralToChoose { command, which, names } => Message {
                heading: format!("more than one session {which}: {}", in_words(names)),
                place: None,
                help: format!("name one of them: `hookwright {command} NAME`"),
            },
            SessionFailure::NothingKept { name } => Message {
                heading: format!("the start of session `{name}` was not recorded"),
                place: None,
                help: "start a new one with `hookwright run`".into(),
            },
            SessionFailure::OfHook { name, command, origin, is_completed } => Message {
                heading: format!(
                    "`{name}` is part of session `{origin}`: a hook of that session started it"
                ),
                place: None,
                help: match is_completed {
                    true => {
                        format!("session `{origin}` is completed, so there is nothing to resume")
                    }
                    false => format!("`hookwright {command} {origin}`"),
                },
            },
            SessionFailure::Broken(SessionError::Journal(error)) => of_store(error),
            SessionFailure::Broken(SessionError::Folder(error)) => {
                Message { heading: error.to_string(), place: None, help: of_folder(error).into() }
            }
            SessionFailure::Broken(SessionError::Work(error)) => {
                Message { heading: error.to_string(), place: None, help: of_work(error).into() }
            }
            SessionFailure::Broken(SessionError::CutOff { why }) => Message {
                heading: format!("the session was cut off: {why}"),
                place: None,
                help: "`hookwright status` shows whether another process continues it; otherwise \
                       `hookwright resume` does"
                    .into(),
            },
            SessionFailure::NoneYet { project } => Message {
                heading: "this project has no sessions yet".into(),
                place: Some(project.display().to_string()),
                help: "`hookwright run FILE` starts one; `--cwd DIR` names another project".into(),
            },
            SessionFailure::NotRunning { name, status } => Message {
                heading: format!("session `{name}` is not running: it is {}", status.in_words()),
                place: None,
                help: "`hookwright status` shows what is running".into(),
            },
            SessionFailure::TakenByWorker { name } => Message {
                heading: format!("a worker has just taken session `{name}`"),
                place: None,
                help: format!("run it again: `hookwright stop {name}`"),
            },
            SessionFailure::Elsewhere { name, pid, host, is_worker } => Message {
                heading: format!("process {pid} on machine `{host}` is running session `{name}`"),
                place: None,
                help: match is_worker {
                    true => format!(
                        "end it first: `hookwright stop {name}`; if its machine has died, \
                         `hookwright resume {name}` takes the session over once that is certain, \
                         which takes 3 minutes"
                    ),
                    false => format!("run this on that machine: `hookwright stop {name}`"),
                },
            },
            SessionFailure::OfOthers { name, pid } => Message {
                heading: format!(
                    "process {pid} is running session `{name}`, and you are not \
                     allowed to end it"
                ),
                place: None,
                help: "run this as the user who started it".into(),
            },
            SessionFailure::StillRuns { name, pid, waited } => Message {
                heading: format!(
                    "process {pid} is still running session `{name}` after {} s",
                    waited.as_secs_f64()
                ),
                place: None,
                help: format!(
                    "wait longer with `--timeout`, or end it at once: `hookwright stop {name} \
                     --now`"
                ),
            },
            SessionFailure::NoIteration { name, what } => Message {
                heading: format!("session `{name}` has no {what}"),
                place: None,
                help: format!("`hookwright sessions show {name}` shows its iterations"),
            },
            SessionFailure::SeveralStages { what, stages } => Message {
                heading: format!("more than one stage has an {what}: {}", in_words(stages)),
                place: None,
                help: "name one of them with `--stage`".into(),
            },
            SessionFailure::UnknownStage { name, stage, stages } => Message {
                heading: format!("session `{name}` has no stage `{stage}`"),
                place: None,
                help: format!("its stages are {}", in_words(stages)),
            },
            SessionFailure::Unreadable(error) => Message {
                heading: format!("the session's files cannot be read: {error}"),
                place: None,
                help: of_folder(error).into(),
            },
            SessionFailure::TraceStays { name, cause } => Message {
                heading: format!("the trace of `{name}` cannot be deleted: {cause}"),
                place: None,
                help:
                    "check the rights of the folder `traces` in the state folder, then prune again"
                        .into(),
            },
            SessionFailure::TreesStay { name, cause } => Message {
                heading: format!(
                    "the work trees of the session `{name}` cannot be deleted: {cause}"
                ),
                place: None,
                help: "the session is still in the store as `deleting`; when the git remote is \
                     reachable, prune again"
                    .into(),
            },
            SessionFailure::FolderStays { name, cause } => Message {
                heading: format!("the folder of the session `{name}` cannot be removed: {cause}"),
                place: None,
                help: "the session is still in the store as `deleting`; fix the folder, then \
                     prune again"
                    .into(),
            },
        }
    }
}

/// Names of sessions, as many as a message has room for.
fn in_words(names: &[String]) -> String {
    let shown = names.iter().take(CANDIDATES_MAX).map(|name| format!("`{name}`"));
    let mut words = shown.collect::<Vec<_>>().join(", ");
    if names.len() > CANDIDATES_MAX {
        words.push_str(" and others");
    }
    words
}

/// What to do about work that cannot be kept or restored.
pub(super) fn of_work(error: &KeepError) -> &'static str {
    let tree = match error {
        KeepError::Tree(tree) | KeepError::Interrupted(tree) => tree,
        KeepError::Files { .. } => return "check the folder of the session",
        KeepError::Store(_) => return "check the store with `hookwright store check`",
    };
    match tree {
        TreeError::NoGit => "install git",
        TreeError::Failed { .. } => "check the repository of the work tree",
        TreeError::TookTooLong { .. } => {
            "check the disk, and whether git should ignore big folders"
        }
        TreeError::Unreachable { .. } => "check the git remote, then resume the session",
        TreeError::Refused { .. } => "check the rules and permissions of the git remote",
        TreeError::HoldsSecret { .. } => "remove the secret from the work tree and its commits",
        TreeError::MissingCommit { .. } | TreeError::Missing { .. } => {
            "its refs were deleted: submit it again with `hookwright run FILE --on workers`"
        }
        TreeError::File { .. } => "check the disk",
    }
}
