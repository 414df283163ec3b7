//! What can be wrong with a configuration. A fault carries facts: its kind, its place, what was
//! found, what was expected, the nearest known name. Advice is in the binary, which finds it by
//! these types, never by their texts.

mod expected;
mod unparsed;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use hookwright_engine::condition::ConditionError;
use hookwright_engine::hook::{FilePlace, HookConflict};
use hookwright_engine::matcher::MatcherError;
use hookwright_engine::pattern::PatternError;
use hookwright_events::EventName;

pub use expected::{ExpectedValue, MissingKey};
pub use unparsed::{SyntaxKind, TreeLimit};

/// A configuration file's text, kept so that a fault can show its line.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path in messages.
    pub path: PathBuf,
    /// The whole text; empty if it could not be read.
    pub text: Box<str>,
}

/// Something wrong with a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The file.
    pub source: Arc<SourceFile>,
    /// The place in it; `None` if the fault is about the whole file.
    pub place: Option<FilePlace>,
    /// The kind of fault, with its facts.
    pub kind: FaultKind,
}

/// The kinds of faults.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FaultKind {
    /// The system reports an error when the file is read.
    #[error("the file cannot be read: {cause}")]
    Unreadable {
        /// The system's message.
        cause: String,
    },
    /// It is a folder.
    #[error("expected a file but found a folder")]
    IsFolder,
    /// It is larger than any configuration.
    #[error("the file has {bytes} bytes, expected at most {bytes_max}")]
    TooLarge {
        /// The file's size.
        bytes: u64,
        /// The largest allowed size.
        bytes_max: u64,
    },
    /// It is not UTF-8.
    #[error("the file is not UTF-8 text (byte {byte})")]
    NotText {
        /// The byte at which valid UTF-8 ends.
        byte: usize,
    },
    /// The file is empty.
    #[error("the file is empty, expected `hooks:`")]
    Empty,
    /// It is neither YAML nor JSON.
    #[error("{message}")]
    Syntax {
        /// The kind of mistake.
        kind: SyntaxKind,
        /// The parser's message.
        message: String,
    },
    /// The file exceeds a limit of the tree, so its rest is unknown.
    #[error("{0}")]
    OverLimit(TreeLimit),
    /// The same key appears twice.
    #[error("the key `{key}` appears twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// An unknown key.
    #[error("unknown key `{key}`, expected one of: {}", known.join(", "))]
    UnknownKey {
        /// The key.
        key: String,
        /// The known keys.
        known: Vec<&'static str>,
        /// One that is close.
        nearest: Option<&'static str>,
    },
    /// Another key has replaced this one.
    #[error("the key `{key}` is not supported; instead, use {successor}")]
    Superseded {
        /// The key.
        key: String,
        /// What does its work now.
        successor: &'static str,
    },
    /// The key belongs to another type of hook.
    #[error("the key `{key}` is for {belongs_to} hooks, this is a {found} hook")]
    KeyOfOtherType {
        /// The key.
        key: String,
        /// The type it belongs to.
        belongs_to: &'static str,
        /// This hook's type.
        found: &'static str,
    },
    /// The key belongs to another type of agent.
    #[error("the key `{key}` is for {belongs_to} agents, this is a {found} agent")]
    KeyOfOtherAgent {
        /// The key.
        key: String,
        /// The type it belongs to.
        belongs_to: &'static str,
        /// This agent's type.
        found: String,
    },
    /// A value of another kind.
    #[error("expected {expected} but found {found}")]
    WrongKind {
        /// The expected value.
        expected: ExpectedValue,
        /// What was found.
        found: String,
    },
    /// A word that is not among the allowed ones.
    #[error("expected {} but found `{found}`", expected.join(", "))]
    UnknownWord {
        /// What was found.
        found: String,
        /// The allowed words.
        expected: &'static [&'static str],
        /// One that is close.
        nearest: Option<&'static str>,
    },
    /// A number, duration or text that cannot be used.
    #[error("expected {expected} but found `{found}`")]
    BadValue {
        /// What was found.
        found: String,
        /// The expected value.
        expected: ExpectedValue,
    },
    /// Something required is missing.
    #[error("missing {0}")]
    Missing(MissingKey),
    /// Two settings that contradict each other.
    #[error("{0}")]
    Conflict(Conflict),
    /// Two fields of a hook that contradict each other.
    #[error("{0}")]
    HookConflict(HookConflict),
    /// The version is unknown.
    #[error("expected version 1 but found `{found}`")]
    UnknownVersion {
        /// What was found.
        found: String,
    },
    /// A pattern that can match no event.
    #[error("{0}")]
    Pattern(PatternError),
    /// A matcher that cannot be used.
    #[error("{0}")]
    Matcher(MatcherError),
    /// A condition that cannot be used.
    #[error("{0}")]
    Condition(ConditionError),
    /// A variable that is never set.
    #[error("unknown variable `{name}`")]
    UnknownVariable {
        /// The name.
        name: String,
        /// One that is close.
        nearest: Option<String>,
    },
    /// A reference at a place where the shell evaluates its value again.
    #[error("the shell evaluates `{reference}` again here, so a value could run commands")]
    EvaluatedAgain {
        /// The reference as it is written.
        reference: String,
    },
    /// An unknown dialect.
    #[error("expected the name of a dialect ({}) but found `{name}`", known.join(", "))]
    UnknownDialect {
        /// What was found.
        name: String,
        /// The known dialects.
        known: Vec<&'static str>,
        /// One that is close.
        nearest: Option<&'static str>,
    },
    /// No host has this name.
    #[error("expected the name of a host ({}) but found `{name}`", known.join(", "))]
    UnknownHost {
        /// What was found.
        name: String,
        /// The known hosts.
        known: Vec<&'static str>,
        /// One that is close.
        nearest: Option<&'static str>,
    },
    /// A `{{x}}` at a place that allows none.
    #[error("{0}")]
    Template(hookwright_engine::template::Problem),
    /// A file of secrets that other users can read or change.
    #[error("others can read or change the file (mode {mode:o})")]
    OthersCanRead {
        /// Its permissions.
        mode: u32,
    },
    /// A secret too short to redact safely: it would be found in other text.
    #[error(
        "the value of `{name}` is too short to redact safely, expected at least {bytes_min} bytes"
    )]
    WeakSecret {
        /// Its name.
        name: String,
        /// The smallest allowed length.
        bytes_min: usize,
    },
    /// A name that is not free.
    #[error("the name `{name}` is already used by a variable of hookwright")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// Two hooks of one file have the same id.
    #[error("the id `{id}` appears twice, first in line {first_line}")]
    DuplicateId {
        /// The id.
        id: String,
        /// The line of the first one.
        first_line: u32,
    },
    /// Two cases of one test file, or two agents of one list, have the same name.
    #[error("the name `{name}` appears twice, first in line {first_line}")]
    DuplicateName {
        /// The name.
        name: String,
        /// The line of the first one.
        first_line: u32,
    },
    /// A regular expression that cannot be used.
    #[error("`{pattern}` is not a valid regular expression: {cause}")]
    BadRegex {
        /// The text.
        pattern: String,
        /// The regular expression parser's message, in one line.
        cause: String,
    },
    /// More hooks than a set holds.
    #[error("more than {hooks_max} hooks")]
    TooManyHooks {
        /// The largest allowed number.
        hooks_max: usize,
    },
    /// A loop, a prompt or another file that a configuration names and that does not exist.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// The kind of thing: a loop, a file.
        what: &'static str,
        /// The name in the configuration.
        name: String,
        /// The folders that were searched.
        looked_in: Box<[PathBuf]>,
        /// An existing one with a similar name.
        nearest: Option<Box<str>>,
    },
    /// A loop or pipeline that starts itself through its hooks, directly or through others.
    #[error("`{name}` would start itself again: {chain}")]
    StartsItself {
        /// The name in the configuration.
        name: String,
        /// From one to the next, and back to the first.
        chain: String,
    },
    /// A hook of a worker's user that starts a loop or pipeline, whose files a submitted session
    /// does not have.
    #[error("a hook of the worker's user cannot start `{name}` in a submitted session")]
    SpawnOfWorker {
        /// The name in the configuration.
        name: String,
    },
    /// A pipeline where a loop belongs.
    #[error("`{name}` is a pipeline, but a stage runs a loop")]
    NotALoop {
        /// The name in the configuration.
        name: String,
    },
    /// No agent is named.
    #[error("no agent: set `agent` or use `--agent`")]
    NoAgent,
    /// No agent has this name.
    #[error("unknown agent `{name}`")]
    UnknownAgent {
        /// The name.
        name: String,
        /// The known agents.
        known: Vec<&'static str>,
        /// The known agent with the most similar name.
        nearest: Option<&'static str>,
    },
    /// A known agent whose program is not installed.
    #[error("the agent `{name}` is not installed: there is no program `{program}`")]
    AgentNotInstalled {
        /// The agent.
        name: &'static str,
        /// Its program.
        program: &'static str,
        /// The npm package that brings it.
        package: &'static str,
    },
    /// A command that cannot take a prompt as an argument.
    #[error("{problem}")]
    NoPlaceForPrompt {
        /// The reason.
        problem: String,
    },
    /// There is no prompt.
    #[error("no prompt: set `prompt` or `prompt_file`")]
    NoPrompt,
    /// An agent's program that is not installed.
    #[error("cannot find the program `{program}`")]
    NoProgram {
        /// Its name.
        program: String,
    },
    /// Work that cannot be found.
    #[error("{problem}")]
    BadQueue {
        /// The reason.
        problem: String,
    },
    /// Files that are probably meant as work items but have the wrong names.
    #[error("{problem}")]
    Misnamed {
        /// The files, and what was expected.
        problem: String,
    },
    /// A hook of a stage's loop for an event that is fired outside of stages.
    #[error(
        "`{event}` never wakes a hook of a stage's loop: a pipeline's session begins and ends \
         outside its stages"
    )]
    NeverFires {
        /// The event, as it is written.
        event: String,
        /// The event of a stage that is most similar.
        instead: EventName,
    },
    /// Valid, but not available in this version.
    #[error("`{what}` is not available in this version")]
    NotYet {
        /// What.
        what: String,
    },
}

/// Two settings that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// `event` in an entry whose key names the event already.
    #[error("`event` is for hooks in a list; here the key above names the event")]
    EventTwice,
    /// `prompt` beside `prompt_file`.
    #[error("`prompt` and `prompt_file` cannot be combined")]
    TwoPrompts,
    /// `model` of a loop with several agents.
    #[error("`model` is ambiguous: there are several agents")]
    ModelOfSeveral,
    /// In a test: a key of a single event, beside a list of several events.
    #[error("with `steps`, this key belongs in a step")]
    BesideSteps,
    /// In a test: data from two places.
    #[error("`data_file` cannot be combined with `data`")]
    DataTwice,
    /// In a test: files or a setup that would change the project itself.
    #[error(
        "`in_place` cannot be combined with `files` or `setup`, which would change the project"
    )]
    PreparesInPlace,
    /// In a test: text of a file that is to be gone.
    #[error("a deleted file has no content")]
    ContentOfDeleted,
}

impl FaultKind {
    /// Whether the file exceeds one of our limits and was therefore not read. A program without our
    /// limits would have read it.
    pub(crate) fn is_over_a_limit(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::OverLimit(_))
    }

    /// The nearest known name, if one is close.
    pub fn nearest(&self) -> Option<&str> {
        match self {
            FaultKind::UnknownKey { nearest, .. }
            | FaultKind::UnknownWord { nearest, .. }
            | FaultKind::UnknownAgent { nearest, .. }
            | FaultKind::UnknownHost { nearest, .. }
            | FaultKind::UnknownDialect { nearest, .. } => *nearest,
            FaultKind::Pattern(PatternError::UnknownEvent { nearest, .. }) => *nearest,
            FaultKind::Condition(ConditionError::UnknownVariable { nearest, .. })
            | FaultKind::UnknownVariable { nearest, .. } => nearest.as_deref(),
            FaultKind::NotFound { nearest, .. } => nearest.as_deref(),
            _ => None,
        }
    }
}

impl Fault {
    /// File, line and column, as an editor opens them.
    pub fn location(&self) -> String {
        let path = self.source.path.display();
        match &self.place {
            Some(place) => format!("{path}:{}:{}", place.line, place.column),
            None => path.to_string(),
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.kind)
    }
}
