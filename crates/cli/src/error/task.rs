//! Errors about tasks, with advice.

use std::path::PathBuf;

use hookwright_events::task::{TaskId, TaskState};
use hookwright_pipeline::desk::DeskError;
use hookwright_store::TaskError;

use super::storage::of_store;
use super::{Message, did_you_mean, quoted};

/// Why a command cannot store, find or complete a task.
#[derive(Debug)]
pub(crate) enum TaskFailure {
    /// The task cannot be stored, found or changed.
    Task(TaskError),
    /// No state has this name.
    NoSuchState { word: String, nearest: Option<&'static str> },
    /// The request to the running session failed.
    Desk(DeskError),
    /// The session ended without an answer to the request.
    NoAnswer { id: TaskId, state: TaskState, session: String },
    /// The session whose hooks have to be asked was killed. It works on the task (`holds`), or this
    /// program runs inside it.
    SessionCutOff { id: TaskId, state: TaskState, session: String, resume: String, holds: bool },
    /// The session whose hooks have to be asked is running but unreachable.
    NoDesk { id: TaskId, state: TaskState, session: String },
    /// The session whose hooks have to be asked runs on another machine.
    Elsewhere { id: TaskId, session: String, host: String },
    /// The caller was started in a session but hides in which one.
    Hidden { id: TaskId },
    /// Another session works on the task, and its hooks have to be asked.
    Held { id: TaskId, session: String },
    /// The session could not complete the task.
    NotCompleted { id: TaskId, session: String, reason: String },
    /// The task's text cannot be read.
    TextUnreadable { cause: std::io::Error },
    /// Another process is completing the task and has not ended in time.
    Busy { id: TaskId, pid: u32 },
    /// The working directory that the agent sent contains no project.
    NoProject { path: PathBuf },
}

impl From<TaskError> for TaskFailure {
    fn from(error: TaskError) -> Self {
        TaskFailure::Task(error)
    }
}

impl TaskFailure {
    /// The message for the user.
    pub(super) fn message(&self) -> Message {
        match self {
            TaskFailure::Task(TaskError::Store(error)) => of_store(error),
            TaskFailure::Task(error) => said(error.to_string(), &of_task(error)),
            TaskFailure::NoSuchState { word, nearest } => {
                let states = TaskState::ALL.map(TaskState::as_str);
                let help = did_you_mean(*nearest);
                let help = help.unwrap_or_else(|| format!("use {}", quoted(&states, ", ")));
                said(format!("unknown task state `{word}`"), &help)
            }
            TaskFailure::Desk(error) => said(
                error.to_string(),
                "check who owns the state folder and whether the disk is full",
            ),
            TaskFailure::NoAnswer { id, state, session } => said(
                format!(
                    "session `{session}` ended before it answered; `{id}` is {}",
                    state.as_str()
                ),
                &format!("resume the session to run its hooks: `hookwright resume {session}`"),
            ),
            TaskFailure::SessionCutOff { id, state, session, resume, holds } => said(
                format!(
                    "session `{session}` was killed, so its hooks cannot run; `{id}` is {}",
                    state.as_str()
                ),
                &match holds {
                    true => format!(
                        "resume it: `hookwright resume {resume}`; or reopen the task: `hookwright \
                         task update {id} --state open`"
                    ),
                    false => format!("resume it: `hookwright resume {resume}`"),
                },
            ),
            TaskFailure::NoDesk { id, state, session } => said(
                format!(
                    "session `{session}` is running but cannot be reached; `{id}` is {}",
                    state.as_str()
                ),
                "try again; if that does not help, read what the session's first lines say about \
                 tasks",
            ),
            TaskFailure::Elsewhere { id, session, host } => said(
                format!("session `{session}`, which works on `{id}`, runs on the machine `{host}`"),
                "complete the task there",
            ),
            TaskFailure::Hidden { id } => said(
                format!("`{id}` cannot be completed by a process that hides its session"),
                "do not unset the variables that begin with `HOOKWRIGHT_`",
            ),
            TaskFailure::Held { id, session } => said(
                format!("session `{session}` works on `{id}`"),
                "wait until it has ended, or change the task outside any session",
            ),
            TaskFailure::NotCompleted { id, session, reason } => said(
                format!("session `{session}` could not complete `{id}`: {reason}"),
                &format!("check the session: `hookwright sessions show {session}`"),
            ),
            TaskFailure::TextUnreadable { cause } => said(
                format!("standard input cannot be read: {}", super::without_number(cause)),
                "a task's text has to be UTF-8",
            ),
            TaskFailure::Busy { id, pid } => said(
                format!("process {pid} has been completing `{id}` for a day"),
                &format!("end it, then try again: `kill {pid}`"),
            ),
            TaskFailure::NoProject { path } => said(
                format!("`HOOKWRIGHT_PROJECT` is `{}`, which is not a folder", path.display()),
                "unset it, or name the project's folder: `--cwd DIR`",
            ),
        }
    }
}

fn of_task(error: &TaskError) -> String {
    match error {
        TaskError::Store(_) | TaskError::Unreadable { .. } => {
            "another version of hookwright wrote it; use that version".into()
        }
        TaskError::Empty => "describe the task: `hookwright task add TEXT`".into(),
        TaskError::TooLarge { .. } => {
            "put long text in a file and name that file in the task; complete or cancel tasks \
             that are done"
                .into()
        }
        TaskError::Priority { .. } => "use 0, 1, 2, 3 or 4".into(),
        TaskError::Same { id, .. } => {
            format!("change that one instead: `hookwright task update {id}`")
        }
        TaskError::Unknown { nearest, .. } => {
            let nearest = nearest.map(|id| id.to_string());
            did_you_mean(nearest.as_deref()).unwrap_or_else(|| {
                "there are no tasks yet; add one: `hookwright task add TEXT`".into()
            })
        }
        TaskError::Circle { .. } => "remove one of them from `--after`".into(),
    }
}

fn said(heading: String, help: &str) -> Message {
    Message { heading, place: None, help: help.to_owned() }
}
