//! [`SessionWait`]: what a session is waiting for, from its record, its journal, the questions to
//! people and the locks.

use std::collections::{BTreeMap, BTreeSet};

use hookwright_events::{EventName, PauseCause, RunEvent, SessionStatus, TaskId, Wait};
use hookwright_pipeline::lease;
use hookwright_pipeline::record::milliseconds;
use hookwright_pipeline::session_state::{RunningHook, WorkingAgent};
use hookwright_server::approvals::iso;
use hookwright_store::Store;
use serde_json::{Value, json};

use crate::error::{ApprovalFailure, Failure};
use crate::known_session::{KnownSession, Query, Sessions};
use crate::store_time;
use crate::view::model::ViewModel;
use crate::{approvals, state};

/// Entries at the end of a journal that are searched for running hooks and agents. A hook that
/// started earlier is not found.
const ENTRIES_READ_MAX: u64 = 1_000;

/// Entries per read: one may hold a hook's whole output.
const ENTRIES_AT_ONCE: usize = 250;

/// What a session is waiting for. Times are in milliseconds since 1970.
#[derive(Debug)]
pub(crate) enum SessionWait {
    /// A person's answer.
    Answer(Box<Wait>),
    /// A hook that runs, or that is retried later.
    Hook(RunningHook),
    /// The working agent.
    Agent(WorkingAgent),
    /// A time, or a person, while nothing runs.
    Pause { cause: Option<PauseCause>, reason: String, until_ms: Option<i64> },
    /// Another process that has locked the task which the session wants to complete.
    TaskLock { task: TaskId, pid: u32 },
}

/// What sessions are waiting for: by the name of the session that a person started, each with the
/// name of the session that waits.
pub(crate) type SessionWaits = BTreeMap<String, Vec<(String, SessionWait)>>;

/// What the sessions of this project are waiting for. For sessions that are not running only
/// questions count: their answers are kept until the session is resumed.
pub(crate) fn of_project(sessions: &Sessions) -> Result<SessionWaits, Failure> {
    let Some(store) = sessions.store.as_deref() else { return Ok(SessionWaits::new()) };
    let query = Query { children: true, ..Query::with_statuses([SessionStatus::Active]) };
    let running = sessions.list(&query)?;
    let mut all = SessionWaits::new();
    let questions = questions(&sessions.project)?;
    for session in running.iter().rev() {
        let name = session.name().to_owned();
        let asked: BTreeSet<&str> = questions
            .iter()
            .filter(|wait| wait.session.as_deref() == Some(&name))
            .map(|wait| wait.hook.as_str())
            .collect();
        let waits = of_session(store, session, &asked)?;
        let of = all.entry(sessions.root_of(session)?).or_default();
        of.extend(waits.into_iter().map(|wait| (name.clone(), wait)));
    }
    for wait in questions {
        let Some(name) = wait.session.clone() else { continue };
        // A deleted session leaves its questions behind.
        let Ok((_, session)) = sessions.named(&name) else { continue };
        let of = all.entry(sessions.root_of(&session)?).or_default();
        of.push((name, SessionWait::Answer(Box::new(wait))));
    }
    all.values_mut().for_each(|waits| waits.sort_by_key(|(_, wait)| wait.rank()));
    Ok(all)
}

/// The open questions of this project, oldest first.
fn questions(project: &str) -> Result<Vec<Wait>, Failure> {
    let Some(store) = state::existing_store()? else { return Ok(Vec::new()) };
    let waiting = approvals::kept_waits(store).waiting(store_time::now_ms());
    let mut waiting = waiting.map_err(|error| Failure::Approval(ApprovalFailure::Wait(error)))?;
    waiting.retain(|wait| wait.project == project);
    Ok(waiting)
}

/// What a running session waits for, apart from people's answers. Hooks that ask these are left
/// out.
fn of_session(
    store: &dyn Store,
    session: &KnownSession,
    asked_by: &BTreeSet<&str>,
) -> Result<Vec<SessionWait>, Failure> {
    let record = &session.record;
    if let Some(pause) = &record.pause {
        let until_ms = pause.until.as_deref().and_then(milliseconds);
        let reason = pause.reason.clone();
        return Ok(vec![SessionWait::Pause { cause: pause.cause, reason, until_ms }]);
    }
    let model = now(store, session)?;
    // The task is completed right after this event, before the next one.
    let completes = model.state.last_event() == Some(&EventName::EXECUTION_PRE_END);
    let (agent, task) = (model.agent(), model.state.task());
    let hooks = model.state.hooks.into_iter().filter(|hook| !asked_by.contains(hook.id.as_str()));
    let mut waits: Vec<SessionWait> = hooks.map(SessionWait::Hook).collect();
    waits.extend(agent.map(SessionWait::Agent));
    if let Some(task) = task.filter(|_| completes && waits.is_empty() && asked_by.is_empty()) {
        let lock = lease::name_of_task(record.project(), task);
        let holder = lease::holder(store, &lock).map_err(Failure::Store)?;
        let own = session.holder.as_ref().map(|holder| holder.pid);
        let other = holder.filter(|holder| Some(holder.pid) != own);
        waits.extend(other.map(|holder| SessionWait::TaskLock { task, pid: holder.pid }));
    }
    Ok(waits)
}

/// The current state of a session, from the end of its journal.
fn now(store: &dyn Store, session: &KnownSession) -> Result<ViewModel, Failure> {
    let record = &session.record;
    let stages = record.stages.iter().map(|stage| (stage.clone(), record.provider.clone()));
    let mut model = ViewModel::new(session.name(), &record.plan, stages.collect());
    let journal = session.journal();
    let last = store.last(&journal).map_err(Failure::Store)?;
    let mut after = last.saturating_sub(ENTRIES_READ_MAX);
    while after < last {
        let entries = store.journal(&journal, after, ENTRIES_AT_ONCE).map_err(Failure::Store)?;
        let Some(end) = entries.last() else { break };
        after = end.sequence;
        for entry in &entries {
            // Entries of a newer version are skipped.
            if let Ok(event) = RunEvent::from_json(&entry.value) {
                model.see(&event);
            }
        }
    }
    Ok(model)
}

impl SessionWait {
    /// SessionWaits that a person can act on come first, background hooks last.
    fn rank(&self) -> u8 {
        match self {
            SessionWait::Answer(_) => 0,
            SessionWait::Pause { .. } | SessionWait::TaskLock { .. } => 1,
            SessionWait::Hook(hook) if hook.awaited => 2,
            SessionWait::Agent(_) => 3,
            SessionWait::Hook(_) => 4,
        }
    }

    /// The wait as JSON, with the name of its session.
    pub(crate) fn json(&self, session: &str) -> Value {
        match self {
            SessionWait::Answer(wait) => json!({
                "kind": "approval",
                "session": session,
                "id": wait.id,
                "hook": wait.hook,
                "event": wait.event,
                "question": wait.question,
                "since": iso(wait.since_ms),
                "until": iso(wait.until_ms),
                "commands": answers(wait),
            }),
            SessionWait::Hook(hook) => json!({
                "kind": "hook",
                "session": session,
                "hook": hook.id,
                "event": hook.event,
                "since": iso(hook.since_ms()),
                "attempt": hook.attempt,
                "background": !hook.awaited,
                "retryAt": hook.retry.as_ref().map(|retry| iso(retry.at_ms())),
                "retryReason": hook.retry.as_ref().map(|retry| &retry.reason),
                "child": hook.child,
            }),
            SessionWait::Agent(agent) => json!({
                "kind": "agent",
                "session": session,
                "agent": agent.name,
                "since": iso(agent.since_ms()),
                "attempt": agent.attempt,
                "pid": agent.pid,
            }),
            SessionWait::Pause { cause, reason, until_ms } => json!({
                "kind": "pause",
                "session": session,
                "cause": cause,
                "reason": reason,
                "until": until_ms.map(iso),
            }),
            SessionWait::TaskLock { task, pid } => json!({
                "kind": "lock",
                "session": session,
                "task": task.to_string(),
                "pid": pid,
            }),
        }
    }
}

/// The commands that answer a question.
pub(crate) fn answers(wait: &Wait) -> [String; 2] {
    let id = &wait.id;
    [format!("hookwright approve {id}"), format!("hookwright reject {id}")]
}
