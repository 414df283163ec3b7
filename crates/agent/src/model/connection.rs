//! [`ServerConnection`]: requests over HTTP to a model's server, the same for every protocol: where it is,
//! what may be sent there, and why there is no response.
//!
//! The HTTP client, with its rules for addresses, redirects, proxies and TLS, is the engine's.

use hookwright_engine::http::{HttpRequest, OpenResponse, SendError, Sender, check_address};
use hookwright_engine::variables::Environment;
use tokio::time::{Instant, timeout, timeout_at};

use super::api_key::ApiKey;
use super::failure;
use super::protocol::Protocol;
use super::server_words::ServerWords;
use super::{ModelError, ModelErrorKind};
use crate::limits::{ANSWER_BEGINS_MAX, ANSWER_SILENCE_MAX, ERROR_BYTES_MAX};

/// What a client of a model's server needs to know.
#[derive(Debug, Clone)]
pub struct ModelServerSettings {
    /// The model's name.
    pub model: String,
    /// The key.
    pub key: ApiKey,
    /// Where the server is, without the path of the protocol; the vendor's own without it.
    pub base_url: Option<String>,
    /// Plain http is fine beyond this machine too. The key can be read on its way then.
    pub allow_http: bool,
    /// The environment that may name proxies.
    pub environment: Environment,
}

/// Requests to one server.
#[derive(Debug)]
pub(super) struct ServerConnection {
    protocol: Protocol,
    settings: ModelServerSettings,
    url: String,
    /// The server as messages name it.
    origin: String,
    sender: Sender,
}

/// A response that is not 200.
pub(super) struct RefusedRequest {
    pub(super) status: u16,
    pub(super) words: ServerWords,
}

impl ServerConnection {
    /// A connection, if there is a key and the base URL can be used. It is made with the first request.
    pub(super) fn new(
        protocol: Protocol,
        mut settings: ModelServerSettings,
    ) -> Result<Self, ModelError> {
        let fault = |kind, reason: String| ModelError { kind, reason, status: None, retry: None };
        settings.model = settings.model.trim().to_owned();
        let base = settings.base_url.as_deref().unwrap_or(protocol.vendor_url());
        let base = base.trim().trim_end_matches('/');
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
        let url = format!("{base}{}", protocol.path());
        check_address(&url, settings.allow_http).map_err(|error| match error {
            SendError::PlainHttp => bad_address(&format!(
                "is `{origin}`, and plain http is for this machine only: use https"
            )),
            other => bad_address(&format!("cannot be used: {other}")),
        })?;
        if settings.key.is_none() && !needs_no_key(protocol, &url) {
            let reason = format!("no API key for the model `{}`", settings.model);
            return Err(fault(ModelErrorKind::NoKey, reason));
        }
        Ok(Self { protocol, settings, url, origin, sender: Sender::default() })
    }

    pub(super) fn model(&self) -> &str {
        &self.settings.model
    }

    pub(super) fn key(&self) -> &ApiKey {
        &self.settings.key
    }

    /// Sends a body with these headers; the response has begun when this returns.
    pub(super) async fn post(
        &self,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Result<OpenResponse, RefusedRequest>, ModelError> {
        let given = [("content-type", "application/json"), ("accept", "text/event-stream")];
        let headers = headers.iter().chain(&given);
        let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let http = HttpRequest {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers: headers.collect(),
            body: Some(body),
            allow_http: self.settings.allow_http,
        };
        let opening = self.sender.open(&http, &self.settings.environment);
        let opened =
            timeout(ANSWER_BEGINS_MAX, opening).await.unwrap_or(Err(SendError::TookTooLong));
        let response = opened.map_err(|error| self.not_sent(error))?;
        match response.status() {
            200 => Ok(Ok(response)),
            _ => Ok(Err(self.refused(response).await)),
        }
    }

    /// The error that a refusal is.
    pub(super) fn failed(&self, refused: &RefusedRequest) -> ModelError {
        failure::of_status(self.protocol, refused.status, &refused.words, self.model())
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
    async fn refused(&self, mut response: OpenResponse) -> RefusedRequest {
        let (status, retry_after) = (response.status(), response.retry_after());
        let content_type = response.header("content-type").unwrap_or_default().to_owned();
        let (body, _) = beginning(&mut response, ERROR_BYTES_MAX).await;
        let body = self.key().hide_in(&String::from_utf8_lossy(&body));
        let words = ServerWords::of_body(&body, &content_type, retry_after);
        RefusedRequest { status, words }
    }
}

/// Servers on this machine that speak chat completions need no key, as a rule.
fn needs_no_key(protocol: Protocol, url: &str) -> bool {
    // Only an address on this machine may be plain http without permission.
    protocol == Protocol::ChatCompletions
        && check_address(&url.replacen("https://", "http://", 1), false).is_ok()
}

/// The beginning of a body as far as it comes, and whether that is all of it.
pub(super) async fn beginning(response: &mut OpenResponse, bytes_max: usize) -> (Vec<u8>, bool) {
    let until = Instant::now() + ANSWER_SILENCE_MAX;
    let mut body = Vec::new();
    loop {
        let chunk = match timeout_at(until, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return (body, true),
            Ok(Err(_)) | Err(_) => return (body, false),
        };
        let chunk = chunk.as_ref();
        let room = bytes_max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return (body, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(base_url: Option<&str>) -> ModelServerSettings {
        ModelServerSettings {
            model: "m".into(),
            key: ApiKey::new(" sk-secret-0123\n"),
            base_url: base_url.map(str::to_owned),
            allow_http: false,
            environment: Environment::default(),
        }
    }

    fn connected(protocol: Protocol, base: Option<&str>) -> Result<ServerConnection, ModelError> {
        ServerConnection::new(protocol, settings(base))
    }

    #[test]
    fn a_base_url_is_https_or_of_this_machine_unless_told() {
        use Protocol::{ChatCompletions, Messages};

        for (protocol, base, expected) in [
            (Messages, None, "https://api.anthropic.com/v1/messages"),
            (ChatCompletions, None, "https://api.openai.com/v1/chat/completions"),
            (Messages, Some("https://proxy.example/llm/"), "https://proxy.example/llm/v1/messages"),
            (Messages, Some("http://127.0.0.1:8080"), "http://127.0.0.1:8080/v1/messages"),
            (
                ChatCompletions,
                Some(" http://localhost:8080/v1/ "),
                "http://localhost:8080/v1/chat/completions",
            ),
        ] {
            assert_eq!(connected(protocol, base).expect("fine").url, expected);
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
            for protocol in [Messages, ChatCompletions] {
                let error = connected(protocol, Some(base)).expect_err(base);
                assert_eq!(error.kind, ModelErrorKind::BadAddress);
                assert_eq!(error.reason, format!("the base URL of the model's server {why}"));
            }
        }
        let allowed =
            ModelServerSettings { allow_http: true, ..settings(Some("http://proxy.example")) };
        assert!(ServerConnection::new(Messages, allowed).is_ok());
    }

    #[test]
    fn only_a_server_of_chat_completions_on_this_machine_needs_no_key() {
        for (protocol, base, is_fine) in [
            (Protocol::Messages, None, false),
            (Protocol::Messages, Some("http://127.0.0.1:1"), false),
            (Protocol::ChatCompletions, None, false),
            (Protocol::ChatCompletions, Some("https://models.example/v1"), false),
            (Protocol::ChatCompletions, Some("https://localhost.example/v1"), false),
            (Protocol::ChatCompletions, Some("http://127.0.0.1:1/v1"), true),
            (Protocol::ChatCompletions, Some("http://[::1]:1/v1"), true),
            (Protocol::ChatCompletions, Some("https://localhost:1/v1"), true),
        ] {
            let none = ModelServerSettings { key: ApiKey::new(" \n"), ..settings(base) };
            let error = ServerConnection::new(protocol, none).err();
            assert_eq!(error.is_none(), is_fine, "{base:?}");
            if let Some(error) = error {
                assert_eq!(error.kind, ModelErrorKind::NoKey);
                assert_eq!(error.reason, "no API key for the model `m`");
            }
        }
        let open = ModelServerSettings {
            key: ApiKey::none(),
            allow_http: true,
            ..settings(Some("http://models.example/v1"))
        };
        let error = ServerConnection::new(Protocol::ChatCompletions, open).expect_err("no key");
        assert_eq!(error.kind, ModelErrorKind::NoKey, "plain http elsewhere changes nothing");
    }

    #[test]
    fn nothing_shows_the_key() {
        let connection = connected(Protocol::Messages, None).expect("a connection");
        let shown = format!("{connection:?} {:#?}", connection.settings);
        assert!(!shown.contains("sk-secret"), "{shown}");
    }
}
