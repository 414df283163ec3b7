//! [`ModelService`]: what the built-in agent's model runs on, and the variables that set it up.

use hookwright_agent::model::Protocol;

/// What answers the requests of the built-in agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelService {
    /// Anthropic, or a server that speaks its protocol.
    Anthropic,
    /// OpenAI, or a server that speaks chat completions.
    OpenAi,
    /// A file of turns. It fails in the words of the first one.
    Script,
}

impl ModelService {
    /// The services that a name can choose by a prefix: `openai:NAME`.
    pub(crate) const WITH_PREFIX: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// What comes before the name of a model to choose this service.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic:",
            Self::OpenAi => "openai:",
            Self::Script => "scripted:",
        }
    }

    /// The variable with the key.
    pub(crate) fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic | Self::Script => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// The variable with the base URL.
    pub(crate) fn url_variable(self) -> &'static str {
        match self {
            Self::Anthropic | Self::Script => "ANTHROPIC_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
        }
    }

    /// The protocol that it speaks.
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Anthropic | Self::Script => Protocol::Messages,
            Self::OpenAi => Protocol::ChatCompletions,
        }
    }
}
