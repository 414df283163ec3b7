//! [`Remote`]: a bare repository that machines fetch from and push to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A bare repository, and the clone of somebody who pushes to it.
#[derive(Debug)]
pub struct Remote {
    folder: PathBuf,
    author: PathBuf,
}

impl Remote {
    /// A repository below this folder.
    pub(crate) fn create(lab: &Path) -> Self {
        let remote = Self { folder: lab.join("remote.git"), author: lab.join("author") };
        git(lab, &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
        git(lab, &["clone", "--quiet", "remote.git", "author"]);
        git(&remote.author, &["switch", "--quiet", "--orphan", "main"]);
        remote
    }

    /// Where it is, also inside the machines.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Pushes a commit with these files to `main`, and returns its id.
    pub fn push(&self, files: &[(&str, &str)]) -> String {
        for (name, text) in files {
            let path = self.author.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        git(&self.author, &["add", "--all"]);
        git(&self.author, &["commit", "--quiet", "--allow-empty", "--message=files"]);
        git(&self.author, &["push", "--quiet", "origin", "main"]);
        self.git(&["rev-parse", "main"])
    }

    /// The names of all refs that begin so, in order.
    #[must_use]
    pub fn refs(&self, prefix: &str) -> Vec<String> {
        let listed = self.git(&["for-each-ref", "--format=%(refname)", prefix]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Runs git in the repository, and returns what it prints.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.folder, arguments)
    }

    /// Refuses every push from now on.
    pub fn refuse(&self) {
        let hook = self.hook();
        fs::write(&hook, "#!/bin/sh\necho 'no pushes today' >&2\nexit 1\n").expect("a file");
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// Admits pushes again.
    pub fn admit(&self) {
        fs::remove_file(self.hook()).expect("it has refused");
    }

    /// It is no longer where it was.
    pub fn disappear(&self) {
        fs::rename(&self.folder, self.elsewhere()).expect("it is there");
    }

    /// It is back.
    pub fn appear(&self) {
        fs::rename(self.elsewhere(), &self.folder).expect("it has disappeared");
    }

    fn hook(&self) -> PathBuf {
        self.folder.join("hooks/pre-receive")
    }

    fn elsewhere(&self) -> PathBuf {
        self.folder.with_file_name("elsewhere.git")
    }
}

/// Runs git without the user's settings.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Author", "-c", "user.email=author@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env_remove("GIT_DIR")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("tests need the package `git`");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}
