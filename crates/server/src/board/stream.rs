//! Streams: what keeps a page that is open up to date, as server-sent events.
//!
//! Sessions run in other processes, so that the store is looked at a few times a second; that costs
//! next to nothing as long as nobody commits. A page that does not read is not written for: it gets what
//! is then.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hookwright_store::WaitError;
use http_body::Frame;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, sleep};

use super::Board;
use super::regions::{Region, Sent};
use crate::limits;
use crate::reception::Desk;

/// What a page shows; `None` if it is there no more.
pub(crate) type Look = Arc<dyn Fn() -> Result<Option<Vec<Region>>, WaitError> + Send + Sync>;

/// The body of a stream for a page that shows `state`. It ends with the program, with the page, or
/// when it has lasted long enough: browsers then come back by themselves.
pub(crate) fn body(
    board: Arc<Board>,
    look: Look,
    state: Option<String>,
    place: OwnedSemaphorePermit,
    desk: &Desk,
) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    let stop = desk.stop.clone();
    desk.run(async move {
        let _place = place;
        tokio::select! {
            () = follow(board, look, state, &sender) => {}
            () = sender.closed() => {}
            () = stop.cancelled() => {}
        }
    });
    Body::new(Events(receiver))
}

/// Sends what changes, for as long as one connection lasts.
async fn follow(board: Arc<Board>, look: Look, state: Option<String>, page: &mpsc::Sender<Bytes>) {
    let news = send_news(board, look, state, page);
    let _ = tokio::time::timeout(limits::STREAM_WAIT, news).await;
}

/// Sends what changes, until nobody wants it any more.
async fn send_news(
    board: Arc<Board>,
    look: Look,
    state: Option<String>,
    page: &mpsc::Sender<Bytes>,
) {
    let mut sent = Sent::shown(state);
    let mut changes = None;
    let (mut looked, mut spoke) = (Instant::now(), Instant::now());
    // How soon to come back; sent once the page has been compared with what there is.
    let mut greeting = Some(format!("retry: {}\n\n", limits::STREAM_RETRY.as_millis()));
    loop {
        let is_due = looked.elapsed() >= limits::UNWRITTEN_LOOK_PAUSE;
        let (board, look, known) = (Arc::clone(&board), Arc::clone(&look), changes);
        // The store's calls block.
        let seen = tokio::task::spawn_blocking(move || {
            let now = board.changes()?;
            let is_new = known != Some(now) || is_due;
            Ok::<_, WaitError>((now, if is_new { Some(look()?) } else { None }))
        });
        match seen.await {
            Ok(Ok((_, Some(None)))) => return,
            Ok(Ok((now, Some(Some(regions))))) => {
                (changes, looked) = (Some(now), Instant::now());
                for event in greeting.take().into_iter().chain(sent.news(&regions)) {
                    spoke = Instant::now();
                    if page.send(event.into()).await.is_err() {
                        return;
                    }
                }
            }
            // Nothing new; or nothing that can be read now, but perhaps the next time.
            Ok(Ok((_, None)) | Err(_)) | Err(_) => {}
        }
        if spoke.elapsed() >= limits::HEARTBEAT_PAUSE {
            spoke = Instant::now();
            if page.send(Bytes::from_static(b":\n\n")).await.is_err() {
                return;
            }
        }
        sleep(limits::CHANGES_LOOK_PAUSE).await;
    }
}

/// What was sent, as the body of a response.
struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

#[cfg(test)]
mod tests {
    use hookwright_store::MemoryStore;

    use super::*;
    use crate::approvals::Approvals;

    #[tokio::test(start_paused = true)]
    async fn a_page_without_news_gets_signs_of_life_until_its_connection_has_lasted_long_enough() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::new());
        let approvals = Approvals::of_folder(folder.path(), store.clone(), |_| true).unwrap();
        let board = Arc::new(Board::new(store, approvals, None));
        let (sender, mut receiver) = mpsc::channel(1);
        let began = Instant::now();
        let look: Look = Arc::new(|| Ok(Some(Vec::new())));
        let following = tokio::spawn(async move { follow(board, look, None, &sender).await });
        assert_eq!(receiver.recv().await.unwrap(), "retry: 1000\n\n");
        let mut signs = 0;
        while let Some(sign) = receiver.recv().await {
            assert_eq!(sign, ":\n\n");
            signs += 1;
        }
        following.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), limits::STREAM_WAIT.as_secs());
        let most = limits::STREAM_WAIT.as_secs() / limits::HEARTBEAT_PAUSE.as_secs();
        assert!((most - 2..=most).contains(&signs), "{signs}");
    }
}
