//! What a session does while its database is away: it says so, waits longer than a command does,
//! and stops waiting when it is interrupted.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hookwright_store::{Patience, PostgresStore, Reachability, Store, StoreLocation, limits};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::Failure;
use crate::screen::Screen;
use crate::state;

/// How long a session that was interrupted still waits: enough to connect again, if the database
/// is back at this moment.
const INTERRUPTED_WAIT: Duration = Duration::from_secs(2);

/// A session's store, and how long its calls wait if it may be away.
pub(crate) type StoreOfSession = (Arc<dyn Store>, Option<Patience>);

/// Opens the user's store for a session.
pub(crate) fn store_of_session() -> Result<StoreOfSession, Failure> {
    let location = state::location()?;
    let StoreLocation::Postgres(access) = &location else { return Ok((state::store()?, None)) };
    state::make_folder(&location)?;
    let store = PostgresStore::open(access).map_err(Failure::Store)?;
    let patience = store.patience().clone();
    patience.set_limit(limits::SESSION_AWAY_MAX);
    patience.listen(Box::new(tell));
    watch_interrupts(patience.clone());
    Ok((Arc::new(store), Some(patience)))
}

fn tell(change: Reachability) {
    Screen.talk(&match change {
        Reachability::Away { .. } => format!(
            "the store is unreachable; the session waits for it, at most {} minutes\n",
            limits::SESSION_AWAY_MAX.as_secs() / 60
        ),
        Reachability::Back { since } => {
            let seconds = since.elapsed().unwrap_or_default().as_secs();
            format!("the store is back after {seconds} s\n")
        }
    });
}

/// Stops waiting when this process is asked to end. It has a thread of its own, since the session's
/// thread may wait for the store.
fn watch_interrupts(patience: Patience) {
    let watch = async move {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            patience.set_limit(INTERRUPTED_WAIT);
            if patience.away_since().is_some() {
                Screen.talk("interrupted: no longer waiting for the store\n");
            }
        }
    };
    let run = move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(watch);
        }
    };
    // Without it, a second interrupt still ends the session at once.
    let _ = thread::Builder::new().name("interrupts".to_owned()).spawn(run);
}
