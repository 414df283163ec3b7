//! [`Reception`]: the socket of a desk, and the lines that come and go there.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::{DeskError, DeskPlace};
use crate::limits::{DESK_PAUSE, DESK_REQUEST_BYTES_MAX, DESK_TALK_TIMEOUT};

/// The socket of a desk, as long as it is open.
pub(crate) struct Reception {
    /// `None` once it is closed.
    listener: Option<UnixListener>,
    /// The socket's file, by its device and inode.
    file: Option<(u64, u64)>,
    place: DeskPlace,
}

impl Reception {
    /// Opens a desk. Whoever runs the session is alone with its place, so what is left there is of a
    /// run that is dead.
    pub(crate) fn open(place: DeskPlace) -> Result<Self, DeskError> {
        let listener = Self::bind(&place)?;
        let file = Self::file_at(&place);
        Ok(Self { listener: Some(listener), file, place })
    }

    fn bind(place: &DeskPlace) -> Result<UnixListener, DeskError> {
        place.create_folder()?;
        let bind = || {
            place.with_short_path(|path| {
                match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                let listener = UnixListener::bind(path)?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
                Ok(listener)
            })
        };
        bind().map_err(|cause| place.failure(cause))
    }

    fn file_at(place: &DeskPlace) -> Option<(u64, u64)> {
        fs::symlink_metadata(place.path()).ok().map(|file| (file.dev(), file.ino()))
    }

    /// Opens the desk once more if its socket is not in its place any more. Gives those who had reached
    /// the old one.
    pub(crate) fn renew_if_gone(&mut self) -> Vec<UnixStream> {
        if self.file.is_some() && Self::file_at(&self.place) == self.file {
            return Vec::new();
        }
        // Where that cannot be done now, it is tried again with the next look.
        let Ok(listener) = Self::bind(&self.place) else { return Vec::new() };
        self.file = Self::file_at(&self.place);
        waiting_at(self.listener.replace(listener))
    }

    /// The next caller.
    pub(crate) async fn next(&self) -> UnixStream {
        let Some(listener) = &self.listener else { return std::future::pending().await };
        loop {
            match listener.accept().await {
                Ok((caller, _)) => return caller,
                // The caller is gone, or there is no room for one more open file just now.
                Err(_) => tokio::time::sleep(DESK_PAUSE).await,
            }
        }
    }

    /// Closes it: nobody finds it any more. Gives those who stand in front of it.
    pub(crate) fn close(mut self) -> Vec<UnixStream> {
        self.remove();
        waiting_at(self.listener.take())
    }

    fn remove(&self) {
        // Where it stays, nobody answers there, which callers understand as well.
        let _ = fs::remove_file(self.place.path());
    }
}

impl Drop for Reception {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Those who stand in front of a desk that is closed.
fn waiting_at(listener: Option<UnixListener>) -> Vec<UnixStream> {
    // The system knows of callers of whom the runtime has not heard yet.
    let Some(Ok(listener)) = listener.map(UnixListener::into_std) else { return Vec::new() };
    let callers = std::iter::from_fn(|| listener.accept().ok());
    callers.filter_map(|(caller, _)| adopted(caller).ok()).collect()
}

fn adopted(caller: std::os::unix::net::UnixStream) -> io::Result<UnixStream> {
    caller.set_nonblocking(true)?;
    UnixStream::from_std(caller)
}

/// The line that a caller says, in time.
pub(crate) async fn read<T: DeserializeOwned>(caller: &mut UnixStream) -> io::Result<T> {
    let mut line = Vec::new();
    let most = DESK_REQUEST_BYTES_MAX as u64;
    let mut bounded = BufReader::new(caller.take(most));
    tokio::time::timeout(DESK_TALK_TIMEOUT, bounded.read_until(b'\n', &mut line)).await??;
    Ok(serde_json::from_slice(&line)?)
}

/// Says a line to a caller that listens.
pub(crate) async fn write<T: Serialize>(caller: &mut UnixStream, said: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    tokio::time::timeout(DESK_TALK_TIMEOUT, caller.write_all(&line)).await?
}
