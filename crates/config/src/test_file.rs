//! Test files: cases that fire events and state the expected results. `hookwright test` runs them.
//!
//! They are read like a configuration: whole, and every fault with its place. This file defines a
//! case; `test_file/reader.rs` reads it, and `test_file/schema.rs` describes it to editors.

mod reader;
mod schema;

use std::fmt;
use std::path::{Path, PathBuf};

use hookwright_events::{Event, Status, Verdict};
use regex::Regex;
use serde_json::Value;

pub use reader::load_test_file;
pub use schema::test_schema;

use super::Fault;

/// What was read from one test file.
#[derive(Debug, Default)]
pub struct TestFile {
    /// The cases that could be read, in the order of the file.
    pub cases: Vec<TestCase>,
    /// Everything that is wrong, from top to bottom.
    pub faults: Vec<Fault>,
}

/// One case: the files of a project, one event or several, and the expected results.
#[derive(Debug, Clone)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// The line where it begins.
    pub line: u32,
    /// The session's name, under which hooks keep their memory.
    pub session: Option<String>,
    /// Variables on top of the host's environment.
    pub env: Vec<(String, String)>,
    /// A shell script that prepares the project after its files were written.
    pub setup: Option<String>,
    /// Files to write before anything else, relative to the project root.
    pub files: Vec<(PathBuf, String)>,
    /// Fire in the project itself instead of in a copy.
    pub in_place: bool,
    /// The events to fire, in this order; at least one.
    pub steps: Vec<CaseStep>,
}

/// One event of a case.
#[derive(Debug, Clone)]
pub struct CaseStep {
    /// The line where it begins.
    pub line: u32,
    /// The event to fire.
    pub event: Event,
    /// Files to lay down before it, named from the project root.
    pub files: Vec<(PathBuf, String)>,
    /// The expected result.
    pub expected: ExpectedResult,
}

/// The expected result of firing an event. What is `None` is not checked.
#[derive(Debug, Clone, Default)]
pub struct ExpectedResult {
    /// One of [`DECISIONS`].
    pub decision: Option<&'static str>,
    /// The reason.
    pub reason: Option<WantedText>,
    /// For the agent: all of them, in this order.
    pub contexts: Option<Vec<WantedText>>,
    /// For the user: all of them, in this order.
    pub messages: Option<Vec<WantedText>>,
    /// The tool's input as hooks rewrote it; null if they did not.
    pub updated_input: Option<Value>,
    /// The tool's output as hooks rewrote it; null if they did not.
    pub updated_output: Option<Value>,
    /// The output for the agent's next prompt.
    pub piped_output: Option<WantedText>,
    /// The hooks that ran: all of them, in this order. Skipped hooks are ignored unless they are
    /// listed.
    pub hooks: Option<Vec<WantedHook>>,
    /// The files that were touched: all of them.
    pub files: Option<Vec<WantedFile>>,
}

impl ExpectedResult {
    /// Whether nothing is checked, so that it always holds.
    pub fn is_empty(&self) -> bool {
        let Self {
            decision,
            reason,
            contexts,
            messages,
            updated_input,
            updated_output,
            piped_output,
            hooks,
            files,
        } = self;
        decision.is_none()
            && reason.is_none()
            && contexts.is_none()
            && messages.is_none()
            && updated_input.is_none()
            && updated_output.is_none()
            && piped_output.is_none()
            && hooks.is_none()
            && files.is_none()
    }
}

/// The words for decisions, weakest first.
pub const DECISIONS: &[&str] = &["none", "allow", "ask", "block", "stop", "abort"];

/// The word in [`DECISIONS`] for a verdict.
pub fn decision_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Proceed { .. } => "none",
        Verdict::Allow { .. } => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Block { .. } => "block",
        Verdict::Stop { .. } => "stop",
        Verdict::Abort { .. } => "abort",
    }
}

/// An expected text. White space at its end is ignored.
#[derive(Debug, Clone)]
pub enum WantedText {
    /// No text.
    Nothing,
    /// Exactly this.
    Exactly(String),
    /// One with all of these in it.
    Like {
        /// Parts.
        contains: Vec<String>,
        /// Regular expressions, each of which has to match.
        matches: Vec<Regex>,
    },
}

impl WantedText {
    /// Whether `actual` is the expected text. Empty text counts as none.
    pub fn fits(&self, actual: &str) -> bool {
        let actual = actual.trim_end();
        match self {
            WantedText::Nothing => actual.is_empty(),
            WantedText::Exactly(text) => text.trim_end() == actual,
            WantedText::Like { contains, matches } => {
                contains.iter().all(|part| actual.contains(part.as_str()))
                    && matches.iter().all(|regex| regex.is_match(actual))
            }
        }
    }
}

impl fmt::Display for WantedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WantedText::Nothing => f.write_str("nothing"),
            WantedText::Exactly(text) => f.write_str(text.trim_end()),
            WantedText::Like { contains, matches } => {
                let contains = contains.iter().map(|part| format!("contains: {part}"));
                let matches = matches.iter().map(|regex| format!("matches: {regex}"));
                f.write_str(&contains.chain(matches).collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

/// A hook that has to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedHook {
    /// Its id.
    pub id: String,
    /// The expected status of its run.
    pub status: Option<Status>,
}

impl WantedHook {
    /// The words for statuses. `started` is not among them: every hook is waited for.
    pub const STATUS_WORDS: &'static [&'static str] =
        &["success", "blocked", "failed", "timed_out", "skipped"];

    const STATUSES: [Status; 5] =
        [Status::Success, Status::Blocked, Status::Failed, Status::TimedOut, Status::Skipped];
}

/// A file that has to be touched.
#[derive(Debug, Clone)]
pub struct WantedFile {
    /// Named from the project root.
    pub path: PathBuf,
    /// The expected change; created or changed if `None`.
    pub touch: Option<FileChange>,
    /// The expected contents.
    pub content: Option<WantedText>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// The file did not exist before.
    Created,
    /// Its content or its permissions differ.
    Changed,
    /// The file no longer exists.
    Deleted,
}

impl FileChange {
    /// The words for these changes.
    pub const WORDS: &'static [&'static str] = &["created", "changed", "deleted"];

    const ALL: [FileChange; 3] = [FileChange::Created, FileChange::Changed, FileChange::Deleted];

    /// The word for this change.
    pub fn as_str(self) -> &'static str {
        match self {
            FileChange::Created => "created",
            FileChange::Changed => "changed",
            FileChange::Deleted => "deleted",
        }
    }
}

/// Whether a path is one within a project: relative, and never upwards.
fn is_within(path: &Path) -> bool {
    use std::path::Component;
    path.components().next().is_some()
        && path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests;
