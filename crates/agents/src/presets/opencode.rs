//! opencode: `opencode run --format json`.
//!
//! A failure is an event with the model's whole answer: status, headers and body. Limits that end soon
//! it waits for itself.

use std::time::Duration;

use hookwright_events::{FailureCause, Usage};
use serde_json::Value;

use super::last_words::LastWords;
use super::{Failure, Listener, Preset, Reset, Said, cause_of_status, crash, readable};

pub(super) const PRESET: Preset = Preset {
    name: "opencode",
    program: "opencode",
    package: "opencode-ai",
    arguments: &["run", "--format", "json", "--auto"],
    model_flag: "--model",
    session_files: None,
    listener: || Box::new(Opencode::default()),
};

#[derive(Default)]
struct Opencode {
    session: Option<String>,
    text: LastWords,
    usage: Option<Usage>,
    error: Option<Value>,
    complaint: String,
}

impl Listener for Opencode {
    fn hear(&mut self, line: &str) -> Option<String> {
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

    fn hear_error(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.complaint = line.trim().to_owned();
        }
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn conclude(&mut self, exit_code: Option<i32>) -> Said {
        let is_error = self.error.is_some() || exit_code != Some(0);
        let failure = is_error.then(|| self.failure(exit_code));
        let (text, session) = (self.text.take(), self.session.take());
        Said { text, session, usage: self.usage, failure }
    }
}

impl Opencode {
    fn failure(&self, exit_code: Option<i32>) -> Failure {
        let error = self.error.clone().unwrap_or_default();
        let data = &error["data"];
        let body = data["responseBody"].as_str().unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let cause = cause(&error, &body["error"]);
        let said = [&data["message"], &error["message"], &error["name"]];
        let said = said.iter().find_map(|said| said.as_str()).unwrap_or(&self.complaint);
        let resets = reset(&data["responseHeaders"], &body["error"]);
        let is_limit = matches!(cause, FailureCause::RateLimit | FailureCause::Outage);
        Failure { cause, resets: resets.filter(|_| is_limit), ..crash(said, exit_code) }
    }
}

fn cause(error: &Value, told: &Value) -> FailureCause {
    if told["code"] == "insufficient_quota" || told["type"] == "insufficient_quota" {
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

fn reset(headers: &Value, told: &Value) -> Option<Reset> {
    if let Some(at) = told["resets_at"].as_i64() {
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
