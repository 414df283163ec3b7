//! `hookwright task add`: adds a task.

use std::io::ErrorKind::InvalidData;
use std::io::{self, Read};

use clap::Args;
use hookwright_events::task::{TaskState, USUAL};
use hookwright_store::NewTask;
use hookwright_store::limits::TASK_CONTENT_BYTES_MAX;

use crate::error::{Failure, TaskFailure};
use crate::exit_code;
use crate::known_session::ProjectOption;
use crate::screen::Screen;
use crate::store_time;
use crate::tasks::{TaskJson, Tasks, state_word, task_failure};

/// Add a task
///
/// Prints its id. A task that is already in the list and not finished is not added again.
#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// The text of the task; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    text: String,

    /// How urgent it is, from 0, the highest, to 4
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    priority: u8,

    /// A task that has to be completed first; may be given more than once
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    after: Vec<String>,

    /// Its state; no hooks run for it
    #[arg(long, value_name = "STATE", default_value = "open")]
    state: String,

    /// Print the task as one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn add(arguments: &AddArguments, screen: &Screen) -> Result<u8, Failure> {
    let state = state_word(&arguments.state)?;
    let content = text_of(&arguments.text)?;
    let tasks = Tasks::open(&arguments.project)?;
    let session = match state {
        TaskState::InProgress => tasks.own_session()?,
        _ => None,
    };
    let new = NewTask {
        state,
        priority: arguments.priority,
        depends_on: arguments.after.clone(),
        session,
        ..NewTask::new(content)
    };
    let task = tasks.kept("")?.add(&new, store_time::now_ms()).map_err(task_failure)?.task;
    if arguments.json {
        screen.json(&TaskJson { task: &task, list: None })?;
    } else {
        screen.result(&format!("{}\n", task.id))?;
    }
    Ok(exit_code::GO_ON)
}

/// The text of a task; `-` means standard input.
pub(super) fn text_of(typed: &str) -> Result<String, Failure> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let unreadable = |cause| Failure::Task(TaskFailure::TextUnreadable { cause });
    // Surrounding whitespace does not count; more than this is too long anyway.
    let most = TASK_CONTENT_BYTES_MAX * 2;
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(most as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
        && bytes.len() == most
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes).map_err(|error| unreadable(io::Error::new(InvalidData, error)))
}
