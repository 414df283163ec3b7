//! [`Checkout`]: the repository that a folder belongs to, and whether it is a known one.
//!
//! Nothing here runs what the repository brings: the questions to git start no hooks, no filters
//! and no monitor, and fetch nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hookwright_engine::GIT_LOCATION_VARIABLES;
use hookwright_store::ProjectOrigin;

use super::remote_address::remote_address;

/// Variables that change what git reads, beside those that name the repository.
const GIT_CONFIG_VARIABLES: [&str; 5] = [
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
];

/// A project's folder, in git or outside.
pub(super) struct Checkout {
    root: PathBuf,
    repository: Option<Repository>,
}

struct Repository {
    /// Git's folder, the same for all worktrees.
    git_folder: String,
    /// The project's folder in the work tree; empty for its top.
    folder: String,
    /// The address of its remote, without credentials.
    remote: Option<String>,
    is_shallow: bool,
}

impl Checkout {
    /// The repository of a project's folder.
    pub(super) fn of(root: &Path) -> Result<Self, String> {
        let is_in_git =
            root.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok());
        // A repository that git cannot read must not pass for a folder without one.
        let repository = is_in_git.then(|| Repository::of(root)).transpose()?;
        Ok(Self { root: root.to_owned(), repository })
    }

    /// How it can be recognised later.
    pub(super) fn origin(&self) -> Result<ProjectOrigin, String> {
        let Some(repository) = &self.repository else {
            return Ok(ProjectOrigin::Folder { path: text_of(&self.root) });
        };
        let folder = repository.folder.clone();
        let root_commit = match &repository.remote {
            Some(_) if !repository.is_shallow => root_commit(&self.root)?,
            // The first commit of a shallow clone is only where it was cut off.
            _ => None,
        };
        Ok(match (&repository.remote, root_commit) {
            (Some(address), Some(root_commit)) => {
                ProjectOrigin::Remote { address: address.clone(), root_commit, folder }
            }
            _ => ProjectOrigin::Local { git_folder: repository.git_folder.clone(), folder },
        })
    }

    /// Whether this is where a name came from.
    pub(super) fn is_of(&self, origin: &ProjectOrigin) -> Result<bool, String> {
        Ok(match (origin, &self.repository) {
            (ProjectOrigin::Folder { path }, _) => *path == text_of(&self.root),
            (ProjectOrigin::Local { git_folder, folder }, Some(repository)) => {
                repository.git_folder == *git_folder && repository.folder == *folder
            }
            (ProjectOrigin::Remote { address, root_commit, folder }, Some(repository)) => {
                repository.remote.as_ref() == Some(address)
                    && repository.folder == *folder
                    && has_root_commit(&self.root, root_commit)?
            }
            (ProjectOrigin::Local { .. } | ProjectOrigin::Remote { .. }, None) => false,
        })
    }

    /// Whether it lacks its first commits.
    pub(super) fn is_shallow(&self) -> bool {
        self.repository.as_ref().is_some_and(|repository| repository.is_shallow)
    }
}

impl Repository {
    fn of(root: &Path) -> Result<Self, String> {
        let asked = [
            "rev-parse",
            "--path-format=absolute",
            "--git-common-dir",
            "--is-shallow-repository",
            "--show-prefix",
        ];
        let told = successful(git(root, &asked)?)?;
        let lines: Vec<&[u8]> = told.split(|byte| *byte == b'\n').collect();
        // A path with a line break would look like several answers.
        let [git_folder, is_shallow, folder, b""] = lines[..] else {
            return Err("the repository's path has a line break".to_owned());
        };
        let folder = folder.strip_suffix(b"/").unwrap_or(folder);
        Ok(Self {
            git_folder: escaped(git_folder),
            folder: escaped(folder),
            remote: remote(root)?,
            is_shallow: is_shallow != b"false",
        })
    }
}

/// The address of `origin`, else of the only remote.
fn remote(root: &Path) -> Result<Option<String>, String> {
    let output = git(root, &["config", "--local", "-z", "--get-regexp", r"^remote\..*\.url$"])?;
    // There is none.
    if output.status.code() == Some(1) {
        return Ok(None);
    }
    let told = successful(output)?;
    let told = String::from_utf8_lossy(&told);
    let remotes: Vec<(&str, &str)> =
        told.split_terminator('\0').filter_map(|remote| remote.split_once('\n')).collect();
    let origin = remotes.iter().find(|(name, _)| *name == "remote.origin.url");
    let only = match &remotes[..] {
        [only] => Some(only),
        _ => None,
    };
    Ok(origin.or(only).and_then(|(_, address)| remote_address(address, root)))
}

/// A commit without parents from which the current one descends; `None` before the first commit.
fn root_commit(root: &Path) -> Result<Option<String>, String> {
    if !git(root, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?.status.success() {
        return Ok(None);
    }
    let told = successful(git(root, &["rev-list", "--max-parents=0", "--max-count=1", "HEAD"])?)?;
    let commit = String::from_utf8_lossy(&told).trim().to_owned();
    Ok((!commit.is_empty()).then_some(commit))
}

/// Whether the repository has this commit, and it has no parents.
fn has_root_commit(root: &Path, commit: &str) -> Result<bool, String> {
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(false);
    }
    let output = git(root, &["rev-list", "--no-walk", "--max-parents=0", commit])?;
    // A missing commit is an error for git.
    let told = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && told.trim() == commit)
}

fn git(root: &Path, arguments: &[&str]) -> Result<Output, String> {
    let mut command = Command::new("git");
    command.arg("--no-replace-objects").args(arguments).current_dir(root);
    for name in GIT_LOCATION_VARIABLES.iter().chain(&GIT_CONFIG_VARIABLES) {
        command.env_remove(name);
    }
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_OPTIONAL_LOCKS", "0");
    command.output().map_err(|error| format!("cannot start git: {error}"))
}

fn successful(output: Output) -> Result<Vec<u8>, String> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let first = told.lines().next().unwrap_or_default().trim();
    Err(match first {
        "" => format!("git ended with {}", output.status),
        first => first.to_owned(),
    })
}

/// A path as text, so that no two paths are the same text.
fn text_of(path: &Path) -> String {
    escaped(path.as_os_str().as_encoded_bytes())
}

fn escaped(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}
