//! [`SocketDesk`]: the socket of a desk, and the lines sent over it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use hookwright_engine::ports::Promise;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::{DeskAnswer, DeskCaller, DeskError, DeskPlace, DeskRequest, OpenDesk};
use crate::limits::{DESK_PAUSE, DESK_REQUEST_BYTES_MAX, DESK_TALK_TIMEOUT};

pub(super) struct SocketDesk {
    /// `None` once it is closed.
    listener: Option<UnixListener>,
    /// The socket's file, by its device and inode.
    file: Option<(u64, u64)>,
    place: DeskPlace,
}

impl SocketDesk {
    /// Opens a desk. Only the process that runs the session uses its place, so a file that is left
    /// there belongs to a dead run.
    pub(super) fn open(place: DeskPlace) -> Result<Self, DeskError> {
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

    async fn next_caller(&self) -> Box<dyn DeskCaller> {
        let Some(listener) = &self.listener else { return std::future::pending().await };
        loop {
            match listener.accept().await {
                Ok((caller, _)) => return Box::new(caller),
                // The caller is gone, or no descriptor is free now.
                Err(_) => tokio::time::sleep(DESK_PAUSE).await,
            }
        }
    }

    fn remove(&self) {
        // If it stays, no process answers there, which callers understand as well.
        let _ = fs::remove_file(self.place.path());
    }
}

impl OpenDesk for SocketDesk {
    fn next(&mut self) -> Promise<'_, Box<dyn DeskCaller>> {
        Box::pin(self.next_caller())
    }

    fn renew_if_gone(&mut self) -> Vec<Box<dyn DeskCaller>> {
        if self.file.is_some() && Self::file_at(&self.place) == self.file {
            return Vec::new();
        }
        // If that fails now, the next check tries again.
        let Ok(listener) = Self::bind(&self.place) else { return Vec::new() };
        self.file = Self::file_at(&self.place);
        waiting_at(self.listener.replace(listener))
    }

    fn close(mut self: Box<Self>) -> Vec<Box<dyn DeskCaller>> {
        self.remove();
        waiting_at(self.listener.take())
    }
}

impl Drop for SocketDesk {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The callers that wait at a closed desk.
fn waiting_at(listener: Option<UnixListener>) -> Vec<Box<dyn DeskCaller>> {
    // The system knows callers that the runtime has not seen yet.
    let Some(Ok(listener)) = listener.map(UnixListener::into_std) else { return Vec::new() };
    let callers = std::iter::from_fn(|| listener.accept().ok());
    callers.filter_map(|(caller, _)| Some(Box::new(adopted(caller).ok()?) as _)).collect()
}

fn adopted(caller: std::os::unix::net::UnixStream) -> io::Result<UnixStream> {
    caller.set_nonblocking(true)?;
    UnixStream::from_std(caller)
}

impl DeskCaller for UnixStream {
    fn request(&mut self) -> Promise<'_, io::Result<DeskRequest>> {
        Box::pin(async move {
            let mut line = Vec::new();
            let most = DESK_REQUEST_BYTES_MAX as u64;
            let mut bounded = BufReader::new(self.take(most));
            tokio::time::timeout(DESK_TALK_TIMEOUT, bounded.read_until(b'\n', &mut line)).await??;
            Ok(serde_json::from_slice(&line)?)
        })
    }

    fn answer<'a>(&'a mut self, answer: &'a DeskAnswer) -> Promise<'a, io::Result<()>> {
        Box::pin(async move {
            let mut line = serde_json::to_vec(answer)?;
            line.push(b'\n');
            tokio::time::timeout(DESK_TALK_TIMEOUT, self.write_all(&line)).await?
        })
    }
}
