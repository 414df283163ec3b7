//! [`Model`]: sends a conversation to a model and hands on its answer while it arrives.
//!
//! One call of [`Model::send`] is one request. The turn decides whether another attempt is made
//! ([`ModelError::retry`]), so that hooks see every request that is sent.
//!
//! | module | holds |
//! |---|---|
//! | [`anthropic`], [`chat_completions`] | the clients of two protocols |
//! | `connection`, `arriving`, [`sse`] | what they share: the request, the answer while it arrives, its events |
//! | `failure`, `server_words` | what a status and a server's words mean |
//! | [`scripted`] | a file of turns in place of a model |
//! | [`collect`] | a whole answer out of the events of a stream |

pub mod anthropic;
mod api_key;
mod arriving;
pub mod chat_completions;
pub mod collect;
mod connection;
mod failure;
mod protocol;
pub mod scripted;
mod server_words;
pub mod sse;

use std::time::Duration;

use hookwright_engine::ports::Promise;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::api_key::ApiKey;
pub use self::connection::ModelServerSettings;
pub use self::protocol::Protocol;
use crate::limits::CONTEXT_TOKENS;
use crate::message::{Block, Message, Usage};
use crate::tool::ToolSpec;

/// Takes the place of a message of the model in which nothing can be sent. No server accepts it empty.
pub(crate) const NOTHING_SAID: &str = "(The model said nothing.)";

/// A model that can be asked.
pub trait Model: Send + Sync {
    /// Its name, as requests and events carry it.
    fn name(&self) -> &str;

    /// Tokens that it has room for: what is sent and the answer together.
    fn context_tokens(&self) -> u64 {
        CONTEXT_TOKENS
    }

    /// Sends one request. The answer has begun when this returns.
    fn send<'a>(
        &'a self,
        request: &'a ModelRequest<'a>,
    ) -> Promise<'a, Result<Box<dyn AnswerStream>, ModelError>>;
}

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// What the model is told first. It never changes within a session, so that it can be cached.
    pub system: &'a str,
    /// The conversation. The last message is the user's.
    pub messages: &'a [Message],
    /// The tools that the model can call. They never change within a session either.
    pub tools: &'a [&'a ToolSpec],
    /// As many tokens as the answer may have.
    pub max_tokens: u32,
}

/// An answer that arrives.
pub trait AnswerStream: Send {
    /// The next event; `None` after the last one. An answer that ends before
    /// [`StreamEvent::MessageStop`] is an error.
    fn next(&mut self) -> Promise<'_, Option<Result<StreamEvent, ModelError>>>;
}

/// A piece of an answer, in the shape of the Messages protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The answer begins.
    MessageStart {
        /// The answer without its content.
        message: AnswerStart,
    },
    /// A block begins.
    ContentBlockStart {
        /// The block's place in the answer.
        index: usize,
        /// The block, empty; fields that we do not know stay in it.
        content_block: Value,
    },
    /// A block grows.
    ContentBlockDelta {
        /// The block's place in the answer.
        index: usize,
        /// What is added.
        delta: Delta,
    },
    /// A block is complete.
    ContentBlockStop {
        /// The block's place in the answer.
        index: usize,
    },
    /// Why the answer ends, and what it used.
    MessageDelta {
        /// Why it ends.
        delta: AnswerEnd,
        /// Tokens so far.
        #[serde(default)]
        usage: Usage,
    },
    /// The answer is complete.
    MessageStop,
    /// The connection is alive.
    Ping,
    /// An event that is newer than this program.
    #[serde(other)]
    Unknown,
}

/// Reads one event of the Messages protocol from its JSON text. An event `error` is an error; the name of
/// the model is for its message.
pub fn read_event(json: &str, model: &str) -> Result<StreamEvent, ModelError> {
    let event = serde_json::from_str(json);
    let event = event.map_err(|error| {
        failure::not_understood(format!("an event of the answer is not understood: {error}"))
    })?;
    if event == StreamEvent::Unknown
        && let Ok(Value::Object(event)) = serde_json::from_str::<Value>(json)
        && event.get("type").is_some_and(|name| name == "error")
    {
        let text = |name: &str| event.get("error").and_then(|error| error[name].as_str());
        let (name, message) = (text("type").unwrap_or_default(), text("message"));
        return Err(failure::of_event(name, message.unwrap_or_default(), model));
    }
    Ok(event)
}

/// The head of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerStart {
    /// The answer's id.
    pub id: String,
    /// The model that answers.
    pub model: String,
    /// Tokens so far.
    pub usage: Usage,
    /// What else the server says.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The end of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerEnd {
    /// Why it ends: `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `refusal`, …
    pub stop_reason: Option<String>,
    /// What else the server says.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What is added to a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// To a text.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// To the JSON text of a tool's input.
    InputJsonDelta {
        /// The piece; only all pieces together are JSON.
        partial_json: String,
    },
    /// To a thought.
    ThinkingDelta {
        /// The piece.
        thinking: String,
    },
    /// To the signature of a thought.
    SignatureDelta {
        /// The piece.
        signature: String,
    },
    /// A piece that is newer than this program.
    #[serde(other)]
    Unknown,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// Its id.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// Its parts.
    pub content: Vec<Block>,
    /// Tool calls whose input is no JSON object: the call's id, and why. Their blocks have an empty input.
    pub broken_inputs: Vec<(String, String)>,
    /// Why it ended.
    pub stop_reason: Option<String>,
    /// What it used.
    pub usage: Usage,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// What happened, in one sentence without the key.
    pub reason: String,
    /// The server's status, if it answered.
    pub status: Option<u16>,
    /// Another attempt may help, not before this time has passed; `None` if the same request would fail again.
    pub retry: Option<RetryAfter>,
}

/// When another attempt may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// The turn chooses: a little longer each time.
    Backoff,
    /// The server named this time.
    Named(Duration),
}

/// What kind of failure it is; advice depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// There is no key.
    NoKey,
    /// The base URL is not valid, or not secure.
    BadAddress,
    /// The key is refused.
    Unauthorised,
    /// The server knows no such model.
    UnknownModel,
    /// The server cannot be reached, or the connection broke.
    Unreachable,
    /// The connection cannot be secured.
    Tls,
    /// Too many requests: 429.
    RateLimited,
    /// The server has too much to do: 529, or another 5xx.
    Overloaded,
    /// The conversation is longer than the model's context.
    ContextTooLong,
    /// The model, or the server that runs it, cannot call tools.
    NoTools,
    /// The request is refused: another 4xx.
    Refused,
    /// What came is no answer of this protocol.
    NotUnderstood,
    /// The answer is larger than the limit.
    TooLarge,
}
