//! [`InstalledAgent`]: the program of a host on this machine, and its version.
//!
//! Finding it starts nothing. Only [`InstalledAgent::version`] runs the program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_dialects::hosts::{Host, ProgramVersion};
use hookwright_process::{How, Launch, find_program};
use tokio_util::sync::CancellationToken;

/// How long a program may take to print its version. Some of these programs unpack themselves at
/// their first start.
const VERSION_WAIT_MAX: Duration = Duration::from_secs(60);

/// Bytes kept of what a program prints. A version fits in one line.
const VERSION_OUTPUT_BYTES_MAX: usize = 16 * 1024;

/// The time between SIGTERM and SIGKILL for a program that does not end.
const KILL_GRACE: Duration = Duration::from_millis(500);

/// The time to wait for the end of a program's output after its own end.
const LINGER: Duration = Duration::from_millis(200);

/// A host whose program is on this machine.
#[derive(Debug, Clone)]
pub(crate) struct InstalledAgent {
    pub(crate) host: &'static Host,
    /// Its program, as found in `PATH`.
    pub(crate) program: PathBuf,
}

/// Why the version of a program is unknown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum VersionUnknown {
    /// It did not start, did not end in time, or failed.
    Failed { cause: String },
    /// It printed no version.
    NotPrinted { printed: String },
}

impl InstalledAgent {
    /// The host's program in the folders of `path` (a value of `PATH`). Folders that are relative
    /// to the working directory do not count: a repository could have its own program there.
    pub(crate) fn find(host: &'static Host, path: &OsStr) -> Option<Self> {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let folders = std::env::join_paths(folders).ok()?;
        let name = OsStr::new(host.program.name);
        let program = find_program(name, &folders, Path::new("/"))?;
        Some(Self { host, program })
    }

    /// What the program prints for `--version`. It runs in the root folder, so that it finds no
    /// project.
    pub(crate) async fn version(&self) -> Result<ProgramVersion, VersionUnknown> {
        self.version_within(VERSION_WAIT_MAX).await
    }

    async fn version_within(&self, limit: Duration) -> Result<ProgramVersion, VersionUnknown> {
        let launch = Launch {
            program: self.program.clone(),
            args: vec![OsString::from("--version")],
            shared_env: std::env::vars_os().collect(),
            env: Vec::new(),
            working_dir: PathBuf::from("/"),
            stdin: Vec::new(),
            timeout: limit,
            kill_grace: KILL_GRACE,
            linger: LINGER,
            output_bytes_max: VERSION_OUTPUT_BYTES_MAX,
            run_id: format!("version-{}-{}", self.host.name, std::process::id()),
        };
        let cancel = CancellationToken::new();
        let ended = hookwright_process::run(launch, &mut (), &cancel).await;
        let failed = |cause: String| Err(VersionUnknown::Failed { cause });
        match ended.how {
            How::Exited { code: 0 } => {}
            How::Exited { code } => return failed(format!("it ended with exit code {code}")),
            How::Killed { signal } => return failed(format!("it was killed by signal {signal}")),
            How::TimedOut { after } => {
                return failed(format!("it did not end within {} s", after.as_secs_f64()));
            }
            How::Cancelled | How::WantedTerminal => {
                return failed("it waited for a terminal".to_owned());
            }
            How::NotStarted { cause } => return failed(cause.to_string()),
        }
        let printed = ended.stdout.text();
        ProgramVersion::find(&printed).ok_or_else(|| VersionUnknown::NotPrinted {
            printed: printed.lines().next().unwrap_or_default().chars().take(80).collect(),
        })
    }
}

/// The versions of several agents, in their order. The programs run at the same time.
pub(crate) async fn versions(
    agents: &[InstalledAgent],
) -> Vec<Result<ProgramVersion, VersionUnknown>> {
    let asked = agents
        .iter()
        .cloned()
        .map(|agent| tokio::task::spawn(async move { agent.version().await }));
    let asked: Vec<_> = asked.collect();
    let mut all = Vec::new();
    for version in asked {
        all.push(
            version
                .await
                .unwrap_or_else(|error| Err(VersionUnknown::Failed { cause: error.to_string() })),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use hookwright_dialects::hosts;

    use super::*;

    fn host() -> &'static Host {
        hosts::named("codex").expect("it is there")
    }

    /// A folder with a program for the host. Another process writes it: a program that is open for
    /// writing here, even in a child of another test, cannot be started.
    fn installed(script: &str) -> (tempfile::TempDir, InstalledAgent) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("codex");
        let mut install = Command::new("install");
        install.args(["-m", "755", "/dev/stdin"]).arg(&program).stdin(Stdio::piped());
        let mut child = install.spawn().unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let found = InstalledAgent::find(host(), folder.path().as_os_str()).expect("installed");
        assert_eq!(found.program, program);
        (folder, found)
    }

    fn version_of(script: &str, limit: Duration) -> Result<ProgramVersion, VersionUnknown> {
        let (_folder, agent) = installed(script);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(agent.version_within(limit))
    }

    #[test]
    fn a_program_in_path_is_found_and_its_version_read() {
        let version = version_of("#!/bin/sh\necho \"codex-cli 0.166.$#\"\n", VERSION_WAIT_MAX);
        assert_eq!(version, Ok(ProgramVersion::new(0, 166, 1)), "one argument");
    }

    #[test]
    fn a_program_in_a_folder_relative_to_the_working_directory_does_not_count() {
        for path in ["", ".", "node_modules/.bin:", "/no/such/folder"] {
            assert!(InstalledAgent::find(host(), OsStr::new(path)).is_none(), "{path}");
        }
    }

    #[test]
    fn a_program_that_tells_no_version_says_why() {
        let failed = |cause: &str| Err(VersionUnknown::Failed { cause: cause.into() });
        let long = VERSION_WAIT_MAX;
        assert_eq!(version_of("#!/bin/sh\nexit 3\n", long), failed("it ended with exit code 3"));
        assert_eq!(
            version_of("#!/bin/sh\nkill -9 $$\n", long),
            failed("it was killed by signal 9")
        );
        assert_eq!(
            version_of("#!/bin/sh\necho dev build\n", long),
            Err(VersionUnknown::NotPrinted { printed: "dev build".into() })
        );
        assert_eq!(
            version_of("#!/bin/sh\nexec sleep 600\n", Duration::from_millis(100)),
            failed("it did not end within 0.1 s")
        );
    }
}
