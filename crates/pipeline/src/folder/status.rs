//! [`AgentStatus`]: `status.json`, the agent's answer about its iteration.
//!
//! The agent writes it, so it may be anything: missing, half a file, a pipe without a writer, a
//! gigabyte. Reading never waits and never fails; it says what was found. The runner decides what a
//! missing or invalid file means.

use std::fmt;
use std::time::Duration;

use hookwright_events::{FailureCause, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::FolderError;
use super::open_folder::{OpenFolder, Read};
use crate::limits::STATUS_BYTES_MAX;

/// The content of an agent's `status.json`. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AgentStatus {
    /// How to continue. The words are exactly `continue`, `stop` and `error`.
    #[serde(deserialize_with = "decision")]
    pub decision: StatusDecision,
    /// The agent's reason.
    #[serde(default, deserialize_with = "text_or_null")]
    pub reason: String,
    /// What was done, in a few sentences.
    #[serde(default, deserialize_with = "text_or_null")]
    pub summary: String,
    /// With `error`: why the agent could not work at all. The turn then goes to another agent, or
    /// is repeated later.
    #[serde(default)]
    pub failure: Option<FailureCause>,
    /// When it may be asked again: ISO 8601, or seconds since 1970.
    #[serde(default, deserialize_with = "moment")]
    pub resets_at: Option<i64>,
    /// The same as seconds from now.
    #[serde(default, deserialize_with = "wait")]
    pub retry_after: Option<Duration>,
    /// What it used.
    #[serde(default, deserialize_with = "usage")]
    pub usage: Option<Usage>,
    /// The agent's name for its own session.
    #[serde(default)]
    pub agent_session: Option<String>,
}

/// How the agent wants to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusDecision {
    /// There is more to do.
    Continue,
    /// All is done.
    Stop,
    /// The iteration failed.
    Error,
}

/// The result of reading `status.json`.
#[derive(Debug, Clone, PartialEq)]
pub enum StatusFile {
    /// The agent wrote none.
    Missing,
    /// It is invalid.
    Broken(BrokenStatus),
    /// A valid status.
    Read(Box<AgentStatus>),
}

/// Why a `status.json` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenStatus {
    /// It is not a file.
    #[error("status.json is {found}, expected a file")]
    NotAFile {
        /// What it is: `a folder`, `a symbolic link`…
        found: &'static str,
    },
    /// It is too large.
    #[error("status.json has {bytes} bytes, expected at most {bytes_max}")]
    TooBig {
        /// The size in bytes.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// It is empty.
    #[error("status.json is empty, expected an object with `decision`")]
    Empty,
    /// It is not JSON, or not of this format.
    #[error("status.json:{line}:{column}: {why}")]
    NotUnderstood {
        /// What was found and what was expected.
        why: String,
        /// The line, from 1.
        line: usize,
        /// Where parsing stopped, in bytes: at the fault or right after it.
        column: usize,
    },
    /// It can't be read.
    #[error("status.json can't be read: {cause}")]
    Unreadable {
        /// The system's error.
        cause: String,
    },
}

impl fmt::Display for StatusDecision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            StatusDecision::Continue => "continue",
            StatusDecision::Stop => "stop",
            StatusDecision::Error => "error",
        })
    }
}

/// Reads the file of this name.
impl StatusFile {
    /// The status, if there is one.
    pub fn read(&self) -> Option<&AgentStatus> {
        match self {
            Self::Read(status) => Some(status),
            Self::Missing | Self::Broken(_) => None,
        }
    }

    /// A status whose folder cannot be opened.
    pub(crate) fn unreadable(error: &FolderError) -> Self {
        Self::Broken(BrokenStatus::Unreadable { cause: error.to_string() })
    }
}

pub(super) fn read(folder: &OpenFolder, name: &str) -> StatusFile {
    let broken = match folder.read(name, STATUS_BYTES_MAX) {
        Ok(Read::Missing) => return StatusFile::Missing,
        Ok(Read::Whole(bytes)) => match understand(&bytes) {
            Ok(status) => return StatusFile::Read(Box::new(status)),
            Err(broken) => broken,
        },
        Ok(Read::TooBig { bytes }) => BrokenStatus::TooBig { bytes, bytes_max: STATUS_BYTES_MAX },
        Ok(Read::NotAFile { found }) => BrokenStatus::NotAFile { found },
        Err(error) => BrokenStatus::Unreadable { cause: error.to_string() },
    };
    StatusFile::Broken(broken)
}

fn understand(bytes: &[u8]) -> Result<AgentStatus, BrokenStatus> {
    // Some editors write a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Err(BrokenStatus::Empty);
    }
    // A list would be read as the fields in their order.
    if let Some(first) = bytes.trim_ascii_start().first()
        && *first != b'{'
    {
        let before = bytes.len() - bytes.trim_ascii_start().len();
        let line = 1 + bytes[..before].iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + bytes[..before].iter().rev().take_while(|byte| **byte != b'\n').count();
        let why = "expected an object with `decision`".to_owned();
        return Err(BrokenStatus::NotUnderstood { why, line, column });
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let why = error.to_string();
        let place = format!(" at line {line} column {column}");
        let why = why.strip_suffix(&place).unwrap_or(&why).to_owned();
        BrokenStatus::NotUnderstood { why, line, column }
    })
}

fn decision<'de, D: serde::Deserializer<'de>>(from: D) -> Result<StatusDecision, D::Error> {
    let word = String::deserialize(from)?;
    let known = [StatusDecision::Continue, StatusDecision::Stop, StatusDecision::Error];
    known.into_iter().find(|decision| decision.to_string() == word).ok_or_else(|| {
        serde::de::Error::custom(format_args!(
            "unknown decision `{}`, expected `continue`, `stop` or `error`",
            word.escape_debug()
        ))
    })
}

/// Milliseconds since 1970.
fn moment<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let expected = "`resets_at`: expected a time like 2026-01-02T03:04:05Z, or seconds since 1970";
    let wrong = || serde::de::Error::custom(expected);
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(time) => crate::record::milliseconds(&time).map(Some).ok_or_else(wrong),
        Value::Number(seconds) => {
            let seconds = seconds.as_f64().filter(|seconds| (0.0..1e12).contains(seconds));
            seconds.map(|seconds| Some((seconds * 1000.0) as i64)).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

fn wait<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let wait = match Value::deserialize(from)? {
        Value::Null => return Ok(None),
        Value::Number(seconds) => seconds.as_f64().map(Duration::try_from_secs_f64),
        _ => None,
    };
    let wrong = || serde::de::Error::custom("`retry_after`: expected seconds from now");
    wait.and_then(Result::ok).map(Some).ok_or_else(wrong)
}

fn usage<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Usage>, D::Error> {
    let told = match Value::deserialize(from)? {
        Value::Null => return Ok(None),
        Value::Object(told) => told,
        _ => {
            let expected = "`usage`: expected an object like {\"input_tokens\": 1200, \
                            \"output_tokens\": 80, \"cost_usd\": 0.02}";
            return Err(serde::de::Error::custom(expected));
        }
    };
    let value = |key: &str| told.get(key).filter(|value| !value.is_null());
    let tokens = |key: &str| match value(key) {
        None => Ok(0),
        Some(number) => number.as_u64().ok_or_else(|| {
            serde::de::Error::custom(format_args!("`{key}`: expected a number, 0 or more"))
        }),
    };
    let cost_usd = match value("cost_usd") {
        None => None,
        Some(cost) => {
            let cost = cost.as_f64().filter(|cost| *cost >= 0.0);
            let expected = "`cost_usd`: expected an amount of US dollars, 0 or more";
            Some(cost.ok_or_else(|| serde::de::Error::custom(expected))?)
        }
    };
    let (input_tokens, output_tokens) = (tokens("input_tokens")?, tokens("output_tokens")?);
    Ok(Some(Usage { input_tokens, output_tokens, cost_usd }))
}

fn text_or_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn only(decision: StatusDecision) -> AgentStatus {
        AgentStatus {
            decision,
            reason: String::new(),
            summary: String::new(),
            failure: None,
            resets_at: None,
            retry_after: None,
            usage: None,
            agent_session: None,
        }
    }

    #[test]
    fn an_agent_may_report_why_it_cannot_work_and_its_usage() {
        for (resets_at, read) in [
            (json!("2026-01-02T03:04:05.5Z"), Some(1_767_323_045_500)),
            (json!(1_767_323_045), Some(1_767_323_045_000)),
            (Value::Null, None),
        ] {
            let json = json!({
                "decision": "error", "failure": "rate_limit", "resets_at": resets_at,
                "retry_after": 0.25, "usage": {"input_tokens": 5, "cost_usd": 0.5},
                "agent_session": "s-1",
            });
            let expected = AgentStatus {
                failure: Some(FailureCause::RateLimit),
                resets_at: read,
                retry_after: Some(Duration::from_millis(250)),
                usage: Some(Usage { input_tokens: 5, output_tokens: 0, cost_usd: Some(0.5) }),
                agent_session: Some("s-1".to_owned()),
                ..only(StatusDecision::Error)
            };
            assert_eq!(understand(json.to_string().as_bytes()), Ok(expected));
        }
    }

    #[test]
    fn a_whole_status_is_read_and_unknown_fields_are_ignored() {
        let json = json!({
            "decision": "stop", "reason": "done", "summary": "wrote it",
            "work": {"items_completed": ["a"], "files_touched": []},
            "errors": ["one"], "timestamp": "2026-01-01T00:00:00Z", "mood": [1, {"x": null}],
        });
        let expected = AgentStatus {
            decision: StatusDecision::Stop,
            reason: "done".to_owned(),
            summary: "wrote it".to_owned(),
            ..only(StatusDecision::Stop)
        };
        assert_eq!(understand(json.to_string().as_bytes()), Ok(expected));
    }

    #[test]
    fn a_decision_is_enough() {
        for (word, decision) in [
            ("continue", StatusDecision::Continue),
            ("stop", StatusDecision::Stop),
            ("error", StatusDecision::Error),
        ] {
            let expected = only(decision);
            assert_eq!(decision.to_string(), word);
            for text in [
                format!("{{\"decision\": \"{word}\"}}"),
                format!("\u{feff} {{\"decision\": \"{word}\", \"reason\": null}}\n"),
            ] {
                assert_eq!(understand(text.as_bytes()), Ok(expected.clone()), "{text}");
            }
        }
    }

    #[test]
    fn any_other_status_is_invalid_and_names_the_place_and_what_was_expected() {
        let words = "expected `continue`, `stop` or `error`";
        for (text, said) in [
            ("", "status.json is empty, expected an object with `decision`".to_owned()),
            (" \n\t", "status.json is empty, expected an object with `decision`".to_owned()),
            ("{}", "status.json:1:2: missing field `decision`".to_owned()),
            (
                "{\"decision\": \"continue\", \"usage\": {\"cost_usd\": -1}}",
                "status.json:1:51: `cost_usd`: expected an amount of US dollars, 0 or more".to_owned(),
            ),
            (
                "{\"decision\": \"continue\", \"usage\": 5}",
                "status.json:1:36: `usage`: expected an object like {\"input_tokens\": 1200, \
                 \"output_tokens\": 80, \"cost_usd\": 0.02}"
                    .to_owned(),
            ),
            (
                "{\"decision\": \"stop\", \"usage\": {\"input_tokens\": -1}}",
                "status.json:1:51: `input_tokens`: expected a number, 0 or more".to_owned(),
            ),
            (
                "{\"decision\": \"error\", \"retry_after\": \"x\"}",
                "status.json:1:41: `retry_after`: expected seconds from now".to_owned(),
            ),
            (
                "{\n \"decision\": \"Stop\"}",
                format!("status.json:2:20: unknown decision `Stop`, {words}"),
            ),
            (
                "{\"decision\": \" stop\"}",
                format!("status.json:1:21: unknown decision ` stop`, {words}"),
            ),
            (
                "{\"decision\": 1}",
                "status.json:1:14: invalid type: integer `1`, expected a string".to_owned(),
            ),
            ("{\"decision\": \"stop\"", "status.json:1:19: EOF while parsing an object".to_owned()),
            (
                "{\"decision\": \"stop\", \"reason\": 5}",
                "status.json:1:32: invalid type: integer `5`, expected a string".to_owned(),
            ),
            ("{\"decision\": \"stop\"} x", "status.json:1:22: trailing characters".to_owned()),
            (
                "{\"decision\": \"stop\", \"decision\": \"error\"}",
                "status.json:1:31: duplicate field `decision`".to_owned(),
            ),
            (
                "\n [\"stop\", \"\"]",
                "status.json:2:2: expected an object with `decision`".to_owned(),
            ),
            (
                "{\"decision\": \"error\", \"failure\": \"tired\"}",
                "status.json:1:40: unknown variant `tired`, expected one of `rate_limit`, `quota`, \
                 `auth`, `outage`, `crash`"
                    .to_owned(),
            ),
            (
                "{\"decision\": \"error\", \"resets_at\": \"soon\"}",
                "status.json:1:42: `resets_at`: expected a time like 2026-01-02T03:04:05Z, or seconds \
                 since 1970"
                    .to_owned(),
            ),
            (
                "{\"decision\": \"error\", \"retry_after\": -1}",
                "status.json:1:40: `retry_after`: expected seconds from now".to_owned(),
            ),
            ("```json\n{}\n```", "status.json:1:1: expected an object with `decision`".to_owned()),
        ] {
            let broken = understand(text.as_bytes()).expect_err("broken");
            assert_eq!(broken.to_string(), said, "{text:?}");
        }
        assert!(understand(b"{\"decision\": \"stop\", \"reason\": \"\xff\"}").is_err());
        let deep = format!("{{\"decision\": \"stop\", \"work\": {}", "[".repeat(100_000));
        assert!(understand(deep.as_bytes()).is_err());
    }
}
