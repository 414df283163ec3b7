//! write: writes a file whole. A file that is there must have been read in this session.

use std::sync::Arc;

use serde_json::json;

use super::changed_text::{check_size, line_count, old_text};
use super::file_session::FileSession;
use super::file_tool::{FileAccess, FileCall, FileTool};
use super::patch::structured_patch;
use super::{ToolFailure, ToolOutput, input, spec};

pub(super) fn tool(session: Arc<FileSession>) -> FileTool {
    let spec = spec(
        "write",
        "Writes a file whole; makes missing folders. Read a file before you overwrite it. To \
         change a part of a file, use edit.",
        &["file_path", "content"],
        json!({
            "file_path": { "type": "string", "minLength": 1, "description": "The file." },
            "content": { "type": "string", "description": "Its whole new content." },
        }),
    );
    FileTool { spec, session, access: FileAccess::Change, path_field: "file_path", work: write }
}

fn write(call: &FileCall<'_>) -> Result<ToolOutput, ToolFailure> {
    let FileCall { session, input, judged, .. } = call;
    let content = input::needed(input, "content")?;
    check_size(content.len())?;
    let _changing = session.begin_change();
    let located = session.to_change(input::needed(input, "file_path")?, judged)?;
    let old = old_text(session, &located)?;
    located.replace(content.as_bytes())?;
    session.remember_content(located.path(), content.as_bytes());
    let patch = old.as_ref().map_or(json!([]), |old| structured_patch(old, content));
    let (kind, verb) = if old.is_some() { ("update", "updated") } else { ("create", "created") };
    let text = format!("{verb} `{}` ({})", session.shown(located.path()), line_count(content));
    let response = json!({
        "type": kind,
        "filePath": located.path().to_string_lossy(),
        "content": content,
        "structuredPatch": patch,
        "originalFile": old,
        "userModified": false,
    });
    Ok(ToolOutput { response, text })
}
