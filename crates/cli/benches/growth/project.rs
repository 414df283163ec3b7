//! A temporary project, in memory if possible, and the cost of a command in it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The measured program. `HOOKWRIGHT_BENCH_BINARY` names another one, to measure another version.
fn binary() -> OsString {
    let named = std::env::var_os("HOOKWRIGHT_BENCH_BINARY");
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_hookwright").into())
}

/// A home folder with a project in it.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let in_memory = Path::new("/dev/shm");
        let folder = if in_memory.is_dir() {
            TempDir::new_in(in_memory).unwrap()
        } else {
            TempDir::new().unwrap()
        };
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder }
    }

    /// A path relative to the project root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join("project").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The folder of the store.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("../state/hookwright")
    }

    /// Runs the binary; returns its CPU time with that of its children, in milliseconds.
    pub(crate) fn processor_time(&self, arguments: &[&str]) -> f64 {
        let script = "TIMEFORMAT='%3U %3S'; time \"$@\" > /dev/null 2>&1";
        let mut shell = Command::new("bash");
        self.prepare(&mut shell).args(["-c", script, "bash"]).arg(binary()).args(arguments);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        let printed = String::from_utf8(output.stderr).unwrap();
        let seconds = printed.split_whitespace().map(|time| time.parse::<f64>().unwrap());
        seconds.sum::<f64>() * 1000.0
    }

    /// The binary, ready to be started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        self.prepare(&mut command).args(arguments).stderr(Stdio::null());
        command
    }

    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.path(""))
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.path("../state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
    }
}
