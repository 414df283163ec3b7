//! [`Waiting`]: the tasks of this process that wait for decisions, and what wakes them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::bell::HungBell;
use crate::limits;

/// Changes when another machine has stored something that this process may wait for.
pub type Wakes = tokio::sync::watch::Receiver<u64>;

/// The tasks of this process that wait for decisions.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<WaitingInner>);

#[derive(Default)]
struct WaitingInner {
    tickets: Mutex<HashMap<u64, (String, Arc<Notify>)>>,
    next: AtomicU64,
}

/// One of them; dropping it ends the wait.
pub(crate) struct Ticket {
    number: u64,
    /// Notified when the wait may have changed.
    pub(crate) look: Arc<Notify>,
    waiting: Waiting,
}

impl Waiting {
    /// Registers a task that waits for a decision.
    pub(crate) fn enter(&self, id: &str) -> Ticket {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let look = Arc::new(Notify::new());
        self.tickets().insert(number, (id.to_owned(), Arc::clone(&look)));
        Ticket { number, look, waiting: self.clone() }
    }

    fn tickets(&self) -> MutexGuard<'_, HashMap<u64, (String, Arc<Notify>)>> {
        self.0.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the tasks for which `is_due` returns true.
    fn wake(&self, is_due: impl Fn(&str) -> bool) {
        for (_, look) in self.tickets().values().filter(|(id, _)| is_due(id)) {
            look.notify_one();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.waiting.tickets().remove(&self.number);
    }
}

/// Wakes the tasks that the bell rings for; without a bell, all of them from time to time. Wakes all
/// of them with each change of `wakes`, by which other machines wake this one.
pub(crate) async fn watch(
    bell: Option<HungBell>,
    mut wakes: Option<Wakes>,
    waiting: Waiting,
    stop: CancellationToken,
) {
    let mut bell = bell.and_then(|bell| bell.listen().ok());
    let watching = async {
        loop {
            let rung = async {
                match &mut bell {
                    Some(bell) => Some(bell.rung().await),
                    None => {
                        tokio::time::sleep(limits::LOOK_PAUSE_WITHOUT_BELL).await;
                        None
                    }
                }
            };
            let rung = tokio::select! {
                rung = rung => rung,
                () = next(&mut wakes) => None,
            };
            match rung {
                Some(rung) => waiting.wake(|id| rung.iter().any(|rung| rung == id)),
                None => waiting.wake(|_| true),
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = watching => {}
    }
}

/// The next wake; never, if other machines cannot wake this process.
async fn next(wakes: &mut Option<Wakes>) {
    let changed = match wakes {
        Some(wakes) => wakes.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending().await
    }
}
