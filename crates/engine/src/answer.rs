//! The answer in a native hook's standard output, if there is one.
//!
//! If the whole output is the answer, everything in it counts. An answer between log lines can only
//! restrict or add. So no deny gets lost in a log, no log grants anything, and a tool's own JSON
//! lines are not read as an answer. `answer/object.rs` defines the fields of one object.

use std::time::Duration;

use hookwright_events::{Answer, AnswerDecision, EventName};
use serde_json::{Deserializer, Map, Value};

use crate::limits::{ANSWER_VAIN_BYTES_MAX, ASYNC_TIMEOUT, ASYNC_TIMEOUT_MAX};

mod each_once;
mod object;
#[cfg(test)]
mod tests;

pub use object::field_names;

/// What a hook's standard output contains.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerReading {
    /// No answer: text, or JSON that is not meant for us.
    Nothing,
    /// The whole output is the answer.
    Whole(Answer),
    /// The answer was surrounded by other text, so it can only restrict and add.
    Among(Answer),
    /// The output looks like an answer but is invalid.
    Broken {
        /// What is wrong.
        why: String,
    },
}

/// Reads a hook's standard output. `whole` is false if its middle was dropped.
pub fn read(stdout: &str, whole: bool, event: &EventName) -> AnswerReading {
    let text = without_async_line(trimmed(stdout));
    let parsed = serde_json::from_str::<Value>(text);
    match &parsed {
        Ok(Value::Object(object)) if whole => return read_whole(text, object, event),
        Ok(_) | Err(_) => {}
    }
    let search = ObjectSearch::through(text, event);
    if let Some(answer) = search.merged() {
        return AnswerReading::Among(answer.restricting());
    }
    if let Some(why) = search.broken {
        return AnswerReading::Broken { why };
    }
    if text.starts_with('{') && !whole {
        let why = "it begins with `{` but was truncated because it is too long";
        return AnswerReading::Broken { why: why.into() };
    }
    match parsed {
        Err(error) if search.starts_in_vain => {
            AnswerReading::Broken { why: no_json_at_the_start(&error) }
        }
        Ok(_) | Err(_) => AnswerReading::Nothing,
    }
}

/// How long the hook may continue in the background, if its first line of output requests that. The
/// line must be `{"async": true, "asyncTimeout": number}` and nothing else: otherwise event data
/// that is printed into a log could send a guard to the background. The number counts in `unit`s.
pub fn async_for(first_line: &str, unit: Duration) -> Option<Duration> {
    let line = trimmed(first_line);
    if !line.starts_with('{') {
        return None;
    }
    let object = serde_json::from_str::<Map<String, Value>>(line).ok()?;
    let knows_all = object.keys().all(|key| matches!(key.as_str(), "async" | "asyncTimeout"));
    if object.get("async") != Some(&Value::Bool(true)) || !knows_all {
        return None;
    }
    let number = object.get("asyncTimeout").and_then(Value::as_f64);
    let seconds = number.map(|number| number * unit.as_secs_f64());
    Some(match seconds.filter(|seconds| *seconds > 0.0) {
        Some(seconds) => Duration::from_secs_f64(seconds.min(ASYNC_TIMEOUT_MAX.as_secs_f64())),
        None => ASYNC_TIMEOUT,
    })
}

fn no_json_at_the_start(error: &serde_json::Error) -> String {
    format!("it begins with `{{` but is not JSON: {error}")
}

fn trimmed(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('\u{feff}').unwrap_or(text).trim_start()
}

fn without_async_line(text: &str) -> &str {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if async_for(first, Duration::from_secs(1)).is_some() { rest.trim_start() } else { text }
}

fn read_whole(text: &str, object: &Map<String, Value>, event: &EventName) -> AnswerReading {
    if !object::is_for_us(object) {
        return AnswerReading::Nothing;
    }
    if let Some(why) = each_once::fault(text) {
        return AnswerReading::Broken { why };
    }
    match object::answer(object, event) {
        Ok(answer) => AnswerReading::Whole(answer),
        Err(why) => AnswerReading::Broken { why },
    }
}

/// The objects found at the starts of lines.
#[derive(Default)]
struct ObjectSearch {
    answers: Vec<Answer>,
    /// The text begins with `{`, but not with a JSON object.
    starts_in_vain: bool,
    /// What is wrong with the first invalid object that restricts, or why the search ended early.
    broken: Option<String>,
}

impl ObjectSearch {
    fn through(text: &str, event: &EventName) -> Self {
        let mut search = Self::default();
        let mut vain_bytes = 0;
        let mut in_vain = false;
        let mut rest = text;
        while let Some(candidate) = object_start(rest) {
            let mut values = Deserializer::from_str(candidate).into_iter::<Map<String, Value>>();
            match values.next() {
                Some(Ok(object)) => {
                    let (written, after) = candidate.split_at(values.byte_offset());
                    search.take(written, &object, event);
                    rest = after;
                    // Two objects on one line, from two programs that print no line end.
                    if !rest.trim_start().starts_with('{') {
                        rest = after_line(rest);
                    }
                }
                Some(Err(error)) => {
                    let seen = bytes_before(candidate, &error);
                    // The text after the first failed candidate contains the text after every later
                    // one, so one check is enough.
                    if !std::mem::replace(&mut in_vain, true) && object::seems_to_deny(candidate) {
                        search.broken.get_or_insert_with(|| match candidate.len() == text.len() {
                            true => no_json_at_the_start(&error),
                            false => format!("it contains an answer that is not JSON: {error}"),
                        });
                    }
                    search.starts_in_vain |= candidate.len() == text.len();
                    vain_bytes += seen;
                    if vain_bytes > ANSWER_VAIN_BYTES_MAX {
                        let why = "it contains too many unfinished JSON objects to search for an \
                             answer";
                        search.broken.get_or_insert(why.into());
                        break;
                    }
                    rest = after_line(candidate);
                }
                None => break,
            }
        }
        search
    }

    fn take(&mut self, written: &str, object: &Map<String, Value>, event: &EventName) {
        if !object::asks(object) {
            return;
        }
        if let Some(why) = each_once::fault(written) {
            self.broken.get_or_insert(why);
            return;
        }
        match object::answer(object, event) {
            Ok(answer) => self.answers.push(answer),
            // A log may contain a `decision` too. But an object that denies and has one invalid
            // field was meant for us: ignoring it would allow what it guards against.
            Err(why) if object::restricts(object) => {
                self.broken.get_or_insert(why);
            }
            Err(_) => {}
        }
    }

    /// Merges all objects into one answer: the strongest decision with its first reason, and all
    /// contexts and messages. If an object is invalid, only an answer that denies or stops anyway
    /// is trusted.
    fn merged(&self) -> Option<Answer> {
        let strength = |answer: &Answer| match answer.decision {
            Some(AnswerDecision::Deny) => 2,
            Some(AnswerDecision::Ask) => 1,
            Some(AnswerDecision::Allow) | None => 0,
        };
        let answers = &self.answers;
        let strongest = answers.iter().map(strength).max()?;
        let leading = answers.iter().filter(|answer| strength(answer) == strongest);
        let is_allow = |answer: &&Answer| answer.decision == Some(AnswerDecision::Allow);
        let mut stopping = answers.iter().filter(|answer| answer.stop).peekable();
        let messages: Vec<&str> =
            answers.iter().filter_map(|answer| answer.system_message.as_deref()).collect();
        let merged = Answer {
            decision: leading.clone().find_map(|answer| answer.decision),
            // An allow loses its decision here, so its reason would explain something else.
            reason: leading
                .filter(|answer| !is_allow(answer))
                .find_map(|answer| answer.reason.clone()),
            stop: stopping.peek().is_some(),
            stop_reason: stopping.find_map(|answer| answer.stop_reason.clone()),
            system_message: (!messages.is_empty()).then(|| messages.join("\n")),
            additional_context: answers
                .iter()
                .flat_map(|answer| answer.additional_context.iter().cloned())
                .collect(),
            ..Answer::default()
        };
        let denies = merged.decision == Some(AnswerDecision::Deny) || merged.stop;
        (denies || self.broken.is_none()).then_some(merged)
    }
}

/// The text from the next `{` that is the first visible character of its line.
fn object_start(text: &str) -> Option<&str> {
    let mut rest = text;
    while !rest.is_empty() {
        let line = without_unseen(rest);
        if line.starts_with('{') {
            return Some(line);
        }
        rest = after_line(line);
    }
    None
}

/// Strips the invisible start of a line: blanks, marks and colours.
fn without_unseen(line: &str) -> &str {
    let mut rest = line;
    loop {
        if let Some(sequence) = rest.strip_prefix('\u{1b}') {
            rest = after_escape(sequence);
            continue;
        }
        let Some(first) = rest.chars().next() else { return rest };
        let is_unseen = first.is_whitespace()
            || first.is_control()
            || matches!(first, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
        if !is_unseen || matches!(first, '\n' | '\r') {
            return rest;
        }
        rest = &rest[first.len_utf8()..];
    }
}

/// The text after a terminal control sequence (`ESC [ … m`, `ESC ] … BEL`, `ESC ( B`, `ESC 7`).
fn after_escape(sequence: &str) -> &str {
    let end = match sequence.chars().next() {
        Some('[') => {
            sequence[1..].find(|letter: char| ('@'..='~').contains(&letter)).map(|at| at + 1)
        }
        Some(']') => sequence.find(['\u{7}', '\n']),
        _ => sequence.find(|letter: char| !(' '..='/').contains(&letter)),
    };
    end.and_then(|end| {
        let last = sequence[end..].chars().next()?;
        let end = if last == '\n' { end } else { end + last.len_utf8() };
        sequence.get(end..)
    })
    .unwrap_or("")
}

/// The text after the first line. A lone carriage return ends a line too.
fn after_line(text: &str) -> &str {
    text.find(['\n', '\r']).map_or("", |end| &text[end + 1..])
}

/// The byte offset at which the JSON reader found the fault.
fn bytes_before(text: &str, error: &serde_json::Error) -> usize {
    let lines_before = error.line().saturating_sub(1);
    let line_start = match lines_before.checked_sub(1) {
        Some(last) => text.match_indices('\n').nth(last).map_or(text.len(), |(end, _)| end + 1),
        None => 0,
    };
    line_start + error.column()
}
