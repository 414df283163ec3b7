//! [`read_entry`]: reads an entry of a journal, as far as a timeline shows it.
//!
//! About half of a journal's bytes are the data of events. Hooks read them, a timeline does not.

use std::borrow::Cow;

use hookwright_events::{EventName, FiringEvent, RunEvent, RunEventKind};
use serde::Deserialize;

/// Occurs in the first bytes of an entry of a firing, and of no other.
const FIRED: &str = "\"kind\":\"fired\"";

/// The part of an entry that is searched for it: version, number, time and the session's name.
const HEAD_BYTES: usize = 256;

/// The event of an entry, without what a timeline does not show.
pub fn read_entry(text: &str) -> Result<RunEvent, serde_json::Error> {
    let head = &text.as_bytes()[..text.len().min(HEAD_BYTES)];
    let may_be_fired = head.windows(FIRED.len()).any(|window| window == FIRED.as_bytes());
    match may_be_fired.then(|| serde_json::from_str::<FiredEntry<'_>>(text)) {
        Some(Ok(fired)) if fired.kind == "fired" => Ok(fired.event()),
        // This returns the error.
        Some(Ok(_) | Err(_)) | None => RunEvent::from_json(text),
    }
}

/// An entry of a fired event, as far as it is shown.
#[derive(Deserialize)]
struct FiredEntry<'t> {
    version: u32,
    firing: u64,
    at: String,
    session: Option<String>,
    #[serde(borrow)]
    kind: Cow<'t, str>,
    event: EventName,
    #[serde(default)]
    key: Option<String>,
}

impl FiredEntry<'_> {
    fn event(self) -> RunEvent {
        let Self { version, firing, at, session, event, key, .. } = self;
        let (subject, data, late_answers) = (None, None, Vec::new());
        let kind =
            RunEventKind::Firing(FiringEvent::Fired { event, subject, key, data, late_answers });
        RunEvent { version, firing, at, session, kind }
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::SessionEvent;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_firing_is_read_without_its_data_and_every_other_entry_completely() {
        let fired = |data: serde_json::Value| {
            let event = json!({ "version": 1, "firing": 7, "at": "now", "session": "s", "kind": "fired",
                "event": "iteration:start", "subject": "x", "key": "iteration:start/0/3", "data": data });
            event.to_string()
        };
        let RunEvent { firing, kind, .. } = read_entry(&fired(json!({ "a": [1, 2] }))).unwrap();
        let RunEventKind::Firing(FiringEvent::Fired { event, key, data, .. }) = kind else {
            panic!("a firing")
        };
        assert_eq!((firing, event.as_str(), data), (7, "iteration:start", None));
        assert_eq!(key.as_deref(), Some("iteration:start/0/3"));
        // A note that looks like one is none.
        for note in ["\"kind\":\"fired\"", "x"] {
            let noted = RunEventKind::Session(SessionEvent::Noted { note: note.into() });
            let event =
                RunEvent { version: 1, firing: 0, at: "now".into(), session: None, kind: noted };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(read_entry(&text).unwrap(), event);
        }
        let numbered = fired(json!({})).replace("\"firing\":7", "\"firing\":\"7\"");
        for broken in ["", "{", "{\"kind\":\"fired\"}", &numbered] {
            let whole = RunEvent::from_json(broken).unwrap_err();
            assert_eq!(read_entry(broken).unwrap_err().to_string(), whole.to_string());
        }
    }
}
