//! [`Bells`]: wake a process that waits for an answer.
//!
//! The decision is in the store; a bell only says which question to check. Each waiting process has
//! its own bell, a named pipe in the state folder, and its questions name that bell. So an answer
//! wakes one process, however many wait, and waiting costs nothing. (File system watches would need
//! no pipe, but each user has only 128.)

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hookwright_events::wait::Wait;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::{limits, signing_key};

/// The folder of all bells, in the state folder.
const FOLDER: &str = "bells";

/// A file whose modification time says when orphaned bells were last removed.
const SWEPT: &str = "swept";

/// The bells of one state folder.
#[derive(Debug, Clone)]
pub struct Bells {
    folder: PathBuf,
}

impl Bells {
    /// The bells of a state folder.
    pub fn of_folder(folder: &Path) -> Self {
        Self { folder: folder.join(FOLDER) }
    }

    /// Tells the asking process to check a question. A failure is not reported, since the process
    /// finds the answer with its next regular check.
    pub(crate) fn ring(&self, wait: &Wait) {
        let _ = self.try_ring(&wait.bell, &wait.id);
    }

    fn try_ring(&self, bell: &str, id: &str) -> io::Result<()> {
        if !is_name(bell) {
            return Ok(());
        }
        let path = self.folder.join(bell);
        match open(&path, OFlags::WRONLY) {
            // A write of this size is atomic.
            Ok(mut pipe) => pipe.write_all(format!("{id}\n").as_bytes()),
            // The bell's owner was killed.
            Err(Errno::NXIO) => fs::remove_file(&path),
            Err(error) => Err(error.into()),
        }
    }

    /// A new bell for this process. Also removes orphaned bells, if that is due.
    #[cfg(target_os = "linux")]
    pub(crate) fn hang(&self) -> io::Result<HungBell> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.sweep_if_due();
        let name = signing_key::random_id()?;
        let path = self.folder.join(&name);
        let readable_by_us = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, readable_by_us, 0)?;
        let file = BellFile(path);
        let pipe = open(&file.0, OFlags::RDONLY)?;
        // While a writer has the pipe open, reading never returns end of file.
        let silent_ringer = open(&file.0, OFlags::WRONLY)?;
        Ok(HungBell { name, pipe, silent_ringer, file })
    }

    /// On other systems the process polls.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn hang(&self) -> io::Result<HungBell> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sweep_if_due(&self) {
        let swept = self.folder.join(SWEPT);
        let is_due = match fs::symlink_metadata(&swept).and_then(|file| file.modified()) {
            Ok(at) => is_older_than(at, limits::BELLS_SWEEP_PAUSE),
            Err(_) => true,
        };
        if is_due && fs::remove_file(&swept).map_or_else(is_absent, |()| true) {
            let _ = File::create_new(&swept);
            self.sweep();
        }
    }

    /// Removes bells whose owners were killed.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            // The owner of a new one may not have opened it yet.
            let is_new = found.modified().is_ok_and(|at| !is_older_than(at, limits::BELL_AGE_MIN));
            if found.file_type().is_fifo()
                && !is_new
                && matches!(open(&entry.path(), OFlags::WRONLY), Err(Errno::NXIO))
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A bell of this process, until it is dropped.
pub(crate) struct HungBell {
    /// Name of the pipe, which questions refer to.
    pub(crate) name: String,
    pipe: File,
    silent_ringer: File,
    file: BellFile,
}

/// Removes the pipe when it is dropped.
struct BellFile(PathBuf);

impl Drop for BellFile {
    fn drop(&mut self) {
        // If this fails, the next process that finds the pipe without a reader removes it.
        let _ = fs::remove_file(&self.0);
    }
}

impl HungBell {
    /// Listens, inside a runtime.
    pub(crate) fn listen(self) -> io::Result<Listening> {
        let Self { pipe, silent_ringer, file, .. } = self;
        let pipe = tokio::net::unix::pipe::Receiver::from_file(pipe)?;
        Ok(Listening { pipe, cut_off: Vec::new(), _silent_ringer: silent_ringer, _file: file })
    }
}

/// A bell that this process listens to.
pub(crate) struct Listening {
    pipe: tokio::net::unix::pipe::Receiver,
    /// The beginning of an id whose rest is read next.
    cut_off: Vec<u8>,
    _silent_ringer: File,
    _file: BellFile,
}

impl Listening {
    /// The questions that it was rung for since the last call. Waits until there is one.
    pub(crate) async fn rung(&mut self) -> Vec<String> {
        let mut buffer = [0; limits::BELL_BYTES_AT_ONCE];
        loop {
            if self.pipe.readable().await.is_err() {
                return std::future::pending().await;
            }
            match self.pipe.try_read(&mut buffer) {
                Ok(count) if count > 0 => return self.ids_in(&buffer[..count]),
                Ok(_) => return std::future::pending().await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return std::future::pending().await,
            }
        }
    }

    fn ids_in(&mut self, read: &[u8]) -> Vec<String> {
        self.cut_off.extend_from_slice(read);
        let end = self.cut_off.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole: Vec<u8> = self.cut_off.drain(..end).collect();
        if self.cut_off.len() > limits::BELL_BYTES_AT_ONCE {
            // No id is that long: another program wrote this.
            self.cut_off.clear();
        }
        let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }
}

/// Opens a bell, without waiting for the other end, and fails if the file is not a pipe.
fn open(path: &Path, how: OFlags) -> Result<File, Errno> {
    let flags = how | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let is_pipe = file.metadata().is_ok_and(|file| file.file_type().is_fifo());
    if is_pipe { Ok(file) } else { Err(Errno::INVAL) }
}

/// Whether this is a valid bell name; it comes from a record and becomes part of a path.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_older_than(at: SystemTime, age: Duration) -> bool {
    // A time in the future means that the clock was set back.
    at.elapsed().map_or(true, |elapsed| elapsed >= age)
}

fn is_absent(error: io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn bells() -> (tempfile::TempDir, Bells) {
        let folder = tempfile::tempdir().unwrap();
        let bells = Bells::of_folder(folder.path());
        (folder, bells)
    }

    fn names(bells: &Bells) -> Vec<String> {
        let entries = fs::read_dir(&bells.folder).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name != SWEPT).collect()
    }

    #[tokio::test]
    async fn each_hears_every_ringing_of_its_own_bell_and_no_other() {
        let (_folder, bells) = bells();
        let (one, other) = (bells.hang().unwrap(), bells.hang().unwrap());
        let (name, name_of_other) = (one.name.clone(), other.name.clone());
        let (mut one, mut other) = (one.listen().unwrap(), other.listen().unwrap());
        for number in 0..100 {
            let id = format!("id{number}");
            bells.try_ring(&name, &id).unwrap();
            assert_eq!(one.rung().await, [id]);
        }
        bells.try_ring(&name, "a").unwrap();
        bells.try_ring(&name, "b").unwrap();
        assert_eq!(one.rung().await, ["a", "b"]);
        bells.try_ring(&name_of_other, "c").unwrap();
        assert_eq!(other.rung().await, ["c"]);
        drop((one, other));
        assert_eq!(names(&bells), Vec::<String>::new());
    }

    #[tokio::test]
    async fn more_can_wait_than_the_system_has_watches() {
        // By default Linux gives each user 128 instances of inotify.
        let (_folder, bells) = bells();
        let mut all = Vec::new();
        for _ in 0..300 {
            let bell = bells.hang().unwrap();
            all.push((bell.name.clone(), bell.listen().unwrap()));
        }
        for (name, _) in &all {
            bells.try_ring(name, name).unwrap();
        }
        for (name, bell) in &mut all {
            assert_eq!(bell.rung().await, [name.as_str()]);
        }
    }

    #[tokio::test]
    async fn a_flood_blocks_no_ringer_and_ids_in_pieces_come_whole() {
        let (_folder, bells) = bells();
        let bell = bells.hang().unwrap();
        let name = bell.name.clone();
        let mut count = 0;
        while bells.try_ring(&name, "aaaaaaaaaaaaaaaaaa").is_ok() {
            count += 1;
        }
        assert!(count > limits::BELL_BYTES_AT_ONCE / 19, "more than one reading: {count}");
        let mut bell = bell.listen().unwrap();
        let mut heard = 0;
        while heard < count {
            let ids = bell.rung().await;
            assert!(ids.iter().all(|id| id == "aaaaaaaaaaaaaaaaaa"));
            heard += ids.len();
        }
        assert_eq!(heard, count);
    }

    #[test]
    fn nothing_but_a_bell_is_written_to() {
        let (folder, bells) = bells();
        let bell = bells.hang().unwrap();
        let treasure = folder.path().join("treasure");
        fs::write(&treasure, "gold").unwrap();
        symlink(&treasure, bells.folder.join("aaaaaaaa")).unwrap();
        fs::write(bells.folder.join("bbbbbbbb"), "silver").unwrap();
        symlink(bells.folder.join(&bell.name), bells.folder.join("cccccccc")).unwrap();
        for name in ["aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"] {
            bells.try_ring(name, "id").unwrap_err();
        }
        for name in ["", "../treasure", "..", "x/y"] {
            bells.try_ring(name, "id").unwrap();
        }
        assert_eq!(fs::read(&treasure).unwrap(), b"gold");
        assert_eq!(fs::read(bells.folder.join("bbbbbbbb")).unwrap(), b"silver");
    }

    #[test]
    fn bells_of_killed_processes_are_removed_by_a_ringing_or_a_search() {
        let (_folder, bells) = bells();
        let living = bells.hang().unwrap();
        let left_behind = || {
            let HungBell { name, file, .. } = bells.hang().unwrap();
            std::mem::forget(file);
            name
        };
        let (rung, old, new) = (left_behind(), left_behind(), left_behind());
        bells.try_ring(&rung, "id").unwrap();
        assert!(!names(&bells).contains(&rung));
        let long_ago = SystemTime::now() - Duration::from_secs(7200);
        let age = |path: &Path| {
            let time = rustix::fs::Timespec {
                tv_sec: long_ago.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64,
                tv_nsec: 0,
            };
            let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
            let here = rustix::fs::CWD;
            rustix::fs::utimensat(here, path, &times, rustix::fs::AtFlags::empty()).unwrap();
        };
        age(&bells.folder.join(&old));
        age(&bells.folder.join(&living.name));
        bells.sweep_if_due();
        assert!(names(&bells).contains(&old), "the last search was a moment ago");
        age(&bells.folder.join(SWEPT));
        bells.sweep_if_due();
        let left = names(&bells);
        assert!(left.contains(&living.name) && left.contains(&new) && !left.contains(&old));
    }
}
