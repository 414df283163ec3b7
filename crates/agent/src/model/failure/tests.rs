//! Which status and which words mean what.

use std::time::Duration;

use serde_json::json;

use super::*;

fn words(name: &str, message: &str) -> ServerWords {
    ServerWords { name: name.into(), message: message.into(), ..ServerWords::default() }
}

#[test]
fn a_status_says_what_kind_it_is_and_whether_to_try_again() {
    use ModelErrorKind as Kind;

    let said = words("x_error", "No.");
    for protocol in [Protocol::Messages, Protocol::ChatCompletions] {
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
            let error = of_status(protocol, status, &said, "m");
            assert_eq!((error.kind, error.retry), (kind, retry), "{protocol:?} {status}");
            assert!(error.reason.ends_with(&format!("(status {status}): No.")), "{error}");
        }
        let named = ServerWords { retry_after: Some(Duration::from_secs(7)), ..said.clone() };
        let named_time = Some(RetryAfter::Named(Duration::from_secs(7)));
        assert_eq!(of_status(protocol, 429, &named, "m").retry, named_time);
        assert_eq!(of_status(protocol, 503, &named, "m").retry, named_time);
        assert_eq!(of_status(protocol, 400, &named, "m").retry, None);
    }
}

#[test]
fn a_404_is_an_unknown_model_only_if_the_server_names_it() {
    let said = words("not_found_error", "model: m1");
    let error = of_status(Protocol::Messages, 404, &said, "m1");
    assert_eq!(error.kind, ModelErrorKind::UnknownModel);
    assert_eq!(error.reason, "the server has no model `m1` (status 404): model: m1");
    let elsewhere = words("not_found_error", "Not found");
    for (protocol, reason) in [
        (Protocol::Messages, "the server has no Messages API at this address"),
        (Protocol::ChatCompletions, "the server has no chat completions API at this address"),
    ] {
        let error = of_status(protocol, 404, &elsewhere, "m1");
        assert_eq!(error.kind, ModelErrorKind::NotUnderstood);
        assert_eq!(error.reason, format!("{reason} (status 404): Not found"));
    }
}

#[test]
fn each_servers_words_for_a_failure_of_chat_completions_are_understood() {
    use ModelErrorKind as Kind;

    for (status, code, message, kind) in [
        (404, "model_not_found", "The model does not exist.", Kind::UnknownModel),
        (404, "", "The model `m1` does not exist.", Kind::UnknownModel),
        (404, "", "model \"m1\" not found, try pulling it first", Kind::UnknownModel),
        (400, "", "m1 is not a valid model ID", Kind::UnknownModel),
        (404, "", "404 page not found", Kind::NotUnderstood),
        (400, "", "registry/library/m1 does not support tools", Kind::NoTools),
        (404, "", "No endpoints found that support tool use.", Kind::NoTools),
        (
            400,
            "",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser",
            Kind::NoTools,
        ),
        (500, "", "tools param requires --jinja flag", Kind::NoTools),
        (400, "", "Tool names must be unique.", Kind::Refused),
        (400, "context_length_exceeded", "Too long.", Kind::ContextTooLong),
        (400, "", "This model's maximum context length is 8192 tokens.", Kind::ContextTooLong),
        (
            400,
            "",
            "the request exceeds the available context size. try increasing it",
            Kind::ContextTooLong,
        ),
        (413, "", "Request too large", Kind::Refused),
    ] {
        let said = ServerWords { code: code.into(), ..words("", message) };
        let error = of_status(Protocol::ChatCompletions, status, &said, "m1");
        assert_eq!((error.kind, error.retry), (kind, None), "{message}");
    }
    let error = of_status(Protocol::Messages, 400, &words("", "prompt is too long: 9 > 8"), "m");
    assert_eq!(error.kind, Kind::ContextTooLong);
}

#[test]
fn an_account_without_quota_is_not_asked_again() {
    let quota = ServerWords { code: "insufficient_quota".into(), ..words("", "Pay.") };
    let error = of_status(Protocol::ChatCompletions, 429, &quota, "m");
    assert_eq!((error.kind, error.retry), (ModelErrorKind::RateLimited, None));
    assert_eq!(error.reason, "the account has no quota left (status 429): Pay.");
}

#[test]
fn an_error_that_came_with_status_200_has_a_kind_too() {
    use ModelErrorKind as Kind;

    let backoff = Some(RetryAfter::Backoff);
    for (error, kind, retry) in [
        (json!({ "message": "x", "code": 502 }), Kind::Overloaded, backoff),
        (json!({ "message": "x", "code": "429" }), Kind::RateLimited, backoff),
        (json!({ "message": "x", "code": "rate_limit_exceeded" }), Kind::RateLimited, backoff),
        (json!({ "message": "x", "type": "invalid_request_error" }), Kind::Refused, None),
        (json!({ "message": "x", "code": "invalid_api_key" }), Kind::Unauthorised, None),
        (json!("the model crashed"), Kind::Overloaded, backoff),
        (json!({ "message": "x", "code": 7 }), Kind::Overloaded, backoff),
    ] {
        let found = within_chat(&json!({ "error": error }), "m").expect("an error");
        assert_eq!((found.kind, found.retry, found.status), (kind, retry, None), "{error}");
    }
    assert_eq!(within_chat(&json!({ "choices": [] }), "m"), None);
}

#[test]
fn long_words_are_cut_and_stay_on_one_line() {
    let message = format!("a\r\n{}", "ä".repeat(ERROR_CHARS_MAX));
    let reason = of_status(Protocol::Messages, 500, &words("", &message), "m").reason;
    assert!(reason.ends_with("ä…") && !reason.contains('\n'), "{reason}");
    assert_eq!(reason.chars().filter(|letter| *letter == 'ä').count(), ERROR_CHARS_MAX - 2);
    let silent = of_status(Protocol::Messages, 500, &ServerWords::default(), "m").reason;
    assert_eq!(silent, "the model's server failed (status 500)");
}
