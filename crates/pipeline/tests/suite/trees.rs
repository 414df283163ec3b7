//! Work trees that travel: real repositories, a bare one as the remote, two homes.

mod hostile;
mod keeping;
mod remotes;
mod setup;
mod submitting;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use hookwright_engine::Secrets;
use hookwright_pipeline::trees::{
    Carriable, CarriedWork, GitProgram, GitTrees, KeptTree, TreeError, TreeId, TreeRefs, Trees,
    WorkFolder, WorkPlace,
};
use tempfile::TempDir;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A bare repository, and a checkout of it with the commit that was submitted.
pub(crate) struct Project {
    dir: TempDir,
    environment: Vec<(OsString, OsString)>,
    secrets: Secrets,
}

/// A machine that works on the session.
pub(crate) struct Machine<'a> {
    project: &'a Project,
    pub(crate) place: WorkPlace,
    pub(crate) trees: GitTrees,
}

impl Project {
    /// With these files in its first commit.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().expect("a folder");
        let mut project = Self { dir, environment: Vec::new(), secrets: Secrets::default() };
        fs::create_dir(project.path("home")).expect("made");
        project.set("PATH", PATH);
        project.set("HOME", project.path("home"));
        project.set("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            project.set(&format!("GIT_{who}_NAME"), "A");
            project.set(&format!("GIT_{who}_EMAIL"), "a@example.com");
        }
        project.git(project.dir.path(), &["init", "--quiet", "--bare", "remote.git"]);
        project.git(project.dir.path(), &["init", "--quiet", "-b", "main", "checkout"]);
        for (name, text) in files {
            write(&project.path("checkout").join(name), text);
        }
        let checkout = project.path("checkout");
        project.git(&checkout, &["add", "-A"]);
        project.git(&checkout, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
        let remote = project.path("remote.git");
        project.git(&checkout, &["remote", "add", "origin", &remote.to_string_lossy()]);
        project
    }

    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.environment.push((name.into(), value.as_ref().to_owned()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn checkout(&self) -> PathBuf {
        self.path("checkout")
    }

    pub(crate) fn program(&self) -> GitProgram {
        GitProgram::find(&self.environment).expect("git is there")
    }

    async fn find(&self) -> Carriable {
        Carriable::find(&self.program(), &self.checkout()).await.expect("it can be carried")
    }

    pub(crate) async fn submit(&self) -> CarriedWork {
        let found = self.find().await;
        let (git, root) = (self.program(), self.checkout());
        found.submit(&git, &root, &refs(), &self.secrets).await.expect("sent");
        found.work
    }

    /// A machine that has claimed the session, with this token, before it has a work tree.
    pub(crate) fn machine(&self, name: &str, work: &CarriedWork, token: u64) -> Machine<'_> {
        let place = self.place(name);
        let trees = self.trees(&place, work, token);
        Machine { project: self, place, trees }
    }

    pub(crate) fn place(&self, name: &str) -> WorkPlace {
        let below = self.path(name);
        WorkPlace {
            folder: WorkFolder::chosen(&below),
            work_tree: below.join("tree"),
            store: below.join("objects.git"),
            index: below.join("index"),
            lock: below.join("lock"),
        }
    }

    pub(crate) fn trees(&self, place: &WorkPlace, work: &CarriedWork, token: u64) -> GitTrees {
        GitTrees::new(self.program(), work, refs(), token, place, self.secrets.clone())
    }

    pub(crate) fn git(&self, folder: &Path, words: &[&str]) -> String {
        let output = self.command(folder, words).output().expect("git is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {words:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn command(&self, folder: &Path, words: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.args(words).current_dir(folder).env_clear();
        git.envs(self.environment.iter().map(|(name, value)| (name, value)));
        git
    }

    /// The refs of the remote below a prefix.
    pub(crate) fn refs(&self, prefix: &str) -> Vec<String> {
        let listed = ["for-each-ref", "--format=%(refname)", prefix];
        self.git(&self.path("remote.git"), &listed).lines().map(str::to_owned).collect()
    }
}

impl Machine<'_> {
    fn tree(&self) -> &Path {
        &self.place.work_tree
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.tree().join(name), text);
    }

    fn git(&self, words: &[&str]) -> String {
        self.project.git(self.tree(), words)
    }

    async fn keep(&self) -> TreeId {
        self.keep_all().await.tree.expect("a tree")
    }

    async fn keep_all(&self) -> KeptTree {
        self.trees.keep().await.expect("kept")
    }

    async fn refusal(&self) -> TreeError {
        self.trees.keep().await.expect_err("refused")
    }
}

fn refs() -> TreeRefs {
    TreeRefs::new("calm-fox".parse().expect("a name"), "id")
}

/// A ref of the session.
fn of_session(end: &str) -> String {
    format!("refs/hookwright/calm-fox/a56145270ce6b3be/{end}")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

/// Everything below a folder except `.git`: paths, permissions and contents.
fn everything(root: &Path) -> Vec<(Vec<u8>, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path == root.join(".git") {
                continue;
            }
            let kind = fs::symlink_metadata(&path).expect("there");
            let name = path.strip_prefix(root).expect("below").as_os_str().as_bytes().to_vec();
            let is_executable = kind.permissions().mode() & 0o100;
            if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                found.push((name, 0, target.as_os_str().as_bytes().to_vec()));
            } else if kind.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(kind.nlink(), 1);
                found.push((name, is_executable, fs::read(&path).expect("readable")));
            }
        }
    }
    found.sort();
    found
}
