//! [`Model`]: what a session does now, folded from its run events. No clock, no terminal.

use std::collections::BTreeMap;

use hookwright_events::{
    EventName, FiringEvent, PauseCause, RunEvent, RunEventKind, SessionEvent, TaskId, TurnEvent,
    TurnName, Usage, WorkSource,
};
use hookwright_pipeline::record::milliseconds;

use super::first_lines::FirstLines;
use super::last_lines::LastLines;
use super::limits::EVENTS_MAX;

/// What a session does now. Times are in milliseconds since 1970.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) session: String,
    pub(crate) plan: String,
    pub(crate) since_ms: i64,
    pub(crate) stages: Vec<String>,
    /// The stage it is in, from 1; 0 before the first.
    pub(crate) stage: u32,
    pub(crate) iterations_max: Option<u32>,
    /// The iteration it is in; 0 before the first of its stage.
    pub(crate) iteration: u32,
    /// The iteration that delivers what hooks reported after the last one.
    final_delivery: Option<TurnName>,
    /// The piece of work, in words.
    pub(crate) item: Option<String>,
    /// The same, if it is a task.
    pub(crate) task: Option<TaskId>,
    pub(crate) agent: Option<Working>,
    pub(crate) hooks: Vec<RunningHook>,
    pub(crate) questions: Vec<Question>,
    pub(crate) pause: Option<Pause>,
    pub(crate) used: Option<Usage>,
    pub(crate) output: LastLines,
    /// The first lines of what the agent was told last, and how many more there are.
    pub(crate) prompt: FirstLines,
    /// Somebody has asked it to end.
    pub(crate) is_ending: bool,
    /// Who works in each stage.
    agents: Vec<String>,
    /// Who took over.
    agent_now: Option<String>,
    events: BTreeMap<u64, EventName>,
}

/// An agent that works.
#[derive(Debug)]
pub(crate) struct Working {
    pub(crate) name: String,
    pub(crate) since_ms: i64,
    pub(crate) pid: Option<u32>,
    pub(crate) attempt: u32,
    /// It is told what hooks reported after the last iteration.
    pub(crate) is_final: bool,
}

/// A hook that runs.
#[derive(Debug)]
pub(crate) struct RunningHook {
    firing: u64,
    pub(crate) id: String,
    pub(crate) event: String,
    /// When its first attempt began.
    pub(crate) since_ms: i64,
    pub(crate) awaited: bool,
    pub(crate) attempt: u32,
    /// The session that it has started.
    pub(crate) child: Option<String>,
    /// It has failed, and is tried again.
    pub(crate) retry: Option<Retry>,
}

/// The next attempt of a hook.
#[derive(Debug)]
pub(crate) struct Retry {
    pub(crate) at_ms: i64,
    /// Why the last one failed.
    pub(crate) reason: String,
}

/// What a person is asked.
#[derive(Debug)]
pub(crate) struct Question {
    /// The session, and its firing.
    asked_in: (Option<String>, u64),
    pub(crate) hook: String,
    pub(crate) wait: String,
    pub(crate) question: String,
    pub(crate) until_ms: Option<i64>,
    pub(crate) url: Option<String>,
}

/// Why nothing runs.
#[derive(Debug)]
pub(crate) struct Pause {
    pub(crate) cause: PauseCause,
    pub(crate) reason: String,
    pub(crate) since_ms: i64,
    pub(crate) until_ms: Option<i64>,
}

impl Model {
    /// A session of which nothing is known yet but who works in its stages.
    pub(crate) fn new(session: &str, plan: &str, stages: Vec<(String, String)>) -> Self {
        let (stages, agents) = stages.into_iter().unzip();
        let (session, plan) = (session.to_owned(), plan.to_owned());
        Self { session, plan, stages, agents, ..Self::default() }
    }

    /// Whether all is done but for the hooks that still run.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.last_event() == Some(&EventName::SESSION_END)
    }

    /// The event that was fired last.
    pub(crate) fn last_event(&self) -> Option<&EventName> {
        self.events.last_key_value().map(|(_, event)| event)
    }

    /// Takes in what happened. Of sessions that hooks have started only what they ask is shown.
    pub(crate) fn see(&mut self, event: &RunEvent) {
        self.see_question(event);
        if event.session.as_deref().is_some_and(|session| session != self.session) {
            return;
        }
        let at_ms = milliseconds(&event.at).unwrap_or(0);
        if self.since_ms == 0 {
            self.since_ms = at_ms;
        }
        if let Some(usage) = event.kind.used() {
            self.used = Some(self.used.unwrap_or_default().and(usage));
        }
        match &event.kind {
            RunEventKind::Session(SessionEvent::StageStarted { index, iterations_max, .. }) => {
                (self.stage, self.iteration, self.item) = (*index, 0, None);
                (self.iterations_max, self.agent_now) = (Some(*iterations_max), None);
            }
            RunEventKind::Session(SessionEvent::StageEnded { .. }) => self.item = None,
            RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                let (name, title) = (item.name(), &item.title);
                let words = if name == *title { name } else { format!("{name}: {title}") };
                self.item = Some(words);
                let is_task = item.source == WorkSource::Tasks;
                self.task = is_task.then(|| TaskId::typed(&item.key)).flatten();
            }
            RunEventKind::Session(SessionEvent::ItemEnded { .. }) => {
                (self.item, self.task) = (None, None)
            }
            RunEventKind::Turn(TurnEvent::FinalDelivery { turn }) => {
                self.final_delivery = Some(turn.clone())
            }
            RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, agent, .. }) => {
                self.begin_turn(turn, *attempt, agent.as_deref(), at_ms);
            }
            RunEventKind::Turn(TurnEvent::AgentRunning { pid, .. }) => {
                if let Some(agent) = &mut self.agent {
                    agent.pid = Some(*pid);
                }
            }
            RunEventKind::Turn(TurnEvent::AgentPrompted { prompt, .. }) => {
                self.prompt = FirstLines::of(prompt)
            }
            RunEventKind::Turn(TurnEvent::AgentOutput { stream, text }) => {
                self.output.push(stream, text)
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { .. } | TurnEvent::TurnGivenUp { .. }) => {
                self.agent = None
            }
            RunEventKind::Turn(TurnEvent::AgentChanged { to, .. }) => {
                self.agent_now = Some(to.clone());
                if let Some(agent) = &mut self.agent {
                    (agent.name, agent.since_ms, agent.pid) = (to.clone(), at_ms, None);
                }
            }
            RunEventKind::Session(SessionEvent::Paused { cause, reason, until }) => {
                let (cause, reason) = (*cause, reason.clone());
                let until_ms = until.as_deref().and_then(milliseconds);
                self.pause = Some(Pause { cause, reason, since_ms: at_ms, until_ms });
            }
            RunEventKind::Session(SessionEvent::Continued {}) => self.pause = None,
            // What another process ran is over.
            RunEventKind::Session(
                SessionEvent::SessionResumed { .. } | SessionEvent::SessionEnded { .. },
            ) => {
                self.agent = None;
                self.hooks.clear();
                self.questions.clear();
                self.pause = None;
            }
            kind => self.see_hook(event.firing, at_ms, kind),
        }
    }

    fn begin_turn(&mut self, turn: &TurnName, attempt: u32, agent: Option<&str>, at_ms: i64) {
        let is_final = turn.iteration == 0 || self.final_delivery.as_ref() == Some(turn);
        if is_final {
            self.iterations_max = None;
        }
        if turn.iteration > 0 {
            // A stage that goes on is not announced.
            if self.stage != turn.stage {
                (self.stage, self.iterations_max, self.agent_now) = (turn.stage, None, None);
            }
            self.iteration = turn.iteration;
        }
        let name = match agent.or(self.agent_now.as_deref()) {
            Some(name) => name.to_owned(),
            None => {
                let index = (self.stage.max(1) as usize - 1).min(self.agents.len().max(1) - 1);
                self.agents.get(index).cloned().unwrap_or_default()
            }
        };
        self.output.clear();
        self.agent = Some(Working { name, since_ms: at_ms, pid: None, attempt, is_final });
    }

    fn see_question(&mut self, event: &RunEvent) {
        match &event.kind {
            RunEventKind::Firing(FiringEvent::HookWaiting {
                hook,
                wait,
                question,
                until,
                url,
                ..
            }) => {
                self.questions.retain(|open| open.wait != *wait);
                self.questions.push(Question {
                    asked_in: (event.session.clone(), event.firing),
                    hook: hook.clone(),
                    wait: wait.clone(),
                    question: question.clone(),
                    until_ms: milliseconds(until),
                    url: url.clone(),
                });
            }
            RunEventKind::Firing(FiringEvent::HookEnded { hook, .. }) => {
                let ended_in = (event.session.clone(), event.firing);
                self.questions.retain(|open| open.asked_in != ended_in || open.hook != *hook);
            }
            _ => {}
        }
    }

    fn see_hook(&mut self, firing: u64, at_ms: i64, kind: &RunEventKind) {
        let is = |of: u64, id: &str, hook: &str| of == firing && id == hook;
        match kind {
            RunEventKind::Firing(
                FiringEvent::Fired { event, .. } | FiringEvent::TakenUp { event, .. },
            ) => {
                self.events.insert(firing, event.clone());
                if self.events.len() > EVENTS_MAX {
                    self.events.pop_first();
                }
            }
            RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, awaited, .. }) => {
                let earlier = self.hooks.iter().position(|open| is(open.firing, &open.id, hook));
                let earlier = earlier.map(|at| self.hooks.remove(at));
                self.hooks.push(RunningHook {
                    firing,
                    id: hook.clone(),
                    event: self.events.get(&firing).map(EventName::to_string).unwrap_or_default(),
                    since_ms: earlier.map_or(at_ms, |earlier| earlier.since_ms),
                    awaited: *awaited,
                    attempt: *attempt,
                    child: None,
                    retry: None,
                });
            }
            RunEventKind::Firing(FiringEvent::HookWentAsync { hook, .. }) => {
                let open = self.hooks.iter_mut().find(|open| is(open.firing, &open.id, hook));
                open.into_iter().for_each(|open| open.awaited = false);
            }
            RunEventKind::Firing(FiringEvent::HookRetrying { hook, attempt, after_ms, reason }) => {
                let at_ms = at_ms.saturating_add_unsigned(*after_ms);
                let open = self.hooks.iter_mut().find(|open| is(open.firing, &open.id, hook));
                open.into_iter().for_each(|open| {
                    open.attempt = *attempt;
                    open.retry = Some(Retry { at_ms, reason: reason.clone() });
                });
            }
            RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, .. }) => {
                let open = self.hooks.iter_mut().find(|open| is(open.firing, &open.id, hook));
                open.into_iter().for_each(|open| open.child = Some(session.clone()));
            }
            RunEventKind::Firing(FiringEvent::HookReported { report }) => {
                // A hook in the background is reported as started first, and once more at its end.
                if report.status != hookwright_events::Status::Started {
                    self.hooks.retain(|open| !is(open.firing, &open.id, &report.id));
                }
            }
            RunEventKind::Firing(
                FiringEvent::HookSkipped { .. }
                | FiringEvent::ChildUsed { .. }
                | FiringEvent::HookCommitting { .. }
                | FiringEvent::HookRunning { .. }
                | FiringEvent::HookWaiting { .. }
                | FiringEvent::HookEnded { .. }
                | FiringEvent::HookOutput { .. }
                | FiringEvent::LateAnswer { .. }
                | FiringEvent::Decided { .. }
                | FiringEvent::Remembered { .. },
            )
            | RunEventKind::Session(
                SessionEvent::SessionStarted { .. }
                | SessionEvent::SessionResumed { .. }
                | SessionEvent::StageStarted { .. },
            )
            | RunEventKind::Turn(
                TurnEvent::FinalDelivery { .. }
                | TurnEvent::TurnStarting { .. }
                | TurnEvent::AgentRunning { .. }
                | TurnEvent::AgentPrompted { .. }
                | TurnEvent::AgentOutput { .. }
                | TurnEvent::TurnEnded { .. }
                | TurnEvent::TurnGivenUp { .. },
            )
            | RunEventKind::Session(
                SessionEvent::ItemStarted { .. } | SessionEvent::ItemEnded { .. },
            )
            | RunEventKind::Turn(TurnEvent::AgentChanged { .. })
            | RunEventKind::Session(
                SessionEvent::Paused { .. }
                | SessionEvent::Continued {}
                | SessionEvent::StageEnded { .. }
                | SessionEvent::SessionEnded { .. }
                | SessionEvent::Noted { .. },
            ) => {}
        }
    }
}
