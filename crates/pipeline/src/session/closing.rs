//! The end of a session: what still runs is waited for or interrupted, and the end is recorded.

use hookwright_engine::ports::EndRequest;
use hookwright_events::{SessionEvent, SessionStatus};

use super::{Halt, Session, completed};

impl Session {
    /// Records the end.
    pub(super) fn record_end(&self, status: SessionStatus, reason: String) -> Result<(), Halt> {
        self.leave_output(status, &reason)?;
        Ok(self.recorder.write(SessionEvent::SessionEnded { status, reason })?)
    }

    /// What ran is being ended; from now on only the last hooks run, with engines of their own.
    pub(super) async fn begin_to_end(&mut self) {
        self.engines.interrupt();
        self.close_desk().await;
        self.settle().await;
        self.engines.made.clear();
        // A second interrupt ends the program, so nothing has to listen for it here.
        self.interrupt = EndRequest::default();
    }

    /// Waits for hooks in the background. Returns those that an interrupt has cut off.
    pub(super) async fn settle(&self) -> Vec<String> {
        let mut cut_off = Vec::new();
        for engine in self.engines.made.values() {
            let waiting_for = engine.in_background();
            if !waiting_for.is_empty() {
                let note = format!("waiting for background hooks: {}", waiting_for.join(", "));
                self.recorder.show_note(note);
            }
            let interrupt = || {
                cut_off.extend(engine.in_background());
                engine.interrupt();
            };
            completed(engine.settle(), self.interrupt.token(), interrupt).await;
        }
        cut_off
    }
}
