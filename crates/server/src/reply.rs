//! [`said_in`]: parses the body and the query of a POST.

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use serde_json::{Map, Value};

use crate::limits;

/// The content of a POST.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    /// The word that decides.
    pub(crate) action: String,
    /// The comment.
    pub(crate) message: Option<String>,
    /// The whole content.
    pub(crate) whole: Value,
}

/// Why a POST has no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// It has no `action`.
    NoAction,
    /// Its body is not a JSON object.
    NotJson,
    /// Its body is neither a form nor JSON.
    UnknownFormat,
}

/// Parses a POST. The action is in the body, else in the query.
pub(crate) fn said_in(
    headers: &HeaderMap,
    query: &[(String, String)],
    body: &Bytes,
) -> Result<Reply, NoReply> {
    let mut whole = fields_of(headers, body)?;
    let of_query = query.iter().find(|(name, _)| name == "action").map(|(_, action)| action);
    if let (None, Some(action)) = (whole.get("action"), of_query) {
        whole.insert("action".to_owned(), Value::from(action.as_str()));
    }
    let action = whole.get("action").and_then(Value::as_str).map(str::to_owned);
    let action = action.filter(|action| !action.trim().is_empty()).ok_or(NoReply::NoAction)?;
    let message = whole.get("message").and_then(Value::as_str).map(str::trim);
    let message = message.filter(|message| !message.is_empty()).map(str::to_owned);
    let action = action.chars().take(limits::ACTION_CHARS_MAX + 1).collect();
    Ok(Reply { action, message, whole: Value::Object(whole) })
}

/// Whether the client wants JSON.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    let accepts_pages = text(headers, header::ACCEPT).contains("text/html");
    let sends_a_form = media_type(headers) == FORM;
    !accepts_pages && !sends_a_form
}

const FORM: &str = "application/x-www-form-urlencoded";

fn fields_of(headers: &HeaderMap, body: &Bytes) -> Result<Map<String, Value>, NoReply> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    let media_type = media_type(headers);
    if media_type == "application/json" || media_type.ends_with("+json") {
        return serde_json::from_slice(body).map_err(|_| NoReply::NotJson);
    }
    // `curl -d` labels every body as a form.
    let is_object = body.trim_ascii_start().starts_with(b"{");
    if is_object && (media_type.is_empty() || media_type == FORM || media_type == "text/plain") {
        return serde_json::from_slice(body).map_err(|_| NoReply::NotJson);
    }
    if media_type != FORM {
        return Err(NoReply::UnknownFormat);
    }
    let mut fields = Map::new();
    for (name, value) in pairs_of(body) {
        // The first of several values counts, as everywhere.
        fields.entry(name).or_insert(Value::from(value));
    }
    Ok(fields)
}

/// The names and values of a form or a query.
pub(crate) fn pairs_of(text: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(text).into_owned().collect()
}

fn media_type(headers: &HeaderMap) -> String {
    let whole = text(headers, header::CONTENT_TYPE);
    whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
