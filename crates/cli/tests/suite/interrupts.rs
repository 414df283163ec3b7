//! Ctrl-C and similar signals while hooks run, hooks that run the binary, and leftover processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Ran, Sandbox};

/// Waits for a condition that no event announces.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    assert!(comes_true(holds), "waited in vain: {what}");
}

/// Whether a condition becomes true within at least two minutes: a busy machine may delay any
/// process for many seconds.
pub(crate) fn comes_true(holds: impl Fn() -> bool) -> bool {
    for _ in 0..24_000 {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// The running binary. It ends with the test, and so do its hooks, even if the test fails.
pub(crate) struct Started(Option<Child>);

impl Started {
    pub(crate) fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(signal(self.0.as_ref().unwrap(), name));
    }

    /// Waits for its first output, which shows that it got the signal.
    pub(crate) fn wait_for_first_words(&mut self, words: &[u8]) {
        let mut heard = vec![0; words.len()];
        let errors = self.0.as_mut().unwrap().stderr.as_mut().unwrap();
        std::io::Read::read_exact(errors, &mut heard).unwrap();
        assert_eq!(heard, words);
    }

    /// Waits until this text is on standard output.
    pub(crate) fn wait_for_words(&mut self, words: &str) {
        read_until(self.0.as_mut().unwrap().stdout.as_mut().unwrap(), words);
    }

    /// Waits until this text is on standard error.
    pub(crate) fn wait_for_talk(&mut self, words: &str) {
        read_until(self.0.as_mut().unwrap().stderr.as_mut().unwrap(), words);
    }

    /// Kills it like the kernel when memory is short, so that it cannot clean up.
    pub(crate) fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn ran(mut self) -> Ran {
        Ran::from(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else {
            return;
        };
        // Two signals make it exit at once with its hooks; a kill would leave them.
        for _ in 0..200 {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            signal(&child, "-TERM");
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Reads byte by byte, so that what comes behind the words is left for the next call.
fn read_until(mut output: impl std::io::Read, words: &str) {
    let mut heard = Vec::new();
    let mut byte = [0];
    while output.read(&mut byte).unwrap() > 0 {
        heard.extend(byte);
        if heard.ends_with(words.as_bytes()) {
            return;
        }
    }
    panic!("never said: {words}\n{}", String::from_utf8_lossy(&heard));
}

pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Started {
    started(sandbox.command(arguments))
}

pub(crate) fn started(mut command: Command) -> Started {
    Started(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
}

fn signal(child: &Child, name: &str) -> bool {
    let pid = child.id().to_string();
    Command::new("kill").args([name, &pid]).status().is_ok_and(|status| status.success())
}

/// A process of a hook that writes its id into a file. It ends with the test.
pub(crate) struct Left(PathBuf);

impl Left {
    pub(crate) fn by(sandbox: &Sandbox, file: &str) -> Self {
        Self(sandbox.path(file))
    }

    /// Whether its id is known, so that it can be found.
    pub(crate) fn has_run(&self) -> bool {
        self.pid().is_some()
    }

    /// Whether it has ended and was reaped.
    pub(crate) fn is_gone(&self) -> bool {
        is_gone(&self.pid().unwrap())
    }

    fn pid(&self) -> Option<String> {
        let line = std::fs::read_to_string(&self.0).ok()?;
        line.strip_suffix('\n').map(str::to_owned)
    }
}

/// Runs `loop.yaml` as session `s` until one of its processes has written its id into `pid`, kills
/// the session and resumes it.
pub(crate) fn killed_and_resumed(sandbox: &Sandbox, place: &str) -> Ran {
    let left = Left::by(sandbox, "pid");
    let started = start(sandbox, &["run", "loop.yaml", "--session", "s"]);
    until(place, || left.has_run());
    started.kill();
    sandbox.run(&["resume", "s"])
}

/// Whether a process has ended and was reaped. In a container without an init, the first process
/// reaps nothing, and its adopted zombies stay.
pub(crate) fn is_gone(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(proc(pid).join("stat")) else { return true };
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.starts_with("Z 1 ")
}

fn proc(pid: &str) -> PathBuf {
    Path::new("/proc").join(pid)
}

impl Drop for Left {
    fn drop(&mut self) {
        let Some(pid) = self.pid() else {
            return;
        };
        // Hooks run in the test's own folder, so a reused id does not count.
        let runs_in = std::fs::read_link(proc(&pid).join("cwd"));
        if runs_in.is_ok_and(|folder| Some(folder.as_path()) == self.0.parent()) {
            let _ = Command::new("kill").args(["-9", &pid]).status();
        }
    }
}

#[test]
fn an_interrupt_ends_the_hooks_and_blocks_where_a_guard_had_not_answered() {
    for (name, event, code) in [
        ("-INT", "tool:pre_execute", 2),
        ("-TERM", "tool:pre_execute", 2),
        ("-HUP", "session:start", 130),
    ] {
        let sandbox = Sandbox::with_hooks(
            "hooks: {'*': [{id: slow, await: true, command: 'sleep 1000 & echo $! > pid; wait'}]}",
        );
        let sleeper = Left::by(&sandbox, "pid");
        let started = start(&sandbox, &["fire", event]);
        until("the hook runs", || sleeper.has_run());
        started.signal(name);
        let ran = started.ran();
        assert_eq!(ran.code, code, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("interrupted: ending hooks"), "{}", ran.stderr);
        assert!(ran.stdout.contains("interrupted"), "{}{}", ran.stdout, ran.stderr);
        until("nothing is left", || sleeper.is_gone());
    }
}

#[test]
fn an_interrupt_while_waiting_for_background_hooks_ends_them() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:start: [{id: slow, command: 'echo $$ > pid; exec sleep 1000'}]}",
    );
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["fire", "session:start"]);
    until("the hook runs", || hook.has_run());
    started.signal("-INT");
    let ran = started.ran();
    assert_eq!(ran.code, 130);
    assert!(ran.stderr.contains("waiting for 1 hook in the background: slow"), "{}", ran.stderr);
    until("nothing is left", || hook.is_gone());
}

#[test]
fn a_second_interrupt_leaves_at_once_and_still_leaves_nothing_running() {
    // An unanswered guard blocks; a stop is never blocked.
    for (event, code) in [("Stop", 130), ("PreToolUse", 2)] {
        let sandbox = Sandbox::with_hooks(
            "hooks: {'*': [{kill_grace: 1h, command: \"trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done\"}]}",
        );
        let hook = Left::by(&sandbox, "pid");
        let mut started = start(&sandbox, &["fire", event]);
        until("the hook runs", || hook.has_run());
        started.signal("-INT");
        started.wait_for_first_words(b"interrupted");
        started.signal("-INT");
        assert_eq!(started.ran().code, code, "{event}");
        until("nothing is left", || hook.is_gone());
    }
}

#[test]
fn a_timeout_ends_what_left_the_process_group_too() {
    // A busy machine needs longer until both have started; then there is something to end.
    for timeout in (0..6).map(|doubled| 1 << doubled) {
        let sandbox = Sandbox::with_hooks(&format!(
            "hooks: {{Stop: [{{timeout: {timeout}s, kill_grace: 10ms, command: 'setsid sh -c \"echo \\$\\$ > pid; exec sleep 1000\" & setsid -f sh -c \"echo \\$\\$ > pid2; exec sleep 1000\"; sleep 1000'}}]}}",
        ));
        let left = [Left::by(&sandbox, "pid"), Left::by(&sandbox, "pid2")];
        let ran = sandbox.run(&["fire", "Stop"]);
        let timed_out = format!("timed out after {timeout} s");
        assert!(ran.stdout.contains(&timed_out), "{}{}", ran.stdout, ran.stderr);
        if left.iter().all(Left::has_run) {
            for process in left {
                assert!(process.is_gone(), "{} is still alive", process.0.display());
            }
            return;
        }
    }
    panic!("they never came so far as to start");
}

#[test]
fn a_container_whose_session_began_outside_is_no_obstacle() {
    // There our process group and session have the number 0.
    let sandbox = Sandbox::with_hooks(
        "hooks: {Stop: [{timeout: 100ms, kill_grace: 10ms, command: 'setsid -f sleep 1000; sleep 1000 & wait'}]}",
    );
    let inner = sandbox.command(&["fire", "Stop"]);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c"]);
    command.args(["\"$@\"; exit $?", "sh"]).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(sandbox.path(".")).env("HOME", sandbox.path(".."));
    let ran = Ran::from(command.output().unwrap());
    if ran.stderr.starts_with("unshare: ") {
        // Not every user may create namespaces.
        return;
    }
    assert!(ran.stdout.contains("timed out after 100 ms"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn seventy_hooks_that_each_fire_an_event_in_a_process_of_its_own_all_get_done() {
    // All 64 slots of the outer process are taken before the first inner event is fired.
    let outer: String = (0..70)
        .map(|number| {
            format!(
                "    - {{command: 'touch outer.{number}; for i in $(seq 300); do set -- outer.*; [ $# -ge 64 ] && break; sleep 0.2; done; [ $# -ge 64 ] && NUMBER={number} \"$BINARY\" fire tool:post_execute'}}\n"
            )
        })
        .collect();
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks:\n  tool:post_execute: [{{await: true, command: touch inner.$NUMBER}}]\n  session:start:\n{outer}"
    ))
    .set("BINARY", env!("CARGO_BIN_EXE_hookwright"));
    let ran = sandbox.run(&["fire", "session:start"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for number in 0..70 {
        assert!(sandbox.path(&format!("inner.{number}")).exists(), "{number}: {}", ran.stdout);
    }
}

#[test]
fn what_was_started_to_outlive_its_terminal_does() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:start: [{await: true, command: 'touch running; until [ -e go ]; do sleep 0.01; done'}]}",
    );
    let mut command = Command::new("nohup");
    let inner = sandbox.command(&["fire", "session:start"]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(sandbox.path("."));
    command.env("HOME", sandbox.path("..")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until("the hook runs", || sandbox.path("running").exists());
    signal(&child, "-HUP");
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn hooks_start_with_default_signals_whatever_we_were_started_to_ignore() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:start: [{id: own, await: true, command: 'trap \"touch heard\" HUP; kill -HUP $$; \
         grep SigIgn: /proc/self/status > ignored; exit 7'}]}",
    );
    let inner = sandbox.command(&["fire", "session:start"]);
    let mut command = Command::new("env");
    command.arg("--ignore-signal=HUP,INT,QUIT,TERM,USR1,CHLD");
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(sandbox.path("."));
    let ran = Ran::from(command.env("HOME", sandbox.path("..")).output().unwrap());
    assert!(ran.stdout.contains("exit code 7"), "{ran:?}");
    assert!(sandbox.path("heard").exists(), "{ran:?}");
    let ignored = std::fs::read_to_string(sandbox.path("ignored")).unwrap();
    let mask = ignored.trim().rsplit('\t').next().unwrap();
    // Signals 32 and 33 belong to the C library, which ignores them in every child.
    assert_eq!(u64::from_str_radix(mask, 16).unwrap() & 0x7fff_ffff, 0, "{ignored}");
}
