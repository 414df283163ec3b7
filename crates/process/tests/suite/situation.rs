//! Shared by the tests: a launch to vary, a watch that reacts to output, and bounded waits.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hookwright_process::{Ended, How, IgnoredSignals, Launch, Leader, Stream, Watch, run};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes on a busy machine, and shorter than the children's sleeps.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// How long to wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn bash(script: &str) -> Launch {
    program("/bin/bash", &["-c", script])
}

pub(crate) fn program(program: &str, args: &[&str]) -> Launch {
    // Children must not inherit ignored signals of the test process, as with nohup.
    IgnoredSignals::read().catch().expect("signals can be caught");
    Launch {
        program: PathBuf::from(program),
        args: args.iter().map(Into::into).collect(),
        shared_env: std::sync::Arc::default(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        working_dir: PathBuf::from("/"),
        stdin: Vec::new(),
        timeout: LONG,
        kill_grace: LONG,
        linger: LONG,
        output_bytes_max: 1024 * 1024,
        run_id: fresh_run_id(),
    }
}

pub(crate) fn fresh_run_id() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) async fn run_it(launch: Launch) -> Ended {
    run(launch, &mut (), &CancellationToken::new()).await
}

/// Runs until the child has printed `ready`, and then lets its deadline pass.
pub(crate) async fn run_until_ready(launch: Launch) -> Ended {
    run(launch, &mut TimeIsUpWhenReady::default(), &CancellationToken::new()).await
}

#[derive(Default)]
struct TimeIsUpWhenReady {
    seen: Vec<u8>,
}

impl Watch for TimeIsUpWhenReady {
    fn output(&mut self, _: Stream, bytes: &[u8]) -> Option<Duration> {
        self.seen.extend_from_slice(bytes);
        let ready = self.seen.windows(6).any(|part| part == b"ready\n");
        ready.then_some(Duration::ZERO)
    }
}

/// Sends the start of the child and its output to the test.
struct Tell {
    leader: Option<oneshot::Sender<u32>>,
    output: mpsc::UnboundedSender<String>,
}

impl Watch for Tell {
    fn started(&mut self, leader: &Leader) {
        if let Some(tell) = self.leader.take() {
            tell.send(leader.pid).expect("the test waits for it");
        }
    }

    fn output(&mut self, _: Stream, bytes: &[u8]) -> Option<Duration> {
        // A test that has seen enough drops the receiver.
        let _ = self.output.send(String::from_utf8_lossy(bytes).into_owned());
        None
    }
}

/// A run that has printed `ready`, and the pids it printed before.
pub(crate) struct Ready {
    pub(crate) running: JoinHandle<Ended>,
    pub(crate) cancel: CancellationToken,
    pub(crate) leader: u32,
    pub(crate) pids: Vec<u32>,
}

pub(crate) async fn ready(launch: Launch) -> Ready {
    let (tell_leader, leader) = oneshot::channel();
    let (output, mut printed) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let theirs = cancel.clone();
    let running = tokio::spawn(async move {
        run(launch, &mut Tell { leader: Some(tell_leader), output }, &theirs).await
    });
    let leader = leader.await.expect("the child starts");
    let mut text = String::new();
    while !text.contains("ready\n") {
        text += &printed.recv().await.expect("the child prints `ready`");
    }
    Ready { running, cancel, leader, pids: numbers(&text) }
}

/// The numbers a child printed.
pub(crate) fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

pub(crate) fn assert_exited(ended: &Ended, expected: i32) {
    assert!(matches!(ended.how, How::Exited { code } if code == expected), "{ended:?}");
}

pub(crate) fn assert_timed_out(ended: &Ended) {
    assert!(matches!(ended.how, How::TimedOut { .. }), "{ended:?}");
}

/// Whether a process runs: neither gone nor a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

pub(crate) fn state(pid: u32) -> Option<char> {
    stat(pid).and_then(|fields| fields[0].chars().next())
}

pub(crate) fn parent(pid: u32) -> Option<u32> {
    stat(pid).and_then(|fields| fields[1].parse().ok())
}

fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split(' ').map(str::to_owned).collect())
}

pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("no pid is 0");
    let sent = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    sent.expect("it is there to be killed");
}

/// Polls until it is so: nothing reports these changes of other processes.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < patience, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs one ignored test of this binary in a process of its own; `wrap` may put it into another
/// program's command line.
pub(crate) async fn in_its_own_process(test: &str, wrap: impl Fn(String) -> Launch) {
    let binary = std::env::current_exe().expect("this test has a path");
    in_its_own_process_of(&binary, test, wrap).await;
}

/// The same with `binary`, a copy of this one.
pub(crate) async fn in_its_own_process_of(
    binary: &Path,
    test: &str,
    wrap: impl Fn(String) -> Launch,
) {
    let ended = run_it(wrap(command_of_binary(binary, test))).await;
    let shown = format!("{}{}", ended.stdout.text(), ended.stderr.text());
    assert!(matches!(ended.how, How::Exited { code: 0 }), "{:?}\n{shown}", ended.how);
    assert!(shown.contains("1 passed"), "{shown}");
}

/// The command line that runs one ignored test of this binary.
pub(crate) fn command_of(test: &str) -> String {
    command_of_binary(&std::env::current_exe().expect("this test has a path"), test)
}

fn command_of_binary(binary: &Path, test: &str) -> String {
    // A coverage tool that watches this process needs to see that one too.
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let profile = std::env::var("LLVM_PROFILE_FILE")
        .map(|file| format!("LLVM_PROFILE_FILE='{file}' "))
        .unwrap_or_default();
    format!("{profile}'{}' --exact {test} --ignored --nocapture --test-threads=1", binary.display())
}
