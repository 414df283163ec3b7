//! Leaders whose run was dropped: killed, but not yet reaped.
//!
//! A killed process takes a moment to end and a drop cannot wait. One thread, started for the first
//! leader and ended after the last, kills what their trees still start and reaps them. A process
//! that cannot be killed within [`WAIT_MAX`] is tried again whenever another run is dropped.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::reach::Reach;
use crate::running;
use crate::spawn::ChildProcess;

/// How long a killed tree may take to end.
const WAIT_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

static ABANDONED: Mutex<Abandoned> =
    Mutex::new(Abandoned { waiting: Vec::new(), given_up: Vec::new(), thread_runs: false });

struct Abandoned {
    waiting: Vec<Dropped>,
    given_up: Vec<Dropped>,
    thread_runs: bool,
}

struct Dropped {
    child: ChildProcess,
    run_id: String,
    until: Instant,
}

/// Takes over a killed leader: reaps it, and ends all processes left of its run.
pub(crate) fn hand_over(child: ChildProcess, run_id: String) {
    let until = Instant::now() + WAIT_MAX;
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    abandoned.given_up.retain_mut(|dropped| matches!(running::collect(&dropped.child), Ok(None)));
    abandoned.waiting.push(Dropped { child, run_id, until });
    if !abandoned.thread_runs {
        let thread = std::thread::Builder::new().name("hookwright-collect".to_owned());
        // Without a thread the next drop tries again.
        abandoned.thread_runs = thread.spawn(collect_all).is_ok();
    }
}

fn collect_all() {
    loop {
        {
            let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
            let (waiting, given_up): (Vec<_>, Vec<_>) = std::mem::take(&mut abandoned.waiting)
                .into_iter()
                .filter_map(Dropped::end)
                .partition(|dropped| Instant::now() < dropped.until);
            abandoned.waiting = waiting;
            abandoned.given_up.extend(given_up);
            if abandoned.waiting.is_empty() {
                abandoned.thread_runs = false;
                return;
            }
        }
        std::thread::sleep(PAUSE);
    }
}

impl Dropped {
    /// Kills what is left of its run. If nothing is, reaps the leader.
    fn end(self) -> Option<Self> {
        let mut reach = Reach::new(&[(self.child.id(), &self.run_id)]);
        reach.kill_now();
        if reach.any_left() || matches!(running::collect(&self.child), Ok(None)) {
            return Some(self);
        }
        None
    }
}
