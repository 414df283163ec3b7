//! [`Trust`]: which configuration files may run inside an agent.
//!
//! A file that was found, not named, runs there only after a person has reviewed it (`hookwright
//! trust`). It is identified by its [`place`] and a digest of its content, so a changed file has to
//! be reviewed again. The digest is of the text that is then loaded ([`ReadFile`]), not of a second
//! read: swapping the file in between gains nothing.
//!
//! Trust covers the file, not the scripts that it calls.
//!
//! | module | does |
//! |---|---|
//! | `file` | reads the trust file safely, and changes it under a lock |
//! | `record` | its text |
//! | `sha256` | digests |

mod file;
mod limits;
mod record;
mod sha256;

use std::fs;
use std::path::{Component, Path, PathBuf};

use hookwright_config::{ConfigFile, ReadFile};
use hookwright_engine::ports::Clock;
use hookwright_engine::ports::memory::SystemClock;

pub(crate) use self::file::TrustError;
use self::record::Records;
pub(crate) use self::record::{Record, escaped as place_to_text, unescaped as place_from_text};
pub(crate) use self::sha256::Sha256;
use crate::user_folders::UserFolders;

/// The user's trusted files, as of when they were read.
#[derive(Debug)]
pub(crate) struct Trust {
    records: Records,
    problem: Option<TrustError>,
}

/// Whether a file is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A person has reviewed this content.
    Trusted,
    /// A person has reviewed the file, but with other content.
    Changed,
    /// Not reviewed.
    Unknown,
}

/// A file that may not run.
#[derive(Debug)]
pub(crate) struct Untrusted<'a> {
    pub(crate) read: &'a ReadFile,
    /// Its path in the trust file.
    pub(crate) place: PathBuf,
    /// Changed or unknown.
    pub(crate) standing: Standing,
}

impl Trust {
    /// The user's trusted files. If they cannot be read, nothing is trusted, and
    /// [`Trust::or_problem`] says why.
    pub(crate) fn of_user() -> Self {
        match UserFolders::current().own_state() {
            Some(folder) => Self::read(&folder),
            None => Self { records: Records::default(), problem: Some(TrustError::NoStateFolder) },
        }
    }

    /// The same from this folder.
    pub(crate) fn read(state: &Path) -> Self {
        match file::read(state) {
            Ok(records) => Self { records, problem: None },
            Err(problem) => Self { records: Records::default(), problem: Some(problem) },
        }
    }

    /// The same, or an error if the trust file could not be read.
    pub(crate) fn or_problem(self) -> Result<Self, TrustError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self),
        }
    }

    /// Whether a file with this content is trusted.
    pub(crate) fn standing(&self, file: &ConfigFile, content: &[u8]) -> Standing {
        self.standing_at(&file.path, content)
    }

    /// Whether a file that was found at this path is trusted with this content.
    pub(crate) fn standing_at(&self, path: &Path, content: &[u8]) -> Standing {
        self.at(&place(path), content)
    }

    /// The untrusted files. An unreadable one is not among them: it has nothing that could run, and
    /// its fault blocks what can be blocked.
    pub(crate) fn untrusted<'a>(
        &self,
        files: impl IntoIterator<Item = &'a ReadFile>,
    ) -> Vec<Untrusted<'a>> {
        let judged = files.into_iter().filter_map(|read| {
            let place = place(&read.file().path);
            let standing = self.at(&place, read.text()?.as_bytes());
            Some(Untrusted { read, place, standing })
        });
        judged.filter(|file| file.standing != Standing::Trusted).collect()
    }

    /// Whether a file at this place is trusted, with whatever content.
    pub(crate) fn knows(&self, place: &Path) -> bool {
        self.records.find(place).is_some()
    }

    /// All trusted files, by place.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.records.all()
    }

    fn at(&self, place: &Path, content: &[u8]) -> Standing {
        match self.records.find(place) {
            None => Standing::Unknown,
            Some(seen) if seen == Sha256::digest(content) => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }
}

/// The place of a file: its path as found, without `.` and `..`.
///
/// Links are not followed. Hooks run in the project in which their file was found. If a
/// repository's hook file, or a folder on the way to it, were a link to a file that is trusted
/// elsewhere, its own scripts would run under that file's trust. A search always begins in the real
/// folder, so a project that is reached through a link is still one project.
pub(crate) fn place(path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    // After a link `..` does not lead where its spelling says, so the system resolves the path up
    // to the last one.
    let last_up = parts.iter().rposition(|part| *part == Component::ParentDir);
    let (up, down) = parts.split_at(last_up.map_or(0, |at| at + 1));
    let up: PathBuf = up.iter().collect();
    let mut place = fs::canonicalize(&up).unwrap_or(up);
    place.extend(down);
    place
}

/// Trusts files: places, each with the digest of the reviewed content.
pub(crate) fn add(state: &Path, files: &[(PathBuf, Sha256)]) -> Result<(), TrustError> {
    let now = SystemClock.now();
    // Without the fraction of a second: `2026-01-02T03:04:05`.
    let since = format!("{}Z", now.get(..19).unwrap_or_default());
    file::change(state, |records| {
        for (place, sha256) in files {
            records.retain(|record| record.place != *place);
            records.push(Record { place: place.clone(), sha256: *sha256, since: since.clone() });
        }
        records.sort_by(|a, b| a.place.cmp(&b.place));
    })
}

/// Removes the trust of these places, and returns those that were trusted.
pub(crate) fn forget(state: &Path, places: &[PathBuf]) -> Result<Vec<PathBuf>, TrustError> {
    let mut forgotten = Vec::new();
    file::change(state, |records| {
        records.retain(|record| {
            let stays = !places.contains(&record.place);
            if !stays {
                forgotten.push(record.place.clone());
            }
            stays
        });
    })?;
    Ok(forgotten)
}

/// Whether a place certainly has no file any more.
pub(crate) fn is_gone(place: &Path) -> bool {
    file::is_gone(place)
}

/// The command that trusts the files at these places.
pub(crate) fn command_to_type<'a>(
    places: impl IntoIterator<Item = &'a Path>,
    without_asking: bool,
) -> String {
    let mut command = String::from("hookwright trust");
    if without_asking {
        command.push_str(" --yes");
    }
    for place in places {
        command.push(' ');
        command.push_str(&for_shell(&place.to_string_lossy()));
    }
    command
}

/// The command that revokes the trust of this place.
pub(crate) fn command_to_revoke(place: &Path) -> String {
    format!("hookwright trust --revoke {}", for_shell(&place.to_string_lossy()))
}

/// A word quoted for a shell. Every place is absolute, so none looks like an option.
fn for_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@%".contains(letter);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
