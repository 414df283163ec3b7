//! [`TreeLock`]: held by the process that uses a work tree. What a killed process has left can so be
//! told from what is in use, and is removed when a worker joins.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::WorkPlace;

/// How long a session waits for the lock: longer than removing a work tree takes.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of a work tree, until it is dropped.
#[derive(Debug)]
pub struct TreeLock {
    _file: File,
}

impl TreeLock {
    /// Takes the lock of a place whose folder was made. An older process of the same session may
    /// stand still and hold it; the session then goes on without, as that process is fenced.
    pub fn take(place: &WorkPlace) -> io::Result<Option<Self>> {
        let began = Instant::now();
        loop {
            if let Some(lock) = try_lock(&place.lock)? {
                return Ok(Some(lock));
            }
            if began.elapsed() > WAIT_MAX {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Removes the work trees below a worker's folder that no process uses. Returns how many it has
/// removed. What cannot be removed is left.
pub fn remove_unused_trees(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(WorkPlace::trees_of(folder)) else { return 0 };
    let names = entries.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let unused = |name: &PathBuf| {
        let place = WorkPlace::named(folder, name, PathBuf::new());
        let Ok(Some(_lock)) = try_lock(&place.lock) else { return false };
        // The lock's file goes last, so that no session begins meanwhile.
        place.remove().is_ok() && fs::remove_file(&place.lock).is_ok()
    };
    names.filter(unused).count()
}

/// Takes a lock, if no other process has it.
fn try_lock(path: &Path) -> io::Result<Option<TreeLock>> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = File::options();
    options.create(true).append(true).mode(0o600).custom_flags(flags);
    loop {
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        // Another process may have removed the file that was locked here.
        let ours = file.metadata()?;
        match fs::symlink_metadata(path) {
            Ok(found) if (found.dev(), found.ino()) == (ours.dev(), ours.ino()) => {
                return Ok(Some(TreeLock { _file: file }));
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

    #[test]
    fn only_trees_that_no_process_uses_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| WorkPlace::named(folder.path(), Path::new(name), PathBuf::new());
        let (used, left) = (place("used"), place("left"));
        for place in [&used, &left] {
            fs::create_dir_all(place.work_tree.join("below")).expect("a tree");
        }
        let lock = TreeLock::take(&used).expect("locked").expect("free");
        drop(TreeLock::take(&left).expect("locked"));
        assert_eq!(remove_unused_trees(folder.path()), 1);
        assert!(used.work_tree.exists() && !left.work_tree.exists() && !left.lock.exists());
        drop(lock);
        assert_eq!(remove_unused_trees(folder.path()), 1);
        assert_eq!(remove_unused_trees(folder.path()), 0);
        assert!(TreeLock::take(&used).expect("locked").is_some(), "it can be used again");
    }

    #[test]
    fn what_an_agent_puts_in_the_place_of_a_lock_is_neither_followed_nor_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = WorkPlace::named(folder.path(), Path::new("s"), PathBuf::new());
        let treasure = folder.path().join("treasure");
        fs::write(&treasure, "gold").expect("written");
        fs::create_dir_all(place.lock.parent().expect("a folder")).expect("a folder");
        std::os::unix::fs::symlink(&treasure, &place.lock).expect("a link");
        assert!(TreeLock::take(&place).is_err());
        fs::remove_file(&place.lock).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&place.lock).status();
        assert!(made.expect("it starts").success());
        assert!(TreeLock::take(&place).is_err());
        assert_eq!(fs::read_to_string(&treasure).expect("read"), "gold");
    }
}
