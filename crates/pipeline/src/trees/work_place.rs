//! [`WorkPlace`]: where the parts of a work tree are on a worker's machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::own_files::{remove_all, write_own};
use super::repository::file;
use super::{CarriedWork, TreeError};
use crate::folder::SessionName;

/// Bytes of a digest in a name, written with twice as many digits.
const DIGEST_BYTES: usize = 8;

/// Where the parts of a work tree are. The agent works in the first; no command of a session names
/// the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkPlace {
    /// The work tree: the same absolute path on all workers.
    pub work_tree: PathBuf,
    /// A bare repository for the objects of all sessions of this remote.
    pub store: PathBuf,
    /// A file for our own index of this work tree.
    pub index: PathBuf,
    /// The file that the process locks which uses the work tree.
    pub lock: PathBuf,
}

impl WorkPlace {
    /// The place of a session below a worker's folder. Sessions of several projects may have one
    /// name; their ids differ.
    pub fn below(
        folder: &Path,
        work: &CarriedWork,
        session: &SessionName,
        session_id: &str,
    ) -> Self {
        let own = format!("{session}-{}", digest(session_id));
        let store = folder.join("stores").join(format!("{}.git", digest(&work.remote)));
        Self::named(folder, Path::new(&own), store)
    }

    /// The place with this name.
    pub(super) fn named(folder: &Path, own: &Path, store: PathBuf) -> Self {
        Self {
            work_tree: Self::trees_of(folder).join(own),
            store,
            index: folder.join("indexes").join(own),
            lock: folder.join("locks").join(own),
        }
    }

    /// The folder of all work trees below a worker's folder.
    pub(super) fn trees_of(folder: &Path) -> PathBuf {
        folder.join("trees")
    }

    /// Makes the folder in which these places are. Git ignores it, wherever it is.
    pub fn make_folder(folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        write_own(&folder.join(".gitignore"), b"*\n")
    }

    /// The project root in the work tree.
    pub fn root(&self, work: &CarriedWork) -> PathBuf {
        match work.prefix.as_os_str().is_empty() {
            true => self.work_tree.clone(),
            false => self.work_tree.join(&work.prefix),
        }
    }

    /// Removes the work tree of a session that has ended. The objects stay for other sessions.
    pub fn remove(&self) -> Result<(), TreeError> {
        let missing_is_fine = |removed: io::Result<()>, path: &Path| match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(file("remove", path, &error))
            }
            Ok(()) | Err(_) => Ok(()),
        };
        missing_is_fine(remove_all(&self.work_tree), &self.work_tree)?;
        missing_is_fine(fs::remove_file(&self.index), &self.index)
    }
}

/// A short name for a long text.
pub(super) fn digest(text: &str) -> String {
    let digest = hmac_sha256::Hash::hash(text.as_bytes());
    digest[..DIGEST_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::TreeId;
    use super::*;

    #[test]
    fn sessions_have_places_of_their_own_and_share_the_objects_of_a_remote() {
        let commit = TreeId::parse(&"0".repeat(40)).expect("an id");
        let work = |remote: &str, prefix: &str| CarriedWork {
            remote: remote.to_owned(),
            commit: commit.clone(),
            prefix: prefix.into(),
        };
        let name: SessionName = "calm-fox".parse().expect("a name");
        let folder = Path::new("/srv/work");
        let one = WorkPlace::below(folder, &work("/a.git", ""), &name, "1");
        let other = WorkPlace::below(folder, &work("/a.git", "shop"), &name, "2");
        assert_ne!((&one.work_tree, &one.index), (&other.work_tree, &other.index));
        assert_eq!(one.store, other.store);
        assert_ne!(one.store, WorkPlace::below(folder, &work("/b.git", ""), &name, "1").store);
        assert_eq!(one, WorkPlace::below(folder, &work("/a.git", ""), &name, "1"));
        assert_eq!(one.root(&work("/a.git", "")), one.work_tree);
        assert_eq!(other.root(&work("/a.git", "shop")), other.work_tree.join("shop"));
    }
}
