//! [`ServerQuirk`]: a deviation of a server of chat completions from the vendor's own.

use serde::Deserialize;

/// A deviation, for the server of the tests. Each was seen in a server that is advertised as
/// compatible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerQuirk {
    /// The used tokens are never reported.
    NoUsage,
    /// Every chunk reports the tokens so far.
    UsageInEveryChunk,
    /// The last event, `[DONE]`, is missing.
    NoDone,
    /// No chunk has a `finish_reason`.
    NoFinishReason,
    /// The answer ends with `stop`, even after calls.
    AlwaysStop,
    /// Calls have no ids.
    NoIds,
    /// All calls of all answers have the same id.
    SameIds,
    /// Every piece of a call repeats id and name.
    RepeatedIds,
    /// All calls have the index 0.
    OneIndex,
    /// Calls have no index.
    NoIndex,
    /// The call with the highest index is sent first.
    ReversedIndexes,
    /// The pieces of the calls take turns.
    Interleaved,
    /// The first chunk has no choices.
    EmptyChoices,
    /// The content of a chunk without text is null.
    NullContent,
    /// The first chunk has only a role.
    RoleFirst,
    /// Comments keep the connection alive.
    Comments,
    /// Lines end with CR and LF.
    Crlf,
    /// The answer is one JSON value, not a stream.
    NoStream,
}
