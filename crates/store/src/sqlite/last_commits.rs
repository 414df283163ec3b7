//! [`LastCommits`]: a small file beside the store that describes the last commits, so that the
//! store notices when it has lost them.
//!
//! SQLite treats a removed, truncated or garbled log as the end of the data, and continues there.
//! Only the newest commits get lost that way, so it is enough to know the very last one; those of
//! other sessions are kept to say what else is gone. A note is written after its commit and never
//! synced: it may be older than the store, which does not count as a loss.

use std::cell::OnceCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension};

use super::failure::SqliteFailure;
use super::read::last_of;
use crate::{JournalKey, Loss};

/// Notes in the file. The first is for commits without a journal; journals share the others.
const NOTES: u64 = 64;
const NOTE_BYTES: usize = 512;
const MAGIC: &[u8; 4] = b"HwLC";

/// Offset and maximum length of a note's names; longer names are cut.
const NAMES_AT: usize = 44;
const PROJECT_BYTES_MAX: usize = 320;
const SESSION_BYTES_MAX: usize = NOTE_BYTES - NAMES_AT - PROJECT_BYTES_MAX;

/// The file. The first commit creates it; the store works without it.
#[derive(Debug)]
pub(super) struct LastCommits {
    path: PathBuf,
    /// `None` if it is not writable.
    file: OnceCell<Option<File>>,
}

/// A note about one commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Note {
    /// Time of the commit, in nanoseconds since 1970.
    at: u64,
    /// The id of the journal that was appended to; 0 without an append.
    journal: i64,
    /// Last entry of that journal.
    last: u64,
    /// The store's counter after the commit, or 0 if the commit did not use it.
    revision: u64,
    project: String,
    session: String,
}

impl Note {
    /// A note about a commit, with the journal that it appended to, if any.
    pub(super) fn new(journal: Option<(i64, &JournalKey)>, last: u64, revision: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let (id, project, session) = match journal {
            Some((id, key)) => (id, key.project.clone(), key.session.clone()),
            None => (0, String::new(), String::new()),
        };
        Self { at, journal: id, last, revision, project, session }
    }

    fn place(&self) -> u64 {
        let number = match self.journal {
            0 => 0,
            id => 1 + id.unsigned_abs() % (NOTES - 1),
        };
        number * NOTE_BYTES as u64
    }

    fn to_bytes(&self) -> [u8; NOTE_BYTES] {
        let mut bytes = [0; NOTE_BYTES];
        bytes[4..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.at.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.journal.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.last.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.revision.to_le_bytes());
        let project = cut(&self.project, PROJECT_BYTES_MAX);
        let session = cut(&self.session, SESSION_BYTES_MAX);
        for (at, name) in [(40, project), (42, session)] {
            let length = u16::try_from(name.len()).unwrap_or_default();
            bytes[at..at + 2].copy_from_slice(&length.to_le_bytes());
        }
        let names = [project, session].concat();
        bytes[NAMES_AT..NAMES_AT + names.len()].copy_from_slice(names.as_bytes());
        let sum = checksum(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// `None` for an empty slot, or one that a crash of the machine left incomplete.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let length = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let sum = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        if bytes.get(4..8)? != MAGIC || checksum(&bytes[4..]) != sum {
            return None;
        }
        let middle = NAMES_AT + usize::from(length(40)?);
        let text = |range| Some(std::str::from_utf8(bytes.get(range)?).ok()?.to_owned());
        Some(Self {
            at: number(8)?,
            journal: number(16)?.cast_signed(),
            last: number(24)?,
            revision: number(32)?,
            project: text(NAMES_AT..middle)?,
            session: text(middle..middle + usize::from(length(42)?))?,
        })
    }
}

impl LastCommits {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), file: OnceCell::new() }
    }

    /// Writes the note of a finished commit.
    pub(super) fn note(&self, note: &Note) {
        // A commit that only deletes leaves nothing that could be missing, and its note would
        // replace others.
        if note.journal == 0 && note.revision == 0 {
            return;
        }
        if let Some(file) = self.file() {
            // On an error a loss may go unnoticed; nothing else breaks.
            let _ = file.write_all_at(&note.to_bytes(), note.place());
        }
    }

    /// Deletes all notes, so that a loss is reported once.
    pub(super) fn forget(&self) {
        if let Some(file) = self.file() {
            let _ = file.set_len(0);
        }
    }

    fn file(&self) -> Option<&File> {
        let open = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600).open(&self.path).ok()
        };
        self.file.get_or_init(open).as_ref()
    }
}

/// The notes in a file. Read them before the store, because commits continue meanwhile.
pub(super) fn read(path: &Path) -> Vec<Note> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(NOTES * NOTE_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_default().chunks(NOTE_BYTES).filter_map(Note::from_bytes).collect()
}

/// Noted commits that the store does not have.
pub(super) fn losses(connection: &Connection, notes: &[Note]) -> Result<Vec<Loss>, SqliteFailure> {
    // Usually the newest commit is there, and therefore all others.
    let Some(newest) = notes.iter().max_by_key(|note| note.at) else { return Ok(Vec::new()) };
    if loss(connection, newest)?.is_none() {
        return Ok(Vec::new());
    }
    let mut losses = Vec::new();
    for note in notes {
        losses.extend(loss(connection, note)?);
    }
    Ok(losses)
}

fn loss(connection: &Connection, note: &Note) -> Result<Option<Loss>, SqliteFailure> {
    if note.journal != 0
        && let Some(has) = entries_left(connection, note.journal)?
        && has < note.last
    {
        let (project, session) = (note.project.clone(), note.session.clone());
        return Ok(Some(Loss::Entries { project, session, had: note.last, has }));
    }
    let revision: u64 =
        connection.query_row("SELECT revision FROM counter", [], |row| row.get(0))?;
    Ok((revision < note.revision).then_some(Loss::Records))
}

/// The last entry of a journal; `None` if it was dropped on purpose.
fn entries_left(connection: &Connection, journal: i64) -> Result<Option<u64>, SqliteFailure> {
    let id = |sql: &str| {
        let found: Option<i64> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
        Ok::<_, SqliteFailure>(found.unwrap_or_default())
    };
    if id(&format!("SELECT id FROM journals WHERE id = {journal}"))? == journal {
        return last_of(connection, journal).map(Some);
    }
    // Ids are never reused: a missing id below the last one was dropped.
    let last_given = id("SELECT seq FROM sqlite_sequence WHERE name = 'journals'")?;
    Ok(if journal <= last_given { None } else { Some(0) })
}

/// The beginning of a text, at most this many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// FNV-1a, as all versions of this program compute it.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_a_torn_one_is_none() {
        let key = JournalKey { project: "/a b".into(), session: "calm-fox".into() };
        let note = Note::new(Some((7, &key)), 12, 3);
        let mut bytes = note.to_bytes();
        assert_eq!(Note::from_bytes(&bytes), Some(note));
        bytes[20] ^= 1;
        assert_eq!(Note::from_bytes(&bytes), None);
        assert_eq!(Note::from_bytes(&[0; NOTE_BYTES]), None);
        assert_eq!(Note::from_bytes(&[]), None);
    }

    #[test]
    fn long_names_are_cut_and_fit() {
        let key = JournalKey { project: "ä".repeat(10_000), session: "ö".repeat(512) };
        let note = Note::from_bytes(&Note::new(Some((7, &key)), 12, 3).to_bytes()).unwrap();
        assert_eq!(note.project, "ä".repeat(PROJECT_BYTES_MAX / 2));
        assert_eq!(note.session, "ö".repeat(SESSION_BYTES_MAX / 2));
    }
}
