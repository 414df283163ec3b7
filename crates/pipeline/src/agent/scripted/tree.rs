//! A script's tree of values with their places, and questions to it. Each question (`text`,
//! `duration`, `word`…) either has its answer or notes a fault: where, what was found, what was
//! expected.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::config::{Fault, FaultKind, Place, SourceFile};
use hookwright_engine::limits::{CONFIG_BYTES_MAX, CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, WAIT_MAX};
use hookwright_engine::nearest::nearest;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};

/// A value, and where it stands.
pub(super) struct Node {
    pub(super) at: Location,
    pub(super) raw: Raw,
}

pub(super) enum Raw {
    /// Nothing, a boolean, or a number.
    Plain(Value),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Field>),
}

pub(super) struct Field {
    pub(super) key: String,
    pub(super) at: Location,
    pub(super) value: Node,
}

/// Collects what is wrong with a script while its tree is read.
pub(super) struct Notes {
    source: Arc<SourceFile>,
    pub(super) faults: Vec<Fault>,
}

impl Notes {
    pub(super) fn new(text: &str, shown_as: &Path) -> Self {
        let source = SourceFile { path: shown_as.to_owned(), text: text.into() };
        Self { source: Arc::new(source), faults: Vec::new() }
    }

    /// The tree of the whole text.
    pub(super) fn parse(&mut self) -> Option<Node> {
        let bytes = self.source.text.len() as u64;
        if bytes > CONFIG_BYTES_MAX {
            self.note_whole(FaultKind::TooLarge { bytes, bytes_max: CONFIG_BYTES_MAX });
            return None;
        }
        let options = serde_saphyr::options! {
            strict_booleans: true,
            with_snippet: false,
            budget: serde_saphyr::budget! { max_nodes: CONFIG_NODES_MAX,
                max_events: CONFIG_NODES_MAX * 4, max_depth: CONFIG_DEPTH_MAX },
        };
        match serde_saphyr::from_str_with_options::<Spanned<Raw>>(&self.source.text, options) {
            Ok(tree) => Some(Node::from(tree)),
            Err(error) => {
                self.note_syntax(error.without_snippet());
                None
            }
        }
    }

    fn note_syntax(&mut self, error: &serde_saphyr::Error) {
        let kind = match error {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                FaultKind::DuplicateKey { key: key.clone() }
            }
            other => FaultKind::Syntax { message: syntax_message(&other.to_string()) },
        };
        match error.location() {
            Some(at) => self.note(at, kind),
            None => self.note_whole(kind),
        }
    }

    pub(super) fn note(&mut self, at: Location, kind: FaultKind) {
        let place = Some(place(at, &self.source.text));
        self.faults.push(Fault { source: Arc::clone(&self.source), place, kind });
    }

    pub(super) fn note_whole(&mut self, kind: FaultKind) {
        self.faults.push(Fault { source: Arc::clone(&self.source), place: None, kind });
    }

    pub(super) fn wrong_kind(&mut self, node: &Node, expected: &'static str) {
        self.note(node.at, FaultKind::WrongKind { expected, found: node.found() });
    }

    pub(super) fn unknown_key(&mut self, field: &Field, known: &'static [&'static str]) {
        let nearest = nearest(&field.key, known.iter().copied());
        let kind = FaultKind::UnknownKey { key: field.key.clone(), known: known.to_vec(), nearest };
        self.note(field.at, kind);
    }

    /// A text; a number or a boolean counts as the text that stands there.
    pub(super) fn text(&mut self, node: &Node, expected: &'static str) -> Option<String> {
        match &node.raw {
            Raw::Text(text) => Some(text.clone()),
            Raw::Plain(Value::Bool(_) | Value::Number(_)) => {
                let range = place(node.at, &self.source.text).range;
                Some(self.source.text[range].to_owned())
            }
            Raw::Plain(_) | Raw::List(_) | Raw::Map(_) => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    /// A text that says something.
    pub(super) fn full_text(&mut self, node: &Node, expected: &'static str) -> Option<String> {
        let text = self.text(node, expected)?;
        if text.trim().is_empty() {
            self.note(node.at, FaultKind::BadValue { found: text, expected });
            return None;
        }
        Some(text)
    }

    pub(super) fn whole_number(
        &mut self,
        node: &Node,
        range: RangeInclusive<i64>,
        expected: &'static str,
    ) -> Option<i64> {
        let Raw::Plain(value @ Value::Number(number)) = &node.raw else {
            self.wrong_kind(node, expected);
            return None;
        };
        let known = number.as_i64().filter(|number| range.contains(number));
        if known.is_none() {
            self.note(node.at, FaultKind::BadValue { found: value.to_string(), expected });
        }
        known
    }

    pub(super) fn duration(&mut self, node: &Node) -> Option<Duration> {
        const EXPECTED: &str = "a duration of at most 30 days like 30, 0.5, 500ms, 5m or 2h";
        let text = self.text(node, EXPECTED)?;
        let read = duration(&text);
        if read.is_none() {
            self.note(node.at, FaultKind::BadValue { found: text, expected: EXPECTED });
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
        let (found, nearest) = match &node.raw {
            Raw::Text(text) => match words.iter().position(|word| word == text) {
                Some(at) => return meanings.get(at).copied(),
                None => (text.clone(), nearest(text, words.iter().copied())),
            },
            Raw::Plain(_) | Raw::List(_) | Raw::Map(_) => (node.found(), None),
        };
        self.note(node.at, FaultKind::UnknownWord { found, expected: words, nearest });
        None
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, expected: &'static str) -> &'n [Node] {
        match &node.raw {
            Raw::List(items) if !items.is_empty() => items,
            Raw::List(_) | Raw::Plain(_) | Raw::Text(_) | Raw::Map(_) => {
                self.wrong_kind(node, expected);
                &[]
            }
        }
    }

    pub(super) fn map<'n>(&mut self, node: &'n Node, expected: &'static str) -> &'n [Field] {
        match &node.raw {
            Raw::Map(fields) if !fields.is_empty() => fields,
            Raw::Map(_) | Raw::Plain(_) | Raw::Text(_) | Raw::List(_) => {
                self.wrong_kind(node, expected);
                &[]
            }
        }
    }
}

/// What the parser says, without the place, which is shown beside it.
fn syntax_message(message: &str) -> String {
    let too_many = if message.starts_with("budget breached: Depth") || message.contains("recursion")
    {
        format!("{CONFIG_DEPTH_MAX} levels of nesting")
    } else if message.starts_with("budget breached") {
        format!("{CONFIG_NODES_MAX} values, anchors expanded,")
    } else {
        return message.split(" at line ").next().unwrap_or(message).to_owned();
    };
    format!("expected at most {too_many} but found more")
}

/// The place as an editor opens it. Syntax errors have no byte offset; line and column lead there.
fn place(at: Location, text: &str) -> Place {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let offset = at.span().byte_offset().and_then(|offset| usize::try_from(offset).ok());
    let start = offset.unwrap_or_else(|| {
        let rows = usize::try_from(at.line().saturating_sub(1)).unwrap_or(usize::MAX);
        let row_start: usize = text.split_inclusive('\n').take(rows).map(str::len).sum();
        let columns = usize::try_from(at.column().saturating_sub(1)).unwrap_or(usize::MAX);
        let row = &text[row_start..];
        row_start + row.char_indices().nth(columns).map_or(row.len(), |(offset, _)| offset)
    });
    let start = start.min(text.len());
    let length = at.span().byte_len().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let end = start.saturating_add(length).min(text.len());
    let written = text.get(start..end).unwrap_or_default().trim_end();
    let range = start..start + written.len();
    Place { line: number(at.line()), column: number(at.column()), range }
}

/// `5` and `0.5` are seconds; `500ms`, `5s`, `5m`, `2h`, `1d`.
fn duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds_each = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    let number = number.trim();
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let seconds = number.parse::<f64>().ok()? * seconds_each;
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| *duration <= WAIT_MAX)
}

impl Node {
    fn found(&self) -> String {
        match &self.raw {
            Raw::Plain(Value::Bool(value)) => format!("the boolean `{value}`"),
            Raw::Plain(Value::Number(value)) => format!("the number `{value}`"),
            Raw::Plain(_) => "nothing".to_owned(),
            Raw::Text(_) => "a text".to_owned(),
            Raw::List(items) if items.is_empty() => "an empty list".to_owned(),
            Raw::List(_) => "a list".to_owned(),
            Raw::Map(fields) => match fields.len() {
                0 => "an empty map".to_owned(),
                1 => "a map".to_owned(),
                keys => format!("a map with {keys} keys"),
            },
        }
    }

    /// The same value as JSON.
    pub(super) fn to_json(&self) -> Value {
        match &self.raw {
            Raw::Plain(value) => value.clone(),
            Raw::Text(text) => Value::from(text.as_str()),
            Raw::List(items) => items.iter().map(Node::to_json).collect(),
            Raw::Map(fields) => {
                fields.iter().map(|field| (field.key.clone(), field.value.to_json())).collect()
            }
        }
    }
}

impl From<Spanned<Raw>> for Node {
    fn from(spanned: Spanned<Raw>) -> Self {
        Self { at: spanned.defined, raw: spanned.value }
    }
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
        Ok(Raw::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Plain(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Plain(Value::Null))
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
            fields.push(Field { at: key.defined, key: key.value, value: Node::from(value) });
        }
        Ok(Raw::Map(fields))
    }
}
