//! What a status or an error of a model's server means: its kind, and whether another attempt may help.

use serde_json::Value;

use super::protocol::Protocol;
use super::server_words::ServerWords;
use super::{ModelError, ModelErrorKind, RetryAfter};
use crate::limits::ERROR_CHARS_MAX;

/// The error of a response with this status, which is not 200.
pub(crate) fn of_status(
    protocol: Protocol,
    status: u16,
    words: &ServerWords,
    model: &str,
) -> ModelError {
    let (kind, what) = kind_of(protocol, status, words, model);
    let may_help = matches!(status, 408 | 409 | 429 | 500..)
        && kind != ModelErrorKind::NoTools
        && !is_out_of_quota(words);
    let retry = may_help.then_some(match words.retry_after {
        Some(time) => RetryAfter::Named(time),
        None => RetryAfter::Backoff,
    });
    ModelError { kind, reason: told(&what, status, words), status: Some(status), retry }
}

/// What happened, the status, and the server's own words.
pub(crate) fn told(what: &str, status: u16, words: &ServerWords) -> String {
    let said = shortened(&words.message);
    let colon = if said.is_empty() { "" } else { ": " };
    format!("{what} (status {status}){colon}{said}")
}

fn kind_of(
    protocol: Protocol,
    status: u16,
    words: &ServerWords,
    model: &str,
) -> (ModelErrorKind, String) {
    use ModelErrorKind as Kind;

    let api = protocol.name();
    match status {
        401 | 403 => (Kind::Unauthorised, "the model's server refuses the API key".to_owned()),
        _ if is_unknown_model(protocol, status, words, model) => {
            (Kind::UnknownModel, format!("the server has no model `{model}`"))
        }
        _ if lacks_tools(protocol, status, words) => {
            (Kind::NoTools, format!("the model `{model}` cannot call tools here"))
        }
        400 | 413 | 422 if is_too_long(words) => {
            (Kind::ContextTooLong, "the conversation is too long for the model".to_owned())
        }
        404 => (Kind::NotUnderstood, format!("the server has no {api} API at this address")),
        408 => (Kind::Unreachable, "the model's server waited too long for the request".to_owned()),
        429 if is_out_of_quota(words) => {
            (Kind::RateLimited, "the account has no quota left".to_owned())
        }
        429 => (Kind::RateLimited, "the model's server limits the rate of requests".to_owned()),
        400..500 => (Kind::Refused, "the model's server refuses the request".to_owned()),
        529 => (Kind::Overloaded, "the model's server is overloaded".to_owned()),
        500.. => (Kind::Overloaded, "the model's server failed".to_owned()),
        _ => (Kind::NotUnderstood, format!("expected an answer of the {api} protocol")),
    }
}

/// A server without this API says 404 too, so the words have to name the model.
fn is_unknown_model(protocol: Protocol, status: u16, words: &ServerWords, model: &str) -> bool {
    let names_it = !model.is_empty() && words.message.contains(model);
    match protocol {
        Protocol::Messages => status == 404 && words.name == "not_found_error" && names_it,
        Protocol::ChatCompletions => match status {
            404 => names_it || words.code == "model_not_found",
            400 => {
                words.code == "model_not_found"
                    || words.say_any(&["not a valid model", "invalid model"])
            }
            _ => false,
        },
    }
}

/// Many models of servers that speak chat completions were not made to call tools, or their server was not
/// told how they do it. Each server says that in its own words, and with its own status.
fn lacks_tools(protocol: Protocol, status: u16, words: &ServerWords) -> bool {
    protocol == Protocol::ChatCompletions
        && matches!(status, 400 | 404 | 422 | 500 | 501)
        && words.say_any(&["tool", "function call"])
        && words.say_any(&["support", "enable-auto-tool-choice", "--jinja"])
}

fn is_too_long(words: &ServerWords) -> bool {
    words.code == "context_length_exceeded"
        || words.say_any(&[
            "prompt is too long",
            "context length",
            "context window",
            "context size",
            "too many tokens",
        ])
}

/// A request that comes later fails in the same way.
fn is_out_of_quota(words: &ServerWords) -> bool {
    [&words.name, &words.code].iter().any(|name| *name == "insufficient_quota")
}

/// The error of an event `error` of the Messages protocol, which comes within an answer that has begun.
pub(crate) fn of_event(name: &str, message: &str, model: &str) -> ModelError {
    let status = match name {
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 400,
    };
    let (name, message) = (name.to_owned(), message.to_owned());
    let words = ServerWords { name, message, ..ServerWords::default() };
    ModelError { status: None, ..of_status(Protocol::Messages, status, &words, model) }
}

/// The error in a JSON value of the chat completions protocol that came with status 200; `None` if it is no
/// error. One without a kind counts as a failure of the server, which had accepted the request.
pub(crate) fn within_chat(json: &Value, model: &str) -> Option<ModelError> {
    let words = ServerWords::of_json(json)?;
    let by_name = |name: &str| match name {
        "invalid_api_key" | "authentication_error" => Some(401),
        "permission_error" | "permission_denied" => Some(403),
        "model_not_found" | "not_found_error" => Some(404),
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "insufficient_quota"
        | "tokens"
        | "requests" => Some(429),
        "context_length_exceeded" | "invalid_request_error" | "BadRequestError" => Some(400),
        "overloaded_error" | "server_is_overloaded" => Some(503),
        _ => None,
    };
    let number = words.code.parse::<u16>().ok().filter(|code| (400..600).contains(code));
    let status = number.or_else(|| by_name(&words.code)).or_else(|| by_name(&words.name));
    let status = status.unwrap_or(500);
    let error = of_status(Protocol::ChatCompletions, status, &words, model);
    Some(ModelError { status: None, ..error })
}

/// What came is no answer of this protocol.
pub(crate) fn not_understood(reason: impl Into<String>) -> ModelError {
    ModelError {
        kind: ModelErrorKind::NotUnderstood,
        reason: reason.into(),
        status: None,
        retry: None,
    }
}

/// A response of status 200 whose content is something else.
pub(crate) fn not_an_answer(content_type: &str) -> ModelError {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let found = if kind.is_empty() { "no content type".to_owned() } else { format!("`{kind}`") };
    not_understood(format!("expected an answer of type `text/event-stream` but found {found}"))
}

/// The server cannot be reached, or the connection broke.
pub(crate) fn unreachable(reason: impl Into<String>) -> ModelError {
    ModelError {
        kind: ModelErrorKind::Unreachable,
        reason: reason.into(),
        status: None,
        retry: Some(RetryAfter::Backoff),
    }
}

/// The server's own words on one line, up to the limit.
fn shortened(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(ERROR_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
