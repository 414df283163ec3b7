//! `hookwright completions`: completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Arguments;
use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;

/// Print a script that completes hookwright's commands in a shell
///
/// For bash: `hookwright completions bash > ~/.local/share/bash-completion/completions/hookwright`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    screen: &Screen,
) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "hookwright", &mut script);
    screen.result(&String::from_utf8_lossy(&script))?;
    Ok(exit_code::GO_ON)
}
