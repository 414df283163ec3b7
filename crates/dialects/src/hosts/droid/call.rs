//! Reads Droid's input as native events: Claude Code's names, without ids of calls.

use crate::hosts::payload::Payload;
use crate::hosts::tool_fields::{ToolField, field};
use crate::hosts::{Host, HostCall, UnreadableCall, claude_events};

/// Droid's names of tool inputs.
pub(super) const FIELDS: &[ToolField] =
    &[field("edit", "old_str", "old_string"), field("edit", "new_str", "new_string")];

/// Parses the input of Droid.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    let mut payload = Payload::parse(host, sent)?;
    // Tools of servers are called `server___tool`.
    let name = payload.text("tool_name").and_then(|name| name.split_once("___"));
    if let Some((server, tool)) =
        name.filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
    {
        let name = format!("mcp__{server}__{tool}");
        payload.fields.insert("tool_name".to_owned(), name.into());
    }
    claude_events::read(host, payload, FIELDS)
}
