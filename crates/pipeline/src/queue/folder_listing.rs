//! [`FolderListing`]: the names in a folder of issues and in those of their plans. No file is
//! opened.
//!
//! A listing is valid until the times of one of the folders change. So a session lists a folder
//! again only after a file was created, deleted or renamed.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::issue_folder::{IssueError, IssueFolder, below, number_of};
use crate::limits::{FOLDER_CHANGE_TICK, FOLDER_CHANGE_TICK_COARSE, ISSUES_MAX};

/// The content of a folder of issues when it was listed.
#[derive(Debug)]
pub(crate) struct FolderListing {
    files: BTreeMap<u64, Result<IssueFiles, IssueError>>,
    /// The folder itself and those of plans.
    folders: Vec<PathBuf>,
    /// The state of these folders; `None` if one of them may change without showing it.
    stamps: Option<Vec<Option<Stamp>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IssueFiles {
    /// The name of its own file.
    pub(crate) name: String,
    /// Its plan, relative to the root.
    pub(crate) plan_file: Option<String>,
}

impl FolderListing {
    pub(super) fn read(folder: &IssueFolder) -> Result<Self, IssueError> {
        let plan_folders = folder.plan_folders();
        let folders: Vec<PathBuf> = [folder.path()]
            .into_iter()
            .chain(plan_folders.iter().map(|at| folder.at(at)))
            .collect();
        let (began, before) = (SystemTime::now(), stamps(&folders));
        let mut plans = BTreeMap::new();
        for plan_folder in plan_folders {
            let path = folder.at(&plan_folder);
            if path.is_dir() {
                let found = numbered(&path, &plan_folder, &|_| Ok(()))?;
                plans.extend(found.into_iter().map(|(number, name)| {
                    let file = name.map(|name| format!("{plan_folder}/{name}"));
                    (number, file)
                }));
            }
        }
        let mut files = BTreeMap::new();
        for (number, name) in numbered(&folder.path(), folder.shown(), &is_a_file)? {
            let plan_file = plans.remove(&number).transpose();
            let of_issue = name.and_then(|name| Ok(IssueFiles { name, plan_file: plan_file? }));
            files.insert(number, of_issue);
        }
        let is_settled = before.iter().flatten().all(|stamp| stamp.is_settled(began));
        let stamps = Some(before).filter(|before| is_settled && *before == stamps(&folders));
        Ok(Self { files, folders, stamps })
    }

    /// Whether the folders are unchanged.
    pub(crate) fn is_current(&self) -> bool {
        self.stamps.as_ref().is_some_and(|before| *before == stamps(&self.folders))
    }

    /// The files of a valid issue.
    pub(crate) fn get(&self, number: u64) -> Option<&IssueFiles> {
        self.files.get(&number)?.as_ref().ok()
    }

    /// The numbers of the valid issues.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.files.iter().filter(|(_, files)| files.is_ok()).map(|(number, _)| *number)
    }

    /// The faults of the others.
    pub(crate) fn faults(&self) -> impl Iterator<Item = &IssueError> {
        self.files.values().filter_map(|files| files.as_ref().err())
    }

    /// All of them, in the order of their numbers.
    pub(super) fn into_files(self) -> impl Iterator<Item = Result<(u64, IssueFiles), IssueError>> {
        self.files.into_iter().map(|(number, files)| files.map(|files| (number, files)))
    }
}

/// The state of a folder. Every name that is added or removed sets both times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(folder: &Path) -> Option<Self> {
        let metadata = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Whether a change from now on gets another time.
    fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let tick = match nanoseconds {
            0 => FOLDER_CHANGE_TICK_COARSE,
            _ => FOLDER_CHANGE_TICK,
        };
        let since = |number: i64| u64::try_from(number).unwrap_or_default();
        let changed =
            Duration::from_secs(since(seconds)) + Duration::from_nanos(since(nanoseconds));
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        now.checked_sub(changed).is_some_and(|age| age > tick)
    }
}

fn stamps(folders: &[PathBuf]) -> Vec<Option<Stamp>> {
    folders.iter().map(|folder| Stamp::of(folder)).collect()
}

/// The files of a folder whose names begin with a number, by number, which must be unique.
fn numbered(
    path: &Path,
    shown: &str,
    check: &dyn Fn(&DirEntry) -> io::Result<()>,
) -> Result<BTreeMap<u64, Result<String, IssueError>>, IssueError> {
    let failed =
        |path: &str, cause: io::Error| IssueError::NotRead { path: path.to_owned(), cause };
    let mut names: Vec<(u64, String, io::Result<()>)> = Vec::new();
    for entry in path.read_dir().map_err(|cause| failed(shown, cause))? {
        let entry = entry.map_err(|cause| failed(shown, cause))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(number) = number_of(&name) else { continue };
        if names.len() >= ISSUES_MAX {
            return Err(IssueError::TooMany { folder: shown.to_owned() });
        }
        names.push((number, name, check(&entry)));
    }
    names.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    let mut found: BTreeMap<u64, Result<String, IssueError>> = BTreeMap::new();
    for (number, name, checked) in names {
        match found.get_mut(&number) {
            None => {
                let checked = checked.map_err(|cause| failed(&below(shown, &name), cause));
                found.insert(number, checked.map(|()| name));
            }
            Some(slot) => {
                if let Ok(first) = slot {
                    let (first, second) = (below(shown, first), below(shown, &name));
                    *slot = Err(IssueError::SameNumber { number, first, second });
                }
            }
        }
    }
    Ok(found)
}

/// Opening a named pipe would block until a process writes to it, and a folder has no text.
fn is_a_file(entry: &DirEntry) -> io::Result<()> {
    let mut kind = entry.file_type()?;
    if kind.is_symlink() {
        kind = fs::metadata(entry.path())?.file_type();
    }
    if kind.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    if kind.is_file() { Ok(()) } else { Err(io::Error::other("it is not a file")) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Instant;

    use super::*;

    fn folder() -> (tempfile::TempDir, IssueFolder) {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("issues")).expect("made");
        fs::write(root.path().join("issues/1-a.md"), "# A\n").expect("written");
        let issues = IssueFolder::new(root.path(), Path::new("issues"));
        (root, issues)
    }

    /// Lists a folder until its last change is old enough for a valid listing.
    fn settled(issues: &IssueFolder) -> FolderListing {
        let began = Instant::now();
        loop {
            let listing = issues.list().expect("listed");
            if listing.is_current() {
                return listing;
            }
            assert!(began.elapsed().as_secs() < 30, "it does not settle");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_listing_is_good_until_a_name_comes_or_goes() {
        let (root, issues) = folder();
        let at = |name: &str| root.path().join(name);
        let changes: [(&str, &dyn Fn()); 5] = [
            ("a new issue", &|| fs::write(at("issues/2-b.md"), "").expect("written")),
            ("one less", &|| fs::remove_file(at("issues/2-b.md")).expect("removed")),
            ("another name", &|| {
                fs::rename(at("issues/1-a.md"), at("issues/1-x.md")).expect("moved")
            }),
            ("plans beside it", &|| fs::create_dir(at("plans")).expect("made")),
            ("a plan", &|| fs::write(at("plans/1.md"), "").expect("written")),
        ];
        for (what, change) in changes {
            let listing = settled(&issues);
            assert!(listing.is_current(), "nothing happened before {what}");
            change();
            assert!(!listing.is_current(), "{what}");
        }
        let name = "1-x.md".to_owned();
        let plan_file = Some("plans/1.md".to_owned());
        assert_eq!(settled(&issues).get(1), Some(&IssueFiles { name, plan_file }));
    }

    #[test]
    fn another_text_of_an_issue_does_not_make_a_listing_old() {
        let (root, issues) = folder();
        let listing = settled(&issues);
        fs::write(root.path().join("issues/1-a.md"), "# Another\n").expect("written");
        assert!(listing.is_current());
    }

    #[test]
    fn a_folder_that_has_just_changed_is_listed_once_more() {
        let (root, issues) = folder();
        settled(&issues);
        fs::write(root.path().join("issues/2-b.md"), "").expect("written");
        // The next change might get the same time.
        assert!(!issues.list().expect("listed").is_current());
    }

    #[test]
    fn times_of_whole_seconds_take_longer_to_tell_a_change() {
        let stamp = |nanoseconds: i64| Stamp {
            device: 1,
            inode: 1,
            modified: (0, 0),
            changed: (1_000, nanoseconds),
        };
        let at = |milliseconds: u64| UNIX_EPOCH + Duration::from_millis(milliseconds);
        assert!(!stamp(0).is_settled(at(1_001_500)));
        assert!(stamp(0).is_settled(at(1_002_001)));
        assert!(!stamp(1).is_settled(at(1_000_050)));
        assert!(stamp(1).is_settled(at(1_000_101)));
        // The clock was set back, so the age is unknown.
        assert!(!stamp(1).is_settled(at(900_000)));
    }

    #[test]
    fn an_entry_that_is_not_a_file_is_a_fault_found_without_opening_it() {
        let (root, issues) = folder();
        fs::create_dir(root.path().join("issues/2-b.md")).expect("made");
        symlink("1-a.md", root.path().join("issues/3-c.md")).expect("linked");
        symlink("gone", root.path().join("issues/4-d.md")).expect("linked");
        let listing = issues.list().expect("listed");
        assert_eq!(listing.numbers().collect::<Vec<_>>(), [1, 3]);
        let faults: Vec<String> = listing.faults().map(ToString::to_string).collect();
        let expected = [
            "issues/2-b.md cannot be read: Is a directory (os error 21)",
            "issues/4-d.md cannot be read: No such file or directory (os error 2)",
        ];
        assert_eq!(faults, expected);
    }
}
