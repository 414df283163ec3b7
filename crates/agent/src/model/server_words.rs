//! [`ServerWords`]: what a server says in place of an answer.
//!
//! Vendors agree on an object `error` with a `message`. Servers that are compatible with them send more than
//! that: a text in place of the object, a list around it, `detail`, or the fields of the object without it.

use std::time::Duration;

use serde_json::Value;

/// What a server says when it does not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerWords {
    /// The protocol's name for the error; empty if what came is not of the protocol.
    pub(crate) name: String,
    /// A second, more exact name; empty without one.
    pub(crate) code: String,
    /// Its sentence; may be empty.
    pub(crate) message: String,
    /// When it wants to be asked again.
    pub(crate) retry_after: Option<Duration>,
}

impl ServerWords {
    /// The words in the body of a response, whatever it is.
    pub(crate) fn of_body(body: &str, content_type: &str, retry_after: Option<Duration>) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let mut words = Self::of_json(&json).unwrap_or_default();
        words.retry_after = retry_after;
        if words.message.is_empty() {
            let is_page = content_type.trim_start().to_ascii_lowercase().starts_with("text/html")
                || body.trim_start().starts_with('<');
            words.message = match is_page {
                true => "it sent an HTML page in place of JSON".to_owned(),
                false => body.to_owned(),
            };
        }
        words
    }

    /// The words in a JSON value, if it is an error.
    pub(crate) fn of_json(json: &Value) -> Option<Self> {
        let json = match json {
            Value::Array(items) => items.first()?,
            other => other,
        };
        let error = match &json["error"] {
            Value::Null if json["object"] == "error" || json["type"] == "error" => json,
            Value::Null => return json.get("detail").map(Self::of_detail),
            Value::String(message) => {
                return Some(Self { message: message.clone(), ..Self::default() });
            }
            error => error,
        };
        let text = |name: &str| match &error[name] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let name = if text("type").is_empty() { text("status") } else { text("type") };
        Some(Self { name, code: text("code"), message: text("message"), retry_after: None })
    }

    fn of_detail(detail: &Value) -> Self {
        let message = match detail {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { message, ..Self::default() }
    }

    /// Whether the message has one of these, in any case of letters.
    pub(crate) fn say_any(&self, parts: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        parts.iter().any(|part| message.contains(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_found_in_every_shape_that_servers_send() {
        for (body, name, code, message) in [
            (
                r#"{"error": {"message": "No.", "type": "tokens", "param": null, "code": "limit"}}"#,
                "tokens",
                "limit",
                "No.",
            ),
            (
                r#"{"type": "error", "error": {"type": "x_error", "message": "No."}}"#,
                "x_error",
                "",
                "No.",
            ),
            (
                r#"[{"error": {"code": 400, "message": "No.", "status": "INVALID"}}]"#,
                "INVALID",
                "400",
                "No.",
            ),
            (r#"{"error": "No."}"#, "", "", "No."),
            (
                r#"{"object": "error", "message": "No.", "type": "Bad", "code": 404}"#,
                "Bad",
                "404",
                "No.",
            ),
            (r#"{"detail": "No."}"#, "", "", "No."),
            (r#"{"detail": [{"msg": "No."}]}"#, "", "", r#"[{"msg":"No."}]"#),
            ("plain words", "", "", "plain words"),
            ("<html>No.</html>", "", "", "it sent an HTML page in place of JSON"),
            (r#"{"error": {}}"#, "", "", r#"{"error": {}}"#),
            ("", "", "", ""),
        ] {
            let words = ServerWords::of_body(body, "application/json", None);
            let found = (words.name.as_str(), words.code.as_str(), words.message.as_str());
            assert_eq!(found, (name, code, message), "{body}");
        }
        let page = ServerWords::of_body("No.", "Text/HTML; charset=utf-8", None);
        assert_eq!(page.message, "it sent an HTML page in place of JSON");
    }

    #[test]
    fn what_is_no_error_has_no_words() {
        for json in ["{}", "[]", "null", r#"{"error": null}"#, r#"{"choices": []}"#] {
            let value = serde_json::from_str(json).expect("JSON");
            assert_eq!(ServerWords::of_json(&value), None, "{json}");
        }
    }
}
