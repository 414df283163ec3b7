//! [`Recorder`]: writes down what happens in a session, then shows it.

use std::sync::Arc;

use hookwright_engine::Observer;
use hookwright_engine::ports::Clock;
use hookwright_events::{RunEvent, RunEventKind, SessionEvent};
use hookwright_store::StoreError;

use crate::journal::SessionJournal;
use crate::record::milliseconds;

/// Records what happens outside of firings; engines record these themselves.
pub(super) struct Recorder {
    /// The session's name.
    pub(super) session: String,
    pub(super) journal: Arc<SessionJournal>,
    pub(super) observers: Vec<Observer>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Recorder {
    /// Writes these down in one commit, then shows them.
    pub(super) fn write(&self, kinds: Vec<RunEventKind>) -> Result<(), StoreError> {
        let events: Vec<RunEvent> = kinds.into_iter().map(|kind| self.event(kind)).collect();
        self.journal.write(&events)?;
        events.iter().for_each(|event| self.show(event));
        Ok(())
    }

    /// Writes a note down, then shows it.
    pub(super) fn note(&self, note: String) -> Result<(), StoreError> {
        self.write(vec![RunEventKind::Session(SessionEvent::Noted { note })])
    }

    /// Shows a note, without writing it down.
    pub(super) fn show_note(&self, note: String) {
        self.show(&self.event(RunEventKind::Session(SessionEvent::Noted { note })));
    }

    pub(super) fn show(&self, event: &RunEvent) {
        self.observers.iter().for_each(|observer| observer(event));
    }

    pub(super) fn event(&self, kind: RunEventKind) -> RunEvent {
        RunEvent {
            version: hookwright_events::run_event::VERSION,
            firing: 0,
            at: self.clock.now(),
            session: Some(self.session.clone()),
            kind,
        }
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        milliseconds(&self.clock.now()).unwrap_or_default()
    }

    /// Milliseconds since a time of the journal; a clock that was set back makes none negative.
    pub(super) fn since(&self, at: &str) -> u64 {
        let then = milliseconds(at);
        then.map_or(0, |then| self.now_ms() - then).max(0).unsigned_abs()
    }
}
