//! [`Recorder`]: journals what happens in a session, then shows it.

use std::sync::Arc;

use hookwright_engine::Observer;
use hookwright_engine::ports::Clock;
use hookwright_events::{RunEvent, RunEventKind, SessionEvent};
use hookwright_store::StoreError;

use crate::journal::SessionJournal;
use crate::record::milliseconds;
use crate::store_calls::StoreCall;

/// Records what happens in a session. Engines record their firings themselves.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) session: String,
    pub(crate) journal: Arc<SessionJournal>,
    pub(crate) observers: Vec<Observer>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// An entry that has its place in the journal, and is shown once it is written.
#[must_use = "an entry is shown only if it is awaited"]
pub(crate) struct BegunEntry {
    event: RunEvent,
    written: StoreCall<Result<(), StoreError>>,
}

impl Recorder {
    /// Journals what happened, then shows it.
    pub(crate) async fn write(&self, happened: impl Into<RunEventKind>) -> Result<(), StoreError> {
        self.written(self.begin_entry(0, happened)).await
    }

    /// Gives an entry its place in the journal. It happened in the firing with this number; 0 is
    /// outside of firings.
    pub(crate) fn begin_entry(&self, firing: u64, happened: impl Into<RunEventKind>) -> BegunEntry {
        let event = RunEvent { firing, ..self.event(happened) };
        let written = self.journal.write(std::slice::from_ref(&event));
        BegunEntry { event, written }
    }

    /// Waits until an entry is written, then shows it.
    pub(crate) async fn written(&self, entry: BegunEntry) -> Result<(), StoreError> {
        entry.written.await?;
        self.show(&entry.event);
        Ok(())
    }

    /// Shows an entry once it is written; nothing waits for it. If it cannot be written, the next
    /// one cannot be either, and that ends the session.
    pub(crate) fn show_once_written(&self, BegunEntry { event, written }: BegunEntry) {
        match written.into_result() {
            Ok(written) => {
                if written.is_ok() {
                    self.show(&event);
                }
            }
            Err(written) => {
                let recorder = self.clone();
                tokio::spawn(async move {
                    let _ = recorder.written(BegunEntry { event, written }).await;
                });
            }
        }
    }

    /// Journals a note, then shows it.
    pub(super) async fn note(&self, note: String) -> Result<(), StoreError> {
        self.write(SessionEvent::Noted { note }).await
    }

    /// For a call that waits: a function that takes notes, and a future that journals and shows them
    /// until the function is dropped. The session may run on a worker, whose screen nobody sees.
    pub(super) fn note_meanwhile(
        &self,
    ) -> (impl Fn(String) + Sync + use<>, impl Future<Output = ()> + '_) {
        let (notes, mut taken) = tokio::sync::mpsc::unbounded_channel();
        // Both are dropped together, so that no note is lost.
        let take = move |note: String| drop(notes.send(note));
        let journal = async move {
            while let Some(note) = taken.recv().await {
                // If it cannot be written, the end cannot be either.
                let _ = self.note(note).await;
            }
        };
        (take, journal)
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
