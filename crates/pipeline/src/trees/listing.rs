//! [`WorkListing`]: what differs in the work tree from the agent's index, and whether it has changed
//! since the last look.
//!
//! The index and the listed files are compared by size and times, and a change within one tick of
//! the clock leaves the same times. So a look at files that changed just before is not relied on.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::TreeError;
use super::head::HeadState;
use super::repository::Repositories;
use crate::limits::{FOLDER_CHANGE_TICK, TREE_BYTES_MAX, TREE_FILES_MAX};

const KEEPING: &str = "save the work tree";
const LISTING: &str = "list the files of the work tree";

/// The folder whose files go into the session store.
const SESSIONS: &[u8] = b".hookwright/sessions/";

/// What differs from the agent's index.
pub(super) struct WorkListing {
    /// Changed, new and deleted files and submodules, relative to the work tree.
    pub(super) files: Vec<Vec<u8>>,
    /// Repositories within the work tree.
    pub(super) nested: Vec<Vec<u8>>,
    /// Those of them that are submodules whose commit has changed.
    pub(super) submodules: Vec<Vec<u8>>,
    /// Identifies the state of all of it; `None` if it is too new.
    pub(super) print: Option<WorkPrint>,
}

/// Identifies the state of a work tree, as long as no file keeps size and times though it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkPrint {
    head: HeadState,
    index: Option<FileTimes>,
    listed: Vec<(Vec<u8>, Option<FileTimes>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileTimes {
    device: u64,
    inode: u64,
    mode: u32,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl WorkListing {
    /// Compares the work tree with the agent's index, which git reads from this file.
    pub(super) async fn read(
        at: &Repositories,
        readable_index: &Path,
        head: &HeadState,
    ) -> Result<Self, TreeError> {
        let arguments =
            ["ls-files", "--modified", "--deleted", "--others", "--exclude-standard", "-z"];
        let index = at.agents_index();
        let indexed = FileTimes::read(&index);
        let printed = at.files(LISTING, readable_index, &arguments).done().await?;
        let mut listed: Vec<Vec<u8>> = printed
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty() && !is_of_sessions(path))
            .map(<[u8]>::to_vec)
            .collect();
        listed.sort_unstable();
        listed.dedup();
        if listed.len() > TREE_FILES_MAX {
            let said = format!(
                "{} files differ from the last commit; the limit is {TREE_FILES_MAX}",
                listed.len()
            );
            return Err(TreeError::Failed { doing: KEEPING, said });
        }
        let root = at.work_tree().to_owned();
        let sorting = tokio::task::spawn_blocking(move || sorted(&root, listed));
        let sorted = sorting
            .await
            .map_err(|error| TreeError::Failed { doing: LISTING, said: error.to_string() })?;
        let Sorted { files, nested, submodules, times, is_settled } = sorted;
        check_size(&times)?;
        let print = is_settled
            .then(|| WorkPrint { head: head.clone(), index: indexed, listed: times })
            .filter(|_| indexed == FileTimes::read(&index));
        Ok(Self { files, nested, submodules, print })
    }
}

struct Sorted {
    files: Vec<Vec<u8>>,
    nested: Vec<Vec<u8>>,
    submodules: Vec<Vec<u8>>,
    times: Vec<(Vec<u8>, Option<FileTimes>)>,
    is_settled: bool,
}

fn sorted(root: &Path, listed: Vec<Vec<u8>>) -> Sorted {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled = now.saturating_sub(FOLDER_CHANGE_TICK);
    let settled = (settled.as_secs().cast_signed(), i64::from(settled.subsec_nanos()));
    let mut sorted = Sorted {
        files: Vec::new(),
        nested: Vec::new(),
        submodules: Vec::new(),
        times: Vec::new(),
        is_settled: true,
    };
    for path in listed {
        let place = root.join(OsStr::from_bytes(&path));
        let times = FileTimes::read(&place);
        sorted.is_settled &= times.is_none_or(|times| times.changed < settled);
        sorted.times.push((path.clone(), times));
        match (path.strip_suffix(b"/"), times) {
            (Some(folder), _) => sorted.nested.push(folder.to_vec()),
            (None, times) => {
                // Otherwise a folder has replaced a file.
                if times.is_some_and(FileTimes::is_folder) && place.join(".git").exists() {
                    sorted.submodules.push(path.clone());
                }
                sorted.files.push(path);
            }
        }
    }
    sorted
}

/// Refuses more than a worker stores, before git reads any of it.
fn check_size(times: &[(Vec<u8>, Option<FileTimes>)]) -> Result<(), TreeError> {
    let sizes = times.iter().filter_map(|(path, times)| Some((path, times.as_ref()?.bytes)));
    let bytes = sizes.clone().map(|(_, bytes)| bytes).fold(0, u64::saturating_add);
    if bytes <= TREE_BYTES_MAX {
        return Ok(());
    }
    let biggest = sizes.max_by_key(|(_, bytes)| *bytes).map(|(path, _)| path.as_slice());
    let said = format!(
        "new and changed files have {bytes} bytes, and at most {TREE_BYTES_MAX} are kept; the biggest \
         is `{}`: let git ignore what the next machine does not need",
        String::from_utf8_lossy(biggest.unwrap_or_default())
    );
    Err(TreeError::Failed { doing: KEEPING, said })
}

/// Whether it is a file of a session's folder: these are kept with the session.
fn is_of_sessions(path: &[u8]) -> bool {
    path.starts_with(SESSIONS)
        || path.windows(SESSIONS.len() + 1).any(|part| part[0] == b'/' && &part[1..] == SESSIONS)
}

impl FileTimes {
    fn read(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            mode: found.mode(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    fn is_folder(self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}
