//! [`Preset`]: an agent that is known by name: its program, how it works without a person, and what
//! the lines mean that it prints.
//!
//! Presets are data and pure functions: what an agent prints goes in, what came of its turn comes out.
//! Each is written from recordings of the real program (`tests/recordings`), which the tests read. Who
//! starts the program and passes its lines on is the runner.

mod claude;
mod codex;
mod gemini;
mod last_words;
mod opencode;
mod readable;

use std::time::Duration;

use hookwright_events::{FailureCause, Usage};

/// An agent that is known by name.
#[derive(Debug)]
pub struct Preset {
    /// What it is called in files and records.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The npm package that brings the program.
    pub package: &'static str,
    /// What makes the program work without a person, ask for no permission, and print for programs.
    /// It reads its prompt on standard input.
    pub arguments: &'static [&'static str],
    /// The argument before the name of a model.
    pub model_flag: &'static str,
    /// Where it writes its sessions down, if its output leaves open why it failed.
    pub session_files: Option<SessionFiles>,
    listener: fn() -> Box<dyn Listener>,
}

/// Where an agent writes its sessions down: files of lines, whose names end with the session's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionFiles {
    /// The variable that names its folder.
    pub home_variable: &'static str,
    /// Its folder below the user's home without that variable.
    pub home_folder: &'static str,
    /// The files' folder below that one. Files are in folders for year, month and day.
    pub folder: &'static str,
    /// What follows the session's id.
    pub ending: &'static str,
}

/// Hears what one run of an agent prints.
pub trait Listener: Send {
    /// A line of standard output. Gives what a person wants to read of it.
    fn hear(&mut self, line: &str) -> Option<String>;

    /// A line of standard error.
    fn hear_error(&mut self, _line: &str) {}

    /// A line of the file in which the agent wrote its session down.
    fn hear_session_file(&mut self, _line: &str) {}

    /// Whether the last thing that it told is that it cannot reach its model and tries again.
    fn is_out_of_reach(&self) -> bool {
        false
    }

    /// What the agent calls its session, as soon as it has told.
    fn session(&self) -> Option<&str>;

    /// It has ended, with this exit code if it was not killed: what came of it.
    fn conclude(&mut self, exit_code: Option<i32>) -> Said;
}

/// What came of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// Its last words.
    pub text: String,
    /// What it calls its session.
    pub session: Option<String>,
    /// What it used.
    pub usage: Option<Usage>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}

/// Why an agent failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub cause: FailureCause,
    /// In its words.
    pub reason: String,
    /// When it may be asked again, if it told.
    pub resets: Option<Reset>,
}

/// When an agent may be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// At this second since 1970.
    At(i64),
    /// So long after it ended.
    After(Duration),
}

/// All of them.
pub fn presets() -> &'static [&'static Preset] {
    &[&claude::PRESET, &codex::PRESET, &gemini::PRESET, &opencode::PRESET]
}

/// The one with this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    presets().iter().find(|preset| preset.name == name).copied()
}

impl Preset {
    /// Somebody who hears one run of it.
    pub fn listener(&self) -> Box<dyn Listener> {
        (self.listener)()
    }

    /// Whether a command names its program, or the package that brings it, anywhere.
    pub fn is_named_in(&self, command: &str) -> bool {
        let mut words = command.split(|c: char| c.is_whitespace() || "\"'`;|&()<>=".contains(c));
        words.any(|word| {
            word.rsplit('/').next() == Some(self.program) || word.starts_with(self.package)
        })
    }
}

/// What an HTTP status of a model means for its agent.
fn cause_of_status(status: u64) -> FailureCause {
    match status {
        429 => FailureCause::RateLimit,
        402 => FailureCause::Quota,
        401 | 403 => FailureCause::Auth,
        408 | 500..=599 => FailureCause::Outage,
        _ => FailureCause::Crash,
    }
}

/// A failure of which nothing is known but the end.
fn crash(reason: &str, exit_code: Option<i32>) -> Failure {
    let reason = match (reason, exit_code) {
        ("", Some(code)) => format!("it exited with {code}"),
        ("", None) => "it was killed".to_owned(),
        (reason, _) => reason.to_owned(),
    };
    Failure { cause: FailureCause::Crash, reason, resets: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_an_agent_by_its_program_or_its_package() {
        let claude = preset("claude").expect("known");
        for (command, is_named) in [
            ("claude -p", true),
            ("/opt/bin/claude -p \"$1\"", true),
            ("cd sub && timeout 60 claude -p", true),
            ("npx @anthropic-ai/claude-code@latest -p", true),
            ("sh -c 'claude -p'", true),
            ("./agent.sh", false),
            ("not-claude -p", false),
            ("codex exec -", false),
        ] {
            assert_eq!(claude.is_named_in(command), is_named, "{command}");
        }
    }
}
