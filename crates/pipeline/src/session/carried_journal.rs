//! [`CarriedJournal`]: the journal of a session that other machines may continue. Each end is
//! written together with the work that it leaves.
//!
//! An end is one after which nothing is repeated: of a turn, of an awaited hook, of the session.
//! Hooks in the background and those within a turn are no ends: an agent is at work, and its turn is
//! repeated with the tree before it.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_engine::Secrets;
use hookwright_engine::ports::{Journal, Promise};
use hookwright_events::{
    FiringEvent, FiringKey, Point, RunEvent, RunEventKind, SessionEvent, SessionStatus, TurnEvent,
};
use tokio_util::sync::CancellationToken;

use super::recorder::Recorder;
use super::{Halt, Session};
use crate::trees::TreeError;
use crate::work_keeper::{KeepError, WorkKeeper};

/// Writes ends together with the work.
pub(super) struct CarriedJournal {
    pub(super) recorder: Recorder,
    pub(super) keeper: Arc<WorkKeeper>,
    pub(super) secrets: Secrets,
    pub(super) interrupt: CancellationToken,
    pub(super) open: Mutex<OpenFirings>,
}

/// What is under way and is no end.
#[derive(Default)]
pub(super) struct OpenFirings {
    /// Firings within a turn.
    in_turn: HashSet<u64>,
    /// Hooks that nothing waits for, by firing.
    in_background: HashSet<(u64, String)>,
}

impl CarriedJournal {
    /// Writes these, with the work if one of them is an end.
    async fn write(&self, events: &[RunEvent]) -> Result<(), KeepError> {
        let (show, noted) = self.recorder.note_meanwhile();
        let keeping = async move { self.keeper.keep(&self.secrets, &self.interrupt, &show).await };
        let (kept, ()) = tokio::join!(keeping, noted);
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                self.give_up(&error).await;
                return Err(error);
            }
        };
        let told = kept.notes.iter().map(|note| SessionEvent::Noted { note: note.clone() });
        let tree = kept.tree.iter().map(|tree| SessionEvent::TreeKept { tree: tree.to_string() });
        let more: Vec<RunEvent> = told.chain(tree).map(|kind| self.recorder.event(kind)).collect();
        let all: Vec<RunEvent> = events.iter().chain(&more).cloned().collect();
        let journal = &self.recorder.journal;
        journal.write_kept(all, kept.puts(), kept.deletes()).await?;
        kept.written();
        more.iter().for_each(|event| self.recorder.show(event));
        Ok(())
    }

    fn is_end(&self, events: &[RunEvent]) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).see(events)
    }

    fn record_with_work<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        let underway = self.recorder.journal.underway();
        Box::pin(async move {
            let written = self.write(events).await.map_err(io::Error::other);
            drop(underway);
            written
        })
    }

    /// Ends the journal: what ended since cannot count.
    async fn give_up(&self, error: &KeepError) {
        // If this cannot be written either, the journal has failed by itself.
        let _ = self.recorder.note(format!("cannot save the work: {error}")).await;
        self.recorder.journal.give_up(error.to_string());
    }
}

impl Session {
    /// Journals something, together with the work if it is an end that no engine records.
    pub(super) async fn write(&self, kind: RunEventKind) -> Result<(), Halt> {
        let event = self.recorder.event(kind);
        match self.carried.as_ref().filter(|carried| carried.is_end(std::slice::from_ref(&event))) {
            Some(carried) => {
                carried.write(std::slice::from_ref(&event)).await?;
                self.recorder.show(&event);
            }
            None => self.recorder.write(event.kind).await?,
        }
        Ok(())
    }

    /// Makes the work what it was at the last end in the journal. What a child session works on is
    /// restored with its parent's.
    pub(super) async fn restore_work(&self) -> Result<(), Halt> {
        let Some(carried) = self.carried.as_ref().filter(|_| !self.is_child) else {
            return Ok(());
        };
        let (show, noted) = self.recorder.note_meanwhile();
        let calls = self.recorder.journal.calls();
        let restoring =
            async move { carried.keeper.restore(calls, &carried.interrupt, &show).await };
        let (restored, ()) = tokio::join!(restoring, noted);
        if let Some(tree) = restored? {
            self.recorder.show_note(format!("restored the work tree {tree}"));
        }
        Ok(())
    }

    /// Publishes the work of a session that has come to its end. A remote that refuses the
    /// result does not change how the session ended: the work tree is kept there.
    pub(super) async fn publish_work(&self, status: SessionStatus) -> Result<(), Halt> {
        let Some(carried) = self.carried.as_ref().filter(|_| !self.is_child) else {
            return Ok(());
        };
        match status {
            SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Aborted => {}
            SessionStatus::Active
            | SessionStatus::Queued
            | SessionStatus::CutOff
            | SessionStatus::Interrupted
            | SessionStatus::Paused
            | SessionStatus::Deleting => return Ok(()),
        }
        let (show, noted) = self.recorder.note_meanwhile();
        let publishing = async move { carried.keeper.publish(&carried.interrupt, &show).await };
        let (published, ()) = tokio::join!(publishing, noted);
        let note = match published {
            Ok(branch) => format!("pushed the branch {branch}"),
            Err(KeepError::Tree(error @ TreeError::Refused { .. })) => {
                format!("the result is not on a branch: {error}")
            }
            Err(error) => {
                carried.give_up(&error).await;
                return Err(error.into());
            }
        };
        Ok(self.recorder.note(note).await?)
    }
}

impl OpenFirings {
    /// Notes what these events begin. Returns whether one of them is an end.
    fn see(&mut self, events: &[RunEvent]) -> bool {
        let mut is_end = false;
        for event in events {
            is_end |= match &event.kind {
                RunEventKind::Turn(TurnEvent::TurnEnded { .. })
                | RunEventKind::Session(SessionEvent::SessionEnded { .. }) => true,
                RunEventKind::Firing(happened) => self.see_firing(event.firing, happened),
                RunEventKind::Turn(_) | RunEventKind::Session(_) => false,
            };
        }
        is_end
    }

    fn see_firing(&mut self, firing: u64, happened: &FiringEvent) -> bool {
        match happened {
            FiringEvent::Fired { key: Some(key), .. } => {
                if matches!(FiringKey::parse(key).point, Point::InTurn { .. }) {
                    self.in_turn.insert(firing);
                }
                false
            }
            FiringEvent::HookStarting { hook, awaited: false, .. }
            | FiringEvent::HookWentAsync { hook, .. } => {
                self.in_background.insert((firing, hook.clone()));
                false
            }
            FiringEvent::HookEnded { hook, .. } => {
                !self.in_turn.contains(&firing)
                    && !self.in_background.contains(&(firing, hook.clone()))
            }
            FiringEvent::HookReported { report } => {
                self.in_background.remove(&(firing, report.id.clone()));
                false
            }
            FiringEvent::Decided { .. } => {
                self.in_turn.remove(&firing);
                false
            }
            _ => false,
        }
    }
}

impl Journal for CarriedJournal {
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        self.record_all(std::slice::from_ref(event))
    }

    fn record_all<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        match self.is_end(events) {
            true => self.record_with_work(events),
            false => self.recorder.journal.record_all(events),
        }
    }

    fn record_with_next<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        match self.is_end(events) {
            // The work at this end must not be that at a later one.
            true => self.record_with_work(events),
            false => self.recorder.journal.record_with_next(events),
        }
    }

    fn keeps_memory(&self) -> bool {
        true
    }
}
