//! `hookwright project`: the name of a project.

use clap::{Args, Subcommand};
use hookwright_store::NamedProject;
use serde_json::json;

use crate::config_files::{ConfigFiles, ConfigOptions};
use crate::error::{Failure, ProjectFailure};
use crate::exit_code;
use crate::known_session::ProjectOption;
use crate::project::{NamedFolder, described};
use crate::screen::Screen;
use crate::text::visible;
use crate::{inside, state};

/// Confirm which repositories share a project's name
///
/// `project: NAME` in hookwright.yaml is the name under which sessions, tasks and the states of
/// issues are stored. It belongs to the repository that used it first.
#[derive(Debug, Args)]
pub(crate) struct ProjectArguments {
    #[command(subcommand)]
    command: ProjectCommand,
}

#[derive(Debug, Subcommand)]
enum ProjectCommand {
    Confirm(ConfirmArguments),
}

/// Let this repository share a name that belongs to another one
///
/// From then on, everything that runs in this repository reads and changes the sessions and tasks
/// of that project. Fails inside a session or a hook.
#[derive(Debug, Args)]
struct ConfirmArguments {
    /// The name, as in hookwright.yaml
    #[arg(value_name = "NAME")]
    name: String,

    /// Take the name away from all other repositories
    #[arg(long)]
    only: bool,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn project(arguments: &ProjectArguments, screen: &Screen) -> Result<u8, Failure> {
    match &arguments.command {
        ProjectCommand::Confirm(arguments) => confirm(arguments, screen),
    }
}

fn confirm(arguments: &ConfirmArguments, screen: &Screen) -> Result<u8, Failure> {
    if inside::is_inside_a_session()? {
        return Err(ProjectFailure::FromInside.into());
    }
    let cwd = arguments.project.cwd.clone();
    let options = ConfigOptions { config: Vec::new(), dialect: None, cwd, no_global_hooks: true };
    let root = ConfigFiles::find(&options)?.project_root;
    let claimed = NamedFolder::of(&root)?.ok_or(ProjectFailure::NoName { root })?;
    let name = claimed.name.to_string();
    if name != arguments.name {
        let (given, file) = (arguments.name.clone(), claimed.file);
        return Err(ProjectFailure::OtherName { given, name, file }.into());
    }
    let NamedProject { origins, .. } = claimed.confirm(state::store()?, arguments.only)?;
    let origins: Vec<String> = origins.iter().map(described).collect();
    if arguments.json {
        screen.json(&json!({ "version": 1, "project": name, "repositories": origins }))?;
        return Ok(exit_code::GO_ON);
    }
    let mut text = format!("the project name `{name}` belongs to:\n");
    for origin in origins {
        text += &format!("  {}\n", visible(&origin));
    }
    screen.result(&text)?;
    Ok(exit_code::GO_ON)
}
