//! Patterns of events: the keys of `hooks:` and the field `event:`.
//!
//! Exact (`tool:pre_execute`, or any alias), glob (`tool:*`), with a subject
//! (`tool:pre_execute:bash`, `tool:*:write`), comma lists, `*`. The table of events is closed, so a
//! pattern becomes a list of [`PatternPoint`]s when it is read. A pattern that can match no event
//! is then an error, not silently ignored.

use hookwright_events::table::{self, EVENTS, OPEN_DOMAINS};
use hookwright_events::{Event, EventName, EventSpec};

use crate::glob::{self, Glob};
use crate::matcher::{Matcher, Subject, SubjectOf};
use crate::nearest::nearest;

/// One event that a pattern matches, with its subjects.
#[derive(Debug, Clone)]
pub struct PatternPoint {
    /// The event's row in the table.
    pub event: &'static EventSpec,
    /// The subjects that it matches.
    pub subjects: Matcher,
    /// If not empty: matches only if the event's reason is one of these.
    pub only_reasons: &'static [&'static str],
}

impl PatternPoint {
    /// Whether this event's subject and reason match. The event must be the point's own.
    pub fn is_awake(&self, event: &Event, subject: &Subject<'_>) -> bool {
        let reason = event.text("reason").unwrap_or_default();
        (self.only_reasons.is_empty() || self.only_reasons.contains(&reason))
            && self.subjects.wakes(subject)
    }
}

/// The events that a hook matches.
#[derive(Debug, Clone, Default)]
pub struct Pattern {
    /// Events of the table.
    pub points: Vec<PatternPoint>,
    /// Globs over the open namespace, whose events are not in the table.
    pub open: Vec<Glob>,
}

/// Why a pattern can match no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// No event has this name.
    #[error("unknown event `{name}`")]
    UnknownEvent {
        /// The part of the comma list.
        name: String,
        /// The most similar known name.
        nearest: Option<&'static str>,
    },
    /// A subject was given for an event that has none.
    #[error("event `{event}` has no subject, so `{name}` can never match")]
    NoSubject {
        /// The part of the comma list.
        name: String,
        /// The event of the pattern.
        event: &'static str,
    },
    /// The subject is not a valid name, so it could never match.
    #[error("`{name}` can never match: expected a name, `A|B` or a glob after `{event}:`")]
    BadSubject {
        /// The part of the comma list.
        name: String,
        /// The event of the pattern.
        event: &'static str,
    },
    /// A glob with characters that neither events nor subjects have.
    #[error("`{name}` can never match: no event and no subject has this name")]
    BadGlob {
        /// The part of the comma list.
        name: String,
    },
    /// `a,,b`, or an empty text.
    #[error("an event name is missing")]
    Empty,
}

impl Pattern {
    /// Parses a key of `hooks:` or an `event:` field.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let mut whole = Pattern::default();
        for part in text.split(',').map(str::trim) {
            whole.add(part)?;
        }
        Ok(whole)
    }

    /// Whether any event that it matches satisfies `test`.
    pub fn any(&self, test: impl Fn(&'static EventSpec) -> bool) -> bool {
        self.points.iter().any(|point| test(point.event))
    }

    /// The canonical names of the events that it matches, except those of the open namespace.
    pub fn events(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.points.iter().map(|point| point.event.name).collect();
        names.dedup();
        names
    }

    fn add(&mut self, part: &str) -> Result<(), PatternError> {
        if part.is_empty() {
            return Err(PatternError::Empty);
        }
        if let Some((event, alias)) = table::resolve_with_alias(part) {
            let only_reasons = alias.map_or(&[][..], |alias| alias.only_reasons);
            self.points.push(PatternPoint { event, subjects: Matcher::All, only_reasons });
            return Ok(());
        }
        if let Some(point) = exact_with_subject(part) {
            self.points.push(point?);
            return Ok(());
        }
        if glob::is_glob(part) {
            if Matcher::of_names(part, SubjectOf::Tools).is_err() || part.contains('|') {
                return Err(PatternError::BadGlob { name: part.to_owned() });
            }
            let found = self.points.len() + self.open.len();
            self.add_glob(part);
            if self.points.len() + self.open.len() > found {
                return Ok(());
            }
        } else if EventName::resolve(part).is_some() {
            // An exact name of the open namespace.
            self.open.push(Glob::new(part));
            return Ok(());
        }
        Err(PatternError::UnknownEvent { name: part.to_owned(), nearest: nearest_event(part) })
    }

    fn add_glob(&mut self, part: &str) {
        let glob = Glob::new(part);
        for event in EVENTS {
            if glob.matches(event.name) {
                self.points.push(PatternPoint { event, subjects: Matcher::All, only_reasons: &[] });
            } else if event.subject.is_some() {
                let left = glob.after(&format!("{}:", event.name));
                if !left.is_empty() {
                    let subjects = Matcher::Globs(left.into());
                    self.points.push(PatternPoint { event, subjects, only_reasons: &[] });
                }
            }
        }
        if OPEN_DOMAINS.iter().any(|domain| glob.reaches(domain)) {
            self.open.push(glob);
        }
    }
}

/// `tool:pre_execute:bash` or `PreToolUse:Bash`: an event's name, then one subject.
fn exact_with_subject(part: &str) -> Option<Result<PatternPoint, PatternError>> {
    let (event, only_reasons, subject) = EVENTS.iter().find_map(|event| {
        std::iter::once((event.name, &[][..]))
            .chain(event.aliases.iter().map(|alias| (alias.name, alias.only_reasons)))
            .find_map(|(name, reasons)| {
                let subject = part.strip_prefix(name)?.strip_prefix(':')?.trim();
                Some((event, reasons, subject))
            })
    })?;
    if subject.is_empty() || event.subject.is_none() {
        return Some(Err(PatternError::NoSubject { name: part.to_owned(), event: event.name }));
    }
    // The syntax of `matcher:`, without regular expressions, which have their own field.
    Some(match Matcher::of_names(subject, SubjectOf::events(std::iter::once(event))) {
        Ok(subjects) => Ok(PatternPoint { event, subjects, only_reasons }),
        Err(_) => Err(PatternError::BadSubject { name: part.to_owned(), event: event.name }),
    })
}

fn nearest_event(part: &str) -> Option<&'static str> {
    // If there is a third segment, the event is the first two.
    let event = part.match_indices(':').nth(1).map_or(part, |(at, _)| &part[..at]);
    nearest(event, table::all_names())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pattern: &str) -> Vec<&'static str> {
        Pattern::parse(pattern).expect("valid").events()
    }

    #[test]
    fn exact_names_and_every_alias_lead_to_one_event() {
        assert_eq!(events("tool:pre_execute"), ["tool:pre_execute"]);
        assert_eq!(events("on_iteration_complete"), ["iteration:complete"]);
        assert_eq!(events("Stop"), ["session:stop"]);
    }

    #[test]
    fn globs_lists_and_subjects_as_the_specification_writes_them() {
        let tool = ["tool:pre_execute", "tool:post_execute", "tool:error"];
        assert_eq!(events("tool:*"), tool);
        assert_eq!(events("tool:*:write"), tool);
        assert_eq!(events("session:start,session:end"), ["session:start", "session:end"]);
        assert_eq!(events("*").len(), EVENTS.len());
        assert_eq!(events("tool:pre_execute:bash"), ["tool:pre_execute"]);
        assert_eq!(events("PreToolUse:Bash"), ["tool:pre_execute"]);
        assert_eq!(events("tool:pre_execute:mcp__*"), ["tool:pre_execute"]);
    }

    #[test]
    fn a_star_crosses_the_colon() {
        let bash = events("*:bash");
        assert!(bash.contains(&"tool:pre_execute") && bash.contains(&"permission:check"));
        assert!(!bash.contains(&"user:interrupt"), "it has no subject");
    }

    #[test]
    fn the_open_namespace_is_reached_by_name_by_glob_and_by_star() {
        for pattern in ["claude:post_tool_batch", "claude:*", "*"] {
            let open = Pattern::parse(pattern).expect("valid").open;
            assert!(open.iter().any(|glob| glob.matches("claude:post_tool_batch")), "{pattern}");
        }
        assert!(Pattern::parse("tool:*").expect("valid").open.is_empty());
    }

    #[test]
    fn a_pattern_that_matches_no_event_is_refused_with_the_nearest_name() {
        for (pattern, near) in [
            ("tool:pre_exec", Some("tool:pre_execute")),
            ("tool:pre_exekute:bash", Some("tool:pre_execute")),
            ("on_iteration_complet", Some("on_iteration_complete")),
            ("pretooluse", Some("PreToolUse")),
            ("nothing*like:it", None),
        ] {
            assert_eq!(
                Pattern::parse(pattern).expect_err("no such event"),
                PatternError::UnknownEvent { name: pattern.into(), nearest: near },
            );
        }
    }

    #[test]
    fn an_event_may_have_several_subjects_and_odd_ones_are_faults() {
        let both = Pattern::parse("tool:pre_execute:bash|write").expect("valid");
        assert!(matches!(&both.points[0].subjects, Matcher::Named(names) if names.len() == 2));
        for odd in ["tool:pre_execute:/bash/", "tool:pre_execute:^bash$", "PreToolUse:mcp__.*"] {
            let error = Pattern::parse(odd).expect_err("never matches");
            assert!(matches!(error, PatternError::BadSubject { .. }), "{odd}: {error}");
        }
        for odd in ["tool:*:bash|write", "tool:.*", "tool:*:(x)"] {
            let error = Pattern::parse(odd).expect_err("never matches");
            assert!(matches!(error, PatternError::BadGlob { .. }), "{odd}: {error}");
        }
    }

    #[test]
    fn a_subject_for_an_event_without_one_never_matches() {
        for pattern in ["user:interrupt:x", "tool:pre_execute:"] {
            assert!(matches!(
                Pattern::parse(pattern).expect_err("no subject"),
                PatternError::NoSubject { .. }
            ));
        }
        for pattern in ["", "session:start,,session:end", "session:start,"] {
            assert_eq!(Pattern::parse(pattern).expect_err("empty"), PatternError::Empty);
        }
    }
}
