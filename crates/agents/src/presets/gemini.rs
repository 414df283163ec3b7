//! Gemini CLI: `gemini --output-format stream-json`.
//!
//! After a failed request its exit code is the lower byte of the HTTP status. The error on standard
//! error contains the delay before the next attempt, if there is one, and its class shows whether
//! the quota of the day is exhausted.

use std::time::Duration;

use hookwright_events::{FailureCause, Usage};
use serde_json::Value;

use super::last_words::LastWords;
use super::{
    AgentReport, OutputParser, Preset, ReportedFailure, Reset, cause_of_status, crash, readable,
};

pub(super) const PRESET: Preset = Preset {
    name: "gemini",
    program: "gemini",
    package: "@google/gemini-cli",
    arguments: &["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
    model_flag: "--model",
    session_files: None,
    parser: || Box::new(Gemini::default()),
};

/// Statuses with which a model responds; the exit code is the lower byte of one of them.
const STATUSES: &[u64] = &[400, 401, 402, 403, 404, 408, 429, 500, 502, 503, 504];

/// Its exit code if no login is configured.
const NOT_LOGGED_IN: i32 = 41;

#[derive(Default)]
struct Gemini {
    session: Option<String>,
    text: LastWords,
    result: Value,
    /// The class of the error that ended it, without `Error` at its end.
    class: Option<String>,
    retry_after: Option<Duration>,
    /// The last two lines of standard error: the problem, then the advice.
    complaint: String,
}

impl OutputParser for Gemini {
    fn parse_line(&mut self, line: &str) -> Option<String> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return readable::plain(line) };
        match event["type"].as_str()? {
            "init" => {
                self.session = event["session_id"].as_str().map(str::to_owned);
                None
            }
            "message" if event["role"] == "assistant" => {
                self.text.push(event["content"].as_str().unwrap_or_default());
                readable::text(&event["content"])
            }
            "tool_use" => {
                self.text.forget();
                let tool = event["tool_name"].as_str().unwrap_or("tool");
                Some(readable::call(tool, &event["parameters"]))
            }
            "error" => readable::text(&event["message"]),
            "result" => {
                self.result = event;
                None
            }
            _ => None,
        }
    }

    fn parse_error_line(&mut self, line: &str) {
        const HEAD: &str = "Error when talking to Gemini API";
        if let Some(rest) = line.strip_prefix(HEAD) {
            // `… Full report available at: PATH CLASS: MESSAGE`
            let class =
                rest.split(": ").find_map(|part| part.rsplit(' ').next()?.strip_suffix("Error"));
            self.class = class.map(str::to_owned);
            self.retry_after = None;
        }
        if let Some(delay) = line.trim().strip_prefix("retryDelayMs: ") {
            let delay = delay.trim_end_matches(',').parse().ok().map(Duration::from_millis);
            self.retry_after = delay;
        }
        if !line.trim().is_empty() {
            let last = self.complaint.lines().last().unwrap_or_default();
            self.complaint = format!("{last}\n{}", line.trim());
        }
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn report(&mut self, exit_code: Option<i32>) -> AgentReport {
        let is_error = self.result["status"] == "error" || exit_code != Some(0);
        let failure = is_error.then(|| self.failure(exit_code));
        let stats = self.result["stats"].as_object();
        let usage = stats.map(|stats| {
            let tokens = |name: &str| stats.get(name).and_then(Value::as_u64).unwrap_or(0);
            let (input_tokens, output_tokens) = (tokens("input_tokens"), tokens("output_tokens"));
            Usage { input_tokens, output_tokens, cost_usd: None }
        });
        AgentReport { text: self.text.take(), session: self.session.take(), usage, failure }
    }
}

impl Gemini {
    fn failure(&self, exit_code: Option<i32>) -> ReportedFailure {
        let message = self.result["error"]["message"].as_str();
        let answer = message.and_then(in_message);
        let is_used_up = self.class.as_deref() == Some("TerminalQuota");
        let cause = match self.cause(exit_code, answer.as_ref()) {
            FailureCause::RateLimit if is_used_up && self.retry_after.is_none() => {
                FailureCause::Quota
            }
            cause => cause,
        };
        let words = answer.as_ref().and_then(|answer| answer["error"]["message"].as_str());
        let words = words.or(message).unwrap_or(self.complaint.trim());
        let words = words.strip_prefix("[API Error: ").unwrap_or(words).lines().next();
        let words = words.unwrap_or_default().trim_end_matches(']');
        let is_limit = matches!(cause, FailureCause::RateLimit | FailureCause::Outage);
        let resets = self.retry_after.filter(|_| is_limit).map(Reset::After);
        ReportedFailure { cause, resets, ..crash(words, exit_code) }
    }

    fn cause(&self, exit_code: Option<i32>, answer: Option<&Value>) -> FailureCause {
        let Some(code) = exit_code else { return FailureCause::Crash };
        if code == NOT_LOGGED_IN || answer.is_some_and(is_about_key) {
            return FailureCause::Auth;
        }
        // The request itself failed, without a response.
        if self.class.as_deref() == Some("") {
            return FailureCause::Outage;
        }
        let status =
            STATUSES.iter().find(|status| (**status & 0xff) == u64::from(code.unsigned_abs()));
        status.map_or(FailureCause::Crash, |status| cause_of_status(*status))
    }
}

/// The model's own error in the message: `[API Error: {…}]`.
fn in_message(message: &str) -> Option<Value> {
    let inner = message.strip_prefix("[API Error: ")?;
    let mut values = serde_json::Deserializer::from_str(inner).into_iter::<Value>();
    values.next()?.ok().filter(Value::is_object)
}

/// Whether the error is about the key: an unknown key is refused with status 400.
fn is_about_key(answer: &Value) -> bool {
    let details = answer["error"]["details"].as_array().map(Vec::as_slice).unwrap_or_default();
    details.iter().any(|detail| detail["reason"] == "API_KEY_INVALID")
}
