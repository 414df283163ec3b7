//! Files of ours beside and in work trees. Agents run as the same user, so anything may be in their
//! place: no link is followed, no pipe is waited for, and a folder that cannot be written is removed
//! all the same.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

/// Makes sure that a file is there and has this content, whole at any moment.
pub(super) fn write_own(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Several sessions write the same.
    if reads_as(path, bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.persist(path)?;
    Ok(())
}

fn reads_as(path: &Path, bytes: &[u8]) -> bool {
    read_own(path, bytes.len() as u64).is_some_and(|read| read == bytes)
}

/// The content of a file of at most so many bytes.
pub(super) fn read_own(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let found = file.metadata().ok().filter(|found| found.is_file() && found.len() <= bytes_max)?;
    let mut read = Vec::new();
    file.take(found.len()).read_to_end(&mut read).ok()?;
    Some(read)
}

/// Removes an entry of an open folder, with everything in it. A missing one is no error.
pub(super) fn remove_all(folder: impl AsFd, name: impl Arg + Copy) -> rustix::io::Result<()> {
    let folder = folder.as_fd();
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        // Systems report different errors for a folder.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    let open = || {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::empty())
    };
    let inner = match open() {
        // Some programs protect the folders of their caches.
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
            open()?
        }
        opened => opened?,
    };
    // In another user's folder we may be allowed to delete all the same.
    let _ = rustix::fs::fchmod(&inner, Mode::RWXU);
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(&inner)? {
        names.push(entry?.file_name().to_owned());
    }
    for name in &names {
        if !matches!(name.as_bytes(), b"." | b"..") {
            remove_all(&inner, name.as_c_str())?;
        }
    }
    match rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The same for a path whose parent is not a link.
pub(super) fn remove_path(path: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, above, flags, Mode::empty())?;
    Ok(remove_all(&folder, name)?)
}
