//! What a status or an error of the Messages protocol means: its kind, and whether another attempt may help.

use std::time::Duration;

use super::{ModelError, ModelErrorKind, RetryAfter};
use crate::limits::ERROR_CHARS_MAX;

/// What a server says when it does not answer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerWords<'a> {
    /// The protocol's name for the error; empty if what came is not of the protocol.
    pub(crate) name: &'a str,
    /// Its sentence; may be empty.
    pub(crate) message: &'a str,
    /// When it wants to be asked again.
    pub(crate) retry_after: Option<Duration>,
}

/// The error of a response with this status, which is not 200.
pub(crate) fn of_status(status: u16, words: ServerWords<'_>, model: &str) -> ModelError {
    use ModelErrorKind as Kind;

    let is_model = words.name == "not_found_error" && words.message.contains(model);
    let (kind, what) = match status {
        401 | 403 => (Kind::Unauthorised, "the model's server refuses the API key".to_owned()),
        404 if is_model => (Kind::UnknownModel, format!("the server has no model `{model}`")),
        404 => (Kind::NotUnderstood, "the server has no Messages API at this address".to_owned()),
        408 => (Kind::Unreachable, "the model's server waited too long for the request".to_owned()),
        429 => (Kind::RateLimited, "the model's server limits the rate of requests".to_owned()),
        400..500 => (Kind::Refused, "the model's server refuses the request".to_owned()),
        529 => (Kind::Overloaded, "the model's server is overloaded".to_owned()),
        500.. => (Kind::Overloaded, "the model's server failed".to_owned()),
        _ => (Kind::NotUnderstood, "expected an answer of the Messages protocol".to_owned()),
    };
    let may_help = matches!(status, 408 | 409 | 429 | 500..);
    let retry = may_help.then_some(match words.retry_after {
        Some(time) => RetryAfter::Named(time),
        None => RetryAfter::Backoff,
    });
    let said = shortened(words.message);
    let colon = if said.is_empty() { "" } else { ": " };
    let reason = format!("{what} (status {status}){colon}{said}");
    ModelError { kind, reason, status: Some(status), retry }
}

/// The error of an event `error`, which comes within an answer that has begun.
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
    let words = ServerWords { name, message, retry_after: None };
    ModelError { status: None, ..of_status(status, words, model) }
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
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_kind_it_is_and_whether_to_try_again() {
        use ModelErrorKind as Kind;

        let words = ServerWords { name: "x_error", message: "No.", retry_after: None };
        for (status, kind, retry) in [
            (204, Kind::NotUnderstood, None),
            (302, Kind::NotUnderstood, None),
            (400, Kind::Refused, None),
            (401, Kind::Unauthorised, None),
            (402, Kind::Refused, None),
            (403, Kind::Unauthorised, None),
            (404, Kind::NotUnderstood, None),
            (408, Kind::Unreachable, Some(RetryAfter::Backoff)),
            (409, Kind::Refused, Some(RetryAfter::Backoff)),
            (413, Kind::Refused, None),
            (429, Kind::RateLimited, Some(RetryAfter::Backoff)),
            (500, Kind::Overloaded, Some(RetryAfter::Backoff)),
            (503, Kind::Overloaded, Some(RetryAfter::Backoff)),
            (529, Kind::Overloaded, Some(RetryAfter::Backoff)),
        ] {
            let error = of_status(status, words, "m");
            assert_eq!((error.kind, error.retry), (kind, retry), "{status}");
            assert!(error.reason.ends_with(&format!("(status {status}): No.")), "{error}");
        }
        let named = ServerWords { retry_after: Some(Duration::from_secs(7)), ..words };
        let named_time = Some(RetryAfter::Named(Duration::from_secs(7)));
        assert_eq!(of_status(429, named, "m").retry, named_time);
        assert_eq!(of_status(503, named, "m").retry, named_time);
        assert_eq!(of_status(400, named, "m").retry, None);
    }

    #[test]
    fn a_404_is_an_unknown_model_only_if_the_server_names_it() {
        let words =
            ServerWords { name: "not_found_error", message: "model: m1", retry_after: None };
        let error = of_status(404, words, "m1");
        assert_eq!(error.kind, ModelErrorKind::UnknownModel);
        assert_eq!(error.reason, "the server has no model `m1` (status 404): model: m1");
        let elsewhere = ServerWords { message: "Not found", ..words };
        assert_eq!(of_status(404, elsewhere, "m1").kind, ModelErrorKind::NotUnderstood);
    }

    #[test]
    fn long_words_are_cut_and_stay_on_one_line() {
        let message = format!("a\r\n{}", "ä".repeat(ERROR_CHARS_MAX));
        let words = ServerWords { message: &message, ..ServerWords::default() };
        let reason = of_status(500, words, "m").reason;
        assert!(reason.ends_with("ä…") && !reason.contains('\n'), "{reason}");
        assert_eq!(reason.chars().filter(|letter| *letter == 'ä').count(), ERROR_CHARS_MAX - 2);
        let silent = of_status(500, ServerWords::default(), "m").reason;
        assert_eq!(silent, "the model's server failed (status 500)");
    }
}
