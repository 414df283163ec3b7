//! [`SessionState`]: where a session is, folded from its run events. Live view, lists, log lines,
//! timeline and page read it; none of them interprets a run event on its own.
//!
//! The fold is pure: no clock, no store. It is small however long a session is: what is in progress
//! has a limit, and of what is over only the counts are kept, in the [`SessionRecord`].

mod firings;

use hookwright_events::{
    EventName, FiringEvent, RunEvent, RunEventKind, SessionEvent, Status, TaskId, TurnEvent,
    TurnName, WorkItem, WorkSource,
};

pub(crate) use self::firings::Firings;
use crate::limits::UNDER_WAY_MAX;
use crate::record::{Pause, SessionRecord, milliseconds};

/// The state of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionState {
    /// The record for lists: status, stage, pause, usage, counts.
    pub record: SessionRecord,
    /// The stage's maximum number of iterations, if known.
    pub iterations_max: Option<u32>,
    /// The current iteration; 0 before the first of its stage.
    pub iteration: u32,
    /// The turn that delivers what hooks reported after the last iteration.
    pub final_delivery: Option<TurnName>,
    /// The current work item.
    pub item: Option<WorkItem>,
    /// The working agent.
    pub agent: Option<WorkingAgent>,
    /// Running hooks, in the order in which they started.
    pub hooks: Vec<RunningHook>,
    /// Open questions to people, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// Tools of the built-in agent that run, and calls that the user is asked about, oldest first.
    pub calls: Vec<OpenCall>,
    /// The request of the built-in agent that has no answer yet.
    pub request: Option<OpenRequest>,
    /// The time of the pause, ISO 8601 in UTC.
    pub paused_at: Option<String>,
    /// The agent that took over in this stage.
    successor: Option<String>,
    pub(crate) firings: Firings,
}

/// An agent at work.
#[derive(Debug, Clone)]
pub struct WorkingAgent {
    /// The agent's name, if the journal has it.
    pub name: Option<String>,
    /// The time of its start, ISO 8601 in UTC.
    pub since: String,
    /// The process id.
    pub pid: Option<u32>,
    /// 1, or more if an earlier attempt was interrupted.
    pub attempt: u32,
    /// It receives what hooks reported after the last iteration.
    pub is_final: bool,
}

/// A running hook.
#[derive(Debug, Clone)]
pub struct RunningHook {
    /// The number of its firing.
    pub firing: u64,
    /// The hook's id.
    pub id: String,
    /// The event of that firing, if it is remembered.
    pub event: Option<EventName>,
    /// The start of its first attempt, ISO 8601 in UTC.
    pub since: String,
    /// The start of this attempt, ISO 8601 in UTC.
    pub attempt_since: String,
    /// The attempt that was started last, from 1.
    pub started: u32,
    /// The attempt that runs or comes next, from 1.
    pub attempt: u32,
    /// Whether the decision waits for it.
    pub awaited: bool,
    /// The session that it has started.
    pub child: Option<String>,
    /// Set if it has failed and is retried.
    pub retry: Option<Retry>,
    /// It runs in the background, and was reported as started.
    pub is_reported: bool,
}

/// A call of the built-in agent in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What it is to do, in a few words.
    pub what: String,
    /// The time since which it runs or is asked about, ISO 8601 in UTC.
    pub since: String,
    /// The user is asked whether it may run; it does not run.
    pub is_asked: bool,
}

/// A request of the built-in agent to its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// The model.
    pub model: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The time at which it was sent, ISO 8601 in UTC.
    pub since: String,
}

/// The next attempt of a hook.
#[derive(Debug, Clone)]
pub struct Retry {
    /// The failure of the last attempt, ISO 8601 in UTC.
    pub since: String,
    /// The delay after that, in milliseconds.
    pub after_ms: u64,
    /// Why the last one failed.
    pub reason: String,
}

/// An open question to a person.
#[derive(Debug, Clone)]
pub struct OpenQuestion {
    /// The session that asks: this one, or one that a hook has started.
    pub session: Option<String>,
    /// The number of the firing within that session.
    pub firing: u64,
    /// The hook that asks.
    pub hook: String,
    /// The wait's id.
    pub wait: String,
    /// The question for people.
    pub question: String,
    /// The time it was opened, ISO 8601 in UTC.
    pub since: String,
    /// The deadline, ISO 8601 in UTC.
    pub until: String,
    /// The address for the answer, if known.
    pub url: Option<String>,
}

/// What an event has ended.
#[derive(Debug, Default)]
pub struct EndedParts {
    /// Hooks, as they were.
    pub hooks: Vec<RunningHook>,
    /// Questions, as they were.
    pub questions: Vec<OpenQuestion>,
    /// Calls of the built-in agent, as they were.
    pub calls: Vec<OpenCall>,
    /// The pause, and when it began.
    pub pause: Option<(Pause, String)>,
}

impl SessionState {
    /// The state of a session with this record.
    pub fn new(record: SessionRecord) -> Self {
        Self { record, ..Self::default() }
    }

    /// The event that was fired last.
    pub fn last_event(&self) -> Option<&EventName> {
        self.firings.last()
    }

    /// The event of a firing, if it is remembered.
    pub fn event_of(&self, firing: u64) -> Option<&EventName> {
        self.firings.event_of(firing)
    }

    /// The task that it works on.
    pub fn task(&self) -> Option<TaskId> {
        let item = self.item.as_ref().filter(|item| item.source == WorkSource::Tasks)?;
        TaskId::typed(&item.key)
    }

    /// Applies an event; returns what it has ended.
    pub fn apply(&mut self, event: &RunEvent) -> EndedParts {
        let mut closed = EndedParts::default();
        self.apply_pause(event, &mut closed);
        self.record.see(event);
        self.apply_question(event, &mut closed);
        match &event.kind {
            RunEventKind::Firing(happened) => {
                self.apply_firing(event.firing, &event.at, happened, &mut closed);
            }
            RunEventKind::Turn(happened) => self.apply_turn(&event.at, happened, &mut closed),
            RunEventKind::Session(happened) => self.apply_session(happened, &mut closed),
        }
        closed
    }

    /// Applies an event of a child session: only its questions count here.
    pub fn apply_of_child(&mut self, event: &RunEvent) {
        self.apply_question(event, &mut EndedParts::default());
    }

    /// Ends everything in progress and returns it.
    pub(crate) fn close(&mut self) -> EndedParts {
        let pause = self.record.pause.take().zip(self.paused_at.take());
        self.request = None;
        EndedParts {
            hooks: std::mem::take(&mut self.hooks),
            questions: std::mem::take(&mut self.questions),
            calls: std::mem::take(&mut self.calls),
            pause,
        }
    }

    /// A copy that remembers only the firings of hooks and questions in progress.
    pub(crate) fn small_copy(&self) -> Self {
        let of_hooks = self.hooks.iter().map(|hook| hook.firing);
        let open = of_hooks.chain(self.questions.iter().map(|question| question.firing));
        Self {
            record: self.record.clone(),
            iterations_max: self.iterations_max,
            iteration: self.iteration,
            final_delivery: self.final_delivery.clone(),
            item: self.item.clone(),
            agent: self.agent.clone(),
            hooks: self.hooks.clone(),
            questions: self.questions.clone(),
            calls: self.calls.clone(),
            request: self.request.clone(),
            paused_at: self.paused_at.clone(),
            successor: self.successor.clone(),
            firings: self.firings.only(open),
        }
    }

    fn apply_pause(&mut self, event: &RunEvent, closed: &mut EndedParts) {
        let RunEventKind::Session(happened) = &event.kind else { return };
        let is_paused = matches!(happened, SessionEvent::Paused { .. });
        let goes_on = matches!(
            happened,
            SessionEvent::Continued {}
                | SessionEvent::SessionResumed { .. }
                | SessionEvent::SessionEnded { .. }
        );
        if is_paused || goes_on {
            closed.pause = self.record.pause.clone().zip(self.paused_at.take());
        }
        if is_paused {
            self.paused_at = Some(event.at.clone());
        }
    }

    fn apply_session(&mut self, happened: &SessionEvent, closed: &mut EndedParts) {
        match happened {
            SessionEvent::StageStarted { iterations_max, .. } => {
                (self.iteration, self.item) = (0, None);
                (self.iterations_max, self.successor) = (Some(*iterations_max), None);
            }
            SessionEvent::StageEnded { .. } | SessionEvent::ItemEnded { .. } => self.item = None,
            SessionEvent::ItemStarted { item, .. } => self.item = Some(item.clone()),
            // What another process ran is over.
            SessionEvent::SessionResumed { .. } | SessionEvent::SessionEnded { .. } => {
                (self.agent, self.request) = (None, None);
                closed.calls.append(&mut self.calls);
                closed.hooks.append(&mut self.hooks);
                closed.questions.append(&mut self.questions);
            }
            SessionEvent::SessionSubmitted { .. }
            | SessionEvent::SessionStarted { .. }
            | SessionEvent::Paused { .. }
            | SessionEvent::Continued {}
            | SessionEvent::TreeKept { .. }
            | SessionEvent::Noted { .. } => {}
        }
    }

    fn apply_turn(&mut self, at: &str, happened: &TurnEvent, closed: &mut EndedParts) {
        match happened {
            TurnEvent::FinalDelivery { turn } => self.final_delivery = Some(turn.clone()),
            TurnEvent::TurnStarting { turn, attempt, agent, .. } => {
                let is_final = turn.iteration == 0 || self.final_delivery.as_ref() == Some(turn);
                if is_final {
                    self.iterations_max = None;
                }
                if turn.iteration > 0 {
                    // A resumed stage is not announced.
                    if self.record.stage != turn.stage {
                        (self.record.stage, self.iterations_max) = (turn.stage, None);
                        self.successor = None;
                    }
                    self.iteration = turn.iteration;
                }
                let name = agent.as_ref().or(self.successor.as_ref()).cloned();
                let since = at.to_owned();
                let attempt = *attempt;
                self.agent = Some(WorkingAgent { name, since, pid: None, attempt, is_final });
            }
            TurnEvent::AgentRunning { pid, .. } => {
                self.agent.iter_mut().for_each(|agent| agent.pid = Some(*pid));
            }
            TurnEvent::AgentChanged { to, .. } => {
                self.successor = Some(to.clone());
                if let Some(agent) = &mut self.agent {
                    (agent.name, agent.since, agent.pid) = (Some(to.clone()), at.to_owned(), None);
                }
            }
            TurnEvent::TurnEnded { .. } | TurnEvent::TurnGivenUp { .. } => {
                (self.agent, self.request) = (None, None);
                closed.calls.append(&mut self.calls);
            }
            TurnEvent::RequestSending { model, attempt, .. } => {
                let (model, since) = (model.clone(), at.to_owned());
                self.request = Some(OpenRequest { model, attempt: *attempt, since });
            }
            TurnEvent::RequestEnded { .. } => self.request = None,
            TurnEvent::CallStarting { call, tool, what, .. } => {
                self.open_call(at, [call, tool, what], false, closed);
            }
            TurnEvent::QuestionAsked { call, tool, what, .. } => {
                self.open_call(at, [call, tool, what], true, closed);
            }
            TurnEvent::CallEnded { call, .. } | TurnEvent::QuestionAnswered { call, .. } => {
                let is_it = |open: &mut OpenCall| open.call == *call;
                closed.calls.extend(self.calls.extract_if(.., is_it));
            }
            TurnEvent::AgentPrompted { .. }
            | TurnEvent::AgentOutput { .. }
            | TurnEvent::TranscriptWritten { .. } => {}
        }
    }

    fn open_call(
        &mut self,
        at: &str,
        [call, tool, what]: [&String; 3],
        is_asked: bool,
        closed: &mut EndedParts,
    ) {
        self.calls.push(OpenCall {
            call: call.clone(),
            tool: tool.clone(),
            what: what.clone(),
            since: at.to_owned(),
            is_asked,
        });
        if self.calls.len() > UNDER_WAY_MAX {
            closed.calls.push(self.calls.remove(0));
        }
    }

    fn apply_question(&mut self, event: &RunEvent, closed: &mut EndedParts) {
        let RunEventKind::Firing(happened) = &event.kind else { return };
        match happened {
            FiringEvent::HookWaiting { hook, wait, question, since, until, url } => {
                let is_asked_again = |open: &OpenQuestion| {
                    open.wait == *wait || open.is(&event.session, event.firing, hook)
                };
                self.questions.retain(|open| !is_asked_again(open));
                self.questions.push(OpenQuestion {
                    session: event.session.clone(),
                    firing: event.firing,
                    hook: hook.clone(),
                    wait: wait.clone(),
                    question: question.clone(),
                    since: since.clone(),
                    until: until.clone(),
                    url: url.clone(),
                });
                if self.questions.len() > UNDER_WAY_MAX {
                    closed.questions.push(self.questions.remove(0));
                }
            }
            FiringEvent::HookEnded { hook, .. } => {
                let is_its = |open: &mut OpenQuestion| open.is(&event.session, event.firing, hook);
                closed.questions.extend(self.questions.extract_if(.., is_its));
            }
            _ => {}
        }
    }

    fn apply_firing(
        &mut self,
        firing: u64,
        at: &str,
        happened: &FiringEvent,
        closed: &mut EndedParts,
    ) {
        match happened {
            FiringEvent::Fired { event, .. } | FiringEvent::TakenUp { event, .. } => {
                self.firings.add(firing, event.clone());
            }
            FiringEvent::HookStarting { hook, attempt, awaited, .. } => {
                let earlier = self.hooks.iter().position(|open| open.is(firing, hook));
                let earlier = earlier.map(|number| self.hooks.remove(number).since);
                self.hooks.push(RunningHook {
                    firing,
                    id: hook.clone(),
                    event: self.firings.event_of(firing).cloned(),
                    since: earlier.unwrap_or_else(|| at.to_owned()),
                    attempt_since: at.to_owned(),
                    started: *attempt,
                    attempt: *attempt,
                    awaited: *awaited,
                    child: None,
                    retry: None,
                    is_reported: false,
                });
                if self.hooks.len() > UNDER_WAY_MAX {
                    closed.hooks.push(self.hooks.remove(0));
                }
            }
            FiringEvent::HookWentAsync { hook, .. } => {
                self.hook(firing, hook, |open| open.awaited = false);
            }
            FiringEvent::HookRetrying { hook, attempt, after_ms, reason } => {
                self.hook(firing, hook, |open| {
                    let (since, reason) = (at.to_owned(), reason.clone());
                    open.attempt = *attempt;
                    open.retry = Some(Retry { since, after_ms: *after_ms, reason });
                });
            }
            FiringEvent::HookSpawned { hook, session, .. } => {
                self.hook(firing, hook, |open| open.child = Some(session.clone()));
            }
            // A background hook is first reported as started, and once more at its end.
            FiringEvent::HookReported { report } if report.status == Status::Started => {
                self.hook(firing, &report.id, |open| open.is_reported = true);
            }
            FiringEvent::HookReported { report } => {
                let is_it = |open: &mut RunningHook| open.is(firing, &report.id);
                closed.hooks.extend(self.hooks.extract_if(.., is_it));
            }
            FiringEvent::HookSkipped { .. }
            | FiringEvent::HookRunning { .. }
            | FiringEvent::HookOutput { .. }
            | FiringEvent::HookWaiting { .. }
            | FiringEvent::HookEnded { .. }
            | FiringEvent::LateAnswer { .. }
            | FiringEvent::Decided { .. }
            | FiringEvent::Remembered { .. }
            | FiringEvent::HookCommitting { .. }
            | FiringEvent::ChildUsed { .. } => {}
        }
    }

    fn hook(&mut self, firing: u64, id: &str, change: impl FnOnce(&mut RunningHook)) {
        if let Some(open) = self.hooks.iter_mut().find(|open| open.is(firing, id)) {
            change(open);
        }
    }
}

impl WorkingAgent {
    /// The time it was opened, in milliseconds since 1970.
    pub fn since_ms(&self) -> i64 {
        milliseconds(&self.since).unwrap_or(0)
    }
}

impl Retry {
    /// The time of the next attempt, in milliseconds since 1970.
    pub fn at_ms(&self) -> i64 {
        milliseconds(&self.since).unwrap_or(0).saturating_add_unsigned(self.after_ms)
    }
}

impl OpenQuestion {
    fn is(&self, session: &Option<String>, firing: u64, hook: &str) -> bool {
        self.firing == firing && self.hook == hook && self.session == *session
    }
}

impl RunningHook {
    /// The start of its first attempt, in milliseconds since 1970.
    pub fn since_ms(&self) -> i64 {
        milliseconds(&self.since).unwrap_or(0)
    }

    /// Whether it is this hook of this firing.
    pub fn is(&self, firing: u64, id: &str) -> bool {
        self.firing == firing && self.id == id
    }
}

#[cfg(test)]
mod tests;
