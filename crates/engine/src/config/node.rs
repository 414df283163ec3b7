//! A file's tree of values with their places, and questions to it.
//!
//! YAML and JSON are read by the same parser into [`Node`]s. Each question (`text`, `word`,
//! `duration`…) either has its answer or notes a fault with the place and what was expected there.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use super::{Fault, FaultKind, Place, SourceFile, duration};
use crate::limits::{CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, WAIT_MAX};
use crate::nearest::nearest;

/// A place, small enough to stand at every value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) line: u32,
    column: u32,
    start: u32,
    len: u32,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: Mark,
    pub(super) raw: Raw,
}

#[derive(Debug)]
pub(super) enum Raw {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
    List(Vec<Node>),
    Map(Vec<Field>),
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: Box<str>,
    pub(super) at: Mark,
    pub(super) value: Node,
}

/// The tree of a whole file.
pub(super) fn parse(source: &Arc<SourceFile>) -> Result<Node, Fault> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_nodes: CONFIG_NODES_MAX, max_events: CONFIG_NODES_MAX * 4,
            max_depth: CONFIG_DEPTH_MAX },
    };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(&source.text, options)
        .map(Node::from)
        .map_err(|error| syntax_fault(source, &error))
}

fn syntax_fault(source: &Arc<SourceFile>, error: &serde_saphyr::Error) -> Fault {
    let error = error.without_snippet();
    let kind = match error {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            FaultKind::DuplicateKey { key: key.clone() }
        }
        other => {
            let message = other.to_string();
            // Reached directly or while an alias was followed; the parser's words are its own.
            if message.starts_with("budget breached") || message.starts_with("recursion limit") {
                let too_deep = message.contains("Depth") || message.contains("recursion");
                let message = if too_deep {
                    format!("expected at most {CONFIG_DEPTH_MAX} levels of nesting but found more")
                } else {
                    format!(
                        "expected at most {CONFIG_NODES_MAX} values, anchors expanded, but found more"
                    )
                };
                let place = error.location().map(|at| Mark::from(&at).place(source));
                let kind = FaultKind::Syntax { message };
                return Fault { source: Arc::clone(source), place, kind };
            }
            // The place is shown beside the message, not within it.
            let end = message.find(" at line ").unwrap_or(message.len());
            FaultKind::Syntax { message: message[..end].to_owned() }
        }
    };
    let place = error.location().map(|location| Mark::from(&location).place(source));
    Fault { source: Arc::clone(source), place, kind }
}

impl From<Spanned<Raw>> for Node {
    fn from(spanned: Spanned<Raw>) -> Self {
        Self { at: Mark::from(&spanned.defined), raw: spanned.value }
    }
}

impl From<&Location> for Mark {
    fn from(location: &Location) -> Self {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let span = location.span();
        Self {
            line: small(location.line()),
            column: small(location.column()),
            start: span.byte_offset().map_or(u32::MAX, small),
            len: span.byte_len().map_or(0, small),
        }
    }
}

impl Mark {
    fn place(self, source: &SourceFile) -> Place {
        let text = &source.text;
        // Syntax errors come without a byte offset; line and column lead there as well.
        let start = if self.start == u32::MAX {
            let line_start: usize = text
                .split_inclusive('\n')
                .take(self.line.saturating_sub(1) as usize)
                .map(str::len)
                .sum();
            let line = &text[line_start..];
            let column = self.column.saturating_sub(1) as usize;
            line_start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
        } else {
            (self.start as usize).min(text.len())
        };
        let end = (start + self.len as usize).min(text.len());
        let written = text.get(start..end).unwrap_or_default().trim_end();
        Place { line: self.line, column: self.column, range: start..start + written.len() }
    }
}

impl Node {
    fn found(&self) -> String {
        match &self.raw {
            Raw::Null => "nothing".into(),
            Raw::Bool(value) => format!("the boolean `{value}`"),
            Raw::Int(value) => format!("the number `{value}`"),
            Raw::Float(value) => format!("the number `{value}`"),
            Raw::Text(text) => format!("the text `{}`", shortened(text)),
            Raw::List(_) => "a list".into(),
            Raw::Map(_) => "a map".into(),
        }
    }

    /// The same value as JSON.
    pub(super) fn to_json(&self) -> Value {
        match &self.raw {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(*value),
            Raw::Int(value) => Value::from(*value),
            Raw::Float(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
            Raw::Text(text) => Value::from(&**text),
            Raw::List(items) => items.iter().map(Node::to_json).collect(),
            Raw::Map(fields) => {
                let pairs =
                    fields.iter().map(|field| (field.key.to_string(), field.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= CHARS_MAX && line.len() == text.trim_end().len() {
        return line.to_owned();
    }
    line.chars().take(CHARS_MAX).chain(['…']).collect()
}

/// Collects the faults of one file while its tree is read.
pub(super) struct Notes<'a> {
    pub(super) source: &'a Arc<SourceFile>,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Notes<'a> {
    pub(super) fn new(source: &'a Arc<SourceFile>) -> Self {
        Self { source, faults: Vec::new() }
    }

    pub(super) fn note(&mut self, at: Mark, kind: FaultKind) {
        let place = Some(at.place(self.source));
        self.faults.push(Fault { source: Arc::clone(self.source), place, kind });
    }

    /// Notes a fault at a part of a text value, as exactly as the file's own text allows.
    pub(super) fn note_within(&mut self, node: &Node, part: Range<usize>, kind: FaultKind) {
        let whole = node.at.place(self.source);
        let exact = match &node.raw {
            Raw::Text(text) => within(&whole, &self.source.text, text, &part),
            _ => None,
        };
        let place = exact.unwrap_or(whole);
        self.faults.push(Fault { source: Arc::clone(self.source), place: Some(place), kind });
    }

    fn wrong_kind(&mut self, node: &Node, expected: &'static str) {
        self.note(node.at, FaultKind::WrongKind { expected, found: node.found() });
    }

    pub(super) fn text<'n>(&mut self, node: &'n Node, expected: &'static str) -> Option<&'n str> {
        match &node.raw {
            Raw::Text(text) if !text.trim().is_empty() => Some(text),
            Raw::Text(text) => {
                self.note(node.at, FaultKind::BadValue { found: text.to_string(), expected });
                None
            }
            _ => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    pub(super) fn bool(&mut self, node: &Node) -> Option<bool> {
        match node.raw {
            Raw::Bool(value) => Some(value),
            _ => {
                self.wrong_kind(node, "true or false");
                None
            }
        }
    }

    pub(super) fn whole_number(
        &mut self,
        node: &Node,
        range: std::ops::RangeInclusive<u32>,
        expected: &'static str,
    ) -> Option<u32> {
        let number = match node.raw {
            Raw::Int(value) => u32::try_from(value).ok().filter(|value| range.contains(value)),
            _ => {
                self.wrong_kind(node, expected);
                return None;
            }
        };
        if number.is_none() {
            let found = node.to_json().to_string();
            self.note(node.at, FaultKind::BadValue { found, expected });
        }
        number
    }

    pub(super) fn duration(&mut self, node: &Node) -> Option<Duration> {
        const EXPECTED: &str = "a duration of at most 30 days like 30, 0.5, 500ms, 5m or 2h";
        debug_assert_eq!(WAIT_MAX, Duration::from_secs(30 * 86400));
        let (read, found) = match &node.raw {
            Raw::Int(value) => (duration::from_seconds(*value as f64), value.to_string()),
            Raw::Float(value) => (duration::from_seconds(*value), value.to_string()),
            Raw::Text(text) => (duration::parse(text), shortened(text)),
            _ => {
                self.wrong_kind(node, EXPECTED);
                return None;
            }
        };
        if read.is_none() {
            self.note(node.at, FaultKind::BadValue { found, expected: EXPECTED });
        }
        read
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &mut self,
        node: &Node,
        words: &'static [&'static str],
        meanings: &[T],
    ) -> Option<T> {
        let Raw::Text(text) = &node.raw else {
            let found = node.found();
            self.note(node.at, FaultKind::UnknownWord { found, expected: words, nearest: None });
            return None;
        };
        let known = words.iter().position(|word| **word == **text);
        if known.is_none() {
            let nearest = nearest(text, words.iter().copied());
            let found = shortened(text);
            self.note(node.at, FaultKind::UnknownWord { found, expected: words, nearest });
        }
        meanings.get(known?).copied()
    }

    pub(super) fn list<'n>(
        &mut self,
        node: &'n Node,
        expected: &'static str,
    ) -> Option<&'n [Node]> {
        match &node.raw {
            Raw::List(items) => Some(items),
            _ => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    pub(super) fn map<'n>(
        &mut self,
        node: &'n Node,
        expected: &'static str,
    ) -> Option<&'n [Field]> {
        match &node.raw {
            Raw::Map(fields) => Some(fields),
            _ => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    /// A map from names to texts; numbers and booleans count as the text that stands there.
    pub(super) fn texts(&mut self, node: &Node, expected: &'static str) -> Vec<(String, String)> {
        let Some(fields) = self.map(node, expected) else {
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(fields.len());
        for field in fields {
            let text = match &field.value.raw {
                Raw::Text(text) => text.to_string(),
                Raw::Bool(_) | Raw::Int(_) | Raw::Float(_) => {
                    let place = field.value.at.place(self.source);
                    self.source.text[place.range].to_owned()
                }
                Raw::Null | Raw::List(_) | Raw::Map(_) => {
                    self.wrong_kind(&field.value, "a text");
                    continue;
                }
            };
            texts.push((field.key.to_string(), text));
        }
        texts
    }
}

/// The place of a part of a text value, where the file's text shows the value's line as it is: plain
/// and quoted texts without escapes, and the lines of a block.
fn within(whole: &Place, file: &str, value: &str, part: &Range<usize>) -> Option<Place> {
    let before = value.get(..part.start)?;
    let number = before.matches('\n').count();
    let line = value.lines().nth(number)?;
    let in_line = part.start - before.rfind('\n').map_or(0, |end| end + 1);
    let written = file.get(whole.range.clone())?;
    let row = written.split('\n').nth(number)?;
    let row_start = whole.range.start
        + written.split('\n').take(number).map(|row| row.len() + 1).sum::<usize>();
    let offset = row.find(line)? + in_line;
    let start = row_start + offset;
    let length = part.len().min(row.len().checked_sub(offset)?);
    let skipped = u32::try_from(row.get(..offset)?.chars().count()).ok()?;
    let column = if number == 0 { whole.column + skipped } else { skipped + 1 };
    let line = whole.line + u32::try_from(number).ok()?;
    Some(Place { line, column, range: start..start + length })
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(i64::try_from(value).map_or(Raw::Float(value as f64), Raw::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<Raw>>()? {
            items.push(Node::from(item));
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = access.next_entry::<Spanned<String>, Spanned<Raw>>()? {
            let at = Mark::from(&key.defined);
            fields.push(Field { key: key.value.into(), at, value: Node::from(value) });
        }
        Ok(Raw::Map(fields))
    }
}
