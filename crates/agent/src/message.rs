//! The conversation with a model, in the shape of the Messages protocol: other protocols are
//! translated at their edge, and transcripts and streams contain the same objects.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or a tool that answers for them.
    User,
    /// The model.
    Assistant,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its parts, in order; never empty when it is sent.
    pub content: Vec<Block>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text; never empty when it is sent.
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought. It goes back unchanged.
    Thinking {
        /// The thought.
        thinking: String,
        /// Proves to the model's server that the thought is its own.
        #[serde(default)]
        signature: String,
    },
    /// A thought that only the model's server can read. It goes back unchanged.
    RedactedThinking {
        /// The encrypted thought.
        data: String,
    },
    /// The model calls a tool.
    ToolUse {
        /// Names this call; its result carries the same id.
        id: String,
        /// The tool's name.
        name: String,
        /// The tool's input. What a hook rewrote is what is recorded.
        input: Map<String, Value>,
    },
    /// What came of a call.
    ToolResult {
        /// The call.
        tool_use_id: String,
        /// What the model reads.
        content: String,
        /// The call was denied, failed or was cut off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl Block {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl Message {
    /// A message of the user.
    pub fn user(content: Vec<Block>) -> Self {
        Self { role: Role::User, content }
    }

    /// A message of the model.
    pub fn assistant(content: Vec<Block>) -> Self {
        Self { role: Role::Assistant, content }
    }

    /// Its plain text: the texts of its blocks, one below the other.
    pub fn plain_text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Tokens that an answer used. What a server does not say is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read, without those of the cache.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Put into the prompt cache.
    pub cache_creation_input_tokens: u64,
    /// Read from the prompt cache.
    pub cache_read_input_tokens: u64,
}

impl Usage {
    /// All tokens together: what `tokens` of the model's events says.
    pub fn total(&self) -> u64 {
        let read = self.input_tokens + self.cache_creation_input_tokens;
        read + self.cache_read_input_tokens + self.output_tokens
    }

    /// Adds what another answer used.
    pub fn add(&mut self, other: Usage) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
    }
}

impl From<Usage> for hookwright_events::Usage {
    /// All tokens that were read, cached ones included; the cost is unknown.
    fn from(usage: Usage) -> Self {
        let output_tokens = usage.output_tokens;
        let input_tokens = usage.total().saturating_sub(output_tokens);
        Self { input_tokens, output_tokens, cost_usd: None }
    }
}
