//! [`Keeper`]: the process that starts the servers and ends them when this one has ended, even if
//! it is killed. It learns that from the end of its standard input.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The process, and its folder.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) folder: PathBuf,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Not waited for: it ends after this process, which is how it notices the end.
    _process: Child,
}

impl Keeper {
    /// Starts it with Postgres' programs in this folder.
    pub(crate) fn start(programs: &Path) -> Self {
        let mut command = Command::new("setsid");
        command.arg("sh").arg("-c").arg(include_str!("keeper.sh")).arg("keeper");
        if let Some((user, group)) = other_user() {
            command.uid(user).gid(group);
        }
        Self::started(programs, command)
    }

    /// Starts it with a small disk at `/mnt`, which no other process sees. `None` if this process
    /// is not root, who alone may do that.
    pub(crate) fn start_with_small_disk(programs: &Path) -> Option<Self> {
        let (user, group) = other_user()?;
        let mount = format!("mount -t tmpfs -o size=32m,uid={user},gid={group} none /mnt");
        let keep = format!(
            "exec setpriv --reuid={user} --regid={group} --clear-groups sh -c \"$0\" keeper \"$@\""
        );
        let mut command = Command::new("setsid");
        command.args(["unshare", "--mount", "sh", "-c", &format!("{mount} && {keep}")]);
        command.arg(include_str!("keeper.sh"));
        Some(Self::started(programs, command))
    }

    /// Starts this command with the folders as its last arguments.
    fn started(programs: &Path, mut command: Command) -> Self {
        let folder = tempfile::Builder::new().prefix("hookwright-postgres-").tempdir();
        // The keeper deletes it.
        let folder = folder.expect("a temporary folder").keep();
        if let Some((user, group)) = other_user() {
            chown(&folder, Some(user), Some(group)).expect("root may give folders away");
        }
        command.arg(programs).arg(&folder).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("tests need `setsid`, of the package `util-linux`");
        let commands = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { folder, commands, answers, _process: child }
    }

    /// Sends a command and waits until it is done. `false` if it has failed.
    pub(crate) fn tell(&mut self, command: &str) -> bool {
        writeln!(self.commands, "{command}").expect("the keeper runs");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the keeper answers");
        answer == "done\n"
    }

    /// What its programs have printed.
    pub(crate) fn log(&self) -> String {
        let read = |name| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        format!("{}\n{}", read("keeper.log"), read("log"))
    }
}

/// The user that runs the server if this process is root, since Postgres refuses root.
fn other_user() -> Option<(u32, u32)> {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).map(|id| id.parse().ok());
        Some((ids.next()??, ids.next()??))
    };
    is_root.then(|| of("postgres").or_else(|| of("nobody")).expect("a user who is not root"))
}
