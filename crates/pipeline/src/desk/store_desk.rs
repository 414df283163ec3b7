//! The desk in the store, for callers on other machines: a request is a record, and so is its
//! answer. The caller wakes the worker that runs the session, and looks for the answer.
//!
//! A request names the token of the lease under which the session runs. The session answers under
//! that lease, so a late holder answers nothing, and a caller whose session has another holder knows
//! that its request is lost.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use hookwright_engine::ports::Promise;
use hookwright_store::{
    Commit, Delete, Expected, Fence, Kind, LaneKey, Put, Queued, Record, RecordKey, Store,
    StoreError, WorkerId,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{DeskAnswer, DeskCaller, DeskError, DeskReply, DeskRequest, OpenDesk};
use crate::lease::{self, LeaseOwner};
use crate::limits::{
    DESK_ANSWER_KEPT, DESK_ANSWER_TIMEOUT, DESK_CALLERS_MAX, DESK_RECORD_PAUSE, LONG_WAIT,
};
use crate::store_calls::{StoreCall, StoreCalls};

/// The state of a request, which is its record's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    Asked,
    Taken,
    Answered,
}

impl RequestState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Taken => "taken",
            Self::Answered => "answered",
        }
    }

    /// Requests that were not taken come first in the lane of their session.
    fn rank(self) -> i64 {
        match self {
            Self::Asked => 0,
            Self::Taken | Self::Answered => 1,
        }
    }
}

/// The value of a request's record.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredRequest {
    request: DeskRequest,
    /// The token of the session's lease when it was asked.
    token: u64,
    asked_at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<DeskAnswer>,
}

impl StoredRequest {
    fn of(record: &Record) -> Option<Self> {
        serde_json::from_str(&record.value).ok()
    }

    fn put(&self, key: RecordKey, expected: Expected, state: RequestState) -> Put {
        Put {
            kind: Kind::Request,
            key,
            expected,
            value: serde_json::to_string(self).unwrap_or_default(),
            created_at_ms: self.asked_at_ms,
            status: state.as_str().to_owned(),
            queued: Some(Queued::at(self.request.session.clone(), state.rank())),
            moves: None,
        }
    }
}

/// The requests to a session that are in the store, for a program that deletes the session.
pub fn request_keys(
    store: &dyn Store,
    project: &str,
    session: &str,
) -> Result<Vec<RecordKey>, StoreError> {
    let lane = LaneKey { kind: Kind::Request, project, lane: session };
    let found = store.queue(lane, i64::MIN, DESK_CALLERS_MAX)?;
    Ok(found.into_iter().map(|(_, record)| record.key).collect())
}

/// Sends a request to a session that a worker on another machine runs, and waits for its answer.
/// `waits` is called once if that takes longer.
pub fn ask_through_store(
    store: &dyn Store,
    request: &DeskRequest,
    waits: &mut dyn FnMut(),
) -> Result<DeskReply, DeskError> {
    let lease = lease::name_of(&request.project, &request.session);
    let Some(held) = store.holder(&lease)? else { return Ok(DeskReply::NoDesk) };
    let stored = StoredRequest {
        request: request.clone(),
        token: held.token,
        asked_at_ms: store.now_ms(),
        answer: None,
    };
    let name = WorkerId::random().map_err(|cause| StoreError::Io { cause: cause.to_string() })?;
    let key = RecordKey { project: request.project.clone(), name: name.to_string() };
    let puts = vec![stored.put(key.clone(), Expected::Absent, RequestState::Asked)];
    store.commit(&Commit { puts, ..Commit::synced() })?;
    let owner = serde_json::from_str::<LeaseOwner>(&held.holder).ok();
    let worker = owner.and_then(|owner| owner.worker);
    if let Some((workers, worker)) = store.workers().zip(worker) {
        workers.wake(worker)?;
    }
    let (began, mut waits) = (Instant::now(), Some(waits));
    loop {
        let Some(record) = store.get(Kind::Request, &key)? else { return Ok(DeskReply::NoAnswer) };
        if let Some(answer) = StoredRequest::of(&record).and_then(|stored| stored.answer) {
            withdraw(store, &record)?;
            return Ok(DeskReply::Answered(answer));
        }
        let holder = store.holder(&lease)?;
        let is_lost = holder.is_none_or(|holder| holder.token != held.token);
        if is_lost || began.elapsed() > DESK_ANSWER_TIMEOUT {
            let was_taken = record.status == RequestState::Taken.as_str();
            match withdraw(store, &record) {
                Ok(()) if was_taken => return Ok(DeskReply::NoAnswer),
                Ok(()) => return Ok(DeskReply::Deserted),
                // It was taken or answered at this moment.
                Err(StoreError::RecordConflict { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        if began.elapsed() > LONG_WAIT {
            waits.take().into_iter().for_each(|waits| waits());
        }
        std::thread::sleep(DESK_RECORD_PAUSE);
    }
}

fn withdraw(store: &dyn Store, record: &Record) -> Result<(), StoreError> {
    let expected = Expected::Version(record.version);
    let deletes = vec![Delete { kind: Kind::Request, key: record.key.clone(), expected }];
    store.commit(&Commit { deletes, ..Commit::synced() }).map(drop)
}

/// The session's side.
pub(crate) struct StoreDesk {
    calls: StoreCalls,
    lane: RecordKey,
    fence: Fence,
    wakes: watch::Receiver<u64>,
    /// Looks for requests. It is kept, because the caller of `next` may stop waiting.
    looking: Option<StoreCall<Vec<TakenRequest>>>,
    waiting: VecDeque<TakenRequest>,
}

/// A request whose record says that the session has it.
struct TakenRequest {
    stored: StoredRequest,
    key: RecordKey,
    version: u64,
}

impl StoreDesk {
    /// The desk of a session that runs under this lease.
    pub(crate) fn open(
        calls: StoreCalls,
        project: &str,
        session: &str,
        fence: Fence,
        wakes: watch::Receiver<u64>,
    ) -> Self {
        let lane = RecordKey { project: project.to_owned(), name: session.to_owned() };
        let mut desk =
            Self { calls, lane, fence, wakes, looking: None, waiting: VecDeque::default() };
        // What came before the first wake.
        desk.look();
        desk
    }

    fn look(&mut self) {
        let (lane, fence) = (self.lane.clone(), self.fence.clone());
        // If the store cannot be asked now, the next wake looks again.
        let look = move |store: &dyn Store| take_requests(store, &lane, &fence).unwrap_or_default();
        self.looking = Some(self.calls.call(look));
    }

    async fn next_request(&mut self) -> TakenRequest {
        loop {
            if let Some(looking) = &mut self.looking {
                let found = looking.await;
                self.looking = None;
                self.waiting.extend(found);
            }
            if let Some(request) = self.waiting.pop_front() {
                return request;
            }
            if self.wakes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            self.look();
        }
    }

    fn caller(&self, taken: TakenRequest) -> Box<dyn DeskCaller> {
        Box::new(StoreCaller { calls: self.calls.clone(), fence: self.fence.clone(), taken })
    }
}

impl OpenDesk for StoreDesk {
    fn next(&mut self) -> Promise<'_, Box<dyn DeskCaller>> {
        Box::pin(async move {
            let taken = self.next_request().await;
            self.caller(taken)
        })
    }

    fn renew_if_gone(&mut self) -> Vec<Box<dyn DeskCaller>> {
        Vec::new()
    }

    /// Requests that were not taken see that the lease is free soon.
    fn close(mut self: Box<Self>) -> Vec<Box<dyn DeskCaller>> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().map(|taken| self.caller(taken)).collect()
    }
}

/// Marks the requests to this holder as taken, and deletes what no caller reads any more.
fn take_requests(
    store: &dyn Store,
    lane: &RecordKey,
    fence: &Fence,
) -> Result<Vec<TakenRequest>, StoreError> {
    let RecordKey { project, name: session } = lane;
    let lane = LaneKey { kind: Kind::Request, project, lane: session };
    let mut all = Vec::new();
    loop {
        let page = store.queue(lane, i64::MIN, DESK_CALLERS_MAX)?;
        let (is_last, before) = (page.len() < DESK_CALLERS_MAX, all.len());
        for (_, record) in page {
            all.extend(take(store, record, fence)?);
        }
        if is_last || all.len() == before {
            return Ok(all);
        }
    }
}

/// Takes a request, if that is possible.
fn take(
    store: &dyn Store,
    record: Record,
    fence: &Fence,
) -> Result<Option<TakenRequest>, StoreError> {
    let is_answered = record.status == RequestState::Answered.as_str();
    let is_over = |stored: &StoredRequest| {
        let age_ms = store.now_ms().saturating_sub(stored.asked_at_ms).max(0).unsigned_abs();
        let has_no_reader = Duration::from_millis(age_ms) > DESK_ANSWER_KEPT;
        stored.token != fence.token || is_answered && has_no_reader
    };
    let Some(stored) = StoredRequest::of(&record).filter(|stored| !is_over(stored)) else {
        // Its caller has gone, or deletes it at this moment.
        return match withdraw(store, &record) {
            Ok(()) | Err(StoreError::RecordConflict { .. }) => Ok(None),
            Err(error) => Err(error),
        };
    };
    if record.status != RequestState::Asked.as_str() {
        return Ok(None);
    }
    let expected = Expected::Version(record.version);
    let puts = vec![stored.put(record.key.clone(), expected, RequestState::Taken)];
    match store.commit(&Commit { fence: Some(fence), puts, ..Commit::synced() }) {
        Ok(committed) => {
            let version = committed.versions.first().copied().unwrap_or_default();
            Ok(Some(TakenRequest { stored, key: record.key, version }))
        }
        Err(StoreError::RecordConflict { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A caller on another machine.
struct StoreCaller {
    calls: StoreCalls,
    fence: Fence,
    taken: TakenRequest,
}

impl DeskCaller for StoreCaller {
    fn request(&mut self) -> Promise<'_, io::Result<DeskRequest>> {
        Box::pin(std::future::ready(Ok(self.taken.stored.request.clone())))
    }

    fn answer<'a>(&'a mut self, answer: &'a DeskAnswer) -> Promise<'a, io::Result<()>> {
        Box::pin(async move {
            let stored =
                StoredRequest { answer: Some(answer.clone()), ..self.taken.stored.clone() };
            let expected = Expected::Version(self.taken.version);
            let put = stored.put(self.taken.key.clone(), expected, RequestState::Answered);
            let fence = self.fence.clone();
            let commit = move |store: &dyn Store| {
                let commit = Commit { fence: Some(&fence), puts: vec![put], ..Commit::synced() };
                store.commit(&commit).map(drop)
            };
            self.calls.call(commit).await.map_err(io::Error::other)
        })
    }
}

/// Two ways to one session.
pub(crate) struct BothDesks {
    pub(crate) first: Box<dyn OpenDesk>,
    pub(crate) second: Box<dyn OpenDesk>,
}

impl OpenDesk for BothDesks {
    fn next(&mut self) -> Promise<'_, Box<dyn DeskCaller>> {
        Box::pin(async move {
            tokio::select! {
                caller = self.first.next() => caller,
                caller = self.second.next() => caller,
            }
        })
    }

    fn renew_if_gone(&mut self) -> Vec<Box<dyn DeskCaller>> {
        let mut callers = self.first.renew_if_gone();
        callers.extend(self.second.renew_if_gone());
        callers
    }

    fn close(self: Box<Self>) -> Vec<Box<dyn DeskCaller>> {
        let mut callers = self.first.close();
        callers.extend(self.second.close());
        callers
    }
}
