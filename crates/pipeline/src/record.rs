//! [`SessionRecord`]: what lists and `show` display of a session, with the names that AutoAgent's
//! users know.

use std::path::Path;

use hookwright_events::{
    FiringEvent, PauseCause, RunEvent, RunEventKind, SessionEvent, SessionStatus, TurnEvent, Usage,
};
use serde::{Deserialize, Serialize};

use crate::limits::AGENT_SESSIONS_MAX;
use crate::submission::Submission;
use crate::trees::CarriedWork;

/// The command of sessions of the built-in agent that a person prompts.
pub const AGENT_COMMAND: &str = "agent";

/// A session in lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionRecord {
    /// `session-<milliseconds>-<6 random characters>`: see [`crate::session_id`]. Sessions of older
    /// versions have their name here.
    pub id: String,
    /// The name, unique within the project: given by the user, or generated from two words.
    pub name: String,
    /// The time of its start, ISO 8601 in UTC.
    pub start_time: String,
    /// The time of its end, ISO 8601 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// The project root.
    pub workspace: String,
    /// The project's name; empty if its path is its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The command that started it.
    pub command: String,
    /// The arguments of that command.
    pub args: Vec<String>,
    /// Issues of this session: those that were open when it started, and those that it found later.
    /// In the store only records of earlier versions have this list and the next two;
    /// `session_issues.rs` fills them in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues_planned: Vec<u64>,
    /// Issues that were completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues_completed: Vec<u64>,
    /// Issues that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues_failed: Vec<u64>,
    /// The lengths of these lists, if they are in pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<IssueCounts>,
    /// The number of pages with the lists.
    #[serde(skip_serializing_if = "is_zero")]
    pub issue_pages: u32,
    /// The issue it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_issue: Option<u64>,
    /// What it is doing, or how it ended.
    pub status: SessionStatus,
    /// The kind of agent.
    pub provider: String,
    /// Further facts.
    pub metadata: Metadata,
    /// The loop's or pipeline's name.
    pub plan: String,
    /// Its stages.
    pub stages: Vec<String>,
    /// The stage it is in, from 1.
    pub stage: u32,
    /// Iterations that ended, of all stages.
    pub iterations: u32,
    /// Why it ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The number of work items by state.
    pub work: std::collections::BTreeMap<String, u32>,
    /// The number of hooks by status.
    pub hooks: std::collections::BTreeMap<String, u32>,
    /// What it waits for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// Why it is paused, if that is its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_for: Option<PauseCause>,
    /// How often it was resumed.
    pub resumes: u32,
    /// What its agents used, as far as they report it, including the sessions that its hooks
    /// started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Used>,
    /// The part that those sessions used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_of_children: Option<Used>,
    /// The commit and the remote of a session that was submitted to workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedWork>,
    /// The latest sessions of its agents, by the agents' own names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_sessions: Vec<AgentSession>,
    /// What it needs from workers, if it was submitted to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    /// The hook that started it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Its folder, relative to the project root, if a hook started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// The number of a session's issues by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueCounts {
    /// Issues that it plans to work on.
    pub planned: usize,
    /// Issues that were completed.
    pub completed: usize,
    /// Issues that failed.
    pub failed: usize,
}

/// The hook that started a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The hook's session.
    pub session: String,
    /// The hook's id.
    pub hook: String,
}

/// What a session waits for while nothing runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pause {
    /// The kind of wait; `None` in records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<PauseCause>,
    /// The reason in words.
    pub reason: String,
    /// The end, ISO 8601 in UTC, if known.
    pub until: Option<String>,
}

/// Further facts about a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The branch when it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// The commit when it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// From its start to its end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_duration: Option<i64>,
}

/// What agents used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Used {
    /// Tokens that models read.
    pub input_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
    /// The cost in US dollars, if agents report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl From<Usage> for Used {
    fn from(Usage { input_tokens, output_tokens, cost_usd }: Usage) -> Self {
        Self { input_tokens, output_tokens, cost_usd }
    }
}

impl From<Used> for Usage {
    fn from(Used { input_tokens, output_tokens, cost_usd }: Used) -> Self {
        Self { input_tokens, output_tokens, cost_usd }
    }
}

/// A session of an agent, which can be read or continued by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSession {
    /// The agent's name.
    pub agent: String,
    /// The agent's name for the session.
    pub session: String,
}

impl SessionRecord {
    /// The project's name, else its path: the key of everything that is stored of it.
    pub fn project(&self) -> &str {
        if self.project.is_empty() { &self.workspace } else { &self.project }
    }

    /// Sets the key that the session is stored under. The root of a project with a name stays.
    pub fn set_project(&mut self, key: String) {
        match Path::new(&key).is_absolute() {
            true => (self.workspace, self.project) = (key, String::new()),
            false => self.project = key,
        }
    }

    /// The time of its start, in milliseconds since 1970.
    pub fn created_at_ms(&self) -> i64 {
        milliseconds(&self.start_time).unwrap_or(0)
    }

    /// Whether a person can resume it in this status. A session that a hook has started is resumed with
    /// its parent.
    pub fn can_be_resumed(&self, status: SessionStatus) -> bool {
        status.is_resumable() && self.parent.is_none()
    }

    /// The command with which a person resumes it in this status; `None` if that is impossible. A
    /// session that reached its cost limit needs a higher one, or it would pause again at once.
    pub fn resume_command(&self, status: SessionStatus) -> Option<String> {
        if !self.can_be_resumed(status) {
            return None;
        }
        if self.command == AGENT_COMMAND {
            return Some(format!("hookwright agent --resume {}", self.name));
        }
        let command = format!("hookwright resume {}", self.name);
        if status != SessionStatus::Paused || self.paused_for != Some(PauseCause::Cost) {
            return Some(command);
        }
        let cost = self.usage.and_then(|used| used.cost_usd).unwrap_or_default();
        Some(format!("{command} --max-cost {:.0}", (2.0 * cost).ceil().max(1.0)))
    }

    /// The number of issues by state.
    pub fn issue_counts(&self) -> IssueCounts {
        self.issues.unwrap_or(IssueCounts {
            planned: self.issues_planned.len(),
            completed: self.issues_completed.len(),
            failed: self.issues_failed.len(),
        })
    }

    /// The time of its end, in milliseconds since 1970.
    pub fn ended_at_ms(&self) -> Option<i64> {
        self.end_time.as_deref().and_then(milliseconds)
    }

    /// Applies an event. Returns whether the record in the store has to change.
    pub(crate) fn see(&mut self, event: &RunEvent) -> bool {
        match &event.kind {
            RunEventKind::Session(SessionEvent::SessionSubmitted { plan, stages, .. }) => {
                self.plan.clone_from(plan);
                self.stages.clone_from(stages);
                self.status = SessionStatus::Queued;
            }
            RunEventKind::Session(SessionEvent::SessionStarted { plan, stages, .. }) => {
                self.plan.clone_from(plan);
                self.stages.clone_from(stages);
                self.status = SessionStatus::Active;
            }
            RunEventKind::Session(SessionEvent::SessionResumed { .. }) => {
                self.resumes += 1;
                (self.pause, self.paused_for) = (None, None);
                self.status = SessionStatus::Active;
                self.end_time = None;
                self.reason = String::new();
            }
            RunEventKind::Session(SessionEvent::Paused { cause, reason, until }) => {
                let (cause, reason) = (Some(*cause), reason.clone());
                self.pause = Some(Pause { cause, reason, until: until.clone() });
            }
            RunEventKind::Session(SessionEvent::Continued {}) => self.pause = None,
            RunEventKind::Session(SessionEvent::StageStarted { index, .. }) => self.stage = *index,
            RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                let Some(number) = item.number() else { return false };
                self.current_issue = Some(number);
            }
            RunEventKind::Session(SessionEvent::ItemEnded { state, .. }) => {
                *self.work.entry(state.as_str().to_owned()).or_default() += 1;
                self.current_issue = None;
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, result, .. }) => {
                let is_used = self.see_use(
                    result.agent.as_deref(),
                    result.agent_session.as_deref(),
                    result.usage.as_ref(),
                );
                self.iterations += u32::from(turn.iteration > 0);
                return turn.iteration > 0 || is_used;
            }
            RunEventKind::Turn(TurnEvent::TurnGivenUp { agent, agent_session, usage, .. }) => {
                return self.see_use(Some(agent), agent_session.as_deref(), usage.as_ref());
            }
            RunEventKind::Firing(FiringEvent::ChildUsed { usage, .. }) => {
                let of_children = Usage::from(self.usage_of_children.unwrap_or_default());
                self.usage_of_children = Some(of_children.and(*usage).into());
                return self.see_use(None, None, Some(usage));
            }
            RunEventKind::Session(SessionEvent::SessionEnded { status, reason }) => {
                self.status = *status;
                let pause = self.pause.take().filter(|_| *status == SessionStatus::Paused);
                self.paused_for = pause.and_then(|pause| pause.cause);
                self.reason.clone_from(reason);
                self.end_time = Some(event.at.clone());
                // If the clock was set back meanwhile, no duration gets negative.
                let ended = milliseconds(&event.at);
                self.metadata.total_duration = ended.map(|at| (at - self.created_at_ms()).max(0));
            }
            kind => {
                // Written with the next change that matters; a count alone needs no write.
                if let Some(word) = end_of_hook(kind) {
                    *self.hooks.entry(word.to_owned()).or_default() += 1;
                }
                return false;
            }
        }
        true
    }
}

impl SessionRecord {
    /// Adds an agent's usage. Returns whether there was any.
    fn see_use(
        &mut self,
        agent: Option<&str>,
        session: Option<&str>,
        usage: Option<&Usage>,
    ) -> bool {
        if let Some(usage) = usage {
            let sum = Usage::from(self.usage.unwrap_or_default()).and(*usage);
            self.usage = Some(sum.into());
        }
        if let (Some(agent), Some(session)) = (agent, session) {
            let this = AgentSession { agent: agent.to_owned(), session: session.to_owned() };
            self.agent_sessions.retain(|known| *known != this);
            self.agent_sessions.push(this);
            if self.agent_sessions.len() > AGENT_SESSIONS_MAX {
                self.agent_sessions.remove(0);
            }
        }
        usage.is_some() || session.is_some()
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A hook's status, if this event is its end.
pub(crate) fn end_of_hook(kind: &RunEventKind) -> Option<&'static str> {
    match kind {
        RunEventKind::Firing(FiringEvent::HookReported { report }) => Some(report.status.as_str()),
        RunEventKind::Firing(FiringEvent::HookSkipped { .. }) => Some("skipped"),
        _ => None,
    }
}

/// A time of a record or a run event, in milliseconds since 1970.
pub fn milliseconds(time: &str) -> Option<i64> {
    time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use hookwright_events::{TurnName, TurnResult};

    use super::*;

    fn seen(record: &mut SessionRecord, at: &str, kind: RunEventKind) -> bool {
        let event = RunEvent { version: 1, firing: 0, at: at.to_owned(), session: None, kind };
        record.see(&event)
    }

    // Conformance: autoagent-058
    #[test]
    fn it_follows_a_session_to_its_end_and_beyond() {
        let start_time = "2026-01-02T03:04:05Z".to_owned();
        let mut record = SessionRecord { start_time, ..SessionRecord::default() };
        let began = RunEventKind::Session(SessionEvent::SessionStarted {
            plan: "full".into(),
            stages: vec!["a".into(), "b".into()],
            sources: serde_json::Value::Null,
        });
        assert!(seen(&mut record, "2026-01-02T03:04:05Z", began));
        assert_eq!((record.status, record.stages.len()), (SessionStatus::Active, 2));
        for (iteration, counted) in [(1, 1), (2, 2), (0, 2)] {
            let turn = TurnName { stage: 1, iteration };
            let result = TurnResult::default();
            let ended = RunEventKind::Turn(TurnEvent::TurnEnded {
                turn,
                attempt: 1,
                result,
                duration_ms: 1.0,
            });
            // A raw delivery is not an iteration.
            assert_eq!(seen(&mut record, "2026-01-02T03:04:06Z", ended), iteration > 0);
            assert_eq!(record.iterations, counted);
        }
        let skipped = RunEventKind::Firing(FiringEvent::HookSkipped {
            hook: "a".into(),
            reason: "when".into(),
            ended_by: None,
        });
        assert!(!seen(&mut record, "2026-01-02T03:04:06Z", skipped));
        let ended = RunEventKind::Session(SessionEvent::SessionEnded {
            status: SessionStatus::Failed,
            reason: "no key".into(),
        });
        assert!(seen(&mut record, "2026-01-02T03:04:07.500Z", ended));
        assert_eq!((record.status, record.reason.as_str()), (SessionStatus::Failed, "no key"));
        assert_eq!(record.end_time.as_deref(), Some("2026-01-02T03:04:07.500Z"));
        assert_eq!(record.metadata.total_duration, Some(2500));
        assert_eq!(record.hooks["skipped"], 1);
        let resumed =
            RunEventKind::Session(SessionEvent::SessionResumed { time: 1, sources: None });
        assert!(seen(&mut record, "2026-01-03T00:00:00Z", resumed));
        assert_eq!((record.status, record.reason.as_str()), (SessionStatus::Active, ""));
        assert_eq!((record.end_time.as_deref(), record.resumes), (None, 1));
    }

    #[test]
    fn the_usage_of_children_is_included_in_the_usage() {
        let mut record = SessionRecord::default();
        let usage = |input_tokens, cost_usd| Usage { input_tokens, output_tokens: 0, cost_usd };
        let turn = TurnName { stage: 1, iteration: 1 };
        let result = TurnResult { usage: Some(usage(1, Some(0.25))), ..TurnResult::default() };
        let ended =
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, attempt: 1, result, duration_ms: 1.0 });
        assert!(seen(&mut record, "2026-01-02T03:04:06Z", ended));
        let (hook, session) = ("review".into(), "s--review".into());
        let used = RunEventKind::Firing(FiringEvent::ChildUsed {
            hook,
            session,
            stage: 1,
            usage: usage(10, Some(0.5)),
        });
        assert!(seen(&mut record, "2026-01-02T03:04:06Z", used));
        assert_eq!(record.usage, Some(usage(11, Some(0.75)).into()));
        assert_eq!(record.usage_of_children, Some(usage(10, Some(0.5)).into()));
    }

    // Conformance: autoagent-054
    #[test]
    fn it_has_the_names_that_users_of_autoagent_know() {
        let record = SessionRecord { current_issue: Some(3), ..SessionRecord::default() };
        let value = serde_json::to_value(record).expect("plain data");
        for name in [
            "id",
            "startTime",
            "workspace",
            "command",
            "args",
            "currentIssue",
            "status",
            "provider",
            "metadata",
        ] {
            assert!(value.get(name).is_some(), "{name}: {value}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_session_end_before_it_began() {
        for (ended, took) in [("2030-01-01T00:00:02Z", 2000), ("2020-01-01T00:00:00Z", 0)] {
            let mut record =
                SessionRecord { start_time: "2030-01-01T00:00:00Z".into(), ..Default::default() };
            let kind = RunEventKind::Session(SessionEvent::SessionEnded {
                status: SessionStatus::Completed,
                reason: String::new(),
            });
            let at = ended.to_owned();
            let changed = record.see(&RunEvent { version: 1, firing: 0, at, session: None, kind });
            assert!(changed);
            assert_eq!(record.metadata.total_duration, Some(took));
            assert_eq!(record.end_time.as_deref(), Some(ended));
        }
    }
}
