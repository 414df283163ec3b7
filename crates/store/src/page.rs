//! Pages of a long result, and iterators over all pages.

use crate::{Entry, Filter, Heading, JournalKey, Kind, Record, Store, StoreError, limits};

/// Collects items up to a number of items or bytes.
pub(crate) struct Page<T> {
    items: Vec<T>,
    items_max: usize,
    bytes: usize,
}

impl<T> Page<T> {
    /// An empty page for at most this many items.
    pub(crate) fn new(items_max: usize) -> Self {
        Self { items: Vec::new(), items_max, bytes: 0 }
    }

    /// Whether another item with this many bytes fits. The first always fits: an empty page means
    /// the end.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let fits = self.items.is_empty() || self.bytes + bytes <= limits::PAGE_BYTES_MAX;
        self.items.len() < self.items_max && fits
    }

    /// Adds an item.
    pub(crate) fn push(&mut self, item: T, bytes: usize) {
        self.items.push(item);
        self.bytes += bytes;
    }

    /// The collected items.
    pub(crate) fn into_items(self) -> Vec<T> {
        self.items
    }
}

/// All entries after `after`, oldest first, read page by page, so memory stays bounded. Ends after
/// the first error.
pub fn entries<'a>(
    store: &'a dyn Store,
    journal: &'a JournalKey,
    after: u64,
) -> impl Iterator<Item = Result<Entry, StoreError>> + 'a {
    let mut after = after;
    one_by_one(move || {
        let page = store.journal(journal, after, limits::ENTRIES_READ_AT_ONCE)?;
        after = page.last().map_or(after, |last| last.sequence);
        Ok(page)
    })
}

/// The headings of all records that pass the filter, newest first, page by page, as [`records`].
pub fn headings(
    store: &dyn Store,
    kind: Kind,
    filter: Filter,
) -> impl Iterator<Item = Result<Heading, StoreError>> + '_ {
    let mut filter = Filter { limit: filter.limit.min(limits::RECORDS_PER_PAGE_MAX), ..filter };
    one_by_one(move || {
        let page = store.headings(kind, &filter)?;
        filter.before = page.last().map(|last| last.place);
        Ok(page)
    })
}

/// All records that pass the filter, newest first, page by page; the filter's limit bounds a page.
/// Ends after the first error.
pub fn records(
    store: &dyn Store,
    kind: Kind,
    filter: Filter,
) -> impl Iterator<Item = Result<Record, StoreError>> + '_ {
    let mut filter = Filter { limit: filter.limit.min(limits::RECORDS_PER_PAGE_MAX), ..filter };
    one_by_one(move || {
        let page = store.list(kind, &filter)?;
        filter.before = page.last().map(|last| last.place);
        Ok(page)
    })
}

/// The items of all pages. Ends after an empty page, and after an error, since the next page would be unknown.
fn one_by_one<T>(
    mut next_page: impl FnMut() -> Result<Vec<T>, StoreError>,
) -> impl Iterator<Item = Result<T, StoreError>> {
    let mut is_over = false;
    let pages = std::iter::from_fn(move || {
        let page = (!is_over).then(&mut next_page)?;
        is_over = page.as_ref().map_or(true, Vec::is_empty);
        Some(page)
    });
    pages.flat_map(|page| match page {
        Ok(items) => items.into_iter().map(Ok).collect::<Vec<_>>(),
        Err(error) => vec![Err(error)],
    })
}
