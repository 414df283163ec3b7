//! What those who read a server's output tell its supervisor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::sync::{mpsc, watch};

/// News that waits for the supervisor. Beyond it the same has been told often enough.
pub(super) const NEWS_WAITING_MAX: usize = 8;

/// Something that the user should know about a server that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerNews {
    /// It printed a line that is no message.
    NoMessage(String),
    /// It sent a message that is too long and answers nothing.
    TooLong,
    /// Its tools have changed.
    ToolsChanged,
}

/// Why a server has to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndCause {
    /// It closed its output.
    OutputClosed,
    /// It sends without end.
    Flood,
    /// It does not read what we send.
    Stuck,
}

/// Where news goes in.
#[derive(Debug, Clone)]
pub(super) struct NewsPort {
    news: mpsc::Sender<ServerNews>,
    changes: Arc<ToolChanges>,
    cause: watch::Sender<Option<EndCause>>,
}

/// How often a server has changed its tools. Many servers do so once, right after their start.
#[derive(Debug, Default)]
struct ToolChanges {
    count: AtomicU32,
    /// The session's tools are settled.
    are_settled: AtomicBool,
}

/// Where it comes out.
#[derive(Debug)]
pub(super) struct NewsDesk {
    news: mpsc::Receiver<ServerNews>,
    cause: watch::Receiver<Option<EndCause>>,
}

impl NewsPort {
    pub(super) fn new() -> (Self, NewsDesk) {
        let (news, told) = mpsc::channel(NEWS_WAITING_MAX);
        let (cause, known) = watch::channel(None);
        (Self { news, changes: Arc::default(), cause }, NewsDesk { news: told, cause: known })
    }

    pub(super) fn tell(&self, news: ServerNews) {
        let _ = self.news.try_send(news);
    }

    /// The server says that its tools have changed.
    pub(super) fn tools_changed(&self) {
        self.changes.count.fetch_add(1, Ordering::Relaxed);
        if self.changes.are_settled.load(Ordering::Relaxed) {
            self.tell(ServerNews::ToolsChanged);
        }
    }

    /// How often it has said so.
    pub(super) fn tool_changes(&self) -> u32 {
        self.changes.count.load(Ordering::Relaxed)
    }

    /// From now on changes are news.
    pub(super) fn tools_are_settled(&self) {
        self.changes.are_settled.store(true, Ordering::Relaxed);
    }

    /// Asks for the server's end. The first cause counts.
    pub(super) fn end(&self, cause: EndCause) {
        self.cause.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(cause);
            is_first
        });
    }
}

impl NewsDesk {
    /// The next piece of news, or why the server has to be ended. Never returns once neither can come.
    /// Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<ServerNews, EndCause> {
        let wanted = async {
            match self.cause.wait_for(Option::is_some).await.ok().and_then(|cause| *cause) {
                Some(cause) => cause,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // First, so that nothing is lost at the end.
            Some(news) = self.news.recv() => Ok(news),
            cause = wanted => Err(cause),
            else => std::future::pending().await,
        }
    }

    /// The cause that is known so far.
    #[cfg(test)]
    pub(super) fn end_cause(&self) -> Option<EndCause> {
        *self.cause.borrow()
    }
}
