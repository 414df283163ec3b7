//! `hookwright sessions`: running and past sessions. One file per subcommand.

mod current;
mod list;
mod log;
mod prune;
mod show;

use clap::{Args, Subcommand};

use crate::error::Failure;
use crate::screen::Screen;

/// Work with sessions: list them, show one, read its log, delete old ones
#[derive(Debug, Args)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    List(list::ListArguments),
    Show(show::ShowArguments),
    Log(log::LogArguments),
    Current(current::CurrentArguments),
    Prune(prune::PruneArguments),
}

pub(crate) fn sessions(arguments: &SessionsArguments, screen: &Screen) -> Result<u8, Failure> {
    match &arguments.command {
        SessionsCommand::List(arguments) => list::list(arguments, screen),
        SessionsCommand::Show(arguments) => show::show(arguments, screen),
        SessionsCommand::Log(arguments) => log::log(arguments, screen),
        SessionsCommand::Current(arguments) => current::current(arguments, screen),
        SessionsCommand::Prune(arguments) => prune::prune(arguments, screen),
    }
}
