//! Reads values that the configuration's own reader has no method for: a text that may be empty or
//! a number, a list or a map that must not be empty.

use std::sync::Arc;
use std::time::Duration;

use hookwright_config::limits::CONFIG_BYTES_MAX;
pub(super) use hookwright_config::tree::{Field, Mark, Node, Raw};
use hookwright_config::{ExpectedValue, Fault, FaultKind, MissingKey, SourceFile, tree};

/// Collects the faults of a script while its tree is read.
pub(super) struct ScriptNotes<'a> {
    inner: tree::Notes<'a>,
}

impl<'a> ScriptNotes<'a> {
    pub(super) fn new(source: &'a Arc<SourceFile>) -> Self {
        Self { inner: tree::Notes::new(source) }
    }

    pub(super) fn into_faults(self) -> Vec<Fault> {
        self.inner.faults
    }

    /// The tree of the whole text.
    pub(super) fn parse(&mut self) -> Option<Node> {
        let source = self.inner.source;
        let bytes = source.text.len() as u64;
        let parsed = if bytes > CONFIG_BYTES_MAX {
            let kind = FaultKind::TooLarge { bytes, bytes_max: CONFIG_BYTES_MAX };
            Err(Fault { source: Arc::clone(source), place: None, kind })
        } else {
            tree::parse(source)
        };
        parsed.map_err(|fault| self.inner.faults.push(fault)).ok()
    }

    pub(super) fn missing(&mut self, at: Mark, key: MissingKey) {
        self.inner.missing(at, key);
    }

    pub(super) fn bad_value(
        &mut self,
        at: Mark,
        found: impl Into<String>,
        expected: impl Into<ExpectedValue>,
    ) {
        self.inner.bad_value(at, found, expected);
    }

    pub(super) fn wrong_kind(&mut self, node: &Node, expected: impl Into<ExpectedValue>) {
        let expected = expected.into();
        self.inner.note(node.at, FaultKind::WrongKind { expected, found: found(node) });
    }

    pub(super) fn unknown_key(&mut self, field: &Field, known: &'static [&'static str]) {
        self.inner.unknown_key(field.at, &field.key, known);
    }

    /// A text; a number or a boolean counts as the text in the file.
    pub(super) fn text(
        &mut self,
        node: &Node,
        expected: impl Into<ExpectedValue>,
    ) -> Option<String> {
        let text = self.inner.written(node);
        if text.is_none() {
            self.wrong_kind(node, expected);
        }
        text
    }

    /// A text that is not blank.
    pub(super) fn full_text(
        &mut self,
        node: &Node,
        expected: impl Into<ExpectedValue>,
    ) -> Option<String> {
        let expected = expected.into();
        let text = self.text(node, expected)?;
        if text.trim().is_empty() {
            self.bad_value(node.at, text, expected);
            return None;
        }
        Some(text)
    }

    pub(super) fn exit_code(&mut self, node: &Node) -> Option<i32> {
        let code = self.inner.whole_number(node, 0..=255, "an exit code from 0 to 255")?;
        i32::try_from(code).ok()
    }

    pub(super) fn duration(&mut self, node: &Node) -> Option<Duration> {
        self.inner.duration(node)
    }

    /// One of the given words.
    pub(super) fn word<T: Copy>(
        &mut self,
        node: &Node,
        words: &'static [&'static str],
        meanings: &[T],
    ) -> Option<T> {
        self.inner.word(node, words, meanings)
    }

    pub(super) fn list<'n>(
        &mut self,
        node: &'n Node,
        expected: impl Into<ExpectedValue>,
    ) -> &'n [Node] {
        match &node.raw {
            Raw::List(items) if !items.is_empty() => items,
            _ => {
                self.wrong_kind(node, expected);
                &[]
            }
        }
    }

    pub(super) fn map<'n>(
        &mut self,
        node: &'n Node,
        expected: impl Into<ExpectedValue>,
    ) -> &'n [Field] {
        match &node.raw {
            Raw::Map(fields) if !fields.is_empty() => fields,
            _ => {
                self.wrong_kind(node, expected);
                &[]
            }
        }
    }
}

/// Describes a value for a fault; for a list or a map, whether it is empty matters here.
fn found(node: &Node) -> String {
    match &node.raw {
        Raw::Text(_) => "a string".to_owned(),
        Raw::List(items) if items.is_empty() => "an empty list".to_owned(),
        Raw::Map(fields) if fields.is_empty() => "an empty map".to_owned(),
        Raw::Map(fields) if fields.len() > 1 => format!("a map with {} keys", fields.len()),
        _ => node.found(),
    }
}
