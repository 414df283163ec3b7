//! The one table of data fields: a name for each, its other spellings, its meaning.
//!
//! If Claude Code's hooks have a field for the same thing, its name is used, so that the JSON of a
//! native hook is a superset of theirs. Every field here is also a variable: `tool_name` is
//! `${TOOL_NAME}` and `${HOOKWRIGHT_TOOL_NAME}`. Other fields travel in the JSON only, so data can
//! never name a variable that controls the shell (`path`, `bash_env`, `ld_preload`). Case and
//! underscores are ignored: `toolName` and `TOOL_NAME` are `tool_name`.

use serde::Serialize;
use serde_json::{Map, Value};

/// The type of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// Any text.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// A path.
    Path,
    /// Paths, as a list or one per line.
    Paths,
    /// Any JSON value.
    Json,
}

/// One data field.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FieldSpec {
    /// The canonical name, in snake_case.
    pub name: &'static str,
    /// Other spellings, accepted from any host and normalised on input.
    pub aliases: &'static [&'static str],
    /// The type of its value.
    pub kind: FieldKind,
    /// Whether its value may be any text: a prompt, a command, a file name. Otherwise it is a
    /// number, one of a few words, or a name that a configuration or a program made.
    pub is_free_text: bool,
    /// The meaning, in one line.
    pub meaning: &'static str,
}

impl FieldSpec {
    /// The variable's name: `TOOL_NAME` for `tool_name`.
    pub fn variable(&self) -> String {
        self.name.to_ascii_uppercase()
    }
}

const fn field(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: FieldKind,
    meaning: &'static str,
) -> FieldSpec {
    FieldSpec { name, aliases, kind, is_free_text: false, meaning }
}

/// A field whose value may be any text.
const fn free(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: FieldKind,
    meaning: &'static str,
) -> FieldSpec {
    FieldSpec { is_free_text: true, ..field(name, aliases, kind, meaning) }
}

/// Fields that every event may carry.
pub const COMMON_FIELDS: &[&str] = &[
    "session",
    "session_id",
    "session_dir",
    "transcript_path",
    "cwd",
    "permission_mode",
    "timestamp",
    "prompt_id",
    "agent_id",
    "agent_type",
    "stage",
    "next_stage",
    "iteration",
    "max_iterations",
    "progress",
    "status",
    "ctx",
    "last_decision",
];

/// Fields that describe the work item of an execution. Events that a hook within the execution
/// fires carry them too.
pub const WORK_ITEM_FIELDS: &[&str] =
    &["issue_number", "issue_title", "issue_file", "plan_file", "task_id", "task_content"];

/// Further fields that agents send, and what an event says about itself. They are in the JSON only,
/// not in variables.
const JSON_ONLY: &[&str] = &[
    "background_tasks",
    "context_limit",
    "context_usage",
    "crons",
    "effort",
    "elapsed_time",
    "event",
    "file_path",
    "hook",
    "hook_event_name",
    "hook_name",
    "host",
    "initial_prompt",
    "input_tokens",
    "llm_request",
    "llm_response",
    "mcp_context",
    "mcp_server",
    "message_id",
    "parent_agent_id",
    "prompt_response",
    "session_crons",
    "session_duration_ms",
    "stop_reason",
    "subject",
    "submitted_prompt",
    "tool_call_id",
    "tool_calls",
    "tool_execution_count",
    "turn_id",
    "version",
];

/// Whether an event may have a field of this spelling, as far as known.
pub fn is_known(spelling: &str) -> bool {
    canonical(spelling).is_some()
        || JSON_ONLY.iter().any(|name| letters(name).eq(letters(spelling)))
}

/// Every field, once.
pub const FIELDS: &[FieldSpec] = &[
    field("session", &["session_name"], FieldKind::Text, "name of the session"),
    field("session_id", &[], FieldKind::Text, "unique id of the session"),
    field("session_dir", &[], FieldKind::Path, "the session's own folder"),
    free("transcript_path", &[], FieldKind::Path, "the agent's transcript, as JSON lines"),
    free("cwd", &["workspace", "working_dir"], FieldKind::Path, "where the agent works"),
    field("permission_mode", &[], FieldKind::Text, "the agent's permission mode"),
    field("timestamp", &[], FieldKind::Text, "when it happened, ISO 8601 in UTC"),
    field("prompt_id", &[], FieldKind::Text, "id of the prompt being worked on"),
    field("agent_id", &[], FieldKind::Text, "id of the subagent"),
    field("agent_type", &[], FieldKind::Text, "kind of the subagent"),
    field("stage", &[], FieldKind::Text, "name of the current stage"),
    field("next_stage", &[], FieldKind::Text, "name of the next stage, empty after the last"),
    field("iteration", &[], FieldKind::Number, "iteration within its stage, from 1"),
    field("max_iterations", &[], FieldKind::Number, "the maximum number of iterations"),
    field("progress", &[], FieldKind::Path, "the session's progress file"),
    field("status", &[], FieldKind::Path, "the iteration's status.json"),
    field("ctx", &[], FieldKind::Path, "the iteration's context.json"),
    field("last_decision", &[], FieldKind::Text, "decision of the last finished iteration"),
    free("changed_files", &[], FieldKind::Paths, "files changed in this iteration"),
    free("stage_outputs", &[], FieldKind::Paths, "outputs of the current stage"),
    free("error", &[], FieldKind::Text, "what went wrong"),
    field(
        "source",
        &[],
        FieldKind::Text,
        "what started the session: startup, resume, clear, compact",
    ),
    field("trigger", &[], FieldKind::Text, "what caused it: init, maintenance, manual, auto"),
    free("custom_instructions", &[], FieldKind::Text, "what the user asked the compaction to keep"),
    field(
        "role",
        &["message_role"],
        FieldKind::Text,
        "author of the message: user, assistant, system",
    ),
    free("content", &["message_content"], FieldKind::Text, "the message's text"),
    field("message_count", &[], FieldKind::Number, "messages in the session so far"),
    free("message", &[], FieldKind::Text, "text of the notification"),
    free("title", &[], FieldKind::Text, "title of the notification"),
    field("notification_type", &[], FieldKind::Text, "kind of the notification"),
    free("reason", &[], FieldKind::Text, "why the session or agent ends"),
    field(
        "stop_hook_active",
        &[],
        FieldKind::Bool,
        "a stop was blocked before, and this is another attempt",
    ),
    free("last_assistant_message", &[], FieldKind::Text, "the agent's last message"),
    free("agent_transcript_path", &[], FieldKind::Path, "the subagent's transcript"),
    field("tool_name", &["tool"], FieldKind::Text, "the tool"),
    free("tool_input", &["tool_args"], FieldKind::Json, "the tool's input"),
    free(
        "tool_response",
        &["tool_result", "tool_output"],
        FieldKind::Json,
        "what the tool returned",
    ),
    field("tool_use_id", &[], FieldKind::Text, "id of this tool call"),
    field("is_interrupt", &[], FieldKind::Bool, "the user interrupted the tool"),
    field("duration_ms", &[], FieldKind::Number, "how long the tool ran, in milliseconds"),
    field("model", &["llm_model"], FieldKind::Text, "the model"),
    field(
        "request_attempt",
        &[],
        FieldKind::Number,
        "which attempt of the request it is, from 1: a failed request is sent again",
    ),
    field("tokens", &["llm_tokens"], FieldKind::Number, "tokens of the response"),
    free("usage", &[], FieldKind::Json, "tokens of the response, by kind: input, output, cache"),
    field("permission_level", &["perm_level"], FieldKind::Text, "allow, ask or deny, before hooks"),
    free("permission_rule", &["perm_rule"], FieldKind::Text, "the rule that matched, if any"),
    free("permission_suggestions", &[], FieldKind::Json, "rules the user could add"),
    free("prompt", &["user_input", "user_prompt"], FieldKind::Text, "what the user typed"),
    field("issue_number", &[], FieldKind::Number, "number of the issue"),
    free("issue_title", &[], FieldKind::Text, "title of the issue"),
    free("issue_file", &[], FieldKind::Path, "file of the issue"),
    free("plan_file", &[], FieldKind::Path, "file of the issue's plan"),
    field("success", &[], FieldKind::Bool, "whether the execution succeeded"),
    field("duration", &[], FieldKind::Number, "how long it took, in milliseconds"),
    field("provider", &[], FieldKind::Text, "the agent that did the work"),
    free("files_modified", &[], FieldKind::Paths, "files the execution changed"),
    free("output", &[], FieldKind::Text, "what the agent printed"),
    field("issues_completed", &[], FieldKind::Number, "issues completed so far"),
    field("issues_total", &["total_issues"], FieldKind::Number, "issues in this session"),
    field("task_id", &[], FieldKind::Text, "id of the task"),
    free("task_content", &[], FieldKind::Text, "text of the task"),
    free("task_subject", &[], FieldKind::Text, "subject of the task"),
    free("task_description", &[], FieldKind::Text, "description of the task"),
    free("teammate_name", &[], FieldKind::Text, "name of the agent in its team"),
    free("team_name", &[], FieldKind::Text, "name of the team"),
    free("commit_message", &[], FieldKind::Text, "message of the commit"),
    field("commit_id", &[], FieldKind::Text, "id of the commit"),
    free("branch", &[], FieldKind::Text, "branch of the commit"),
];

/// The field with exactly this canonical name.
pub fn named(name: &str) -> Option<&'static FieldSpec> {
    FIELDS.iter().find(|field| field.name == name)
}

/// The canonical name of a known field in any spelling: `toolName`, `ToolName`, `TOOL_NAME`.
pub fn canonical(spelling: &str) -> Option<&'static str> {
    if let Some(field) = named(spelling) {
        return Some(field.name);
    }
    let same = |name: &str| letters(name).eq(letters(spelling));
    FIELDS
        .iter()
        .find(|field| same(field.name) || field.aliases.iter().any(|alias| same(alias)))
        .map(|field| field.name)
}

/// A name without the characters in which spellings differ.
fn letters(name: &str) -> impl Iterator<Item = u8> + '_ {
    name.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase())
}

/// The data under canonical names. If both spellings are present, the canonical one keeps its value
/// and the other one is kept under its own name, so that no value is lost.
pub fn normalise(data: Map<String, Value>) -> Map<String, Value> {
    let foreign = |name: &str| canonical(name).filter(|canonical| *canonical != name);
    if !data.keys().any(|name| foreign(name).is_some()) {
        return data;
    }
    // A field that is `null` does not take the canonical name from another spelling.
    let taken: Vec<String> =
        data.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.clone()).collect();
    let mut normal = Map::with_capacity(data.len());
    for (name, value) in data {
        match foreign(&name) {
            Some(ours)
                if !taken.iter().any(|t| t == ours)
                    && normal.get(ours).is_none_or(Value::is_null) =>
            {
                normal.insert(ours.to_owned(), value)
            }
            // A canonical field without a value must not overwrite one from another spelling.
            None if value.is_null() && normal.contains_key(&name) => None,
            _ => normal.insert(name, value),
        };
    }
    normal
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("not an object: {other}"),
        }
    }

    #[test]
    fn aliases_and_camel_case_become_the_canonical_name() {
        let given =
            json!({ "issueNumber": 7, "tool_args": { "command": "ls" }, "filesModified": [] });
        assert_eq!(
            normalise(object(given)),
            object(
                json!({ "issue_number": 7, "tool_input": { "command": "ls" }, "files_modified": [] })
            )
        );
    }

    #[test]
    fn if_both_spellings_are_present_both_values_are_kept() {
        let given = json!({ "tool_args": 1, "tool_input": 2, "toolInput": 3 });
        assert_eq!(normalise(object(given.clone())), object(given));
    }

    #[test]
    fn null_takes_no_name() {
        for given in
            [r#"{"tool_name": null, "tool": "bash"}"#, r#"{"tool": "bash", "tool_name": null}"#]
        {
            let given: Value = serde_json::from_str(given).expect("JSON");
            assert_eq!(normalise(object(given)), object(json!({ "tool_name": "bash" })));
        }
    }

    #[test]
    fn unknown_fields_stay_as_they_are() {
        let given = json!({ "PATH": "/evil", "bash_env": "x", "myField": 1 });
        assert_eq!(normalise(object(given.clone())), object(given));
    }

    #[test]
    fn fields_that_agents_send_are_known_under_any_spelling() {
        for name in ["tool_name", "toolName", "hook_event_name", "turnId", "mcp_server"] {
            assert!(is_known(name), "{name}");
        }
        for name in ["tool_nme", "my_field", ""] {
            assert!(!is_known(name), "{name}");
        }
        assert!(JSON_ONLY.iter().all(|name| canonical(name).is_none()), "listed twice");
    }

    #[test]
    fn no_spelling_means_two_fields() {
        let mut all: Vec<Vec<u8>> = FIELDS
            .iter()
            .flat_map(|f| std::iter::once(f.name).chain(f.aliases.iter().copied()))
            .map(|name| letters(name).collect())
            .collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn every_common_field_is_in_the_table() {
        for name in COMMON_FIELDS.iter().chain(WORK_ITEM_FIELDS) {
            assert!(named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn only_texts_and_their_containers_are_free_text() {
        for field in FIELDS {
            match field.kind {
                FieldKind::Number | FieldKind::Bool => {
                    assert!(!field.is_free_text, "{}", field.name)
                }
                FieldKind::Json | FieldKind::Paths => assert!(field.is_free_text, "{}", field.name),
                FieldKind::Text | FieldKind::Path => {}
            }
        }
        for (name, is_free_text) in [
            ("error", true),
            ("issue_title", true),
            ("prompt", true),
            ("stage", false),
            ("tool_name", false),
        ] {
            assert_eq!(named(name).map(|field| field.is_free_text), Some(is_free_text), "{name}");
        }
    }
}
