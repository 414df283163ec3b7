//! [`WorkPlace`]: where the parts of a work tree are on a worker's machine.

use std::path::{Path, PathBuf};

use super::repository::file;
use super::{CarriedWork, TreeError, WorkFolder};
use crate::folder::SessionName;

/// Bytes of a digest in a name, written with twice as many digits.
const DIGEST_BYTES: usize = 8;

/// Where the parts of a work tree are. The agent works in the first; no command of a session names
/// the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkPlace {
    /// The worker's folder, which contains all of them.
    pub folder: WorkFolder,
    /// The work tree: the same absolute path on all workers.
    pub work_tree: PathBuf,
    /// A bare repository for the objects of all sessions of this remote.
    pub store: PathBuf,
    /// A file for our own index of this work tree.
    pub index: PathBuf,
    /// The file that is locked by the process that uses the work tree.
    pub lock: PathBuf,
}

impl WorkPlace {
    /// The folders of the parts in a worker's folder.
    pub(super) const TREES: &str = "trees";
    pub(super) const STORES: &str = "stores";
    pub(super) const INDEXES: &str = "indexes";
    pub(super) const LOCKS: &str = "locks";

    /// The place of a session below a worker's folder. Sessions of several projects may have one
    /// name; their ids differ.
    pub fn below(
        folder: &WorkFolder,
        work: &CarriedWork,
        session: &SessionName,
        session_id: &str,
    ) -> Self {
        let own = format!("{session}-{}", digest(session_id));
        let store = folder.path().join(Self::STORES).join(format!("{}.git", digest(&work.remote)));
        Self::named(folder, Path::new(&own), store)
    }

    /// The place with this name.
    pub(super) fn named(folder: &WorkFolder, own: &Path, store: PathBuf) -> Self {
        let part = |name: &str| folder.path().join(name).join(own);
        Self {
            folder: folder.clone(),
            work_tree: part(Self::TREES),
            store,
            index: part(Self::INDEXES),
            lock: part(Self::LOCKS),
        }
    }

    /// The project root in the work tree.
    pub fn root(&self, work: &CarriedWork) -> PathBuf {
        match work.prefix.as_os_str().is_empty() {
            true => self.work_tree.clone(),
            false => self.work_tree.join(&work.prefix),
        }
    }

    /// Removes the work tree of a session that has ended. The objects stay for other sessions. No
    /// link below the worker's folder is followed.
    pub fn remove(&self) -> Result<(), TreeError> {
        for path in [&self.work_tree, &self.index] {
            match self.folder.remove(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(file("remove", path, &error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
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
        let folder = &WorkFolder::chosen(Path::new("/srv/work"));
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
