//! What can be wrong with a hook, from a program or a file: the rules between its fields, and
//! everything that a [`HookBuilder`](super::HookBuilder) refuses.

use std::fmt;

use hookwright_events::{EventName, Power};

use super::{Action, Exhausted, Hook, OnFailure};
use crate::limits::HOOKS_MAX;
use crate::matcher::{Matcher, MatcherError};
use crate::pattern::PatternError;

/// Describes [`RETRIES_MAX`](crate::limits::RETRIES_MAX).
pub const RETRIES_EXPECTED: &str = "a whole number from 0 to 100";

/// A fault of a hook of the host's own program.
#[derive(Debug, Clone, PartialEq)]
pub struct HookFault {
    /// The source file of the program.
    pub file: Box<str>,
    /// The line that builds the hook.
    pub line: u32,
    /// The column in that line.
    pub column: u32,
    /// What is wrong.
    pub kind: HookFaultKind,
}

/// The kinds of faults of a program's hook.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HookFaultKind {
    /// A pattern that can match no event.
    #[error("{0}")]
    Pattern(PatternError),
    /// An invalid matcher.
    #[error("{0}")]
    Matcher(MatcherError),
    /// An invalid number, duration or text.
    #[error("expected {expected} but found `{found}`")]
    BadValue {
        /// The invalid value.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// Two fields that contradict each other.
    #[error("{0}")]
    Conflict(HookConflict),
    /// Two hooks have the same id.
    #[error("the id `{id}` appears twice, first in line {first_line}")]
    DuplicateId {
        /// The shared id.
        id: String,
        /// The line of the other hook.
        first_line: u32,
    },
    /// More hooks than a set may contain.
    #[error("more than {HOOKS_MAX} hooks")]
    TooManyHooks,
}

impl fmt::Display for HookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.kind)?;
        match &self.kind {
            HookFaultKind::Pattern(PatternError::UnknownEvent {
                nearest: Some(nearest), ..
            }) => {
                write!(f, " (did you mean `{nearest}`?)")
            }
            _ => Ok(()),
        }
    }
}

/// Two fields of a hook that contradict each other, or a field that has no use at its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HookConflict {
    /// `await: false` beside a field that needs the result.
    #[error(
        "`await: false` cannot be combined with `abort` or `block`: nothing waits for the failure"
    )]
    NotAwaited,
    /// `block` at an event that cannot be blocked.
    #[error("`block` needs an event that can be blocked, and this one cannot")]
    NothingToBlock,
    /// `on_exhausted` without retries.
    #[error("`on_exhausted` needs `on_failure: retry`")]
    NothingToExhaust,
    /// `matcher` at an event without a subject.
    #[error("`matcher` compares an event's subject, but this event has none")]
    NothingToMatch,
    /// `pipe_output` at the end of a session.
    #[error("`pipe_output` reaches no agent at the end of a session")]
    NoReader,
}

impl Hook {
    /// The fields that contradict each other, each with the key to report it at.
    pub fn conflicts(&self) -> Vec<(&'static str, HookConflict)> {
        let mut found = Vec::new();
        let pattern = &self.pattern;
        let waits_for_result = matches!(self.on_failure, Some(OnFailure::Abort | OnFailure::Block))
            || matches!(self.on_exhausted, Some(Exhausted::Abort | Exhausted::Block));
        let asks_a_person = matches!(self.action, Action::Webhook(_));
        if self.awaits == Some(false) && waits_for_result && !asks_a_person {
            found.push(("await", HookConflict::NotAwaited));
        }
        let blocks_on_failure = self.on_failure == Some(OnFailure::Block);
        let asks_to_block = blocks_on_failure || self.on_exhausted == Some(Exhausted::Block);
        if asks_to_block && !pattern.any(|event| event.power != Power::Observes) {
            let key = if blocks_on_failure { "on_failure" } else { "on_exhausted" };
            found.push((key, HookConflict::NothingToBlock));
        }
        if self.on_exhausted.is_some() && self.on_failure != Some(OnFailure::Retry) {
            found.push(("on_exhausted", HookConflict::NothingToExhaust));
        }
        if !matches!(self.matcher, Matcher::All) && !pattern.any(|event| event.subject.is_some()) {
            found.push(("matcher", HookConflict::NothingToMatch));
        }
        let only_at_the_end = !pattern.points.is_empty()
            && pattern.points.iter().all(|point| EventName::SESSION_END == point.event.into());
        if self.pipe_output && only_at_the_end {
            found.push(("pipe_output", HookConflict::NoReader));
        }
        found
    }
}
