//! [`FileSession`]: what the file tools of one session share.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits::SEEN_FILES_MAX;
use crate::tool::Touches;
use crate::workspace::{Located, PathError, Workspace};

use super::{Input, ToolFailure, input};

/// What the file tools of one session share.
pub(super) struct FileSession {
    pub(super) workspace: Workspace,
    /// The content of each file when the model last saw it.
    seen: Mutex<HashMap<PathBuf, Fingerprint>>,
    hashing: RandomState,
    changing: Mutex<()>,
}

/// Tells contents apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    bytes: u64,
    hash: u64,
}

/// Works out a [`Fingerprint`] piece by piece.
pub(super) struct Fingerprinting {
    bytes: u64,
    hasher: <RandomState as BuildHasher>::Hasher,
}

impl Fingerprinting {
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.hasher.write(piece);
    }

    pub(super) fn finish(&self) -> Fingerprint {
        Fingerprint { bytes: self.bytes, hash: self.hasher.finish() }
    }
}

/// Whether the model knows what it would change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SeenState {
    AsItIs,
    Changed,
    Never,
}

impl FileSession {
    pub(super) fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            seen: Mutex::default(),
            hashing: RandomState::new(),
            changing: Mutex::default(),
        }
    }

    pub(super) fn fingerprinting(&self) -> Fingerprinting {
        Fingerprinting { bytes: 0, hasher: self.hashing.build_hasher() }
    }

    fn fingerprint(&self, content: &[u8]) -> Fingerprint {
        let mut fingerprinting = self.fingerprinting();
        fingerprinting.add(content);
        fingerprinting.finish()
    }

    /// The model has seen this content of the file, or has written it.
    pub(super) fn remember(&self, path: &Path, fingerprint: Fingerprint) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= SEEN_FILES_MAX && !seen.contains_key(path) {
            seen.clear();
        }
        seen.insert(path.to_owned(), fingerprint);
    }

    pub(super) fn remember_content(&self, path: &Path, content: &[u8]) {
        self.remember(path, self.fingerprint(content));
    }

    pub(super) fn seen(&self, path: &Path, content: &[u8]) -> SeenState {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(path) {
            Some(fingerprint) if *fingerprint == self.fingerprint(content) => SeenState::AsItIs,
            Some(_) => SeenState::Changed,
            None => SeenState::Never,
        }
    }

    /// One change at a time: two edits of one file in one answer must both be kept.
    pub(super) fn begin_change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a call would read; the workspace if it names no path.
    pub(super) fn would_read(&self, input: &Input, field: &str) -> Touches {
        match self.workspace.locate(input::text(input, field).unwrap_or(".")) {
            Ok(located) => Touches::Reads(located.path().to_owned()),
            Err(error) => Touches::Refused(error.to_string()),
        }
    }

    /// What a call would change.
    pub(super) fn would_change(&self, input: &Input, field: &str) -> Touches {
        match self.workspace.locate_for_change(input::text(input, field).unwrap_or_default()) {
            Ok(located) => Touches::Changes(located.path().to_owned()),
            Err(error) => Touches::Refused(error.to_string()),
        }
    }

    /// The place that a call reads, if it is the one that was judged.
    pub(super) fn to_read(&self, asked: &str, judged: &Touches) -> Result<Located, ToolFailure> {
        let located = self.workspace.locate(asked)?;
        match judged {
            Touches::Reads(path) if path == located.path() => Ok(located),
            _ => Err(PathError::Moved { path: located.path().to_owned() }.into()),
        }
    }

    /// The place that a call changes, if it is the one that was judged.
    pub(super) fn to_change(&self, asked: &str, judged: &Touches) -> Result<Located, ToolFailure> {
        let located = self.workspace.locate_for_change(asked)?;
        match judged {
            Touches::Changes(path) if path == located.path() => Ok(located),
            _ => Err(PathError::Moved { path: located.path().to_owned() }.into()),
        }
    }

    /// A path as the model reads it: below the workspace without the workspace, on one line.
    pub(super) fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.workspace.root()).unwrap_or(path);
        on_one_line(&path.to_string_lossy())
    }
}

/// A file name may contain line breaks, and could otherwise pretend to be several.
fn on_one_line(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}
