//! What Claude Code tells of subagents, teams and their tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::base::{BackgroundTask, Base, SessionCron};

/// A subagent begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubagentStart {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The subagent.
    pub agent_id: String,
    /// Its kind.
    pub agent_type: String,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A subagent is about to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubagentStop {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// A stop was blocked before, and this asks again.
    pub stop_hook_active: bool,
    /// The subagent.
    pub agent_id: String,
    /// Its transcript; empty where the agent does not say.
    #[serde(default)]
    pub agent_transcript_path: String,
    /// Its kind; empty for those that Claude Code starts for itself.
    pub agent_type: String,
    /// What it said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// What still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// What will be prompted later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_crons: Option<Vec<SessionCron>>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// An agent of a team has nothing left to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeammateIdle {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The agent.
    pub teammate_name: String,
    /// Its team.
    pub team_name: String,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A task is about to be marked completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCompleted {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The task.
    pub task_id: String,
    /// What it is called.
    pub task_subject: String,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_description: Option<String>,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teammate_name: Option<String>,
    /// That agent's team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_name: Option<String>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
