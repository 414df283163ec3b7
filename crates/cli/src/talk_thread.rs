//! [`TalkThread`]: prints messages without waiting for their reader.
//!
//! A terminal that was stopped with Ctrl-S, or a pager, makes a thread that prints wait for ever.
//! The thread that kills the agents of a worker without a store must not wait.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::screen::Screen;

/// Messages that wait for a reader. Further ones are left out.
const WAITING_MAX: usize = 64;

/// How long the end of this process waits for a reader.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// Prints on standard error, on a thread of its own. Clones share it.
#[derive(Clone)]
pub(crate) struct TalkThread {
    waiting: SyncSender<Talk>,
}

enum Talk {
    Text(String),
    /// Everything before it was printed.
    Flush(SyncSender<()>),
}

impl TalkThread {
    pub(crate) fn start() -> Self {
        let (waiting, received) = sync_channel(WAITING_MAX);
        let print = move || {
            for talk in received {
                match talk {
                    Talk::Text(text) => Screen.talk(&text),
                    Talk::Flush(done) => drop(done.try_send(())),
                }
            }
        };
        // Without a thread the messages are lost, and the orders still count.
        let _ = thread::Builder::new().name("talk".to_owned()).spawn(print);
        Self { waiting }
    }

    /// Prints on standard error, soon.
    pub(crate) fn talk(&self, text: String) {
        let _ = self.waiting.try_send(Talk::Text(text));
    }

    /// Waits until everything was printed, but not for ever.
    pub(crate) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.waiting.try_send(Talk::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(FLUSH_MAX);
        }
    }
}
