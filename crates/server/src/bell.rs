//! [`Bell`]: tells every process that waits that something was decided.
//!
//! The decision itself stands in the store; a bell only says "look". It is a file in the state folder:
//! to ring is to write to it, and to listen is to be told by the system that it was written to.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::limits;

/// The bell's file in the state folder.
const FILE: &str = "waits.bell";

/// A bell that all processes with the same state folder hear.
#[derive(Debug, Clone)]
pub struct Bell {
    path: PathBuf,
}

impl Bell {
    /// The bell of a folder.
    pub fn of_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    /// Rings. Whoever cannot be told finds out later by looking, so nothing is wrong if this fails.
    pub fn ring(&self) {
        let _ = self.try_ring();
    }

    fn try_ring(&self) -> io::Result<()> {
        self.open()?.write_all(b".")
    }

    /// The file, one byte long at most: it is always the same byte that is written.
    fn open(&self) -> io::Result<std::fs::File> {
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&self.path)
    }

    /// Somebody who listens from now on.
    pub(crate) fn listen(&self) -> Ear {
        Ear::new(self)
    }
}

/// What the system tells of a file.
#[cfg(target_os = "linux")]
type Watch = tokio::net::unix::pipe::Receiver;

/// Somebody who listens.
pub(crate) struct Ear {
    #[cfg(target_os = "linux")]
    watch: Option<Watch>,
}

#[cfg(target_os = "linux")]
impl Ear {
    fn new(bell: &Bell) -> Self {
        Self { watch: watch(bell).ok() }
    }

    /// Returns when the bell has rung since the last time, and now and then without that.
    pub(crate) async fn rung(&mut self) {
        match &self.watch {
            Some(watch) => {
                let _ = tokio::time::timeout(limits::UNASKED_LOOK_PAUSE, heard(watch)).await;
            }
            // No watch to be had: as elsewhere.
            None => tokio::time::sleep(limits::BELL_PAUSE).await,
        }
    }
}

#[cfg(target_os = "linux")]
fn watch(bell: &Bell) -> io::Result<Watch> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    bell.open()?;
    let watch = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    add_watch(&watch, &bell.path, WatchFlags::MODIFY)?;
    // It is read like a pipe that nobody closes.
    Watch::from_owned_fd_unchecked(watch)
}

/// Returns when the system has told of something, and forgets what.
#[cfg(target_os = "linux")]
async fn heard(watch: &Watch) {
    let mut heap = [0; 4096];
    loop {
        if watch.readable().await.is_err() {
            return std::future::pending().await;
        }
        // Only a read that finds nothing makes it wait again.
        if watch.try_read(&mut heap).is_ok() {
            while watch.try_read(&mut heap).is_ok_and(|bytes| bytes > 0) {}
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Ear {
    fn new(_: &Bell) -> Self {
        Self {}
    }

    /// Returns often enough: nobody tells of the ringing here.
    pub(crate) async fn rung(&mut self) {
        tokio::time::sleep(limits::BELL_PAUSE).await;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_listens_hears_every_ringing_and_nothing_grows() {
        let folder = tempfile::tempdir().unwrap();
        let bell = Bell::of_folder(folder.path());
        let ear = bell.listen();
        let watch = ear.watch.as_ref().unwrap();
        for _ in 0..100 {
            Bell::of_folder(folder.path()).ring();
            heard(watch).await;
        }
        assert_eq!(std::fs::read(folder.path().join(FILE)).unwrap(), b".");
    }
}
