//! [`ViewModel`]: the data of the live view: the session's state, and its agent's output. No clock, no
//! terminal.

use hookwright_events::{EventName, RunEvent, RunEventKind, TurnEvent};
use hookwright_pipeline::record::{SessionRecord, milliseconds};
use hookwright_pipeline::session_state::{SessionState, WorkingAgent};

use super::first_lines::FirstLines;
use super::last_lines::LastLines;

/// What a session does now.
#[derive(Debug, Default)]
pub(crate) struct ViewModel {
    pub(crate) session: String,
    pub(crate) state: SessionState,
    /// The time of its first event, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    pub(crate) output: LastLines,
    /// The first lines of the agent's latest prompt, and the number of further lines.
    pub(crate) prompt: FirstLines,
    /// Whether the session was asked to end.
    pub(crate) is_ending: bool,
    /// The agent of each stage.
    agents: Vec<String>,
}

impl ViewModel {
    /// A session of which only the agents of its stages are known.
    pub(crate) fn new(session: &str, plan: &str, stages: Vec<(String, String)>) -> Self {
        let (stages, agents) = stages.into_iter().unzip();
        let record = SessionRecord { plan: plan.to_owned(), stages, ..SessionRecord::default() };
        let state = SessionState::new(record);
        Self { session: session.to_owned(), state, agents, ..Self::default() }
    }

    /// Records an event. Of child sessions only questions are shown.
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

    /// Whether everything is done except running hooks.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.state.last_event() == Some(&EventName::SESSION_END)
    }

    /// The current work item, in words.
    pub(crate) fn item(&self) -> Option<String> {
        let item = self.state.item.as_ref()?;
        let (name, title) = (item.name(), &item.title);
        Some(if name == *title { name } else { format!("{name}: {title}") })
    }

    /// The working agent; the stage's agent if the session does not name one.
    pub(crate) fn agent(&self) -> Option<WorkingAgent> {
        let mut agent = self.state.agent.clone()?;
        let stage = (self.state.record.stage.max(1) as usize - 1).min(self.agents.len().max(1) - 1);
        agent.name = agent.name.or_else(|| self.agents.get(stage).cloned());
        Some(agent)
    }
}
