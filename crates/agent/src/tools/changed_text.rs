//! The text of a file that a tool is about to change, if it may: it is text, not too large, and the model
//! knows what is in it.

use std::io::Read as _;

use super::ToolFailure;
use super::file_session::{FileSession, SeenState};
use crate::limits::CHANGED_FILE_BYTES_MAX;
use crate::workspace::{Found, Located};

/// The text that is there; `None` if there is no file.
pub(super) fn old_text(
    session: &FileSession,
    located: &Located,
) -> Result<Option<String>, ToolFailure> {
    if located.found() == Found::Missing {
        return Ok(None);
    }
    let shown = session.shown(located.path());
    let file = located.open_file()?;
    let mut bytes = Vec::new();
    let limit = CHANGED_FILE_BYTES_MAX as u64 + 1;
    let read = file.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    if bytes.len() > CHANGED_FILE_BYTES_MAX {
        return Err(ToolFailure::Because(format!(
            "`{shown}` is larger than the {CHANGED_FILE_BYTES_MAX} bytes that can be changed here: \
             use bash"
        )));
    }
    let seen = session.seen(located.path(), &bytes);
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let Some(text) = text else {
        return Err(ToolFailure::Because(format!(
            "`{shown}` is not UTF-8 text, and changing it here would damage it: use bash with a \
             program that keeps its format"
        )));
    };
    match seen {
        SeenState::AsItIs => Ok(Some(text)),
        SeenState::Never => Err(ToolFailure::Because(format!(
            "`{shown}` exists and was not read in this session: read it first"
        ))),
        SeenState::Changed => Err(ToolFailure::Because(format!(
            "`{shown}` was changed since it was read: read it again, then try again"
        ))),
    }
}

/// Whether a text is small enough to be written.
pub(super) fn check_size(bytes: usize) -> Result<(), ToolFailure> {
    if bytes > CHANGED_FILE_BYTES_MAX {
        return Err(ToolFailure::Because(format!(
            "the new content has {bytes} bytes, more than the {CHANGED_FILE_BYTES_MAX} that can be \
             written at once. Nothing was changed"
        )));
    }
    Ok(())
}

pub(super) fn line_count(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}
