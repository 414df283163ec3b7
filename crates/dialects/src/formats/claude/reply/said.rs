//! [`ParsedOutput`]: a hook's standard output, by Claude Code's rules for answers.

use std::sync::LazyLock;

use hookwright_engine::answer::{self, AnswerReading};
use hookwright_engine::policy::At;
use hookwright_events::{Answer, AnswerDecision, Output};
use regex::Regex;
use serde_json::Value;

use crate::claude::answer::HookOutput;

/// Parsed standard output.
#[derive(Debug, PartialEq)]
pub(super) enum ParsedOutput {
    /// Nothing that counts.
    Nothing,
    /// Text that is not an answer.
    Text(String),
    /// An answer.
    Answer(Box<Answer>),
    /// It was meant to be an answer.
    Unreadable {
        /// What is wrong with it.
        why: String,
        /// The reason, if it was meant to deny.
        denial: Option<String>,
    },
}

/// A denial, in any spelling that was meant as JSON.
static DENIAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)"(?:decision|permissionDecision|behavior)"\s*:\s*"(?:deny|denied|block)|"continue"\s*:\s*"?false"#,
    )
    .expect("it is constant")
});

impl ParsedOutput {
    /// Parses a hook's output.
    pub(super) fn parse(output: &Output, at: At<'_>) -> Self {
        let whole = output.stdout_left_out == 0;
        let text = trimmed(&output.stdout);
        let denies = DENIAL.is_match(text);
        match answer::read(&output.stdout, whole, &at.event.name) {
            AnswerReading::Whole(answer) => Self::whole(text, &answer, at),
            AnswerReading::Among(answer) => ParsedOutput::Answer(Box::new(answer)),
            // Text in braces followed by more text is not an answer, unless it denies.
            AnswerReading::Broken { .. } if whole && !denies && !text.ends_with('}') => {
                ParsedOutput::Text(text.to_owned())
            }
            AnswerReading::Broken { why } => {
                let why = unreadable(&why);
                ParsedOutput::Unreadable { denial: denies.then(|| why.clone()), why }
            }
            AnswerReading::Nothing if text.is_empty() || is_object(text) => ParsedOutput::Nothing,
            AnswerReading::Nothing => ParsedOutput::Text(text.to_owned()),
        }
    }

    /// An output that is one object: Claude Code accepts all of it or nothing.
    fn whole(text: &str, meant: &Answer, at: At<'_>) -> Self {
        let read = |text: &str| -> Result<Answer, String> {
            let fields: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            check_name(&fields, at)?;
            let output: HookOutput = serde_json::from_value(fields).map_err(|_| wrong(text))?;
            Ok(output.into_answer())
        };
        match read(text) {
            Ok(answer) => ParsedOutput::Answer(Box::new(answer)),
            Err(why) => {
                let why = unreadable(&why);
                let denies = meant.stop || meant.decision == Some(AnswerDecision::Deny);
                let reason = meant.reason.as_deref().or(meant.stop_reason.as_deref());
                let reason = reason.map_or(why.clone(), |reason| format!("{reason} ({why})"));
                ParsedOutput::Unreadable { denial: denies.then_some(reason), why }
            }
        }
    }
}

fn unreadable(why: &str) -> String {
    format!("its answer cannot be read: {why}")
}

/// `hookSpecificOutput` must name its event, and it must be this one.
fn check_name(fields: &Value, at: At<'_>) -> Result<(), String> {
    let Some(specific) = fields.get("hookSpecificOutput").filter(|value| !value.is_null()) else {
        return Ok(());
    };
    let expected = at.event.name.hook_event_name();
    match specific.get("hookEventName").and_then(Value::as_str) {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(format!(
            "Hook returned incorrect event name: expected '{expected}' but got '{found}'"
        )),
        None => Err("`hookSpecificOutput.hookEventName` is missing".into()),
    }
}

/// What is wrong with an answer whose types do not match.
fn wrong(text: &str) -> String {
    // The error of an untagged enum names no field; parsing the immediate answer does.
    let sync = serde_json::from_str::<crate::claude::answer::SyncHookOutput>(text);
    sync.err().map_or_else(|| "its fields do not fit".into(), |error| error.to_string())
}

fn is_object(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok()
}

/// The trimmed text, without the line that sent the command to the background.
fn trimmed(stdout: &str) -> &str {
    let text = stdout.trim().trim_start_matches('\u{feff}').trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match answer::async_for(first, std::time::Duration::from_secs(1)) {
        Some(_) => rest.trim_start(),
        None => text,
    }
}
