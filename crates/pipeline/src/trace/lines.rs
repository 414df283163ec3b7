//! [`trace_lines`]: the run events of one call as lines of a trace.
//!
//! They contain no secrets and no output twice, as in a journal. Unlike in a journal, every text is
//! short: a trace says what ran and why, and the agent itself keeps its files and prompts.

use hookwright_engine::Secrets;
use hookwright_events::{FiringEvent, RunEvent, RunEventKind, SessionEvent};
use serde_json::Value;

use crate::limits::{TRACE_CALL_BYTES_MAX, TRACE_LINE_BYTES_MAX, TRACE_TEXT_BYTES_MAX};

/// The lines of these events. `session` is the name of the trace.
pub fn trace_lines(events: Vec<RunEvent>, session: &str, secrets: &Secrets) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut left_out = 0_usize;
    let mut last_at = String::new();
    for mut event in events {
        event.session = Some(session.to_owned());
        last_at.clone_from(&event.at);
        match line(event, secrets) {
            Some(line) if lines.len() + line.len() < TRACE_CALL_BYTES_MAX => {
                lines.extend_from_slice(line.as_bytes());
                lines.push(b'\n');
            }
            Some(_) | None => left_out += 1,
        }
    }
    if left_out > 0 {
        let note = format!("{left_out} more entries of this call are left out: they are too long");
        lines.extend_from_slice(note_line(note, session, last_at).as_bytes());
    }
    lines
}

/// A note for people as a line.
pub(super) fn note_line(note: String, session: &str, at: String) -> String {
    let kind = SessionEvent::Noted { note }.into();
    let (version, session) = (hookwright_events::run_event::VERSION, Some(session.to_owned()));
    let event = RunEvent { version, firing: 0, at, session, kind };
    format!("{}\n", serde_json::to_string(&event).unwrap_or_default())
}

/// An event as a line without its end; `None` if it is too long.
fn line(mut event: RunEvent, secrets: &Secrets) -> Option<String> {
    // The address of a question decides it.
    drop(event.kind.take_unkept());
    let mut value = serde_json::to_value(&event).ok()?;
    match event.kind {
        RunEventKind::Firing(FiringEvent::Decided { .. }) => {
            value["decision"]["hooks"] = Value::Null;
        }
        // The end of the attempt has it.
        RunEventKind::Firing(FiringEvent::HookReported { .. }) => {
            value["report"]["stdout"] = "".into();
            value["report"]["stderr"] = "".into();
        }
        _ => {}
    }
    // Before texts are cut: half a secret would not be recognised.
    secrets.hide_in(&mut value);
    shorten(&mut value);
    let text = value.to_string();
    if text.len() <= TRACE_LINE_BYTES_MAX {
        return Some(text);
    }
    // Without the data it is still known what was fired.
    value.as_object_mut()?.remove("data")?;
    Some(value.to_string()).filter(|text| text.len() <= TRACE_LINE_BYTES_MAX)
}

/// Cuts long texts.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > TRACE_TEXT_BYTES_MAX => {
            let kept = text.floor_char_boundary(TRACE_TEXT_BYTES_MAX);
            let left_out = text.len() - kept;
            text.truncate(kept);
            text.push_str(&format!("… ({left_out} more bytes)"));
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::EventName;
    use serde_json::json;

    use super::*;

    fn event(firing: u64, kind: impl Into<RunEventKind>) -> RunEvent {
        let (at, session) = ("2026-01-02T03:04:05.000Z".to_owned(), Some("../x".to_owned()));
        RunEvent { version: 1, firing, at, session, kind: kind.into() }
    }

    fn fired(data: &Value) -> FiringEvent {
        FiringEvent::Fired {
            event: EventName::TOOL_PRE_EXECUTE,
            subject: Some("bash".to_owned()),
            key: None,
            data: data.as_object().cloned(),
            late_answers: Vec::new(),
        }
    }

    fn read(lines: Vec<u8>) -> Vec<RunEvent> {
        let text = String::from_utf8(lines).expect("JSON");
        assert!(text.ends_with('\n'), "{text}");
        text.lines().map(|line| RunEvent::from_json(line).expect(line)).collect()
    }

    #[test]
    fn a_line_is_a_run_event_with_the_name_of_the_trace() {
        let events = vec![event(0, SessionEvent::Continued {}), event(2, fired(&json!({})))];
        let read = read(trace_lines(events, "codex:00", &Secrets::default()));
        assert_eq!(read.len(), 2);
        assert!(read.iter().all(|event| event.session.as_deref() == Some("codex:00")));
    }

    #[test]
    fn secrets_are_hidden_before_long_texts_are_cut() {
        let secrets = Secrets::new(vec![("TOKEN".to_owned(), "s3cret-value".to_owned())]);
        let before = "x".repeat(TRACE_TEXT_BYTES_MAX - 5);
        let data = json!({ "tool_input": { "command": format!("{before}s3cret-value") } });
        let lines = trace_lines(vec![event(1, fired(&data))], "codex:00", &secrets);
        let text = String::from_utf8(lines).expect("JSON");
        assert!(!text.contains("s3cre") && text.contains("more bytes"), "{text}");
    }

    #[test]
    fn an_event_with_too_much_data_is_kept_without_them() {
        let data: serde_json::Map<String, Value> =
            (0..1000).map(|n| (n.to_string(), "x".repeat(1000).into())).collect();
        let lines =
            trace_lines(vec![event(1, fired(&data.into()))], "codex:00", &Secrets::default());
        let [RunEvent { kind, .. }] = &read(lines)[..] else { panic!("one line") };
        let RunEventKind::Firing(FiringEvent::Fired { subject, data, .. }) = kind else {
            panic!("{kind:?}")
        };
        assert_eq!((subject.as_deref(), data), (Some("bash"), &None));
    }

    #[test]
    fn a_call_with_too_many_events_says_how_many_are_left_out() {
        let skipped = |n: usize| FiringEvent::HookSkipped {
            hook: n.to_string(),
            reason: "x".repeat(TRACE_TEXT_BYTES_MAX),
            ended_by: None,
        };
        let events = (0..1000).map(|n| event(1, skipped(n))).collect();
        let lines = trace_lines(events, "codex:00", &Secrets::default());
        assert!(lines.len() < TRACE_CALL_BYTES_MAX + 1000);
        let read = read(lines);
        let note = &read.last().expect("the note").kind;
        let left_out = 1000 - (read.len() - 1);
        let RunEventKind::Session(SessionEvent::Noted { note }) = note else { panic!("{note:?}") };
        assert!(note.starts_with(&format!("{left_out} more entries")), "{note}");
    }
}
