//! Events of subagents, teams and their tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::base::{BackgroundTask, Base, SessionCron};

inputs! {
    /// A subagent begins.
    SubagentStart {
        /// The subagent's id.
        agent_id: String,
        /// Its kind.
        agent_type: String,
    }

    /// A subagent is about to stop.
    SubagentStop {
        /// Whether an earlier stop was blocked, so that the agent asks again.
        stop_hook_active: bool,
        /// The subagent's id.
        agent_id: String,
        /// Its transcript; empty if the agent sends none.
        #[serde(default)]
        agent_transcript_path: String,
        /// Its kind; empty for those that Claude Code starts for itself.
        agent_type: String,
        /// Its last message.
        last_assistant_message?: String,
        /// Tasks that are still running.
        background_tasks?: Vec<BackgroundTask>,
        /// Scheduled prompts.
        session_crons?: Vec<SessionCron>,
    }

    /// An agent of a team has nothing left to do.
    TeammateIdle {
        /// The agent.
        teammate_name: String,
        /// Its team.
        team_name: String,
    }

    /// A task is about to be marked completed.
    TaskCompleted {
        /// The task.
        task_id: String,
        /// Its title.
        task_subject: String,
        /// Its text.
        task_description?: String,
        /// The agent that has the task.
        teammate_name?: String,
        /// That agent's team.
        team_name?: String,
    }
}
