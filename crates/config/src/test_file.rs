//! Test files: cases that fire events and say what has to come of it. `hookwright test` runs them.
//!
//! They are read like a configuration: whole, and every fault with its place. This file holds what
//! a case is; `test_file/reader.rs` reads it, `test_file/schema.rs` describes it to editors.

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

/// One case: a project as it is found, one event or several, and what has to come of them.
#[derive(Debug, Clone)]
pub struct TestCase {
    /// What it is called.
    pub name: String,
    /// Where it begins in its file.
    pub line: u32,
    /// The session's name, under which hooks remember things.
    pub session: Option<String>,
    /// Variables on top of the host's environment.
    pub env: Vec<(String, String)>,
    /// Shell text that prepares the project, once the files are there.
    pub setup: Option<String>,
    /// Files to lay down before anything else, named from the project root.
    pub files: Vec<(PathBuf, String)>,
    /// Fire in the project itself instead of in a copy.
    pub in_place: bool,
    /// What is fired, in this order; at least one.
    pub steps: Vec<CaseStep>,
}

/// One event of a case.
#[derive(Debug, Clone)]
pub struct CaseStep {
    /// Where it begins in its file.
    pub line: u32,
    /// What is fired.
    pub event: Event,
    /// Files to lay down before it, named from the project root.
    pub files: Vec<(PathBuf, String)>,
    /// What has to come of it.
    pub expected: ExpectedResult,
}

/// What has to come of firing an event. What is `None` is not looked at.
#[derive(Debug, Clone, Default)]
pub struct ExpectedResult {
    /// One of [`DECISIONS`].
    pub decision: Option<&'static str>,
    /// Why.
    pub reason: Option<WantedText>,
    /// For the agent: all of them, in this order.
    pub contexts: Option<Vec<WantedText>>,
    /// For the user: all of them, in this order.
    pub messages: Option<Vec<WantedText>>,
    /// The tool's input as hooks rewrote it; null if none did.
    pub updated_input: Option<Value>,
    /// The tool's output as hooks rewrote it; null if none did.
    pub updated_output: Option<Value>,
    /// What goes into the agent's next prompt.
    pub piped_output: Option<WantedText>,
    /// The hooks that ran: all of them, in this order. Skipped ones only where they are named.
    pub hooks: Option<Vec<WantedHook>>,
    /// The files that were touched: all of them.
    pub files: Option<Vec<WantedFile>>,
}

impl ExpectedResult {
    /// Whether nothing is looked at, so that it always holds.
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

/// The words for a decision, weakest first.
pub const DECISIONS: &[&str] = &["none", "allow", "ask", "block", "stop", "abort"];

/// The word for a verdict, out of [`DECISIONS`].
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

/// A text that has to come. White space at its end does not count.
#[derive(Debug, Clone)]
pub enum WantedText {
    /// There is none.
    Nothing,
    /// Exactly this.
    Exactly(String),
    /// One with all of these in it.
    Like {
        /// Parts.
        contains: Vec<String>,
        /// Regular expressions, each of which finds something.
        matches: Vec<Regex>,
    },
}

impl WantedText {
    /// Whether this is what was wanted. Empty text is none.
    pub fn fits(&self, came: &str) -> bool {
        let came = came.trim_end();
        match self {
            WantedText::Nothing => came.is_empty(),
            WantedText::Exactly(text) => text.trim_end() == came,
            WantedText::Like { contains, matches } => {
                contains.iter().all(|part| came.contains(part.as_str()))
                    && matches.iter().all(|regex| regex.is_match(came))
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
    /// How its run has to count.
    pub status: Option<Status>,
}

impl WantedHook {
    /// The words for how a run counts. Nothing is left `started`: whatever runs is waited for.
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
    /// How; created or changed if it is not said.
    pub touch: Option<Touch>,
    /// Its contents then.
    pub content: Option<WantedText>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// It was not there before.
    Created,
    /// Its content or its permissions are others.
    Changed,
    /// It is gone.
    Deleted,
}

impl Touch {
    /// The words for these.
    pub const WORDS: &'static [&'static str] = &["created", "changed", "deleted"];

    const ALL: [Touch; 3] = [Touch::Created, Touch::Changed, Touch::Deleted];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Touch::Created => "created",
            Touch::Changed => "changed",
            Touch::Deleted => "deleted",
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
