//! Sessions that are submitted to workers: what one needs, and the queue in which it waits.
//!
//! A submitted session is an ordinary one: its record and its sources are in the store, and a worker
//! continues it as `resume` would. It waits in a lane of its project that says what it needs, so that
//! a worker passes over those that it cannot take, however many there are. While a worker has
//! it, it is in the lane of that worker, so that it is found again if the worker dies. Every move is
//! one commit.

mod needs;

use std::path::PathBuf;

use hookwright_engine::Secrets;
use hookwright_engine::ports::Clock;
use hookwright_events::{RunEvent, RunEventKind, SessionEvent, SessionStatus};
use hookwright_process::faults;
use hookwright_store::{
    Append, ClaimLane, ClaimLease, ClaimRequest, Commit, Durability, Expected, Fence, Held,
    JournalKey, Kind, LaneKey, Put, Queued, Record, RecordKey, Store, StoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use needs::{Needs, UnmetNeeds, WorkerOffer, unmet_needs};

use crate::lease::{self, LeaseError, LeaseOwner};
use crate::limits::{HELD_READ_AT_ONCE, LOSSES_MAX, NEEDS_BYTES_MAX, WAITING_LANES_MAX};
use crate::record::SessionRecord;

/// What begins the lanes of sessions that wait for a worker. The needs follow, as a list in JSON.
const WAITING: &str = "waiting/";

/// What begins the lane of a worker.
const HELD: &str = "held/";

/// What a session needs from workers, and what became of it there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Submission {
    /// What a worker has to offer.
    pub needs: Needs,
    /// The folder below which its work tree is made; `None` for the worker's checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// A shell command that sets a new work tree up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// The session pauses when it has cost this many US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Hooks whose questions ended it, and that are not asked again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_gates: Vec<String>,
    /// The worker that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Workers in a row that were lost with it, or could not run it, before an iteration ended.
    pub losses: u32,
    /// Those of them that could not run it. Each counts once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_by: Vec<String>,
    /// Its iterations when it was queued last.
    pub iterations: u32,
}

/// A session that a worker has taken.
#[derive(Debug)]
pub struct ClaimedSession {
    /// The session's name.
    pub name: String,
    /// Its record, as it was.
    pub record: SessionRecord,
    /// The lease under which it runs.
    pub fence: Fence,
}

/// Why a worker no longer has a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Return {
    /// The worker gives it back.
    GivenBack,
    /// The worker, or the process that ran the session, ended without giving it back.
    Lost,
    /// A person has ended the process that ran the session.
    Stopped,
    /// The session cannot run on this machine.
    Refused {
        /// Why.
        reason: String,
    },
}

/// What became of a session that a worker had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    /// It waits for another worker.
    Queued,
    /// It was lost too often, and waits for a person.
    Paused {
        /// Why.
        reason: String,
    },
    /// A person has ended it, and can resume it.
    Stopped,
    /// It had ended, or another process has it.
    Untouched,
}

/// Stores new sessions, which wait for workers from then on.
pub struct Submitter<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// Values that no entry of a journal may contain.
    pub secrets: &'a Secrets,
    /// Tells the time.
    pub clock: &'a dyn Clock,
}

impl Submitter<'_> {
    /// Stores a session with its [`Sources`](crate::sources::Sources), as JSON. Fails with a conflict
    /// if there is one of this name.
    pub fn submit(&self, record: &SessionRecord, sources: Value) -> Result<(), StoreError> {
        let submitted = SessionEvent::SessionSubmitted {
            plan: record.plan.clone(),
            stages: record.stages.clone(),
            sources,
        };
        let event = event(&record.name, self.clock.now(), submitted);
        let mut value = serde_json::to_value(&event).unwrap_or_default();
        self.secrets.hide_in(&mut value);
        let entries = [value.to_string()];
        let append = Append { journal: &journal_of(record), expected: 0, entries: &entries };
        let puts = vec![put(record, Expected::Absent)];
        let commit = Commit { append: Some(append), puts, ..Commit::synced() };
        self.store.commit(&commit).map(|_| ())
    }
}

/// A worker that looks for a session.
#[derive(Debug, Clone, Copy)]
pub struct Claimer<'a> {
    /// The worker's id.
    pub worker: &'a str,
    /// The description of the process that is to run the session.
    pub holder: &'a str,
    /// What the worker offers, in the words of [`Needs::marks`].
    pub offers: &'a [String],
    /// Names of sessions to pass over.
    pub skip: &'a [String],
}

/// Takes the next session of a project whose needs the worker offers.
pub fn claim(
    store: &dyn Store,
    project: &str,
    claimer: Claimer<'_>,
) -> Result<Option<ClaimedSession>, StoreError> {
    let Claimer { worker, holder, offers, skip } = claimer;
    let (prefix, held) = (lease::name_of(project, ""), held_by(worker));
    let lanes = waiting_lanes(store, project, offers)?;
    if lanes.is_empty() {
        return Ok(None);
    }
    let lanes: Vec<ClaimLane<'_>> =
        lanes.iter().map(|lane| ClaimLane { lane, only_while: None, aside: None }).collect();
    let request = ClaimRequest {
        durability: Durability::Synced,
        fence: None,
        kind: Kind::Session,
        project,
        lanes: &lanes,
        done: SessionStatus::Completed.as_str(),
        offers,
        skip,
        status: SessionStatus::Active.as_str(),
        to: Some(&held),
        note: worker,
        lease: Some(ClaimLease { prefix: &prefix, holder }),
    };
    let claimed = store.claim(&request)?;
    Ok(claimed.and_then(|claimed| {
        let record = serde_json::from_str(&claimed.before.value).unwrap_or_default();
        Some(ClaimedSession { name: claimed.before.key.name, record, fence: claimed.fence? })
    }))
}

/// The lane of sessions with these needs. Needs that are too long for a lane's name are left to the
/// claim, which compares them for each session.
fn waiting_lane(needs: &Needs) -> String {
    let needs = serde_json::to_string(&needs.marks()).unwrap_or_default();
    match needs.len() <= NEEDS_BYTES_MAX {
        true => format!("{WAITING}{needs}"),
        false => WAITING.to_owned(),
    }
}

/// The lanes in which sessions wait that a worker with these offers can take.
fn waiting_lanes(
    store: &dyn Store,
    project: &str,
    offers: &[String],
) -> Result<Vec<String>, StoreError> {
    let is_offered = |needs: &str| match serde_json::from_str::<Vec<String>>(needs) {
        Ok(needs) => needs.iter().all(|need| offers.contains(need)),
        Err(_) => true,
    };
    let (mut lanes, mut behind) = (Vec::new(), WAITING.trim_end_matches('/').to_owned());
    for _ in 0..WAITING_LANES_MAX {
        let after = LaneKey { kind: Kind::Session, project, lane: &behind };
        let Some(lane) = store.next_lane(after)? else { break };
        let Some(needs) = lane.strip_prefix(WAITING) else { break };
        if is_offered(needs) && lanes.len() < hookwright_store::limits::CLAIM_LANES_MAX {
            lanes.push(lane.clone());
        }
        behind = lane;
    }
    Ok(lanes)
}

/// Ends a worker's hold of a session that it had under this lease: the session waits for the next
/// one, unless it has ended or was lost too often.
pub fn give_back(
    store: &dyn Store,
    key: &RecordKey,
    fence: &Fence,
    now: String,
    why: Return,
) -> Result<Returned, StoreError> {
    let returned = try_give_back(store, key, fence, now, why);
    match returned {
        // Another process has the session, or was faster.
        Err(
            StoreError::Fenced { .. }
            | StoreError::RecordConflict { .. }
            | StoreError::JournalConflict { .. },
        ) => Ok(Returned::Untouched),
        returned => returned,
    }
}

fn try_give_back(
    store: &dyn Store,
    key: &RecordKey,
    fence: &Fence,
    now: String,
    why: Return,
) -> Result<Returned, StoreError> {
    let found = store.get(Kind::Session, key)?;
    let is_running = |found: &Record| found.status == SessionStatus::Active.as_str();
    let Some(found) = found.filter(is_running) else {
        store.release(&fence.lease, fence.token)?;
        return Ok(Returned::Untouched);
    };
    let mut record: SessionRecord = serde_json::from_str(&found.value).unwrap_or_default();
    record.set_project(key.project.clone());
    let held = store.holder(&fence.lease)?;
    // A session process that could not go on has released it.
    let anew = match held {
        Some(_) => None,
        None => match lease::take(store, &fence.lease) {
            Ok(fence) => Some(fence),
            Err(LeaseError::Runs { .. }) => return Ok(Returned::Untouched),
            Err(LeaseError::Store(error)) => return Err(error),
        },
    };
    let fence = anew.as_ref().unwrap_or(fence);
    let host = held.and_then(|held| serde_json::from_str::<LeaseOwner>(&held.holder).ok());
    let host = host.map(|holder| holder.machine.host);
    let host = host.as_deref().unwrap_or("?");
    let (returned, happened) = returned(&mut record, why, host, found.claim_note);
    let event = happened.map(|happened| event(&key.name, now, happened));
    if let Some(event) = &event
        && matches!(returned, Returned::Paused { .. } | Returned::Stopped)
    {
        record.see(event);
    }
    let journal = journal_of(&record);
    let entries = event.iter().map(|event| serde_json::to_string(event).unwrap_or_default());
    let entries: Vec<String> = entries.collect();
    let append = Append { journal: &journal, expected: store.last(&journal)?, entries: &entries };
    let puts = vec![put(&record, Expected::Version(found.version))];
    let commit = Commit {
        fence: Some(fence),
        append: Some(append),
        puts,
        releases_lease: true,
        ..Commit::synced()
    };
    faults::point("session is queued again");
    store.commit(&commit)?;
    faults::point("session queued again");
    Ok(returned)
}

impl Submission {
    /// Counts a worker that has the session no longer. Returns whether that is news: a worker that
    /// could not run it, and tries again, counts once.
    fn count(&mut self, why: &Return, worker: Option<String>, iterations: u32) -> bool {
        let has_progressed = iterations > self.iterations;
        (self.worker, self.iterations) = (None, iterations);
        if has_progressed {
            (self.losses, self.refused_by) = (0, Vec::new());
            return true;
        }
        match why {
            Return::GivenBack | Return::Stopped => {}
            Return::Lost => self.losses += 1,
            Return::Refused { .. } => {
                if worker.as_ref().is_some_and(|worker| self.refused_by.contains(worker)) {
                    return false;
                }
                self.refused_by.extend(worker);
                self.losses += 1;
            }
        }
        true
    }
}

/// What becomes of a session, and what its journal says of it: nothing if the same worker says again
/// that it cannot run it.
fn returned(
    record: &mut SessionRecord,
    why: Return,
    host: &str,
    claimed_by: Option<String>,
) -> (Returned, Option<SessionEvent>) {
    let iterations = record.iterations;
    let submission = record.submission.get_or_insert_default();
    let worker = submission.worker.take().or(claimed_by);
    let is_news = submission.count(&why, worker, iterations);
    if why == Return::Stopped {
        let (status, reason) = (SessionStatus::Interrupted, "stopped at once".to_owned());
        return (Returned::Stopped, Some(SessionEvent::SessionEnded { status, reason }));
    }
    if submission.losses >= LOSSES_MAX {
        let reason = match &why {
            Return::Refused { reason } => {
                format!("{LOSSES_MAX} workers in a row could not run it; on {host}: {reason}")
            }
            Return::GivenBack | Return::Lost | Return::Stopped => format!(
                "{LOSSES_MAX} workers in a row were lost while they ran it, before an iteration ended"
            ),
        };
        let ended =
            SessionEvent::SessionEnded { status: SessionStatus::Paused, reason: reason.clone() };
        return (Returned::Paused { reason }, Some(ended));
    }
    record.status = SessionStatus::Queued;
    let note = match why {
        Return::GivenBack => format!("the worker on {host} gave the session back"),
        Return::Lost | Return::Stopped => {
            format!("the worker on {host} was lost; the session waits for another one")
        }
        Return::Refused { reason } => {
            format!("the worker on {host} cannot run the session: {reason}")
        }
    };
    (Returned::Queued, is_news.then_some(SessionEvent::Noted { note }))
}

/// The sessions of a worker in this project.
pub fn held(store: &dyn Store, project: &str, worker: &str) -> Result<Vec<Record>, StoreError> {
    let lane = held_by(worker);
    let lane = LaneKey { kind: Kind::Session, project, lane: &lane };
    let page = store.queue(lane, i64::MIN, HELD_READ_AT_ONCE)?;
    Ok(page.into_iter().map(|(_, record)| record).collect())
}

/// The next worker, in the order of ids, that has sessions of this project, dead or alive.
pub fn holder_behind(
    store: &dyn Store,
    project: &str,
    worker: &str,
) -> Result<Option<String>, StoreError> {
    let lane = held_by(worker);
    let next = store.next_lane(LaneKey { kind: Kind::Session, project, lane: &lane })?;
    Ok(next.and_then(|lane| lane.strip_prefix(HELD).map(str::to_owned)))
}

/// Queues the sessions of a worker that no process runs any more. `runs` says which ones a process
/// of this worker runs. Returns those that were moved.
pub fn recover(
    store: &dyn Store,
    project: &str,
    worker: &str,
    runs: &dyn Fn(&RecordKey) -> bool,
    now: &dyn Fn() -> String,
) -> Result<Vec<(String, Returned)>, StoreError> {
    let own = store.workers().and_then(|workers| workers.own_id());
    let is_own = own.is_some_and(|own| own.to_string() == worker);
    let mut recovered = Vec::new();
    for record in held(store, project, worker)? {
        if runs(&record.key) {
            continue;
        }
        let lease = lease::name_of(project, &record.key.name);
        let fence = match lease::take(store, &lease) {
            Ok(fence) => fence,
            // This worker has taken it, by a call whose answer was lost.
            Err(LeaseError::Runs { holder }) if own.is_some() && holder.worker == own => {
                let Some(Held { token, .. }) = store.holder(&lease)? else { continue };
                Fence { lease, token }
            }
            Err(LeaseError::Runs { .. }) => continue,
            Err(LeaseError::Store(error)) => return Err(error),
        };
        let why = if is_own { Return::GivenBack } else { Return::Lost };
        let returned = give_back(store, &record.key, &fence, now(), why)?;
        recovered.push((record.key.name, returned));
    }
    Ok(recovered)
}

/// Makes a session that was submitted wait for a worker again. The caller holds its lease, which is
/// released. `skip_gates` are hooks whose questions are not asked again.
pub fn queue_again(
    store: &dyn Store,
    found: &Record,
    fence: &Fence,
    skip_gates: Vec<String>,
    max_cost: Option<f64>,
) -> Result<(), StoreError> {
    let mut record: SessionRecord = serde_json::from_str(&found.value).unwrap_or_default();
    record.set_project(found.key.project.clone());
    let iterations = record.iterations;
    let submission = record.submission.get_or_insert_default();
    (submission.worker, submission.losses, submission.iterations) = (None, 0, iterations);
    submission.refused_by.clear();
    submission.skip_gates = skip_gates;
    if max_cost.is_some() {
        submission.max_cost = max_cost;
    }
    record.status = SessionStatus::Queued;
    (record.pause, record.paused_for, record.end_time) = (None, None, None);
    record.reason = String::new();
    let puts = vec![put(&record, Expected::Version(found.version))];
    let commit = Commit { fence: Some(fence), puts, releases_lease: true, ..Commit::synced() };
    store.commit(&commit).map(|_| ())
}

/// Takes a session out of the queue; `false` if it is not in it any more.
pub fn withdraw(store: &dyn Store, found: &Record, now: String) -> Result<bool, StoreError> {
    if found.status != SessionStatus::Queued.as_str() {
        return Ok(false);
    }
    let mut record: SessionRecord = serde_json::from_str(&found.value).unwrap_or_default();
    record.set_project(found.key.project.clone());
    record.status = SessionStatus::Interrupted;
    "taken out of the queue of workers".clone_into(&mut record.reason);
    record.end_time = Some(now);
    let puts = vec![put(&record, Expected::Version(found.version))];
    match store.commit(&Commit { puts, ..Commit::synced() }) {
        Ok(_) => Ok(true),
        Err(StoreError::RecordConflict { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The lane of a worker.
fn held_by(worker: &str) -> String {
    format!("{HELD}{worker}")
}

fn event(session: &str, at: String, happened: SessionEvent) -> RunEvent {
    RunEvent {
        version: hookwright_events::run_event::VERSION,
        firing: 0,
        at,
        session: Some(session.to_owned()),
        kind: RunEventKind::Session(happened),
    }
}

fn journal_of(record: &SessionRecord) -> JournalKey {
    JournalKey { project: record.project().to_owned(), session: record.name.clone() }
}

/// A session's record for the store, with its place in the queue of workers.
pub(crate) fn put(record: &SessionRecord, expected: Expected) -> Put {
    Put {
        kind: Kind::Session,
        key: RecordKey { project: record.project().to_owned(), name: record.name.clone() },
        expected,
        value: serde_json::to_string(record).unwrap_or_default(),
        created_at_ms: record.created_at_ms(),
        status: record.status.to_string(),
        queued: place(record),
        moves: None,
    }
}

/// A session's place in the queue of workers.
fn place(record: &SessionRecord) -> Option<Queued> {
    let submission = record.submission.as_ref()?;
    let lane = match (record.status, &submission.worker) {
        (SessionStatus::Queued, _) => waiting_lane(&submission.needs),
        (SessionStatus::Active, Some(worker)) => held_by(worker),
        _ => return None,
    };
    Some(Queued { needs: submission.needs.marks(), ..Queued::at(lane, 0) })
}

#[cfg(test)]
mod tests;
