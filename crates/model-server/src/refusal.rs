//! [`ModelRefusal`]: why a model does not answer, in each vendor's format.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::http::ServerAnswer;
use crate::vendor::Vendor;

/// Why a model does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRefusal {
    /// Rate-limited; the client may retry after this many seconds.
    RateLimit {
        /// Seconds from now.
        seconds: u64,
    },
    /// The subscription's limit is used up for this many seconds.
    UsageLimit {
        /// Seconds from now.
        seconds: u64,
    },
    /// Out of quota.
    Quota,
    /// Unauthorised: the key is unknown.
    Auth,
    /// Overloaded.
    Overloaded,
    /// An internal error.
    ServerError,
}

impl ModelRefusal {
    pub(crate) fn answer(self, vendor: Vendor) -> ServerAnswer {
        let (status, headers, body) = match vendor {
            Vendor::Messages => self.of_anthropic(),
            Vendor::Responses | Vendor::Chat => self.of_openai(),
            Vendor::Gemini => self.of_google(),
        };
        ServerAnswer::whole(status, headers, "application/json", body.to_string())
    }

    fn of_anthropic(self) -> (&'static str, Vec<(&'static str, String)>, Value) {
        let error = |kind: &str, message: &str| {
            json!({ "type": "error", "error": { "type": kind, "message": message },
                "request_id": "req_script" })
        };
        match self {
            Self::RateLimit { seconds } => (
                "429 Too Many Requests",
                vec![("retry-after", seconds.to_string())],
                error(
                    "rate_limit_error",
                    "This request would exceed the rate limit for your organization of 50,000 \
                     input tokens per minute.",
                ),
            ),
            Self::UsageLimit { seconds } => {
                let reset = (now() + seconds).to_string();
                let headers = vec![
                    ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
                    ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
                    ("anthropic-ratelimit-unified-5h-status", "rejected".to_owned()),
                    ("anthropic-ratelimit-unified-5h-reset", reset.clone()),
                    ("anthropic-ratelimit-unified-reset", reset),
                    ("anthropic-ratelimit-unified-overage-status", "rejected".to_owned()),
                    ("retry-after", seconds.to_string()),
                ];
                let message = "This request would exceed your account's rate limit. Please try \
                               again later.";
                ("429 Too Many Requests", headers, error("rate_limit_error", message))
            }
            Self::Quota => (
                "400 Bad Request",
                Vec::new(),
                error(
                    "invalid_request_error",
                    "Your credit balance is too low to access the Anthropic API. Please go to \
                     Plans & Billing to upgrade or purchase credits.",
                ),
            ),
            Self::Auth => {
                ("401 Unauthorized", Vec::new(), error("authentication_error", "invalid x-api-key"))
            }
            Self::Overloaded => {
                ("529 Overloaded", Vec::new(), error("overloaded_error", "Overloaded"))
            }
            Self::ServerError => (
                "500 Internal Server Error",
                Vec::new(),
                error("api_error", "Internal server error"),
            ),
        }
    }

    fn of_openai(self) -> (&'static str, Vec<(&'static str, String)>, Value) {
        let error = |kind: &str, code: Value, message: &str| json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
        match self {
            Self::RateLimit { seconds } => (
                "429 Too Many Requests",
                vec![
                    ("retry-after", seconds.to_string()),
                    ("x-ratelimit-remaining-tokens", "0".to_owned()),
                    ("x-ratelimit-reset-tokens", format!("{seconds}s")),
                ],
                error(
                    "tokens",
                    json!("rate_limit_exceeded"),
                    &format!(
                        "Rate limit reached for gpt-5 in organization org-script on tokens per min \
                         (TPM): Limit 30000, Used 30000, Requested 1000. Please try again in \
                         {seconds}s. Visit https://platform.openai.com/account/rate-limits to learn \
                         more."
                    ),
                ),
            ),
            Self::UsageLimit { seconds } => (
                "429 Too Many Requests",
                vec![
                    ("x-codex-primary-used-percent", "100".to_owned()),
                    ("x-codex-primary-window-minutes", "300".to_owned()),
                    ("x-codex-primary-reset-at", (now() + seconds).to_string()),
                ],
                json!({ "error": { "type": "usage_limit_reached",
                    "message": "The usage limit has been reached", "plan_type": "plus",
                    "resets_at": now() + seconds, "resets_in_seconds": seconds } }),
            ),
            Self::Quota => (
                "429 Too Many Requests",
                Vec::new(),
                error(
                    "insufficient_quota",
                    json!("insufficient_quota"),
                    "You exceeded your current quota, please check your plan and billing details. \
                     For more information on this error, read the docs: \
                     https://platform.openai.com/docs/guides/error-codes/api-errors.",
                ),
            ),
            Self::Auth => (
                "401 Unauthorized",
                Vec::new(),
                error(
                    "invalid_request_error",
                    json!("invalid_api_key"),
                    "Incorrect API key provided: sk-not-a-key. You can find your API key at \
                     https://platform.openai.com/account/api-keys.",
                ),
            ),
            Self::Overloaded => (
                "503 Service Unavailable",
                Vec::new(),
                error(
                    "server_error",
                    json!("server_is_overloaded"),
                    "The engine is currently overloaded, please try again later",
                ),
            ),
            Self::ServerError => (
                "500 Internal Server Error",
                Vec::new(),
                error(
                    "server_error",
                    Value::Null,
                    "The server had an error while processing your request. Sorry about that!",
                ),
            ),
        }
    }

    fn of_google(self) -> (&'static str, Vec<(&'static str, String)>, Value) {
        let error = |code: u16, status: &str, message: &str, details: Value| {
            json!({ "error": { "code": code, "message": message, "status": status,
                "details": details } })
        };
        let exhausted = |quota: &str, seconds: u64| {
            let message = "You exceeded your current quota, please check your plan and billing \
                           details. For more information on this error, head to: \
                           https://ai.google.dev/gemini-api/docs/rate-limits.";
            let details = json!([
                { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{
                    "quotaMetric":
                        "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                    "quotaId": quota, "quotaDimensions": { "location": "global" },
                    "quotaValue": "10" }] },
                { "@type": "type.googleapis.com/google.rpc.RetryInfo",
                    "retryDelay": format!("{seconds}s") },
            ]);
            (
                "429 Too Many Requests",
                Vec::new(),
                error(429, "RESOURCE_EXHAUSTED", message, details),
            )
        };
        match self {
            Self::RateLimit { seconds } => {
                exhausted("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", seconds)
            }
            Self::UsageLimit { seconds } => {
                exhausted("GenerateRequestsPerMinutePerProjectPerModel", seconds)
            }
            Self::Quota => exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier", 34),
            Self::Auth => (
                "400 Bad Request",
                Vec::new(),
                error(
                    400,
                    "INVALID_ARGUMENT",
                    "API key not valid. Please pass a valid API key.",
                    json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "API_KEY_INVALID", "domain": "googleapis.com",
                        "metadata": { "service": "generativelanguage.googleapis.com" } }]),
                ),
            ),
            Self::Overloaded => (
                "503 Service Unavailable",
                Vec::new(),
                error(
                    503,
                    "UNAVAILABLE",
                    "The model is overloaded. Please try again later.",
                    json!([]),
                ),
            ),
            Self::ServerError => (
                "500 Internal Server Error",
                Vec::new(),
                error(500, "INTERNAL", "An internal error has occurred.", json!([])),
            ),
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
