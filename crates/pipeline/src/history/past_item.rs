//! [`PastItem`]: what a journal says about one work item.

use hookwright_events::{ItemState, WorkItem};

#[derive(Debug, Clone)]
pub(crate) struct PastItem {
    pub(crate) item: WorkItem,
    /// When it was taken.
    pub(crate) at: String,
    /// Its state at the end, and why.
    pub(crate) ended: Option<(ItemState, Option<String>)>,
    /// The last iteration for it that ended.
    pub(super) last_iteration: u32,
    /// The last iteration that was begun for it when it was left to another session.
    pub(crate) left_at: Option<u32>,
}

impl PastItem {
    pub(crate) fn new(item: WorkItem, at: String) -> Self {
        Self { item, at, ended: None, last_iteration: 0, left_at: None }
    }

    /// The last iteration for it that ended, and whether there will be no more.
    pub(crate) fn extent(&self) -> (u32, bool) {
        (self.last_iteration, self.ended.is_some())
    }
}
