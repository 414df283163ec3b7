//! [`Feeds`]: the feeds that pages follow, and one task that updates all of them.
//!
//! Sessions run in other processes, so the store is polled for commits a few times a second: once
//! for all pages, and only while a page is open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_store::StoreError;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::Board;
use super::feed::{Feed, News, TopicReader};
use crate::limits;
use crate::reception::Desk;

/// The subject of a page.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Overview,
    Session {
        name: String,
        /// The project in the page's address.
        project: Option<String>,
    },
}

/// The feeds of one board.
pub(crate) struct Feeds {
    board: Arc<Board>,
    desk: Desk,
    open: Arc<Mutex<Open>>,
}

/// At most [`limits::STREAMS_MAX`]: each has a page.
#[derive(Default)]
struct Open {
    feeds: HashMap<Topic, Arc<Feed>>,
    is_watched: bool,
}

impl Feeds {
    pub(crate) fn new(board: Arc<Board>, desk: Desk) -> Self {
        Self { board, desk, open: Arc::default() }
    }

    /// Subscribes a page. `look` is used for the first page of a topic.
    pub(crate) fn follow(&self, topic: Topic, look: TopicReader) -> Subscription {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.feeds.retain(|_, feed| feed.is_of_use());
        let feed = open.feeds.entry(topic).or_insert_with(|| Arc::new(Feed::new(look)));
        let feed = Arc::clone(feed);
        // Under the lock, so that the update task does not drop the feed as unused.
        let news = feed.subscribe();
        if !std::mem::replace(&mut open.is_watched, true) {
            let (board, all) = (Arc::clone(&self.board), Arc::clone(&self.open));
            let stop = self.desk.stop.clone();
            self.desk.run(async move {
                tokio::select! {
                    () = keep_up_to_date(board, all) => {}
                    () = stop.cancelled() => {}
                }
            });
        }
        Subscription { board: Arc::clone(&self.board), feed, news }
    }

    #[cfg(test)]
    pub(crate) fn are_watched(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_watched
    }
}

/// A page's subscription to a feed.
pub(crate) struct Subscription {
    board: Arc<Board>,
    feed: Arc<Feed>,
    pub(crate) news: watch::Receiver<News>,
}

impl Subscription {
    /// The current news: a page must not get news from before it was loaded.
    pub(crate) async fn up_to_date(self) -> watch::Receiver<News> {
        look(self.board, self.feed).await;
        self.news
    }
}

/// Keeps all feeds up to date while a page follows one.
async fn keep_up_to_date(board: Arc<Board>, open: Arc<Mutex<Open>>) {
    loop {
        sleep(limits::CHANGES_LOOK_PAUSE).await;
        let feeds: Vec<Arc<Feed>> = {
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            open.feeds.retain(|_, feed| feed.is_of_use());
            open.is_watched = !open.feeds.is_empty();
            if !open.is_watched {
                return;
            }
            open.feeds.values().cloned().collect()
        };
        let asked = Arc::clone(&board);
        // The store's calls block, and so does a feed that is reading.
        let behind = spawn_blocking(move || {
            let changes = asked.changes()?;
            let behind = feeds.into_iter().filter(|feed| feed.is_behind(changes));
            Ok::<Vec<_>, StoreError>(behind.collect())
        });
        // A store that cannot be read now may be readable next time.
        let Ok(Ok(behind)) = behind.await else { continue };
        for feed in behind {
            look(Arc::clone(&board), feed).await;
        }
    }
}

/// One after the other: however many feeds there are, they use at most one core. An error or a
/// panic in one of them affects only its own pages, and is retried.
async fn look(board: Arc<Board>, feed: Arc<Feed>) {
    let _ = spawn_blocking(move || feed.look(&board)).await;
}
