//! Which process takes a port over next. One hookwright process holds a port's lock, usually the
//! one that listens there, and the others sleep until the system gives them the lock. So a thousand
//! processes wait for a port at no cost, and one wakes when its holder ends.
//!
//! The lock only orders the waiting processes. Binding the port decides who listens.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use tokio::sync::oneshot;

/// The folder of these locks, in the state folder. It has one small file for each port that a
/// process ever waited for.
const FOLDER: &str = "ports";

/// Stack of a thread that only sleeps.
const STACK_BYTES: usize = 64 * 1024;

/// The port locks of one state folder.
#[derive(Debug, Clone)]
pub(crate) struct PortTurns {
    folder: PathBuf,
}

/// The lock of a port, held until this is dropped.
#[derive(Debug)]
pub(crate) struct PortTurn(#[expect(dead_code, reason = "dropped, it gives the lock back")] File);

impl PortTurns {
    /// The port locks of a state folder.
    pub(crate) fn of_folder(folder: &Path) -> Self {
        Self { folder: folder.join(FOLDER) }
    }

    /// The lock of a port, unless another process holds it.
    pub(crate) fn try_take(&self, address: SocketAddr) -> Option<PortTurn> {
        let file = self.open(address).ok()?;
        match file.try_lock() {
            Ok(()) => Some(PortTurn(file)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        }
    }

    /// Waits for the lock of a port. Returns `None` at once if locking is not possible.
    pub(crate) async fn wait_for(&self, address: SocketAddr) -> Option<PortTurn> {
        let file = self.open(address).ok()?;
        let (give, given) = oneshot::channel();
        // A thread that waits for a lock cannot be stopped. If its caller is gone, it ends with the
        // process, or releases the lock as soon as it gets it.
        let sleeping = thread::Builder::new()
            .name("port turn".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || drop(give.send(locked(file))));
        sleeping.ok()?;
        given.await.ok().flatten().map(PortTurn)
    }

    fn open(&self, address: SocketAddr) -> io::Result<File> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let path = self.folder.join(format!("{}-{}.lock", address.ip(), address.port()));
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(no_follow);
        options.open(path)
    }
}

fn locked(file: File) -> Option<File> {
    loop {
        match file.lock() {
            Ok(()) => return Some(file),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test]
    async fn one_has_the_turn_and_the_next_gets_it_with_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let turns = PortTurns::of_folder(folder.path());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 8765));
        let first = turns.try_take(address).unwrap();
        assert!(turns.try_take(address).is_none());
        let other = SocketAddr::from((Ipv4Addr::LOCALHOST, 8766));
        assert!(turns.try_take(other).is_some(), "each port has turns of its own");
        let waiting = tokio::spawn({
            let turns = turns.clone();
            async move { turns.wait_for(address).await }
        });
        drop(first);
        let next = waiting.await.unwrap();
        assert!(next.is_some() && turns.try_take(address).is_none());
    }

    #[tokio::test]
    async fn a_process_that_stopped_waiting_passes_the_lock_on() {
        let folder = tempfile::tempdir().unwrap();
        let turns = PortTurns::of_folder(folder.path());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 8765));
        let first = turns.try_take(address).unwrap();
        let gone = tokio::spawn({
            let turns = turns.clone();
            async move { turns.wait_for(address).await }
        });
        tokio::task::yield_now().await;
        gone.abort();
        let _ = gone.await;
        drop(first);
        assert!(turns.wait_for(address).await.is_some());
    }
}
