//! Another process: this test binary again, running one of its ignored tests.
//!
//! The two talk over the child's standard input and output. The test harness prints there too, so
//! their lines have a mark.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hookwright_store::SqliteStore;

const FOLDER: &str = "HOOKWRIGHT_STORE_TEST_FOLDER";
const MARK: &str = "> ";

/// The child process.
pub(crate) struct Actor {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Actor {
    /// Starts a child that runs this test with the store of a folder.
    pub(crate) fn start(part: &str, folder: &Path) -> Self {
        let binary = std::env::current_exe().expect("this test has a path");
        Self::start_with(Command::new(binary), part, folder)
    }

    /// The same, started through another command that runs its arguments.
    pub(crate) fn start_with(mut command: Command, part: &str, folder: &Path) -> Self {
        command
            .args(["--exact", part, "--ignored", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("it listens");
    }

    /// Its next line; `None` when it has ended. A line that its end cut off is ignored.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            self.stdout.read_line(&mut line).expect("text");
            let whole = line.strip_suffix('\n')?;
            if let Some(said) = whole.strip_prefix(MARK) {
                return Some(said.to_owned());
            }
        }
    }

    /// Kills it, and returns what it had printed until then.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// Waits until it exits successfully, and returns what it had printed.
    pub(crate) fn end(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.hear()).collect();
        let status = self.child.wait().expect("it is ours");
        assert!(status.success(), "{status}: {said:?}");
        said
    }
}

/// The folder that the test gave to this process.
#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
pub(crate) fn folder() -> PathBuf {
    std::env::var_os(FOLDER).expect("this part is started by a test").into()
}

/// The store of that folder.
pub(crate) fn store() -> SqliteStore {
    SqliteStore::open(&folder()).expect("a store")
}

/// Sends one line to the test, in one write.
pub(crate) fn tell(line: &str) {
    // The harness has begun a line with this test's name.
    let text = format!("\n{MARK}{line}\n");
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).expect("the test listens");
}

/// The next line from the test.
pub(crate) fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("text");
    line.trim_end().to_owned()
}
