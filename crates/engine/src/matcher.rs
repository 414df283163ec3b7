//! The subjects that a hook matches: the third segment of a pattern, or `matcher:`.
//!
//! A name, `A|B`, globs (`mcp__*`), or `/…/` for a regular expression. ASCII case is ignored, and a
//! tool is tried under all of its spellings: a guard must not miss because of spelling.

use std::fmt;
use std::sync::Arc;

use hookwright_events::{Event, EventSpec};

use crate::glob::{self, Glob};
use crate::lazy_regex::{Case, LazyRegex};

/// The subjects that a hook matches.
#[derive(Debug, Clone, Default)]
pub enum Matcher {
    /// Every subject, and events without one.
    #[default]
    All,
    /// Exactly these names.
    Named(Box<[Box<str>]>),
    /// Names that match one of these.
    Globs(Box<[Glob]>),
    /// Names in which this expression matches.
    Regex(LazyRegex),
    /// Names that match both: a pattern's subject and the `matcher:` beside it.
    Both(Box<(Matcher, Matcher)>),
    /// A dialect's own rules.
    Foreign(Arc<dyn EventMatcher>),
}

/// A dialect's own rules for the events that a hook matches, beyond their names.
pub trait EventMatcher: fmt::Debug + Send + Sync {
    /// Whether the hook matches this event.
    fn wakes(&self, event: &Event) -> bool;
}

/// What a matcher's names refer to: tools have plain names, other subjects may have any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectOf {
    /// Tools.
    Tools,
    /// Stages, models, reasons and the like.
    Others,
}

impl SubjectOf {
    /// What a matcher at these events refers to.
    pub fn events<'a>(mut events: impl Iterator<Item = &'a EventSpec>) -> Self {
        match events.any(|event| event.subject == Some("tool_name")) {
            true => SubjectOf::Tools,
            false => SubjectOf::Others,
        }
    }
}

/// Why a `matcher:` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatcherError {
    /// Not a valid regular expression.
    #[error("invalid regular expression: {cause}")]
    BadRegex {
        /// The regex parser's message, in one line.
        cause: String,
    },
    /// `A||B`: one of the names is empty.
    #[error("one of the names between `|` is empty")]
    EmptyName,
    /// `A,B`: no name contains a comma, so this could never match.
    #[error("names are separated by `|`, not by a comma")]
    Comma,
    /// The text has characters that no name has; usually a regular expression was meant.
    #[error("`{name}` is not a name, `A|B` or a glob")]
    OddName {
        /// The invalid text.
        name: String,
    },
}

impl Matcher {
    /// Parses a `matcher:` field.
    pub fn parse(text: &str, of: SubjectOf) -> Result<Self, MatcherError> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Matcher::All);
        }
        if let Some(regex) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            return LazyRegex::new(regex, Case::Ignored)
                .map(Matcher::Regex)
                .map_err(|cause| MatcherError::BadRegex { cause });
        }
        Self::of_names(text, of)
    }

    /// Parses `A`, `A|B` and globs.
    pub(crate) fn of_names(text: &str, of: SubjectOf) -> Result<Self, MatcherError> {
        if text.contains(',') && of == SubjectOf::Tools {
            return Err(MatcherError::Comma);
        }
        // Characters that no tool name can contain would never match. Stages and the like may have
        // any name.
        let plain = text.replace("[!", "[").replace("[^", "[");
        let tail = plain.strip_prefix('$').unwrap_or(&plain);
        let odd_for_tools = tail
            .contains(['^', '$', '(', ')', '{', '}', '\\', '"', '\'', '!', '<', '>'])
            || text.contains(".*");
        if text.starts_with('/') || (of == SubjectOf::Tools && odd_for_tools) {
            return Err(MatcherError::OddName { name: text.to_owned() });
        }
        let names: Vec<&str> = text.split('|').map(str::trim).collect();
        if names.iter().any(|name| name.is_empty()) {
            return Err(MatcherError::EmptyName);
        }
        Ok(if names.iter().any(|name| glob::is_glob(name)) {
            Matcher::Globs(names.into_iter().map(Glob::new).collect())
        } else {
            Matcher::Named(names.into_iter().map(Box::from).collect())
        })
    }

    /// Whether a hook with this matcher matches `subject`.
    pub fn wakes(&self, subject: &Subject<'_>) -> bool {
        let any = |fits: &dyn Fn(&str) -> bool| subject.spellings.iter().any(|name| fits(name));
        match self {
            Matcher::All => true,
            Matcher::Named(names) => {
                any(&|name| names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)))
            }
            Matcher::Globs(globs) => any(&|name| globs.iter().any(|glob| glob.matches(name))),
            Matcher::Regex(regex) => any(&|name| regex.is_match(name)),
            Matcher::Both(both) => both.0.wakes(subject) && both.1.wakes(subject),
            Matcher::Foreign(looks) => looks.wakes(subject.event),
        }
    }
}

/// The subject of one event, under every spelling that a pattern may use.
#[derive(Debug)]
pub struct Subject<'a> {
    event: &'a Event,
    spellings: Vec<&'a str>,
}

impl<'a> Subject<'a> {
    /// The subject of `event`, if it has one.
    pub fn from_event(event: &'a Event) -> Self {
        Self { event, spellings: event.subject_spellings() }
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::EventName;
    use serde_json::{Map, json};

    use super::*;

    fn tool(name: &str) -> Event {
        Event::new(
            EventName::resolve("tool:pre_execute").expect("known"),
            Map::from_iter([("tool_name".to_owned(), json!(name))]),
        )
    }

    #[test]
    fn a_guard_does_not_miss_because_of_spelling() {
        for matcher in ["bash", "Bash", "BASH", "run_shell_command", "Edit|Bash", "b*", "/^Bash$/"]
        {
            for name in ["bash", "Bash", "run_shell_command", "local_shell"] {
                let event = tool(name);
                let wakes = Matcher::parse(matcher, SubjectOf::Tools)
                    .expect("valid")
                    .wakes(&Subject::from_event(&event));
                assert!(wakes, "{matcher} must wake for {name}");
            }
        }
    }

    #[test]
    fn other_tools_do_not_wake_it() {
        for matcher in ["bash", "Edit|Bash", "ba?h", "/^bash$/", "mcp__*"] {
            let event = tool("read");
            assert!(
                !Matcher::parse(matcher, SubjectOf::Tools)
                    .expect("valid")
                    .wakes(&Subject::from_event(&event))
            );
        }
    }

    #[test]
    fn an_event_without_a_subject_wakes_only_hooks_that_look_at_all() {
        let event = Event::new(EventName::resolve("user:interrupt").expect("known"), Map::new());
        let subject = Subject::from_event(&event);
        assert!(Matcher::parse("*", SubjectOf::Tools).expect("valid").wakes(&subject));
        assert!(Matcher::parse("", SubjectOf::Tools).expect("valid").wakes(&subject));
        assert!(!Matcher::parse("x", SubjectOf::Tools).expect("valid").wakes(&subject));
        assert!(!Matcher::parse("/./", SubjectOf::Tools).expect("valid").wakes(&subject));
    }

    #[test]
    fn legal_names_and_globs_stay_legal() {
        for name in ["[!a]*", "[^a]*", "c++", "$web_search", "mcp__git-hub__x", "my tool", "a.b"] {
            assert!(Matcher::parse(name, SubjectOf::Tools).is_ok(), "{name}");
        }
        for stage in ["plan (v2)", "what's next", "it!", "C++", "a, b"] {
            assert!(Matcher::parse(stage, SubjectOf::Others).is_ok(), "{stage}");
        }
    }

    #[test]
    fn an_invalid_matcher_is_refused_with_the_reason() {
        let bad = Matcher::parse("/(/", SubjectOf::Tools).expect_err("unclosed");
        assert_eq!(bad, MatcherError::BadRegex { cause: "unclosed group".into() });
        assert_eq!(
            Matcher::parse("a||b", SubjectOf::Tools).expect_err("empty"),
            MatcherError::EmptyName
        );
        for odd in ["^Bash$", "(Bash|Edit)", ".*", "mcp__.*", "/bash/i", "'Bash'", "!read"] {
            let error = Matcher::parse(odd, SubjectOf::Tools).expect_err("no name");
            assert_eq!(error, MatcherError::OddName { name: odd.into() });
        }
        assert_eq!(
            Matcher::parse("Write, Edit", SubjectOf::Tools).expect_err("comma"),
            MatcherError::Comma
        );
        let huge = Matcher::parse("/(a{1000}){10000}/", SubjectOf::Tools).expect_err("too big");
        assert!(matches!(huge, MatcherError::BadRegex { .. }));
    }
}
