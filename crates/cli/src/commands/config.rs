//! `hookwright config`: switches hooks on and off.
//!
//! It edits a person's file, so it adds or removes one hook and keeps every other byte.

mod edit;
mod file;
mod git_hook;
mod layout;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;
use crate::text::visible;
use edit::Edited;
use file::EditedFile;
use git_hook::GitHook;

/// Switch git hooks on and off: commit or push after each execution
///
/// Adds the hook to the project's .autoagent/config.json if it exists, else to hookwright.yaml,
/// which is created if it is missing; or removes it from there. Everything else in the file stays
/// as it is.
#[derive(Debug, Args)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Commit all changes after each execution, or stop doing so
    ///
    /// Adds a git-commit hook at execution:post_end (PostExecutionEnd), before an existing git-push
    /// hook; or removes it.
    SetAutoCommit(SwitchArguments),
    /// Push after each execution, or stop doing so
    ///
    /// Adds a git-push hook at execution:post_end (PostExecutionEnd), after all others; or removes
    /// it.
    SetAutoPush(SwitchArguments),
}

#[derive(Debug, Args)]
struct SwitchArguments {
    /// true adds the hook, false removes it
    #[arg(action = clap::ArgAction::Set, value_parser = clap::builder::BoolValueParser::new())]
    on: bool,

    /// Change the user's file for all projects
    #[arg(long)]
    global: bool,

    /// Act as if started in this folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn config(arguments: &ConfigArguments, screen: &Screen) -> Result<u8, Failure> {
    let (hook, switch) = match &arguments.command {
        ConfigCommand::SetAutoCommit(switch) => (GitHook::Commit, switch),
        ConfigCommand::SetAutoPush(switch) => (GitHook::Push, switch),
    };
    let mut file = EditedFile::find(switch.global, switch.cwd.as_deref())?;
    let source = file.read()?;
    let edited = match switch.on {
        true => edit::added(&source, hook, file.form),
        false => edit::removed(&source, hook, file.form),
    };
    let edited = edited.map_err(|cause| file.not_editable(cause))?;
    if let Edited::Changed { text } = &edited {
        file.write(&source.text, text)?;
    }
    tell(hook, switch, &file, &edited, screen)?;
    Ok(exit_code::GO_ON)
}

fn tell(
    hook: GitHook,
    switch: &SwitchArguments,
    file: &EditedFile,
    edited: &Edited,
    screen: &Screen,
) -> Result<(), Failure> {
    let (kind, point, shown) = (hook.kind(), file.form.point(), file.shown.display().to_string());
    let changed = matches!(edited, Edited::Changed { .. });
    if switch.json {
        return screen.json(&json!({
            "version": 1, "file": shown, "event": point, "type": kind, "on": switch.on,
            "changed": changed,
        }));
    }
    let shown = visible(&shown);
    screen.result(&match (edited, switch.on) {
        (Edited::Changed { .. }, true) => format!("added a {kind} hook at {point} to {shown}\n"),
        (Edited::Changed { .. }, false) => {
            format!("removed the {kind} hook at {point} from {shown}\n")
        }
        (Edited::AlreadySo { line: Some(line), .. }, _) => {
            format!("nothing to do: {shown}:{line} has a {kind} hook at {point}\n")
        }
        (Edited::AlreadySo { line: None, .. }, _) => {
            format!("nothing to do: {shown} has no {kind} hook at {point}\n")
        }
    })?;
    if let Some(note) = file.note() {
        screen.talk(&note);
    }
    if matches!(edited, Edited::AlreadySo { in_background: true, .. }) {
        screen.talk(
            "note: this hook runs in the background, at the same time as other git hooks and the \
             next piece of work; to avoid that, add `await: true` to it\n",
        );
    }
    Ok(())
}
