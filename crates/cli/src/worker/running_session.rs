//! The process of a session, from the inside: it continues the session as `resume` does, obeys its
//! worker, and ends with it. If the worker stalls, a watchdog gives the orders.

use std::io::{BufRead, stdin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hookwright_pipeline::heart::Watchdog;
use hookwright_pipeline::leftovers;
use hookwright_pipeline::orders::{Order, Orders};
use hookwright_process::{end_run, faults, kill_everything_now};
use hookwright_store::{Fence, Patience, WorkerId};

use super::session_process::{BeatTimes, MessageLine, SessionAssignment};
use crate::carried_session::TakenWork;
use crate::config_files::{ConfigOptions, process_environment};
use crate::error::{Failure, SessionFailure, WorkerFailure};
use crate::hook_switches::HookSwitches;
use crate::interrupts::exit_now;
use crate::membership::{Membership, obey_at_once};
use crate::resumption::{Resumption, record_of};
use crate::runner::ProjectRunner;
use crate::screen::Screen;
use crate::session_options::{OutputOptions, SessionOptions};
use crate::talk_thread::TalkThread;
use crate::{absence, exit_code, program_file, state};

/// The mark of everything that the session with this token starts. A store uses a token once, but
/// another store may have the same.
pub(super) fn marker(worker: WorkerId, token: u64) -> String {
    format!("held-{worker}-{token}")
}

/// Runs the session that the worker assigns on standard input.
pub(crate) fn run_assigned(screen: &Screen) -> Result<u8, Failure> {
    program_file::name_this_process();
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    // The worker found no session for this process, or has ended.
    let Some(assignment) = read.ok().and_then(|_| serde_json::from_str(&line).ok()) else {
        return Ok(exit_code::GO_ON);
    };
    let SessionAssignment { project, session, root, lease, token, worker, setup, beats } =
        assignment;
    let marker = marker(worker, token);
    let patience: Arc<OnceLock<Option<Patience>>> = Arc::default();
    let no_wait = {
        let patience = Arc::clone(&patience);
        move || {
            let patience = patience.get().into_iter().flatten();
            patience.for_each(|patience| patience.set_limit(Duration::ZERO));
        }
    };
    let talk = TalkThread::start();
    let telling = talk.clone();
    let orders = Orders::telling(move |message| obey_at_once(message, &no_wait, &telling));
    let watchdog = beats.map(|beats| watchdog(beats, &orders)).transpose()?;
    obey(orders.clone(), marker.clone(), watchdog);
    let options = ConfigOptions {
        config: Vec::new(),
        dialect: None,
        cwd: Some(root),
        no_global_hooks: false,
    };
    let mut place = ProjectRunner::find(&options)?;
    let store = absence::open_patiently(|| place.open_store(), &orders)?;
    let _ = patience.set(place.patience());
    if let Some(workers) = store.workers() {
        workers.act_as(worker);
    }
    let marker = format!("{}:{marker}", leftovers::marker_of(worker));
    let membership = Membership::of_session_process(orders, marker, talk);
    // Also of git and of what sets the work tree up.
    let environment = membership.marked(process_environment());
    place.work_for(membership);
    let unknown = || SessionFailure::Unknown { name: session.clone() };
    let known = state::session(&*store, &project, &session)?.ok_or_else(unknown)?;
    let (record, fence) = (record_of(&known), Fence { lease, token });
    let secrets = place.found.secrets().map_err(|faults| WorkerFailure::Secrets { faults })?;
    let root = place.found.project_root.clone();
    let setup = setup.as_deref();
    let work = TakenWork::take(&root, &environment, &store, &record, &fence, &secrets, setup)?;
    place.work_in(&work);
    let submission = record.submission.unwrap_or_default();
    let how = SessionOptions {
        shown: OutputOptions { json: false, agent_output: false, plain: true },
        max_cost: submission.max_cost,
        switches: HookSwitches { skip: Vec::new(), no_hooks: false },
        options,
    };
    let resumption = Resumption {
        store,
        fence,
        known,
        reload: false,
        skip_gates: submission.skip_gates,
        worker: Some(worker.to_string()),
    };
    let ended = resumption.run(&place, &how, screen);
    faults::point("work tree is removed");
    work.remove();
    faults::point("work tree removed");
    ended
}

/// Watches a worker with these beats.
fn watchdog(beats: BeatTimes, orders: &Orders) -> Result<Watchdog, Failure> {
    let BeatTimes { interval_ms, last_ms } = beats;
    let [interval, last_beat] = [interval_ms, last_ms].map(Duration::from_millis);
    absence::beats_every(interval);
    let started = Watchdog::start(interval, last_beat, orders.clone());
    started.map_err(|cause| Failure::NoRuntime { cause })
}

/// Reads the worker's messages on a thread of their own: the session's thread may be busy.
fn obey(orders: Orders, marker: String, watchdog: Option<Watchdog>) {
    let read = move || {
        for line in stdin().lock().lines() {
            let Ok(line) = line else { break };
            // A newer worker may say something that this process does not know.
            if let Ok(message) = serde_json::from_str::<MessageLine>(&line) {
                message.pass_on(&orders, watchdog.as_ref());
            }
        }
        orders.give(Order::Kill, "the worker has ended");
        end_at_once(&marker);
    };
    if std::thread::Builder::new().name("hookwright-orders".to_owned()).spawn(read).is_err() {
        exit_now(exit_code::OUR_FAULT);
    }
}

/// The worker is gone: kills all agents and hooks, and ends. The session may record nothing more, as
/// it has been told first.
fn end_at_once(marker: &str) -> ! {
    kill_everything_now();
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
        runtime.block_on(end_run(marker, Duration::ZERO));
    }
    exit_now(exit_code::INTERRUPTED)
}
