//! [`PromptedSession`]: a session of the built-in agent that a person prompts, outside of pipelines.
//!
//! It is a session like any other: a record, a lease, a journal. It has one stage, the agent, and each
//! prompt is an iteration of it. So lists, timeline, page and `stop` show it without knowing about it.
//!
//! Its events have keys below the turn ([`Point::InTurn`]), as those of a driver in a pipeline have. A
//! session that is continued begins another iteration: firings and calls of one that was cut off are
//! not taken up, and what they left running is ended before ([`PromptedSession::end_survivors`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use hookwright_config::limits::ITERATIONS_MAX;
use hookwright_engine::limits::KILL_GRACE;
use hookwright_engine::ports::memory::InMemoryMemory;
use hookwright_engine::ports::{Clock, Journal, Memory};
use hookwright_engine::{Engine, Firing, Secrets};
use hookwright_events::{
    Decision, Event, EventName, FiringKey, Point, RunEvent, RunEventKind, SessionEvent,
    SessionStatus, TurnEvent, TurnName, TurnResult, Verdict,
};
use hookwright_process::{end_run, faults, wait_for_runs};
use hookwright_store::{Fence, StoreError};
use serde_json::Value;

use crate::history::History;
use crate::journal::SessionJournal;
use crate::limits::GIT_GRACE;
use crate::record::SessionRecord;
use crate::session::Recorder;
use crate::store_calls::{StoreCall, StoreCalls};

/// The name of the one stage, and of the plan.
const STAGE: &str = "agent";

/// The name of the agent in turns.
const AGENT: &str = "builtin";

/// A session that a person prompts.
pub struct PromptedSession {
    fence: Fence,
    recorder: Recorder,
    memory: Arc<InMemoryMemory>,
    firings: Arc<AtomicU64>,
    turn: TurnName,
    run_id: String,
    resumes: Option<u32>,
    /// Runs that an earlier process of the session left.
    survivors: Vec<String>,
    committing: Vec<String>,
    fired: AtomicU32,
    began: Instant,
}

/// What a session is made of.
pub struct PromptedParts {
    /// The store of sessions.
    pub store: StoreCalls,
    /// The lease under which it runs.
    pub fence: Fence,
    /// Values that the journal must not contain.
    pub secrets: Secrets,
    /// The record for lists.
    pub record: SessionRecord,
    /// The version of its record in the store; `None` for a new session.
    pub version: Option<u64>,
    /// What is known of it from before.
    pub history: History,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

impl PromptedSession {
    /// A session of which nothing is recorded yet.
    pub fn new(parts: PromptedParts) -> Self {
        let PromptedParts { store, fence, secrets, record, version, mut history, clock } = parts;
        let session = record.name.clone();
        let memory = std::mem::take(&mut history.memory);
        let memory = Arc::new(InMemoryMemory::with(&session, memory));
        let journal =
            SessionJournal::new(store, fence.clone(), secrets, history.last, version, record);
        let recorder = Recorder { session, journal, observers: Vec::new(), clock };
        Self {
            fence,
            recorder,
            memory,
            firings: Arc::new(AtomicU64::new(history.firings)),
            turn: TurnName { stage: 1, iteration: history.last_begun(1) + 1 },
            run_id: new_run_id(),
            resumes: (history.last > 0).then_some(history.resumes),
            survivors: history.unfinished_runs(),
            committing: history.committing_runs(),
            fired: AtomicU32::new(0),
            began: Instant::now(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.recorder.session
    }

    /// The marker of all processes that its tools start.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// For the engine that fires its events.
    pub fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.recorder.journal) as _
    }

    /// What it remembers between events.
    pub fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.memory) as _
    }

    /// The number of the last firing, for the engine.
    pub fn firings(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.firings)
    }

    /// Why nothing can be recorded any more.
    pub fn failure(&self) -> Option<StoreError> {
        self.recorder.journal.failure()
    }

    /// Ends what an earlier process of this session left running. Git gets time to end by itself.
    pub async fn end_survivors(&self) {
        faults::point("survivors are ended");
        let is_committing = |run_id: &&String| self.committing.contains(run_id);
        for run_id in self.survivors.iter().filter(|run_id| !is_committing(run_id)) {
            end_run(run_id, KILL_GRACE).await;
        }
        if !self.committing.is_empty() {
            wait_for_runs(&self.committing, GIT_GRACE).await;
        }
        for run_id in &self.committing {
            end_run(run_id, KILL_GRACE).await;
        }
        faults::point("survivors ended");
    }

    /// Records that the session begins or continues, and with it the turn.
    pub async fn begin(&self) -> Result<(), StoreError> {
        let turn = TurnEvent::TurnStarting {
            turn: self.turn.clone(),
            attempt: 1,
            run_id: self.run_id.clone(),
            agent: Some(AGENT.to_owned()),
        };
        let (index, iterations_max) = (1, ITERATIONS_MAX);
        let stage = SessionEvent::StageStarted { stage: STAGE.to_owned(), index, iterations_max };
        let written = match self.resumes {
            Some(resumes) => self.write([
                SessionEvent::SessionResumed { time: resumes + 1, sources: None }.into(),
                stage.into(),
                turn.into(),
            ]),
            None => self.write([
                SessionEvent::SessionStarted {
                    plan: STAGE.to_owned(),
                    stages: vec![STAGE.to_owned()],
                    sources: Value::Null,
                }
                .into(),
                stage.into(),
                turn.into(),
            ]),
        };
        written.await
    }

    /// Records these in one commit.
    pub fn write<const N: usize>(
        &self,
        happened: [RunEventKind; N],
    ) -> StoreCall<Result<(), StoreError>> {
        let events: Vec<RunEvent> =
            happened.into_iter().map(|kind| self.recorder.event(kind)).collect();
        self.recorder.journal.write(&events)
    }

    /// Records this with what is recorded next; see [`SessionJournal::write_with_next`].
    pub fn write_with_next(
        &self,
        happened: impl Into<RunEventKind>,
    ) -> StoreCall<Result<(), StoreError>> {
        self.recorder.journal.write_with_next(&[self.recorder.event(happened)])
    }

    /// Records what waits for the next record.
    pub fn write_waiting(&self) -> StoreCall<Result<(), StoreError>> {
        self.recorder.journal.write_waiting()
    }

    /// Whether anything comes of an event of this name that is fired now, whatever its data are.
    pub fn hears(&self, engine: &Engine, event: &EventName) -> bool {
        engine.hooks().hears(event)
            || self.memory.concerns_every_firing(&self.recorder.session)
            || self.failure().is_some()
    }

    /// Fires an event of the turn. If the journal cannot be written, the decision is to end: hooks that
    /// could not run must not count as hooks that agree.
    pub async fn fire(&self, engine: &Engine, event: Event) -> Decision {
        let number = self.fired.fetch_add(1, Ordering::Relaxed) + 1;
        let TurnName { stage, iteration } = self.turn;
        let stage = usize::try_from(stage).unwrap_or_default().saturating_sub(1);
        let key = FiringKey::from(Point::InTurn { stage, iteration, attempt: 1, number });
        let firing = Firing {
            session: Some(self.recorder.session.clone()),
            key: Some(key.to_string()),
            remakes_data: true,
            skips_unheard: true,
            // The agent's next step is recorded before anything comes of the decision.
            ends_with_next: true,
            ..Firing::default()
        };
        let decision = engine.fire(event, firing).await.decision;
        match self.failure() {
            Some(error) => Decision {
                verdict: Verdict::Abort { reason: error.to_string() },
                ..Decision::default()
            },
            None => decision,
        }
    }

    /// The lease under which it runs.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Records the end, and gives the lease back.
    pub async fn end(
        &self,
        result: TurnResult,
        status: SessionStatus,
        more: Option<TurnEvent>,
    ) -> Result<(), StoreError> {
        let reason = result.error.clone().unwrap_or_else(|| status.as_str().to_owned());
        let ended = TurnEvent::TurnEnded {
            turn: self.turn.clone(),
            attempt: 1,
            result: TurnResult { agent: Some(AGENT.to_owned()), ..result },
            duration_ms: self.began.elapsed().as_secs_f64() * 1000.0,
        };
        let stage = SessionEvent::StageEnded {
            stage: STAGE.to_owned(),
            index: 1,
            reason: status.as_str().to_owned(),
            iterations: self.turn.iteration,
        };
        let ended: [RunEventKind; 3] =
            [ended.into(), stage.into(), SessionEvent::SessionEnded { status, reason }.into()];
        let ended = more.into_iter().map(RunEventKind::from).chain(ended);
        let events: Vec<RunEvent> = ended.map(|kind| self.recorder.event(kind)).collect();
        let written = self.recorder.journal.write(&events).await;
        faults::point("lease is given back");
        let Fence { lease, token } = self.fence.clone();
        let calls = self.recorder.journal.calls();
        // After a crash the holder is found dead.
        let _ = calls.call(move |store| store.release(&lease, token)).await;
        written
    }
}

fn new_run_id() -> String {
    use std::hash::{BuildHasher, Hasher};
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("turn-{random:016x}")
}
