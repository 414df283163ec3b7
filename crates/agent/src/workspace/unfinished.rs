//! [`UnfinishedFile`]: a file while it is written, before it has its name.
//!
//! Where the filesystem can do that, it has no name until it is complete, so a program that is killed
//! leaves nothing. To take the place of another file it needs a name for a moment, because only a
//! rename replaces. Where the filesystem cannot, it has that name from the beginning.
//!
//! What killed programs left under such names is removed when the next file of the folder is written.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use hookwright_process::faults;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::limits::{UNFINISHED_AGE_MIN, UNFINISHED_LOOKED_AT_MAX, WRITE_ATTEMPTS_MAX};

/// A file that is being written. Dropping it removes it.
pub(super) struct UnfinishedFile<'a> {
    folder: &'a OwnedFd,
    file: File,
    /// Its name, if it has one.
    name: Option<String>,
}

impl<'a> UnfinishedFile<'a> {
    /// An empty file in this folder. One that takes the place of another may be private, and gets its
    /// mode when it is written.
    pub(super) fn create(folder: &'a OwnedFd, replaces: bool) -> Result<Self, Errno> {
        remove_left(folder);
        let mode = Mode::from_raw_mode(if replaces { 0o600 } else { 0o666 });
        // Without `/proc` it could get no name later.
        if Path::new("/proc/self/fd").exists() {
            let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
            // Another error comes again below.
            if let Ok(fd) = rustix::fs::openat(folder, ".", flags, mode) {
                return Ok(Self { folder, file: File::from(fd), name: None });
            }
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let (name, fd) = with_new_name(|name| rustix::fs::openat(folder, name, flags, mode))?;
        Ok(Self { folder, file: File::from(fd), name: Some(name) })
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its name, once it is complete.
    pub(super) fn take_name(mut self, name: &OsStr, replaces: bool) -> Result<(), Errno> {
        faults::point("file is replaced");
        if self.name.is_none() {
            // A file that has appeared meanwhile is replaced.
            match if replaces { Err(Errno::EXIST) } else { self.link(name) } {
                Err(Errno::EXIST) => self.name = Some(with_new_name(|new| self.link(new))?.0),
                done => {
                    faults::point("file replaced");
                    return done;
                }
            }
        }
        if let Some(unfinished) = &self.name {
            rustix::fs::renameat(self.folder, &**unfinished, self.folder, name)?;
            self.name = None;
        }
        faults::point("file replaced");
        Ok(())
    }

    fn link<N: rustix::path::Arg>(&self, name: N) -> Result<(), Errno> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(CWD, own, self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for UnfinishedFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(self.folder, &**name, AtFlags::empty());
        }
    }
}

/// Tries names until one is free.
fn with_new_name<T>(
    mut create: impl FnMut(&str) -> Result<T, Errno>,
) -> Result<(String, T), Errno> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut attempt = 1;
    loop {
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let name = format!(".hookwright-{}-{number}.unfinished", std::process::id());
        match create(&name) {
            Ok(made) => return Ok((name, made)),
            // A process that was killed left it, or somebody planted it.
            Err(Errno::EXIST) if attempt < WRITE_ATTEMPTS_MAX => attempt += 1,
            Err(cause) => return Err(cause),
        }
    }
}

/// The process whose unfinished file has this name.
fn owner(name: &[u8]) -> Option<u32> {
    let name = std::str::from_utf8(name).ok()?;
    let numbers = name.strip_prefix(".hookwright-")?.strip_suffix(".unfinished")?;
    let (pid, number) = numbers.split_once('-')?;
    number.parse::<u64>().ok()?;
    pid.parse().ok()
}

/// Removes what killed programs left in this folder. What is new may be of a program that we cannot see,
/// such as one in a container.
fn remove_left(folder: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(folder, ".", flags, Mode::empty());
    let Ok(entries) = readable.and_then(Dir::new) else { return };
    for entry in entries.take(UNFINISHED_LOOKED_AT_MAX).flatten() {
        let name = entry.file_name();
        let is_dead = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
        if owner(name.to_bytes()).is_some_and(is_dead) && is_old_file(folder, name) {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

fn is_old_file(folder: &OwnedFd, name: &CStr) -> bool {
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let seconds = u64::try_from(stat.st_mtime).unwrap_or_default();
    let age =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && age.is_ok_and(|age| age >= UNFINISHED_AGE_MIN)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;
    use crate::workspace::resolve::open_folder;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("read").map(|entry| entry.expect("an entry"));
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_no_name_until_it_is_complete_and_then_replaces_what_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let fd = open_folder(rustix::fs::CWD, folder.path()).expect("opened");
        for replaces in [false, true, false] {
            let before = names(folder.path());
            let mut file = UnfinishedFile::create(&fd, replaces).expect("created");
            file.file().write_all(if replaces { b"new" } else { b"old" }).expect("written");
            assert_eq!(names(folder.path()), before, "a kill here leaves nothing");
            file.take_name("a.txt".as_ref(), replaces).expect("named");
            let text = fs::read_to_string(folder.path().join("a.txt")).expect("read");
            assert_eq!(text, if replaces { "new" } else { "old" });
            assert_eq!(names(folder.path()), ["a.txt"]);
        }
    }

    #[test]
    fn what_a_killed_program_left_goes_and_everything_else_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let (dead, alive) = (child.id(), std::process::id());
        child.wait().expect("it ends");
        let left = format!(".hookwright-{dead}-0.unfinished");
        let stays = [
            format!(".hookwright-{alive}-999999.unfinished"),
            format!(".hookwright-{dead}-1.unfinished"),
            format!(".hookwright-{dead}.unfinished"),
            format!(".hookwright-{dead}-x.unfinished"),
        ];
        let old = SystemTime::now() - UNFINISHED_AGE_MIN - Duration::from_secs(1);
        for (number, name) in stays.iter().chain([&left]).enumerate() {
            let file = File::create(folder.path().join(name)).expect("created");
            // The second is too new to be judged.
            if number != 1 {
                file.set_modified(old).expect("set");
            }
        }
        let fd = open_folder(rustix::fs::CWD, folder.path()).expect("opened");
        drop(UnfinishedFile::create(&fd, false).expect("created"));
        let mut expected = stays.to_vec();
        expected.sort();
        assert_eq!(names(folder.path()), expected);
    }
}
