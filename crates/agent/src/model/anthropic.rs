//! [`AnthropicModel`]: a client of Anthropic's Messages API, and of servers that speak the same protocol.
//!
//! One `send` is one request over HTTP, whose answer is read while it arrives (`anthropic/arriving.rs`). What
//! is sent, and what is marked for the prompt cache: `anthropic/request.rs`. What a status means:
//! `model/failure.rs`.
//!
//! The key goes into one header and nowhere else. Where a server repeats it, it is replaced.

mod arriving;
mod request;

use std::fmt;
use std::sync::Arc;

use hookwright_engine::http::{HttpRequest, OpenResponse, SendError, Sender, check_address};
use hookwright_engine::ports::Promise;
use hookwright_engine::variables::Environment;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::{self, ServerWords};
use super::{AnswerStream, Model, ModelError, ModelErrorKind, ModelRequest};
use crate::limits::{ANSWER_BEGINS_MAX, ANSWER_SILENCE_MAX, ERROR_BYTES_MAX};
use arriving::ArrivingAnswer;

/// Where the vendor's own server is.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// The model that is asked when none is named.
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-5";

/// What takes the place of the key in words of a server.
const HIDDEN: &str = "[API key]";

/// A key. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// The key in `text`, without spaces and line ends around it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// The same text without the key.
    fn hide_in(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&*self.0, HIDDEN),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// What a client needs to know.
#[derive(Debug, Clone)]
pub struct AnthropicSettings {
    /// The model's name.
    pub model: String,
    /// The key.
    pub key: ApiKey,
    /// Where the server is, without `/v1/messages`; [`BASE_URL`] without it.
    pub base_url: Option<String>,
    /// Plain http is fine beyond this machine too. The key can be read on its way then.
    pub allow_http: bool,
    /// The environment that may name proxies.
    pub environment: Environment,
}

/// The client.
#[derive(Debug)]
pub struct AnthropicModel {
    settings: AnthropicSettings,
    url: String,
    /// The server as messages name it.
    origin: String,
    sender: Sender,
}

impl AnthropicModel {
    /// A client, if there is a key and the base URL can be used.
    pub fn new(mut settings: AnthropicSettings) -> Result<Self, ModelError> {
        let fault = |kind, reason: String| ModelError { kind, reason, status: None, retry: None };
        settings.model = settings.model.trim().to_owned();
        if settings.key.0.is_empty() {
            let reason = format!("no API key for the model `{}`", settings.model);
            return Err(fault(ModelErrorKind::NoKey, reason));
        }
        let base = settings.base_url.as_deref().unwrap_or(BASE_URL).trim().trim_end_matches('/');
        let bad_address = |why: &str| {
            fault(ModelErrorKind::BadAddress, format!("the base URL of the model's server {why}"))
        };
        let origin = base.split_once("://").and_then(|(scheme, rest)| {
            rest.split('/').next().map(|host| format!("{scheme}://{host}"))
        });
        let origin = origin.ok_or_else(|| bad_address("is not a valid URL"))?;
        if base.contains(['?', '#', '@']) {
            return Err(bad_address("has a user name, a query or a fragment: leave that out"));
        }
        let url = format!("{base}/v1/messages");
        check_address(&url, settings.allow_http).map_err(|error| match error {
            SendError::PlainHttp => bad_address(&format!(
                "is `{origin}`, and plain http is for this machine only: use https"
            )),
            other => bad_address(&format!("cannot be used: {other}")),
        })?;
        Ok(Self { settings, url, origin, sender: Sender::default() })
    }

    async fn ask(&self, request: &ModelRequest<'_>) -> Result<ArrivingAnswer, ModelError> {
        let model = &self.settings.model;
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let http = HttpRequest {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers: vec![
                header("x-api-key", &self.settings.key.0),
                header("anthropic-version", VERSION),
                header("content-type", "application/json"),
                header("accept", "text/event-stream"),
            ],
            body: Some(request::body(model, request)?),
            allow_http: self.settings.allow_http,
        };
        let opening = self.sender.open(&http, &self.settings.environment);
        let opened =
            timeout(ANSWER_BEGINS_MAX, opening).await.unwrap_or(Err(SendError::TookTooLong));
        let response = opened.map_err(|error| self.not_sent(error))?;
        if response.status() != 200 {
            return Err(self.refusal(response).await);
        }
        let kind = response.header("content-type").unwrap_or_default();
        if !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(failure::not_an_answer(kind));
        }
        Ok(ArrivingAnswer::new(response, model.clone(), self.settings.key.clone()))
    }

    fn not_sent(&self, error: SendError) -> ModelError {
        let origin = &self.origin;
        let fault = |kind, reason| ModelError { kind, reason, status: None, retry: None };
        match error {
            SendError::NotConnected { cause } => {
                failure::unreachable(format!("cannot connect to {origin}: {cause}"))
            }
            SendError::NoResponse { cause } => {
                failure::unreachable(format!("{origin} closed the connection: {cause}"))
            }
            SendError::TookTooLong => {
                failure::unreachable(format!("{origin} did not answer in time"))
            }
            SendError::Tls { cause } => {
                let reason = format!("cannot secure the connection to {origin}: {cause}");
                fault(ModelErrorKind::Tls, reason)
            }
            SendError::BadHeader { .. } => {
                let reason = "the API key has characters that a header cannot have".to_owned();
                fault(ModelErrorKind::Unauthorised, reason)
            }
            error @ (SendError::Redirected { .. } | SendError::RedirectedTooOften { .. }) => {
                failure::not_understood(format!("{origin} does not answer itself: {error}"))
            }
            error @ (SendError::BadAddress { .. }
            | SendError::OtherScheme { .. }
            | SendError::PlainHttp
            | SendError::BadMethod { .. }
            | SendError::NoClient { .. }) => {
                fault(ModelErrorKind::BadAddress, format!("cannot send to {origin}: {error}"))
            }
        }
    }

    /// Why the server does not answer, from a response that is not 200.
    async fn refusal(&self, mut response: OpenResponse) -> ModelError {
        let (status, retry_after) = (response.status(), response.retry_after());
        let kind = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
        let body = beginning(&mut response).await;
        let body = self.settings.key.hide_in(&String::from_utf8_lossy(&body));
        let json: Value = serde_json::from_str(&body).unwrap_or_default();
        let error = &json["error"];
        let name = error["type"].as_str().unwrap_or_default();
        let is_page = kind.starts_with("text/html") || body.trim_start().starts_with('<');
        let message = match error["message"].as_str().or_else(|| error.as_str()) {
            Some(message) => message,
            None if is_page => "it sent an HTML page in place of JSON",
            None => &body,
        };
        let words = ServerWords { name, message, retry_after };
        failure::of_status(status, words, &self.settings.model)
    }
}

impl Model for AnthropicModel {
    fn name(&self) -> &str {
        &self.settings.model
    }

    fn send<'a>(
        &'a self,
        request: &'a ModelRequest<'a>,
    ) -> Promise<'a, Result<Box<dyn AnswerStream>, ModelError>> {
        Box::pin(async move {
            let answer = self.ask(request).await?;
            Ok(Box::new(answer) as Box<dyn AnswerStream>)
        })
    }
}

/// The beginning of an error's body, as far as it comes.
async fn beginning(response: &mut OpenResponse) -> Vec<u8> {
    let until = Instant::now() + ANSWER_SILENCE_MAX;
    let mut body = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await {
        let chunk = chunk.as_ref();
        let room = ERROR_BYTES_MAX - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() >= room {
            break;
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(base_url: Option<&str>) -> AnthropicSettings {
        AnthropicSettings {
            model: "m".into(),
            key: ApiKey::new(" sk-secret-0123\n"),
            base_url: base_url.map(str::to_owned),
            allow_http: false,
            environment: Environment::default(),
        }
    }

    #[test]
    fn a_base_url_is_https_or_of_this_machine_unless_told() {
        for (base, expected) in [
            (None, "https://api.anthropic.com/v1/messages"),
            (Some("https://proxy.example/llm/"), "https://proxy.example/llm/v1/messages"),
            (Some("http://127.0.0.1:8080"), "http://127.0.0.1:8080/v1/messages"),
            (Some("http://localhost:8080/"), "http://localhost:8080/v1/messages"),
        ] {
            assert_eq!(AnthropicModel::new(settings(base)).expect("fine").url, expected);
        }
        for (base, why) in [
            (
                "http://proxy.example",
                "is `http://proxy.example`, and plain http is for this machine only: use https",
            ),
            (
                "https://me:pass@proxy.example",
                "has a user name, a query or a fragment: leave that out",
            ),
            ("https://proxy.example?x=1", "has a user name, a query or a fragment: leave that out"),
            ("api.anthropic.com", "is not a valid URL"),
            (
                "ftp://proxy.example",
                "cannot be used: the address begins with `ftp:`, expected https or http",
            ),
        ] {
            let error = AnthropicModel::new(settings(Some(base))).expect_err(base);
            assert_eq!(error.kind, ModelErrorKind::BadAddress);
            assert_eq!(error.reason, format!("the base URL of the model's server {why}"));
        }
        let allowed =
            AnthropicSettings { allow_http: true, ..settings(Some("http://proxy.example")) };
        assert!(AnthropicModel::new(allowed).is_ok());
    }

    #[test]
    fn without_a_key_there_is_no_client_and_with_one_nothing_shows_it() {
        let none = AnthropicSettings { key: ApiKey::new(" \n"), ..settings(None) };
        let error = AnthropicModel::new(none).expect_err("no key");
        assert_eq!(error.kind, ModelErrorKind::NoKey);
        assert_eq!(error.reason, "no API key for the model `m`");
        let model = AnthropicModel::new(settings(None)).expect("a client");
        let shown = format!("{model:?} {:#?} {:?}", model.settings, model.settings.key);
        assert!(!shown.contains("sk-secret"), "{shown}");
        assert_eq!(model.settings.key.hide_in("no sk-secret-0123!"), "no [API key]!");
    }
}
