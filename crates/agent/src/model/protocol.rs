//! [`Protocol`]: how a model's server is spoken to.

/// A protocol that this program speaks over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's chat completions, which many servers speak.
    ChatCompletions,
}

impl Protocol {
    /// Its name, as messages for people have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "Messages",
            Self::ChatCompletions => "chat completions",
        }
    }

    /// Where the vendor's own server is.
    pub(super) fn vendor_url(self) -> &'static str {
        match self {
            Self::Messages => "https://api.anthropic.com",
            Self::ChatCompletions => "https://api.openai.com/v1",
        }
    }

    /// What comes behind the base URL.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::ChatCompletions => "/chat/completions",
        }
    }
}
