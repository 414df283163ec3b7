//! [`TreeLock`]: held by the process that uses a work tree. What a killed process has left can so be
//! told from what is in use, and is removed when a worker joins.
//!
//! The lock's file is made before the work tree and removed after it. A folder without one was not
//! made by a worker, and is left alone.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::repository::file;
use super::{TreeError, WorkFolder, WorkFolderError, WorkPlace};

/// How long a session waits for the lock: longer than removing a work tree takes.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The content of a lock's file.
const MARK: &[u8] = b"a work tree of hookwright\n";

/// The lock of a work tree, until it is dropped.
#[derive(Debug)]
pub struct TreeLock {
    path: PathBuf,
    file: File,
}

/// The lock of a local store of git objects, until it is dropped. While a session has it, no objects
/// are deleted.
#[derive(Debug)]
pub struct StoreLock {
    _file: File,
}

impl TreeLock {
    /// Takes the lock of a place whose folder was made. An older process of the same session may
    /// stand still and hold it; the session then goes on without, as that process is fenced.
    pub fn take(place: &WorkPlace) -> io::Result<Option<Self>> {
        let began = Instant::now();
        loop {
            if let Some(mut lock) = try_lock(&place.lock, Missing::Make)? {
                lock.mark()?;
                return Ok(Some(lock));
            }
            if began.elapsed() > WAIT_MAX {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Removes the work tree of this place, and then the lock's file. The lock is held until both are
    /// gone, so that no session begins meanwhile.
    pub fn remove_with(self, place: &WorkPlace) -> Result<(), TreeError> {
        place.remove()?;
        fs::remove_file(&self.path).map_err(|error| file("remove", &self.path, &error))
    }

    /// Notes in the file that a worker has made it.
    fn mark(&mut self) -> io::Result<()> {
        match self.file.metadata()?.len() {
            0 => self.file.write_all(MARK),
            _ => Ok(()),
        }
    }

    /// Whether a worker of this user has made the file.
    fn is_marked(&mut self) -> io::Result<bool> {
        let owner = self.file.metadata()?.uid();
        let mut found = Vec::new();
        (&mut self.file).take(MARK.len() as u64 + 1).read_to_end(&mut found)?;
        Ok(found == MARK && owner == rustix::process::geteuid().as_raw())
    }
}

impl StoreLock {
    /// For a session, beside others. Waits while a worker cleans the store.
    pub fn shared(place: &WorkPlace) -> io::Result<Self> {
        let file = Self::open(place)?;
        let began = Instant::now();
        loop {
            match file.try_lock_shared() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if began.elapsed() <= WAIT_MAX => {}
                Err(error) => return Err(error.into()),
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// For a worker that cleans the store; `None` if sessions use it.
    pub(super) fn alone(place: &WorkPlace) -> io::Result<Option<Self>> {
        let file = Self::open(place)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(cause),
        }
    }

    /// The file beside the store. It stays.
    fn open(place: &WorkPlace) -> io::Result<File> {
        open_file(&place.store.with_extension("lock"), Missing::Make)
    }
}

/// Removes the work trees below a worker's folder that no process uses. Returns how many it has
/// removed. What cannot be removed is left, and so is what no worker has made.
pub fn remove_unused_trees(folder: &WorkFolder) -> Result<usize, WorkFolderError> {
    if !folder.check()? {
        return Ok(0);
    }
    let trees = folder.path().join(WorkPlace::TREES);
    let Ok(entries) = fs::read_dir(trees) else { return Ok(0) };
    let names = entries.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let unused = |name: &PathBuf| {
        let place = WorkPlace::named(folder, name, PathBuf::new());
        let Ok(Some(mut lock)) = try_lock(&place.lock, Missing::Leave) else { return false };
        lock.is_marked().is_ok_and(|is_marked| is_marked) && lock.remove_with(&place).is_ok()
    };
    Ok(names.filter(unused).count())
}

/// What to do if a lock's file does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

/// Opens a file that is only locked. What is in its place is neither followed nor waited for.
fn open_file(path: &Path, missing: Missing) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = File::options();
    options.read(true).append(true).create(missing == Missing::Make);
    let file = options.mode(0o600).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a file")),
    }
}

/// Takes a lock, if no other process has it.
fn try_lock(path: &Path, missing: Missing) -> io::Result<Option<TreeLock>> {
    loop {
        let file = open_file(path, missing)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        // Another process may have removed the file that was locked here.
        let ours = file.metadata()?;
        match fs::symlink_metadata(path) {
            Ok(found) if (found.dev(), found.ino()) == (ours.dev(), ours.ino()) => {
                return Ok(Some(TreeLock { path: path.to_owned(), file }));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(above: &tempfile::TempDir) -> WorkFolder {
        let folder = WorkFolder::chosen(&above.path().join("work"));
        folder.make().expect("made");
        folder
    }

    fn place(folder: &WorkFolder, name: &str) -> WorkPlace {
        WorkPlace::named(folder, Path::new(name), folder.path().join("stores/of-all.git"))
    }

    fn removed(folder: &WorkFolder) -> usize {
        remove_unused_trees(folder).expect("a folder of ours")
    }

    #[test]
    fn only_trees_that_no_process_uses_are_removed() {
        let above = tempfile::tempdir().expect("a folder");
        let folder = folder(&above);
        let (used, left) = (place(&folder, "used"), place(&folder, "left"));
        for place in [&used, &left] {
            fs::create_dir_all(place.work_tree.join("below")).expect("a tree");
        }
        let lock = TreeLock::take(&used).expect("locked").expect("free");
        drop(TreeLock::take(&left).expect("locked"));
        assert_eq!(removed(&folder), 1);
        assert!(used.work_tree.exists() && !left.work_tree.exists() && !left.lock.exists());
        drop(lock);
        assert_eq!(removed(&folder), 1);
        assert_eq!(removed(&folder), 0);
        assert!(TreeLock::take(&used).expect("locked").is_some(), "it can be used again");
    }

    #[test]
    fn a_folder_that_no_worker_has_made_is_left_alone() {
        let above = tempfile::tempdir().expect("a folder");
        let folder = folder(&above);
        for (name, lock) in [("photos", None), ("cache", Some("not ours")), ("empty", Some(""))] {
            let place = place(&folder, name);
            fs::create_dir_all(place.work_tree.join("below")).expect("made");
            if let Some(text) = lock {
                fs::write(&place.lock, text).expect("written");
            }
            assert_eq!(removed(&folder), 0, "{name}");
            assert!(place.work_tree.join("below").is_dir(), "{name}");
            assert_eq!(place.lock.exists(), lock.is_some(), "{name}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_work_trees_leads_no_removal_elsewhere() {
        let above = tempfile::tempdir().expect("a folder");
        let folder = folder(&above);
        let place = place(&folder, "s");
        let precious = above.path().join("precious");
        fs::create_dir_all(precious.join("s/below")).expect("made");
        let trees = folder.path().join("trees");
        fs::remove_dir(&trees).expect("removed");
        std::os::unix::fs::symlink(&precious, &trees).expect("linked");
        let lock = TreeLock::take(&place).expect("locked").expect("free");
        assert!(lock.remove_with(&place).is_err());
        assert_eq!(remove_unused_trees(&folder), Err(WorkFolderError::NotAFolder { path: trees }));
        assert!(precious.join("s/below").is_dir());
    }

    #[test]
    fn the_file_of_a_lock_goes_with_its_work_tree() {
        let above = tempfile::tempdir().expect("a folder");
        let place = place(&folder(&above), "s");
        let lock = TreeLock::take(&place).expect("locked").expect("free");
        fs::create_dir(&place.work_tree).expect("a tree");
        lock.remove_with(&place).expect("removed");
        assert!(!place.work_tree.exists() && !place.lock.exists());
        assert!(TreeLock::take(&place).expect("locked").is_some());
    }

    #[test]
    fn what_an_agent_puts_in_the_place_of_a_lock_is_neither_followed_nor_waited_for() {
        let above = tempfile::tempdir().expect("a folder");
        let place = place(&folder(&above), "s");
        let treasure = above.path().join("treasure");
        fs::write(&treasure, "gold").expect("written");
        std::os::unix::fs::symlink(&treasure, &place.lock).expect("a link");
        assert!(TreeLock::take(&place).is_err());
        fs::remove_file(&place.lock).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&place.lock).status();
        assert!(made.expect("it starts").success());
        assert!(TreeLock::take(&place).is_err());
        assert_eq!(fs::read_to_string(&treasure).expect("read"), "gold");
    }
}
