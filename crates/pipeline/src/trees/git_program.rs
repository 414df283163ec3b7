//! [`GitProgram`]: runs git, with arguments, never through a shell.
//!
//! No call prompts, and none runs a program that a repository's settings name: hooks and fsmonitor
//! are off, and a call that reads or writes files of the work tree, or reaches the remote, uses a
//! repository of ours (`repository.rs`), whose settings the agent did not write.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hookwright_engine::limits::{KILL_GRACE, LINGER};
use hookwright_process::{How, Launch, Watch, find_program};
use tokio_util::sync::CancellationToken;

use super::TreeError;
use crate::limits::{TREE_KEEP_TIMEOUT, TREE_LIST_BYTES_MAX};

/// For every call.
const SETTINGS: &[&str] = &[
    "advice.addEmbeddedRepo=false",
    "color.ui=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.followTags=false",
    "push.gpgSign=false",
    "push.recurseSubmodules=no",
    "submodule.recurse=false",
];

/// Messages are in English, so that they can be recognised; nothing prompts, nothing is fetched by
/// the way, and an index that is only read stays unchanged.
const VARIABLES: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
    ("GIT_AUTHOR_NAME", "Hookwright"),
    ("GIT_AUTHOR_EMAIL", "hookwright@localhost"),
    ("GIT_COMMITTER_NAME", "Hookwright"),
    ("GIT_COMMITTER_EMAIL", "hookwright@localhost"),
];

/// Of all variables with the prefix `GIT_`, those that tell where settings and programs are, and how
/// to reach a remote. The others may come from a git above us.
const INHERITED: &[&str] =
    &["GIT_CONFIG", "GIT_EXEC_PATH", "GIT_PROXY", "GIT_SSH", "GIT_SSL", "GIT_HTTP"];

/// Where git is, and the environment of its calls. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GitProgram {
    program: PathBuf,
    environment: Arc<[(OsString, OsString)]>,
}

/// One call.
pub(super) struct GitCall<'a> {
    git: &'a GitProgram,
    folder: &'a Path,
    /// What fails if it fails.
    doing: &'static str,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    timeout: Duration,
    output_bytes_max: usize,
}

/// A call that ended by itself.
#[derive(Debug)]
pub(super) struct GitEnded {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    doing: &'static str,
}

impl GitProgram {
    /// Finds git by the host's environment.
    pub fn find(environment: &[(OsString, OsString)]) -> Result<Self, TreeError> {
        let path = environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |(_, path)| path);
        let program = find_program(OsStr::new("git"), path, Path::new("/"));
        let program = program.ok_or(TreeError::NoGit)?;
        let is_kept = |name: &OsStr| {
            let name = name.as_bytes();
            !name.starts_with(b"GIT_")
                || INHERITED.iter().any(|kept| name.starts_with(kept.as_bytes()))
        };
        let kept = environment.iter().filter(|(name, _)| is_kept(name)).cloned();
        Ok(Self { program, environment: kept.collect() })
    }

    /// A call with these arguments. `doing` completes "cannot …".
    pub(super) fn call<'a>(
        &'a self,
        folder: &'a Path,
        doing: &'static str,
        arguments: &[&str],
    ) -> GitCall<'a> {
        GitCall {
            git: self,
            folder,
            doing,
            arguments: arguments.iter().map(OsString::from).collect(),
            variables: Vec::new(),
            stdin: Vec::new(),
            timeout: TREE_KEEP_TIMEOUT,
            output_bytes_max: TREE_LIST_BYTES_MAX,
        }
    }
}

impl GitCall<'_> {
    pub(super) fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(super) fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(super) fn stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = stdin.into();
        self
    }

    pub(super) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it. Fails only if it does not end by itself, or prints too much.
    pub(super) async fn run(self) -> Result<GitEnded, TreeError> {
        let ended = self.run_watched(&mut ()).await?;
        Ok(ended)
    }

    /// Runs it; a failure of git is an error.
    pub(super) async fn done(self) -> Result<Vec<u8>, TreeError> {
        let ended = self.run().await?;
        match ended.code {
            0 => Ok(ended.stdout),
            _ => Err(ended.failure()),
        }
    }

    /// The same, and the output as one line of text.
    pub(super) async fn line(self) -> Result<String, TreeError> {
        let printed = self.done().await?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// Runs it for a watch, which gets the whole output. None of it is kept.
    pub(super) async fn streamed(mut self, watch: &mut dyn Watch) -> Result<(), TreeError> {
        self.output_bytes_max = 0;
        let (doing, launch) = self.launch();
        let ended = hookwright_process::run(launch, watch, &CancellationToken::new()).await;
        let stderr = ended.stderr.text().into_owned();
        match code(doing, ended.how, self.timeout)? {
            0 => Ok(()),
            code => Err(GitEnded { code, stdout: Vec::new(), stderr, doing }.failure()),
        }
    }

    async fn run_watched(self, watch: &mut dyn Watch) -> Result<GitEnded, TreeError> {
        let (doing, launch) = self.launch();
        let ended = hookwright_process::run(launch, watch, &CancellationToken::new()).await;
        let code = code(doing, ended.how, self.timeout)?;
        let Some(stdout) = ended.stdout.bytes() else {
            let said = format!("git printed more than {} bytes", self.output_bytes_max);
            return Err(TreeError::Failed { doing, said });
        };
        let stderr = ended.stderr.text().into_owned();
        Ok(GitEnded { code, stdout: stdout.to_vec(), stderr, doing })
    }

    fn launch(&self) -> (&'static str, Launch) {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let number = CALLS.fetch_add(1, Ordering::Relaxed);
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let settings = ["--no-pager"].into_iter().chain(settings);
        let variables = VARIABLES.iter().map(|(name, value)| (name.into(), value.into()));
        let launch = Launch {
            program: self.git.program.clone(),
            args: settings.map(OsString::from).chain(self.arguments.iter().cloned()).collect(),
            shared_env: Arc::clone(&self.git.environment),
            env: variables.chain(self.variables.iter().cloned()).collect(),
            working_dir: self.folder.to_owned(),
            stdin: self.stdin.clone(),
            timeout: self.timeout,
            kill_grace: KILL_GRACE,
            linger: LINGER,
            output_bytes_max: self.output_bytes_max,
            run_id: format!("trees-{}-{number}", std::process::id()),
        };
        (self.doing, launch)
    }
}

fn code(doing: &'static str, how: How, timeout: Duration) -> Result<i32, TreeError> {
    let said = match how {
        How::Exited { code } => return Ok(code),
        How::TimedOut { .. } | How::Cancelled => {
            return Err(TreeError::TookTooLong { doing, after: timeout });
        }
        How::Killed { signal } => format!("git was killed by signal {signal}"),
        How::WantedTerminal => "git asked for input on the terminal".to_owned(),
        How::NotStarted { cause } => cause.to_string(),
    };
    Err(TreeError::Failed { doing, said })
}

impl GitEnded {
    /// Its failure, in git's words.
    pub(super) fn failure(&self) -> TreeError {
        TreeError::Failed { doing: self.doing, said: self.complaint() }
    }

    /// The line in which git explains best what went wrong.
    pub(super) fn complaint(&self) -> String {
        let lines = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.filter(|line| !line.starts_with("hint:"));
        let begins = |word: &str| lines.clone().find_map(|line| line.strip_prefix(word));
        let line =
            begins("error: ").or_else(|| begins("fatal: ")).or_else(|| lines.clone().next_back());
        line.map_or_else(|| format!("exit code {} without a message", self.code), str::to_owned)
    }
}
