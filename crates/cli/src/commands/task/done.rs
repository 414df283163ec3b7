//! `hookwright task done`: completes a task, unless a hook blocks it.

use clap::Args;
use hookwright_events::TaskId;

use crate::error::Failure;
use crate::exit_code;
use crate::known_session::ProjectOption;
use crate::screen::Screen;
use crate::tasks::{Completed, Tasks, complete, completed_as_json, task_failure};
use crate::text::visible;

/// Mark a task as done
///
/// Runs the hooks at `task:complete`: those of the session that is running here, else the project's
/// own. If they block, the task stays as it was, the reason is on standard error and the exit code
/// is 2. What they tell the agent comes with its next prompt, or, without a session, on standard
/// output.
#[derive(Debug, Args)]
pub(crate) struct DoneArguments {
    /// The task's id, like TAS-3 or 3
    #[arg(value_name = "ID")]
    id: String,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn done(arguments: &DoneArguments, screen: &Screen) -> Result<u8, Failure> {
    let tasks = Tasks::find(&arguments.project)?;
    let id = tasks.kept(&arguments.id)?.get(&arguments.id).map_err(task_failure)?.task.id;
    say_done(&tasks, id, arguments.json, screen)
}

/// Completes a task and prints the result.
pub(super) fn say_done(
    tasks: &Tasks,
    id: TaskId,
    json: bool,
    screen: &Screen,
) -> Result<u8, Failure> {
    let completed = complete(tasks, id, screen)?;
    let task = tasks.kept(&id.to_string())?.get(&id.to_string()).map_err(task_failure)?.task;
    if json {
        screen.json(&completed_as_json(&task, &completed))?;
    }
    let tell = |text: String| if json { Ok(()) } else { screen.result(&text) };
    match completed {
        Completed::Done { said } => {
            for text in said {
                tell(format!("{}\n", visible(text.trim_end())))?;
            }
            tell(format!("{id} is completed\n"))?;
        }
        Completed::Already => tell(format!("{id} was completed already\n"))?,
        Completed::Underway => tell(format!("{id} is being completed\n"))?,
        Completed::Blocked { reason } => {
            let (state, reason) = (task.state.as_str(), visible(reason.trim_end()));
            screen.talk(&format!("{id} stays {state}: {reason}\n"));
            return Ok(exit_code::BLOCK);
        }
        Completed::Interrupted => return Ok(exit_code::INTERRUPTED),
    }
    Ok(exit_code::GO_ON)
}
