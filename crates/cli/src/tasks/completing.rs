//! Completes a task: with the hooks of the running session, or, if there is none, with the
//! project's own hooks, as `fire` would run them (`own_hooks.rs`).

use std::time::Instant;

use hookwright_engine::{CHAIN_VARIABLE, Chain};
use hookwright_events::{Task, TaskId, TaskState};
use hookwright_pipeline::desk::{self, DeskAnswer, DeskReply, DeskRequest, Desks};
use hookwright_pipeline::limits::{DESK_OPEN_TIMEOUT, LONG_WAIT, TASK_PAUSE};
use hookwright_pipeline::task_lease::{Look, TaskLease};
use hookwright_store::{Fence, KeptTasks};
use serde_json::json;

use super::session_to_ask::ToAsk;
use super::{Tasks, own_hooks, task_failure};
use crate::error::{Failure, TaskFailure};
use crate::known_session::KnownSession;
use crate::screen::Screen;
use crate::state;
use crate::text::visible;

/// Result of completing a task.
#[derive(Debug)]
pub(crate) enum Completed {
    /// Completed, with messages of its hooks for the agent that did the work.
    Done { said: Vec<String> },
    /// It was already completed.
    Already,
    /// A hook of its own completion tries to complete it.
    Underway,
    /// A hook blocked it.
    Blocked { reason: String },
    /// The user interrupted it.
    Interrupted,
}

/// Completes a task.
pub(crate) fn complete(tasks: &Tasks, id: TaskId, screen: &Screen) -> Result<Completed, Failure> {
    let kept = tasks.kept(&id.to_string())?;
    let chain = std::env::var(CHAIN_VARIABLE).map(|text| Chain::from_text(&text));
    let chain = chain.unwrap_or_default();
    let began = Instant::now();
    let (mut asked, mut is_told) = (None, false);
    loop {
        let task = kept.get(&id.to_string()).map_err(task_failure)?.task;
        let state = task.state;
        if state == TaskState::Completed {
            let said = Vec::new();
            return Ok(asked.map_or(Completed::Already, |_| Completed::Done { said }));
        }
        let session = match tasks.session_to_ask(&task, screen) {
            // The session may have begun, and continues with it when it is resumed.
            Ok(ToAsk::NoSession | ToAsk::CutOff { .. }) if asked.is_some() => {
                let session = asked.unwrap_or_default();
                return Err(Failure::Task(TaskFailure::NoAnswer { id, state, session }));
            }
            Ok(ToAsk::NoSession) => break,
            Ok(ToAsk::CutOff { session, resume, holds }) => {
                let failure = TaskFailure::SessionCutOff { id, state, session, resume, holds };
                return Err(Failure::Task(failure));
            }
            Ok(ToAsk::Session(session)) => session,
            Err(failure) => return Err(failure),
        };
        if began.elapsed() >= DESK_OPEN_TIMEOUT {
            return Err(Failure::Task(match asked {
                Some(session) => TaskFailure::NoAnswer { id, state, session },
                None => TaskFailure::NoDesk { id, state, session: session.name().to_owned() },
            }));
        }
        match at_the_desk(kept, &task, &session, &chain, screen)? {
            DeskReply::Answered(DeskAnswer::Closed) => break,
            DeskReply::Answered(answer) => return answered(answer, id, &session, screen),
            DeskReply::NoAnswer => asked = Some(session.name().to_owned()),
            DeskReply::NoDesk | DeskReply::Deserted => {
                if began.elapsed() > LONG_WAIT && !std::mem::replace(&mut is_told, true) {
                    let name = session.name();
                    let why = match is_here(&session) {
                        true => "its socket is missing",
                        false => "another machine takes it over",
                    };
                    screen.talk(&format!("waiting for session {name}: {why}\n"));
                }
            }
        }
        // The lease of a killed process becomes free a moment after its socket closes, and a
        // session whose socket was removed opens it again.
        std::thread::sleep(TASK_PAUSE);
    }
    by_ourselves(tasks, kept, id, chain, screen)
}

/// Whether this machine runs the session, if any does.
fn is_here(session: &KnownSession) -> bool {
    session.holder.as_ref().is_none_or(|holder| holder.machine.is_this())
}

fn at_the_desk(
    kept: &KeptTasks,
    task: &Task,
    session: &KnownSession,
    chain: &Chain,
    screen: &Screen,
) -> Result<DeskReply, Failure> {
    let name = session.name();
    let request = DeskRequest {
        version: hookwright_events::run_event::VERSION,
        project: kept.project().to_owned(),
        session: name.to_owned(),
        complete_task: task.id,
        chain: chain.clone(),
    };
    let mut waits = || screen.talk(&format!("waiting for the hooks of session {name}\n"));
    let reply = match is_here(session) {
        true => {
            let pid = session.holder.as_ref().map_or(0, |holder| holder.pid);
            state::desks()?.ask(pid, &request, &mut waits)
        }
        false => desk::ask_through_store(kept.store(), &request, &mut waits),
    };
    reply.map_err(|error| Failure::Task(TaskFailure::Desk(error)))
}

fn answered(
    answer: DeskAnswer,
    id: TaskId,
    session: &KnownSession,
    screen: &Screen,
) -> Result<Completed, Failure> {
    let tell = |messages: Vec<String>| {
        messages.iter().for_each(|message| screen.talk(&format!("{}\n", visible(message))));
    };
    match answer {
        DeskAnswer::Completed { messages } => {
            tell(messages);
            Ok(Completed::Done { said: Vec::new() })
        }
        DeskAnswer::Blocked { reason, messages } => {
            tell(messages);
            Ok(Completed::Blocked { reason })
        }
        DeskAnswer::Already => Ok(Completed::Already),
        DeskAnswer::Underway => Ok(Completed::Underway),
        DeskAnswer::Failed { reason } => {
            let session = session.name().to_owned();
            Err(Failure::Task(TaskFailure::NotCompleted { id, session, reason }))
        }
        DeskAnswer::Closed => unreachable!("the loop above takes a closed desk"),
    }
}

/// Without a session: the lease keeps other processes from completing it meanwhile.
fn by_ourselves(
    tasks: &Tasks,
    kept: &KeptTasks,
    id: TaskId,
    chain: Chain,
    screen: &Screen,
) -> Result<Completed, Failure> {
    let lease = TaskLease::new(kept, id);
    let Some(fence) = leased(&lease, id, &chain, screen)? else { return Ok(Completed::Underway) };
    let task = kept.get(&id.to_string()).map_err(task_failure)?.task;
    let completed = if task.state == TaskState::Completed {
        Ok(Completed::Already)
    } else {
        own_hooks::complete(tasks, kept, &task, chain, screen)
    };
    lease.give_back(&fence);
    completed
}

/// Waits for the task's lease; `None` if one of our own hooks above may hold it.
fn leased(
    lease: &TaskLease,
    id: TaskId,
    chain: &Chain,
    screen: &Screen,
) -> Result<Option<Fence>, Failure> {
    let mut is_told = false;
    loop {
        match lease.look(chain).map_err(Failure::Store)? {
            Look::Ours(fence) => return Ok(Some(fence)),
            Look::Underway => return Ok(None),
            Look::Busy { pid } => return Err(Failure::Task(TaskFailure::Busy { id, pid })),
            Look::Theirs { pid, waited } => {
                if waited > LONG_WAIT && !std::mem::replace(&mut is_told, true) {
                    screen.talk(&format!("waiting for process {pid}, which is completing {id}\n"));
                }
                std::thread::sleep(TASK_PAUSE);
            }
        }
    }
}

/// The result as JSON.
pub(crate) fn as_json(task: &Task, completed: &Completed) -> serde_json::Value {
    let (outcome, reason, said) = match completed {
        Completed::Done { said } => ("completed", None, said.as_slice()),
        Completed::Already => ("already_completed", None, &[] as &[String]),
        Completed::Underway => ("underway", None, &[] as &[String]),
        Completed::Blocked { reason } => ("blocked", Some(reason), &[] as &[String]),
        Completed::Interrupted => ("interrupted", None, &[] as &[String]),
    };
    json!({
        "version": 1,
        "outcome": outcome,
        "reason": reason,
        "output": said,
        "task": super::TaskJson { task, list: None },
    })
}
