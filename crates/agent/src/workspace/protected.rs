//! [`ProtectedFiles`]: files that tools may read but not change, because they decide what the agent may
//! do: hook files, the trust file, the transcript.
//!
//! The host hands in paths and patterns of path endings. They count whether the files exist or not,
//! and by whatever way a path leads there: links, hard links, another case of letters. Shell commands
//! are not covered: only a hook or a permission rule guards those.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::fs::{AtFlags, CWD};

use super::Located;
use super::resolve::{open_folder, resolve};

/// Files that tools may read but not change.
#[derive(Debug, Clone)]
pub struct ProtectedFiles {
    /// As the host named them.
    paths: Vec<PathBuf>,
    /// Where they were when the session began, in lower case.
    at_start: Vec<PathBuf>,
    endings: GlobSet,
}

/// A pattern of protected files that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the pattern `{pattern}` of protected files is invalid: {reason}")]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ProtectedFiles {
    /// `paths` are absolute: a file, or a folder with everything in it. `endings` are the last names of
    /// a path, in any folder: `hookwright.yaml`, `.claude/settings*.json`.
    pub fn new(paths: Vec<PathBuf>, endings: &[&str]) -> Result<Self, BadPattern> {
        let mut set = GlobSetBuilder::new();
        let bad = |pattern: &str, error: globset::Error| BadPattern {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        };
        for ending in endings {
            let glob = format!("**/{}", fold(Path::new(ending)).display());
            let glob = GlobBuilder::new(&glob).literal_separator(true).build();
            set.add(glob.map_err(|error| bad(ending, error))?);
        }
        let endings = set.build().map_err(|error| bad(&endings.join(", "), error))?;
        let at_start = paths.iter().flat_map(|path| [fold(path), fold(&real_path(path))]).collect();
        Ok(Self { paths, at_start, endings })
    }

    /// Whether this is a protected file, a place in a protected folder, or would be in the way of one.
    /// `asked` is the absolute path that was asked for, before links.
    pub(super) fn covers(&self, located: &Located, asked: &Path) -> bool {
        let path = fold(located.path());
        if self.endings.is_match(&path) || self.endings.is_match(fold(asked)) {
            return true;
        }
        // Links may have changed since the session began.
        let now: Vec<PathBuf> = self.paths.iter().map(|path| fold(&real_path(path))).collect();
        let known = self.at_start.iter().chain(&now);
        if known.into_iter().any(|known| path.starts_with(known) || known.starts_with(&path)) {
            return true;
        }
        // A hard link has another path.
        self.paths.iter().any(|known| {
            let stat = rustix::fs::statat(CWD, known, AtFlags::empty());
            stat.is_ok_and(|stat| located.is_file_of(&stat))
        })
    }
}

/// Where a path leads, if it leads anywhere.
fn real_path(path: &Path) -> PathBuf {
    let root = open_folder(CWD, "/").ok();
    let resolved = root.and_then(|root| resolve(root, Path::new("/"), path).ok());
    resolved.map_or_else(|| path.to_owned(), |resolved| resolved.path)
}

/// A path as a file system compares it that takes no account of case, and drops what is invisible.
fn fold(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    let visible = text.chars().filter(|c| !is_invisible(*c));
    // Through upper case: some letters have the same capital.
    let folded: String =
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.into()
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}
