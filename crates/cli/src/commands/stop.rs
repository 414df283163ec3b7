//! `hookwright stop`: ends a running session, so that it can be resumed.

use std::time::{Duration, Instant};

use clap::Args;
use hookwright_events::SessionStatus;
use hookwright_pipeline::lease::{self, LeaseOwner};
use hookwright_pipeline::submission;
use hookwright_process::{Leader, Sent};
use hookwright_server::approvals::{iso, now_ms};
use hookwright_store::Store;
use serde_json::json;

use crate::error::{Failure, SessionFailure};
use crate::known_session::{ProjectOption, SessionChoice, Sessions};
use crate::screen::Screen;
use crate::text::{one_line, visible};
use crate::{exit_code, span, state};

/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// Characters of a reason that are shown.
const REASON_CHARS_MAX: usize = 200;

/// End a running session, and wait for its end
///
/// Its agent is asked to end, the hooks at `user:interrupt`, `session:stop` and `session:end` run,
/// and the session can be resumed. A session that waits for a worker leaves the queue. Prints how the session ended. Exits with 1 if it is still
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
    if !holder.machine.is_this() {
        let (pid, host, is_worker) = (holder.pid, holder.machine.host, holder.worker.is_some());
        return Err(SessionFailure::Elsewhere { name, pid, host, is_worker }.into());
    }
    ask(&holder, &name)?;
    let (pid, at_most) = (holder.pid, arguments.timeout.as_secs_f64());
    screen
        .talk(&format!("waiting for process {pid} to end session {name} (at most {at_most} s)\n"));
    if !wait(arguments, store, &lease, &holder, &name)? {
        return Err(SessionFailure::StillRuns { name, pid, waited: arguments.timeout }.into());
    }
    tell(arguments, &sessions, &name, screen)?;
    Ok(exit_code::GO_ON)
}

/// Takes a session out of the queue of workers.
fn withdraw(store: &dyn Store, project: &str, name: &str) -> Result<(), Failure> {
    let known = state::session(store, project, name)?;
    let known = known.ok_or_else(|| SessionFailure::Unknown { name: name.to_owned() })?;
    match submission::withdraw(store, &known, iso(now_ms())).map_err(Failure::Store)? {
        true => Ok(()),
        // A worker took it at this moment.
        false => Err(SessionFailure::TakenByWorker { name: name.to_owned() }.into()),
    }
}

/// Sends a signal to this very process, never to another with the same id.
fn ask(holder: &LeaseOwner, name: &str) -> Result<(), Failure> {
    let leader = Leader { pid: holder.pid };
    match holder.start_time.map(|start_time| leader.terminate(start_time)) {
        Some(Sent::Delivered | Sent::Gone) => Ok(()),
        Some(Sent::Refused) | None => {
            Err(SessionFailure::OfOthers { name: name.to_owned(), pid: holder.pid }.into())
        }
    }
}

/// Waits until this process no longer runs the session; returns whether that happened in time.
fn wait(
    arguments: &StopArguments,
    store: &dyn Store,
    lease: &str,
    holder: &LeaseOwner,
    name: &str,
) -> Result<bool, Failure> {
    let began = Instant::now();
    loop {
        if lease::holder(store, lease).map_err(Failure::Store)?.as_ref() != Some(holder) {
            return Ok(true);
        }
        let left = arguments.timeout.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(false);
        }
        std::thread::sleep(PAUSE.min(left));
        if arguments.now {
            // A process may receive two quick signals as one, so repeat until it exits.
            ask(holder, name)?;
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
