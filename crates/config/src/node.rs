//! A file's tree of values with their places. YAML is parsed here and JSON in `json.rs`, into the
//! same [`Node`]s; `notes.rs` reads typed values from them.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::granit_parser::ErrorKind;
use serde_saphyr::localizer::ExternalMessageSource;
use serde_saphyr::{Error, Location, Spanned};

use super::{Fault, FaultKind, FilePlace, SourceFile, SyntaxKind, TreeLimit, json};
use crate::limits::{
    CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, CONFIG_REPEATED_MAX, CONFIG_TEXT_BYTES_MAX,
};

/// A place, small enough to be stored with every value.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub(super) line: u32,
    column: u32,
    start: u32,
    len: u32,
}

/// A value and its position.
#[derive(Debug)]
pub struct Node {
    /// The value's place.
    pub at: Mark,
    /// The value.
    pub raw: Raw,
}

/// A value as it is written.
#[derive(Debug)]
pub enum Raw {
    /// No value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A text.
    Text(Box<str>),
    /// A list.
    List(Vec<Node>),
    /// A map; no key appears twice.
    Map(Vec<Field>),
}

/// One entry of a map.
#[derive(Debug)]
pub struct Field {
    /// Its key.
    pub key: Box<str>,
    /// The position of the key.
    pub at: Mark,
    /// Its value.
    pub value: Node,
}

/// Parses a whole file. A text that looks like JSON is parsed as JSON; if that fails and the file's
/// name does not end in `.json`, as YAML, which may begin with a brace too.
pub fn parse(source: &Arc<SourceFile>) -> Result<Node, Fault> {
    if !json::seems_to_be(&source.text) {
        return parse_yaml(source);
    }
    let is_named_so = source.path.extension().is_some_and(|ending| ending == "json");
    match json::parse(source) {
        Err(Fault { kind: FaultKind::Syntax { .. } | FaultKind::OverLimit(_), .. })
            if !is_named_so =>
        {
            parse_yaml(source)
        }
        read => read,
    }
}

fn parse_yaml(source: &Arc<SourceFile>) -> Result<Node, Fault> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: CONFIG_NODES_MAX,
            max_events: CONFIG_NODES_MAX * 4,
            max_depth: CONFIG_DEPTH_MAX,
            max_total_scalar_bytes: CONFIG_TEXT_BYTES_MAX,
            // Each of these events is stored once for every anchor around it.
            max_recorded_anchor_events: CONFIG_REPEATED_MAX * 5,
            max_recorded_anchor_bytes: CONFIG_TEXT_BYTES_MAX,
            // One anchor for a hundred hooks is what anchors are for.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: CONFIG_REPEATED_MAX },
    };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(&source.text, options)
        .map(Node::from)
        .map_err(|error| syntax_fault(source, &error))
}

fn syntax_fault(source: &Arc<SourceFile>, error: &Error) -> Fault {
    let error = error.without_snippet();
    let place = error.location().map(|at| Mark::from(&at).place(source));
    Fault { source: Arc::clone(source), place, kind: fault_kind(error) }
}

/// Our fault for the parser's error, whether it arose directly or while following an alias.
fn fault_kind(error: &Error) -> FaultKind {
    let kind = match error {
        Error::AliasError { error, .. } => return fault_kind(error),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            return FaultKind::DuplicateKey { key: key.clone() };
        }
        Error::MultipleDocuments { .. } => SyntaxKind::SeveralDocuments,
        Error::UnknownAnchor { .. } => SyntaxKind::UnknownAnchor,
        other => match (limit_reached(other), scan_error(other)) {
            (Some(limit), _) => return FaultKind::OverLimit(limit),
            (None, Some(ErrorKind::UnexpectedCharacter { .. })) => SyntaxKind::Character,
            (
                None,
                Some(
                    ErrorKind::TabNotAllowed
                    | ErrorKind::TabInBlockIndentation
                    | ErrorKind::TabAtBlockScalarStart
                    | ErrorKind::TabInIndentation
                    | ErrorKind::TabInPlainScalar,
                ),
            ) => SyntaxKind::Tab,
            (None, _) => SyntaxKind::Other,
        },
    };
    // The place is shown beside the message, and the parser's advice addresses Rust programmers.
    let mut message = error.to_string();
    for behind in [" at line ", "; use from_str"] {
        message.truncate(message.find(behind).unwrap_or(message.len()));
    }
    FaultKind::Syntax { kind, message }
}

/// Our limit that the parser reached, if it did.
fn limit_reached(error: &Error) -> Option<TreeLimit> {
    match error {
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => Some(TreeLimit::Depth),
        Error::Budget {
            breach: BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. }, ..
        } => Some(TreeLimit::Values),
        Error::Budget { breach: BudgetBreach::ScalarBytes { .. }, .. } => {
            Some(TreeLimit::TextBytes)
        }
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => Some(TreeLimit::Aliases),
        other => match scan_error(other) {
            Some(ErrorKind::RecursionLimitExceeded) => Some(TreeLimit::Depth),
            _ => None,
        },
    }
}

fn scan_error(error: &Error) -> Option<&ErrorKind> {
    match error {
        Error::ExternalMessage { source, .. } => match &**source {
            ExternalMessageSource::Parser(error) => Some(error.kind()),
            _ => None,
        },
        _ => None,
    }
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
    pub(super) fn new(line: u32, column: u32, start: usize, len: usize) -> Self {
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self { line, column, start: small(start), len: small(len) }
    }

    /// The place in the form that editors open.
    pub fn place(self, source: &SourceFile) -> FilePlace {
        let text = &source.text;
        // Syntax errors have no byte offset, but line and column lead to the same place.
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
        FilePlace { line: self.line, column: self.column, range: start..start + written.len() }
    }
}

impl Node {
    /// Describes the value for a fault.
    pub fn found(&self) -> String {
        match &self.raw {
            Raw::Null => "nothing".into(),
            Raw::Bool(value) => format!("the boolean `{value}`"),
            Raw::Int(value) => format!("the number `{value}`"),
            Raw::Float(value) => format!("the number `{value}`"),
            Raw::Text(text) => format!("the string `{}`", shortened(text)),
            Raw::List(_) => "a list".into(),
            Raw::Map(_) => "a map".into(),
        }
    }

    /// The same value as JSON.
    pub fn to_json(&self) -> Value {
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

pub(super) fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= CHARS_MAX && line.len() == text.trim_end().len() {
        return line.to_owned();
    }
    line.chars().take(CHARS_MAX).chain(['…']).collect()
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
