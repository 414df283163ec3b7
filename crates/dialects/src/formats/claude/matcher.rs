//! [`GroupMatcher`]: which events a matcher group matches, by Claude Code's own rules.
//!
//! `*`, an empty or a missing matcher matches all. Plain words are exact names, separated by `|` or
//! `,`. Anything else is a regular expression that must match somewhere in the name. Case matters.

use std::borrow::Cow;

use hookwright_engine::hook::Hook;
use hookwright_engine::matcher::EventMatcher;
use hookwright_engine::{Case, LazyRegex};
use hookwright_events::{Event, EventName};

use super::{rule, tool_name};

/// The events that a handler runs at: those of its group that its `if` allows.
#[derive(Debug)]
pub(super) struct Waking {
    /// The group's matcher.
    pub(super) matcher: GroupMatcher,
    /// The handler's own `if`.
    pub(super) rule: Option<rule::Rule>,
}

impl EventMatcher for Waking {
    fn wakes(&self, event: &Event) -> bool {
        self.matcher.wakes(event) && self.rule.as_ref().is_none_or(|rule| rule.fits(event))
    }
}

/// Which events a matcher group matches.
#[derive(Debug, Clone)]
pub(super) enum GroupMatcher {
    /// All events.
    All,
    /// Events whose subject is exactly one of these names.
    Names(Vec<Box<str>>),
    /// Events whose subject contains a match.
    Regex(LazyRegex),
}

impl GroupMatcher {
    /// Parses a `matcher` of an event, or returns what is wrong with it.
    pub(super) fn parse(text: &str, event: &str) -> Result<Self, String> {
        if text.is_empty() || text == "*" {
            return Ok(GroupMatcher::All);
        }
        let is_narrow = matches!(event, "FileChanged" | "StopFailure");
        let is_plain = |letter: char| {
            letter.is_ascii_alphanumeric()
                || matches!(letter, '_' | '|')
                || (!is_narrow && matches!(letter, '-' | ' ' | ','))
        };
        if text.chars().all(is_plain) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(GroupMatcher::Names(names.map(Box::from).collect()));
        }
        LazyRegex::new(text, Case::Matters).map(GroupMatcher::Regex)
    }

    fn wakes(&self, event: &Event) -> bool {
        if matches!(self, GroupMatcher::All) {
            return true;
        }
        // Without a subject every group matches.
        let Some(subject) = subject_of(event) else { return true };
        let is = |name: &str| {
            name == subject || tool_name::current(name) == tool_name::current(&subject)
        };
        match self {
            GroupMatcher::All => true,
            GroupMatcher::Names(names) => names.iter().any(|name| is(name)),
            GroupMatcher::Regex(regex) => {
                regex.is_match(&subject)
                    || tool_name::earlier(&subject).any(|name| regex.is_match(name))
            }
        }
    }
}

/// A hook's matcher in the form of a native `matcher:`. `None` at events without a subject in
/// Claude Code, since a native matcher would compare ours.
pub(super) fn native(hook: &Hook) -> Option<String> {
    let text = hook.matcher_text.as_deref()?;
    let name = EventName::resolve(hook.pattern.events().first().copied().unwrap_or_default());
    if name.is_some_and(|name| !has_subject(&name)) {
        return None;
    }
    match GroupMatcher::parse(text, &hook.event).ok()? {
        GroupMatcher::All => None,
        GroupMatcher::Names(names) => Some(names.join("|")),
        GroupMatcher::Regex(_) => Some(format!("/{text}/")),
    }
}

/// Whether Claude Code has a subject there. A native stop has a reason as its subject, Claude
/// Code's has none.
fn has_subject(name: &EventName) -> bool {
    *name != EventName::SESSION_STOP && name.subject_field().is_some()
}

/// The subject that a matcher compares; `None` if Claude Code has none.
fn subject_of(event: &Event) -> Option<Cow<'_, str>> {
    let field = event.name.subject_field().filter(|_| has_subject(&event.name))?;
    let value = event.text(field)?;
    Some(match field {
        "tool_name" => Cow::Borrowed(tool_name::claudes(value)),
        // The model's name without the suffix about its context.
        "to_model" => Cow::Borrowed(value.split('[').next().unwrap_or(value)),
        "file_path" => Cow::Borrowed(value.rsplit('/').next().unwrap_or(value)),
        _ => Cow::Borrowed(value),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wakes(matcher: &str, claudes: &str, event: &str, data: serde_json::Value) -> bool {
        let event = Event::named(event, data).unwrap();
        GroupMatcher::parse(matcher, claudes).unwrap().wakes(&event)
    }

    #[test]
    fn a_tools_matcher_is_a_name_a_list_or_a_regular_expression() {
        for (matcher, fits) in [
            ("Bash", true),
            ("Bash|Edit", true),
            ("Edit, Bash", true),
            ("Ba.*", true),
            ("^Bash$", true),
            ("*", true),
            ("", true),
            ("B.sh|X", true),
            ("Bash ", true),
            (".*", true),
            ("bash", false),
            ("ash", false),
            ("Bas", false),
            ("Edit", false),
            ("mcp__.*", false),
        ] {
            for tool in ["Bash", "bash", "run_shell_command"] {
                let data = json!({ "tool_name": tool });
                assert_eq!(wakes(matcher, "PreToolUse", "PreToolUse", data), fits, "{matcher}");
            }
        }
        assert_eq!(GroupMatcher::parse("[", "PreToolUse").unwrap_err(), "unclosed character class");
    }

    #[test]
    fn names_that_tools_have_had_still_match() {
        for (matcher, tool) in [
            ("Task", "Agent"),
            ("Agent", "Task"),
            ("Task", "task"),
            ("KillShell", "TaskStop"),
            ("KillBash", "TaskStop"),
            ("ListPeers", "ListAgents"),
            ("Brief", "SendUserMessage"),
            ("ListMcpResources", "ListMcpResourcesTool"),
            ("ReadMcpResource", "ReadMcpResourceTool"),
            ("ReadMcpResourceDir", "ReadMcpResourceDirTool"),
            ("^Task$", "Agent"),
        ] {
            let data = json!({ "tool_name": tool });
            assert!(wakes(matcher, "PreToolUse", "PreToolUse", data), "{matcher}");
        }
    }

    #[test]
    fn every_event_has_its_own_subject() {
        for (matcher, claudes, event, data) in [
            ("startup", "SessionStart", "SessionStart", json!({ "source": "startup" })),
            ("clear|logout", "SessionEnd", "SessionEnd", json!({ "reason": "logout" })),
            ("auto", "PreCompact", "PreCompact", json!({ "trigger": "auto" })),
            ("init", "Setup", "Setup", json!({ "trigger": "init" })),
            (
                "idle_prompt",
                "Notification",
                "Notification",
                json!({ "notification_type": "idle_prompt" }),
            ),
            ("reviewer", "SubagentStop", "SubagentStop", json!({ "agent_type": "reviewer" })),
            ("skills", "ConfigChange", "claude:config_change", json!({ "source": "skills" })),
            (
                "claude-opus-5",
                "PreModelSwitch",
                "claude:pre_model_switch",
                json!({ "to_model": "claude-opus-5[1m]" }),
            ),
            (
                ".envrc|.env",
                "FileChanged",
                "claude:file_changed",
                json!({ "file_path": "/p/.env" }),
            ),
            ("rate_limit", "StopFailure", "claude:stop_failure", json!({ "error": "rate_limit" })),
        ] {
            assert!(wakes(matcher, claudes, event, data), "{claudes}");
            let other = json!({ "source": "x", "reason": "x", "trigger": "x", "error": "x",
                "notification_type": "x", "agent_type": "x", "to_model": "x", "file_path": "x" });
            assert!(!wakes(matcher, claudes, event, other), "{claudes}");
        }
    }

    #[test]
    fn at_events_without_a_subject_in_claude_code_every_matcher_matches() {
        for event in ["Stop", "UserPromptSubmit", "TaskCompleted", "claude:post_tool_batch"] {
            assert!(wakes("anything", event, event, json!({ "reason": "completed" })), "{event}");
        }
        assert!(wakes("Bash", "PostToolUse", "PostToolUse", json!({})));
    }

    #[test]
    fn lists_are_narrower_for_file_names_and_errors() {
        let file = |path: &str| json!({ "file_path": path });
        let is_regex = |text: &str, event: &str| {
            matches!(GroupMatcher::parse(text, event).unwrap(), GroupMatcher::Regex(_))
        };
        assert!(is_regex("a-b", "FileChanged") && !is_regex("a-b", "PreToolUse"));
        assert!(is_regex("a,b", "StopFailure") && !is_regex("a,b", "ConfigChange"));
        assert!(wakes("a-b", "FileChanged", "claude:file_changed", file("/x/xa-bx")));
    }
}
