//! `hookwright task update`: changes a task.

use clap::{ArgGroup, Args};
use hookwright_events::task::TaskState;
use hookwright_store::TaskChange;

use super::add::text_of;
use super::done::say_done;
use crate::error::Failure;
use crate::exit_code;
use crate::known_session::ProjectOption;
use crate::screen::Screen;
use crate::store_time;
use crate::tasks::{TaskJson, Tasks, state_word, task_failure};

/// Change a task
///
/// Options that are not given stay as they are. `--state completed` does the same as `task done`:
/// the hooks at `task:complete` run.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true))]
pub(crate) struct UpdateArguments {
    /// The task's id, like TAS-3 or 3
    #[arg(value_name = "ID")]
    id: String,

    /// Its state: open, in_progress, completed, blocked or cancelled
    #[arg(long, value_name = "STATE", group = "change")]
    state: Option<String>,

    /// The text of the task; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", group = "change")]
    content: Option<String>,

    /// How urgent it is, from 0, the highest, to 4
    #[arg(long, value_name = "N", group = "change")]
    priority: Option<u8>,

    /// The tasks that have to be completed first, replacing the previous ones; may be given more
    /// than once
    #[arg(long, value_name = "ID", value_delimiter = ',', group = "change")]
    after: Option<Vec<String>>,

    /// Make it wait for no other task
    #[arg(long, conflicts_with = "after", group = "change")]
    after_none: bool,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn update(arguments: &UpdateArguments, screen: &Screen) -> Result<u8, Failure> {
    let state = arguments.state.as_deref().map(state_word).transpose()?;
    let content = arguments.content.as_deref().map(text_of).transpose()?;
    let tasks = Tasks::find(&arguments.project)?;
    let kept = tasks.kept(&arguments.id)?;
    let task = kept.get(&arguments.id).map_err(task_failure)?.task;
    let id = task.id;
    let session = match state {
        Some(TaskState::Completed) | None => None,
        Some(state) => {
            tasks.check_that_state_may_change(&task)?;
            if state == TaskState::InProgress { tasks.own_session()? } else { None }
        }
    };
    let change = TaskChange {
        state: state.filter(|state| *state != TaskState::Completed),
        content,
        priority: arguments.priority,
        depends_on: arguments.after.clone().or(arguments.after_none.then(Vec::new)),
        session,
    };
    let task = kept.update(id, &change, store_time::now_ms()).map_err(task_failure)?.task;
    if state == Some(TaskState::Completed) {
        return say_done(&tasks, id, arguments.json, screen);
    }
    if arguments.json {
        screen.json(&TaskJson { task: &task, list: None })?;
    } else {
        screen.result(&format!("{id} is {}\n", task.state.as_str()))?;
    }
    Ok(exit_code::GO_ON)
}
