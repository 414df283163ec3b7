//! Outside git: all files below the root, by size, times and inode.
//!
//! Links are not followed, `.git` is left out wherever it is. A file that was changed just before the
//! first look is read too, for its times may not tell a second change from the first.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::file_print::{Budget, FilePrint};
use super::{Bounds, Unseen, is_ours};

/// All files, by their path from the root.
#[derive(Debug, Default)]
pub(super) struct Walked {
    files: BTreeMap<Vec<u8>, FilePrint>,
    /// Folders that could not be listed, and why.
    unreadable: Vec<(PathBuf, String)>,
}

/// Looks at all files. The content of fresh ones is read.
pub(super) fn walk(root: &Path, bounds: Bounds) -> Result<Walked, Unseen> {
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

/// Looks again: what came, went or changed, and which folders could not be listed.
pub(super) fn changed_since(
    root: &Path,
    before: &Walked,
    bounds: Bounds,
) -> Result<(Vec<Vec<u8>>, Option<Unseen>), Unseen> {
    let mut after = look(root, bounds)?;
    let mut budget = Budget::new();
    let mut changed = Vec::new();
    for (path, was) in &before.files {
        in_time(bounds)?;
        let Some(mut is) = after.files.remove(path) else {
            changed.push(path.clone());
            continue;
        };
        // Content was read only where times may not tell.
        if let FilePrint::File { content: Some(_), .. } = was {
            is.read_content(&root.join(OsStr::from_bytes(path)), &mut budget);
        }
        if !was.is_same(&is) {
            changed.push(path.clone());
        }
    }
    changed.extend(after.files.into_keys());
    let unreadable: Vec<&(PathBuf, String)> =
        before.unreadable.iter().chain(&after.unreadable).collect();
    // What was hidden in one of the looks is not known to have come or gone.
    changed.retain(|path| {
        let path = Path::new(OsStr::from_bytes(path));
        !unreadable.iter().any(|(folder, _)| path.starts_with(folder))
    });
    Ok((changed, note_of(&unreadable)))
}

fn note_of(unreadable: &[&(PathBuf, String)]) -> Option<Unseen> {
    let mut folders: Vec<&PathBuf> = unreadable.iter().map(|(folder, _)| folder).collect();
    folders.sort();
    folders.dedup();
    let (first, cause) = unreadable.iter().min()?;
    Some(Unseen::Folders { count: folders.len(), first: first.clone(), cause: cause.clone() })
}

fn look(root: &Path, bounds: Bounds) -> Result<Walked, Unseen> {
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
            // One that is gone by now is not there.
            let Ok(metadata) = entry.metadata() else { continue };
            if entry.file_name() == ".git" || is_ours(path.as_os_str().as_bytes()) {
                continue;
            }
            if metadata.is_dir() {
                folders.push(path);
                continue;
            }
            let print = FilePrint::of_metadata(&root.join(&path), &metadata);
            walked.files.insert(path.into_os_string().as_bytes().to_vec(), print);
            if walked.files.len() > bounds.files_max {
                return Err(Unseen::TooMany { files_max: bounds.files_max });
            }
        }
    }
    Ok(walked)
}

/// The caller knows how long it was.
fn in_time(bounds: Bounds) -> Result<(), Unseen> {
    let after = Duration::ZERO;
    if Instant::now() < bounds.deadline { Ok(()) } else { Err(Unseen::TookTooLong { after }) }
}
