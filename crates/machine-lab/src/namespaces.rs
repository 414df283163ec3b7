//! [`Namespaces`]: the first process of a machine, with host name, mounts and process ids of its
//! own. It ends at the end of its standard input, and the kernel then ends all others.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal};

use crate::process::{children, is_stopped, is_waiting_in_kernel, is_zombie};

/// How to allow what is forbidden.
const HELP: &str = "tests of several machines need Linux namespaces, which this machine does not \
    allow\nhelp: run `sysctl -w user.max_user_namespaces=10000`, and where they exist `sysctl -w \
    kernel.unprivileged_userns_clone=1` and `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; \
    in a container, start it with `--privileged`";

/// A running machine's namespaces.
#[derive(Debug)]
pub(crate) struct Namespaces {
    unshare: Child,
    /// The first process, as this machine numbers it.
    init: Pid,
    /// The kernel's name of its process ids.
    pids: String,
    has_user: bool,
}

impl Namespaces {
    /// Creates them for the machine in this folder of a lab.
    pub(crate) fn create(lab: &Path, folder: &Path, host: &str) -> Self {
        let has_user = !rustix::process::geteuid().is_root();
        let mut command = Command::new("unshare");
        if has_user {
            command.args(["--user", "--map-root-user"]);
        }
        command
            .args(["--mount", "--uts", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"])
            .args(["bash", "-c", include_str!("init.sh"), "init"])
            .args([lab.as_os_str(), folder.as_os_str(), host.as_ref()])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut unshare =
            command.spawn().expect("tests need `unshare`, of the package `util-linux`");
        let mut output = BufReader::new(unshare.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("text");
        if line != "up\n" {
            let mut said = String::new();
            let mut errors = unshare.stderr.take().expect("a pipe");
            errors.read_to_string(&mut said).expect("text");
            panic!("{HELP}\n{said}");
        }
        let init = children(unshare.id()).into_iter().next().expect("it has started one process");
        let pids = pids_of(init).expect("it runs");
        Self { unshare, init, pids, has_user }
    }

    /// A command that runs a program inside.
    pub(crate) fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.init.as_raw_nonzero()));
        command.args(["--mount", "--uts", "--pid"]);
        if self.has_user {
            command.args(["--user", "--preserve-credentials"]);
        }
        command
    }

    /// The processes inside, but the first one and those that have ended. As this machine numbers
    /// them.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Pid::from_raw)
            .filter(|pid| *pid != self.init && !is_zombie(*pid))
            .filter(|pid| pids_of(*pid).as_ref() == Some(&self.pids))
            .collect()
    }

    /// Stops all processes inside, at once.
    pub(crate) fn stop(&self) {
        let mut asked = HashSet::new();
        loop {
            // One that waits in the kernel stops before it runs on. While its new child is stopped
            // and has no program yet, it waits until both continue.
            let is_running = |pid: &Pid| {
                let is_held = asked.contains(pid) && is_waiting_in_kernel(*pid);
                !is_held && !is_stopped(*pid)
            };
            let all = self.processes().into_iter().chain([self.init]);
            let running: Vec<Pid> = all.filter(is_running).collect();
            if running.is_empty() {
                return;
            }
            // A process that was started meanwhile is found in the next round.
            for pid in running {
                let _ = rustix::process::kill_process(pid, Signal::STOP);
                asked.insert(pid);
            }
        }
    }

    /// Continues all processes inside.
    pub(crate) fn resume(&self) {
        for pid in self.processes().into_iter().chain([self.init]) {
            let _ = rustix::process::kill_process(pid, Signal::CONT);
        }
    }

    /// Kills the first process, and waits until all others have ended.
    pub(crate) fn kill(&mut self) {
        let _ = rustix::process::kill_process(self.init, Signal::KILL);
        let _ = self.unshare.wait();
    }
}

/// The process ids in which a process lives.
fn pids_of(pid: Pid) -> Option<String> {
    let link = fs::read_link(format!("/proc/{}/ns/pid", pid.as_raw_nonzero())).ok()?;
    link.into_os_string().into_string().ok()
}
