//! [`Feed`]: the updates for all pages that show the same thing.
//!
//! A change is read from the store and rendered once, however many pages follow it: all of them get
//! the same bytes. That is safe because a page is the same for every visitor: all signed-in
//! visitors have the same cookie and the same forms (`gate.rs`). Content for one visitor only must
//! not go through a feed.
//!
//! Only the newest [`Edition`] is kept. A page that missed one gets the next one as a whole.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::body::Bytes;
use hookwright_store::WaitError;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Board;
use super::regions::{Region, ShownRegions, everything, state_of};
use crate::limits;

/// Reads a page's content. Gets the [`TopicReading::Changed::facts`] of the last call. Blocks.
pub(crate) type TopicReader =
    Box<dyn Fn(Option<u64>) -> Result<TopicReading, WaitError> + Send + Sync>;

/// Result of a [`TopicReader`].
pub(crate) enum TopicReading {
    Changed {
        /// A hash of everything that the regions depend on: an equal hash means equal regions.
        facts: Option<u64>,
        regions: Vec<Region>,
    },
    /// Nothing has changed. Most commits are of other sessions, and rendering costs most.
    Same,
    /// The session no longer exists.
    Nothing,
}

/// The updates for all pages that show the same thing.
pub(crate) struct Feed {
    look: TopicReader,
    last: Mutex<LastLook>,
    news: watch::Sender<News>,
}

/// The latest state of a feed.
#[derive(Clone)]
pub(crate) enum News {
    /// The store has not been read yet, or could not be.
    Nothing,
    Edition(Arc<Edition>),
    /// The pages' session was removed.
    Gone,
}

/// The content of the pages at one time.
pub(crate) struct Edition {
    /// Number from 1, without gaps.
    pub(crate) number: u64,
    /// Its [`state_of`].
    pub(crate) state: String,
    /// The events for pages that show the previous edition.
    pub(crate) changes: Bytes,
    regions: Vec<Region>,
    everything: OnceLock<Bytes>,
}

impl Edition {
    /// The events for pages that show anything else, rendered when the first page needs them.
    pub(crate) fn everything(&self) -> Bytes {
        self.everything.get_or_init(|| everything(&self.regions).into()).clone()
    }
}

/// The state of the store when a feed last read it.
#[derive(Default)]
struct LastLook {
    /// [`Board::changes`] before that read.
    changes: Option<u64>,
    at: Option<Instant>,
    facts: Option<u64>,
    editions: u64,
    looks: ShownRegions,
}

impl Feed {
    pub(crate) fn new(look: TopicReader) -> Self {
        Self { look, last: Mutex::default(), news: watch::Sender::new(News::Nothing) }
    }

    /// Subscribes a page.
    pub(crate) fn subscribe(&self) -> watch::Receiver<News> {
        self.news.subscribe()
    }

    /// Whether a page still follows the feed, and its session exists.
    pub(super) fn is_of_use(&self) -> bool {
        self.news.receiver_count() > 0 && !matches!(*self.news.borrow(), News::Gone)
    }

    /// Whether the feed must read again, given the store's current number of changes.
    pub(super) fn is_behind(&self, changes: u64) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_behind(changes)
    }

    /// Publishes news, if there is any. Blocks; of several concurrent callers only the first reads
    /// and renders.
    pub(super) fn look(&self, board: &Board) -> Result<(), WaitError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before reading, so that the next call sees commits made meanwhile.
        let changes = board.changes()?;
        if !last.is_behind(changes) {
            return Ok(());
        }
        let seen = (self.look)(last.facts)?;
        (last.changes, last.at) = (Some(changes), Some(Instant::now()));
        let (facts, regions) = match seen {
            TopicReading::Changed { facts, regions } => (facts, regions),
            TopicReading::Same => return Ok(()),
            TopicReading::Nothing => {
                self.news.send_replace(News::Gone);
                return Ok(());
            }
        };
        last.facts = facts;
        let Some(changes) = last.looks.changes_to(&regions) else { return Ok(()) };
        last.editions += 1;
        let (number, state, changes) = (last.editions, state_of(&regions), changes.into());
        let edition = Edition { number, state, changes, regions, everything: OnceLock::new() };
        self.news.send_replace(News::Edition(Arc::new(edition)));
        Ok(())
    }
}

impl LastLook {
    fn is_behind(&self, changes: u64) -> bool {
        let is_due = |at: Instant| at.elapsed() >= limits::UNWRITTEN_LOOK_PAUSE;
        self.changes != Some(changes) || self.at.is_none_or(is_due)
    }
}
