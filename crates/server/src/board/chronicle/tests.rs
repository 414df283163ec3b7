//! Older pages that are read from checkpoints equal those of the whole journal.

use std::sync::Arc;

use hookwright_events::{
    EventName, FiringEvent, ItemState, Outcome, Output, PauseCause, ProcessOutcome, Report,
    SessionEvent, Status, TurnEvent, TurnName, TurnResult, WorkItem, WorkSource,
};
use hookwright_pipeline::timeline::Milestone;
use hookwright_store::{Append, Commit, SqliteStore};

use super::super::rows::{Row, RowContent};
use super::*;

/// Writes a journal.
struct Writer {
    store: SqliteStore,
    entries: u64,
    firings: u64,
}

fn journal() -> JournalKey {
    JournalKey { project: "p".into(), session: "s".into() }
}

impl Writer {
    fn new() -> Self {
        let mut writer =
            Self { store: SqliteStore::in_memory().expect("memory"), entries: 0, firings: 0 };
        let (plan, sources) = ("plan".to_owned(), serde_json::Value::Null);
        let stages = vec!["one".to_owned(), "two".to_owned()];
        writer.write(
            0,
            RunEventKind::Session(SessionEvent::SessionStarted { plan, stages, sources }),
        );
        writer
    }

    fn write(&mut self, firing: u64, kind: RunEventKind) {
        let at = format!("2026-01-01T00:00:{:02}.000Z", self.entries % 60);
        let event = RunEvent { version: 1, firing, at, session: Some("s".into()), kind };
        let text = serde_json::to_string(&event).unwrap();
        let (journal, entries) = (journal(), [text]);
        let append = Append { journal: &journal, expected: self.entries, entries: &entries };
        let commit = Commit { append: Some(append), ..Commit::unsynced() };
        self.store.commit(&commit).unwrap();
        self.entries += 1;
    }

    fn fires(&mut self, event: &str, key: Option<String>) -> u64 {
        self.firings += 1;
        let event = EventName::resolve(event).unwrap();
        let (subject, data, late_answers) = (None, None, Vec::new());
        self.write(
            self.firings,
            RunEventKind::Firing(FiringEvent::Fired { event, subject, key, data, late_answers }),
        );
        self.firings
    }

    fn starts(&mut self, firing: u64, hook: &str) {
        let (hook, run_id, digest) = (hook.to_owned(), None, None);
        let attempt = 1;
        let starting = RunEventKind::Firing(FiringEvent::HookStarting {
            hook,
            attempt,
            awaited: true,
            run_id,
            digest,
        });
        self.write(firing, starting);
    }

    fn reports(&mut self, firing: u64, hook: &str) {
        let output = Output { stdout: format!("{hook} of {firing} failed"), ..Output::default() };
        let outcome = Outcome::Process(ProcessOutcome::Exited { code: 1, output });
        let (hook, duration_ms) = (hook.to_owned(), 5.0);
        let ended = RunEventKind::Firing(FiringEvent::HookEnded {
            hook: hook.clone(),
            attempt: 1,
            outcome,
            duration_ms,
        });
        self.write(firing, ended);
        let report = Report {
            id: hook,
            action: "shell".into(),
            source: "hookwright.yaml:4".into(),
            status: Status::Failed,
            exit_code: Some(1),
            stdout: String::new(),
            stderr: String::new(),
            attempts: 1,
            duration_ms,
            reason: None,
            interrupted: false,
            shows_output: false,
            hides_output: false,
        };
        self.write(firing, RunEventKind::Firing(FiringEvent::HookReported { report }));
    }

    fn iteration(&mut self, stage: u32, iteration: u32) {
        let key = format!("iteration:start/{}/{iteration}", stage - 1);
        self.fires("iteration:start", Some(key));
        let turn = TurnName { stage, iteration };
        let run_id = String::new();
        self.write(
            0,
            RunEventKind::Turn(TurnEvent::TurnStarting {
                turn: turn.clone(),
                attempt: 1,
                run_id,
                agent: None,
            }),
        );
        let result = TurnResult { summary: format!("{iteration} done"), ..TurnResult::default() };
        self.write(
            0,
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, attempt: 1, result, duration_ms: 7.0 }),
        );
    }

    fn item(&mut self, execution: u32) {
        let item = WorkItem {
            source: WorkSource::Issues,
            key: execution.to_string(),
            title: format!("issue {execution}"),
            content: None,
            file: None,
            plan_file: None,
        };
        self.write(
            0,
            RunEventKind::Session(SessionEvent::ItemStarted { stage: 2, execution, item }),
        );
    }

    fn item_ends(&mut self, execution: u32) {
        let ended = RunEventKind::Session(SessionEvent::ItemEnded {
            stage: 2,
            execution,
            key: execution.to_string(),
            state: ItemState::Done,
            reason: None,
            iterations: 10,
            duration_ms: 7.0,
        });
        self.write(0, ended);
    }

    fn stage(&mut self, index: u32) {
        let stage = if index == 1 { "one" } else { "two" }.to_owned();
        self.write(
            0,
            RunEventKind::Session(SessionEvent::StageStarted { stage, index, iterations_max: 500 }),
        );
    }
}

/// A session with hooks that are reported long after their iteration, with work items, pauses and a
/// resume.
fn long_journal() -> Writer {
    let mut writer = Writer::new();
    writer.stage(1);
    let early = writer.fires("session:start", None);
    writer.starts(early, "from-the-beginning");
    // A hook that waits, and starts after all checkpoints of the first stage.
    let waits = writer.fires("stage:start", None);
    for iteration in 1..=300 {
        writer.iteration(1, iteration);
        let firing = writer.fires("iteration:complete", None);
        writer.starts(firing, "tests");
        writer.reports(firing, "tests");
        if iteration % 7 == 0 {
            writer.starts(firing, "slow");
        }
        if iteration % 21 == 0 {
            writer.reports(firing - 2 * 7, "slow");
            writer.write(
                0,
                RunEventKind::Session(SessionEvent::Noted { note: format!("note {iteration}") }),
            );
        }
    }
    writer.starts(waits, "late");
    writer.reports(waits, "late");
    let (stage, reason) = ("one".to_owned(), "completed".to_owned());
    writer.write(
        0,
        RunEventKind::Session(SessionEvent::StageEnded {
            stage,
            index: 1,
            reason,
            iterations: 300,
        }),
    );
    writer.stage(2);
    for execution in 1..=40 {
        writer.item(execution);
        for iteration in 1..=10 {
            writer.iteration(2, (execution - 1) * 10 + iteration);
        }
        if execution == 20 {
            writer.write(
                0,
                RunEventKind::Session(SessionEvent::SessionResumed { time: 2, sources: None }),
            );
        }
        let (cause, reason) = (PauseCause::RateLimit, "limit".to_owned());
        writer.write(0, RunEventKind::Session(SessionEvent::Paused { cause, reason, until: None }));
        writer.write(0, RunEventKind::Session(SessionEvent::Continued {}));
        writer.item_ends(execution);
    }
    writer.reports(early, "from-the-beginning");
    writer.iteration(2, 401);
    let firing = writer.fires("iteration:complete", None);
    writer.starts(firing, "tests");
    writer
}

/// All rows of a journal, complete or not.
fn all_rows(writer: &Writer) -> Vec<Arc<Row>> {
    let mut reading = JournalReading::default();
    let mut rows: Vec<Arc<Row>> = Vec::new();
    for entry in entries(&writer.store, &journal(), 0) {
        let entry = entry.unwrap();
        reading.see(entry.sequence, event_of(&entry));
        let known = rows.len() as u64;
        rows.extend(reading.rows.iter().filter(|row| row.number >= known).cloned().map(Arc::new));
    }
    let content = reading.content(true).rows;
    rows.extend(content.under_way().cloned().map(Arc::new));
    rows
}

#[test]
fn every_older_page_shows_the_same_as_the_whole_journal() {
    let writer = long_journal();
    let rows = all_rows(&writer);
    let mut chronicle = Chronicle::new(journal());
    chronicle.read_on(&writer.store).unwrap();
    assert!(chronicle.checkpoints.number() > 10, "{}", chronicle.checkpoints.number());
    let now = chronicle.content(&writer.store, None, true).unwrap();
    assert_eq!(now.rows.count(), rows.len() as u64);
    // Many of them, and all at the end, where the newest are unfinished.
    for before in (0..rows.len()).step_by(7).chain(rows.len() - 70..=rows.len()) {
        let content = chronicle.content(&writer.store, Some(before as u64), true).unwrap();
        let first = before.saturating_sub(limits::ROWS_MAX);
        let expected = &rows[first..before];
        assert!(content.rows.iter().eq(expected.iter().map(|row| &**row)), "before {before}");
        assert_eq!(content.rows.older(), expected.first().map_or(0, |row| row.number));
        let began = |is_it: fn(&Milestone) -> Option<bool>| {
            let known = rows[..first].iter().rev().find_map(|row| match &row.what {
                RowContent::Milestone(milestone) => is_it(milestone).map(|begins| (begins, &**row)),
                _ => None,
            });
            known.and_then(|(begins, row)| begins.then_some(row))
        };
        let stage = began(|milestone| match milestone {
            Milestone::StageBegan { .. } => Some(true),
            Milestone::StageEnded { .. } => Some(false),
            _ => None,
        });
        let item = began(|milestone| match milestone {
            Milestone::ItemBegan { .. } => Some(true),
            Milestone::ItemEnded { .. } => Some(false),
            _ => None,
        });
        assert_eq!((content.rows.stage_before(), content.rows.item_before()), (stage, item));
        // The page's header covers the whole session.
        assert_eq!(content.rows.stages(), now.rows.stages());
        assert!(content.rows.under_way().eq(now.rows.under_way()));
    }
}

#[test]
fn checkpoints_never_exceed_their_limit() {
    let mut writer = Writer::new();
    let mut chronicle = Chronicle::new(journal());
    writer.stage(1);
    // More and more hooks that are never reported.
    for iteration in 1..=4_000 {
        writer.iteration(1, iteration);
        let firing = writer.fires("iteration:complete", None);
        writer.starts(firing, "never-ends");
        if iteration % 500 == 0 {
            chronicle.read_on(&writer.store).unwrap();
            assert!(chronicle.checkpoints.bytes() <= limits::CHECKPOINTS_BYTES_MAX);
        }
    }
    // With too many of them a checkpoint would be too large; the earlier ones remain.
    let number = chronicle.checkpoints.number();
    assert!((1..50).contains(&number), "{number}");
    let content = chronicle.content(&writer.store, Some(3_000), true).unwrap();
    assert_eq!(content.rows.older(), 2_940);
}
