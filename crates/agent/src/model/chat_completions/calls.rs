//! [`ToolCallPieces`]: the tool calls of an answer, put together from the pieces in which they are streamed.
//!
//! A piece names its call by an `index`; the first piece of a call has its id and name, the others continue its
//! arguments. Servers deviate: no index, one index for all calls, ids that are missing or come with every
//! piece, names that are repeated. So the rules are:
//!
//! - A piece without an index has its place in the list of pieces as its index.
//! - A piece continues the last call of its index, unless it begins another one. It does if its id is another
//!   one, or its name is, or if it has a name and the arguments so far are complete.
//! - Calls are in the order of their indexes, and those of one index in the order in which they came.

use std::collections::HashMap;

use serde_json::Value;

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct ToolCallPieces {
    calls: Vec<CallDraft>,
    /// The last call of each index.
    last_of: HashMap<u64, usize>,
    /// The calls of an index that have an id.
    with_id: HashMap<(u64, String), usize>,
}

/// A call that grows.
#[derive(Debug, Default)]
pub(super) struct CallDraft {
    index: u64,
    /// Empty if the server has not named one.
    pub(super) id: String,
    /// Empty if the server has not named one.
    pub(super) name: String,
    /// JSON, as soon as all of it is there.
    pub(super) arguments: String,
    nesting: JsonNesting,
}

/// One piece.
struct CallPiece<'a> {
    index: u64,
    /// Neither an index nor an id says where it belongs.
    is_unmarked: bool,
    id: &'a str,
    name: &'a str,
    arguments: String,
}

impl ToolCallPieces {
    /// Adds the pieces of one chunk.
    pub(super) fn push(&mut self, pieces: &Value) {
        let pieces = match pieces {
            Value::Array(pieces) => pieces.as_slice(),
            Value::Object(_) => std::slice::from_ref(pieces),
            _ => &[],
        };
        for (place, piece) in pieces.iter().enumerate() {
            let function = &piece["function"];
            let arguments = match &function["arguments"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                // Some servers forget that it has to be a text.
                other => other.to_string(),
            };
            let index = piece["index"].as_u64();
            let id = piece["id"].as_str().unwrap_or_default();
            self.add(CallPiece {
                index: index.unwrap_or(place as u64),
                is_unmarked: index.is_none() && id.is_empty(),
                id,
                name: function["name"].as_str().unwrap_or_default(),
                arguments,
            });
        }
    }

    /// All calls, in their order.
    pub(super) fn finish(self) -> Vec<CallDraft> {
        let mut calls = self.calls;
        calls.sort_by_key(|call| call.index);
        calls
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    fn add(&mut self, piece: CallPiece<'_>) {
        let place = self.place_of(&piece);
        let call = &mut self.calls[place];
        if call.id.is_empty() && !piece.id.is_empty() {
            call.id = piece.id.to_owned();
            self.with_id.insert((piece.index, call.id.clone()), place);
        }
        if call.name.is_empty() {
            call.name = piece.name.to_owned();
        }
        call.nesting.push(&piece.arguments);
        call.arguments.push_str(&piece.arguments);
    }

    /// The call that a piece belongs to.
    fn place_of(&mut self, piece: &CallPiece<'_>) -> usize {
        let last = self.last_of.get(&piece.index).copied();
        let place = match last {
            Some(last) if !begins_another(piece, &self.calls[last]) => last,
            _ => self.earlier(piece).unwrap_or_else(|| {
                self.calls.push(CallDraft { index: piece.index, ..CallDraft::default() });
                self.calls.len() - 1
            }),
        };
        self.last_of.insert(piece.index, place);
        place
    }

    /// A call with the same index and id that was left before its arguments were complete.
    fn earlier(&self, piece: &CallPiece<'_>) -> Option<usize> {
        let place = *self.with_id.get(&(piece.index, piece.id.to_owned()))?;
        (!self.calls[place].nesting.is_complete).then_some(place)
    }
}

fn begins_another(piece: &CallPiece<'_>, last: &CallDraft) -> bool {
    if !piece.id.is_empty() && !last.id.is_empty() && piece.id != last.id {
        return true;
    }
    let is_named_again = !piece.name.is_empty() && !last.name.is_empty();
    // A server that repeats the name does so with an empty piece at the end, too.
    let may_begin = piece.is_unmarked || !piece.arguments.trim().is_empty();
    is_named_again && (piece.name != last.name || (last.nesting.is_complete && may_begin))
}

/// Finds the end of a JSON object while it arrives, without reading it again and again.
#[derive(Debug, Default)]
struct JsonNesting {
    depth: u64,
    is_in_text: bool,
    is_escaped: bool,
    /// Its last bracket is closed.
    is_complete: bool,
}

impl JsonNesting {
    fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if std::mem::take(&mut self.is_escaped) {
                continue;
            }
            match (byte, self.is_in_text) {
                (b'\\', true) => self.is_escaped = true,
                (b'"', is_in_text) => self.is_in_text = !is_in_text,
                (b'{' | b'[', false) => self.depth += 1,
                (b'}' | b']', false) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_complete = self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
