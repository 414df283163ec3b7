//! [`OptionalFields`]: fields of a request that some servers refuse. Which ones cannot be known before, so a
//! field is sent until the server refuses it by name; the next request does without.
//!
//! - `stream_options` asks for the tokens that the answer used. Without it, most servers do not say.
//! - The limit on the tokens of an answer has two names. OpenAI's newer models know only
//!   `max_completion_tokens`, most other servers only `max_tokens`, and some refuse a limit that is larger
//!   than what the model can write.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::model::server_words::ServerWords;

const STREAM_OPTIONS: u8 = 1;
const MAX_TOKENS: u8 = 2;
const MAX_COMPLETION_TOKENS: u8 = 4;

/// What is known about the server.
#[derive(Debug)]
pub(super) struct OptionalFields {
    /// The fields that it has refused.
    refused: AtomicU8,
    /// Whether it is the vendor's own.
    is_vendor: bool,
}

/// The fields of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentFields {
    /// The tokens that are used are asked for.
    pub(super) asks_usage: bool,
    /// The limit on the answer's tokens.
    pub(super) token_limit: Option<TokenLimit>,
}

/// The name of the limit on an answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenLimit {
    MaxTokens,
    MaxCompletionTokens,
}

impl TokenLimit {
    fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::MaxTokens => MAX_TOKENS,
            Self::MaxCompletionTokens => MAX_COMPLETION_TOKENS,
        }
    }
}

impl OptionalFields {
    pub(super) fn new(is_vendor: bool) -> Self {
        Self { refused: AtomicU8::new(0), is_vendor }
    }

    /// The fields of the next request.
    pub(super) fn to_send(&self) -> SentFields {
        let refused = self.refused.load(Ordering::SeqCst);
        let first = match self.is_vendor {
            true => TokenLimit::MaxCompletionTokens,
            false => TokenLimit::MaxTokens,
        };
        let mut limits = [first, first.other()].into_iter();
        SentFields {
            asks_usage: refused & STREAM_OPTIONS == 0,
            token_limit: limits.find(|limit| refused & limit.bit() == 0),
        }
    }

    /// Notes what a server refuses. Returns the field that a request with these fields is refused for, if the
    /// next one does without it.
    pub(super) fn note_refusal(
        &self,
        status: u16,
        words: &ServerWords,
        sent: SentFields,
    ) -> Option<&'static str> {
        if !matches!(status, 400 | 422) {
            return None;
        }
        if sent.asks_usage && words.say_any(&["stream_options", "include_usage"]) {
            self.refused.fetch_or(STREAM_OPTIONS, Ordering::SeqCst);
            return Some("stream_options");
        }
        let limit = sent.token_limit?;
        // `in the completion` is said by servers that count the limit as part of the context.
        if !words.say_any(&[limit.name(), "in the completion"]) {
            return None;
        }
        let is_renamed = words.say_any(&["instead"]);
        let other = limit.other();
        let refuses_both = !is_renamed && words.say_any(&[other.name(), "in the completion"]);
        let bits = limit.bit() | if refuses_both { other.bit() } else { 0 };
        self.refused.fetch_or(bits, Ordering::SeqCst);
        Some(limit.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(fields: &OptionalFields, status: u16, message: &str) -> Option<&'static str> {
        let words = ServerWords { message: message.into(), ..ServerWords::default() };
        fields.note_refusal(status, &words, fields.to_send())
    }

    fn sent(fields: &OptionalFields) -> (bool, Option<&'static str>) {
        let sent = fields.to_send();
        (sent.asks_usage, sent.token_limit.map(TokenLimit::name))
    }

    #[test]
    fn a_field_that_is_refused_by_name_is_left_out_or_renamed() {
        let fields = OptionalFields::new(false);
        assert_eq!(sent(&fields), (true, Some("max_tokens")));
        assert_eq!(refused(&fields, 400, "Something else is wrong."), None);
        assert_eq!(refused(&fields, 500, "stream_options failed"), None);
        let message = "Unrecognized request argument supplied: stream_options";
        assert_eq!(refused(&fields, 400, message), Some("stream_options"));
        assert_eq!(sent(&fields), (false, Some("max_tokens")));
        assert_eq!(refused(&fields, 400, message), None, "it was not sent again");
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                       'max_completion_tokens' instead.";
        assert_eq!(refused(&fields, 400, message), Some("max_tokens"));
        assert_eq!(sent(&fields), (false, Some("max_completion_tokens")));
        assert_eq!(
            refused(&fields, 422, "Extra inputs: max_completion_tokens"),
            Some("max_completion_tokens")
        );
        assert_eq!(sent(&fields), (false, None));
        assert_eq!(refused(&fields, 400, "max_tokens, stream_options"), None);
    }

    #[test]
    fn a_limit_that_is_too_large_is_left_out_under_both_names() {
        for message in [
            "'max_tokens' or 'max_completion_tokens' is too large: 16384.",
            "you requested 20000 tokens (3616 in the messages, 16384 in the completion)",
        ] {
            let fields = OptionalFields::new(true);
            assert_eq!(sent(&fields), (true, Some("max_completion_tokens")));
            assert_eq!(refused(&fields, 400, message), Some("max_completion_tokens"));
            assert_eq!(sent(&fields), (true, None));
        }
    }
}
