//! [`AnthropicModel`]: a client of Anthropic's Messages API, and of servers that speak the same protocol.
//!
//! One `send` is one request over HTTP (`model/connection.rs`), whose answer is read while it arrives
//! (`model/arriving.rs`). What is sent, and what is marked for the prompt cache: `anthropic/request.rs`. What
//! a status means: `model/failure.rs`.

mod request;

use std::collections::VecDeque;

use hookwright_engine::ports::Promise;

use super::arriving::{ArrivingAnswer, StreamTranslation};
use super::collect::incomplete;
use super::connection::{ModelServerSettings, ServerConnection};
use super::failure;
use super::protocol::Protocol;
use super::sse::SseEvent;
use super::{AnswerStream, Model, ModelError, ModelRequest, StreamEvent, read_event};

/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// The model that is asked when none is named.
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-5";

/// Tokens that the vendor's models have room for, unless a request asks for more.
const CONTEXT_TOKENS: u64 = 200_000;

/// The client.
#[derive(Debug)]
pub struct AnthropicModel {
    connection: ServerConnection,
}

impl AnthropicModel {
    /// A client, if there is a key and the base URL can be used.
    pub fn new(settings: ModelServerSettings) -> Result<Self, ModelError> {
        Ok(Self { connection: ServerConnection::new(Protocol::Messages, settings)? })
    }

    async fn ask(&self, request: &ModelRequest<'_>) -> Result<ArrivingAnswer, ModelError> {
        let (model, key) = (self.connection.model(), self.connection.key());
        let headers = [("x-api-key", key.text()), ("anthropic-version", VERSION)];
        let response = self.connection.post(&headers, request::body(model, request)?).await?;
        let response = response.map_err(|refused| self.connection.failed(&refused))?;
        let kind = response.header("content-type").unwrap_or_default();
        if !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(failure::not_an_answer(kind));
        }
        let translation = MessageEvents { model: model.to_owned() };
        Ok(ArrivingAnswer::new(response, Box::new(translation), key.clone()))
    }
}

impl Model for AnthropicModel {
    fn name(&self) -> &str {
        self.connection.model()
    }

    fn context_tokens(&self) -> u64 {
        CONTEXT_TOKENS
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

/// Events of this protocol are those of an answer.
struct MessageEvents {
    model: String,
}

impl StreamTranslation for MessageEvents {
    fn read(
        &mut self,
        event: &SseEvent,
        events: &mut VecDeque<StreamEvent>,
    ) -> Result<(), ModelError> {
        events.push_back(read_event(&event.data, &self.model)?);
        Ok(())
    }

    fn end(&mut self, _events: &mut VecDeque<StreamEvent>) -> Result<(), ModelError> {
        Err(incomplete())
    }

    fn has_content(&self) -> bool {
        false
    }
}
