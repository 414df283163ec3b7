//! [`KeptProjects`]: which repositories have a project's name, stored as records.
//!
//! A name belongs to the repository that first stores something under it. Another one that claims
//! the name is refused until a person confirms that it is the same project. Otherwise a cloned
//! repository could read and complete the tasks of another project.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{Commit, Expected, Kind, Put, Record, RecordKey, Store, StoreError, limits};

/// The names of projects.
#[derive(Clone)]
pub struct KeptProjects {
    store: Arc<dyn Store>,
}

/// How a project is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectOrigin {
    /// A repository with a remote, wherever it was cloned.
    Remote {
        /// Where the remote is, without credentials.
        address: String,
        /// A commit without parents.
        root_commit: String,
        /// The project's folder in the repository; empty for its top.
        folder: String,
    },
    /// A repository on this machine that has no remote or no commits, or a shallow clone.
    Local {
        /// The path of git's folder, which all worktrees share.
        git_folder: String,
        /// The project's folder in the repository; empty for its top.
        folder: String,
    },
    /// A folder outside of git.
    Folder {
        /// Its path.
        path: String,
    },
}

/// The origins that have a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProject {
    /// In the order in which they got the name.
    pub origins: Vec<ProjectOrigin>,
    version: u64,
}

/// Why the name of a project could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record is damaged, or a newer version of the program wrote it.
    #[error("the project `{name}` cannot be read")]
    Unreadable {
        /// The project's name.
        name: String,
    },
    /// Too many repositories have the name.
    #[error("expected at most {max} repositories with the project name `{name}`")]
    TooMany {
        /// The project's name.
        name: String,
        /// The limit.
        max: usize,
    },
}

impl KeptProjects {
    /// The names in a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The origins that have this name, if any has it.
    pub fn get(&self, name: &str) -> Result<Option<NamedProject>, ProjectError> {
        let record = self.store.get(Kind::Project, &key(name))?;
        record.map(|record| read(&record)).transpose()
    }

    /// Gives a name to its first origin. Returns the origins that have it then: another process may
    /// have been faster.
    pub fn bind(
        &self,
        name: &str,
        origin: ProjectOrigin,
        now_ms: i64,
    ) -> Result<NamedProject, ProjectError> {
        loop {
            if let Some(known) = self.get(name)? {
                return Ok(known);
            }
            self.write(name, None, std::slice::from_ref(&origin), now_ms)?;
        }
    }

    /// Adds an origin to a name, or replaces all others by it.
    pub fn confirm(
        &self,
        name: &str,
        origin: &ProjectOrigin,
        replace: bool,
        now_ms: i64,
    ) -> Result<NamedProject, ProjectError> {
        loop {
            let known = self.get(name)?;
            let mut origins = known.iter().flat_map(|known| known.origins.clone()).collect();
            if replace {
                origins = Vec::new();
            }
            if !origins.contains(origin) {
                origins.push(origin.clone());
            }
            if let Some(known) = known.as_ref().filter(|known| known.origins == origins) {
                return Ok(known.clone());
            }
            if let Some(version) = self.write(name, known.as_ref(), &origins, now_ms)? {
                return Ok(NamedProject { origins, version });
            }
        }
    }

    /// The record's new version; `None` if another process has changed it.
    fn write(
        &self,
        name: &str,
        known: Option<&NamedProject>,
        origins: &[ProjectOrigin],
        now_ms: i64,
    ) -> Result<Option<u64>, ProjectError> {
        let max = limits::ORIGINS_PER_PROJECT_MAX;
        if origins.len() > max {
            return Err(ProjectError::TooMany { name: name.to_owned(), max });
        }
        let origins: Vec<Value> = origins.iter().map(ProjectOrigin::to_json).collect();
        let put = Put {
            kind: Kind::Project,
            key: key(name),
            expected: known.map_or(Expected::Absent, |known| Expected::Version(known.version)),
            value: json!({ "version": 1, "origins": origins }).to_string(),
            created_at_ms: now_ms,
            status: "named".to_owned(),
            queued: None,
            moves: None,
        };
        match self.store.commit(&Commit { puts: vec![put], ..Commit::synced() }) {
            Ok(committed) => Ok(committed.versions.first().copied()),
            Err(StoreError::RecordConflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl ProjectOrigin {
    fn to_json(&self) -> Value {
        match self {
            Self::Remote { address, root_commit, folder } => {
                json!({ "remote": address, "root_commit": root_commit, "folder": folder })
            }
            Self::Local { git_folder, folder } => {
                json!({ "git_folder": git_folder, "folder": folder })
            }
            Self::Folder { path } => json!({ "path": path }),
        }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        if let Some(address) = text("remote") {
            let (root_commit, folder) = (text("root_commit")?, text("folder")?);
            return Some(Self::Remote { address, root_commit, folder });
        }
        if let Some(git_folder) = text("git_folder") {
            return Some(Self::Local { git_folder, folder: text("folder")? });
        }
        Some(Self::Folder { path: text("path")? })
    }
}

fn read(record: &Record) -> Result<NamedProject, ProjectError> {
    let parse = || -> Option<Vec<ProjectOrigin>> {
        let value: Value = serde_json::from_str(&record.value).ok()?;
        value.get("origins")?.as_array()?.iter().map(ProjectOrigin::from_json).collect()
    };
    let unreadable = || ProjectError::Unreadable { name: record.key.name.clone() };
    let origins = parse().ok_or_else(unreadable)?;
    Ok(NamedProject { origins, version: record.version })
}

/// Names belong to no project.
fn key(name: &str) -> RecordKey {
    RecordKey { project: String::new(), name: name.to_owned() }
}
