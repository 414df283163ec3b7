//! [`IssueQueue`]: a folder of issues as one session works through it.
//!
//! The next issue is found without opening the files of the others and without reading their
//! records. The names are in a [`FolderListing`]. The numbers of issues without a record, which are
//! open, are here; records of issues that may be taken wait in the store, in order
//! ([`IssueStates`]).

use std::collections::BTreeSet;

use hookwright_store::StoreError;

use super::folder_listing::FolderListing;
use super::{Issue, IssueError, IssueFolder, IssueState, IssueStates, KeptIssue};

#[derive(Debug)]
pub(crate) struct IssueQueue {
    folder: IssueFolder,
    listing: Option<FolderListing>,
    /// Issues that had no record when they were first seen. Other sessions may have taken some
    /// since.
    untouched: BTreeSet<u64>,
    /// Issues whose files could not be read when their turn came.
    faulty: BTreeSet<u64>,
    /// Faults of the latest listing that are not yet reported.
    faults: Vec<String>,
}

/// Why a folder cannot be worked through.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueueError {
    /// The folder cannot be listed.
    #[error(transparent)]
    Folder(#[from] IssueError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IssueQueue {
    pub(crate) fn new(folder: &IssueFolder) -> Self {
        let (untouched, faulty) = (BTreeSet::new(), BTreeSet::new());
        Self { folder: folder.clone(), listing: None, untouched, faulty, faults: Vec::new() }
    }

    /// Lists the folder again if it has changed. Returns the open issues that were not there
    /// before.
    pub(crate) fn refresh(
        &mut self,
        states: &IssueStates,
        session: &str,
    ) -> Result<Vec<u64>, QueueError> {
        if self.listing.as_ref().is_some_and(FolderListing::is_current) {
            return Ok(Vec::new());
        }
        let listing = self.folder.list()?;
        let before = self.listing.as_ref();
        let is_new = |number: &u64| before.is_none_or(|before| before.get(*number).is_none());
        let new: Vec<u64> = listing.numbers().filter(is_new).collect();
        let mut open = Vec::new();
        // If all are new, reading all states at once is cheaper than one by one.
        let known = before.is_none().then(|| states.states(&self.folder)).transpose()?;
        for number in new {
            let state = match &known {
                Some(known) => known.get(&number).copied(),
                None => {
                    states.get(&self.folder, &number.to_string())?.map(|kept| kept.record.state)
                }
            };
            let is_open = match state {
                None => self.untouched.insert(number),
                Some(IssueState::Open) => true,
                Some(IssueState::Active) => {
                    let kept = states.get(&self.folder, &number.to_string())?;
                    kept.map_or(Ok(false), |kept| states.is_free(&kept.record, session))?
                }
                Some(IssueState::Blocked | IssueState::Failed | IssueState::Done) => false,
            };
            open.extend(is_open.then_some(number));
        }
        self.faults = listing.faults().map(ToString::to_string).collect();
        self.untouched.retain(|number| listing.get(*number).is_some());
        self.forgive();
        self.listing = Some(listing);
        Ok(open)
    }

    /// Removes and returns the faults that are not yet reported.
    pub(crate) fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }

    /// The number of the next issue, and its record, if it has one. Those to skip were put back by
    /// this session.
    pub(crate) fn first(
        &mut self,
        states: &IssueStates,
        session: &str,
        skip: &dyn Fn(u64) -> bool,
    ) -> Result<Option<(u64, Option<KeptIssue>)>, StoreError> {
        let untouched = self.first_untouched(states, skip)?;
        let is_wanted = |number: u64| {
            let is_there = self.listing.as_ref().is_some_and(|it| it.get(number).is_some());
            is_there && !self.faulty.contains(&number) && !skip(number)
        };
        let open = states.first_open(&self.folder, &is_wanted)?;
        let left = states.first_left(&self.folder, session, &is_wanted)?;
        let kept = open.into_iter().chain(left).map(|kept| (kept.record.number, Some(kept)));
        let all = kept.chain(untouched.map(|number| (number, None)));
        Ok(all.min_by_key(|(number, _)| *number))
    }

    /// The first issue without a record.
    fn first_untouched(
        &mut self,
        states: &IssueStates,
        skip: &dyn Fn(u64) -> bool,
    ) -> Result<Option<u64>, StoreError> {
        while let Some(number) = self.untouched.first().copied() {
            if !skip(number) && states.get(&self.folder, &number.to_string())?.is_none() {
                return Ok(Some(number));
            }
            // Its record is in a lane, or final, or unreadable.
            self.untouched.remove(&number);
        }
        Ok(None)
    }

    /// Reads an issue from its file. If that fails, it is skipped until nothing else is left.
    pub(crate) fn issue(&mut self, number: u64) -> Result<Issue, IssueError> {
        let files = self.listing.as_ref().and_then(|listing| listing.get(number));
        let files = files.expect("it is one of those that were listed");
        let issue = self.folder.issue(number, files);
        if issue.is_err() {
            self.untouched.remove(&number);
            self.faulty.insert(number);
        }
        issue
    }

    /// Retries issues whose files could not be read. Returns whether there are any.
    pub(crate) fn forgive(&mut self) -> bool {
        let is_any = !self.faulty.is_empty();
        // Those with a record are found when their turn comes.
        self.untouched.append(&mut self.faulty);
        is_any
    }

    /// How many issues of a folder a session may take, without those that it has begun.
    pub(crate) fn count_open(
        folder: &IssueFolder,
        states: &IssueStates,
        session: &str,
        is_begun: &dyn Fn(&str) -> bool,
    ) -> Result<usize, QueueError> {
        let (listing, known) = (folder.list()?, states.states(folder)?);
        let mut open = 0;
        for number in listing.numbers() {
            let is_open = match known.get(&number) {
                None | Some(IssueState::Open) => true,
                Some(IssueState::Active) => {
                    let kept = states.get(folder, &number.to_string())?;
                    kept.map_or(Ok(false), |kept| states.is_free(&kept.record, session))?
                }
                Some(IssueState::Blocked | IssueState::Failed | IssueState::Done) => false,
            };
            open += usize::from(is_open && !is_begun(&number.to_string()));
        }
        Ok(open)
    }
}
