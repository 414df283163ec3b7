//! [`PauseGate`]: lets a session take its next step, or wait until the gate is opened.

use std::sync::Arc;
use std::time::Instant;

use hookwright_events::{PauseCause, SessionEvent};
use tokio::sync::watch;

use super::{Halt, Session};

/// The gate between two steps of a session. It is open until a holder of a clone closes it.
#[derive(Debug, Clone)]
pub struct PauseGate {
    is_closed: Arc<watch::Sender<bool>>,
}

impl Default for PauseGate {
    fn default() -> Self {
        Self { is_closed: Arc::new(watch::Sender::new(false)) }
    }
}

impl PauseGate {
    /// From now on the session waits before its next step.
    pub fn close(&self) {
        self.is_closed.send_replace(true);
    }

    /// Lets the session continue.
    pub fn open(&self) {
        self.is_closed.send_replace(false);
    }

    /// Whether the session has to wait.
    pub fn is_closed(&self) -> bool {
        *self.is_closed.borrow()
    }

    async fn opened(&self) {
        let mut watched = self.is_closed.subscribe();
        // `self` holds the sender, so it cannot go away.
        let _ = watched.wait_for(|is_closed| !is_closed).await;
    }
}

impl Session {
    /// Waits before a step as long as the gate is closed; running hooks and agents continue.
    pub(super) async fn pass_gate(&mut self) -> Result<(), Halt> {
        // A resumed session has reached the point where it continues, with the hooks of that stage.
        self.task_desk.open();
        if !self.gate.is_closed() {
            return Ok(());
        }
        let (cause, reason) = (PauseCause::Person, "a person paused it".to_owned());
        self.recorder.write(SessionEvent::Paused { cause, reason, until: None }).await?;
        let since = Instant::now();
        tokio::select! {
            () = self.gate.opened() => {}
            () = self.interrupt.token().cancelled() => return Err(self.interrupted()),
        }
        self.stopwatch.has_paused(since);
        Ok(self.recorder.write(SessionEvent::Continued {}).await?)
    }
}
