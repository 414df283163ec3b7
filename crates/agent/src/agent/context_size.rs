//! [`ContextSize`]: how full the model's context is.
//!
//! A model says how many tokens its last request and answer had. What was added since is estimated by
//! its bytes: there is no tokenizer for every model, and to compact in time a coarse estimate is enough.

use crate::limits::BYTES_PER_TOKEN;
use crate::message::{Message, Usage};

/// What is known about the size of a conversation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContextSize {
    /// Tokens up to the last answer, as the model reported them; 0 if it did not.
    reported: u64,
    /// Messages that the report covers.
    covered: usize,
}

impl ContextSize {
    /// A model reported this for its answer, which is the last of so many messages.
    pub(super) fn reported(usage: Usage, covered: usize) -> Self {
        Self { reported: usage.total(), covered }
    }

    /// Tokens of the next request, about. `around` counts the bytes that are sent beside the messages;
    /// it is asked only if there is no report, which covers them.
    pub(super) fn tokens(self, messages: &[Message], around: impl FnOnce() -> usize) -> u64 {
        match self.reported {
            0 => to_tokens(around() + bytes(messages)),
            reported => {
                let new = messages.get(self.covered..).unwrap_or_default();
                reported + to_tokens(bytes(new))
            }
        }
    }
}

/// Bytes of messages, as they are sent.
pub(super) fn bytes(messages: &[Message]) -> usize {
    let size = |message| serde_json::to_string(message).map_or(0, |text| text.len());
    messages.iter().map(size).sum()
}

/// Tokens of so many bytes, about.
pub(super) fn to_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Block;

    #[test]
    fn what_the_model_reports_counts_and_only_the_rest_is_estimated() {
        let user = |bytes: usize| Message::user(vec![Block::text("x".repeat(bytes))]);
        let messages = [user(30_000), Message::assistant(vec![Block::text("ok")]), user(3000)];
        let usage = Usage {
            input_tokens: 100,
            output_tokens: 20,
            cache_read_input_tokens: 3000,
            ..Usage::default()
        };
        let size = ContextSize::reported(usage, 2).tokens(&messages, || 9000);
        assert!((4120..4160).contains(&size), "{size}");
        // Without a report everything is estimated.
        let unknown = ContextSize::reported(Usage::default(), 2).tokens(&messages, || 9000);
        assert!((14_000..14_100).contains(&unknown), "{unknown}");
    }
}
