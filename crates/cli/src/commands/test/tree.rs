//! A project's files, and a copy of them.
//!
//! In a git repository these are the files that git tracks or would add: a case then sees what a
//! fresh clone has, and uncommitted files. Elsewhere it is everything but [`HEAVY`].

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use hookwright_engine::GIT_LOCATION_VARIABLES;

use crate::error::{Failure, ProjectCopyError, TestFailure, without_number};

/// Files of a project to copy for every case. Copying more takes longer than any test.
const FILES_MAX: usize = 20_000;

/// Bytes of all these files, for the same reason.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Large folders that tools can create again.
const HEAVY: [&str; 2] = ["target", "node_modules"];

/// The files of a project, relative to its root.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: Vec<PathBuf>,
    /// Empty folders.
    folders: Vec<PathBuf>,
    bytes: u64,
}

impl Tree {
    /// The files of a project. `needed` are included even if git ignores them.
    pub(super) fn of_project(root: &Path, needed: &[PathBuf]) -> Result<Self, ProjectCopyError> {
        let mut tree = Tree::default();
        match known_to_git(root).filter(|known| needed.iter().all(|path| known.contains(path))) {
            Some(known) => {
                for path in known {
                    // A submodule, or a nested repository.
                    if is_real_folder(&root.join(&path)) {
                        tree.walk(root, &path, &is_heavy)?;
                    } else {
                        tree.add(root, path)?;
                    }
                }
            }
            None => tree.walk(root, Path::new(""), &is_heavy)?,
        }
        tree.files.sort();
        Ok(tree)
    }

    /// Every file below a folder, except git's own.
    pub(super) fn below(root: &Path) -> Result<Self, ProjectCopyError> {
        let mut tree = Tree::default();
        tree.walk(root, Path::new(""), &|path| path.ends_with(".git"))?;
        tree.files.sort();
        Ok(tree)
    }

    /// Copies everything. Returns the skipped links that lead out of the project.
    pub(super) fn copy(&self, root: &Path, to: &Path) -> Result<Vec<PathBuf>, ProjectCopyError> {
        let mut left_out = Vec::new();
        fs::create_dir_all(to).map_err(|cause| ProjectCopyError::io(to, cause))?;
        for folder in &self.folders {
            let made = fs::create_dir_all(to.join(folder));
            made.map_err(|cause| ProjectCopyError::io(folder, cause))?;
        }
        for path in &self.files {
            let (from, target) = (root.join(path), to.join(path));
            match copy_one(&from, &target, root, to) {
                Ok(Copied::Yes) => {}
                Ok(Copied::LeadsOut) => left_out.push(path.clone()),
                // It has disappeared since it was listed: the project is being edited.
                Err(_) if fs::symlink_metadata(&from).is_err() => {}
                Err(cause) => return Err(ProjectCopyError::io(path, cause)),
            }
        }
        Ok(left_out)
    }

    fn walk(
        &mut self,
        root: &Path,
        below: &Path,
        skip: &dyn Fn(&Path) -> bool,
    ) -> Result<(), ProjectCopyError> {
        // Not by recursion: a hook may have created folders deeper than any stack.
        let mut folders = vec![below.to_owned()];
        while let Some(folder) = folders.pop() {
            let cannot = |cause| ProjectCopyError::io(&folder, cause);
            let mut entries = fs::read_dir(root.join(&folder)).map_err(cannot)?.peekable();
            if entries.peek().is_none() {
                self.folders.push(folder.clone());
            }
            for entry in entries {
                let entry = entry.map_err(cannot)?;
                let path = folder.join(entry.file_name());
                if skip(&path) {
                    continue;
                }
                if entry.file_type().map_err(cannot)?.is_dir() {
                    folders.push(path);
                } else {
                    self.add(root, path)?;
                }
            }
            if self.folders.len() + folders.len() > FILES_MAX {
                return Err(ProjectCopyError::TooManyFiles { files_max: FILES_MAX });
            }
        }
        Ok(())
    }

    /// Adds a file or a link. Pipes, sockets and devices are skipped.
    fn add(&mut self, root: &Path, path: PathBuf) -> Result<(), ProjectCopyError> {
        let metadata = match fs::symlink_metadata(root.join(&path)) {
            // Tracked by git, but deleted since.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(cause) => return Err(ProjectCopyError::io(&path, cause)),
            Ok(metadata) => metadata,
        };
        if !metadata.is_file() && !metadata.is_symlink() {
            return Ok(());
        }
        self.bytes += metadata.len();
        self.files.push(path);
        if self.files.len() > FILES_MAX {
            return Err(ProjectCopyError::TooManyFiles { files_max: FILES_MAX });
        }
        if self.bytes > BYTES_MAX {
            return Err(ProjectCopyError::TooManyBytes { bytes_max: BYTES_MAX });
        }
        Ok(())
    }
}

impl ProjectCopyError {
    fn io(path: &Path, cause: io::Error) -> Self {
        ProjectCopyError::Io { path: path.to_owned(), cause }
    }

    /// The cause, as a clause.
    pub(crate) fn in_words(&self) -> String {
        match self {
            ProjectCopyError::TooManyFiles { files_max } => {
                format!("there are more than {files_max} files")
            }
            ProjectCopyError::TooManyBytes { bytes_max } => {
                format!("there are more than {bytes_max} bytes")
            }
            ProjectCopyError::Io { path, cause } => {
                format!("`{}`: {}", path.display(), without_number(cause))
            }
        }
    }

    /// The failure for a project.
    pub(super) fn into_failure(self, root: PathBuf) -> Failure {
        Failure::Test(TestFailure::CannotCopy { root, cause: self })
    }
}

/// The files that git tracks or would add; `None` outside of a repository and without git.
fn known_to_git(root: &Path) -> Option<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStringExt;
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for name in GIT_LOCATION_VARIABLES {
        git.env_remove(name);
    }
    let output = git.current_dir(root).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let path = |name: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()));
    let mut paths: Vec<PathBuf> = names.map(path).collect();
    // A file in conflict is listed once for each side.
    paths.dedup();
    output.status.success().then_some(paths)
}

fn is_heavy(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name == ".git"
        || HEAVY.iter().any(|heavy| name == *heavy)
        || path.ends_with(".hookwright/sessions")
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

enum Copied {
    Yes,
    LeadsOut,
}

fn copy_one(from: &Path, to: &Path, root: &Path, copy_root: &Path) -> io::Result<Copied> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if !fs::symlink_metadata(from)?.is_symlink() {
        // Keeps the permissions.
        fs::copy(from, to)?;
        return Ok(Copied::Yes);
    }
    match link_within(from, root)? {
        Some(CopiedLink::AsItIs(target)) => symlink(target, to)?,
        Some(CopiedLink::To(path)) => symlink(copy_root.join(path), to)?,
        None => return Ok(Copied::LeadsOut),
    }
    Ok(Copied::Yes)
}

/// The target of a link in the copy.
#[derive(Debug, PartialEq, Eq)]
enum CopiedLink {
    AsItIs(PathBuf),
    /// Relative to the root.
    To(PathBuf),
}

/// A link's target, if it is within the project. A copy must not have a link to the outside: a hook
/// would write the user's own file through it.
fn link_within(link: &Path, root: &Path) -> io::Result<Option<CopiedLink>> {
    let target = fs::read_link(link)?;
    let folder = link.parent().unwrap_or(root);
    let stays = never_leaves(folder, &target, root);
    match fs::canonicalize(link) {
        Ok(real) => {
            let within = real.strip_prefix(root).map(Path::to_owned).ok();
            Ok(within
                .map(|path| if stays { CopiedLink::AsItIs(target) } else { CopiedLink::To(path) }))
        }
        // Its target does not exist yet.
        Err(_) => Ok(stays.then_some(CopiedLink::AsItIs(target))),
    }
}

/// Whether following `target` from `folder`, name by name, stays within the root: the copy has
/// other neighbours than the project.
fn never_leaves(folder: &Path, target: &Path, root: &Path) -> bool {
    let mut path = folder.to_owned();
    target.components().all(|part| match part {
        Component::Normal(name) => {
            path.push(name);
            true
        }
        Component::CurDir => true,
        Component::ParentDir => path.pop() && path.starts_with(root),
        Component::RootDir | Component::Prefix(_) => false,
    })
}

#[cfg(test)]
mod tests;
