//! `hookwright task`: a project's tasks. One file per subcommand.

mod add;
mod done;
mod list;
mod update;

use clap::{Args, Subcommand};

use crate::error::Failure;
use crate::screen::Screen;

/// Keep a list of tasks: add them, list them, mark one as done
///
/// People and agents share the list of a project. A task has an id like TAS-3, a state (open,
/// in_progress, completed, blocked or cancelled) and a priority from 0, the highest, to 4. It may
/// wait for other tasks. A loop whose queue is `tasks` works on them one by one.
#[derive(Debug, Args)]
pub(crate) struct TaskArguments {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Debug, Subcommand)]
enum TaskCommand {
    Add(add::AddArguments),
    List(list::TaskListArguments),
    Done(done::DoneArguments),
    Update(update::UpdateArguments),
}

impl TaskArguments {
    /// Whether it may complete a task, which hooks can block.
    pub(crate) fn completes(&self) -> bool {
        match self.command {
            TaskCommand::Done(_) | TaskCommand::Update(_) => true,
            TaskCommand::Add(_) | TaskCommand::List(_) => false,
        }
    }
}

pub(crate) fn task(arguments: &TaskArguments, screen: &Screen) -> Result<u8, Failure> {
    match &arguments.command {
        TaskCommand::Add(arguments) => add::add(arguments, screen),
        TaskCommand::List(arguments) => list::list(arguments, screen),
        TaskCommand::Done(arguments) => done::done(arguments, screen),
        TaskCommand::Update(arguments) => update::update(arguments, screen),
    }
}
