//! Outside git: all files below the root, by size, times and inode.
//!
//! Links are not followed, and `.git` is left out everywhere. A file that was changed just before
//! the first scan is read too, for its times may not distinguish a second change from the first.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::file_print::{Budget, FilePrint};
use super::{ScanLimits, Unseen, is_ours};

/// All files, by their path from the root.
#[derive(Debug, Default)]
pub(super) struct Walked {
    files: BTreeMap<Vec<u8>, FilePrint>,
    /// Folders that could not be listed, and why.
    unreadable: Vec<(PathBuf, String)>,
}

/// The result of comparing two scans.
#[derive(Debug)]
pub(super) struct WalkComparison {
    /// What was created, deleted or changed.
    pub(super) changed: Vec<Vec<u8>>,
    /// The folders that could not be listed.
    pub(super) note: Option<Unseen>,
    /// The second scan, usable as a first one.
    pub(super) after: Walked,
}

/// Scans all files. The content of fresh ones is read.
pub(super) fn walk(root: &Path, bounds: ScanLimits) -> Result<Walked, Unseen> {
    let now = SystemTime::now();
    let mut walked = look(root, bounds)?;
    let mut budget = Budget::new();
    for (path, print) in &mut walked.files {
        if print.is_fresh(now) {
            in_time(bounds)?;
            print.read_content(&root.join(OsStr::from_bytes(path)), &mut budget);
        }
    }
    Ok(walked)
}

/// Scans again, and compares.
pub(super) fn changed_since(
    root: &Path,
    before: &Walked,
    bounds: ScanLimits,
) -> Result<WalkComparison, Unseen> {
    let now = SystemTime::now();
    let mut after = look(root, bounds)?;
    let mut budget = Budget::new();
    let gone = before.files.keys().filter(|path| !after.files.contains_key(*path));
    let mut changed: Vec<Vec<u8>> = gone.cloned().collect();
    for (path, is) in &mut after.files {
        let was = before.files.get(path);
        // Content is read only if times may not be enough: those of the first scan, or those of
        // now.
        let was_read = matches!(was, Some(FilePrint::File { content: Some(_), .. }));
        if was_read || is.is_fresh(now) {
            in_time(bounds)?;
            is.read_content(&root.join(OsStr::from_bytes(path)), &mut budget);
        }
        if !was.is_some_and(|was| was.is_same(is)) {
            changed.push(path.clone());
        }
    }
    let unreadable: Vec<&(PathBuf, String)> =
        before.unreadable.iter().chain(&after.unreadable).collect();
    // What was unreadable in one of the scans is not known to have been created or deleted.
    changed.retain(|path| {
        let path = Path::new(OsStr::from_bytes(path));
        !unreadable.iter().any(|(folder, _)| path.starts_with(folder))
    });
    let note = note_of(&unreadable);
    Ok(WalkComparison { changed, note, after })
}

fn note_of(unreadable: &[&(PathBuf, String)]) -> Option<Unseen> {
    let mut folders: Vec<&PathBuf> = unreadable.iter().map(|(folder, _)| folder).collect();
    folders.sort();
    folders.dedup();
    let (first, cause) = unreadable.iter().min()?;
    Some(Unseen::Folders { count: folders.len(), first: first.clone(), cause: cause.clone() })
}

fn look(root: &Path, bounds: ScanLimits) -> Result<Walked, Unseen> {
    let mut walked = Walked::default();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(root.join(&folder)) {
            Ok(entries) => entries,
            Err(cause) if folder.as_os_str().is_empty() => {
                return Err(Unseen::Root { path: root.to_owned(), cause: cause.to_string() });
            }
            Err(cause) => {
                walked.unreadable.push((folder, cause.to_string()));
                continue;
            }
        };
        for entry in entries {
            in_time(bounds)?;
            let entry = match entry {
                Ok(entry) => entry,
                Err(cause) => {
                    walked.unreadable.push((folder, cause.to_string()));
                    break;
                }
            };
            let path = folder.join(entry.file_name());
            // Deleted in the meantime.
            let Ok(metadata) = entry.metadata() else { continue };
            if entry.file_name() == ".git" || is_ours(path.as_os_str().as_bytes()) {
                continue;
            }
            if metadata.is_dir() {
                folders.push(path);
                continue;
            }
            let print = FilePrint::of_metadata(|| root.join(&path), &metadata);
            walked.files.insert(path.into_os_string().into_vec(), print);
            if walked.files.len() > bounds.files_max {
                return Err(Unseen::TooMany { files_max: bounds.files_max });
            }
        }
    }
    Ok(walked)
}

/// The error carries the limit.
fn in_time(bounds: ScanLimits) -> Result<(), Unseen> {
    let after = Duration::ZERO;
    if Instant::now() < bounds.deadline { Ok(()) } else { Err(Unseen::TookTooLong { after }) }
}
