//! The caller's side of the desk.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use super::{DeskAnswer, DeskError, DeskPlace, DeskRequest};
use crate::limits::{DESK_ANSWER_BYTES_MAX, DESK_ANSWER_TIMEOUT, DESK_TALK_TIMEOUT, LONG_WAIT};

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeskReply {
    /// The session has answered.
    Answered(DeskAnswer),
    /// There is no desk, or another process has put its own there: the session has not received the
    /// request.
    NoDesk,
    /// There is a desk, but no process listens: the session's process is dead, or about to start.
    Deserted,
    /// The session has ended without an answer.
    NoAnswer,
}

/// Sends a request to a session, which the process `pid` runs, and waits for its answer. `waits` is
/// called once if that takes longer.
pub(super) fn ask(
    place: &DeskPlace,
    pid: u32,
    request: &DeskRequest,
    waits: &mut dyn FnMut(),
) -> Result<DeskReply, DeskError> {
    let failure = |cause| place.failure(cause);
    let mut desk = match place.with_short_path(connect) {
        Ok((desk, Some(other))) if other == pid => desk,
        // If the system does not tell, the desk is trusted.
        Ok((desk, None)) if !cfg!(target_os = "linux") => desk,
        Ok(_) => return Ok(DeskReply::NoDesk),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DeskReply::NoDesk),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            return Ok(DeskReply::Deserted);
        }
        Err(error) => return Err(failure(error)),
    };
    match speak(&mut desk, request) {
        Ok(()) => {}
        Err(error) if is_hanging_up(&error) => return Ok(DeskReply::NoAnswer),
        Err(error) => return Err(failure(error)),
    }
    match listen(desk, waits) {
        Ok(line) if line.is_empty() => Ok(DeskReply::NoAnswer),
        Ok(line) => {
            let answer = serde_json::from_slice(&line).map_err(io::Error::from);
            answer.map(DeskReply::Answered).map_err(failure)
        }
        Err(error) if is_hanging_up(&error) => Ok(DeskReply::NoAnswer),
        Err(error) => Err(failure(error)),
    }
}

/// A connection to the desk, and the process that opened the desk, if the system tells.
fn connect(path: &Path) -> io::Result<(UnixStream, Option<u32>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (desk, pid) = runtime.block_on(async {
        let desk = tokio::net::UnixStream::connect(path).await?;
        let pid = desk.peer_cred()?.pid();
        io::Result::Ok((desk.into_std()?, pid))
    })?;
    desk.set_nonblocking(false)?;
    Ok((desk, pid.map(i32::cast_unsigned)))
}

fn speak(desk: &mut UnixStream, request: &DeskRequest) -> io::Result<()> {
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    desk.set_write_timeout(Some(DESK_TALK_TIMEOUT))?;
    desk.write_all(&line)
}

/// The answer's line; empty if the session went away instead.
fn listen(desk: UnixStream, waits: &mut dyn FnMut()) -> io::Result<Vec<u8>> {
    let (began, mut waits) = (Instant::now(), Some(waits));
    desk.set_read_timeout(Some(LONG_WAIT))?;
    let mut answer = BufReader::new(desk.take(DESK_ANSWER_BYTES_MAX));
    let mut line = Vec::new();
    loop {
        match answer.read_until(b'\n', &mut line) {
            Ok(_) => return Ok(line),
            Err(error) if is_timeout(&error) && began.elapsed() < DESK_ANSWER_TIMEOUT => {
                waits.take().into_iter().for_each(|waits| waits());
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_hanging_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
    )
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
