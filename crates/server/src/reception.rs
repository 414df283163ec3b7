//! [`Reception`]: a separate thread that serves people's answers.
//!
//! The thread that runs a session may be busy, and a person who opens a page must not wait for it.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits;

/// A thread that runs tasks until this is dropped.
pub(crate) struct Reception {
    handle: Handle,
    tasks: TaskTracker,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Reception {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, tasks) = (runtime.handle().clone(), TaskTracker::new());
        let stop = CancellationToken::new();
        let (all, stopped) = (tasks.clone(), stop.clone());
        let thread = thread::Builder::new().name("approvals".to_owned()).spawn(move || {
            runtime.block_on(async {
                stopped.cancelled().await;
                all.close();
                for _ in 0..limits::LAST_ANSWERS_STEPS {
                    if tokio::time::timeout(limits::LAST_ANSWERS_STEP, all.wait()).await.is_ok() {
                        break;
                    }
                }
            });
            runtime.shutdown_timeout(Duration::ZERO);
        })?;
        Ok(Self { handle, tasks, stop, thread: Some(thread) })
    }

    /// A handle for tasks that start others.
    pub(crate) fn desk(&self) -> Desk {
        let (handle, tasks, stop) = (self.handle.clone(), self.tasks.clone(), self.stop.clone());
        Desk { handle, tasks, stop }
    }
}

impl Drop for Reception {
    /// Waits for responses that are being sent, within [`limits::LAST_ANSWERS_STEPS`].
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic there has already been printed.
            let _ = thread.join();
        }
    }
}

/// Starts tasks on the reception's thread.
#[derive(Clone)]
pub(crate) struct Desk {
    handle: Handle,
    tasks: TaskTracker,
    /// Cancelled when the reception ends.
    pub(crate) stop: CancellationToken,
}

impl Desk {
    /// A desk on the current runtime.
    #[cfg(test)]
    pub(crate) fn here() -> Self {
        Self {
            handle: Handle::current(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Runs a task. It must end soon after `stop`.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.tasks.spawn_on(task, &self.handle)
    }
}
