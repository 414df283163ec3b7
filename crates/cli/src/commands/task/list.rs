//! `hookwright task list`: the tasks, in the order to work on them.

use clap::Args;
use hookwright_events::task::{Task, TaskState};
use hookwright_store::TaskList;

use crate::error::Failure;
use crate::exit_code;
use crate::known_session::ProjectOption;
use crate::render::Table;
use crate::screen::Screen;
use crate::tasks::{TaskJson, Tasks, state_word, task_failure};
use crate::text::one_line;

/// Characters of a task's text in the table.
const TEXT_CHARS_MAX: usize = 160;

/// List tasks that are not finished, the most urgent first
///
/// The columns are the task's id, its state, its priority, the tasks that it still waits for, and
/// its text. Tasks with the same priority are in the order in which they were added.
#[derive(Debug, Args)]
pub(crate) struct TaskListArguments {
    /// Only tasks in this state; may be given more than once
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<String>,

    /// Only tasks that can be started now: open, and waiting for nothing
    #[arg(long)]
    ready: bool,

    /// Include tasks that are completed or cancelled
    #[arg(long, conflicts_with = "state")]
    all: bool,

    /// Print a JSON list on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn list(arguments: &TaskListArguments, screen: &Screen) -> Result<u8, Failure> {
    let states = states(arguments)?;
    let tasks = Tasks::find(&arguments.project)?;
    let list = tasks.kept.map(|kept| kept.list(&states)).transpose().map_err(task_failure)?;
    let list = list.unwrap_or_default();
    let is_shown = |task: &&Task| !arguments.ready || list.is_ready(task);
    let shown: Vec<&Task> = list.tasks.iter().map(|kept| &kept.task).filter(is_shown).collect();
    if arguments.json {
        let all = shown.iter().map(|task| TaskJson { task, list: Some(&list) });
        let all: Vec<TaskJson<'_>> = all.collect();
        screen.json(&all)?;
        return Ok(exit_code::GO_ON);
    }
    if !shown.is_empty() {
        screen.result(&table(&shown, &list))?;
    }
    screen.talk(&counts(&list));
    Ok(exit_code::GO_ON)
}

fn states(arguments: &TaskListArguments) -> Result<Vec<TaskState>, Failure> {
    if arguments.all {
        return Ok(TaskState::ALL.to_vec());
    }
    if arguments.state.is_empty() {
        return Ok(TaskState::UNFINISHED.to_vec());
    }
    arguments.state.iter().map(|word| state_word(word)).collect()
}

fn table(shown: &[&Task], list: &TaskList) -> String {
    let mut table =
        Table::with_headings(&["id", "state", "priority", "waits for", "task"]).with_outcomes_in(1);
    for task in shown {
        let waits: Vec<String> = list.waits_for(task).map(|id| id.to_string()).collect();
        let waits = if waits.is_empty() { "-".to_owned() } else { waits.join(", ") };
        table.row([
            task.id.to_string(),
            task.state.as_str().to_owned(),
            task.priority.to_string(),
            waits,
            one_line(&task.content, TEXT_CHARS_MAX),
        ]);
    }
    table.to_string()
}

fn counts(list: &TaskList) -> String {
    let counts = TaskState::ALL.map(|state| (list.count(state), state.as_str()));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    match words.is_empty() {
        true => "no tasks yet; add one with: hookwright task add TEXT\n".to_owned(),
        false => format!("{}\n", words.join(", ")),
    }
}
