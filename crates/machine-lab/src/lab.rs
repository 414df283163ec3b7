//! [`Lab`]: the machines of a test, and what they share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::machine::{Machine, MachineIdentity};
use crate::remote::Remote;

/// A folder with a git remote and the homes of machines.
#[derive(Debug)]
pub struct Lab {
    folder: Arc<TempDir>,
    program: PathBuf,
    remote: Remote,
}

impl Lab {
    /// A lab in which `hookwright` is this program. The remote has one commit with these files.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, files: &[(&str, &str)]) -> Self {
        let folder = TempDir::with_prefix("hookwright-lab-").expect("a temporary folder");
        let at = fs::canonicalize(folder.path()).expect("it exists");
        for name in ["home", "etc", "machines", "shared"] {
            fs::create_dir(at.join(name)).expect("a folder");
        }
        let remote = Remote::create(&at);
        remote.push(files);
        Self { folder: Arc::new(folder), program: program.into(), remote }
    }

    /// The repository that all machines clone.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// A folder that all machines see, for what a test wants to know of them.
    #[must_use]
    pub fn shared_folder(&self) -> PathBuf {
        real(self.folder.path()).join("shared")
    }

    /// Starts a machine with this host name, and with ids that no other machine has.
    #[must_use]
    pub fn machine(&self, name: &str) -> Machine {
        self.machine_as(name, MachineIdentity::of_host(name))
    }

    /// Starts a machine with another identity than its name: with the host name of another
    /// machine, or as a copy of it.
    #[must_use]
    pub fn machine_as(&self, name: &str, identity: MachineIdentity) -> Machine {
        Machine::start(Arc::clone(&self.folder), name, identity, &self.program, &self.remote)
    }
}

/// The folder of a lab, without links.
pub(crate) fn real(folder: &Path) -> PathBuf {
    fs::canonicalize(folder).expect("it exists")
}
