//! [`CaseFolder`]: the folder in which a case runs: the project itself or a temporary copy.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_config::ConfigFile;
use hookwright_config::test_file::TestCase;
use hookwright_engine::GIT_LOCATION_VARIABLES;
use hookwright_engine::variables::Environment;
use hookwright_process::MARKER;
use tempfile::TempDir;

use super::snapshot::ProjectSnapshot;
use super::tree::Tree;
use crate::config_files::ConfigFiles;
use crate::error::ProjectCopyError;

/// The folder of the current copy, so that an immediate exit can remove it.
pub(super) type CopyInUse = Arc<Mutex<Option<PathBuf>>>;

/// The folder in which a case runs.
pub(super) struct CaseFolder {
    pub(super) root: PathBuf,
    copy: Option<Copy>,
    /// Files of the project even if git ignores them, relative to its root.
    needed: Vec<PathBuf>,
}

struct Copy {
    folder: Option<TempDir>,
    in_use: CopyInUse,
}

impl CaseFolder {
    /// The project itself.
    pub(super) fn in_place(config: &ConfigFiles) -> Self {
        let root = config.project_root.clone();
        Self { root, copy: None, needed: needed(config) }
    }

    /// A fresh copy of the project, and the links that were skipped.
    pub(super) fn copy(
        config: &ConfigFiles,
        tree: &Tree,
        in_use: &CopyInUse,
    ) -> Result<(Self, Vec<PathBuf>), ProjectCopyError> {
        let cannot = |cause| ProjectCopyError::Io { path: std::env::temp_dir(), cause };
        let only_its_owner = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new()
            .prefix("hookwright-test-")
            .permissions(only_its_owner)
            .tempdir()
            .map_err(cannot)?;
        *in_use.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.path().to_owned());
        let name = config.project_root.file_name().unwrap_or("project".as_ref());
        let root = fs::canonicalize(folder.path()).map_err(cannot)?.join(name);
        let copy = Copy { folder: Some(folder), in_use: Arc::clone(in_use) };
        let workspace = Self { root, copy: Some(copy), needed: Vec::new() };
        let left_out = tree.copy(&config.project_root, &workspace.root)?;
        Ok((workspace, left_out))
    }

    /// Writes files.
    pub(super) fn lay_down(&self, files: &[(PathBuf, String)]) -> Result<(), String> {
        for (path, text) in files {
            let written = self.lay_one_down(path, text);
            written.map_err(|cause| format!("`{}` cannot be created: {cause}", path.display()))?;
        }
        Ok(())
    }

    fn lay_one_down(&self, path: &Path, text: &str) -> io::Result<()> {
        let target = self.root.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
            // A hook of an earlier step may have created a link there.
            if !fs::canonicalize(folder)?.starts_with(&self.root) {
                return Err(io::Error::other("its folder is outside the copy"));
            }
        }
        if fs::symlink_metadata(&target).is_ok_and(|metadata| metadata.is_symlink()) {
            fs::remove_file(&target)?;
        }
        fs::write(target, text)
    }

    /// The current files.
    pub(super) fn snapshot(&self) -> Result<ProjectSnapshot, ProjectCopyError> {
        let tree = match self.copy {
            Some(_) => Tree::below(&self.root)?,
            None => Tree::of_project(&self.root, &self.needed)?,
        };
        Ok(ProjectSnapshot::take(&self.root, &tree))
    }

    /// The configuration files, with those of the project at their paths in this workspace.
    pub(super) fn config_files(&self, config: &ConfigFiles) -> Vec<ConfigFile> {
        let here = |file: &ConfigFile| {
            let path = match (&self.copy, within(&file.path, &config.project_root)) {
                (Some(_), Some(path)) => self.root.join(path),
                _ => file.path.clone(),
            };
            ConfigFile { path, ..file.clone() }
        };
        config.files.iter().map(here).collect()
    }

    /// The hooks' environment: our own with the case's variables on top, marked so that leftover
    /// processes can be found.
    pub(super) fn environment(&self, case: &TestCase, marker: &str) -> Environment {
        let mut all: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        if self.copy.is_some() {
            // A hook that calls git must not reach the repository that this command was started in,
            // nor one around the copy.
            all.retain(|(name, _)| !GIT_LOCATION_VARIABLES.iter().any(|location| name == location));
            let above = self.root.parent().unwrap_or(&self.root);
            all.push(("GIT_CEILING_DIRECTORIES".into(), above.into()));
        }
        let outer = std::env::var_os(MARKER).filter(|outer| !outer.is_empty());
        let mut chain = outer.map_or_else(OsString::new, |mut outer| {
            outer.push(":");
            outer
        });
        chain.push(marker);
        all.push((MARKER.into(), chain));
        all.extend(case.env.iter().map(|(name, value)| (name.into(), value.into())));
        Environment::new(all)
    }
}

/// The project's own hook files, relative to its root.
pub(super) fn needed(config: &ConfigFiles) -> Vec<PathBuf> {
    let root = &config.project_root;
    config.files.iter().filter_map(|file| within(&file.path, root)).collect()
}

fn within(path: &Path, root: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    real.strip_prefix(root).ok().map(Path::to_owned)
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            remove(&folder.keep());
        }
        *self.in_use.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Removes the folder of the current copy, if there is one.
pub(super) fn remove_copy_in_use(in_use: &CopyInUse) {
    if let Some(folder) = in_use.lock().unwrap_or_else(PoisonError::into_inner).take() {
        remove(&folder);
    }
}

/// Removes a folder, even if a hook has made folders in it inaccessible.
fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_ok() {
        return;
    }
    let mut closed = vec![folder.to_owned()];
    while let Some(folder) = closed.pop() {
        // If a folder cannot be opened, the rest is still removed.
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        closed.extend(folders.map(|entry| entry.path()));
    }
    let _ = fs::remove_dir_all(folder);
}
