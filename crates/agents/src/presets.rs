//! [`Preset`]: an agent that is known by name: its program, its arguments for running without a
//! person, and the meaning of its output.
//!
//! Presets are data and pure functions: an agent's output goes in, the result of its turn comes
//! out. Each is written from recordings of the real program (`tests/recordings`), which the tests
//! read. The driver starts the program and passes its lines on.

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
    /// Its name in files and records.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The npm package that brings the program.
    pub package: &'static str,
    /// The arguments that make the program work without a person, request no permission, and print
    /// for programs. It reads its prompt on standard input.
    pub arguments: &'static [&'static str],
    /// The argument before the name of a model.
    pub model_flag: &'static str,
    /// The files in which it records its sessions, if its output does not say why it failed.
    pub session_files: Option<SessionFiles>,
    parser: fn() -> Box<dyn OutputParser>,
}

/// The files in which an agent records its sessions. Their names end with the session's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionFiles {
    /// The variable that names its folder.
    pub home_variable: &'static str,
    /// Its folder below the user's home without that variable.
    pub home_folder: &'static str,
    /// The files' folder below that one, with folders for year, month and day in it.
    pub folder: &'static str,
    /// What follows the session's id.
    pub ending: &'static str,
}

/// Parses the output of one run of an agent.
pub trait OutputParser: Send {
    /// Parses a line of standard output. Returns its readable form, if it has one.
    fn parse_line(&mut self, line: &str) -> Option<String>;

    /// A line of standard error.
    fn parse_error_line(&mut self, _line: &str) {}

    /// Parses a line of the file in which the agent recorded its session.
    fn parse_session_line(&mut self, _line: &str) {}

    /// Whether its latest message is that it cannot reach its model and retries.
    fn is_out_of_reach(&self) -> bool {
        false
    }

    /// The agent's name for its session, as soon as it is known.
    fn session(&self) -> Option<&str>;

    /// The result of the run, which ended with this exit code; `None` if it was killed.
    fn report(&mut self, exit_code: Option<i32>) -> AgentReport;
}

/// The result of a run, according to the agent's output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentReport {
    /// The agent's last message.
    pub text: String,
    /// The agent's name for its session.
    pub session: Option<String>,
    /// What the agent used.
    pub usage: Option<Usage>,
    /// Why the agent failed, if it did.
    pub failure: Option<ReportedFailure>,
}

/// Why an agent failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedFailure {
    /// The kind of failure.
    pub cause: FailureCause,
    /// The reason, in the agent's words.
    pub reason: String,
    /// The time from which it can be used again, if it reported one.
    pub resets: Option<Reset>,
}

/// The time from which an agent can be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// At this second since 1970.
    At(i64),
    /// This long after its end.
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
    /// A parser for the output of one run.
    pub fn parser(&self) -> Box<dyn OutputParser> {
        (self.parser)()
    }

    /// Whether a command mentions the agent's program or package anywhere.
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

/// A failure about which only the exit code is known.
fn crash(reason: &str, exit_code: Option<i32>) -> ReportedFailure {
    let reason = match (reason, exit_code) {
        ("", Some(code)) => format!("it exited with {code}"),
        ("", None) => "it was killed".to_owned(),
        (reason, _) => reason.to_owned(),
    };
    ReportedFailure { cause: FailureCause::Crash, reason, resets: None }
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
