//! [`Played`]: writes a session into the store, entry by entry, as the process that runs one does.

use std::sync::Arc;

use hookwright_events::{
    EventName, FiringEvent, Outcome, Output, ProcessOutcome, Report, RunEvent, RunEventKind,
    SessionEvent, SessionStatus, Status, TurnEvent, TurnName, TurnResult,
};
use hookwright_pipeline::lease::{self, LeaseOwner};
use hookwright_pipeline::record::SessionRecord;
use hookwright_server::approvals::{iso, now_ms};
use hookwright_store::{
    Append, Commit, Delete, Expected, Fence, JournalKey, Kind, Put, RecordKey, SqliteStore, Store,
};

use crate::situation::Situation;

/// The project of these sessions.
pub(crate) const PROJECT: &str = "/home/ann/shop";

/// A session that a test writes.
pub(crate) struct Played {
    store: Arc<dyn Store>,
    pub(crate) record: SessionRecord,
    version: Expected,
    entries: u64,
    firings: u64,
    now_ms: i64,
    fence: Option<Fence>,
}

impl Played {
    /// Begins this many seconds ago, in this process, which holds its lease.
    pub(crate) fn begin(situation: &Situation, name: &str, ago: i64, stages: &[&str]) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(situation.folder.path()).unwrap());
        let now_ms = now_ms() - ago * 1000;
        let stages: Vec<String> = stages.iter().map(|stage| (*stage).to_owned()).collect();
        let record = SessionRecord {
            name: name.to_owned(),
            start_time: iso(now_ms),
            workspace: PROJECT.to_owned(),
            command: "run".to_owned(),
            status: SessionStatus::Active,
            provider: "claude".to_owned(),
            plan: "full-workflow".to_owned(),
            stages: stages.clone(),
            ..SessionRecord::default()
        };
        let fence = lease::take(&*store, &lease::name_of(PROJECT, name)).unwrap();
        let (version, fence) = (Expected::Absent, Some(fence));
        let mut played = Self { store, record, version, entries: 0, firings: 0, now_ms, fence };
        let sources = serde_json::Value::Null;
        let plan = played.record.plan.clone();
        played.happens(
            0,
            RunEventKind::Session(SessionEvent::SessionStarted { plan, stages, sources }),
        );
        played
    }

    /// Adds an entry, in a firing or, with 0, outside of any.
    pub(crate) fn happens(&mut self, firing: u64, kind: RunEventKind) {
        match &kind {
            RunEventKind::Session(SessionEvent::StageStarted { index, .. }) => {
                self.record.stage = *index
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. }) if turn.iteration > 0 => {
                self.record.iterations += 1;
            }
            RunEventKind::Session(SessionEvent::SessionEnded { status, reason }) => {
                self.record.status.clone_from(status);
                self.record.reason.clone_from(reason);
                let took = self.now_ms - self.record.created_at_ms();
                self.record.metadata.total_duration = Some(took);
            }
            _ => {}
        }
        let (at, session) = (iso(self.now_ms), Some(self.record.name.clone()));
        let event = RunEvent { version: 1, firing, at, session, kind };
        let entries = [serde_json::to_string(&event).unwrap()];
        let key = RecordKey { project: PROJECT.to_owned(), name: self.record.name.clone() };
        let journal = JournalKey { project: key.project.clone(), session: key.name.clone() };
        let put = Put {
            kind: Kind::Session,
            key: key.clone(),
            expected: self.version,
            value: serde_json::to_string(&self.record).unwrap(),
            created_at_ms: self.record.created_at_ms(),
            status: self.record.status.to_string(),
            queued: None,
            moves: None,
        };
        let append = Append { journal: &journal, expected: self.entries, entries: &entries };
        let commit = Commit { append: Some(append), puts: vec![put], ..Commit::unsynced() };
        self.store.commit(&commit).unwrap();
        self.entries += 1;
        let version = self.store.get(Kind::Session, &key).unwrap().unwrap().version;
        self.version = Expected::Version(version);
    }

    /// Moves the clock.
    pub(crate) fn passes(&mut self, ms: i64) {
        self.now_ms += ms;
    }

    /// The time of the next entry.
    pub(crate) fn now(&self) -> String {
        iso(self.now_ms)
    }

    pub(crate) fn stage(&mut self, index: u32, iterations_max: u32) {
        let stage = self.record.stages[index as usize - 1].clone();
        self.happens(
            0,
            RunEventKind::Session(SessionEvent::StageStarted { stage, index, iterations_max }),
        );
    }

    pub(crate) fn stage_ends(&mut self, index: u32, iterations: u32) {
        let (stage, reason) = (self.record.stages[index as usize - 1].clone(), "completed".into());
        self.happens(
            0,
            RunEventKind::Session(SessionEvent::StageEnded { stage, index, reason, iterations }),
        );
    }

    /// Fires an event and returns the number of the firing.
    pub(crate) fn fires(&mut self, event: &str, key: Option<String>) -> u64 {
        self.firings += 1;
        let event = EventName::resolve(event).unwrap();
        let (subject, data) = (None, None);
        let fired = RunEventKind::Firing(FiringEvent::Fired {
            event,
            subject,
            key,
            data,
            late_answers: Vec::new(),
        });
        self.happens(self.firings, fired);
        self.firings
    }

    /// Begins an iteration and its agent.
    pub(crate) fn works(&mut self, stage: u32, iteration: u32) {
        self.fires("iteration:start", Some(format!("iteration:start/{}/{iteration}", stage - 1)));
        let turn = TurnName { stage, iteration };
        let run_id = String::new();
        self.happens(
            0,
            RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt: 1, run_id, agent: None }),
        );
    }

    /// Ends the agent's turn.
    pub(crate) fn worked(&mut self, stage: u32, iteration: u32, took: i64, result: TurnResult) {
        self.passes(took);
        let turn = TurnName { stage, iteration };
        let duration_ms = took as f64;
        self.happens(
            0,
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, attempt: 1, result, duration_ms }),
        );
    }

    /// Starts a hook.
    pub(crate) fn starts(&mut self, firing: u64, hook: &str) {
        let (hook, run_id, digest) = (hook.to_owned(), None, None);
        let starting = RunEventKind::Firing(FiringEvent::HookStarting {
            hook,
            attempt: 1,
            awaited: true,
            run_id,
            digest,
        });
        self.happens(firing, starting);
    }

    /// Ends a started hook with this report.
    pub(crate) fn reports(&mut self, firing: u64, took: i64, report: Report) {
        self.passes(took);
        // As in a real journal, only the end of the attempt has the output.
        let Report { stdout, stderr, .. } = report.clone();
        let output = Output { stdout, stderr, ..Output::default() };
        self.happens(
            firing,
            RunEventKind::Firing(FiringEvent::HookEnded {
                hook: report.id.clone(),
                attempt: 1,
                outcome: Outcome::Process(ProcessOutcome::Exited {
                    code: report.exit_code.unwrap_or(1),
                    output,
                }),
                duration_ms: took as f64,
            }),
        );
        let (stdout, stderr) = (String::new(), String::new());
        let report = Report { duration_ms: took as f64, stdout, stderr, ..report };
        self.happens(firing, RunEventKind::Firing(FiringEvent::HookReported { report }));
    }

    pub(crate) fn ends(&mut self, status: &str, reason: &str) {
        let status = SessionStatus::parse(status).expect("a status");
        let reason = reason.to_owned();
        self.happens(0, RunEventKind::Session(SessionEvent::SessionEnded { status, reason }));
        self.leave();
    }

    /// Makes this process its holder.
    pub(crate) fn run_by(&mut self, pid: u32) {
        self.leave();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let behind_the_name = stat.rsplit(')').next().unwrap();
        let start_time = behind_the_name.split_whitespace().nth(19).unwrap().parse().unwrap();
        let holder = LeaseOwner { pid, start_time: Some(start_time), ..LeaseOwner::this() };
        let (lease, holder) =
            (lease::name_of(PROJECT, &self.record.name), serde_json::to_string(&holder).unwrap());
        self.store.acquire(&lease, &holder, None).unwrap();
    }

    /// Deletes it, as `sessions prune` does.
    pub(crate) fn delete(mut self) {
        self.leave();
        let key = RecordKey { project: PROJECT.to_owned(), name: self.record.name.clone() };
        let journal = JournalKey { project: key.project.clone(), session: key.name.clone() };
        let deletes = vec![Delete { kind: Kind::Session, key, expected: self.version }];
        let commit = Commit { drop_journals: vec![journal], deletes, ..Commit::synced() };
        self.store.commit(&commit).unwrap();
    }

    /// Ends its process.
    pub(crate) fn leave(&mut self) {
        if let Some(fence) = self.fence.take() {
            self.store.release(&fence.lease, fence.token).unwrap();
        }
    }
}

/// The report of a successful hook.
pub(crate) fn report(id: &str) -> Report {
    Report {
        id: id.into(),
        action: "shell".into(),
        source: "hookwright.yaml:4".into(),
        status: Status::Success,
        exit_code: Some(0),
        stdout: String::new(),
        stderr: String::new(),
        attempts: 1,
        duration_ms: 0.0,
        reason: None,
        interrupted: false,
        shows_output: false,
        hides_output: false,
    }
}

/// The result of an agent that continues.
pub(crate) fn result(summary: &str) -> TurnResult {
    TurnResult { decision: "continue".into(), summary: summary.into(), ..TurnResult::default() }
}
