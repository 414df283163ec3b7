//! Our names for the input of tools, beside the host's own.
//!
//! A guard reads `tool_input.file_path`, whatever the host calls it. The host's own field decides
//! what happens, so its value replaces a field of our name: an agent that sends both must not get
//! past a guard with the one that has no effect. When a hook rewrites the input, the host gets its
//! own names back.

use hookwright_events::{Event, tool};
use serde_json::{Map, Value};

/// A field of a tool's input.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolField {
    /// The canonical name of the tool, or the host's own.
    pub(super) tool: &'static str,
    /// The host's name of the field.
    pub(super) theirs: &'static str,
    /// Our name of the field.
    pub(super) ours: &'static str,
}

/// A row of a host's table.
pub(super) const fn field(
    tool: &'static str,
    theirs: &'static str,
    ours: &'static str,
) -> ToolField {
    ToolField { tool, theirs, ours }
}

/// Adds our names to the input of the event's tool.
pub(super) fn add(event: &mut Event, names: &[ToolField]) {
    let names = of_tool(event, names);
    let Some(Value::Object(input)) = event.data.get_mut("tool_input") else { return };
    for name in names {
        if let Some(value) = input.get(name.theirs).cloned() {
            input.insert(name.ours.to_owned(), value);
        }
    }
}

/// The input under the host's own names. `event` is the one whose input was rewritten.
pub(super) fn restore(
    event: &Event,
    names: &[ToolField],
    mut input: Map<String, Value>,
) -> Map<String, Value> {
    let Some(Value::Object(before)) = event.data.get("tool_input") else { return input };
    for name in of_tool(event, names) {
        if !before.contains_key(name.theirs) {
            continue;
        }
        if let Some(value) = input.shift_remove(name.ours)
            && before.get(name.ours) != Some(&value)
        {
            input.insert(name.theirs.to_owned(), value);
        }
    }
    input
}

fn of_tool(event: &Event, names: &[ToolField]) -> Vec<ToolField> {
    let own = event.text("tool_name").unwrap_or_default();
    let fits = |name: &&ToolField| name.tool == own || name.tool == tool::canonical(own);
    names.iter().filter(fits).copied().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NAMES: &[ToolField] = &[field("write", "path", "file_path")];

    fn event(input: &Value) -> Event {
        let data = json!({ "tool_name": "create", "tool_input": input });
        let mut event = Event::named("tool:pre_execute", data).expect("known");
        add(&mut event, NAMES);
        event
    }

    #[test]
    fn the_hosts_own_field_counts_even_if_the_agent_sends_ours_too() {
        let event = event(&json!({ "path": "/etc/passwd", "file_path": "/tmp/harmless" }));
        assert_eq!(event.text_at("/tool_input/file_path"), Some("/etc/passwd"));
    }

    #[test]
    fn a_rewrite_under_either_name_reaches_the_host_under_its_own() {
        let event = event(&json!({ "path": "a", "file_text": "x" }));
        let restored = |input: Value| match input {
            Value::Object(input) => Value::Object(restore(&event, NAMES, input)),
            _ => unreachable!("an object"),
        };
        let ours = json!({ "path": "a", "file_text": "x", "file_path": "b" });
        assert_eq!(restored(ours), json!({ "path": "b", "file_text": "x" }));
        let theirs = json!({ "path": "b", "file_text": "x", "file_path": "a" });
        assert_eq!(restored(theirs), json!({ "path": "b", "file_text": "x" }));
    }
}
