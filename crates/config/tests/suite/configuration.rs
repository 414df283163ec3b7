//! What holds for any text as a configuration.

use std::collections::HashSet;

use hookwright_config::{ConfigFile, FilePlace, check_text, load_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_events::table::EVENTS;
use hookwright_events::{Event, EventName, EventSpec};
use serde_json::Map;

/// Checks that a configuration is read to its end: every fault and every warning has its place, and
/// nothing else is broken.
pub(crate) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let environment = Environment::new([("HOME".into(), "/".into())]);
    for layer in [Layer::Project, Layer::Loop] {
        let file = ConfigFile::native("a.yaml", "a.yaml", layer);
        let (loaded, warnings) = check_text(text, &file, &environment);
        for fault in &loaded.faults {
            assert_eq!(&*fault.source.text, text);
            assert!(!fault.to_string().is_empty());
            if let Some(place) = &fault.place {
                is_in_the_file(place, text);
            }
        }
        if loaded.faults.is_empty() {
            let is_broken = |event: &EventSpec| {
                let name = EventName::resolve(event.name).expect("a name of the table");
                loaded.hooks.broken_for(&Event::new(name, Map::new())).next().is_some()
            };
            assert!(!EVENTS.iter().any(is_broken), "what has no fault is broken");
        }
        let mut ids = HashSet::new();
        for hook in loaded.hooks.hooks() {
            assert!(ids.insert(hook.id.as_str()), "{} appears twice", hook.id);
            let lines = text.split(['\n', '\r']).count();
            assert!((1..=lines).contains(&(hook.source.line as usize)), "{:?}", hook.source);
        }
        for warning in &warnings {
            is_in_the_file(&warning.place, text);
            // Escapes may write a name in other letters, and a lone carriage return hides its
            // place.
            if !text.contains(['\\', '\r']) {
                assert_eq!(&text[warning.place.range.clone()], warning.name, "{warning:?}");
            }
        }
        let unasked = load_text(text, &file, &environment);
        assert_eq!(unasked.faults, loaded.faults, "warnings change nothing");
        assert_eq!(unasked.hooks.hooks().len(), loaded.hooks.hooks().len());
    }
}

/// Checks that the place is within the text, and that line and column lead to its bytes.
fn is_in_the_file(place: &FilePlace, text: &str) {
    assert!(text.get(place.range.clone()).is_some(), "{place:?} is not in the text");
    assert!(place.line >= 1 && place.column >= 1, "{place:?}");
    let before = &text[..place.range.start];
    // Programs disagree on what else ends a line, and on whether a byte order mark counts as a
    // column.
    if text.contains(['\r', '\u{feff}', '\u{85}', '\u{2028}', '\u{2029}']) {
        return;
    }
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |row| row.chars().count()) + 1;
    assert_eq!((place.line as usize, place.column as usize), (line, column), "{place:?}");
}
