//! opencode: `opencode run --format json`.
//!
//! A failure is an event with the model's whole response: status, headers and body. If a limit ends
//! soon, the program waits for that itself.

use std::time::Duration;

use hookwright_events::{FailureCause, Usage};
use serde_json::Value;

use super::last_words::LastWords;
use super::{
    AgentReport, OutputParser, Preset, ReportedFailure, Reset, cause_of_status, crash, readable,
};

pub(super) const PRESET: Preset = Preset {
    name: "opencode",
    program: "opencode",
    package: "opencode-ai",
    arguments: &["run", "--format", "json", "--auto"],
    model_flag: "--model",
    session_files: None,
    parser: || Box::new(Opencode::default()),
};

#[derive(Default)]
struct Opencode {
    session: Option<String>,
    text: LastWords,
    usage: Option<Usage>,
    error: Option<Value>,
    complaint: String,
}

impl OutputParser for Opencode {
    fn parse_line(&mut self, line: &str) -> Option<String> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return readable::plain(line) };
        if let Some(session) = event["sessionID"].as_str() {
            self.session = Some(session.to_owned());
        }
        let part = &event["part"];
        match event["type"].as_str()? {
            "text" => {
                self.text.push_line(part["text"].as_str().unwrap_or_default());
                readable::text(&part["text"])
            }
            "tool_use" => {
                self.text.forget();
                let tool = part["tool"].as_str().unwrap_or("tool");
                Some(readable::call(tool, &part["state"]["input"]))
            }
            "step_finish" => {
                self.usage = Some(self.usage.unwrap_or_default().and(usage(part)));
                self.error = None;
                None
            }
            "error" => {
                self.error = Some(event["error"].clone());
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
        let is_error = self.error.is_some() || exit_code != Some(0);
        let failure = is_error.then(|| self.failure(exit_code));
        let (text, session) = (self.text.take(), self.session.take());
        AgentReport { text, session, usage: self.usage, failure }
    }
}

impl Opencode {
    fn failure(&self, exit_code: Option<i32>) -> ReportedFailure {
        let error = self.error.clone().unwrap_or_default();
        let data = &error["data"];
        let body = data["responseBody"].as_str().unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let cause = cause(&error, &body["error"]);
        let message = [&data["message"], &error["message"], &error["name"]];
        let message =
            message.iter().find_map(|message| message.as_str()).unwrap_or(&self.complaint);
        let resets = reset(&data["responseHeaders"], &body["error"]);
        let is_limit = matches!(cause, FailureCause::RateLimit | FailureCause::Outage);
        ReportedFailure { cause, resets: resets.filter(|_| is_limit), ..crash(message, exit_code) }
    }
}

fn cause(error: &Value, body: &Value) -> FailureCause {
    if body["code"] == "insufficient_quota" || body["type"] == "insufficient_quota" {
        return FailureCause::Quota;
    }
    match (error["name"].as_str(), error["data"]["statusCode"].as_u64()) {
        (Some("ProviderAuthError"), _) => FailureCause::Auth,
        (_, Some(status)) => cause_of_status(status),
        // The request was not answered, and may be sent again.
        (Some("APIError"), None) if error["data"]["isRetryable"] == true => FailureCause::Outage,
        _ => FailureCause::Crash,
    }
}

fn reset(headers: &Value, body: &Value) -> Option<Reset> {
    if let Some(at) = body["resets_at"].as_i64() {
        return Some(Reset::At(at));
    }
    let seconds = headers["retry-after"].as_str()?.parse().ok()?;
    Some(Reset::After(Duration::from_secs(seconds)))
}

fn usage(step: &Value) -> Usage {
    let tokens = |value: &Value| value.as_u64().unwrap_or(0);
    let counted = &step["tokens"];
    let cache = &counted["cache"];
    Usage {
        input_tokens: tokens(&counted["input"])
            .saturating_add(tokens(&cache["read"]))
            .saturating_add(tokens(&cache["write"])),
        output_tokens: tokens(&counted["output"]).saturating_add(tokens(&counted["reasoning"])),
        cost_usd: step["cost"].as_f64(),
    }
}
