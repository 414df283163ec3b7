//! Properties of any standard output of a hook.

use std::time::Duration;

use hookwright_engine::answer::{AnswerReading, async_for, read};
use hookwright_engine::limits::ASYNC_TIMEOUT_MAX;
use hookwright_events::{Answer, AnswerDecision, EventName};
use serde_json::{Map, Value};

/// Only an output that is one whole object grants anything, and no text around a deny undoes it.
pub(super) fn holds(data: &[u8]) {
    let stdout = String::from_utf8_lossy(data);
    for name in ["tool:pre_execute", "PermissionRequest", "session:stop"] {
        let event = EventName::resolve(name).expect("a known event");
        let reading = read(&stdout, true, &event);
        assert_eq!(read(&stdout, true, &event), reading, "the second reading is another");
        match &reading {
            AnswerReading::Whole(_) => assert!(is_one_object(&stdout), "{reading:?}"),
            AnswerReading::Among(answer) => grants_nothing(answer),
            AnswerReading::Broken { why } => assert!(!why.is_empty()),
            AnswerReading::Nothing => {}
        }
        grants_only_as_a_whole(&stdout, &event);
        // An object that is invalid alone may be part of a log among other text.
        if denies(&reading) && !matches!(reading, AnswerReading::Broken { .. }) {
            stays_denied(&stdout, &event);
        }
    }
    let first = stdout.lines().next().unwrap_or_default();
    let patience = async_for(first, std::time::Duration::from_secs(1));
    assert!(patience.is_none_or(|time| time > Duration::ZERO && time <= ASYNC_TIMEOUT_MAX));
}

/// If the middle of the output was dropped, or it is part of another output, it grants nothing.
fn grants_only_as_a_whole(stdout: &str, event: &EventName) {
    let middle = (0..=stdout.len() / 2).rev().find(|at| stdout.is_char_boundary(*at)).unwrap_or(0);
    let parts = [stdout.to_owned(), stdout[..middle].to_owned(), stdout[middle..].to_owned()];
    for part in parts {
        for (text, whole) in [(part.clone(), false), (format!("a log\n{part}\na log"), true)] {
            match read(&text, whole, event) {
                AnswerReading::Whole(answer) => panic!("{text:?} is no whole answer: {answer:?}"),
                AnswerReading::Among(answer) => grants_nothing(&answer),
                AnswerReading::Broken { .. } | AnswerReading::Nothing => {}
            }
        }
    }
}

/// A deny stays a deny, whatever is printed in other lines around it.
fn stays_denied(stdout: &str, event: &EventName) {
    for around in [
        format!("a log\n{stdout}"),
        format!("{stdout}\na log"),
        format!("{{\"level\": \"info\"}}\n{stdout}\n{{\"decision\": \"allow\"}}"),
    ] {
        let reading = read(&around, true, event);
        assert!(denies(&reading), "{around:?} is read as {reading:?}");
    }
}

/// An invalid answer fails its hook, and a failed guard blocks.
fn denies(reading: &AnswerReading) -> bool {
    match reading {
        AnswerReading::Whole(answer) | AnswerReading::Among(answer) => {
            answer.stop || answer.decision == Some(AnswerDecision::Deny)
        }
        AnswerReading::Broken { .. } => true,
        AnswerReading::Nothing => false,
    }
}

fn grants_nothing(answer: &Answer) {
    assert_ne!(answer.decision, Some(AnswerDecision::Allow), "{answer:?}");
    assert_eq!(answer.clone().restricting(), *answer);
}

/// Whether the output, or the text after its `async` line, is one JSON object.
fn is_one_object(stdout: &str) -> bool {
    let text = stdout.trim();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
    let after_line = text.split_once('\n').map_or("", |(_, rest)| rest);
    [text, after_line].iter().any(|text| serde_json::from_str::<Map<String, Value>>(text).is_ok())
}
