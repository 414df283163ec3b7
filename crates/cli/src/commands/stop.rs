//! `hookwright stop`: ends a running session, so that it can be resumed.

use std::time::{Duration, Instant};

use clap::Args;
use hookwright_engine::ports::Clock;
use hookwright_events::SessionStatus;
use hookwright_pipeline::lease::{self, LeaseOwner};
use hookwright_pipeline::submission;
use hookwright_process::{Leader, Sent};
use hookwright_store::{Fence, Held, Store, Workers};
use serde_json::json;

use crate::error::{Failure, SessionFailure};
use crate::known_session::{ProjectOption, SessionChoice, Sessions};
use crate::screen::Screen;
use crate::store_time::StoreTime;
use crate::text::{one_line, visible};
use crate::{exit_code, span, state};

/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// The same for a session on another machine, which takes a question to the store.
const PAUSE_ELSEWHERE: Duration = Duration::from_millis(250);

/// Characters of a reason that are shown.
const REASON_CHARS_MAX: usize = 200;

/// End a running session, and wait for its end
///
/// Its agent is asked to end, the hooks at `user:interrupt`, `session:stop` and `session:end` run,
/// and the session can be resumed. It may run on any machine that shares the store. A session that
/// waits for a worker leaves the queue. Prints how the session ended. Exits with 1 if it is still
/// running when the time is over.
#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    /// The session: its name or id, or the beginning of one; optional if only one is running
    #[arg(value_name = "SESSION")]
    session: Option<String>,

    /// How long to wait, like 30s or 5m
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span::parse)]
    timeout: Duration,

    /// Do not wait for its last hooks: it exits at once, and can still be resumed
    #[arg(long)]
    now: bool,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn stop(arguments: &StopArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find(&arguments.project)?;
    let (store, session) = sessions.chosen(arguments.session.as_deref(), SessionChoice::Stop)?;
    let name = session.name().to_owned();
    if let Some(origin) = sessions.origin_of(&session)? {
        let is_completed = origin.status == SessionStatus::Completed;
        let origin = origin.name().to_owned();
        return Err(SessionFailure::OfHook { name, command: "stop", origin, is_completed }.into());
    }
    if session.status == SessionStatus::Queued {
        withdraw(store, &sessions.project, &name)?;
        tell(arguments, &sessions, &name, screen)?;
        return Ok(exit_code::GO_ON);
    }
    let lease = lease::name_of(&sessions.project, &name);
    let Some(holder) = lease::holder(store, &lease).map_err(Failure::Store)? else {
        return Err(SessionFailure::NotRunning { name, status: session.status }.into());
    };
    let running = SessionToStop { name: &name, lease: &lease, holder: &holder };
    running.ask(store, arguments.now)?;
    let (pid, at_most) = (holder.pid, arguments.timeout.as_secs_f64());
    let there = match holder.is_here() {
        true => String::new(),
        false => format!(" on machine {}", visible(&holder.machine.host)),
    };
    screen.talk(&format!(
        "waiting for process {pid}{there} to end session {name} (at most {at_most} s)\n"
    ));
    if !running.wait(arguments, store)? {
        return Err(SessionFailure::StillRuns { name, pid, waited: arguments.timeout }.into());
    }
    tell(arguments, &sessions, &name, screen)?;
    Ok(exit_code::GO_ON)
}

/// Takes a session out of the queue of workers.
fn withdraw(store: &dyn Store, project: &str, name: &str) -> Result<(), Failure> {
    let known = state::session(store, project, name)?;
    let known = known.ok_or_else(|| SessionFailure::Unknown { name: name.to_owned() })?;
    match submission::withdraw(store, &known, StoreTime.now()).map_err(Failure::Store)? {
        true => Ok(()),
        // A worker took it at this moment.
        false => Err(SessionFailure::TakenByWorker { name: name.to_owned() }.into()),
    }
}

/// A session, and the process that runs it.
struct SessionToStop<'a> {
    name: &'a str,
    lease: &'a str,
    holder: &'a LeaseOwner,
}

impl SessionToStop<'_> {
    /// Asks the process to end the session, wherever it runs.
    fn ask(&self, store: &dyn Store, exits_at_once: bool) -> Result<(), Failure> {
        match (self.holder.is_here(), store.workers()) {
            (true, _) => self.signal(),
            (false, Some(workers)) if self.holder.worker.is_some() => {
                // A second request makes it exit at once, as a second signal does.
                let times = if exits_at_once { 2 } else { 1 };
                (0..times).try_for_each(|_| self.ask_worker(store, &*workers))
            }
            (false, _) => {
                let (name, host) = (self.name.to_owned(), self.holder.machine.host.clone());
                let (pid, is_worker) = (self.holder.pid, false);
                Err(SessionFailure::Elsewhere { name, pid, host, is_worker }.into())
            }
        }
    }

    /// Sends a signal to this very process, never to another with the same id.
    fn signal(&self) -> Result<(), Failure> {
        let leader = Leader { pid: self.holder.pid };
        match self.holder.start_time.map(|start_time| leader.terminate(start_time)) {
            Some(Sent::Delivered | Sent::Gone) => Ok(()),
            Some(Sent::Refused) | None => {
                let (name, pid) = (self.name.to_owned(), self.holder.pid);
                Err(SessionFailure::OfOthers { name, pid }.into())
            }
        }
    }

    /// Asks through the store, as long as this process holds the lease.
    fn ask_worker(&self, store: &dyn Store, workers: &dyn Workers) -> Result<(), Failure> {
        let held = store.holder(self.lease).map_err(Failure::Store)?;
        let is_its = |held: &Held| {
            serde_json::from_str::<LeaseOwner>(&held.holder)
                .is_ok_and(|owner| owner == *self.holder)
        };
        if let Some(held) = held.filter(is_its) {
            let fence = Fence { lease: self.lease.to_owned(), token: held.token };
            // If it holds the lease no longer, the session has ended.
            workers.ask_to_stop(&fence).map_err(Failure::Store)?;
        }
        Ok(())
    }

    /// Waits until this process no longer runs the session; returns whether that happened in time.
    fn wait(&self, arguments: &StopArguments, store: &dyn Store) -> Result<bool, Failure> {
        let began = Instant::now();
        let is_here = self.holder.is_here();
        let pause = if is_here { PAUSE } else { PAUSE_ELSEWHERE };
        loop {
            let holder = lease::holder(store, self.lease).map_err(Failure::Store)?;
            if holder.as_ref() != Some(self.holder) {
                return Ok(true);
            }
            let left = arguments.timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(pause.min(left));
            if arguments.now && is_here {
                // A process may receive two quick signals as one, so repeat until it exits.
                self.signal()?;
            }
        }
    }
}

/// Prints how the session ended.
fn tell(
    arguments: &StopArguments,
    sessions: &Sessions,
    name: &str,
    screen: &Screen,
) -> Result<(), Failure> {
    let (_, mut session) = sessions.named(name)?;
    if arguments.json {
        sessions.read_issues(std::slice::from_mut(&mut session))?;
        return screen.json(&json!({ "version": 1, "session": session.json() }));
    }
    let name = visible(session.name());
    let reason = match session.record.reason.as_str() {
        reason if reason.is_empty() || reason == session.status.as_str() => String::new(),
        reason => format!(" ({})", one_line(reason, REASON_CHARS_MAX)),
    };
    screen.result(&format!("session {name}: {}{reason}\n", session.status.in_words()))?;
    if let Some(command) = session.resume_command() {
        screen.talk(&format!("resume with: {}\n", visible(&command)));
    }
    Ok(())
}
