//! The files that a patch touches: one event for each, so that guards of files check every path.
//!
//! The format is the one of the tool `apply_patch`: lines that begin with `*** Add File: `,
//! `*** Update File: `, `*** Delete File: ` or `*** Move to: ` name a path. A patch in which no path is
//! found is one event, as the agent sent it.

use hookwright_events::{Event, tool};
use serde_json::Value;

use super::limits::OPERATIONS_MAX;
use super::{HostCall, UnreadableCall};

/// The names of the tool, and of the input in which its patch is.
const TOOLS: &[&str] = &["apply_patch", "ApplyPatch", "patch"];
const INPUTS: &[&str] = &["command", "input", "patch", "patchText"];

/// What a line does to the path behind it.
const LINES: &[(&str, &str)] = &[
    ("*** Add File:", "write"),
    ("*** Update File:", "edit"),
    ("*** Delete File:", "edit"),
    ("*** Move to:", "write"),
];

/// The call with one event for each path, if the event is about a patch. A new file is also an
/// event of the tool `write`.
pub(super) fn split(event: &Event) -> Option<Result<HostCall, UnreadableCall>> {
    if !is_patch(event) {
        return None;
    }
    let input = event.data.get("tool_input")?;
    let text = match input {
        Value::String(text) => Some(text.as_str()),
        fields => INPUTS.iter().find_map(|key| fields.get(*key)?.as_str()),
    };
    let touched = touched_files(text?);
    if touched.len() > OPERATIONS_MAX {
        let cause = format!(
            "the patch touches {} files, more than the {OPERATIONS_MAX} that are checked one by \
             one; split it",
            touched.len()
        );
        return Some(Err(UnreadableCall::BadData { event: event.name.clone(), cause }));
    }
    let mut events = Vec::new();
    for (path, tool) in touched {
        events.push(with_path(event, path, None));
        if tool == "write" {
            events.push(with_path(event, path, Some(tool)));
        }
    }
    let mut events = events.into_iter();
    let first = events.next()?;
    Some(Ok(HostCall { event: first, others: events.collect() }))
}

/// Whether the event is about the tool that applies patches.
pub(super) fn is_patch(event: &Event) -> bool {
    let name = event.text("tool_name").unwrap_or_default();
    TOOLS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The paths in a patch, with the tool that would do the same.
fn touched_files(patch: &str) -> Vec<(&str, &'static str)> {
    let found = patch.lines().filter_map(|line| {
        let line = line.trim();
        LINES.iter().find_map(|(begin, tool)| Some((line.strip_prefix(begin)?.trim(), *tool)))
    });
    let mut all: Vec<(&str, &str)> = Vec::new();
    for file in found {
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all
}

fn with_path(event: &Event, path: &str, tool: Option<&str>) -> Event {
    let mut event = event.clone();
    match event.data.get_mut("tool_input") {
        Some(Value::Object(input)) => {
            input.insert("file_path".to_owned(), path.into());
        }
        Some(other) => *other = serde_json::json!({ "input": other, "file_path": path }),
        None => {}
    }
    if let Some(tool) = tool {
        event.data.insert("tool_name".to_owned(), tool::canonical(tool).into());
    }
    event
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(patch: &str) -> Vec<(String, String)> {
        let data = json!({ "tool_name": "apply_patch", "tool_input": { "command": patch } });
        let event = Event::named("tool:pre_execute", data).expect("known");
        let Some(Ok(call)) = split(&event) else { return Vec::new() };
        let text = |event: &Event, at: &str| event.text_at(at).unwrap_or_default().to_owned();
        call.events()
            .map(|event| (text(event, "/tool_name"), text(event, "/tool_input/file_path")))
            .collect()
    }

    #[test]
    fn every_path_is_an_event_and_a_new_file_is_a_write_too() {
        let patch = "*** Begin Patch\n*** Add File: a b.txt\n+*** Add File: no\n*** Update File: c\n\
                     *** Move to: d\n@@\n-x\n+y\n  *** Delete File:  e  \n*** End Patch";
        let own = |path: &str| ("apply_patch".to_owned(), path.to_owned());
        let new = |path: &str| ("write".to_owned(), path.to_owned());
        let expected = [own("a b.txt"), new("a b.txt"), own("c"), own("d"), new("d"), own("e")];
        assert_eq!(paths(patch), expected);
    }

    #[test]
    fn a_patch_without_a_path_stays_one_event_and_one_with_too_many_is_refused() {
        assert_eq!(paths("nothing"), []);
        let many: String = (0..=OPERATIONS_MAX).map(|n| format!("*** Add File: {n}\n")).collect();
        let data = json!({ "tool_name": "apply_patch", "tool_input": { "command": many } });
        let event = Event::named("tool:pre_execute", data).expect("known");
        assert!(matches!(split(&event), Some(Err(UnreadableCall::BadData { .. }))));
    }
}
