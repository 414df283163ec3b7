//! What those who read a server's output tell its supervisor.

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
    cause: watch::Sender<Option<EndCause>>,
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
        (Self { news, cause }, NewsDesk { news: told, cause: known })
    }

    pub(super) fn tell(&self, news: ServerNews) {
        let _ = self.news.try_send(news);
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
            cause = wanted => Err(cause),
            Some(news) = self.news.recv() => Ok(news),
            else => std::future::pending().await,
        }
    }

    /// The cause that is known so far.
    #[cfg(test)]
    pub(super) fn end_cause(&self) -> Option<EndCause> {
        *self.cause.borrow()
    }
}
