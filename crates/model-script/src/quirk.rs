//! [`ServerQuirk`]: in what a server of chat completions deviates from the vendor's own.

use serde::Deserialize;

/// One deviation, for the server of the tests. Each was seen in a server that calls itself compatible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerQuirk {
    /// The tokens that are used are never said.
    NoUsage,
    /// The tokens so far come with every chunk.
    UsageInEveryChunk,
    /// The last event, `[DONE]`, does not come.
    NoDone,
    /// No chunk has a `finish_reason`.
    NoFinishReason,
    /// The answer ends with `stop`, also behind calls.
    AlwaysStop,
    /// Calls have no ids.
    NoIds,
    /// All calls of all answers have the same id.
    SameIds,
    /// Id and name come with every piece of a call.
    RepeatedIds,
    /// All calls have the index 0.
    OneIndex,
    /// Calls have no index.
    NoIndex,
    /// The call with the highest index comes first.
    ReversedIndexes,
    /// The pieces of the calls take turns.
    Interleaved,
    /// A chunk without choices comes first.
    EmptyChoices,
    /// The content of a chunk that says nothing is null.
    NullContent,
    /// The first chunk has a role and nothing else.
    RoleFirst,
    /// Comments keep the connection alive.
    Comments,
    /// Lines end with CR and LF.
    Crlf,
    /// The answer comes as one JSON value, not as a stream.
    NoStream,
}
