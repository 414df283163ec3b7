//! The meaning of one JSON object: native fields, and Claude Code's `hookSpecificOutput`.
//!
//! `null` and empty text count as a missing field. Unknown fields are ignored. A known field with a
//! wrong type or word makes the object invalid, because half an answer could be the half that
//! grants.

use std::sync::LazyLock;

use hookwright_events::{Answer, AnswerDecision, EventName};
use regex::Regex;
use serde_json::{Map, Value};

/// Characters of an invalid value in a message.
const SHOWN_MAX: usize = 60;

/// The known fields that request something.
const ASKING: &[&str] = &[
    "decision",
    "continue",
    "stopReason",
    "systemMessage",
    "additionalContext",
    "updatedInput",
    "updatedOutput",
    "suppressOutput",
    "hookSpecificOutput",
];

/// The known fields that only explain. Many tools' logs have a `reason`.
const EXPLAINING: &[&str] = &["reason", "feedback"];

/// Fields within others, or of the line that moves a command to the background.
const FURTHER: &[&str] = &[
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "behavior",
    "asyncTimeout",
];

/// Every field of an answer that decides or explains something.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    ASKING.iter().chain(EXPLAINING).chain(FURTHER).copied()
}

/// Whether it has any known field.
pub(super) fn is_for_us(object: &Map<String, Value>) -> bool {
    asks(object) || EXPLAINING.iter().any(|name| has(object, name))
}

/// Whether it has a known field that requests something.
pub(super) fn asks(object: &Map<String, Value>) -> bool {
    ASKING.iter().any(|name| has(object, name))
}

/// A decision against something, in any spelling that was meant as JSON.
static DENY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)\b(?:decision|permissionDecision|behavior)["']?\s*[:=]\s*["']?\s*(?:deny|denied|block|ask)|\bcontinue["']?\s*[:=]\s*["']?false"#,
    )
    .expect("it is constant")
});

/// Whether a text that is not JSON looks as if it was meant to deny, ask or stop.
pub(super) fn seems_to_deny(text: &str) -> bool {
    DENY.is_match(text)
}

fn has(object: &Map<String, Value>, name: &str) -> bool {
    object.get(name).is_some_and(|value| !value.is_null())
}

/// Whether any part of it denies, asks or stops, even if the rest is invalid.
pub(super) fn restricts(object: &Map<String, Value>) -> bool {
    let is_one_of = |value: Option<&Value>, words: &[&str]| {
        value
            .and_then(Value::as_str)
            .is_some_and(|said| words.iter().any(|word| said.eq_ignore_ascii_case(word)))
    };
    let specific = object.get("hookSpecificOutput");
    let permission = specific.and_then(|specific| specific.get("permissionDecision"));
    let prompt = specific.and_then(|specific| specific.get("decision"));
    object.get("continue") == Some(&Value::Bool(false))
        || is_one_of(object.get("decision"), &["deny", "block", "ask"])
        || is_one_of(permission, &["deny", "ask", "defer"])
        || is_one_of(prompt.and_then(|prompt| prompt.get("behavior")), &["deny"])
}

/// The object as an answer, or what is wrong with it.
pub(super) fn answer(object: &Map<String, Value>, event: &EventName) -> Result<Answer, String> {
    let top = Fields { object: Some(object), path: "" };
    let specific = top.object("hookSpecificOutput", "hookSpecificOutput.")?;
    let prompt = specific.object("decision", "hookSpecificOutput.decision.")?;
    check_event(&specific, event)?;

    // From the most to the least specific place: if two disagree, the first counts.
    let opinions = [
        Opinion { decision: behavior(&prompt)?, reason: prompt.text("message")? },
        Opinion {
            decision: permission(&specific)?,
            reason: specific.text("permissionDecisionReason")?,
        },
        Opinion { decision: decision(&top)?, reason: top.text("reason")? },
    ];
    let (decision, reason) = agreed(&opinions);
    let interrupt = prompt.flag("interrupt")? == Some(true);
    let interrupt_reason = if interrupt { prompt.text("message")? } else { None };
    let contexts = specific.texts("additionalContext")?;
    let top_contexts = top.texts("additionalContext")?;
    let output = specific.any("updatedToolOutput").or(top.any("updatedOutput"));
    let updated_input = [
        prompt.rewritten("updatedInput")?,
        specific.rewritten("updatedInput")?,
        top.rewritten("updatedInput")?,
    ];

    Ok(Answer {
        decision,
        reason: with_feedback(reason, top.text("feedback")?),
        stop: interrupt || top.flag("continue")? == Some(false),
        stop_reason: top.text("stopReason")?.or(interrupt_reason),
        system_message: top.text("systemMessage")?,
        additional_context: if contexts.is_empty() { top_contexts } else { contexts },
        must_reach_agent: false,
        updated_input: updated_input.into_iter().flatten().next(),
        updated_output: output.cloned(),
        updated_mcp_output: specific.any("updatedMCPToolOutput").cloned().map(Box::new),
        suppress_output: top.flag("suppressOutput")? == Some(true),
        updated_permissions: prompt.list("updatedPermissions")?,
    })
}

/// What one place in the object says about the operation.
struct Opinion {
    decision: Option<AnswerDecision>,
    reason: Option<String>,
}

/// A deny anywhere is a deny, and an ask beats an allow. The reason is that of the decision, or one
/// given without a decision; never one for something weaker.
fn agreed(opinions: &[Opinion]) -> (Option<AnswerDecision>, Option<String>) {
    let said = |decision| opinions.iter().any(|opinion| opinion.decision == Some(decision));
    let decision = [AnswerDecision::Deny, AnswerDecision::Ask, AnswerDecision::Allow]
        .into_iter()
        .find(|decision| said(*decision));
    let reason_of = |wanted: Option<AnswerDecision>| {
        let mut wanted = opinions.iter().filter(move |opinion| opinion.decision == wanted);
        wanted.find_map(|opinion| opinion.reason.clone())
    };
    (decision, reason_of(decision).or_else(|| reason_of(None)))
}

fn with_feedback(reason: Option<String>, feedback: Option<String>) -> Option<String> {
    match (reason, feedback) {
        (Some(reason), Some(feedback)) => Some(format!("{reason}\n{feedback}")),
        (reason, feedback) => reason.or(feedback),
    }
}

fn check_event(specific: &Fields<'_>, event: &EventName) -> Result<(), String> {
    match specific.text("hookEventName")? {
        Some(name) if !names(&name, event) => {
            let found = shortened(&name);
            let expected = event.hook_event_name();
            Err(format!("`hookSpecificOutput.hookEventName` is `{found}`, expected {expected}"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether a name means the event. A name that is not in the table is the agent's own.
fn names(name: &str, event: &EventName) -> bool {
    EventName::resolve(name)
        .map_or_else(|| event.hook_event_name() == name, |named| named == *event)
}

fn decision(top: &Fields<'_>) -> Result<Option<AnswerDecision>, String> {
    top.word(
        "decision",
        &[
            ("allow", AnswerDecision::Allow),
            ("approve", AnswerDecision::Allow),
            ("deny", AnswerDecision::Deny),
            ("block", AnswerDecision::Deny),
            ("ask", AnswerDecision::Ask),
        ],
        "allow, approve, deny, block or ask",
    )
}

fn permission(specific: &Fields<'_>) -> Result<Option<AnswerDecision>, String> {
    specific.word(
        "permissionDecision",
        &[
            ("allow", AnswerDecision::Allow),
            ("deny", AnswerDecision::Deny),
            ("ask", AnswerDecision::Ask),
            ("defer", AnswerDecision::Ask),
        ],
        "allow, deny, ask or defer",
    )
}

fn behavior(prompt: &Fields<'_>) -> Result<Option<AnswerDecision>, String> {
    let words = [("allow", AnswerDecision::Allow), ("deny", AnswerDecision::Deny)];
    let found = prompt.word("behavior", &words, "allow or deny")?;
    if prompt.object.is_some() && found.is_none() {
        return Err(format!("`{}behavior` is missing, expected allow or deny", prompt.path));
    }
    Ok(found)
}

/// An object's fields, each of which is absent, valid, or a fault with its name in it.
struct Fields<'a> {
    /// `None` if the object is absent.
    object: Option<&'a Map<String, Value>>,
    /// The prefix of a field's name in messages.
    path: &'static str,
}

impl<'a> Fields<'a> {
    fn any(&self, name: &str) -> Option<&'a Value> {
        self.object?.get(name).filter(|value| !value.is_null())
    }

    /// The fields of a nested object; empty if it is absent.
    fn object(&self, name: &str, path: &'static str) -> Result<Fields<'a>, String> {
        match self.any(name) {
            None => Ok(Fields { object: None, path }),
            Some(Value::Object(object)) => Ok(Fields { object: Some(object), path }),
            Some(found) => Err(self.wrong(name, found, "an object")),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(found) => Err(self.wrong(name, found, "text")),
        }
    }

    /// One text, or a list of texts.
    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let Some(Value::Array(items)) = self.any(name) else {
            return Ok(self.text(name)?.into_iter().collect());
        };
        let text = |item: &Value| match item {
            Value::String(text) => Ok(text.clone()),
            found => Err(format!(
                "`{}{name}` contains {}, expected only strings",
                self.path,
                shortened_value(found)
            )),
        };
        let texts = items.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(found) => Err(self.wrong(name, found, "true or false")),
        }
    }

    fn word(
        &self,
        name: &str,
        words: &[(&str, AnswerDecision)],
        expected: &str,
    ) -> Result<Option<AnswerDecision>, String> {
        let Some(found) = self.any(name) else {
            return Ok(None);
        };
        let said = found.as_str().unwrap_or_default();
        match words.iter().find(|(word, _)| said.eq_ignore_ascii_case(word)) {
            Some((_, decision)) => Ok(Some(*decision)),
            None => Err(self.wrong(name, found, expected)),
        }
    }

    /// A tool's input, which must be an object.
    fn rewritten(&self, name: &str) -> Result<Option<Value>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(input @ Value::Object(_)) => Ok(Some(input.clone())),
            Some(found) => Err(self.wrong(name, found, "an object")),
        }
    }

    fn list(&self, name: &str) -> Result<Option<Value>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(list @ Value::Array(_)) => Ok(Some(list.clone())),
            Some(found) => Err(self.wrong(name, found, "a list")),
        }
    }

    fn wrong(&self, name: &str, found: &Value, expected: &str) -> String {
        format!("`{}{name}` is {}, expected {expected}", self.path, shortened_value(found))
    }
}

fn shortened_value(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "empty".into(),
        Value::String(text) => format!("`{}`", shortened(text)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
