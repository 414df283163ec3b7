//! The binary `hookwright`: the only crate that prints, reads the environment, or exits.
//!
//! | module | does |
//! |---|---|
//! | [`commands`] | one file per command: its arguments, then its function |
//! | [`config_files`] | which configuration files a command reads |
//! | [`configuration`] | those files, read and checked |
//! | [`templates`] | hooks to start with |
//! | [`interrupts`] | Ctrl-C and similar signals while hooks run |
//! | [`runner`] | runs a session in a project |
//! | [`installed_agent`] | the program of a host on this machine, and its version |
//! | [`env_file`] | the file that Claude Code's hooks append to |
//! | [`start_environment`] | the environment in which a person started the calling agent |
//! | [`user_folders`] | where the user's hooks, trust and sessions are stored |
//! | [`system_user`] | the user in the system's list of users |
//! | [`state`] | opens the store of sessions |
//! | [`absence`] | what a session does while its database is away |
//! | [`membership`] | this process among those that share a store |
//! | [`store_settings`] | which store the user has |
//! | [`trust`] | which files may run inside an agent |
//! | [`person_check`] | refuses what only a person may do, if an agent does it |
//! | [`tasks`] | a project's tasks, and how one is completed |
//! | [`chain_above`] | the hooks that started this program |
//! | [`approvals`] | questions to people, for hooks and commands |
//! | [`known_session`] | sessions, and the processes that run them |
//! | [`session_waits`] | what sessions are waiting for |
//! | [`probe`] | starts an agent to see whether hooks hold in it |
//! | [`span`] | durations as people type them |
//! | [`view`] | the live view at the bottom of a terminal |
//! | [`screen`] | all output of the program |
//! | [`text`] | text for people, with control characters escaped |
//! | [`faults`] | faults with their lines |
//! | [`render`] | tables, sessions, timelines |
//! | [`error`] | heading, place, help and exit code of every error |
//! | [`exit_code`] | every exit code with its meaning |

mod absence;
mod approvals;
mod built_in_driver;
mod carried_session;
mod chain_above;
mod commands;
mod config_files;
mod configuration;
mod env_file;
mod error;
mod exit_code;
mod faults;
mod file_lock;
mod following;
mod hook_switches;
mod host;
mod inside;
mod installed_agent;
mod interrupts;
mod known_session;
mod known_work;
mod known_workers;
mod mcp_servers;
mod membership;
mod model_choice;
mod model_service;
mod person_check;
mod probe;
mod program_file;
mod project;
mod render;
mod resumption;
mod runner;
mod screen;
mod session_choice;
mod session_options;
mod session_waits;
mod span;
mod start_environment;
mod state;
mod store_settings;
mod store_time;
mod submitting;
mod system_user;
mod talk_thread;
mod tasks;
mod templates;
mod text;
mod trust;
mod unasked;
mod user_folders;
mod view;
mod worker;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::ValueEnum;
use clap::error::ErrorKind;

use crate::commands::Command;
use crate::error::Failure;
use crate::screen::{Screen, choose_color};
use crate::text::{ColorChoice, Paint};

fn main() -> ExitCode {
    let screen = Screen;
    #[cfg(feature = "faults")]
    death_points::begin();
    // If this fails, children inherit the signals that we ignore.
    let _ = interrupts::catch_ignored_signals();
    let ended = match commands::quick(std::env::args_os().skip(1)) {
        Some(command) => {
            choose_color(ColorChoice::default());
            run(command, &screen)
        }
        None => match commands::parse() {
            Ok(arguments) => {
                choose_color(arguments.color);
                run(arguments.command, &screen)
            }
            Err(error) => answer_usage(&error, &screen),
        },
    };
    let code = ended.unwrap_or_else(|failure| {
        screen.failure(&failure);
        failure.exit_code()
    });
    #[cfg(feature = "faults")]
    death_points::end();
    ExitCode::from(code)
}

/// For `cargo xtask faults` and `cargo xtask machines` only: the point at which this program kills
/// itself, and the file for the number of points it has passed. The session processes of a worker
/// have variables of their own. Release builds have none of this.
#[cfg(feature = "faults")]
mod death_points {
    use std::fmt::Write as _;

    use hookwright_process::faults;

    pub(super) fn begin() {
        let point = std::env::var(name("DIE_AT")).unwrap_or_default();
        std::env::var_os("HOOKWRIGHT_DIE_MARK")
            .into_iter()
            .for_each(|it| faults::leave_mark(it.into()));
        if std::env::var_os("HOOKWRIGHT_DIE_WITH_MACHINE").is_some() {
            faults::stand_still_instead();
        }
        match point.split_once(' ') {
            Some((time, name)) => {
                time.parse().into_iter().for_each(|it| faults::die_at_name(name, it))
            }
            None => point.parse().into_iter().for_each(faults::die_at),
        }
        let point = std::env::var("HOOKWRIGHT_INTERRUPT_AT").unwrap_or_default();
        point.parse().into_iter().for_each(faults::interrupt_at);
    }

    pub(super) fn end() {
        let passed = faults::passed();
        // A session process that was given no session passes none.
        let file = std::env::var_os(name("POINTS_FILE")).filter(|_| !passed.is_empty());
        if let Some(file) = file {
            let mut text = String::new();
            for (name, count) in passed {
                let _ = writeln!(text, "{count} {name}");
            }
            // A campaign notices if the file is missing.
            let _ = std::fs::write(file, text);
        }
    }

    /// The variable of this process with this ending.
    fn name(ending: &str) -> String {
        let is_of_session = std::env::args_os().any(|argument| argument == "--session-process");
        let whose = if is_of_session { "HOOKWRIGHT_SESSION" } else { "HOOKWRIGHT" };
        format!("{whose}_{ending}")
    }
}

/// Runs a command. A crash must not open a guard.
fn run(command: Command, screen: &Screen) -> Result<u8, Failure> {
    let crashed = command.crash_code();
    let ended = catch_unwind(AssertUnwindSafe(|| commands::run(command, screen)));
    ended.unwrap_or_else(|_| {
        screen.talk("error: this is a bug in hookwright; please report it\n");
        Ok(crashed)
    })
}

/// The value of `--color` in a command line that asks for help.
fn color_in(words: impl Iterator<Item = OsString>) -> ColorChoice {
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let value = |at: usize, word: &str| match word.strip_prefix("--color=") {
        Some(value) => Some(value.to_owned()),
        None if word == "--color" => words.get(at + 1).cloned(),
        None => None,
    };
    let said = words.iter().enumerate().find_map(|(at, word)| value(at, word));
    said.and_then(|word| ColorChoice::from_str(&word, true).ok()).unwrap_or_default()
}

/// `--help` and `--version` are results; everything else is bad usage, for which the parser's own
/// exit code would be 2, which means "block" to the caller.
fn answer_usage(error: &clap::Error, screen: &Screen) -> Result<u8, Failure> {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            choose_color(color_in(std::env::args_os()));
            screen.result(&text::help(&text, Paint::of_results()))?;
            Ok(exit_code::GO_ON)
        }
        _ => {
            screen.talk(&text::visible(&text));
            Ok(exit_code::OUR_FAULT)
        }
    }
}
