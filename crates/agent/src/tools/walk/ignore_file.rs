//! Reads a `.gitignore` or `.ignore` within limits.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::io::Errno;

use crate::limits::IGNORE_FILE_BYTES_MAX;
use crate::workspace::open_file_in;

/// A list of ignored files that is not what it should be. Its folder is searched without it.
pub(super) struct Unheeded;

/// Reads one such list, and says how many bytes its patterns have.
pub(super) fn read_ignore(
    folder: &OwnedFd,
    path: &Path,
    name: &str,
    room: usize,
) -> Result<Option<(Gitignore, usize)>, Unheeded> {
    let file = match open_file_in(folder, OsStr::new(name)) {
        Ok(Ok(file)) => file,
        // A link may lead anywhere, a pipe may never end.
        Ok(Err(_)) => return Err(Unheeded),
        Err(Errno::NOENT) => return Ok(None),
        Err(_) => return Err(Unheeded),
    };
    let mut bytes = Vec::new();
    let read = file.take(IGNORE_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    if read.is_err() || bytes.len() > IGNORE_FILE_BYTES_MAX {
        return Err(Unheeded);
    }
    let text = String::from_utf8_lossy(&bytes);
    let patterns = || text.lines().filter(|line| !line.starts_with('#'));
    let bytes = patterns().map(str::len).sum();
    if bytes > room {
        return Err(Unheeded);
    }
    let mut builder = GitignoreBuilder::new(path);
    for line in patterns() {
        // A line that is no pattern ignores nothing, as with git.
        let _ = builder.add_line(None, line);
    }
    builder.build().map(|ignore| Some((ignore, bytes))).map_err(|_| Unheeded)
}
