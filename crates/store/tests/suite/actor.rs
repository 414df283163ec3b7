//! Another process: this test binary again, playing one of its ignored tests.
//!
//! Lines of the play go over its standard input and output; the test harness talks there too, so
//! they are marked.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hookwright_store::SqliteStore;

const FOLDER: &str = "HOOKWRIGHT_STORE_TEST_FOLDER";
const MARK: &str = "> ";

/// The process, seen from the test.
pub(crate) struct Actor {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Actor {
    /// Starts one that plays this part with the store of a folder.
    pub(crate) fn start(part: &str, folder: &Path) -> Self {
        let binary = std::env::current_exe().expect("this test has a path");
        Self::start_with(Command::new(binary), part, folder)
    }

    /// The same below another command, which runs what its arguments say.
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

    /// Its next line; `None` when it has ended. A line that its end has cut is none.
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

    /// Ends it where it stands, and returns what it had said until then.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// Waits for its end, which has to be a good one, and returns what it had said until then.
    pub(crate) fn end(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.hear()).collect();
        let status = self.child.wait().expect("it is ours");
        assert!(status.success(), "{status}: {said:?}");
        said
    }
}

/// The folder that the test has given to this process.
#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
pub(crate) fn folder() -> PathBuf {
    std::env::var_os(FOLDER).expect("this part is started by a test").into()
}

/// The store of that folder.
pub(crate) fn store() -> SqliteStore {
    SqliteStore::open(&folder()).expect("a store")
}

/// Says one line to the test, in one write.
pub(crate) fn tell(line: &str) {
    // The harness has begun a line with the name of this test.
    let text = format!("\n{MARK}{line}\n");
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).expect("the test listens");
}

/// The next line that the test says.
pub(crate) fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("text");
    line.trim_end().to_owned()
}
