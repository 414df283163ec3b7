//! [`MachineProcess`]: a program that runs on a machine.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// Any process may be delayed by so much on a busy machine.
const START_MAX: Duration = Duration::from_secs(120);

/// A program on a machine. It is killed when this is dropped.
#[derive(Debug)]
pub struct MachineProcess {
    /// The process that entered the machine and waits for the program.
    entry: Child,
    /// `None` if it ended before it was seen.
    program: Option<Pid>,
}

impl MachineProcess {
    /// Starts a command of [`Machine::command`](crate::Machine::command), and waits until its
    /// program has begun.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut entry = command.spawn().expect("tests need `nsenter`, of the package `util-linux`");
        let began = Instant::now();
        loop {
            // It has begun once it has a file of its own, not that of the entry.
            let program = children(entry.id()).into_iter().next().filter(|pid| !is_entry(*pid));
            if program.is_some() || matches!(entry.try_wait(), Ok(Some(_))) {
                return Self { entry, program };
            }
            assert!(began.elapsed() < START_MAX, "a program has not started");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Its process id, as this machine numbers it. `None` if it ended before it was seen.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.program.map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        // Another process may have the id of one that has ended.
        let is_ours = |pid: &Pid| children(self.entry.id()).contains(pid);
        if let Some(program) = self.program.filter(is_ours) {
            let _ = rustix::process::kill_process(program, signal);
        }
    }

    /// Kills the program alone, not what it has started, and waits for its end.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.entry.wait();
    }

    /// Stops the program alone.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        while self.program.is_some_and(|program| !is_stopped(program)) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Continues the program.
    pub fn resume(&self) {
        // The process that waits for it stops with it.
        self.signal(Signal::CONT);
        self.resume_entry();
    }

    /// Waits until the program has printed this on standard output.
    pub fn wait_for_words(&mut self, words: &str) {
        read_until(self.entry.stdout.as_mut().expect("a pipe"), words);
    }

    /// Waits until the program has printed this on standard error.
    pub fn wait_for_talk(&mut self, words: &str) {
        read_until(self.entry.stderr.as_mut().expect("a pipe"), words);
    }

    /// Whether it has ended, and how.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.resume_entry();
        self.entry.try_wait().expect("it is a child")
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.resume_entry();
        self.entry.wait().expect("it is a child")
    }

    /// Waits for its end, and returns what it has printed.
    #[must_use]
    pub fn output(mut self) -> Output {
        let (mut out, mut errors) = (self.entry.stdout.take(), self.entry.stderr.take());
        let reading = thread::spawn(move || {
            let mut bytes = Vec::new();
            errors.as_mut().map(|it| it.read_to_end(&mut bytes));
            bytes
        });
        let mut stdout = Vec::new();
        out.as_mut().map(|it| it.read_to_end(&mut stdout));
        let stderr = reading.join().expect("it only reads");
        Output { status: self.wait(), stdout, stderr }
    }

    fn resume_entry(&self) {
        if let Some(entry) = Pid::from_raw(self.entry.id().cast_signed()) {
            let _ = rustix::process::kill_process(entry, Signal::CONT);
        }
    }
}

impl Drop for MachineProcess {
    fn drop(&mut self) {
        if !matches!(self.entry.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// Reads byte by byte, so that what comes behind the words is left for the next call.
fn read_until(output: &mut impl Read, words: &str) {
    let mut heard = Vec::new();
    let mut byte = [0];
    while output.read(&mut byte).expect("a pipe") > 0 {
        heard.extend(byte);
        if heard.ends_with(words.as_bytes()) {
            return;
        }
    }
    panic!("never said: {words}\n{}", String::from_utf8_lossy(&heard));
}

/// The children of a process of this machine.
pub(crate) fn children(pid: u32) -> Vec<Pid> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let listed = listed.unwrap_or_default();
    listed.split_whitespace().filter_map(|it| Pid::from_raw(it.parse().ok()?)).collect()
}

pub(crate) fn is_stopped(pid: Pid) -> bool {
    matches!(state(pid), None | Some('T' | 't' | 'Z' | 'X'))
}

/// Whether it waits in the kernel, where no signal but SIGKILL reaches it.
pub(crate) fn is_waiting_in_kernel(pid: Pid) -> bool {
    state(pid) == Some('D')
}

pub(crate) fn is_zombie(pid: Pid) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}

/// The state letter of a process. `None` if there is none.
fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process still is the copy of its parent, or the program that sets the folder.
fn is_entry(pid: Pid) -> bool {
    let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
    name.is_ok_and(|name| ["nsenter\n", "env\n"].contains(&name.as_str()))
}
