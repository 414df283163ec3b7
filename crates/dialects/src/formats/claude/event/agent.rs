//! Events of subagents, teams and their tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::base::{BackgroundTask, Base, SessionCron};

/// A subagent begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubagentStart {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// The subagent's id.
    pub agent_id: String,
    /// Its kind.
    pub agent_type: String,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A subagent is about to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubagentStop {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// Whether an earlier stop was blocked, so that the agent asks again.
    pub stop_hook_active: bool,
    /// The subagent's id.
    pub agent_id: String,
    /// Its transcript; empty if the agent sends none.
    #[serde(default)]
    pub agent_transcript_path: String,
    /// Its kind; empty for those that Claude Code starts for itself.
    pub agent_type: String,
    /// Its last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// Tasks that are still running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// Scheduled prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_crons: Option<Vec<SessionCron>>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// An agent of a team has nothing left to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeammateIdle {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// The agent.
    pub teammate_name: String,
    /// Its team.
    pub team_name: String,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A task is about to be marked completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCompleted {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// The task.
    pub task_id: String,
    /// Its title.
    pub task_subject: String,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_description: Option<String>,
    /// The agent that has the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teammate_name: Option<String>,
    /// That agent's team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_name: Option<String>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
