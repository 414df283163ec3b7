//! [`AgentJournal`]: the port through which a session records what it is about to do, and what came of
//! it.
//!
//! Requests, calls and questions are recorded as [`TurnEvent`]s: `…_sending`, `…_starting` and
//! `…_asked` before the effect, `…_ended` and `…_answered` after it. If the first cannot be recorded,
//! the effect does not take place, and the session ends in order with
//! [`AgentStatus::JournalFailed`](crate::agent::AgentStatus::JournalFailed). Firings are recorded by the
//! host that fires them.
//!
//! A commit takes time, so ends wait for the next start where one follows at once: the end of a
//! request is recorded with the call that it asks for, the end of a call with the next request. If the
//! program is killed before that, the end is unknown, as if it had been killed a moment sooner.
//!
//! Texts are short: the journal grows by a bounded amount for each call. What was said in full is in
//! the transcript.

use std::future::ready;
use std::io;
use std::time::Duration;

use hookwright_engine::ports::Promise;
use hookwright_events::TurnEvent;
use serde_json::{Map, Value};

use crate::limits::JOURNAL_CHARS_MAX;

/// Records what a session does, so that it is known after a crash.
pub trait AgentJournal: Send + Sync {
    /// Returns when it is recorded. Only then does the announced effect begin.
    fn record(&self, happened: TurnEvent) -> Promise<'_, io::Result<()>>;

    /// Records this at the latest with what is recorded next. The session uses it only if it records
    /// something else before it waits for anyone.
    fn record_with_next(&self, happened: TurnEvent) -> Promise<'_, io::Result<()>> {
        self.record(happened)
    }

    /// Records what [`record_with_next`](Self::record_with_next) has put off.
    fn record_waiting(&self) -> Promise<'_, io::Result<()>> {
        Box::pin(ready(Ok(())))
    }

    /// Why nothing can be recorded any more.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Records nothing: for a program that has no use for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl AgentJournal for NoJournal {
    fn record(&self, _: TurnEvent) -> Promise<'_, io::Result<()>> {
        Box::pin(ready(Ok(())))
    }
}

/// A call in a few words: the command, the file, the pattern, or the beginning of its input.
pub fn call_in_words(input: &Map<String, Value>) -> String {
    let told = ["command", "file_path", "pattern", "description", "prompt"];
    let told = told.into_iter().find_map(|field| input.get(field).and_then(Value::as_str));
    match told {
        Some(text) => shortened(text),
        None if input.is_empty() => String::new(),
        None => shortened(&Value::Object(input.clone()).to_string()),
    }
}

/// The beginning of a text.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(JOURNAL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(crate) fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_told_in_a_bounded_number_of_characters() {
        for (input, words) in [
            (json!({ "command": "ls", "description": "lists" }), "ls".to_owned()),
            (json!({ "file_path": "a.txt", "limit": 3 }), "a.txt".to_owned()),
            (json!({ "x": 1 }), r#"{"x":1}"#.to_owned()),
            (json!({}), String::new()),
            (json!({ "command": "é".repeat(9000) }), format!("{}…", "é".repeat(JOURNAL_CHARS_MAX))),
        ] {
            let Value::Object(input) = input else { panic!("an object") };
            assert_eq!(call_in_words(&input), words);
        }
    }
}
