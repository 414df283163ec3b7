//! The end of a session: waits for or interrupts what still runs, and records the end.

use hookwright_engine::ports::EndRequest;
use hookwright_events::{SessionEvent, SessionStatus};

use super::{Halt, Session, completed};

impl Session {
    pub(super) async fn record_end(
        &self,
        status: SessionStatus,
        reason: String,
    ) -> Result<(), Halt> {
        self.leave_output(status, &reason).await?;
        self.publish_work(status).await?;
        self.write(SessionEvent::SessionEnded { status, reason }.into()).await
    }

    /// Ends what runs; from now on only the last hooks run, with engines of their own.
    pub(super) async fn begin_to_end(&mut self) {
        self.engines.interrupt();
        self.close_desk().await;
        self.settle().await;
        self.engines.made.clear();
        // A second interrupt ends the program, so this session need not listen for it.
        self.interrupt = EndRequest::default();
    }

    /// Waits for background hooks. Returns those that an interrupt has ended.
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
