//! [`ChatModel`]: a client of OpenAI's chat completions API, and of the many servers that speak the same
//! protocol: proxies, other vendors, programs that run a model on this machine.
//!
//! Requests and answers go the way of every protocol (`model/connection.rs`, `model/arriving.rs`). Here is
//! what is special:
//!
//! | module | holds |
//! |---|---|
//! | `request` | the conversation in the shape of this protocol |
//! | `optional_fields` | fields of a request that some servers refuse, and what happens then |
//! | [`chunks`] | the events of an answer out of the chunks of a stream |
//! | `calls` | tool calls out of their pieces, however a server numbers them |
//!
//! Compatible servers differ in details. What can be understood in one way only is accepted; half an answer
//! never is, because it must not run tools.

mod calls;
pub mod chunks;
mod optional_fields;
mod request;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookwright_engine::http::OpenResponse;
use hookwright_engine::ports::Promise;

use self::chunks::ChunkTranslation;
use self::optional_fields::OptionalFields;
use super::arriving::ArrivingAnswer;
use super::connection::{ModelServerSettings, RefusedRequest, ServerConnection, beginning};
use super::failure::{self, told, unreachable};
use super::protocol::Protocol;
use super::{AnswerStream, Model, ModelError, ModelErrorKind, ModelRequest, RetryAfter};
use crate::limits::EVENT_BYTES_MAX;

/// The model that is asked when none is named, at the vendor's own server.
pub const DEFAULT_MODEL: &str = "gpt-5";

/// The client.
#[derive(Debug)]
pub struct ChatModel {
    connection: ServerConnection,
    fields: OptionalFields,
    /// Requests so far.
    requests: AtomicUsize,
}

impl ChatModel {
    /// A client, if the base URL can be used and there is a key. A server on this machine needs none.
    pub fn new(settings: ModelServerSettings) -> Result<Self, ModelError> {
        let fields = OptionalFields::new(settings.base_url.is_none());
        let connection = ServerConnection::new(Protocol::ChatCompletions, settings)?;
        Ok(Self { connection, fields, requests: AtomicUsize::new(0) })
    }

    async fn ask(&self, request: &ModelRequest<'_>) -> Result<ArrivingAnswer, ModelError> {
        let (model, key) = (self.connection.model(), self.connection.key());
        let authorization = format!("Bearer {}", key.text());
        let headers = [("authorization", authorization.as_str())];
        let headers = if key.is_none() { &[][..] } else { &headers[..] };
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let sent = self.fields.to_send();
        let body = request::body(model, request, sent)?;
        let response = match self.connection.post(headers, body).await? {
            Ok(response) => response,
            Err(refused) => {
                let field = self.fields.note_refusal(refused.status, &refused.words, sent);
                return Err(match field {
                    Some(field) => left_out(field, &refused),
                    None => self.connection.failed(&refused),
                });
            }
        };
        let translation = Box::new(ChunkTranslation::new(model, request.messages, number));
        let kind = response.header("content-type").unwrap_or_default().trim().to_ascii_lowercase();
        if kind.starts_with("text/event-stream") {
            return Ok(ArrivingAnswer::new(response, translation, key.clone()));
        }
        if !kind.starts_with("application/json") {
            return Err(failure::not_an_answer(&kind));
        }
        // An error, or an answer of a server that does not stream.
        let data = whole_body(response).await?;
        Ok(ArrivingAnswer::whole(data, translation, key.clone()))
    }
}

impl Model for ChatModel {
    fn name(&self) -> &str {
        self.connection.model()
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

/// The server refuses a field that the next request does without.
fn left_out(field: &str, refused: &RefusedRequest) -> ModelError {
    let what =
        format!("the model's server does not accept `{field}`, which is left out from now on");
    ModelError {
        kind: ModelErrorKind::Refused,
        reason: told(&what, refused.status, &refused.words),
        status: Some(refused.status),
        retry: Some(RetryAfter::Named(Duration::ZERO)),
    }
}

/// All of a body that is one JSON value.
async fn whole_body(mut response: OpenResponse) -> Result<String, ModelError> {
    let (body, is_whole) = beginning(&mut response, EVENT_BYTES_MAX).await;
    match is_whole {
        true => Ok(String::from_utf8_lossy(&body).into_owned()),
        false if body.len() < EVENT_BYTES_MAX => {
            Err(unreachable("the connection broke within the answer"))
        }
        false => Err(ModelError {
            kind: ModelErrorKind::TooLarge,
            reason: format!("the answer has more than {EVENT_BYTES_MAX} bytes"),
            status: None,
            retry: None,
        }),
    }
}
