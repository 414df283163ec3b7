//! [`Machine`]: a host name, a home, a checkout and processes of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::lab::real;
use crate::namespaces::Namespaces;
use crate::process::MachineProcess;
use crate::remote::{Remote, git};

/// What a machine knows itself by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineIdentity {
    /// The host name.
    pub host: String,
    /// The text of `/etc/machine-id`.
    pub machine_id: String,
    /// The id of its boot.
    pub boot_id: String,
}

impl MachineIdentity {
    /// A machine of this host name and with new ids.
    #[must_use]
    pub fn of_host(host: &str) -> Self {
        let machine_id = new_id().replace('-', "");
        Self { host: host.to_owned(), machine_id, boot_id: new_id() }
    }
}

/// A machine. It is killed when this is dropped.
#[derive(Debug)]
pub struct Machine {
    lab: Arc<TempDir>,
    folder: PathBuf,
    program: PathBuf,
    identity: MachineIdentity,
    /// Set before every program: its variables.
    variables: Vec<(String, String)>,
    /// `None` while it is off.
    namespaces: Option<Namespaces>,
}

impl Machine {
    /// Creates its home and starts it.
    pub(crate) fn start(
        lab: Arc<TempDir>,
        name: &str,
        identity: MachineIdentity,
        program: &Path,
        remote: &Remote,
    ) -> Self {
        let folder = real(lab.path()).join("machines").join(name);
        for part in ["etc", "home"] {
            fs::create_dir_all(folder.join(part)).expect("a folder");
        }
        let (program, variables) = (program.to_owned(), Vec::new());
        let mut machine = Self { lab, folder, program, identity, variables, namespaces: None };
        let settings = "[user]\n\tname = Machine\n\temail = machine@example.org\n";
        fs::write(machine.in_home(".gitconfig"), settings).expect("a file");
        let remote = remote.folder().to_str().expect("a path in UTF-8");
        git(&machine.in_home("."), &["clone", "--quiet", remote, "project"]);
        machine.boot();
        machine
    }

    /// Its identity, for a machine that is a copy of it or has the same name.
    #[must_use]
    pub fn identity(&self) -> &MachineIdentity {
        &self.identity
    }

    /// The home, as programs on the machine see it: the same path on all machines.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        real(self.lab.path()).join("home")
    }

    /// A file of the checkout, where the test can read and write it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.in_home("project").join(name)
    }

    /// A file of the home, where the test can read and write it.
    #[must_use]
    pub fn in_home(&self, name: &str) -> PathBuf {
        self.folder.join("home").join(name)
    }

    /// Writes a file; its path is relative to the home.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.in_home(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// A file of the checkout; empty if there is none.
    #[must_use]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Names the store at this address in the settings of the machine's user.
    pub fn use_store(&self, address: &str) {
        self.write(".config/hookwright/store.yaml", &format!("store: {address}\n"));
    }

    /// Sets a variable for all programs that are started from now on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Moves the clock of programs that are started from now on: `+1h`. Programs that are linked
    /// statically, as hookwright usually is, ignore it.
    pub fn set_clock(&mut self, offset: &str) {
        let asked = Command::new("faketime").args(["-f", "+0", "printenv", "LD_PRELOAD"]).output();
        let asked = asked.expect("tests need the package `faketime`");
        let library = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        self.set("LD_PRELOAD", &library);
        self.set("FAKETIME", offset);
        // Only the wall clock is wrong.
        self.set("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }

    /// A program on the machine, in its checkout. `hookwright` is the lab's program, which is also
    /// in the `PATH`.
    #[must_use]
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.running().enter();
        let folder = format!("--chdir={}", self.home().join("project").display());
        command.args(["--", "env", &folder]);
        command.args(self.variables.iter().map(|(name, value)| format!("{name}={value}")));
        match program {
            "hookwright" => command.arg(&self.program),
            other => command.arg(other),
        };
        let ours = self.program.parent().expect("a folder").display();
        command.env_clear().env("PATH", format!("{ours}:{}", path()));
        command.args(arguments).env("HOME", self.home());
        command.stdin(Stdio::null());
        command
    }

    /// Runs `hookwright` and waits for its end.
    #[must_use]
    pub fn hookwright(&self, arguments: &[&str]) -> Output {
        self.command("hookwright", arguments).output().expect("`nsenter` is there")
    }

    /// Runs a line of a shell and waits for its end.
    #[must_use]
    pub fn shell(&self, line: &str) -> Output {
        self.command("bash", &["-c", line]).output().expect("`nsenter` is there")
    }

    /// Starts `hookwright`.
    #[must_use]
    pub fn start_hookwright(&self, arguments: &[&str]) -> MachineProcess {
        let mut command = self.command("hookwright", arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.spawn(command)
    }

    /// Starts a command of [`Self::command`].
    #[must_use]
    pub fn spawn(&self, command: Command) -> MachineProcess {
        MachineProcess::spawn(command)
    }

    /// The command lines of the processes that run on the machine. None while it is off.
    #[must_use]
    pub fn processes(&self) -> Vec<String> {
        let pids = self.namespaces.iter().flat_map(Namespaces::processes);
        pids.filter_map(|pid| {
            let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
            Some(String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned())
        })
        .collect()
    }

    /// Stops all of its processes.
    pub fn stop(&self) {
        self.running().stop();
    }

    /// Continues all of its processes.
    pub fn resume(&self) {
        self.running().resume();
    }

    /// Ends all of its processes at once, as a cut of the power does.
    pub fn kill(&mut self) {
        if let Some(mut namespaces) = self.namespaces.take() {
            namespaces.kill();
        }
    }

    /// Starts it again after [`Self::kill`]: the same machine, and another boot.
    pub fn start_again(&mut self) {
        self.kill();
        self.identity.boot_id = new_id();
        self.boot();
    }

    fn boot(&mut self) {
        let write = |name: &str, text: &str| {
            fs::write(self.folder.join(name), format!("{text}\n")).expect("a file");
        };
        write("boot_id", &self.identity.boot_id);
        write("machine-id", &self.identity.machine_id);
        let lab = real(self.lab.path());
        self.namespaces = Some(Namespaces::create(&lab, &self.folder, &self.identity.host));
    }

    fn running(&self) -> &Namespaces {
        self.namespaces.as_ref().expect("the machine is on")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}

fn new_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/uuid").expect("Linux has it");
    id.trim().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
fn path() -> String {
    std::env::var("PATH").unwrap_or_default()
}
