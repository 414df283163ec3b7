//! [`Audit`]: compares journals with what processes printed and with what really happened, and
//! counts what must not be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use hookwright_events::{
    FiringEvent, RunEvent, RunEventKind, SessionEvent, SessionStatus, TurnEvent,
};

use super::essence::essence;
use super::fleet::{Fleet, LogLine};

/// How long the kernel may need to end killed processes on a busy machine.
const END_MAX: Duration = Duration::from_secs(10);

/// A violated rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    EntryLost,
    CompletionRepeated,
    WorkGivenTwice,
    RunWithoutRecord,
    ProcessLeft,
    DeclaredDead,
    NotFenced,
    WorkLost,
    NotFinished,
    WrongAnswer,
}

/// What was found, each with its details, and what was done.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub(crate) found: Vec<(Violation, String)>,
    /// How often each kind of fault was made.
    pub(crate) faults: BTreeMap<&'static str, u64>,
    pub(crate) sessions: u64,
    pub(crate) entries: u64,
    /// The longest time after which a fenced session had no process any more.
    pub(crate) slowest_fence: Duration,
    /// Figures to print.
    pub(crate) notes: Vec<String>,
}

impl Audit {
    pub(crate) fn found(&mut self, violation: Violation, what: impl Into<String>) {
        self.found.push((violation, what.into()));
    }

    /// Counts a fault.
    pub(crate) fn made(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    /// All that can be said of sessions that have ended.
    pub(crate) fn look(&mut self, fleet: &Fleet, sessions: &[String]) {
        self.look_at_processes(fleet);
        let log = fleet.log();
        let mut taken: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut recorded = BTreeSet::new();
        for session in sessions {
            let journal = fleet.journal(session);
            self.sessions += 1;
            self.entries += journal.len() as u64;
            self.look_at_printed(&fleet.printed(session), session, &journal);
            self.look_at_runs(session, &journal);
            for event in &journal {
                match &event.kind {
                    RunEventKind::Turn(TurnEvent::TurnStarting { run_id, .. })
                    | RunEventKind::Firing(FiringEvent::HookStarting {
                        run_id: Some(run_id),
                        ..
                    }) => {
                        recorded.insert(run_id.clone());
                    }
                    RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                        taken.entry(item.key.clone()).or_default().insert(session);
                    }
                    _ => {}
                }
            }
        }
        for (task, by) in taken.iter().filter(|(_, by)| by.len() > 1) {
            self.found(Violation::WorkGivenTwice, format!("{task} was given to {by:?}"));
        }
        self.look_at_log(&log, sessions, &recorded);
        for task in fleet.open_tasks() {
            self.found(Violation::WorkLost, format!("{task} is not completed"));
        }
    }

    /// Nothing runs on any machine.
    pub(crate) fn look_at_processes(&mut self, fleet: &Fleet) {
        let began = Instant::now();
        for machine in &fleet.machines {
            while !machine.processes().is_empty() && began.elapsed() < END_MAX {
                std::thread::sleep(Duration::from_millis(5));
            }
            for process in machine.processes() {
                let host = &machine.identity().host;
                self.found(Violation::ProcessLeft, format!("on {host}: {process}"));
            }
        }
    }

    /// Everything that was printed is in the journal: it was acknowledged before.
    pub(crate) fn look_at_printed(
        &mut self,
        printed: &[RunEvent],
        session: &str,
        journal: &[RunEvent],
    ) {
        let mut recorded: BTreeMap<String, u64> = BTreeMap::new();
        for event in journal {
            *recorded.entry(essence(event)).or_default() += 1;
        }
        for event in printed {
            let is_only_shown = match &event.kind {
                RunEventKind::Session(SessionEvent::Noted { .. }) => true,
                kind => !kind.is_journalled(),
            };
            let is_of_session = event.session.as_deref() == Some(session);
            if is_only_shown || !is_of_session {
                continue;
            }
            match recorded.get_mut(&essence(event)) {
                Some(left) if *left > 0 => *left -= 1,
                _ => self.found(Violation::EntryLost, format!("printed only: {}", essence(event))),
            }
        }
    }

    /// Attempts rise by one, nothing starts again behind its recorded end, and the session is done.
    pub(crate) fn look_at_runs(&mut self, session: &str, journal: &[RunEvent]) {
        let mut attempts: BTreeMap<String, u32> = BTreeMap::new();
        let mut ended: BTreeSet<String> = BTreeSet::new();
        for event in journal {
            let (run, attempt) = match &event.kind {
                RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, .. }) => {
                    (format!("{session}: hook {hook} of firing {}", event.firing), *attempt)
                }
                RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, .. }) => {
                    (format!("{session}: {turn:?}"), *attempt)
                }
                RunEventKind::Firing(FiringEvent::HookReported { report }) => {
                    let run = format!("{session}: hook {} of firing {}", report.id, event.firing);
                    if !ended.insert(run.clone()) {
                        self.found(Violation::CompletionRepeated, format!("{run} ended twice"));
                    }
                    continue;
                }
                RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. }) => {
                    let run = format!("{session}: {turn:?}");
                    if !ended.insert(run.clone()) {
                        self.found(Violation::CompletionRepeated, format!("{run} ended twice"));
                    }
                    continue;
                }
                _ => continue,
            };
            if ended.contains(&run) {
                self.found(Violation::CompletionRepeated, format!("{run} began again"));
            }
            let last = attempts.insert(run.clone(), attempt).unwrap_or(0);
            if attempt != last + 1 {
                let what = format!("{run}: attempt {attempt} behind {last}");
                self.found(Violation::EntryLost, what);
            }
        }
        let is_done = journal.iter().rev().any(|event| match &event.kind {
            RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
                *status == SessionStatus::Completed
            }
            _ => false,
        });
        if !is_done {
            let last = journal.last().map(essence).unwrap_or_default();
            self.found(Violation::NotFinished, format!("{session} ends with: {last}"));
        }
        for run in attempts.keys().filter(|run| is_done && !ended.contains(*run)) {
            self.found(Violation::EntryLost, format!("{run} has no end"));
        }
    }

    /// Each run of a hook or an agent was recorded before it began, and began once. Of the attempts
    /// at one piece of work, one ended.
    fn look_at_log(&mut self, log: &[LogLine], sessions: &[String], recorded: &BTreeSet<String>) {
        let mut begun = BTreeSet::new();
        let mut tasks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for line in log.iter().filter(|line| sessions.contains(&line.session)) {
            if line.what != "start" {
                continue;
            }
            if !recorded.contains(&line.run_id) {
                self.found(Violation::RunWithoutRecord, format!("{line:?}"));
            }
            let run = (&line.session, &line.kind, &line.name, &line.iteration, line.attempt);
            if !begun.insert(run) {
                self.found(Violation::WorkGivenTwice, format!("{line:?}"));
            }
            if !line.task.is_empty() {
                tasks.entry(&line.task).or_default().insert(&line.session);
            }
        }
        for (task, by) in tasks.into_iter().filter(|(_, by)| by.len() > 1) {
            self.found(Violation::WorkGivenTwice, format!("{task} was worked on by {by:?}"));
        }
    }
}
