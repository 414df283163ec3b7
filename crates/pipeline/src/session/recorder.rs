//! [`Recorder`]: journals what happens in a session, then shows it.

use std::sync::Arc;

use hookwright_engine::Observer;
use hookwright_engine::ports::Clock;
use hookwright_events::{RunEvent, RunEventKind, SessionEvent};
use hookwright_store::StoreError;

use crate::journal::SessionJournal;
use crate::record::milliseconds;

/// Records what happens in a session. Engines record their firings themselves.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) session: String,
    pub(crate) journal: Arc<SessionJournal>,
    pub(crate) observers: Vec<Observer>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Recorder {
    /// Journals what happened, then shows it.
    pub(crate) fn write(&self, happened: impl Into<RunEventKind>) -> Result<(), StoreError> {
        self.write_in(0, happened)
    }

    /// The same for something that happened in the firing with this number.
    pub(crate) fn write_in(
        &self,
        firing: u64,
        happened: impl Into<RunEventKind>,
    ) -> Result<(), StoreError> {
        let event = RunEvent { firing, ..self.event(happened) };
        self.journal.write(std::slice::from_ref(&event))?;
        self.show(&event);
        Ok(())
    }

    /// Journals a note, then shows it.
    pub(super) fn note(&self, note: String) -> Result<(), StoreError> {
        self.write(SessionEvent::Noted { note })
    }

    /// Shows a note without journalling it.
    pub(super) fn show_note(&self, note: String) {
        self.show(&self.event(SessionEvent::Noted { note }));
    }

    pub(super) fn show(&self, event: &RunEvent) {
        self.observers.iter().for_each(|observer| observer(event));
    }

    pub(crate) fn event(&self, happened: impl Into<RunEventKind>) -> RunEvent {
        RunEvent {
            version: hookwright_events::run_event::VERSION,
            firing: 0,
            at: self.clock.now(),
            session: Some(self.session.clone()),
            kind: happened.into(),
        }
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        milliseconds(&self.clock.now()).unwrap_or_default()
    }

    /// Milliseconds since a time of the journal; not negative, even if the clock was set back.
    pub(super) fn since(&self, at: &str) -> u64 {
        let then = milliseconds(at);
        then.map_or(0, |then| self.now_ms() - then).max(0).unsigned_abs()
    }
}
