//! Codex: `codex exec --json`.
//!
//! Its output describes a failure in words only. The kind of the failure (`codex_error_info`) and
//! the end of a limit are in the file in which it records its session.

use hookwright_events::{FailureCause, Usage};
use serde_json::Value;

use super::{
    AgentReport, OutputParser, Preset, ReportedFailure, Reset, SessionFiles, cause_of_status,
    crash, readable,
};

pub(super) const PRESET: Preset = Preset {
    name: "codex",
    program: "codex",
    package: "@openai/codex",
    arguments: &[
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
    ],
    model_flag: "--model",
    session_files: Some(SessionFiles {
        home_variable: "CODEX_HOME",
        home_folder: ".codex",
        folder: "sessions",
        ending: ".jsonl",
    }),
    parser: || Box::new(Codex::default()),
};

#[derive(Default)]
struct Codex {
    session: Option<String>,
    text: String,
    usage: Option<Usage>,
    /// The error that it reported.
    error: Option<String>,
    /// What kind of failure that was.
    kind: Value,
    resets_at: Option<i64>,
    /// The last error message that it printed during the turn or before its session began.
    complaint: String,
    /// Whether its last line says that it reconnects to its model. It retries without end.
    is_out_of_reach: bool,
}

impl OutputParser for Codex {
    fn parse_line(&mut self, line: &str) -> Option<String> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return readable::plain(line) };
        self.is_out_of_reach = is_reconnecting(&event);
        match event["type"].as_str()? {
            "thread.started" => {
                self.session = event["thread_id"].as_str().map(str::to_owned);
                None
            }
            "item.started" => started(&event["item"]),
            "item.completed" => self.completed(&event["item"]),
            "turn.completed" => {
                self.usage = Some(usage(&event["usage"]));
                self.error = None;
                None
            }
            "turn.failed" => {
                self.error = event["error"]["message"].as_str().map(str::to_owned);
                None
            }
            // During the turn: it may still recover.
            "error" => {
                let message = readable::text(&event["message"]);
                self.complaint = message.clone().unwrap_or_default();
                message
            }
            _ => None,
        }
    }

    fn parse_error_line(&mut self, line: &str) {
        let is_before_session = self.session.is_none() && !line.trim().is_empty();
        if is_before_session {
            self.complaint = line.trim().to_owned();
        }
    }

    fn parse_session_line(&mut self, line: &str) {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let payload = &event["payload"];
        match payload["type"].as_str() {
            Some("token_count") => {
                let used = &payload["info"]["total_token_usage"];
                if used.is_object() {
                    self.usage = Some(usage(used));
                }
                self.resets_at = used_up_until(&payload["rate_limits"]);
            }
            Some("task_complete") => {
                self.kind = payload["error"]["codex_error_info"].clone();
            }
            _ => {}
        }
    }

    fn is_out_of_reach(&self) -> bool {
        self.is_out_of_reach
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn report(&mut self, exit_code: Option<i32>) -> AgentReport {
        let is_error = self.error.is_some() || exit_code != Some(0);
        let failure = is_error.then(|| self.failure(exit_code));
        let text = std::mem::take(&mut self.text);
        AgentReport { text, session: self.session.take(), usage: self.usage, failure }
    }
}

impl Codex {
    fn completed(&mut self, item: &Value) -> Option<String> {
        match item["type"].as_str()? {
            "agent_message" => {
                self.text = item["text"].as_str().unwrap_or_default().to_owned();
                readable::text(&item["text"])
            }
            "reasoning" => readable::text(&item["text"]),
            "error" => readable::text(&item["message"]),
            "file_change" => {
                let changes = item["changes"].as_array()?;
                let paths = changes.iter().filter_map(|change| change["path"].as_str());
                Some(format!("edited: {}", paths.collect::<Vec<_>>().join(", ")))
            }
            _ => None,
        }
    }

    fn failure(&self, exit_code: Option<i32>) -> ReportedFailure {
        let message = self.error.as_deref().unwrap_or(&self.complaint);
        let cause = self.cause();
        let resets = self.resets_at.filter(|_| cause == FailureCause::RateLimit).map(Reset::At);
        ReportedFailure { cause, resets, ..crash(message, exit_code) }
    }

    fn cause(&self) -> FailureCause {
        match &self.kind {
            Value::String(kind) => match &**kind {
                // A limit with an end belongs to a subscription; without one, the account is empty.
                "usage_limit_exceeded" if self.resets_at.is_some() => FailureCause::RateLimit,
                "usage_limit_exceeded" => FailureCause::Quota,
                "unauthorized" => FailureCause::Auth,
                "server_overloaded" | "internal_server_error" => FailureCause::Outage,
                _ => FailureCause::Crash,
            },
            // `{"http_connection_failed": {"http_status_code": 401}}`
            Value::Object(kinds) => kinds.values().next().map_or(FailureCause::Crash, |kind| {
                // Without a status there was no response.
                kind["http_status_code"].as_u64().map_or(FailureCause::Outage, cause_of_status)
            }),
            _ => FailureCause::Crash,
        }
    }
}

/// `Reconnecting... 2/5 (…)`, or `Reconnecting... waiting for network (…)`.
fn is_reconnecting(event: &Value) -> bool {
    let message = event["message"].as_str().unwrap_or_default();
    event["type"] == "error" && message.starts_with("Reconnecting")
}

fn started(item: &Value) -> Option<String> {
    match item["type"].as_str()? {
        "command_execution" => Some(readable::call("shell", item)),
        "web_search" => Some(readable::call("web search", item)),
        "mcp_tool_call" => {
            Some(readable::call(item["tool"].as_str().unwrap_or("tool"), &item["arguments"]))
        }
        _ => None,
    }
}

/// The time at which the last exhausted limit ends.
fn used_up_until(limits: &Value) -> Option<i64> {
    let windows = ["primary", "secondary"].map(|name| &limits[name]);
    let used_up = windows
        .into_iter()
        .filter(|window| window["used_percent"].as_f64().is_some_and(|percent| percent >= 100.0));
    used_up.filter_map(|window| window["resets_at"].as_i64()).max()
}

/// Cached tokens are included in those that were read.
fn usage(used: &Value) -> Usage {
    Usage {
        input_tokens: used["input_tokens"].as_u64().unwrap_or(0),
        output_tokens: used["output_tokens"].as_u64().unwrap_or(0),
        cost_usd: None,
    }
}
