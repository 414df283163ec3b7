//! What a session does while its database is away: it says so, waits longer than a command does,
//! and stops waiting when it is interrupted.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hookwright_pipeline::limits::END_AFTER;
use hookwright_pipeline::orders::{Order, Orders};
use hookwright_store::{Patience, PostgresStore, Reachability, Store, StoreError, StoreLocation};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::Failure;
use crate::screen::Screen;
use crate::state;
use crate::store_time;
use crate::text::count;

/// How long a session that was interrupted still waits: enough to connect again, if the database
/// is back at this moment.
const INTERRUPTED_WAIT: Duration = Duration::from_secs(2);

/// Pause between two attempts to open the store of a session that a worker has taken.
const OPEN_PAUSE: Duration = Duration::from_secs(1);

/// Where lines about the store are printed; `None` is standard error.
static SPEAKER: Mutex<Option<Speaker>> = Mutex::new(None);

/// After how long without its store this process ends its agents, if it is a worker or belongs to one.
static AGENTS_END_AFTER: OnceLock<Duration> = OnceLock::new();

type Speaker = Box<dyn Fn(&str) + Send>;

/// While this exists, lines about the store are printed by someone else.
pub(crate) struct Speaking(());

/// Lets this print lines about the store, because it draws on the terminal.
pub(crate) fn speak_through(speaker: Speaker) -> Speaking {
    *lock(&SPEAKER) = Some(speaker);
    Speaking(())
}

impl Drop for Speaking {
    fn drop(&mut self) {
        *lock(&SPEAKER) = None;
    }
}

/// Beats of this process, or of its worker, keep its agents running. That ends earlier than the wait
/// for the store.
pub(crate) fn beats_every(interval: Duration) {
    let _ = AGENTS_END_AFTER.set(interval * END_AFTER);
}

/// A session's store, and how long its calls wait if it may be away.
pub(crate) type StoreOfSession = (Arc<dyn Store>, Option<Patience>);

/// Opens the user's store for a session.
pub(crate) fn store_of_session() -> Result<StoreOfSession, Failure> {
    let location = state::location()?;
    let StoreLocation::Postgres(access) = &location else { return Ok((state::store()?, None)) };
    state::make_folder(&location)?;
    let store = PostgresStore::open(access).map_err(Failure::Store)?;
    let (patience, limit) = (store.patience().clone(), access.session_away_max);
    patience.set_limit(limit);
    let told = patience.clone();
    patience.listen(Box::new(move |change| tell(change, limit, &told)));
    watch_interrupts(patience.clone());
    let store: Arc<dyn Store> = Arc::new(store);
    store_time::follow(&store);
    Ok((store, Some(patience)))
}

/// Opens the store of a session that a worker has taken: the store was there a moment ago, so this
/// waits as long as the session's calls do, unless the session has to end.
pub(crate) fn open_patiently<T>(
    open: impl Fn() -> Result<T, Failure>,
    orders: &Orders,
) -> Result<T, Failure> {
    let limit = match state::location()? {
        StoreLocation::Postgres(access) => access.session_away_max,
        StoreLocation::Folder(_) => Duration::ZERO,
    };
    let began = Instant::now();
    loop {
        match open() {
            Err(Failure::Store(StoreError::Away { .. }))
                if began.elapsed() < limit && orders.current().order < Order::End =>
            {
                thread::sleep(OPEN_PAUSE);
            }
            opened => return opened,
        }
    }
}

fn tell(change: Reachability, limit: Duration, patience: &Patience) {
    say(&match change {
        Reachability::Away { since } => {
            let most = AGENTS_END_AFTER.get().map_or(limit, |agents_end| limit.min(*agents_end));
            let (since, most) = (time_of_day(since), in_words(most));
            format!(
                "the store has been unreachable since {since}; the session waits at most {most}\n"
            )
        }
        Reachability::Back { since } => {
            let seconds = since.elapsed().unwrap_or_default().as_secs();
            format!("the store is back after {seconds} s\n")
        }
        Reachability::GivenUp { .. } => {
            // What the session still calls while it ends must not wait again.
            patience.set_limit(Duration::ZERO);
            "no longer waiting for the store; the session ends its agent and is cut off\n"
                .to_owned()
        }
    });
}

fn say(text: &str) {
    match &*lock(&SPEAKER) {
        Some(speaker) => speaker(text),
        None => Screen.talk(text),
    }
}

/// The local time, without the date.
fn time_of_day(time: SystemTime) -> String {
    let zoned = jiff::Timestamp::try_from(time).map(|it| it.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map(|time| time.strftime("%H:%M:%S").to_string()).unwrap_or_default()
}

fn in_words(limit: Duration) -> String {
    let seconds = usize::try_from(limit.as_secs()).unwrap_or(usize::MAX);
    match (seconds / 60, seconds % 60) {
        (0, seconds) => count(seconds, "second"),
        (minutes, 0) => count(minutes, "minute"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
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
                say("interrupted: no longer waiting for the store\n");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_to_the_second() {
        for (seconds, words) in [
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (119, "1 min 59 s"),
            (140, "2 min 20 s"),
            (900, "15 minutes"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }
}
