//! Reads typed values from a file's tree. Each method (`text`, `word`, `duration`…) returns the
//! value or notes a fault with its place and what was expected.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::limits::WAIT_MAX;
use hookwright_engine::nearest;
use hookwright_engine::policy::Wire;
use hookwright_engine::template::{CommandText, TextError};

use super::node::{Field, Mark, Node, Raw, shortened};
use super::written::WrittenText;
use super::{ExpectedValue, Fault, FaultKind, MissingKey, SourceFile, duration};

/// Collects the faults of one file while its tree is read.
pub struct Notes<'a> {
    /// The file.
    pub source: &'a Arc<SourceFile>,
    /// The faults so far.
    pub faults: Vec<Fault>,
}

impl<'a> Notes<'a> {
    /// Starts without faults.
    pub fn new(source: &'a Arc<SourceFile>) -> Self {
        Self { source, faults: Vec::new() }
    }

    /// Notes a fault at a place.
    pub fn note(&mut self, at: Mark, kind: FaultKind) {
        let place = Some(at.place(self.source));
        self.faults.push(Fault { source: Arc::clone(self.source), place, kind });
    }

    /// Notes a fault at a part of a text value, as precisely as the file's text allows.
    pub fn note_within(&mut self, node: &Node, part: Range<usize>, kind: FaultKind) {
        let whole = node.at.place(self.source);
        let exact = match &node.raw {
            Raw::Text(text) => WrittenText::new(&whole, &self.source.text, text).place(&part),
            _ => None,
        };
        let place = exact.unwrap_or(whole);
        self.faults.push(Fault { source: Arc::clone(self.source), place: Some(place), kind });
    }

    /// Notes that a value of another type was expected here.
    pub fn wrong_kind(&mut self, node: &Node, expected: impl Into<ExpectedValue>) {
        let expected = expected.into();
        self.note(node.at, FaultKind::WrongKind { expected, found: node.found() });
    }

    /// Notes a value that is not allowed here.
    pub fn bad_value(
        &mut self,
        at: Mark,
        found: impl Into<String>,
        expected: impl Into<ExpectedValue>,
    ) {
        let (found, expected) = (found.into(), expected.into());
        self.note(at, FaultKind::BadValue { found, expected });
    }

    /// Notes that something required is missing here.
    pub fn missing(&mut self, at: Mark, key: MissingKey) {
        self.note(at, FaultKind::Missing(key));
    }

    /// A text that is not blank.
    pub fn text<'n>(
        &mut self,
        node: &'n Node,
        expected: impl Into<ExpectedValue>,
    ) -> Option<&'n str> {
        match &node.raw {
            Raw::Text(text) if !text.trim().is_empty() => Some(text),
            Raw::Text(text) => {
                self.bad_value(node.at, &**text, expected);
                None
            }
            _ => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    /// A command, with `{{x}}` for names that this wire knows.
    pub fn command(&mut self, node: &Node, wire: &dyn Wire) -> Option<CommandText> {
        let text = self.text(node, "a command")?;
        if text.contains('\0') {
            self.bad_value(node.at, text.replace('\0', "\\0"), "a command without NUL bytes");
            return None;
        }
        let (at, kind) = match CommandText::of_dialect(text, wire) {
            Ok(command) => return Some(command),
            Err(TextError::UnknownVariable { name, at, nearest }) => {
                (at, FaultKind::UnknownVariable { name, nearest })
            }
            Err(TextError::EvaluatedAgain { reference, at }) => {
                (at, FaultKind::EvaluatedAgain { reference })
            }
            Err(TextError::Template(error)) => (error.at, FaultKind::Template(error.problem)),
        };
        self.note_within(node, at, kind);
        None
    }

    /// `true` or `false`.
    pub fn bool(&mut self, node: &Node) -> Option<bool> {
        match node.raw {
            Raw::Bool(value) => Some(value),
            _ => {
                self.wrong_kind(node, ExpectedValue::Bool);
                None
            }
        }
    }

    /// A whole number within a range.
    pub fn whole_number(
        &mut self,
        node: &Node,
        range: std::ops::RangeInclusive<u32>,
        expected: impl Into<ExpectedValue>,
    ) -> Option<u32> {
        let number = match node.raw {
            Raw::Int(value) => u32::try_from(value).ok().filter(|value| range.contains(value)),
            _ => {
                self.wrong_kind(node, expected);
                return None;
            }
        };
        if number.is_none() {
            self.bad_value(node.at, node.to_json().to_string(), expected);
        }
        number
    }

    /// An amount of US dollars.
    pub fn dollars(&mut self, node: &Node) -> Option<f64> {
        const EXPECTED: &str = "an amount of US dollars above 0, like 5 or 0.5";
        let amount = match node.raw {
            Raw::Int(value) => value as f64,
            Raw::Float(value) => value,
            _ => {
                self.wrong_kind(node, EXPECTED);
                return None;
            }
        };
        if amount.is_finite() && amount > 0.0 {
            return Some(amount);
        }
        self.bad_value(node.at, node.to_json().to_string(), EXPECTED);
        None
    }

    /// A duration.
    pub fn duration(&mut self, node: &Node) -> Option<Duration> {
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
            self.bad_value(node.at, found, EXPECTED);
        }
        read
    }

    /// One of the given words.
    pub fn word<T: Copy>(
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

    /// A list.
    pub fn list<'n>(
        &mut self,
        node: &'n Node,
        expected: impl Into<ExpectedValue>,
    ) -> Option<&'n [Node]> {
        match &node.raw {
            Raw::List(items) => Some(items),
            _ => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    /// A map.
    pub fn map<'n>(
        &mut self,
        node: &'n Node,
        expected: impl Into<ExpectedValue>,
    ) -> Option<&'n [Field]> {
        match &node.raw {
            Raw::Map(fields) => Some(fields),
            _ => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    /// A map from names to texts. A number or a boolean is taken as it is written in the file.
    pub fn texts(
        &mut self,
        node: &Node,
        expected: impl Into<ExpectedValue>,
    ) -> Vec<(String, String)> {
        let Some(fields) = self.map(node, expected) else {
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(fields.len());
        for field in fields {
            match self.written(&field.value) {
                Some(text) => texts.push((field.key.to_string(), text)),
                None => self.wrong_kind(&field.value, ExpectedValue::String),
            }
        }
        texts
    }

    /// A text, or a number or boolean as it is written in the file; `None` for anything else.
    pub fn written(&self, node: &Node) -> Option<String> {
        match &node.raw {
            Raw::Text(text) => Some(text.to_string()),
            Raw::Bool(_) | Raw::Int(_) | Raw::Float(_) => {
                Some(self.source.text[node.at.place(self.source).range].to_owned())
            }
            Raw::Null | Raw::List(_) | Raw::Map(_) => None,
        }
    }

    /// Notes an unknown key.
    pub fn unknown_key(&mut self, at: Mark, key: &str, known: &'static [&'static str]) {
        let nearest = nearest(key, known.iter().copied());
        self.note(at, FaultKind::UnknownKey { key: key.into(), known: known.to_vec(), nearest });
    }
}
