//! [`SessionMemory`]: what an agent's session remembers between calls.
//!
//! Every call is a separate process, so each session has a small file in the user's state folder
//! (`agents/`). Reading costs one attempt to open a file; a call writes only news. If a file cannot
//! be written, its content is forgotten, as [`Memory`] says: a hook must not fail for it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::future::ready;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hookwright_engine::Answer;
use hookwright_engine::ports::{Keepsake, Memory, Promise, Remembered, StopBlocks};
use hookwright_engine::variables::Carried;
use serde::{Deserialize, Serialize};

use super::limits::{
    GUARDING_FILES_MAX, MEMORY_AGE_MAX, MEMORY_BYTES_MAX, MEMORY_FILES_MAX, TOLD_MAX,
};
use crate::file_lock;
use crate::trust::{Sha256, place_from_text, place_to_text};

/// The folder in the user's state.
const FOLDER: &str = "agents";

/// The version of the files.
const VERSION: u32 = 1;

/// The memory of one agent's sessions.
pub(super) struct SessionMemory {
    /// The agent; two agents may use the same session id.
    agent: &'static str,
    /// `None` if the user has no state folder.
    folder: Option<PathBuf>,
    /// Whether this event can deliver the output of background hooks; otherwise it waits.
    hands_out: bool,
    /// The content when it was last read: most of what a call adds is already there.
    known: Mutex<SessionKept>,
}

/// Content of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct SessionKept {
    version: u32,
    #[serde(default)]
    once: Vec<String>,
    #[serde(default)]
    last_hook_status: Option<String>,
    #[serde(default)]
    blocked_stops: StopBlocks,
    #[serde(default)]
    late_answers: Vec<Answer>,
    /// Trusted files whose hooks guarded the session, as paths in the trust file's form.
    #[serde(default)]
    files: Vec<String>,
    /// Digests of notices that were shown.
    #[serde(default)]
    told: Vec<String>,
}

impl SessionMemory {
    /// The memory of this agent's sessions, below the user's state folder.
    pub(super) fn new(agent: &'static str, state: Option<PathBuf>) -> Self {
        let folder = state.map(|state| state.join(FOLDER));
        Self { agent, folder, hands_out: true, known: Mutex::default() }
    }

    /// Sets whether the output of background hooks is delivered, which needs an event with a
    /// reader.
    pub(super) fn handing_out(self, hands_out: bool) -> Self {
        Self { hands_out, ..self }
    }

    /// The notices that were not shown in this session yet; marks them as shown.
    pub(super) fn untold(&self, session: &str, notices: Vec<String>) -> Vec<String> {
        let digest = |notice: &String| Sha256::digest(notice.as_bytes()).to_hex()[..16].to_owned();
        let Some(file) = self.file(session).filter(|_| !notices.is_empty()) else { return notices };
        let kept = read(&file);
        let is_new = |notice: &String| !kept.told.contains(&digest(notice));
        let new: Vec<String> = notices.into_iter().filter(is_new).collect();
        if !new.is_empty() {
            self.change(session, |kept| {
                kept.told.extend(new.iter().map(digest));
                let too_many = kept.told.len().saturating_sub(TOLD_MAX);
                kept.told.drain(..too_many);
            });
        }
        new
    }

    /// The trusted files of this session's hooks.
    pub(super) fn files(&self, session: &str) -> Vec<PathBuf> {
        let Some(file) = self.file(session) else { return Vec::new() };
        read(&file).files.iter().filter_map(|text| place_from_text(text)).collect()
    }

    /// Remembers the trusted files of this session's hooks.
    pub(super) fn remember_files(&self, session: &str, places: &[PathBuf]) {
        self.change(session, |kept| {
            for text in places.iter().map(|place| place_to_text(place)) {
                if !kept.files.contains(&text) && kept.files.len() < GUARDING_FILES_MAX {
                    kept.files.push(text);
                }
            }
        });
    }

    fn file(&self, session: &str) -> Option<PathBuf> {
        // Sessions without a name have nothing in common.
        let folder = self.folder.as_ref().filter(|_| !session.is_empty())?;
        let digest = Sha256::digest(session.as_bytes()).to_hex();
        Some(folder.join(format!("{}-{}.json", self.agent, &digest[..32])))
    }

    fn known(&self) -> MutexGuard<'_, SessionKept> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recalled(&self, session: &str) -> Remembered {
        let Some(file) = self.file(session) else { return Remembered::default() };
        let mut kept = read(&file);
        let is_late = !kept.late_answers.is_empty();
        kept.late_answers.clear();
        if is_late && self.hands_out {
            // Only one of several concurrent calls may deliver them, so they are taken under the
            // lock.
            let mut taken = Vec::new();
            self.change(session, |kept| taken = std::mem::take(&mut kept.late_answers));
            kept.late_answers = taken;
        }
        let remembered = kept.remembered();
        kept.late_answers.clear();
        *self.known() = kept;
        remembered
    }

    /// Keeps one thing, if it is news.
    pub(super) fn keep_now(&self, session: &str, keepsake: Keepsake) {
        let mut changed = self.known().clone();
        changed.keep(keepsake.clone());
        if changed == *self.known() {
            return;
        }
        self.change(session, |kept| kept.keep(keepsake));
        changed.late_answers.clear();
        *self.known() = changed;
    }

    /// Changes the file under a lock.
    fn change(&self, session: &str, change: impl FnOnce(&mut SessionKept)) {
        let (Some(folder), Some(file)) = (&self.folder, self.file(session)) else { return };
        let changed = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let _lock = file_lock::lock(&folder.join("lock"))?;
            let is_new = !file.exists();
            let mut kept = read(&file);
            change(&mut kept);
            replace(&file, &kept.written()?)?;
            if is_new {
                remove_old(folder);
            }
            Ok(())
        };
        // A call continues even if nothing can be written.
        let _ = changed();
    }
}

impl Memory for SessionMemory {
    fn recall<'a>(&'a self, session: &'a str) -> Promise<'a, Remembered> {
        Box::pin(ready(self.recalled(session)))
    }

    fn keep<'a>(&'a self, session: &'a str, keepsake: Keepsake) -> Promise<'a, ()> {
        self.keep_now(session, keepsake);
        Box::pin(ready(()))
    }
}

impl SessionKept {
    fn remembered(&self) -> Remembered {
        let last_hook_status = self.last_hook_status.clone().map(Into::into);
        Remembered {
            once: self.once.clone(),
            carried: Carried { last_hook_status, ..Carried::default() },
            stop_blocks: self.blocked_stops.clone(),
            late_answers: self.late_answers.clone(),
        }
    }

    fn keep(&mut self, keepsake: Keepsake) {
        let mut remembered = self.remembered();
        remembered.keep(keepsake);
        let Remembered { once, carried, stop_blocks, late_answers } = remembered;
        self.once = once;
        self.last_hook_status = carried.last_hook_status.map(Into::into);
        self.blocked_stops = stop_blocks;
        self.late_answers = late_answers;
    }

    fn written(&mut self) -> io::Result<Vec<u8>> {
        self.version = VERSION;
        loop {
            let bytes = serde_json::to_vec(self)?;
            if bytes.len() <= MEMORY_BYTES_MAX {
                return Ok(bytes);
            }
            if self.late_answers.is_empty() {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            // The oldest half: what an agent has not read by then is of no use to it.
            self.late_answers.drain(..self.late_answers.len().div_ceil(2));
        }
    }
}

/// The file's content; empty if it is missing or unreadable.
fn read(file: &Path) -> SessionKept {
    let bytes = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(file)?.take(MEMORY_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let kept = bytes().ok().and_then(|bytes| serde_json::from_slice::<SessionKept>(&bytes).ok());
    kept.filter(|kept| kept.version == VERSION).unwrap_or_default()
}

/// Replaces a file atomically.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = file.with_extension("new");
    let mut new =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    new.write_all(bytes)?;
    fs::rename(&draft, file)
}

/// Removes the files of sessions that ended long ago.
fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten().take(MEMORY_FILES_MAX) {
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = age.and_then(|modified| now.duration_since(modified).ok());
        let is_one = entry.path().extension().is_some();
        if is_one && age.is_some_and(|age| age > MEMORY_AGE_MAX) {
            // Another call may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
