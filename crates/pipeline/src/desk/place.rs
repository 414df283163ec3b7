//! [`DeskPlace`]: the location of a session's desk.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hookwright_store::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeskPlace {
    folder: PathBuf,
    /// Short, whatever the names of session and project are.
    name: String,
}

/// Why a desk cannot be opened or reached.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// Other users may enter the folder, or own it.
    #[error("`{}` is not a private folder of the current user", path.display())]
    NotPrivate {
        /// The folder's path.
        path: PathBuf,
    },
    /// An error of the store, in which requests of other machines are.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of the system.
    #[error("the socket folder `{}` cannot be used: {cause}", path.display())]
    Io {
        /// The socket's path.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
}

/// The folder of all desks, in the state folder.
const FOLDER: &str = "desks";

/// Bytes of a socket's path that every system accepts, without the final zero.
const PATH_BYTES_MAX: usize = 103;

impl DeskPlace {
    /// The desk of a session, for the user with this state folder.
    pub(super) fn new(state_folder: &Path, project: &str, session: &str) -> Self {
        // FNV-1a. If two names collide, the request tells the sessions apart.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in project.bytes().chain([0]).chain(session.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self { folder: state_folder.join(FOLDER), name: format!("{hash:016x}") }
    }

    /// The socket's path.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Makes the folder, accessible to its user only.
    pub(super) fn create_folder(&self) -> Result<(), DeskError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|cause| self.failure(cause))?;
        let found = fs::symlink_metadata(&self.folder).map_err(|cause| self.failure(cause))?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        let is_private = found.permissions().mode() & 0o077 == 0;
        if !(found.is_dir() && is_ours && is_private) {
            return Err(DeskError::NotPrivate { path: self.folder.clone() });
        }
        Ok(())
    }

    /// Calls a function with a path of the socket that is short enough for the system: a state
    /// folder may be nested deeply. The folder is held open meanwhile, and the path leads through
    /// that.
    pub(super) fn with_short_path<T>(
        &self,
        act: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        let path = self.path();
        if path.as_os_str().as_bytes().len() <= PATH_BYTES_MAX {
            return act(&path);
        }
        let folder = File::open(&self.folder)?;
        let opened = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        if !opened.exists() {
            let length = path.as_os_str().as_bytes().len();
            return Err(io::Error::other(format!(
                "its path has {length} bytes, and a socket path can have at most {PATH_BYTES_MAX} \
                 here"
            )));
        }
        act(&opened.join(&self.name))
    }

    pub(super) fn failure(&self, cause: io::Error) -> DeskError {
        DeskError::Io { path: self.path(), cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_name_is_short_and_its_own_and_the_same_in_every_process() {
        let place =
            |project: &str, session: &str| DeskPlace::new(Path::new("/s"), project, session);
        let long = "x".repeat(4_000);
        assert_eq!(place("/p", "s").path(), Path::new("/s/desks/a38f909c60a3df57"));
        assert_eq!(place(&long, &long).path().as_os_str().len(), 25);
        assert_ne!(place("/p", "s"), place("/p", "t"));
        assert_ne!(place("/ps", ""), place("/p", "s"));
    }

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let state = tempfile::tempdir().expect("a folder");
        let place = DeskPlace::new(state.path(), "/p", "s");
        place.create_folder().expect("made");
        place.create_folder().expect("there already");
        let folder = state.path().join(FOLDER);
        assert_eq!(fs::metadata(&folder).expect("there").permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).expect("ours");
        let refused = place.create_folder().expect_err("others may enter");
        let words = format!("`{}` is not a private folder of the current user", folder.display());
        assert_eq!(refused.to_string(), words);
    }
}
