//! A file with a model's answers, turn by turn. Each request gets the next turn.
//!
//! ```
//! use hookwright_model_script::ModelScript;
//!
//! let script = ModelScript::parse("
//! turns:
//!   - content:
//!       - {type: text, text: I will have a look.}
//!       - {type: tool_use, name: bash, input: {command: ls}}
//!   - error: {status: 529, retry_after: 1}
//!   - content: [{type: text, text: Done.}]
//! ")?;
//! assert_eq!(script.turns.len(), 3);
//! # Ok::<(), hookwright_model_script::ScriptFault>(())
//! ```
//!
//! The built-in agent plays such a file instead of calling a model; the model server of the tests
//! sends the same events over a real connection. `reading.rs` reads it, `events.rs` turns a turn
//! into events, and `progress.rs` chooses the next turn.
#![warn(missing_docs)]

mod events;
mod progress;
mod quirk;
mod reading;

use serde_json::{Map, Value};

pub use events::{error_event, split, sse};
pub use progress::{ScriptProgress, ScriptedConversation};
pub use quirk::ServerQuirk;
pub use reading::ScriptFault;

/// Bytes of a script. A longer one is generated, and a test that needs it can be split.
pub const SCRIPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Characters of one delta, unless the turn sets another number: a word or two, as models send
/// them.
pub const DELTA_CHARS: usize = 12;

/// The model's answer when the script has no more turns.
pub const NO_MORE_TURNS: &str = "The script has no more turns.";

/// A file of turns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelScript {
    /// One for each request, in order.
    pub turns: Vec<ScriptedTurn>,
    /// Turns of conversations beside the main one, such as those of subagents.
    pub conversations: Vec<ScriptedConversation>,
    /// The key that a server accepts; without it, any key. A model that is played without a server
    /// ignores it.
    pub key: Option<String>,
    /// The models that a server has; if empty, any model.
    pub models: Vec<String>,
    /// Fields of a request that a server of chat completions does not accept.
    pub refuses: Vec<String>,
}

/// The response to one request.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedTurn {
    /// An answer.
    Answer(ScriptedAnswer),
    /// An error of the server, instead of an answer.
    Error(ScriptedError),
    /// A response outside of the protocol, such as a page of a proxy.
    Reply(ForeignReply),
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedAnswer {
    /// Its blocks.
    pub content: Vec<ScriptedBlock>,
    /// Why it ends: by default `tool_use` with a tool call, otherwise `end_turn`.
    pub stop_reason: String,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens put into the prompt cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens read from the prompt cache.
    pub cache_read_input_tokens: u64,
    /// Characters of one delta.
    pub delta_chars: usize,
    /// It is sent byte by byte.
    pub byte_by_byte: bool,
    /// In what a server of chat completions deviates from the vendor's own.
    pub quirks: Vec<ServerQuirk>,
    /// The way it ends.
    pub ending: Ending,
}

/// The way an answer ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// As it should.
    Complete,
    /// The connection breaks after this many bytes of the events.
    Cut(usize),
    /// The answer ends normally after this many bytes of the events.
    Short(usize),
    /// Nothing more is sent after this many bytes of the events, and the connection stays open.
    Silence(usize),
    /// An event `error` is sent instead of the end.
    Error(ScriptedError),
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedBlock {
    /// Plain text.
    Text(String),
    /// A thought and its signature.
    Thinking {
        /// The thought.
        thinking: String,
        /// Its signature.
        signature: String,
    },
    /// A tool call.
    ToolUse {
        /// Its id; made from the turn and the block without one.
        id: Option<String>,
        /// The tool.
        name: String,
        /// Its input.
        input: ScriptedInput,
    },
}

/// The input of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedInput {
    /// As it should be.
    Object(Map<String, Value>),
    /// This text instead of JSON.
    Text(String),
}

/// An error of the model's server. The protocol has defaults for what the script leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedError {
    /// Its HTTP status.
    pub status: u16,
    /// The protocol's name for it, such as `overloaded_error`.
    pub name: Option<String>,
    /// A second, more specific name, which only chat completions have.
    pub code: Option<String>,
    /// The server's message.
    pub message: Option<String>,
    /// The header `Retry-After`: seconds, or a date.
    pub retry_after: Option<String>,
}

/// An HTTP response outside of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignReply {
    /// Its status.
    pub status: u16,
    /// Its content type.
    pub content_type: String,
    /// Its body.
    pub body: String,
}

impl ModelScript {
    /// Reads a script in YAML or JSON.
    pub fn parse(text: &str) -> Result<Self, ScriptFault> {
        reading::parse(text)
    }

    /// The response to a request, counted from 1. After the last turn, the model ends its work.
    pub fn turn(&self, number: usize) -> ScriptedTurn {
        let turn = number.checked_sub(1).and_then(|index| self.turns.get(index));
        turn.cloned().unwrap_or_else(|| ScriptedTurn::Answer(ScriptedAnswer::text(NO_MORE_TURNS)))
    }
}

impl ScriptedAnswer {
    /// An answer with these blocks.
    pub fn new(content: Vec<ScriptedBlock>) -> Self {
        let calls = content.iter().any(|block| matches!(block, ScriptedBlock::ToolUse { .. }));
        Self {
            content,
            stop_reason: if calls { "tool_use" } else { "end_turn" }.to_owned(),
            input_tokens: 10,
            output_tokens: 10,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            delta_chars: DELTA_CHARS,
            byte_by_byte: false,
            quirks: Vec::new(),
            ending: Ending::Complete,
        }
    }

    /// An answer that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ScriptedBlock::Text(text.into())])
    }
}

impl ScriptedError {
    /// An error with this status and default texts.
    pub fn of_status(status: u16) -> Self {
        Self { status, name: None, code: None, message: None, retry_after: None }
    }

    /// An error with this message.
    pub fn with_message(status: u16, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::of_status(status) }
    }

    /// Its name in the Messages protocol.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.vendor_words().0)
    }

    /// The message of a server of the Messages protocol.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or(self.vendor_words().1)
    }

    /// The server's name and message for this status.
    fn vendor_words(&self) -> (&'static str, &'static str) {
        match self.status {
            400 => ("invalid_request_error", "Invalid request"),
            401 => ("authentication_error", "invalid x-api-key"),
            402 => ("billing_error", "Your credit balance is too low"),
            403 => ("permission_error", "Your API key does not have permission to use this model"),
            404 => ("not_found_error", "Not found"),
            413 => ("request_too_large", "Request exceeds the maximum size"),
            429 => (
                "rate_limit_error",
                "This request would exceed your account's rate limit. Please try again later.",
            ),
            504 => ("timeout_error", "Request timed out"),
            529 => ("overloaded_error", "Overloaded"),
            500.. => ("api_error", "Internal server error"),
            _ => ("invalid_request_error", "Invalid request"),
        }
    }

    /// The body of the response in the Messages protocol.
    pub fn body(&self) -> Value {
        let mut body = error_event(self.name(), self.message());
        body["request_id"] = Value::from("req_script");
        body
    }
}
