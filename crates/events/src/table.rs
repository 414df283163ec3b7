//! The one table of events. Documentation, schema, completion and `hookwright events` are generated
//! from it. A configuration may use the canonical name or, exactly, any alias.

use serde::Serialize;

use crate::event::{EventName, KnownAs};

/// What hooks can do at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// Hooks only observe; nothing can be blocked.
    Observes,
    /// A hook can block, and a broken guard blocks too.
    Blocks,
    /// A hook can block, but a broken one must not trap the agent.
    BlocksOnPurpose,
    /// A block stops nothing; its reason is added to the result.
    Annotates,
}

impl Power {
    /// Whether a block stops something here.
    pub fn can_block(self) -> bool {
        matches!(self, Power::Blocks | Power::BlocksOnPurpose)
    }
}

/// Another name of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Alias {
    /// The name, exactly as written.
    pub name: &'static str,
    /// The systems that use it, by the names of their dialects.
    #[serde(skip)]
    pub systems: &'static [&'static str],
    /// A hook under this name matches only if the event's reason is one of these; always if empty.
    pub only_reasons: &'static [&'static str],
}

/// One row of the table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct EventSpec {
    /// Canonical name, `domain:action`.
    pub name: &'static str,
    /// The names that other systems use.
    pub aliases: &'static [Alias],
    /// What hooks can do at the event.
    pub power: Power,
    /// What a block does, in a few words.
    pub block_does: Option<&'static str>,
    /// The field that a third name segment or a matcher compares.
    pub subject: Option<&'static str>,
    /// Data fields besides those of every event.
    pub fields: &'static [&'static str],
    /// Whether it shows that work was done, so that the count of blocked stops starts again.
    #[serde(skip)]
    pub is_work: bool,
    /// Whether it announces an end that a block prevents, under rules of its own.
    #[serde(skip)]
    pub is_stop: bool,
    /// What fires it, besides `hookwright fire`.
    pub fired_by: &'static [&'static str],
    /// When it happens, in one line.
    pub when: &'static str,
}

impl EventSpec {
    /// The name that a system uses for this event.
    pub fn name_in(&self, system: &str) -> Option<&'static str> {
        let alias = self.aliases.iter().find(|alias| alias.systems.contains(&system))?;
        Some(alias.name)
    }
}

const AGENT_PIPELINES: &str = "agent-pipelines";
const AUTOAGENT: &str = "autoagent";
const CLAUDE: &str = "claude";
const ITERATR: &str = "iteratr";

/// The system whose names hooks read as `hook_event_name`.
pub const HOOK_EVENT_NAMES: &str = CLAUDE;

/// Systems whose events may have no canonical name. Each has its own domain, in which any action is
/// an event, so that hooks can match events that are newer than this program.
pub static OPEN_DOMAINS: &[&str] =
    &[CLAUDE, "cline", "codex", "copilot", "droid", "gemini", "opencode", "qwen"];

/// What is known of an event of an open domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OpenSpec {
    /// The name, `domain:action`.
    pub name: &'static str,
    /// The name in the system of this domain.
    pub foreign_name: &'static str,
    /// What hooks can do at the event.
    pub power: Power,
    /// The field that a matcher compares.
    pub subject: Option<&'static str>,
}

const fn open(
    name: &'static str,
    foreign_name: &'static str,
    power: Power,
    subject: Option<&'static str>,
) -> OpenSpec {
    OpenSpec { name, foreign_name, power, subject }
}

/// Defines a table, and for each of its rows the constant of [`EventName`] in front of the row.
macro_rules! rows {
    (
        $(#[$about:meta])* static $table:ident: $spec:ident, numbers $row:ident;
        $($constant:ident = $value:expr),* $(,)?
    ) => {
        $(#[$about])*
        pub static $table: &[$spec] = &[$($value),*];

        #[doc = concat!("A row of [`", stringify!($table), "`], by its number.")]
        #[expect(non_camel_case_types, reason = "each variant is called like its constant")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum $row {
            $($constant),*
        }

        impl $row {
            const ALL: &[$row] = &[$($row::$constant),*];

            /// The row with exactly this canonical name.
            pub(crate) fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|row| row.spec().name == name)
            }

            /// The event's row.
            pub(crate) fn spec(self) -> &'static $spec {
                &$table[self as usize]
            }
        }

        impl EventName {
            $(
                #[doc = concat!("The event whose row begins with `", stringify!($constant), "`.")]
                pub const $constant: EventName = EventName(KnownAs::$row($row::$constant));
            )*
        }

        #[cfg(test)]
        impl $row {
            pub(crate) const CONSTANTS: &[(&str, EventName)] =
                &[$((stringify!($constant), EventName::$constant)),*];
        }
    };
}

rows! {
    /// The known events of open domains. Others are only observed.
    static OPEN_EVENTS: OpenSpec, numbers OpenRow;
    CLAUDE_POST_TOOL_BATCH =
        open("claude:post_tool_batch", "PostToolBatch", Power::BlocksOnPurpose, None),
    CLAUDE_USER_PROMPT_EXPANSION = open(
        "claude:user_prompt_expansion",
        "UserPromptExpansion",
        Power::Blocks,
        Some("command_name"),
    ),
    CLAUDE_STOP_FAILURE =
        open("claude:stop_failure", "StopFailure", Power::Observes, Some("error")),
    CLAUDE_POST_COMPACT =
        open("claude:post_compact", "PostCompact", Power::Observes, Some("trigger")),
    CLAUDE_PRE_MODEL_SWITCH =
        open("claude:pre_model_switch", "PreModelSwitch", Power::Blocks, Some("to_model")),
    CLAUDE_POST_MODEL_SWITCH =
        open("claude:post_model_switch", "PostModelSwitch", Power::Observes, Some("to_model")),
    CLAUDE_PERMISSION_DENIED =
        open("claude:permission_denied", "PermissionDenied", Power::Observes, Some("tool_name")),
    CLAUDE_TASK_CREATED = open("claude:task_created", "TaskCreated", Power::Blocks, None),
    CLAUDE_ELICITATION =
        open("claude:elicitation", "Elicitation", Power::Blocks, Some("mcp_server_name")),
    CLAUDE_ELICITATION_RESULT = open(
        "claude:elicitation_result",
        "ElicitationResult",
        Power::Blocks,
        Some("mcp_server_name"),
    ),
    CLAUDE_CONFIG_CHANGE =
        open("claude:config_change", "ConfigChange", Power::Blocks, Some("source")),
    CLAUDE_WORKTREE_CREATE = open("claude:worktree_create", "WorktreeCreate", Power::Blocks, None),
    CLAUDE_WORKTREE_REMOVE =
        open("claude:worktree_remove", "WorktreeRemove", Power::Observes, None),
    CLAUDE_INSTRUCTIONS_LOADED = open(
        "claude:instructions_loaded",
        "InstructionsLoaded",
        Power::Observes,
        Some("load_reason"),
    ),
    CLAUDE_CWD_CHANGED = open("claude:cwd_changed", "CwdChanged", Power::Observes, None),
    CLAUDE_FILE_CHANGED =
        open("claude:file_changed", "FileChanged", Power::Observes, Some("file_path")),
    CLAUDE_DIRECTORY_ADDED =
        open("claude:directory_added", "DirectoryAdded", Power::Observes, Some("source")),
    CLAUDE_MESSAGE_DISPLAY =
        open("claude:message_display", "MessageDisplay", Power::Observes, None),
}

/// An event of an open domain, by its name.
pub fn open_named(name: &str) -> Option<&'static OpenSpec> {
    OpenRow::named(name).map(OpenRow::spec)
}

const fn alias(name: &'static str, systems: &'static [&'static str]) -> Alias {
    Alias { name, systems, only_reasons: &[] }
}

const fn claude(name: &'static str) -> Alias {
    alias(name, &[CLAUDE])
}

/// A row with defaults for powers, aliases and fields.
const fn event(name: &'static str, when: &'static str) -> EventSpec {
    EventSpec {
        name,
        aliases: &[],
        power: Power::Observes,
        block_does: None,
        subject: None,
        fields: &[],
        is_work: false,
        is_stop: false,
        fired_by: &[],
        when,
    }
}

const TOOL: &[&str] = &["tool_name", "tool_input", "tool_use_id"];
const PERMISSION: &[&str] =
    &["tool_name", "tool_input", "tool_use_id", "permission_level", "permission_rule"];
const ISSUE: &[&str] = &[
    "issue_number",
    "issue_title",
    "issue_file",
    "plan_file",
    "task_id",
    "task_content",
    "provider",
];
const ISSUE_END: &[&str] = &[
    "issue_number",
    "issue_title",
    "issue_file",
    "plan_file",
    "task_id",
    "task_content",
    "provider",
    "success",
    "duration",
    "files_modified",
    "output",
    "error",
];
const COMMIT: &[&str] = &[
    "commit_message",
    "commit_id",
    "branch",
    "files_modified",
    "issue_number",
    "issue_title",
    "issue_file",
    "plan_file",
    "task_id",
    "task_content",
];

/// What fires the events of a session, for [`EventSpec::fired_by`].
pub const RUN: &str = "hookwright run";

/// What fires the events of commits.
pub const COMMITS: &str = "hooks of type git-commit";

/// The built-in agent, which fires the events of its own life.
pub const AGENT: &str = "hookwright agent";

/// What fires the events inside an agent's life.
const BUILT_IN: &[&str] = &[AGENT];

/// What fires the events that a session of either kind has.
const SESSIONS: &[&str] = &[RUN, AGENT];

const RUNNER: &[&str] = &[RUN];

/// What fires the completion of a task.
const TASKS: &[&str] = &["hookwright task done", RUN];

rows! {
    /// Every event, in the order of a session's life.
    static EVENTS: EventSpec, numbers TableRow;
    SESSION_SETUP = EventSpec {
        aliases: &[claude("Setup")],
        subject: Some("trigger"),
        fields: &["trigger"],
        fired_by: BUILT_IN,
        ..event("session:setup", "a project is set up or maintained")
    },
    SESSION_START = EventSpec {
        aliases: &[
            alias("on_session_start", &[AGENT_PIPELINES]),
            alias("session_start", &[ITERATR]),
            claude("SessionStart"),
        ],
        subject: Some("source"),
        fields: &["source", "model"],
        fired_by: SESSIONS,
        ..event("session:start", "a session begins, before its first iteration")
    },
    SESSION_MESSAGE = EventSpec {
        subject: Some("role"),
        fields: &["role", "content", "message_count"],
        fired_by: BUILT_IN,
        ..event("session:message", "a message is added to the session")
    },
    SESSION_NOTIFICATION = EventSpec {
        aliases: &[claude("Notification")],
        subject: Some("notification_type"),
        fields: &["notification_type", "message", "title"],
        fired_by: BUILT_IN,
        ..event("session:notification", "the user is notified of a question or an end")
    },
    SESSION_PRE_COMPACT = EventSpec {
        aliases: &[claude("PreCompact")],
        power: Power::Blocks,
        block_does: Some("nothing is compacted"),
        subject: Some("trigger"),
        fields: &["trigger", "custom_instructions"],
        fired_by: BUILT_IN,
        ..event("session:pre_compact", "the context is about to be compacted")
    },
    SESSION_STOP = EventSpec {
        aliases: &[alias("Stop", &[AUTOAGENT, CLAUDE])],
        power: Power::BlocksOnPurpose,
        block_does: Some("the session goes on"),
        is_stop: true,
        subject: Some("reason"),
        fields: &[
            "reason",
            "stop_hook_active",
            "last_assistant_message",
            "issues_completed",
            "issues_total",
            "duration",
        ],
        fired_by: SESSIONS,
        ..event("session:stop", "the session is about to end, usually because all work is done")
    },
    SESSION_END = EventSpec {
        aliases: &[
            Alias {
                name: "on_session_complete",
                systems: &[AGENT_PIPELINES],
                only_reasons: &["completed", "max_iterations"],
            },
            alias("session_end", &[ITERATR]),
            claude("SessionEnd"),
        ],
        subject: Some("reason"),
        fields: &["reason", "error"],
        fired_by: SESSIONS,
        ..event("session:end", "the session has ended")
    },
    STAGE_START = EventSpec {
        subject: Some("stage"),
        fired_by: RUNNER,
        ..event("stage:start", "a stage begins")
    },
    STAGE_COMPLETE = EventSpec {
        aliases: &[alias("on_stage_complete", &[AGENT_PIPELINES])],
        subject: Some("stage"),
        fields: &["stage_outputs", "changed_files"],
        fired_by: RUNNER,
        ..event("stage:complete", "a stage is complete")
    },
    ITERATION_START = EventSpec {
        aliases: &[
            alias("on_iteration_start", &[AGENT_PIPELINES]),
            alias("pre_iteration", &[ITERATR]),
        ],
        subject: Some("stage"),
        fired_by: RUNNER,
        ..event("iteration:start", "before each call of the agent")
    },
    ITERATION_COMPLETE = EventSpec {
        aliases: &[
            alias("on_iteration_complete", &[AGENT_PIPELINES]),
            alias("post_iteration", &[ITERATR]),
        ],
        subject: Some("stage"),
        fields: &["changed_files", "stage_outputs"],
        is_work: true,
        fired_by: RUNNER,
        ..event("iteration:complete", "after each iteration that succeeded")
    },
    ITERATION_ERROR = EventSpec {
        aliases: &[alias("on_error", &[AGENT_PIPELINES, ITERATR])],
        subject: Some("stage"),
        fields: &["error", "changed_files", "stage_outputs"],
        fired_by: RUNNER,
        ..event("iteration:error", "an iteration has failed")
    },
    EXECUTION_PRE_START = EventSpec {
        aliases: &[alias("PreExecutionStart", &[AUTOAGENT])],
        power: Power::Blocks,
        block_does: Some("the item is skipped and marked blocked"),
        fields: ISSUE,
        fired_by: RUNNER,
        ..event("execution:pre_start", "work on an issue or a task is about to begin")
    },
    EXECUTION_POST_START = EventSpec {
        aliases: &[alias("PostExecutionStart", &[AUTOAGENT])],
        fields: ISSUE,
        fired_by: RUNNER,
        ..event("execution:post_start", "work on an issue or a task has begun")
    },
    EXECUTION_PRE_END = EventSpec {
        aliases: &[alias("PreExecutionEnd", &[AUTOAGENT])],
        power: Power::Blocks,
        block_does: Some("the item is not complete: it has failed"),
        fields: ISSUE_END,
        fired_by: RUNNER,
        ..event("execution:pre_end", "an issue or a task is about to be marked complete")
    },
    EXECUTION_POST_END = EventSpec {
        aliases: &[alias("PostExecutionEnd", &[AUTOAGENT])],
        fields: ISSUE_END,
        is_work: true,
        fired_by: RUNNER,
        ..event("execution:post_end", "work on an issue or a task has ended, also after a failure")
    },
    GIT_PRE_COMMIT = EventSpec {
        aliases: &[alias("PreGitCommit", &[AUTOAGENT])],
        power: Power::Blocks,
        block_does: Some("nothing is committed"),
        fields: COMMIT,
        fired_by: &[COMMITS],
        ..event("git:pre_commit", "a commit is about to be made")
    },
    GIT_POST_COMMIT = EventSpec {
        aliases: &[alias("PostGitCommit", &[AUTOAGENT])],
        fields: COMMIT,
        fired_by: &[COMMITS],
        ..event("git:post_commit", "a commit was made")
    },
    TASK_COMPLETE = EventSpec {
        aliases: &[alias("on_task_complete", &[ITERATR]), claude("TaskCompleted")],
        power: Power::BlocksOnPurpose,
        block_does: Some("the task is not completed"),
        fields: &[
            "task_id",
            "task_content",
            "task_subject",
            "task_description",
            "teammate_name",
            "team_name",
        ],
        is_work: true,
        fired_by: TASKS,
        ..event("task:complete", "a task is about to be marked completed")
    },
    AGENT_START = EventSpec {
        aliases: &[claude("SubagentStart")],
        subject: Some("agent_type"),
        fired_by: BUILT_IN,
        ..event("agent:start", "a subagent begins")
    },
    AGENT_STOP = EventSpec {
        aliases: &[claude("SubagentStop")],
        power: Power::BlocksOnPurpose,
        block_does: Some("the subagent goes on"),
        is_stop: true,
        subject: Some("agent_type"),
        fields: &["reason", "stop_hook_active", "agent_transcript_path", "last_assistant_message"],
        fired_by: BUILT_IN,
        ..event("agent:stop", "a subagent is about to end")
    },
    AGENT_IDLE = EventSpec {
        aliases: &[claude("TeammateIdle")],
        power: Power::BlocksOnPurpose,
        block_does: Some("it keeps working"),
        fields: &["teammate_name", "team_name"],
        ..event("agent:idle", "a background agent has nothing left to do")
    },
    TOOL_PRE_EXECUTE = EventSpec {
        aliases: &[claude("PreToolUse")],
        power: Power::Blocks,
        block_does: Some("the tool does not run, the agent reads why"),
        subject: Some("tool_name"),
        fields: TOOL,
        fired_by: BUILT_IN,
        ..event("tool:pre_execute", "a tool is about to run")
    },
    TOOL_POST_EXECUTE = EventSpec {
        aliases: &[claude("PostToolUse")],
        power: Power::Annotates,
        block_does: Some("its reason is added beside the result"),
        subject: Some("tool_name"),
        fields: &["tool_name", "tool_input", "tool_response", "tool_use_id", "duration_ms"],
        is_work: true,
        fired_by: BUILT_IN,
        ..event("tool:post_execute", "a tool has run")
    },
    TOOL_ERROR = EventSpec {
        aliases: &[claude("PostToolUseFailure")],
        subject: Some("tool_name"),
        fields: &["tool_name", "tool_input", "tool_use_id", "error", "is_interrupt", "duration_ms"],
        is_work: true,
        fired_by: BUILT_IN,
        ..event("tool:error", "a tool has failed")
    },
    LLM_PRE_REQUEST = EventSpec {
        power: Power::Blocks,
        block_does: Some("no request is sent"),
        subject: Some("model"),
        fields: &["model", "message_count", "request_attempt"],
        fired_by: BUILT_IN,
        ..event("llm:pre_request", "a request to the model is about to be sent")
    },
    LLM_POST_RESPONSE = EventSpec {
        subject: Some("model"),
        fields: &["model", "request_attempt", "tokens", "usage", "content"],
        fired_by: BUILT_IN,
        ..event("llm:post_response", "the model has answered")
    },
    LLM_STREAM_START = EventSpec {
        subject: Some("model"),
        fields: &["model", "request_attempt"],
        fired_by: BUILT_IN,
        ..event("llm:stream_start", "the model's answer begins to arrive")
    },
    LLM_STREAM_END = EventSpec {
        subject: Some("model"),
        fields: &["model", "request_attempt", "tokens"],
        fired_by: BUILT_IN,
        ..event("llm:stream_end", "the model's answer has arrived")
    },
    PERMISSION_CHECK = EventSpec {
        power: Power::Blocks,
        block_does: Some("permission is denied"),
        subject: Some("tool_name"),
        fields: PERMISSION,
        fired_by: BUILT_IN,
        ..event("permission:check", "a tool's permission is checked")
    },
    PERMISSION_PROMPT = EventSpec {
        aliases: &[claude("PermissionRequest")],
        power: Power::Blocks,
        block_does: Some("answers instead of the user"),
        subject: Some("tool_name"),
        fields: &["tool_name", "tool_input", "tool_use_id", "permission_suggestions"],
        fired_by: BUILT_IN,
        ..event("permission:prompt", "the user is about to be asked for permission")
    },
    PERMISSION_GRANTED = EventSpec {
        subject: Some("tool_name"),
        fields: PERMISSION,
        fired_by: BUILT_IN,
        ..event("permission:granted", "a tool's permission was granted")
    },
    PERMISSION_DENIED = EventSpec {
        subject: Some("tool_name"),
        fields: &["tool_name", "tool_input", "tool_use_id", "permission_rule", "reason"],
        fired_by: BUILT_IN,
        ..event("permission:denied", "a tool's permission was denied")
    },
    USER_PROMPT_SUBMIT = EventSpec {
        aliases: &[claude("UserPromptSubmit")],
        power: Power::Blocks,
        block_does: Some("the prompt is not sent"),
        fields: &["prompt"],
        fired_by: BUILT_IN,
        ..event("user:prompt_submit", "the user has submitted a prompt")
    },
    USER_INTERRUPT = EventSpec { fired_by: SESSIONS, ..event("user:interrupt", "the user has interrupted") },
}

/// The row with exactly this canonical name.
pub fn named(name: &str) -> Option<&'static EventSpec> {
    TableRow::named(name).map(TableRow::spec)
}

/// The row with this canonical name or, exactly, this alias.
pub fn resolve(name: &str) -> Option<&'static EventSpec> {
    resolve_with_alias(name).map(|(spec, _)| spec)
}

/// Like [`resolve`], with the alias if it was one: some aliases match certain reasons only.
pub fn resolve_with_alias(name: &str) -> Option<(&'static EventSpec, Option<&'static Alias>)> {
    if let Some(spec) = named(name) {
        return Some((spec, None));
    }
    EVENTS.iter().find_map(|spec| {
        spec.aliases.iter().find(|alias| alias.name == name).map(|alias| (spec, Some(alias)))
    })
}

/// Every canonical name and every alias.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    EVENTS
        .iter()
        .flat_map(|spec| std::iter::once(spec.name).chain(spec.aliases.iter().map(|a| a.name)))
}

#[cfg(test)]
mod tests;
