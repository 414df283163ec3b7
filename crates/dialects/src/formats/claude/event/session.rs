//! Events of a session: setup, start, prompt, compaction, stop, end.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::base::{BackgroundTask, Base, SessionCron};

inputs! {
    /// The user gets a notification.
    Notification {
        /// The text.
        message: String,
        /// Its title.
        title?: String,
        /// `permission_prompt`, `idle_prompt`… An open set.
        notification_type: String,
    }

    /// A prompt was submitted.
    UserPromptSubmit {
        /// The prompt.
        prompt: String,
        /// The session's title.
        session_title?: String,
        /// Who submitted it.
        source?: PromptSource,
    }

    /// A session begins. The fields that a resumed session adds are kept in `more`.
    SessionStart {
        /// How it begins.
        source: StartSource,
        /// The kind of agent it is started as.
        agent_type?: String,
        /// The model.
        model?: String,
        /// The session's title.
        session_title?: String,
    }

    /// A session has ended.
    SessionEnd {
        /// The reason.
        reason: EndReason,
    }

    /// The agent is about to stop.
    Stop {
        /// Whether an earlier stop was blocked, so that the agent asks again.
        stop_hook_active: bool,
        /// The agent's last message.
        last_assistant_message?: String,
        /// Tasks that are still running.
        background_tasks?: Vec<BackgroundTask>,
        /// Scheduled prompts.
        session_crons?: Vec<SessionCron>,
    }

    /// The context is about to be compacted.
    PreCompact {
        /// Who requested it.
        trigger: CompactTrigger,
        /// What the user asked to keep. Always present, and `null` if the user asked nothing.
        #[serde(deserialize_with = "Option::deserialize")]
        custom_instructions: Option<String>,
    }

    /// A project is set up or maintained.
    Setup {
        /// The occasion.
        trigger: SetupTrigger,
    }
}

open_words! { "snake_case"
    /// Who submitted a prompt.
    PromptSource {
        /// A person.
        User,
        /// A program.
        Sdk,
        /// Claude Code itself.
        System,
        /// A loop that continues.
        LoopWakeup,
        /// A schedule.
        ScheduleWakeup,
        /// An awaited event.
        PollEvent,
    }

    /// How a session begins.
    StartSource {
        /// As a new session.
        Startup,
        /// Resumed.
        Resume,
        /// With an empty context.
        Clear,
        /// With a compacted context.
        Compact,
        /// As a copy of another.
        Fork,
    }

    /// Why a session has ended. `other` is one of Claude Code's reasons, and so is any text.
    EndReason {
        /// The context was cleared.
        Clear,
        /// Another session was resumed.
        Resume,
        /// The user logged out.
        Logout,
        /// The user left the prompt.
        PromptInputExit,
    }

    /// Who requested a compaction.
    CompactTrigger {
        /// The user.
        Manual,
        /// Claude Code, because the context is full.
        Auto,
    }

    /// The occasion of a setup.
    SetupTrigger {
        /// First setup.
        Init,
        /// Maintenance.
        Maintenance,
    }
}
