//! Claude Code: `claude -p --output-format stream-json`.
//!
//! The reason for a failed turn is beside its last message (`error`, a word) and in the last line
//! (`api_error_status`). The end of a subscription's limit is in an event of its own.

use hookwright_events::{FailureCause, Usage};
use serde_json::Value;

use super::{
    AgentReport, OutputParser, Preset, ReportedFailure, Reset, cause_of_status, crash, readable,
};

pub(super) const PRESET: Preset = Preset {
    name: "claude",
    program: "claude",
    package: "@anthropic-ai/claude-code",
    arguments: &[
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
    ],
    model_flag: "--model",
    session_files: None,
    parser: || Box::new(Claude::default()),
};

#[derive(Default)]
struct Claude {
    session: Option<String>,
    /// The word beside the last message, if that message reports a failure.
    error: Option<String>,
    resets_at: Option<i64>,
    result: Option<Value>,
    /// The last message, for a run that has no result.
    last_text: String,
    /// The last line of standard error, for a run that failed before its first event.
    complaint: String,
}

impl OutputParser for Claude {
    fn parse_line(&mut self, line: &str) -> Option<String> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return readable::plain(line) };
        if let Some(session) = event["session_id"].as_str() {
            self.session = Some(session.to_owned());
        }
        match event["type"].as_str()? {
            "assistant" => self.message(&event),
            "system" if event["subtype"] == "api_retry" => retry(&event),
            "rate_limit_event" => {
                let limit = &event["rate_limit_info"];
                if limit["status"] == "rejected" {
                    self.resets_at = limit["resetsAt"].as_i64();
                }
                None
            }
            "result" => {
                self.result = Some(event);
                None
            }
            _ => None,
        }
    }

    fn parse_error_line(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.complaint = line.trim().to_owned();
        }
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn report(&mut self, exit_code: Option<i32>) -> AgentReport {
        let result = self.result.take().unwrap_or_default();
        let text = result["result"].as_str().unwrap_or(&self.last_text).to_owned();
        let is_error = result["is_error"] == true || exit_code != Some(0);
        let failure = is_error.then(|| self.failure(&result, &text, exit_code));
        AgentReport { text, session: self.session.take(), usage: usage(&result), failure }
    }
}

impl Claude {
    fn message(&mut self, event: &Value) -> Option<String> {
        // A subagent's messages are not the agent's own.
        let is_own = event["parent_tool_use_id"].is_null();
        if is_own {
            self.error = event["error"].as_str().map(str::to_owned);
        }
        let mut lines = Vec::new();
        for block in event["message"]["content"].as_array()? {
            match block["type"].as_str() {
                Some("text") => {
                    if let (true, Some(text)) = (is_own, block["text"].as_str()) {
                        self.last_text = text.to_owned();
                    }
                    lines.extend(readable::text(&block["text"]));
                }
                Some("tool_use") => {
                    let tool = block["name"].as_str().unwrap_or("tool");
                    lines.push(readable::call(tool, &block["input"]));
                }
                _ => {}
            }
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn failure(&self, result: &Value, text: &str, exit_code: Option<i32>) -> ReportedFailure {
        let cause = match self.error.as_deref() {
            Some("rate_limit") => FailureCause::RateLimit,
            Some("billing_error") => FailureCause::Quota,
            Some("authentication_failed" | "oauth_org_not_allowed") => FailureCause::Auth,
            Some("server_error" | "overloaded") => FailureCause::Outage,
            _ => result["api_error_status"].as_u64().map_or(FailureCause::Crash, cause_of_status),
        };
        let message = [text, &self.complaint].into_iter().find(|message| !message.is_empty());
        let failure = crash(message.unwrap_or_default(), exit_code);
        let resets = self.resets_at.filter(|_| cause == FailureCause::RateLimit).map(Reset::At);
        ReportedFailure { cause, resets, ..failure }
    }
}

fn retry(event: &Value) -> Option<String> {
    let error = event["error"].as_str()?;
    let seconds = event["retry_delay_ms"].as_f64().unwrap_or_default() / 1000.0;
    let (attempt, most) = (&event["attempt"], &event["max_retries"]);
    Some(format!("(no answer: {error}; attempt {attempt} of {most} in {seconds:.0} s)"))
}

fn usage(result: &Value) -> Option<Usage> {
    let usage = result.get("usage")?;
    let tokens = |name: &str| usage[name].as_u64().unwrap_or(0);
    Some(Usage {
        input_tokens: tokens("input_tokens")
            .saturating_add(tokens("cache_creation_input_tokens"))
            .saturating_add(tokens("cache_read_input_tokens")),
        output_tokens: tokens("output_tokens"),
        cost_usd: result["total_cost_usd"].as_f64(),
    })
}
