//! [`Trust`]: which configuration files may run inside an agent.
//!
//! A file that was found, not named, is run there only after a person has looked at it
//! (`hookwright trust`). It is known by its [`place`] and by a digest of its content, so a file that
//! has changed has to be looked at again. The digest is taken of the text that is then loaded
//! ([`ReadFile`]), not of the file once more: who swaps the file in between gains nothing.
//!
//! Trust covers the file, not the scripts that it calls.
//!
//! | module | does |
//! |---|---|
//! | `file` | the trust file: read safely, changed by one at a time |
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

/// What the user trusts, as it was when it was read.
#[derive(Debug)]
pub(crate) struct Trust {
    records: Records,
    problem: Option<TrustError>,
}

/// How a file stands with the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A person has seen it as it is.
    Trusted,
    /// A person has seen it, but it was another text.
    Changed,
    /// Nobody has seen it.
    Unknown,
}

/// A file that may not run.
#[derive(Debug)]
pub(crate) struct Untrusted<'a> {
    pub(crate) read: &'a ReadFile,
    /// By what it is known.
    pub(crate) place: PathBuf,
    /// Changed or unknown.
    pub(crate) standing: Standing,
}

impl Trust {
    /// What this user trusts. Where that cannot be read it is nothing, and [`Trust::problem`] says why.
    pub(crate) fn of_user() -> Self {
        match UserFolders::current().own_state() {
            Some(folder) => Self::read(&folder),
            None => Self { records: Records::default(), problem: Some(TrustError::NoStateFolder) },
        }
    }

    /// The same, kept in this folder.
    pub(crate) fn read(state: &Path) -> Self {
        match file::read(state) {
            Ok(records) => Self { records, problem: None },
            Err(problem) => Self { records: Records::default(), problem: Some(problem) },
        }
    }

    /// Why nothing is trusted, if there is more to it than that nobody has said so.
    #[cfg_attr(not(test), expect(dead_code, reason = "for commands that run inside agents"))]
    pub(crate) fn problem(&self) -> Option<&TrustError> {
        self.problem.as_ref()
    }

    /// The same as a failure, for commands that cannot go on like this.
    pub(crate) fn or_problem(self) -> Result<Self, TrustError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self),
        }
    }

    /// How a file with this content stands.
    pub(crate) fn standing(&self, file: &ConfigFile, content: &[u8]) -> Standing {
        self.at(&place(&file.path), content)
    }

    /// Those of the files that are not trusted. One that cannot be read is not among them: it holds
    /// nothing that could run, and its fault blocks what can be blocked.
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

    /// Whether a file at this place is trusted, whatever it holds now.
    pub(crate) fn knows(&self, place: &Path) -> bool {
        self.records.find(place).is_some()
    }

    /// Everything that is trusted, by place.
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

/// Where a file is: its path as it was found, without `.` and `..`.
///
/// Links are not followed. Hooks run in the project in which their file was found, so a repository
/// whose hook file, or a folder on the way to it, is a link to one that is trusted elsewhere would
/// else have its own scripts run under that file's name. The folder that a search begins in is always
/// the real one, so a project that is reached through a link is still one project.
pub(crate) fn place(path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    // Behind a link `..` does not lead where its spelling says: the system is asked up to the last.
    let last_up = parts.iter().rposition(|part| *part == Component::ParentDir);
    let (up, down) = parts.split_at(last_up.map_or(0, |at| at + 1));
    let up: PathBuf = up.iter().collect();
    let mut place = fs::canonicalize(&up).unwrap_or(up);
    place.extend(down);
    place
}

/// Trusts files from now on: places, each with the digest of what somebody has seen there.
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

/// Forgets the files at these places, and returns those that were trusted.
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

/// Whether there is clearly nothing at a place any more.
pub(crate) fn is_gone(place: &Path) -> bool {
    file::is_gone(place)
}

/// The command by which a person trusts the files at these places.
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

/// The command by which a person takes trust back from the file at this place.
pub(crate) fn command_to_revoke(place: &Path) -> String {
    format!("hookwright trust --revoke {}", for_shell(&place.to_string_lossy()))
}

/// A word as a shell has to be given it. Every place is absolute, so none is taken for an option.
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
