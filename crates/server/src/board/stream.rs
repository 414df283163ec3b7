//! Streams: server-sent events that keep one open page up to date.
//!
//! `feed.rs` renders the events once for all pages. A page that does not read is not sent more: at
//! most one message waits for it, and it gets the whole content when it reads again.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::Frame;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::feed::{Edition, News};
use super::feeds::Subscription;
use crate::limits;
use crate::reception::Desk;

/// Keeps a connection open.
const HEARTBEAT: &[u8] = b":\n\n";

/// Tells a page that its session was removed.
const GONE: &[u8] = b"event: gone\ndata: {}\n\n";

/// The body of a stream for a page that shows `state`. It ends with the process, with the page, or
/// after its time limit: browsers then reconnect by themselves.
pub(crate) fn body(
    subscription: Subscription,
    state: Option<String>,
    place: OwnedSemaphorePermit,
    desk: &Desk,
) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    let stop = desk.stop.clone();
    desk.run(async move {
        let _place = place;
        let follow = async {
            let news = subscription.up_to_date().await;
            follow(news, state, &sender).await;
        };
        tokio::select! {
            () = follow => {}
            () = stop.cancelled() => {}
        }
    });
    Body::new(Events(receiver))
}

/// Sends changes for as long as the page and the connection last.
async fn follow(news: watch::Receiver<News>, state: Option<String>, page: &mpsc::Sender<Bytes>) {
    let mut reader = StreamReader { news, shown: ShownPage::State(state), waiting: None };
    let messages = async {
        // Wait for room first and build the message then, so that it is the newest.
        while let Ok(place) = page.reserve().await {
            let Some(message) = reader.next().await else { break };
            place.send(message);
        }
    };
    tokio::select! {
        _ = timeout(limits::STREAM_WAIT, messages) => {}
        () = page.closed() => {}
    }
}

/// The state of one page's stream.
struct StreamReader {
    news: watch::Receiver<News>,
    shown: ShownPage,
    /// The next message.
    waiting: Option<Bytes>,
}

/// The content that a page shows.
enum ShownPage {
    /// The state that the page reported, not yet compared with the feed.
    State(Option<String>),
    /// The edition with this number.
    Edition(u64),
    /// A session that was removed.
    Gone,
}

impl StreamReader {
    /// The next message, or a heartbeat if there is none for a while; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        let until = Instant::now() + limits::HEARTBEAT_PAUSE;
        loop {
            if let Some(message) = self.waiting.take() {
                return Some(message);
            }
            let news = self.news.borrow_and_update().clone();
            match (news, &self.shown) {
                (_, ShownPage::Gone) => return None,
                (News::Gone, _) => {
                    self.shown = ShownPage::Gone;
                    return Some(Bytes::from_static(GONE));
                }
                (News::Edition(edition), ShownPage::State(state)) => {
                    let is_same = state.as_ref() == Some(&edition.state);
                    self.waiting = (!is_same).then(|| edition.everything());
                    self.shown = ShownPage::Edition(edition.number);
                    // The reconnect delay, sent once the page's state has been compared.
                    let retry = limits::STREAM_RETRY.as_millis();
                    return Some(format!("retry: {retry}\n\n").into());
                }
                (News::Edition(edition), ShownPage::Edition(number))
                    if edition.number > *number =>
                {
                    let is_next = edition.number == number + 1;
                    self.shown = ShownPage::Edition(edition.number);
                    return Some(message_for(&edition, is_next));
                }
                (News::Edition(_) | News::Nothing, _) => {}
            }
            match timeout_at(until, self.news.changed()).await {
                Ok(Ok(())) => {}
                // The feed has ended, so the process is ending.
                Ok(Err(_)) => return None,
                Err(_) => return Some(Bytes::from_static(HEARTBEAT)),
            }
        }
    }
}

/// The changes for a page that shows the previous edition; everything for a page that missed some.
fn message_for(edition: &Edition, is_next: bool) -> Bytes {
    if is_next { edition.changes.clone() } else { edition.everything() }
}

/// The messages as the body of a response.
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hookwright_store::{
        AllButOneLive, Commit, Expected, Kind, Put, RecordKey, SqliteStore, Store,
    };
    use maud::html;

    use super::super::Board;
    use super::super::feed::TopicReading;
    use super::super::feeds::{Feeds, Topic};
    use super::super::regions::{Fragment, Region};
    use super::*;
    use crate::approvals::Approvals;

    /// A store, a feed that shows how often it has read, and pages that follow it.
    struct Situation {
        store: Arc<SqliteStore>,
        feeds: Feeds,
        looks: Arc<AtomicUsize>,
    }

    impl Situation {
        fn new(folder: &std::path::Path) -> Self {
            let store = Arc::new(SqliteStore::in_memory().expect("memory"));
            let approvals =
                Approvals::of_folder(folder, store.clone(), Arc::new(AllButOneLive::default()))
                    .unwrap();
            let board = Arc::new(Board::new(store.clone(), approvals, None));
            Self { store, feeds: Feeds::new(board, Desk::here()), looks: Arc::default() }
        }

        /// A page that shows nothing yet; it is sent something when it reads.
        async fn page(&self) -> mpsc::Receiver<Bytes> {
            let looks = Arc::clone(&self.looks);
            let look = Box::new(move |_| {
                let number = looks.fetch_add(1, Ordering::Relaxed) + 1;
                let old = Fragment::new("old", html! { p #old { "always the same" } });
                let new = Fragment::new("new", html! { p #new { (number) } });
                let regions = vec![Region { name: "list", fragments: vec![old, new] }];
                Ok(TopicReading::Changed { facts: None, regions })
            });
            let news = self.feeds.follow(Topic::Overview, look).up_to_date().await;
            let (sender, receiver) = mpsc::channel(1);
            tokio::spawn(async move { follow(news, None, &sender).await });
            receiver
        }

        fn commit(&self, name: &str) {
            let put = Put {
                kind: Kind::Session,
                key: RecordKey { project: "p".into(), name: name.into() },
                expected: Expected::Absent,
                value: "{}".into(),
                created_at_ms: 0,
                status: "completed".into(),
                queued: None,
                moves: None,
            };
            let commit = Commit { puts: vec![put], ..Commit::unsynced() };
            self.store.commit(&commit).unwrap();
        }
    }

    async fn text(page: &mut mpsc::Receiver<Bytes>) -> String {
        String::from_utf8(page.recv().await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_does_not_read_is_not_written_for_and_then_gets_all_of_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let situation = Situation::new(folder.path());
        let (mut quick, mut slow) = (situation.page().await, situation.page().await);
        for page in [&mut quick, &mut slow] {
            assert_eq!(text(page).await, "retry: 1000\n\n");
            assert!(text(page).await.contains("<p id=\\\"new\\\">1</p>"));
        }
        for change in 2..=10 {
            situation.commit(&format!("s{change}"));
            let news = text(&mut quick).await;
            assert!(news.contains(&format!("<p id=\\\"new\\\">{change}</p>")), "{news}");
            assert!(!news.contains("always the same"), "{news}");
        }
        assert_eq!(situation.looks.load(Ordering::Relaxed), 10, "one for all pages");
        // There was room for one message.
        assert!(text(&mut slow).await.contains("<p id=\\\"new\\\">2</p>"));
        let all = text(&mut slow).await;
        assert!(all.contains("always the same") && all.contains("new\\\">10</p>"), "{all}");
        // From then on it gets the same as the others.
        situation.commit("s11");
        assert_eq!(text(&mut slow).await, text(&mut quick).await);
    }

    #[tokio::test(start_paused = true)]
    async fn commits_of_other_sessions_are_not_rendered() {
        let folder = tempfile::tempdir().unwrap();
        let situation = Situation::new(folder.path());
        let facts = Arc::new(AtomicUsize::new(1));
        let (now, rendered) = (Arc::clone(&facts), Arc::clone(&situation.looks));
        let look = Box::new(move |before: Option<u64>| {
            let facts = now.load(Ordering::Relaxed) as u64;
            if before == Some(facts) {
                return Ok(TopicReading::Same);
            }
            rendered.fetch_add(1, Ordering::Relaxed);
            let fragment = Fragment::new("f", html! { p #f { (facts) } });
            let regions = vec![Region { name: "list", fragments: vec![fragment] }];
            Ok(TopicReading::Changed { facts: Some(facts), regions })
        });
        let news = situation.feeds.follow(Topic::Overview, look).up_to_date().await;
        let (sender, mut page) = mpsc::channel(1);
        tokio::spawn(async move { follow(news, None, &sender).await });
        assert_eq!(text(&mut page).await, "retry: 1000\n\n");
        assert!(text(&mut page).await.contains(">1</p>"));
        for other in ["a", "b", "c"] {
            situation.commit(other);
            tokio::time::sleep(limits::CHANGES_LOOK_PAUSE * 2).await;
        }
        facts.store(2, Ordering::Relaxed);
        situation.commit("d");
        assert!(text(&mut page).await.contains(">2</p>"));
        assert_eq!(situation.looks.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_without_news_gets_signs_of_life_until_its_connection_has_lasted_long_enough() {
        let (_feed, news) = watch::channel(News::Nothing);
        let (sender, mut receiver) = mpsc::channel(1);
        let began = Instant::now();
        let following = tokio::spawn(async move { follow(news, None, &sender).await });
        let mut signs = 0;
        while let Some(sign) = receiver.recv().await {
            assert_eq!(sign, HEARTBEAT);
            signs += 1;
        }
        following.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), limits::STREAM_WAIT.as_secs());
        let most = limits::STREAM_WAIT.as_secs() / limits::HEARTBEAT_PAUSE.as_secs();
        assert!((most - 2..=most).contains(&signs), "{signs}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_without_pages_is_not_polled() {
        let folder = tempfile::tempdir().unwrap();
        let situation = Situation::new(folder.path());
        for _ in 0..2 {
            let mut page = situation.page().await;
            assert_eq!(text(&mut page).await, "retry: 1000\n\n");
            assert!(situation.feeds.are_watched());
            drop(page);
            tokio::time::sleep(limits::CHANGES_LOOK_PAUSE * 2).await;
            assert!(!situation.feeds.are_watched());
        }
        assert_eq!(situation.looks.load(Ordering::Relaxed), 2);
    }
}
