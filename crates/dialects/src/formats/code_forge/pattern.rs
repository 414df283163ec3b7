//! An entry's pattern of events: `tool:pre_execute`, `tool:*`, `tool:pre_execute:bash`,
//! `tool:*:write`, `*:bash`, a comma-separated list, `*`.
//!
//! A pattern is compared with the event's name and, if there is a tool, with the name, a colon and
//! the tool. `*` also matches `:`, `?` and `[…]` work, and case matters. Both the agent's name of
//! the tool and the native one, which is Code-Forge's, are tried: a pattern for `bash` also matches
//! the tool `Bash`.

use std::ops::Range;
use std::sync::Arc;

use hookwright_config::FaultKind;
use hookwright_engine::matcher::{EventMatcher, Matcher};
use hookwright_engine::pattern::{Pattern, PatternError, PatternPoint};
use hookwright_engine::{Glob, is_glob, nearest};
use hookwright_events::table::{self, EVENTS, OPEN_DOMAINS};
use hookwright_events::{Event, EventSpec};

/// A parsed pattern.
#[derive(Debug, Default)]
pub(super) struct ParsedPattern {
    /// The events that it matches.
    pub(super) pattern: Pattern,
    /// The parts that some event can match, as written.
    pub(super) heard: String,
    /// The parts that no event can match, with their positions.
    pub(super) in_vain: Vec<(Range<usize>, FaultKind)>,
}

impl ParsedPattern {
    /// Parses a pattern. Empty parts between commas are ignored.
    pub(super) fn read(text: &str) -> Self {
        let mut listening = Self::default();
        let mut at = 0;
        for part in text.split(',') {
            let start = at + (part.len() - part.trim_start().len());
            let name = part.trim();
            at += part.len() + 1;
            if name.is_empty() {
                continue;
            }
            if let Err(fault) = listening.add(name) {
                listening.in_vain.push((start..start + name.len(), fault));
                continue;
            }
            let comma = if listening.heard.is_empty() { "" } else { "," };
            listening.heard.extend([comma, name]);
        }
        listening
    }

    /// Whether any event can match.
    pub(super) fn hears_anything(&self) -> bool {
        !self.heard.is_empty()
    }

    fn add(&mut self, part: &str) -> Result<(), FaultKind> {
        if let Some(event) = table::named(part) {
            self.point(event, Matcher::All);
            return Ok(());
        }
        let named = with_tool(part);
        if let Some((event, tool)) = named
            && has_tool(event)
            && !tool.is_empty()
            && !is_glob(tool)
        {
            // Found by its tool, then compared again: the index ignores case.
            let by_name = Matcher::Named(Box::new([tool.into()]));
            let exactly = Tools { globs: Vec::new(), literal: Some(tool.into()) };
            let exactly = Matcher::Foreign(Arc::new(exactly));
            self.point(event, Matcher::Both(Box::new((by_name, exactly))));
            return Ok(());
        }
        let found = self.pattern.points.len() + self.pattern.open.len();
        self.add_glob(part);
        if self.pattern.points.len() + self.pattern.open.len() > found {
            return Ok(());
        }
        Err(match named {
            Some(_) => FaultKind::BadValue {
                found: part.to_owned(),
                expected: "a tool as the third part, at an event that has one".into(),
            },
            None => {
                let event = part.match_indices(':').nth(1).map_or(part, |(at, _)| &part[..at]);
                let nearest = nearest(event, EVENTS.iter().map(|event| event.name));
                FaultKind::Pattern(PatternError::UnknownEvent { name: part.to_owned(), nearest })
            }
        })
    }

    fn add_glob(&mut self, part: &str) {
        let glob = Glob::case_sensitive(part);
        for event in EVENTS {
            if glob.matches(event.name) {
                self.point(event, Matcher::All);
                continue;
            }
            let left =
                if has_tool(event) { glob.after(&format!("{}:", event.name)) } else { vec![] };
            if !left.is_empty() {
                let literal = with_tool(part).map(|(_, tool)| tool.into());
                let tools = Tools { globs: left, literal };
                self.point(event, Matcher::Foreign(Arc::new(tools)));
            }
        }
        if OPEN_DOMAINS.iter().any(|domain| glob.reaches(domain)) {
            self.pattern.open.push(glob);
        }
    }

    fn point(&mut self, event: &'static EventSpec, subjects: Matcher) {
        self.pattern.points.push(PatternPoint { event, subjects, only_reasons: &[] });
    }
}

/// The event before a third part, and that part.
fn with_tool(part: &str) -> Option<(&'static EventSpec, &str)> {
    EVENTS.iter().find_map(|event| Some((event, part.strip_prefix(event.name)?.strip_prefix(':')?)))
}

fn has_tool(event: &EventSpec) -> bool {
    event.subject == Some("tool_name")
}

/// The tools that a pattern matches.
#[derive(Debug)]
struct Tools {
    /// Tools that match one of these.
    globs: Vec<Glob>,
    /// Exactly this name, even if it contains glob characters.
    literal: Option<Box<str>>,
}

impl EventMatcher for Tools {
    fn wakes(&self, event: &Event) -> bool {
        let called = event.subject_spellings().into_iter().next();
        let names = [called, event.subject()];
        names.into_iter().flatten().any(|tool| {
            self.literal.as_deref() == Some(tool)
                || self.globs.iter().any(|glob| glob.matches(tool))
        })
    }
}

#[cfg(test)]
mod tests {
    use hookwright_engine::matcher::Subject;
    use serde_json::json;

    use super::*;

    /// As the index queries: the points of this event.
    fn wakes(pattern: &str, event: &str, tool: Option<&str>) -> bool {
        let event = Event::named(event, json!({ "tool_name": tool })).expect("known");
        let listening = ParsedPattern::read(pattern);
        let spec = event.name.spec().expect("in the table");
        let points = listening.pattern.points.iter().filter(|p| std::ptr::eq(p.event, spec));
        points.into_iter().any(|point| point.is_awake(&event, &Subject::from_event(&event)))
    }

    // Conformance: code-forge-012, code-forge-013, code-forge-014, code-forge-015, code-forge-016
    // Conformance: code-forge-072, code-forge-075
    #[test]
    fn every_form_of_the_specification_matches_as_specified() {
        let bash = Some("bash");
        for (pattern, event, tool, awake) in [
            ("tool:pre_execute", "tool:pre_execute", bash, true),
            ("tool:pre_execute", "tool:pre_execute", None, true),
            ("tool:pre_execute", "tool:post_execute", bash, false),
            ("tool:*", "tool:error", bash, true),
            ("tool:*", "llm:pre_request", None, false),
            ("tool:pre_execute:bash", "tool:pre_execute", bash, true),
            ("tool:pre_execute:bash", "tool:pre_execute", Some("read"), false),
            ("tool:pre_execute:bash", "tool:post_execute", bash, false),
            ("tool:*:write", "tool:post_execute", Some("write"), true),
            ("tool:*:write", "tool:post_execute", bash, false),
            ("session:start,session:end", "session:end", None, true),
            (" session:start , session:end ", "session:start", None, true),
            ("session:start,", "session:start", None, true),
            ("*", "user:interrupt", None, true),
            ("*", "tool:error", bash, true),
            ("*:bash", "tool:pre_execute", bash, true),
            ("*:bash", "permission:check", bash, true),
            ("*:bash", "tool:pre_execute", Some("read"), false),
            ("t*", "tool:error", None, true),
            ("tool:pre_execute:*", "tool:pre_execute", bash, true),
            ("tool:pre_execute:*", "tool:pre_execute", None, false),
            ("permission:*:bash", "permission:granted", bash, true),
            ("*:*:bash", "permission:denied", bash, true),
            ("tool:pre_execute:b?sh", "tool:pre_execute", bash, true),
            ("tool:pre_execute:[a-c]ash", "tool:pre_execute", bash, true),
            ("tool:pre_execute:[!a-c]ash", "tool:pre_execute", bash, false),
            ("tool:p[or]*", "tool:pre_execute", None, true),
            ("tool:pre_execute:mcp:x", "tool:pre_execute", Some("mcp:x"), true),
            ("tool:pre_execute:a[b]", "tool:pre_execute", Some("a[b]"), true),
            ("tool:pre_execute:a[b]", "tool:pre_execute", Some("ab"), true),
        ] {
            assert_eq!(wakes(pattern, event, tool), awake, "{pattern} at {event} {tool:?}");
        }
    }

    #[test]
    fn case_counts_and_a_tool_is_tried_under_our_name_too() {
        for (pattern, tool, awake) in [
            ("tool:pre_execute:bash", "Bash", true),
            ("tool:pre_execute:bash", "run_shell_command", true),
            ("tool:pre_execute:Bash", "Bash", true),
            ("tool:pre_execute:Bash", "bash", false),
            ("tool:pre_execute:run_shell_command", "Bash", false),
            ("tool:*:wri*", "WriteFile", true),
            ("tool:pre_execute:BASH", "bash", false),
            ("tool:pre_execute:mcp__X", "mcp__x", false),
            ("TOOL:*", "bash", false),
            ("Tool:pre_execute", "bash", false),
        ] {
            assert_eq!(wakes(pattern, "tool:pre_execute", Some(tool)), awake, "{pattern} {tool}");
        }
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_reported_with_its_place() {
        let said = |pattern: &str| {
            let listening = ParsedPattern::read(pattern);
            let in_vain = listening.in_vain.iter();
            let said: Vec<_> = in_vain.map(|(at, kind)| (at.clone(), kind.to_string())).collect();
            (listening.heard, said)
        };
        assert_eq!(said(""), (String::new(), vec![]));
        assert_eq!(said(" , "), (String::new(), vec![]));
        assert_eq!(said(" *,tool:* ,"), ("*,tool:*".into(), vec![]));
        assert_eq!(
            said("session:start, tool:pre_exec"),
            ("session:start".into(), vec![(15..28, "unknown event `tool:pre_exec`".into())])
        );
        let third = "expected a tool as the third part, at an event that has one but found";
        for (pattern, why) in [
            ("PreToolUse", "unknown event `PreToolUse`".to_owned()),
            ("tool:nothing:bash", "unknown event `tool:nothing:bash`".to_owned()),
            ("session:start:x", format!("{third} `session:start:x`")),
            ("tool:pre_execute:", format!("{third} `tool:pre_execute:`")),
        ] {
            let in_vain = vec![(0..pattern.len(), why)];
            assert_eq!(said(pattern), (String::new(), in_vain), "{pattern}");
        }
    }

    #[test]
    fn a_star_reaches_the_open_namespace_too() {
        for (pattern, reaches) in [("*", true), ("claude:*", true), ("tool:*", false)] {
            let open = ParsedPattern::read(pattern).pattern.open;
            assert_eq!(open.iter().any(|glob| glob.matches("claude:config_change")), reaches);
        }
    }
}
