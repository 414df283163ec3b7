//! [`Sandbox`]: a temporary home directory with a project in which the real binary runs. It sees
//! nothing of the machine but `PATH`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hookwright_process::IgnoredSignals;
use tempfile::TempDir;

/// A home folder with a project in it.
pub(crate) struct Sandbox {
    home: TempDir,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

/// How the binary ended, and what it printed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// An empty project, `~/project`.
    pub(crate) fn new() -> Self {
        // The binary must not inherit signals that the tests were started to ignore, as with nohup.
        IgnoredSignals::read().catch().expect("signals can be caught");
        let home = TempDir::new().expect("a folder");
        let root = fs::canonicalize(home.path()).expect("it exists");
        let folder = root.join("project");
        fs::create_dir(&folder).expect("made");
        Self { home, folder, environment: Vec::new() }
    }

    /// A project with this `hookwright.yaml`.
    pub(crate) fn with_hooks(text: &str) -> Self {
        Self::new().file("hookwright.yaml", text)
    }

    /// Writes a file; its path is relative to the project.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
        self
    }

    /// Writes a program; its path is relative to the project. Another process does it: a child that
    /// another test starts meanwhile inherits all files that are open here, and a file that is open
    /// for writing cannot be executed.
    pub(crate) fn program(self, name: &str, text: &str) -> Self {
        let mut install = Command::new("install");
        install.args(["-D", "-m", "755", "/dev/stdin"]).arg(self.path(name)).stdin(Stdio::piped());
        let mut child = install.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it reads");
        drop(stdin);
        assert!(child.wait().expect("it ends").success(), "{name} cannot be written");
        self
    }

    /// Writes the file for all projects.
    pub(crate) fn global(self, content: &str) -> Self {
        self.file("../.config/hookwright/hooks.yaml", content)
    }

    /// Sets a variable.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs in this folder from here on; its path is relative to the project.
    pub(crate) fn inside(mut self, folder: &str) -> Self {
        self.folder = self.path(folder);
        fs::create_dir_all(&self.folder).expect("made");
        self
    }

    /// A path relative to the folder in which the binary runs.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The binary, ready to run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookwright"));
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("HOME", fs::canonicalize(self.home.path()).expect("it exists"))
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(self.environment.iter().cloned());
        command
    }

    /// Runs the binary.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().expect("it starts"))
    }

    /// Runs the binary and reads the one JSON value that it prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, serde_json::Value) {
        let ran = self.run(arguments);
        assert_eq!(ran.stderr, "");
        let value = serde_json::from_str(&ran.stdout).expect("one JSON value");
        (ran.code, value)
    }
}

impl Sandbox {
    /// Runs the binary and parses the one JSON value that it prints, whatever is on standard error.
    pub(crate) fn json_and_talk(&self, arguments: &[&str]) -> (i32, serde_json::Value) {
        let ran = self.run(arguments);
        let value = serde_json::from_str(&ran.stdout);
        (ran.code, value.unwrap_or_else(|error| panic!("{error}: {ran:?}")))
    }
}

impl Ran {
    pub(crate) fn new(code: i32, stdout: &str, stderr: &str) -> Self {
        Self { code, stdout: stdout.into(), stderr: stderr.into() }
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("we print UTF-8");
        Self {
            code: output.status.code().expect("it was not killed"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// The user who runs the tests, in the system's list of users.
pub(crate) fn this_user() -> String {
    let id = Command::new("id").arg("-u").output().expect("it starts").stdout;
    let id = String::from_utf8(id).expect("a number").trim().to_owned();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut users = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let user = users.find(|fields| fields.get(2) == Some(&id.as_str()));
    user.map_or_else(|| format!("user {id}"), |fields| fields[0].to_owned())
}

/// The repository.
pub(crate) fn repository() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("crates/cli is two deep")
}

/// The folders of the examples.
pub(crate) fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join("examples")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
