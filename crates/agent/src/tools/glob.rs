//! glob: finds files by their names, the newest first.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use super::file_session::FileSession;
use super::file_tool::{FileAccess, FileCall, FileTool};
use super::newest::Newest;
use super::search_time::SearchTime;
use super::walk::{FileFilter, WalkNext, compile_globs, walk};
use super::{ToolFailure, ToolOutput, input, spec};
use crate::limits::GLOB_FILES_MAX;
use crate::workspace::Found;

pub(super) fn tool(session: Arc<FileSession>) -> FileTool {
    let spec = spec(
        "glob",
        "Finds files by a pattern such as `**/*.rs` or `src/**/*.{ts,tsx}`. A pattern without `/` \
         is for names in any folder. Returns up to 100 paths, the newest first. Files that git \
         ignores are left out.",
        &["pattern"],
        json!({
            "pattern": { "type": "string", "minLength": 1, "description": "The glob." },
            "path": {
                "type": "string", "minLength": 1,
                "description": "The folder to search; the workspace if not given.",
            },
        }),
    );
    FileTool { spec, session, access: FileAccess::Read, path_field: "path", work: glob }
}

fn glob(call: &FileCall<'_>) -> Result<ToolOutput, ToolFailure> {
    let (FileCall { session, input, judged, .. }, time) = (call, &SearchTime::new(call.cancel));
    let started = Instant::now();
    let start = session.to_read(input::text(input, "path").unwrap_or("."), judged)?;
    let shown = session.shown(start.path());
    match start.found() {
        Found::Folder => {}
        Found::Missing => return Err(format!("`{shown}` does not exist").into()),
        Found::File | Found::Other(_) => {
            return Err(format!("`{shown}` is not a folder: path is the folder to search").into());
        }
    }
    let pattern = below(input::needed(input, "pattern")?, start.path())?;
    let filter = FileFilter { globs: compile_globs(start.path(), &[pattern])?, types: None };
    let mut newest = Newest::new(GLOB_FILES_MAX);
    let left_out = walk(&session.workspace, &start, &filter, time, &mut |file| {
        newest.add(file.path, file.modified());
        Ok(WalkNext::GoOn)
    })?;
    let total = newest.total;
    let paths = newest.into_paths();
    let mut lines: Vec<String> = paths.iter().map(|path| session.shown(path)).collect();
    if lines.is_empty() {
        lines.push("no files found".to_owned());
    }
    if total > paths.len() {
        lines.push(format!("(the newest {} of {total} files)", paths.len()));
    }
    lines.extend(left_out.notes().into_iter().map(|note| format!("({note})")));
    let names: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let response = json!({
        "filenames": names,
        "durationMs": took,
        "numFiles": names.len(),
        "truncated": total > names.len() || left_out.ended.is_some(),
    });
    Ok(ToolOutput { response, text: lines.join("\n") })
}

/// The pattern below the folder that is searched. Models also write the whole path.
fn below<'a>(pattern: &'a str, folder: &Path) -> Result<&'a str, ToolFailure> {
    if pattern.split('/').any(|name| name == "..") {
        return Err("a pattern cannot contain `..`: set path to the folder to search"
            .to_owned()
            .into());
    }
    if !pattern.starts_with('/') {
        return Ok(pattern);
    }
    let prefix = folder.to_string_lossy();
    match pattern.strip_prefix(&*prefix) {
        // Its `/` stays: the pattern is for this folder, not for any.
        Some(rest) if rest.starts_with('/') => Ok(rest),
        _ => Err(format!(
            "the pattern is not below `{prefix}`: set path to the folder to search, and write the \
             pattern relative to it"
        )
        .into()),
    }
}
