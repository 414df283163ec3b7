//! [`Model`]: what the live view shows: the session's state, and what its agent prints. No clock, no
//! terminal.

use hookwright_events::{EventName, RunEvent, RunEventKind, TurnEvent};
use hookwright_pipeline::record::{SessionRecord, milliseconds};
use hookwright_pipeline::session_state::{SessionState, WorkingAgent};

use super::first_lines::FirstLines;
use super::last_lines::LastLines;

/// What a session does now.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) session: String,
    pub(crate) state: SessionState,
    /// When its first event came, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    pub(crate) output: LastLines,
    /// The first lines of what the agent was told last, and how many more there are.
    pub(crate) prompt: FirstLines,
    /// Somebody has asked it to end.
    pub(crate) is_ending: bool,
    /// Who works in each stage.
    agents: Vec<String>,
}

impl Model {
    /// A session of which nothing is known yet but who works in its stages.
    pub(crate) fn new(session: &str, plan: &str, stages: Vec<(String, String)>) -> Self {
        let (stages, agents) = stages.into_iter().unzip();
        let record = SessionRecord { plan: plan.to_owned(), stages, ..SessionRecord::default() };
        let state = SessionState::new(record);
        Self { session: session.to_owned(), state, agents, ..Self::default() }
    }

    /// Takes in what happened. Of sessions that hooks have started only what they ask is shown.
    pub(crate) fn see(&mut self, event: &RunEvent) {
        if event.session.as_deref().is_some_and(|session| session != self.session) {
            return self.state.apply_of_child(event);
        }
        if self.since_ms == 0 {
            self.since_ms = milliseconds(&event.at).unwrap_or(0);
        }
        self.state.apply(event);
        match &event.kind {
            RunEventKind::Turn(TurnEvent::TurnStarting { .. }) => self.output.clear(),
            RunEventKind::Turn(TurnEvent::AgentPrompted { prompt, .. }) => {
                self.prompt = FirstLines::of(prompt);
            }
            RunEventKind::Turn(TurnEvent::AgentOutput { stream, text }) => {
                self.output.push(stream, text);
            }
            _ => {}
        }
    }

    /// Whether all is done but for the hooks that still run.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.state.last_event() == Some(&EventName::SESSION_END)
    }

    /// The piece of work, in words.
    pub(crate) fn item(&self) -> Option<String> {
        let item = self.state.item.as_ref()?;
        let (name, title) = (item.name(), &item.title);
        Some(if name == *title { name } else { format!("{name}: {title}") })
    }

    /// The agent that works; where the session does not name it, it is the one of the stage.
    pub(crate) fn agent(&self) -> Option<WorkingAgent> {
        let mut agent = self.state.agent.clone()?;
        let stage = (self.state.record.stage.max(1) as usize - 1).min(self.agents.len().max(1) - 1);
        agent.name = agent.name.or_else(|| self.agents.get(stage).cloned());
        Some(agent)
    }
}
