//! [`Repositories`]: the two repositories of a work tree.
//!
//! The agent's own is `.git` in the work tree, as everywhere. The agent can write to it, settings
//! included, so only calls that run nothing use it: they read and write refs and its index.
//!
//! The store is ours, outside the work tree, and shared by all sessions of one remote on this
//! machine. Every call that looks at files, hashes or writes them, or talks to the remote, uses its
//! settings, and finds the agent's objects as an alternate. The agent's repository finds the store's
//! objects in the same way, so nothing is copied between both.
//!
//! In the store, filters are off: content goes into a tree and comes out of it as git sees it
//! without programs. An agent can write there too, so the store's settings are written again before
//! they are used: git would run programs that they name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::git_program::{GitCall, GitProgram};
use super::own_files::{read_own, remove_path, write_own};
use super::{TreeError, WorkPlace};

/// Overrides `filter` for all files; other attributes apply.
const ATTRIBUTES: &str = "* -filter\n";

/// Settings of a store that `git init` finds out about the file system. Each is `true` or `false`.
const OF_FILE_SYSTEM: [&str; 4] = ["filemode", "symlinks", "ignorecase", "precomposeunicode"];

/// Bytes of a store's settings that are looked at: `git init` writes a tenth of that.
const SETTINGS_BYTES_MAX: u64 = 4096;

/// A work tree with its repositories.
#[derive(Debug, Clone)]
pub(super) struct Repositories {
    git: GitProgram,
    work_tree: PathBuf,
    agents: PathBuf,
    store: PathBuf,
    /// Our index of the work tree.
    index: PathBuf,
}

impl Repositories {
    pub(super) fn new(git: GitProgram, place: &WorkPlace) -> Self {
        let WorkPlace { folder: _, work_tree, store, index, lock: _ } = place;
        Self {
            git,
            work_tree: work_tree.clone(),
            agents: work_tree.join(".git"),
            store: store.clone(),
            index: index.clone(),
        }
    }

    pub(super) fn work_tree(&self) -> &Path {
        &self.work_tree
    }

    pub(super) fn agents_index(&self) -> PathBuf {
        self.agents.join("index")
    }

    pub(super) fn index(&self) -> &Path {
        &self.index
    }

    /// Whether the agent's index may be spread over two files (`git update-index --split-index`).
    pub(super) fn has_split_index(&self) -> bool {
        let entries = fs::read_dir(&self.agents).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name())
            .any(|name| name.as_encoded_bytes().starts_with(b"sharedindex."))
    }

    /// Makes our copy of the agent's index a whole one.
    pub(super) async fn join_index(&self, doing: &'static str) -> Result<(), TreeError> {
        // Git looks for the other file in the agent's repository. It reads no file of the work tree.
        let join = self.agents(doing, &["update-index", "--no-split-index"]);
        join.variable("GIT_INDEX_FILE", &self.index).done().await?;
        Ok(())
    }

    /// A call in the store that finds no objects of the agent's repository.
    pub(super) fn store_alone<'a>(
        &'a self,
        doing: &'static str,
        arguments: &[&str],
    ) -> GitCall<'a> {
        self.git.call(&self.store, doing, arguments).variable("GIT_DIR", &self.store)
    }

    /// A call in the store that needs no work tree.
    pub(super) fn store<'a>(&'a self, doing: &'static str, arguments: &[&str]) -> GitCall<'a> {
        let call = self.store_alone(doing, arguments);
        match self.agents.is_dir() {
            true => call
                .variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.agents.join("objects"))),
            false => call,
        }
    }

    /// A call with the store's settings, this index and the files of the work tree. An agent can
    /// have a sparse checkout; the index tells which files that leaves out.
    pub(super) fn files<'a>(
        &'a self,
        doing: &'static str,
        index: &Path,
        arguments: &[&str],
    ) -> GitCall<'a> {
        let sparse: Vec<&str> =
            ["-c", "core.sparseCheckout=true"].iter().chain(arguments).copied().collect();
        let call = self.git.call(&self.work_tree, doing, &sparse);
        call.variable("GIT_DIR", &self.store)
            .variable("GIT_WORK_TREE", &self.work_tree)
            .variable("GIT_INDEX_FILE", index)
            .variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.agents.join("objects")))
    }

    /// A call in the agent's repository. It must run nothing that settings name.
    pub(super) fn agents<'a>(&'a self, doing: &'static str, arguments: &[&str]) -> GitCall<'a> {
        let call = self.git.call(&self.work_tree, doing, arguments);
        call.variable("GIT_DIR", &self.agents).variable("GIT_WORK_TREE", &self.work_tree)
    }

    /// Makes the store, if it is missing.
    pub(super) async fn make_store(&self) -> Result<(), TreeError> {
        let doing = "create the local store of git objects";
        if !self.store.join("HEAD").exists() {
            self.make_new_store(doing).await?;
        }
        self.renew_settings()?;
        match self.index.parent() {
            Some(folder) => make_folder(folder),
            None => Ok(()),
        }
    }

    /// Writes the store's settings, whatever somebody has done to them.
    pub(super) fn renew_settings(&self) -> Result<(), TreeError> {
        // It would name a folder with other settings. Fails if the store is a link.
        let elsewhere = self.store.join("commondir");
        remove_path(&elsewhere).map_err(|error| file("remove", &elsewhere, &error))?;
        let settings = self.store.join("config");
        let found = read_own(&settings, SETTINGS_BYTES_MAX).unwrap_or_default();
        write(&settings, store_settings(&String::from_utf8_lossy(&found)).as_bytes())?;
        let info = self.store.join("info");
        make_folder(&info)?;
        write(&info.join("attributes"), ATTRIBUTES.as_bytes())
    }

    /// Sessions that begin at the same moment would disturb each other's `git init`, so each makes a
    /// store of its own, and the first one that is complete counts.
    async fn make_new_store(&self, doing: &'static str) -> Result<(), TreeError> {
        let folder = self.store.parent().unwrap_or(Path::new("/"));
        make_folder(folder)?;
        let made = tempfile::Builder::new().prefix("new-").tempdir_in(folder);
        let made = made.map_err(|error| file("create", folder, &error))?;
        let init =
            ["-c", "init.defaultRefFormat=files", "init", "--quiet", "--bare", "--template="];
        let call = self.git.call(folder, doing, &init);
        call.argument("--").argument(made.path()).done().await?;
        match fs::rename(made.path(), &self.store) {
            Err(error) if !self.store.join("HEAD").exists() => {
                Err(file("create", &self.store, &error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes the locks of these refs in the store. A call that was killed has left them: only the
    /// process that has the session changes its refs.
    pub(super) fn remove_locks_below(&self, prefix: &str) -> Result<(), TreeError> {
        let mut folders = vec![self.store.join(prefix)];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(file("read", &folder, &error)),
            };
            for entry in entries.flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "lock") {
                    fs::remove_file(&path).map_err(|error| file("remove", &path, &error))?;
                }
            }
        }
        Ok(())
    }

    /// Makes the agent's repository anew, without commits. What an agent has done to an earlier one
    /// has no effect any more.
    pub(super) async fn renew_agents(&self, remote: &str) -> Result<(), TreeError> {
        let doing = "create the repository of the work tree";
        // An agent may have moved its work tree away, and left a link to something that is not its own.
        if fs::symlink_metadata(&self.work_tree).is_ok_and(|found| !found.is_dir()) {
            let removed = fs::remove_file(&self.work_tree);
            removed.map_err(|error| file("remove", &self.work_tree, &error))?;
        }
        make_folder(&self.work_tree)?;
        let removed = remove_path(&self.agents);
        removed.map_err(|error| file("remove", &self.agents, &error))?;
        let call = self.git.call(&self.work_tree, doing, &["init", "--quiet", "--template="]);
        call.argument("--").argument(&self.work_tree).done().await?;
        let mut alternates = self.store.join("objects").into_os_string();
        alternates.push("\n");
        let info = self.agents.join("objects/info");
        make_folder(&info)?;
        write(&info.join("alternates"), alternates.as_encoded_bytes())?;
        for (name, value) in [
            ("remote.origin.url", remote),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ] {
            self.agents(doing, &["config", name, value]).done().await?;
        }
        Ok(())
    }
}

/// The settings of a store, with what these say about the file system and its objects.
fn store_settings(found: &str) -> String {
    let says = |line: &str| found.lines().any(|found| found.trim() == line);
    let of_file_system = OF_FILE_SYSTEM
        .iter()
        .flat_map(|name| ["true", "false"].map(|value| format!("{name} = {value}")));
    let of_file_system: String =
        of_file_system.filter(|line| says(line)).map(|line| format!("\t{line}\n")).collect();
    let (version, extensions) = match says("objectformat = sha256") {
        true => (1, "[extensions]\n\tobjectformat = sha256\n"),
        false => (0, ""),
    };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{of_file_system}{extensions}"
    )
}

/// A path in a list of alternates.
fn quoted(path: &Path) -> std::ffi::OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'"');
    std::ffi::OsString::from_vec(quoted)
}

fn make_folder(path: &Path) -> Result<(), TreeError> {
    fs::create_dir_all(path).map_err(|error| file("create", path, &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), TreeError> {
    write_own(path, bytes).map_err(|error| file("write", path, &error))
}

pub(super) fn file(doing: &'static str, path: &Path, error: &io::Error) -> TreeError {
    TreeError::File { doing, path: path.to_owned(), cause: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_git_init_does_not_write_are_left_out() {
        let written = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
        let ours = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfilemode = true\n";
        assert_eq!(store_settings(written), ours);
        assert_eq!(store_settings(ours), ours);
        let planted = format!("{written}\tsshCommand = touch x\n[include]\n\tpath = /tmp/x\n");
        assert_eq!(store_settings(&planted), ours);
        assert_eq!(store_settings(""), ours.replace("\tfilemode = true\n", ""));
        let sha256 = "[extensions]\n\tobjectformat = sha256\n";
        assert!(store_settings(&format!("{written}{sha256}")).ends_with(sha256));
    }
}
