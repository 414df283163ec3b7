//! [`TraceFolder`] and [`OpenTrace`]: the files of traces.
//!
//! A call of a known session costs four system calls: open, read the length, write, close. Only the
//! first call of a session does more: it writes the head and deletes old traces. Appending takes no
//! lock, since a write to the end of a local file is not interleaved with others.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hookwright_events::run_event::VERSION;
use hookwright_events::{RunEvent, SessionEvent};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::key::{EXTENSION, TraceKey};
use super::lines::note_line;
use crate::limits::{
    TRACE_AGE_MAX, TRACE_BYTES_MAX, TRACE_BYTES_READ_MAX, TRACE_ENTRIES_MAX, TRACE_FILES_MAX,
    TRACE_LINE_BYTES_MAX, TRACE_SESSION_CHARS_MAX, TRACES_BYTES_MAX,
};

/// The folder in the user's state.
const FOLDER: &str = "traces";

/// What the names of files begin with until they are complete.
const DRAFT: &str = ".draft-";

/// A draft of this age was left by a call that was killed.
const DRAFT_AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// The folder with the traces of a user.
#[derive(Debug, Clone)]
pub struct TraceFolder {
    path: PathBuf,
}

/// What the first line of a trace says about the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHead {
    /// The name of the agent's program, for people.
    #[serde(skip)]
    pub agent: String,
    /// The agent's own id of its session.
    pub agent_session: String,
    /// The root of the project.
    pub project: String,
    /// The time of the first call, ISO 8601 in UTC.
    #[serde(skip)]
    pub at: String,
    /// The number of lines of the session that are not in this file, but were before it.
    #[serde(default)]
    pub before: u64,
}

/// A session's trace, open for appending. Of a new session there is no file yet.
#[derive(Debug)]
pub struct OpenTrace {
    folder: TraceFolder,
    key: TraceKey,
    file: Option<File>,
    bytes: u64,
}

impl TraceHead {
    /// The head of a trace that begins now.
    pub fn new(agent: &str, agent_session: &str, project: String, at: String) -> Self {
        let agent_session = agent_session.chars().take(TRACE_SESSION_CHARS_MAX).collect();
        Self { agent: agent.to_owned(), agent_session, project, at, before: 0 }
    }

    fn line(&self, key: &TraceKey) -> io::Result<String> {
        let kind = SessionEvent::SessionStarted {
            plan: self.agent.clone(),
            stages: Vec::new(),
            sources: serde_json::to_value(self)?,
        };
        let (at, session) = (self.at.clone(), Some(key.name()));
        let event = RunEvent { version: VERSION, firing: 0, at, session, kind: kind.into() };
        Ok(format!("{}\n", serde_json::to_string(&event)?))
    }

    /// Reads the first line of a trace.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let event = RunEvent::from_json(line).ok()?;
        let hookwright_events::RunEventKind::Session(SessionEvent::SessionStarted {
            plan,
            sources,
            ..
        }) = event.kind
        else {
            return None;
        };
        let head: Self = serde_json::from_value(sources).ok()?;
        Some(Self { agent: plan, at: event.at, ..head })
    }
}

impl TraceFolder {
    /// The folder in this user's state.
    pub fn new(state: &Path) -> Self {
        Self { path: state.join(FOLDER) }
    }

    /// Opens the trace of a session.
    pub fn open(&self, key: TraceKey) -> io::Result<OpenTrace> {
        let (folder, path) = (self.clone(), self.file(&key));
        let file = match open_to_append(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(OpenTrace { folder, key, file: None, bytes: 0 });
            }
            Err(error) => return Err(error),
        };
        let bytes = regular_bytes(&file)?;
        Ok(OpenTrace { folder, key, file: Some(file), bytes })
    }

    /// Deletes a trace.
    pub fn remove(&self, key: &TraceKey) -> io::Result<()> {
        // The older half first: without the other one it would not be found again.
        for path in [self.path.join(key.old_file_name()), self.file(key)] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The traces in the folder, in no order.
    pub(super) fn keys(&self) -> io::Result<Vec<TraceKey>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.take(TRACE_ENTRIES_MAX).flatten().map(|entry| entry.file_name());
        let keys = names.filter_map(|name| TraceKey::from_file_name(name.to_str()?));
        Ok(keys.take(TRACE_FILES_MAX).collect())
    }

    pub(super) fn file(&self, key: &TraceKey) -> PathBuf {
        self.path.join(key.file_name())
    }

    /// The complete lines of a half; `None` if there is no such file.
    pub(super) fn read(&self, key: &TraceKey, half: TraceHalf) -> io::Result<Option<String>> {
        let path = match half {
            TraceHalf::Newer => self.file(key),
            TraceHalf::Older => self.path.join(key.old_file_name()),
        };
        let mut file = match open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        regular_bytes(&file)?;
        let mut bytes = Vec::new();
        (&mut file).take(TRACE_BYTES_READ_MAX).read_to_end(&mut bytes)?;
        // A line that is being written is not complete.
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(complete);
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(Some(text))
    }

    /// The first line of a trace; `None` if there is none.
    pub(super) fn read_head(&self, key: &TraceKey) -> Option<TraceHead> {
        let mut file = open_to_read(&self.file(key)).ok()?;
        regular_bytes(&file).ok()?;
        let mut bytes = Vec::new();
        (&mut file).take(TRACE_LINE_BYTES_MAX as u64).read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        TraceHead::parse(std::str::from_utf8(&bytes[..end]).ok()?)
    }

    /// Deletes the traces that are too many.
    fn remove_old(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        let now = SystemTime::now();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.take(TRACE_ENTRIES_MAX).flatten() {
            let name = entry.file_name();
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(changed) = metadata.modified() else { continue };
            let age = now.duration_since(changed).unwrap_or_default();
            if begins_with(&name, DRAFT) && age > DRAFT_AGE_MAX {
                let _ = fs::remove_file(entry.path());
            } else if ends_with(&name, EXTENSION) {
                files.push((changed, metadata.len(), entry.path()));
            }
        }
        files.sort_by(|a, b| b.cmp(a));
        let mut bytes = 0_u64;
        for (number, (changed, length, path)) in files.into_iter().enumerate() {
            bytes = bytes.saturating_add(length);
            let is_old = now.duration_since(changed).is_ok_and(|age| age > TRACE_AGE_MAX);
            if is_old || number >= TRACE_FILES_MAX || bytes > TRACES_BYTES_MAX {
                // Another call may have removed it.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn draft(&self) -> io::Result<tempfile::NamedTempFile> {
        tempfile::Builder::new().prefix(DRAFT).tempfile_in(&self.path)
    }
}

impl OpenTrace {
    /// Whether the session has a trace.
    pub fn exists(&self) -> bool {
        self.file.is_some()
    }

    /// A number above those of all firings that the file has.
    pub fn firings(&self) -> u64 {
        self.bytes
    }

    /// The name of the trace.
    pub fn name(&self) -> String {
        self.key.name()
    }

    /// Appends lines. `head` is written before them if they are the first.
    pub fn append(self, lines: &[u8], head: &TraceHead) -> io::Result<()> {
        let Self { folder, key, file, bytes } = self;
        let Some(mut file) = file else { return folder.begin(&key, lines, head) };
        if bytes + lines.len() as u64 <= TRACE_BYTES_MAX {
            return file.write_all(lines);
        }
        folder.begin_half(&key, file, lines, &head.at)
    }
}

impl TraceFolder {
    /// The first lines of a session. The file appears with its head, also if two calls begin at once.
    fn begin(&self, key: &TraceKey, lines: &[u8], head: &TraceHead) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        let mut draft = self.draft()?;
        draft.write_all(&[head.line(key)?.as_bytes(), lines].concat())?;
        match draft.persist_noclobber(self.file(key)) {
            Ok(_) => self.remove_old(),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                open_to_append(&self.file(key))?.write_all(lines)?;
            }
            Err(error) => return Err(error.error),
        }
        Ok(())
    }

    /// The file is full: it becomes the older half, and these lines begin a new one. The path always
    /// leads to a file, so other calls append before or after.
    fn begin_half(&self, key: &TraceKey, mut full: File, lines: &[u8], at: &str) -> io::Result<()> {
        let lock = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(flags())
            .open(self.path.join("lock"))?;
        // Another call does it now, so this one may exceed the limit.
        if lock.try_lock().is_err() {
            return full.write_all(lines);
        }
        let mut newest = open_to_append(&self.file(key))?;
        if regular_bytes(&newest)? + lines.len() as u64 <= TRACE_BYTES_MAX {
            // Another call has done it.
            return newest.write_all(lines);
        }
        let text = self.read(key, TraceHalf::Newer)?.unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let head = TraceHead::parse(first)
            .unwrap_or_else(|| TraceHead::new(key.agent(), "", String::new(), at.to_owned()));
        let before = head.before;
        let head = TraceHead { before: before + text.lines().count() as u64, ..head };
        let mut draft = self.draft()?;
        let note = (before > 0).then(|| {
            let note = format!("the first {before} entries are deleted: the trace is too long");
            note_line(note, &key.name(), at.to_owned())
        });
        let note = note.unwrap_or_default();
        draft.write_all(&[head.line(key)?.as_bytes(), note.as_bytes(), lines].concat())?;
        let (newer, older) = (self.file(key), self.path.join(key.old_file_name()));
        let second_name = self.path.join(format!("{DRAFT}{}", key.old_file_name()));
        match fs::hard_link(&newer, &second_name) {
            Ok(()) => fs::rename(&second_name, &older)?,
            // A file system without links. A call that finds no file now begins one.
            Err(_) => fs::rename(&newer, &older)?,
        }
        draft.persist(&newer).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Half of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceHalf {
    /// The one that grows.
    Newer,
    /// The one before it, if the trace is long.
    Older,
}

/// Something else than a file, like a pipe without a reader, must not keep a guard waiting.
fn flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed()
}

fn open_to_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).custom_flags(flags()).open(path)
}

fn open_to_read(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags()).open(path)
}

/// The length of a regular file.
fn regular_bytes(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return Ok(metadata.len());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

fn begins_with(name: &OsStr, text: &str) -> bool {
    name.as_encoded_bytes().starts_with(text.as_bytes())
}

fn ends_with(name: &OsStr, text: &str) -> bool {
    name.as_encoded_bytes().ends_with(text.as_bytes())
}

#[cfg(test)]
mod tests;
