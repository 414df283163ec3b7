//! [`SessionProcess`]: the process in which a worker runs a session. Its standard input is a pipe:
//! the first line is the [`SessionAssignment`], each further one is a [`MessageLine`]. If the worker ends, the pipe
//! closes, and the process kills its agents and ends.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use hookwright_pipeline::heart::Watchdog;
use hookwright_pipeline::lease::LeaseOwner;
use hookwright_pipeline::orders::{GivenOrder, Order, Orders, SessionMessage};
use hookwright_process::faults;
use hookwright_store::WorkerId;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::exit_code;
use crate::program_file;
use crate::text::one_line;

/// Bytes of the end of a process's messages that are kept.
const WORDS_BYTES_MAX: usize = 8 * 1024;

/// How long they are waited for after the end of the process.
const WORDS_WAIT: Duration = Duration::from_secs(1);

/// Characters of an error in them that a reason shows.
const ERROR_CHARS_MAX: usize = 300;

/// Characters of what to do about it.
const HELP_CHARS_MAX: usize = 200;

/// The session that a process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SessionAssignment {
    /// The project's name, else its path.
    pub(super) project: String,
    pub(super) session: String,
    /// The folder in which it runs.
    pub(super) root: PathBuf,
    pub(super) lease: String,
    pub(super) token: u64,
    pub(super) worker: WorkerId,
    /// The command that sets a new work tree up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) setup: Option<String>,
    /// What the process knows of the worker's beats when it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) beats: Option<BeatTimes>,
}

/// The beats of a worker, as a process on the same machine sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BeatTimes {
    pub(super) interval_ms: u64,
    /// When the last one that arrived was sent, since the machine's boot.
    pub(super) last_ms: u64,
}

/// What a worker tells the process of a session, as a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MessageLine {
    Order {
        order: OrderWord,
        why: String,
    },
    Wake,
    /// The worker's beat has arrived that was sent then, since the machine's boot.
    Beat {
        sent_ms: u64,
    },
    Stop {
        times: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OrderWord {
    Continue,
    StartNoTurn,
    End,
    Kill,
}

impl MessageLine {
    fn new(message: &SessionMessage) -> Self {
        match message {
            SessionMessage::Order(GivenOrder { order, why }) => {
                let order = match order {
                    Order::Continue => OrderWord::Continue,
                    Order::StartNoTurn => OrderWord::StartNoTurn,
                    Order::End => OrderWord::End,
                    Order::Kill => OrderWord::Kill,
                };
                Self::Order { order, why: why.clone() }
            }
            SessionMessage::Wake => Self::Wake,
            SessionMessage::Beat { sent } => Self::Beat { sent_ms: millis(*sent) },
            SessionMessage::Stop { times } => Self::Stop { times: *times },
        }
    }

    /// Passes the message on to a session, and to what watches the worker.
    pub(super) fn pass_on(&self, orders: &Orders, watchdog: Option<&Watchdog>) {
        let (order, why) = match self {
            Self::Order { order: OrderWord::Continue, why } => (Order::Continue, why),
            Self::Order { order: OrderWord::StartNoTurn, why } => (Order::StartNoTurn, why),
            Self::Order { order: OrderWord::End, why } => (Order::End, why),
            Self::Order { order: OrderWord::Kill, why } => (Order::Kill, why),
            Self::Wake => return orders.wake(),
            Self::Beat { sent_ms } => {
                let sent = Duration::from_millis(*sent_ms);
                return watchdog.into_iter().for_each(|watchdog| watchdog.beat_arrived(sent));
            }
            Self::Stop { times } => return orders.stop(*times),
        };
        orders.give(order, why);
    }
}

/// The process's standard input, which closes when the worker ends.
type ProcessInput = Arc<Mutex<Option<ChildStdin>>>;

/// A process that runs a session, or waits for one.
pub(super) struct SessionProcess {
    /// Without its worker.
    process: LeaseOwner,
    /// `None` once it was closed.
    input: ProcessInput,
    orders: Orders,
    /// `None` once its end is waited for.
    child: Option<Child>,
}

/// How a session's process ended.
#[derive(Debug)]
pub(super) struct EndOfProcess {
    status: Option<ExitStatus>,
    /// The end of what it said.
    words: String,
}

impl SessionProcess {
    /// Starts a process that waits for its session.
    pub(super) fn start() -> io::Result<Self> {
        faults::point("session process starts");
        let mut child = program_file::start_again()
            .args(["worker", "--session-process"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C in the worker's terminal is for the worker, which gives the session back.
            .process_group(0)
            .spawn()?;
        faults::point("session process started");
        let process = LeaseOwner::process(child.id());
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let told = Arc::clone(&input);
        let orders = Orders::telling(move |message| tell(&told, message));
        Ok(Self { process, input, orders, child: Some(child) })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid
    }

    /// Whether it has not ended while it waited for its session.
    pub(super) fn runs(&self) -> bool {
        self.process.may_run()
    }

    /// It as the holder of leases of this worker, also after its end.
    pub(super) fn owner(&self, worker: WorkerId) -> LeaseOwner {
        LeaseOwner { worker: Some(worker), ..self.process.clone() }
    }

    /// Its description as the holder of a lease of this worker.
    pub(super) fn holder(&self, worker: WorkerId) -> String {
        serde_json::to_string(&self.owner(worker)).unwrap_or_default()
    }

    /// Gives it its session.
    pub(super) fn assign(&self, assignment: &SessionAssignment) {
        let line = format!("{}\n", serde_json::to_string(assignment).unwrap_or_default());
        if let Some(input) = &mut *lock(&self.input) {
            // A process that has ended reads nothing; its end is seen elsewhere.
            let _ = input.write_all(line.as_bytes());
            // Later messages never wait: who sends them keeps the worker alive.
            let _ = rustix::fs::fcntl_setfl(&*input, OFlags::NONBLOCK);
        }
    }

    /// The orders for its session, which are passed on to it.
    pub(super) fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Lets it kill its agents and end.
    pub(super) fn kill(&self) {
        *lock(&self.input) = None;
    }

    /// Waits for its end, on this thread. Can be called once.
    pub(super) fn end(&mut self) -> impl FnOnce() -> EndOfProcess + Send + use<> {
        let mut child = self.child.take().expect("its end is waited for once");
        let words = child.stderr.take().map(read_in_background);
        move || {
            let status = child.wait().ok();
            // What a killed process leaves may have the other end of the pipe.
            let words = words.and_then(|words| words.recv_timeout(WORDS_WAIT).ok());
            EndOfProcess { status, words: words.unwrap_or_default() }
        }
    }
}

impl Drop for SessionProcess {
    /// A process that waits for its session ends when its input closes.
    fn drop(&mut self) {
        self.kill();
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }
}

/// Passes a message on. A process that stands still does not read, and its pipe may be full: then it
/// has to end, unless the message only wakes it, which many earlier ones do as well, or is of a beat,
/// without which it ends by itself.
fn tell(input: &ProcessInput, message: &SessionMessage) {
    let line = serde_json::to_string(&MessageLine::new(message)).unwrap_or_default();
    let mut input = lock(input);
    let told = input.as_mut().map(|input| input.write_all(format!("{line}\n").as_bytes()));
    let is_full = told.is_some_and(|told| {
        told.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    });
    if is_full && !matches!(message, SessionMessage::Wake | SessionMessage::Beat { .. }) {
        *input = None;
    }
}

fn lock(input: &ProcessInput) -> MutexGuard<'_, Option<ChildStdin>> {
    input.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds, rounded down.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The end of what a process says, as text, once it says no more.
fn read_in_background(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (words, receiver) = mpsc::channel();
    let read = move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..read]);
            let over = kept.len().saturating_sub(WORDS_BYTES_MAX);
            kept.drain(..over);
        }
        let _ = words.send(String::from_utf8_lossy(&kept).into_owned());
    };
    // Without a thread its words are lost, and the pipe may fill up.
    let _ = std::thread::Builder::new().name("hookwright-words".to_owned()).spawn(read);
    receiver
}

impl EndOfProcess {
    /// Why the session cannot run here and what to do, if its process says so.
    pub(super) fn refusal(&self) -> Option<String> {
        let code = self.status?.code()?;
        if code != i32::from(exit_code::OUR_FAULT) {
            return None;
        }
        let error = self.words.lines().find_map(|line| line.strip_prefix("error: "));
        let error = one_line(error.unwrap_or("its process failed"), ERROR_CHARS_MAX);
        // The error may show the output of a command, which may have such a line, too.
        let help = self.words.lines().rev().find_map(|line| line.strip_prefix("help: "));
        Some(match help {
            Some(help) => format!("{error}; {}", one_line(help, HELP_CHARS_MAX)),
            None => error,
        })
    }

    /// Whether a person has ended it with signals, before it could record that the session ended.
    pub(super) fn was_interrupted(&self) -> bool {
        let terminated = Some(rustix::process::Signal::TERM.as_raw());
        self.status.is_some_and(|status| {
            status.code() == Some(i32::from(exit_code::INTERRUPTED))
                || status.signal() == terminated
        })
    }

    /// How it ended, in words: "exit code 1".
    pub(super) fn in_words(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => "unknown".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_does_not_read_makes_no_message_wait() {
        let mut child =
            Command::new("sleep").arg("1000").stdin(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take().expect("a pipe");
        rustix::fs::fcntl_setfl(&stdin, OFlags::NONBLOCK).expect("set");
        let input: ProcessInput = Arc::new(Mutex::new(Some(stdin)));
        // More than any pipe holds.
        for _ in 0..1_000_000 {
            tell(&input, &SessionMessage::Wake);
        }
        tell(&input, &SessionMessage::Beat { sent: Duration::from_secs(1) });
        assert!(lock(&input).is_some());
        tell(&input, &SessionMessage::Stop { times: 1 });
        assert!(lock(&input).is_none(), "its input is closed, so that it ends");
        child.kill().expect("killed");
        child.wait().expect("it has ended");
    }
}
