//! Reads and saves whole Code-Forge files, for programs.
//!
//! A file is replaced atomically. Everything else in it is kept: other keys, and unreadable
//! entries, which the user still has to fix.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_config::{ConfigFile, Fault, SourceFile, read_text};
use hookwright_engine::hook::Layer;
use serde_json::{Map, Value, json};

use super::config::each_entry;
use super::entry::{Checked, Entry};
use super::files;
use crate::Whereabouts;

/// The user's hooks, and the faults of skipped ones.
pub fn load_global(whereabouts: &Whereabouts<'_>) -> (Vec<Entry>, Vec<Fault>) {
    entries(checked(&files::of_user(whereabouts)))
}

/// The project's hooks, and the faults of skipped ones.
pub fn load_project(whereabouts: &Whereabouts<'_>) -> (Vec<Entry>, Vec<Fault>) {
    entries(checked(&files::of_project(whereabouts)))
}

/// Replaces the user's hooks. Returns the file.
pub fn save_global(whereabouts: &Whereabouts<'_>, hooks: &[Entry]) -> Result<PathBuf, SaveError> {
    save(&files::of_user(whereabouts), hooks)
}

/// Replaces the project's hooks. Returns the file.
pub fn save_project(whereabouts: &Whereabouts<'_>, hooks: &[Entry]) -> Result<PathBuf, SaveError> {
    save(&files::of_project(whereabouts), hooks)
}

/// The default hooks: none.
pub fn default_hooks() -> Vec<Entry> {
    Vec::new()
}

/// Why hooks were not saved. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The location of the user's files is unknown.
    #[error("the user's configuration folder does not exist")]
    NoFolder,
    /// The file is not in Code-Forge's format.
    #[error("{}: expected an object with a list `hooks`: {cause}", path.display())]
    NotTheirs {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        cause: String,
    },
    /// The system reports an error.
    #[error("{}: {cause}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
}

/// The hooks of the existing files, and the faults of skipped ones.
pub(super) fn checked(paths: &[PathBuf]) -> (Vec<Checked>, Vec<Fault>) {
    let (mut hooks, mut left_out) = (Vec::new(), Vec::new());
    for path in paths.iter().filter(|path| path.exists()) {
        let file = ConfigFile::native(path, path, Layer::Project);
        let read = read_text(&file).map_err(|fault| vec![fault]).and_then(|text| {
            let source = Arc::new(SourceFile { path: path.clone(), text: text.into() });
            each_entry(&source, |_, read, faults| {
                hooks.extend(read);
                left_out.extend(faults);
                true
            })
        });
        left_out.extend(read.err().into_iter().flatten());
    }
    (hooks, left_out)
}

fn entries((hooks, left_out): (Vec<Checked>, Vec<Fault>)) -> (Vec<Entry>, Vec<Fault>) {
    (hooks.into_iter().map(|checked| checked.entry).collect(), left_out)
}

/// Saves hooks into the first existing file, else into the first path. Other existing files lose
/// their hooks, which would be read twice.
fn save(paths: &[PathBuf], hooks: &[Entry]) -> Result<PathBuf, SaveError> {
    let there: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
    let first = there.first().copied().or(paths.first()).ok_or(SaveError::NoFolder)?;
    // Read all before writing one, so that a fault in any leaves all unchanged.
    let others = there.iter().skip(1).map(|path| Ok((*path, file_of(path)?)));
    let others: Vec<(&PathBuf, Map<String, Value>)> = others.collect::<Result<_, _>>()?;
    write(first, with_hooks(file_of(first)?, hooks))?;
    for (path, file) in others {
        write(path, with_hooks(file, &[]))?;
    }
    Ok(first.clone())
}

/// The file's current content.
fn file_of(path: &Path) -> Result<Map<String, Value>, SaveError> {
    let not_theirs = |cause: String| SaveError::NotTheirs { path: path.to_owned(), cause };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(cause) => return Err(SaveError::Unwritable { path: path.to_owned(), cause }),
    };
    let file: Map<String, Value> = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| not_theirs(error.to_string()))?;
    match file.get("hooks") {
        None | Some(Value::Array(_)) => Ok(file),
        Some(_) => Err(not_theirs("`hooks` is not a list".to_owned())),
    }
}

/// The file with these hooks and its own unreadable entries.
fn with_hooks(mut file: Map<String, Value>, hooks: &[Entry]) -> Map<String, Value> {
    let mut all: Vec<Value> = hooks.iter().map(Entry::to_json).collect();
    if let Some(Value::Array(before)) = file.get("hooks") {
        all.extend(before.iter().filter(|entry| !is_readable(entry)).cloned());
    }
    file.insert("hooks".to_owned(), Value::Array(all));
    file
}

fn is_readable(entry: &Value) -> bool {
    let text = json!({ "hooks": [entry] }).to_string();
    let source = Arc::new(SourceFile { path: PathBuf::new(), text: text.into() });
    let mut readable = false;
    let whole = each_entry(&source, |_, read, _| {
        readable = read.is_some();
        true
    });
    whole.is_ok() && readable
}

/// Replaces a file atomically. A symbolic link stays a link.
fn write(path: &Path, file: Map<String, Value>) -> Result<(), SaveError> {
    let unwritable = |cause| SaveError::Unwritable { path: path.to_owned(), cause };
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let replace = || -> io::Result<()> {
        let folder = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Default permissions for a new file; an existing one keeps its own.
        let new = Permissions::from_mode(0o666);
        let mut draft = tempfile::Builder::new().permissions(new).tempfile_in(folder)?;
        let mut text = serde_json::to_string_pretty(&file)?;
        text.push('\n');
        draft.write_all(text.as_bytes())?;
        if let Ok(before) = fs::metadata(&target) {
            fs::set_permissions(draft.path(), before.permissions())?;
        }
        draft.as_file().sync_all()?;
        draft.persist(&target)?;
        Ok(())
    };
    replace().map_err(unwritable)
}

#[cfg(test)]
mod tests;
