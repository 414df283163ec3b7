//! Lanes of the task queue, which find the next task without reading the others.
//!
//! | lane | contains |
//! |---|---|
//! | `open/` | open tasks, some of which may have to wait |
//! | `after/TAS-7/` | open tasks that wait for TAS-7, which is not completed |
//! | `by/calm-fox/` | tasks that this session works on |
//!
//! A task that waits for several others is in the lane of one of them. The commit that completes
//! TAS-7 moves that lane to `open/`. When such a task's turn comes, it moves to the lane of the
//! next unfinished task that it waits for. That commit expects the other task to be unchanged, so
//! no task stays behind in the lane of a completed one. A claim does the same in its own transaction.

use hookwright_events::task::{Task, TaskId, TaskState};

use super::claim_note::ClaimNote;
use super::{ClaimedTask, DeadLease, KeptTask, KeptTasks, TaskClaim, TaskError, read};
use crate::{
    ClaimLane, ClaimRequest, ClaimedRecord, Commit, Durability, Expect, Expected, Kind, LaneKey,
    LaneMove, LeaseState, Put, Queued, StoreError, limits,
};

const OPEN: &str = "open/";
const AFTER: &str = "after/";
const BY: &str = "by/";

/// The lane of a task, if it has one. A task in progress without a session is a person's, so it has
/// none.
pub(super) fn place(task: &Task, waits_for: Option<TaskId>) -> Option<Queued> {
    let lane = match (task.state, &task.session, waits_for) {
        (TaskState::Open, _, None) => OPEN.to_owned(),
        (TaskState::Open, _, Some(other)) => lane_behind(other),
        (TaskState::InProgress, Some(session), _) => lane_of(session),
        (TaskState::InProgress, None, _) => return None,
        (TaskState::Completed | TaskState::Blocked | TaskState::Cancelled, ..) => return None,
    };
    let waits_for = task.depends_on.iter().map(ToString::to_string).collect();
    Some(Queued { waits_for, ..Queued::at(lane, rank(task)) })
}

/// The lane of tasks that a session works on.
fn lane_of(session: &str) -> String {
    format!("{BY}{session}/")
}

/// The lane that the end of this task moves to `open/`.
pub(super) fn moved_by(task: &Task) -> Option<LaneMove> {
    let is_completed = task.state == TaskState::Completed;
    is_completed.then(|| LaneMove { from: lane_behind(task.id), to: OPEN.to_owned() })
}

fn lane_behind(id: TaskId) -> String {
    format!("{AFTER}{id}/")
}

/// By priority, then by number.
fn rank(task: &Task) -> i64 {
    let number = i64::try_from(task.id.0).unwrap_or(i64::MAX).min((1 << 56) - 1);
    (i64::from(task.priority) << 56) + number
}

impl KeptTasks {
    /// Takes the first task that can start now for a session: an open task, or one that a dead
    /// session left. Choosing and taking it are one transaction.
    pub fn claim_next(&self, claim: &TaskClaim<'_>) -> Result<Option<ClaimedTask>, TaskError> {
        let own = lane_of(claim.session);
        let mut left: Vec<(String, DeadLease)> = Vec::new();
        for lane in self.lanes_of_sessions() {
            let (lane, session) = lane?;
            // Beyond the limit, the next claim finds them: the lanes before are empty then.
            if left.len() + 2 < limits::CLAIM_LANES_MAX
                && lane != own
                && let Some(lease) = (claim.dead)(&session)?
            {
                left.push((lane, lease));
            }
        }
        let open = ClaimLane { lane: OPEN, only_while: None, aside: Some(AFTER) };
        let ours = ClaimLane { lane: &own, only_while: None, aside: None };
        let theirs = left.iter().map(|(lane, DeadLease { lease, token })| ClaimLane {
            lane,
            only_while: Some(LeaseState { lease, token: *token }),
            aside: None,
        });
        let lanes: Vec<ClaimLane<'_>> = [open, ours].into_iter().chain(theirs).collect();
        let note = ClaimNote { session: claim.session.to_owned(), at_ms: claim.now_ms };
        let claimed = self.store.claim(&ClaimRequest {
            durability: Durability::Synced,
            fence: claim.fence,
            kind: Kind::Task,
            project: &self.project,
            lanes: &lanes,
            done: TaskState::Completed.as_str(),
            offers: &[],
            skip: claim.skip,
            status: TaskState::InProgress.as_str(),
            to: Some(&own),
            note: &note.to_json(),
            lease: None,
        })?;
        let Some(ClaimedRecord { before, version, .. }) = claimed else { return Ok(None) };
        let KeptTask { mut task, .. } = read(&before)?;
        let is_begun = task.state == TaskState::InProgress;
        let left_by = task.session.take().filter(|by| is_begun && by != claim.session);
        note.apply(&mut task);
        Ok(Some(ClaimedTask { kept: KeptTask { task, version }, left_by }))
    }

    /// The first task that can start now and is not to be skipped: an open task, or a task whose
    /// session has ended.
    pub fn next(
        &self,
        skip: &dyn Fn(TaskId) -> bool,
        is_over: &dyn Fn(&str) -> Result<bool, StoreError>,
    ) -> Result<Option<KeptTask>, TaskError> {
        let mut first = self.first_of(OPEN, skip)?;
        for lane in self.lanes_of_sessions() {
            let (lane, session) = lane?;
            if is_over(&session)?
                && let Some(other) = self.first_of(&lane, skip)?
                && first.as_ref().is_none_or(|first| rank(&other.task) < rank(&first.task))
            {
                first = Some(other);
            }
        }
        Ok(first)
    }

    /// The number of open tasks, including those that wait, and of tasks that ended sessions left.
    pub fn count_open(
        &self,
        is_over: &dyn Fn(&str) -> Result<bool, StoreError>,
    ) -> Result<u64, TaskError> {
        let mut count =
            self.store.queued(self.lane(OPEN))? + self.store.queued(self.lane(AFTER))?;
        for lane in self.lanes_of_sessions() {
            let (lane, session) = lane?;
            if is_over(&session)? {
                count += self.store.queued(self.lane(&lane))?;
            }
        }
        Ok(count)
    }

    /// Each session's lane, with the session's name.
    fn lanes_of_sessions(&self) -> impl Iterator<Item = Result<(String, String), StoreError>> + '_ {
        let mut behind = BY.to_owned();
        std::iter::from_fn(move || {
            let lane = match self.store.next_lane(self.lane(&behind)) {
                Ok(lane) => lane?,
                Err(error) => return Some(Err(error)),
            };
            let session = lane.strip_prefix(BY)?.trim_end_matches('/').to_owned();
            behind.clone_from(&lane);
            Some(Ok((lane, session)))
        })
    }

    /// The first task of a lane that waits for no other. Earlier ones that wait leave the lane
    /// `open/`.
    fn first_of(
        &self,
        lane: &str,
        skip: &dyn Fn(TaskId) -> bool,
    ) -> Result<Option<KeptTask>, TaskError> {
        let (mut rest, mut limit) = (Some(i64::MIN), 1);
        while let Some(from) = rest {
            let page = self.store.queue(self.lane(lane), from, limit)?;
            rest = page.last().and_then(|(last, _)| last.checked_add(1));
            limit = (limit * 2).min(limits::TASKS_PER_PAGE);
            let (mut first, mut waiting) = (None, Vec::new());
            for (_, record) in &page {
                let kept = read(record)?;
                if skip(kept.task.id) {
                    continue;
                }
                match self.first_to_wait_for(&kept.task)? {
                    (None, _) => {
                        first = Some(kept);
                        break;
                    }
                    (Some(other), expects) => waiting.push((kept, other, expects)),
                }
            }
            if lane == OPEN {
                self.move_behind_others(waiting)?;
            }
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// The first unfinished task that this one waits for, and what must hold when the lane changes.
    pub(super) fn first_to_wait_for(
        &self,
        task: &Task,
    ) -> Result<(Option<TaskId>, Vec<Expect>), TaskError> {
        if !matches!(task.state, TaskState::Open | TaskState::InProgress) {
            return Ok((None, Vec::new()));
        }
        for id in &task.depends_on {
            let found = self.find(*id)?;
            if found.as_ref().is_some_and(|other| other.task.state == TaskState::Completed) {
                continue;
            }
            let expected = found.map_or(Expected::Absent, |other| Expected::Version(other.version));
            let key = self.key(&id.to_string());
            return Ok((Some(*id), vec![Expect { kind: Kind::Task, key, expected }]));
        }
        Ok((None, Vec::new()))
    }

    /// Moves tasks to the lanes of the tasks that they wait for.
    fn move_behind_others(
        &self,
        waiting: Vec<(KeptTask, TaskId, Vec<Expect>)>,
    ) -> Result<(), TaskError> {
        let changes: Vec<(Put, Vec<Expect>)> = waiting
            .into_iter()
            .map(|(kept, other, expects)| {
                let expected = Expected::Version(kept.version);
                (self.put(&kept.task, expected, Some(other)), expects)
            })
            .collect();
        if changes.is_empty() || self.try_to_move(&changes)? {
            return Ok(());
        }
        // Another process changed one of them. Move the others.
        for change in changes {
            self.try_to_move(&[change])?;
        }
        Ok(())
    }

    /// `false` if one of them has changed since it was read. Not synced: a task in the wrong lane
    /// is only checked once more.
    fn try_to_move(&self, changes: &[(Put, Vec<Expect>)]) -> Result<bool, TaskError> {
        let puts = changes.iter().map(|(put, _)| put.clone()).collect();
        let expects = changes.iter().flat_map(|(_, expects)| expects.iter().cloned()).collect();
        match self.store.commit(&Commit { puts, expects, ..Commit::unsynced() }) {
            Ok(_) => Ok(true),
            Err(StoreError::RecordConflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn lane<'a>(&'a self, lane: &'a str) -> LaneKey<'a> {
        LaneKey { kind: Kind::Task, project: &self.project, lane }
    }
}
