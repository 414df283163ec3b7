//! [`FilesAtStart`]: the hook files as the session has read them, compared with the disk while it runs.
//!
//! Hooks and rules are read once, at the start. A file that changes or vanishes afterwards changes
//! nothing for this session, but the user should know: perhaps the agent did it.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hookwright_config::ReadFile;

/// The hook files, as read.
pub(super) struct FilesAtStart {
    files: Vec<FileAtStart>,
}

struct FileAtStart {
    read: ReadFile,
    /// The state in which the disk had the same text as was read.
    same_at: Option<FileState>,
    is_reported: bool,
}

/// What is different after a file was written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl FilesAtStart {
    pub(super) fn new(files: &[ReadFile]) -> Self {
        let file =
            |read: &ReadFile| FileAtStart { read: read.clone(), same_at: None, is_reported: false };
        Self { files: files.iter().map(file).collect() }
    }

    /// What the user should know about files that are different now: one notice for each file.
    pub(super) fn notices(&mut self) -> Vec<String> {
        self.files.iter_mut().filter_map(FileAtStart::notice).collect()
    }
}

impl FileAtStart {
    fn notice(&mut self) -> Option<String> {
        if self.is_reported {
            return None;
        }
        let what = self.difference()?;
        self.is_reported = true;
        let name = self.read.file().shown_as.display();
        Some(format!(
            "{name} {what} during this session, which keeps the hooks and rules that it read at its \
             start; review the file before the next session"
        ))
    }

    /// Looks at the file's state first: reading it again is needed only if that is new.
    fn difference(&mut self) -> Option<&'static str> {
        let path: &Path = &self.read.file().path;
        let state = match fs::metadata(path) {
            Ok(metadata) => FileState::of(&metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => return Some("was removed"),
            Err(_) => return Some("has become unreadable"),
        };
        if self.same_at == Some(state) {
            return None;
        }
        if ReadFile::read(self.read.file()).text() != self.read.text() {
            return Some("was changed");
        }
        self.same_at = Some(state);
        None
    }
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
