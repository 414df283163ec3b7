//! All files of a session's folder, for copying them to another machine and back.

use super::open_folder::{FileStamp, OpenFolder, Read, is_unfinished_name};
use super::{FolderError, SessionFolder};
use crate::limits::{SESSION_FILES_MAX, SESSION_FOLDERS_DEPTH_MAX};

/// What is in a session's folder.
#[derive(Debug, Default)]
pub(crate) struct FolderContents {
    /// Paths from the session's folder, with `/` between names, and the state of each file.
    pub(crate) files: Vec<(String, FileStamp)>,
    /// How many entries were left out: links, pipes, names that are not UTF-8, and what is beyond
    /// the limits.
    pub(crate) left_out: usize,
}

impl SessionFolder {
    /// Lists all files. Nothing is read.
    pub(crate) fn contents(&self) -> Result<FolderContents, FolderError> {
        let mut contents = FolderContents::default();
        if let Some(folder) = self.open(&[])? {
            list(&folder, "", 0, &mut contents)?;
        }
        contents.files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(contents)
    }

    /// Reads a file that [`Self::contents`] has listed. `None` if it is gone or too big.
    pub(crate) fn read_file(
        &self,
        path: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, FolderError> {
        let (folders, name) = split(path);
        let Some(folder) = self.open(&folders)? else { return Ok(None) };
        match folder.read(name, bytes_max)? {
            Read::Whole(bytes) => Ok(Some(bytes)),
            Read::Missing | Read::TooBig { .. } | Read::NotAFile { .. } => Ok(None),
        }
    }

    /// Writes a file that another machine has listed.
    pub(crate) fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let (folders, name) = split(path);
        self.make(&folders)?.replace(name, bytes)
    }
}

/// Whether a path has only names that lead below the session's folder.
pub(crate) fn is_below(path: &str) -> bool {
    !path.is_empty()
        && path.split('/').all(|name| !matches!(name, "" | "." | "..") && !name.contains('\0'))
}

fn split(path: &str) -> (Vec<&str>, &str) {
    let mut names: Vec<&str> = path.split('/').collect();
    let name = names.pop().unwrap_or_default();
    (names, name)
}

fn list(
    folder: &OpenFolder,
    prefix: &str,
    depth: usize,
    contents: &mut FolderContents,
) -> Result<(), FolderError> {
    for name in folder.names()? {
        if name == "." || name == ".." {
            continue;
        }
        let Some(name) = name.to_str() else {
            contents.left_out += 1;
            continue;
        };
        if is_unfinished_name(name) {
            continue;
        }
        let path = format!("{prefix}{name}");
        match folder.stamp(name)? {
            Some(stamp) if stamp.is_folder() && depth < SESSION_FOLDERS_DEPTH_MAX => {
                // It may be gone, or replaced by a link.
                if let Ok(Some(inner)) = folder.enter(name) {
                    list(&inner, &format!("{path}/"), depth + 1, contents)?;
                }
            }
            Some(stamp) if stamp.is_file() && contents.files.len() < SESSION_FILES_MAX => {
                contents.files.push((path, stamp));
            }
            Some(_) => contents.left_out += 1,
            None => {}
        }
    }
    Ok(())
}
