//! Finds the session whose hooks decide about a task.
//!
//! The session that works on the task comes first. Then the one in which the caller works,
//! according to the process tree, because the agent controls its own environment. A session that
//! was killed cannot run its hooks, and its agent, which may have outlived it, completes nothing.

use hookwright_events::SessionStatus;
use hookwright_events::{Task, TaskState};
use hookwright_pipeline::caller::SESSION;
use hookwright_pipeline::lease::LeaseOwner;
use hookwright_pipeline::record::AGENT_COMMAND;

use super::Tasks;
use crate::error::{Failure, TaskFailure};
use crate::known_session::{KnownSession, Query, Sessions};
use crate::screen::Screen;

/// Whose hooks decide.
pub(super) enum ToAsk {
    /// This running session.
    Session(Box<KnownSession>),
    /// A session that was killed; `resume` names the one to resume. `holds`: it works on the task.
    CutOff { session: String, resume: String, holds: bool },
    /// No session: the project's own hooks.
    NoSession,
}

impl Tasks {
    /// The session whose hooks decide about a task.
    pub(super) fn session_to_ask(&self, task: &Task, screen: &Screen) -> Result<ToAsk, Failure> {
        let sessions = self.sessions()?;
        if let Some(holder) = self.holder_of(task, &sessions)? {
            if holder.status == SessionStatus::CutOff {
                return cut_off(&sessions, &holder, true);
            }
            let is_unreachable =
                |process: &&LeaseOwner| !process.machine.is_this() && process.worker.is_none();
            if let Some(process) = holder.holder.as_ref().filter(is_unreachable) {
                let (session, host) = (holder.name().to_owned(), process.machine.host.clone());
                return Err(Failure::Task(TaskFailure::Elsewhere { id: task.id, session, host }));
            }
            if holder.runs() {
                return Ok(ToAsk::Session(Box::new(holder)));
            }
        }
        let named = self.named_sessions(&sessions);
        if let Some(killed) = named.iter().find(|session| session.status == SessionStatus::CutOff) {
            return cut_off(&sessions, killed, false);
        }
        let mut running = running(&sessions)?;
        if let Some(ours) = self.nearest(&mut running) {
            return Ok(ToAsk::Session(Box::new(ours)));
        }
        if let Some(ours) = named.into_iter().find(runs_here) {
            return Ok(ToAsk::Session(Box::new(ours)));
        }
        if self.caller.hides_its_run() {
            return Err(Failure::Task(TaskFailure::Hidden { id: task.id }));
        }
        // A child session is part of another session.
        running.retain(|session| session.record.parent.is_none());
        if running.len() > 1 {
            let names: Vec<&str> = running.iter().map(KnownSession::name).collect();
            let names = names.join(", ");
            screen.talk(&format!(
                "note: several sessions are running here ({names}), so no session's hooks run\n"
            ));
            return Ok(ToAsk::NoSession);
        }
        Ok(running.pop().map_or(ToAsk::NoSession, |only| ToAsk::Session(Box::new(only))))
    }

    /// The name of the running session in which the caller works.
    pub(crate) fn own_session(&self) -> Result<Option<String>, Failure> {
        let sessions = self.sessions()?;
        let ours = self.nearest(&mut running(&sessions)?);
        let ours = ours.or_else(|| self.named_sessions(&sessions).into_iter().find(runs_here));
        Ok(ours.map(|session| session.name().to_owned()))
    }

    /// Fails if the task belongs to another session: otherwise an agent could take the task and
    /// have its own session's hooks decide.
    pub(crate) fn check_that_state_may_change(&self, task: &Task) -> Result<(), Failure> {
        let sessions = self.sessions()?;
        let Some(holder) = self.holder_of(task, &sessions)?.filter(KnownSession::runs) else {
            return Ok(());
        };
        match self.nearest(&mut running(&sessions)?) {
            Some(_) if !self.is_below(&holder) => {
                let session = holder.name().to_owned();
                Err(Failure::Task(TaskFailure::Held { id: task.id, session }))
            }
            _ => Ok(()),
        }
    }

    fn sessions(&self) -> Result<Sessions, Failure> {
        Sessions::of_project(self.project.clone(), &self.options)
    }

    /// The session that works on a task, according to the list of tasks.
    fn holder_of(&self, task: &Task, sessions: &Sessions) -> Result<Option<KnownSession>, Failure> {
        let name = task.session.as_deref().filter(|_| task.state == TaskState::InProgress);
        let Some(name) = name else { return Ok(None) };
        match sessions.named(name) {
            Ok((_, session)) => Ok(Some(session)),
            // It was removed, or never existed.
            Err(Failure::Session(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Sessions that the environment of the caller or of its ancestors names.
    fn named_sessions(&self, sessions: &Sessions) -> Vec<KnownSession> {
        let own = std::env::var(SESSION).ok();
        let above = self.caller.named_sessions(&self.root);
        let names = own.into_iter().chain(above);
        let named = names.filter_map(|name| Some(sessions.named(&name).ok()?.1));
        named.filter(has_desk).collect()
    }

    /// The session whose process is the caller's nearest ancestor.
    fn nearest(&self, running: &mut Vec<KnownSession>) -> Option<KnownSession> {
        let distance = |session: &KnownSession| self.caller.distance_to(session.holder.as_ref()?);
        let nearest = running.iter().filter_map(distance).min()?;
        let is_near = |session: &KnownSession| distance(session) == Some(nearest);
        // One process runs a session and its children. The environment of its child process says
        // which.
        let name = self.caller.session_below(nearest);
        let is_named = |session: &KnownSession| Some(session.name()) == name.as_deref();
        let is_first = |session: &KnownSession| session.record.parent.is_none();
        let at = running
            .iter()
            .position(|session| is_near(session) && is_named(session))
            .or_else(|| running.iter().position(|it| is_near(it) && is_first(it)))
            .or_else(|| running.iter().position(is_near))?;
        Some(running.swap_remove(at))
    }

    fn is_below(&self, session: &KnownSession) -> bool {
        let holder = session.holder.as_ref();
        holder.is_some_and(|holder| self.caller.distance_to(holder).is_some())
    }
}

/// Sessions of the project that run on this machine.
fn running(sessions: &Sessions) -> Result<Vec<KnownSession>, Failure> {
    let active = Query { children: true, ..Query::with_statuses([SessionStatus::Active]) };
    let mut running = sessions.list(&active)?;
    running.retain(|session| runs_here(session) && has_desk(session));
    Ok(running)
}

/// Whether the session answers callers. One of the built-in agent does not: its hooks are the project's
/// own, which run without it.
fn has_desk(session: &KnownSession) -> bool {
    session.record.command != AGENT_COMMAND
}

fn runs_here(session: &KnownSession) -> bool {
    session.holder.as_ref().is_some_and(|holder| holder.machine.is_this())
}

fn cut_off(sessions: &Sessions, killed: &KnownSession, holds: bool) -> Result<ToAsk, Failure> {
    let origin = sessions.origin_of(killed)?;
    let resume = origin.as_ref().unwrap_or(killed).name().to_owned();
    Ok(ToAsk::CutOff { session: killed.name().to_owned(), resume, holds })
}
