//! Files of ours beside and in work trees. Agents run as the same user, so anything may be in their
//! place: no link is followed, no pipe is waited for, and a folder that cannot be written is removed
//! all the same.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

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
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let Ok(file) = File::options().read(true).custom_flags(flags).open(path) else { return false };
    let Ok(found) = file.metadata() else { return false };
    let mut read = Vec::new();
    found.is_file()
        && found.len() == bytes.len() as u64
        && file.take(found.len()).read_to_end(&mut read).is_ok()
        && read == bytes
}

/// Removes a folder with everything in it, or what is in its place.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                make_writable(path)?;
                fs::remove_dir_all(path)
            }
            removed => removed,
        }
    } else {
        fs::remove_file(path)
    }
}

/// Some programs protect the folders of their caches.
fn make_writable(folder: &Path) -> io::Result<()> {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}
