//! edit: replaces a text in a file. The text has to be there exactly once, unless all are meant.

use std::sync::Arc;

use serde_json::json;

use super::changed_text::{check_size, old_text};
use super::file_session::FileSession;
use super::file_tool::{FileAccess, FileCall, FileTool};
use super::patch::structured_patch;
use super::{ToolFailure, ToolOutput, input, spec};

pub(super) fn tool(session: Arc<FileSession>) -> FileTool {
    let spec = spec(
        "edit",
        "Replaces a text in a file that you have read. old_string has to be exactly as in the \
         file, without line numbers, and to be there once; with replace_all, every one is \
         replaced. An empty old_string makes a new file.",
        &["file_path", "old_string", "new_string"],
        json!({
            "file_path": { "type": "string", "minLength": 1, "description": "The file." },
            "old_string": { "type": "string", "description": "The text to replace." },
            "new_string": { "type": "string", "description": "The text in its place." },
            "replace_all": {
                "type": "boolean", "default": false,
                "description": "Replace it everywhere in the file.",
            },
        }),
    );
    FileTool { spec, session, access: FileAccess::Change, path_field: "file_path", work: edit }
}

fn edit(call: &FileCall<'_>) -> Result<ToolOutput, ToolFailure> {
    let FileCall { session, input, judged, .. } = call;
    let old_string = input::needed(input, "old_string")?;
    let new_string = input::needed(input, "new_string")?;
    let replace_all = input::flag(input, "replace_all").unwrap_or(false);
    if old_string == new_string {
        return Err("old_string and new_string are the same: there is nothing to change"
            .to_owned()
            .into());
    }
    let _changing = session.begin_change();
    let located = session.to_change(input::needed(input, "file_path")?, judged)?;
    let shown = session.shown(located.path());
    let old = old_text(session, &located)?;
    let (new, places) = match &old {
        Some(old) => {
            let replacement = TextReplacement::in_text(old, old_string, new_string);
            (replacement.applied(old, replace_all, &shown)?, replacement.places)
        }
        None if old_string.is_empty() => (new_string.to_owned(), 1),
        None => {
            return Err(format!(
                "`{shown}` does not exist: use write, or an empty old_string to make it"
            )
            .into());
        }
    };
    check_size(new.len())?;
    located.replace(new.as_bytes())?;
    session.remember_content(located.path(), new.as_bytes());
    let text = match (&old, places) {
        (None, _) => format!("created `{shown}`"),
        (Some(_), 1) => format!("updated `{shown}`"),
        (Some(_), places) => format!("updated `{shown}` in {places} places"),
    };
    let old = old.unwrap_or_default();
    let response = json!({
        "filePath": located.path().to_string_lossy(),
        "oldString": old_string,
        "newString": new_string,
        "structuredPatch": structured_patch(&old, &new),
        "originalFile": old,
        "userModified": false,
        "replaceAll": replace_all,
    });
    Ok(ToolOutput { response, text })
}

/// What is replaced, as it is in the file.
struct TextReplacement {
    old: String,
    new: String,
    places: usize,
}

impl TextReplacement {
    fn in_text(text: &str, old: &str, new: &str) -> Self {
        let places = if old.is_empty() { 0 } else { text.matches(old).count() };
        if places == 0 && text.contains("\r\n") && old.contains('\n') {
            // The model was shown lines without their `\r`.
            let with_returns = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
            let (old, new) = (with_returns(old), with_returns(new));
            let places = text.matches(&old).count();
            return Self { old, new, places };
        }
        Self { old: old.to_owned(), new: new.to_owned(), places }
    }

    fn applied(&self, text: &str, replace_all: bool, shown: &str) -> Result<String, ToolFailure> {
        match self.places {
            _ if self.old.is_empty() && text.is_empty() => Ok(self.new.clone()),
            _ if self.old.is_empty() => {
                Err(format!("old_string is empty, and `{shown}` is not: name the text to replace")
                    .into())
            }
            0 => Err(format!(
                "old_string was not found in `{shown}`: it has to be exactly as in the file, with \
                 its spaces and line breaks. Read the file again if you are not sure"
            )
            .into()),
            1 => Ok(text.replacen(&self.old, &self.new, 1)),
            places if replace_all => {
                let grown = text.len() as u128 + places as u128 * self.new.len() as u128;
                let size = grown - places as u128 * self.old.len() as u128;
                check_size(usize::try_from(size).unwrap_or(usize::MAX))?;
                Ok(text.replace(&self.old, &self.new))
            }
            places => Err(format!(
                "old_string was found {places} times in `{shown}`: add lines around it so that it \
                 is there once, or set replace_all"
            )
            .into()),
        }
    }
}
