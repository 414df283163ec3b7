//! [`Waiting`]: those in this process who wait for a decision, and who tells them to look.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::approvals::Approvals;

/// Those in this process who wait for a decision.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<WaitingInner>);

#[derive(Default)]
struct WaitingInner {
    tickets: Mutex<HashMap<u64, (String, Arc<Notify>)>>,
    next: AtomicU64,
}

/// One of them, until it is dropped.
pub(crate) struct Ticket {
    number: u64,
    /// Something may have changed.
    pub(crate) look: Arc<Notify>,
    waiting: Waiting,
}

impl Waiting {
    /// Waits for a decision from now on.
    pub(crate) fn enter(&self, id: &str) -> Ticket {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let look = Arc::new(Notify::new());
        self.tickets().insert(number, (id.to_owned(), Arc::clone(&look)));
        Ticket { number, look, waiting: self.clone() }
    }

    fn tickets(&self) -> MutexGuard<'_, HashMap<u64, (String, Arc<Notify>)>> {
        self.0.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets those look for whose wait something has changed.
    fn look_around(&self, approvals: &Approvals) {
        let all: Vec<(String, Arc<Notify>)> = self.tickets().values().cloned().collect();
        for (id, look) in all {
            // Where it cannot be told, whoever waits finds out what is wrong.
            if !approvals.waits.is_waiting(&id).unwrap_or(false) {
                look.notify_one();
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.waiting.tickets().remove(&self.number);
    }
}

/// Looks around whenever the bell rings.
pub(crate) async fn watch(approvals: Arc<Approvals>, waiting: Waiting, stop: CancellationToken) {
    let mut ear = approvals.bell.listen();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = ear.rung() => {}
        }
        let (approvals, waiting) = (Arc::clone(&approvals), waiting.clone());
        let _ = tokio::task::spawn_blocking(move || waiting.look_around(&approvals)).await;
    }
}
