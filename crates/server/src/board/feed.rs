//! [`Feed`]: what all pages that show the same thing are sent.
//!
//! A change is read from the store and rendered once, however many pages follow it: all of them get the
//! same bytes. That is safe because a page is the same for every visitor: all who signed in have the same
//! cookie and the same forms (`gate.rs`). What only one visitor may see must not come through a feed.
//!
//! Only the newest [`Edition`] is kept. A page that was not ready for one gets all of the next one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::body::Bytes;
use hookwright_store::WaitError;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Board;
use super::regions::{Looks, Region, everything, state_of};
use crate::limits;

/// Reads what a page shows, beside the [`Seen::Changed::facts`] of the last look. It blocks.
pub(crate) type Look = Box<dyn Fn(Option<u64>) -> Result<Seen, WaitError> + Send + Sync>;

/// What a look has found.
pub(crate) enum Seen {
    Changed {
        /// Names all that the regions are made from: the same name, the same regions.
        facts: Option<u64>,
        regions: Vec<Region>,
    },
    /// What the last look has found. Most commits are of other sessions, and rendering costs most.
    Same,
    /// There is nothing any more.
    Nothing,
}

/// What all pages that show the same thing are sent.
pub(crate) struct Feed {
    look: Look,
    last: Mutex<LastLook>,
    news: watch::Sender<News>,
}

/// What a feed has to tell.
#[derive(Clone)]
pub(crate) enum News {
    /// The store was not read yet, or could not be.
    Nothing,
    Edition(Arc<Edition>),
    /// What the pages show was removed.
    Gone,
}

/// What the pages show at one time.
pub(crate) struct Edition {
    /// From 1, without gaps.
    pub(crate) number: u64,
    /// [`state_of`] it.
    pub(crate) state: String,
    /// The events for pages that show the edition before.
    pub(crate) changes: Bytes,
    regions: Vec<Region>,
    everything: OnceLock<Bytes>,
}

impl Edition {
    /// The events for pages that show anything else. They are made when the first page needs them.
    pub(crate) fn everything(&self) -> Bytes {
        self.everything.get_or_init(|| everything(&self.regions).into()).clone()
    }
}

/// How the store was when a feed looked.
#[derive(Default)]
struct LastLook {
    /// [`Board::changes`] before the look.
    changes: Option<u64>,
    at: Option<Instant>,
    facts: Option<u64>,
    editions: u64,
    looks: Looks,
}

impl Feed {
    pub(crate) fn new(look: Look) -> Self {
        Self { look, last: Mutex::default(), news: watch::Sender::new(News::Nothing) }
    }

    /// Subscribes a page.
    pub(crate) fn subscribe(&self) -> watch::Receiver<News> {
        self.news.subscribe()
    }

    /// Whether a page still follows it, and there is something to follow.
    pub(super) fn is_of_use(&self) -> bool {
        self.news.receiver_count() > 0 && !matches!(*self.news.borrow(), News::Gone)
    }

    /// Whether it has to look, now that the store's number of changes is this one.
    pub(super) fn is_behind(&self, changes: u64) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_behind(changes)
    }

    /// Publishes what is new, if anything is. It blocks; of several callers at once only the first one
    /// reads and renders.
    pub(super) fn look(&self, board: &Board) -> Result<(), WaitError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the look: what is committed meanwhile is seen by the next one.
        let changes = board.changes()?;
        if !last.is_behind(changes) {
            return Ok(());
        }
        let seen = (self.look)(last.facts)?;
        (last.changes, last.at) = (Some(changes), Some(Instant::now()));
        let (facts, regions) = match seen {
            Seen::Changed { facts, regions } => (facts, regions),
            Seen::Same => return Ok(()),
            Seen::Nothing => {
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
