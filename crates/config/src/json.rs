//! Parses JSON strictly into a file's tree of values with their places, for files that other
//! programs read too.
//!
//! A YAML parser reads nearly all of JSON, but not all: a key and its colon on two lines, a very
//! long key, a NUL in a text. Here JSON has its standard meaning, with two exceptions. A key that
//! appears twice is a fault, because it is unclear which of the two was meant. And comments (`//`,
//! `/* */`) are skipped, because people write them into settings.

use std::collections::HashSet;
use std::sync::Arc;

use super::node::{Field, Mark, Node, Raw};
use super::{Fault, FaultKind, SourceFile, SyntaxKind, TreeLimit};
use crate::limits::{CONFIG_DEPTH_MAX, CONFIG_NODES_MAX};

/// Parses a whole text. A blank text is `null`.
pub(super) fn parse(source: &Arc<SourceFile>) -> Result<Node, Fault> {
    let mut reader = JsonReader::new(source);
    reader.pass_blanks()?;
    if reader.rest().is_empty() {
        return Ok(Node { at: reader.mark(reader.here()), raw: Raw::Null });
    }
    let root = reader.value(0)?;
    reader.pass_blanks()?;
    if !reader.rest().is_empty() {
        return Err(reader.unexpected("the end of the file"));
    }
    Ok(root)
}

/// Whether a text begins like a JSON object or list, possibly after a comment.
pub(super) fn seems_to_be(text: &str) -> bool {
    text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with(['{', '[', '/'])
}

/// Up to this many keys of one map are compared with each other; above it they go into a set.
const KEYS_COMPARED_MAX: usize = 16;

struct JsonReader<'a> {
    source: &'a Arc<SourceFile>,
    text: &'a str,
    at: usize,
    line: u32,
    column: u32,
    nodes: usize,
}

/// The position where a value begins.
#[derive(Debug, Clone, Copy)]
struct TextPosition {
    at: usize,
    line: u32,
    column: u32,
}

impl<'a> JsonReader<'a> {
    fn new(source: &'a Arc<SourceFile>) -> Self {
        let text = &*source.text;
        let at = text.len() - text.trim_start_matches('\u{feff}').len();
        Self { source, text, at, line: 1, column: 1, nodes: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn here(&self) -> TextPosition {
        TextPosition { at: self.at, line: self.line, column: self.column }
    }

    /// The mark of the text from `from` to here.
    fn mark(&self, from: TextPosition) -> Mark {
        Mark::new(from.line, from.column, from.at, self.at - from.at)
    }

    /// Advances over characters of one byte each that do not end a line.
    fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        self.column = self.column.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// Advances over a text that may contain line ends and wide characters.
    fn pass_text(&mut self, bytes: usize) {
        for character in self.text[self.at..self.at + bytes].chars() {
            if character == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
        self.at += bytes;
    }

    fn pass_blanks(&mut self) -> Result<(), Fault> {
        loop {
            match self.next_byte() {
                Some(b'\n') => {
                    self.at += 1;
                    self.line += 1;
                    self.column = 1;
                }
                Some(b' ' | b'\t' | b'\r') => self.pass(1),
                Some(b'/') => self.pass_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn pass_comment(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let end = inside.find("*/").ok_or_else(|| self.fault_here("the comment has no end"))?;
            end + 4
        } else {
            return Err(self.unexpected("a value"));
        };
        self.pass_text(length);
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        self.nodes += 1;
        if self.nodes > CONFIG_NODES_MAX {
            return Err(self.fault(self.next_mark(), FaultKind::OverLimit(TreeLimit::Values)));
        }
        if depth > CONFIG_DEPTH_MAX {
            return Err(self.fault(self.next_mark(), FaultKind::OverLimit(TreeLimit::Depth)));
        }
        let from = self.here();
        let raw = match self.next_byte() {
            Some(b'{') => Raw::Map(self.map(depth)?),
            Some(b'[') => Raw::List(self.list(depth)?),
            Some(b'"') => Raw::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        // A list or map is marked where it begins, as in YAML.
        let at = match raw {
            Raw::Map(_) | Raw::List(_) => Mark::new(from.line, from.column, from.at, 1),
            _ => self.mark(from),
        };
        Ok(Node { at, raw })
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Field>, Fault> {
        let mut fields: Vec<Field> = Vec::new();
        let mut seen: HashSet<Box<str>> = HashSet::new();
        self.pass(1);
        self.pass_blanks()?;
        if self.next_byte() == Some(b'}') {
            self.pass(1);
            return Ok(fields);
        }
        loop {
            let from = self.here();
            if self.next_byte() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            let at = self.mark(from);
            if is_known(&key, &fields, &mut seen) {
                let key = key.into();
                return Err(self.fault(at, FaultKind::DuplicateKey { key }));
            }
            self.pass_blanks()?;
            if self.next_byte() != Some(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.pass(1);
            self.pass_blanks()?;
            let value = self.value(depth + 1)?;
            fields.push(Field { key, at, value });
            if self.is_over(b'}', "`,` or `}`")? {
                return Ok(fields);
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let mut items = Vec::new();
        self.pass(1);
        self.pass_blanks()?;
        if self.next_byte() == Some(b']') {
            self.pass(1);
            return Ok(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.is_over(b']', "`,` or `]`")? {
                return Ok(items);
            }
        }
    }

    /// Behind a value of a list or map: whether that was the last.
    fn is_over(&mut self, end: u8, expected: &str) -> Result<bool, Fault> {
        self.pass_blanks()?;
        let next = self.next_byte();
        if next != Some(end) && next != Some(b',') {
            return Err(self.unexpected(expected));
        }
        self.pass(1);
        if next == Some(end) {
            return Ok(true);
        }
        self.pass_blanks()?;
        Ok(false)
    }

    fn string(&mut self) -> Result<Box<str>, Fault> {
        let opened = self.here();
        let mut value = String::new();
        self.pass(1);
        loop {
            let rest = self.rest();
            let plain = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let plain = plain.unwrap_or(rest.len());
            value.push_str(&rest[..plain]);
            self.pass_text(plain);
            match self.next_byte() {
                Some(b'"') => {
                    self.pass(1);
                    return Ok(value.into());
                }
                Some(b'\\') => value.push(self.escape()?),
                Some(byte) => {
                    let what = format!(
                        "a string cannot contain this character, write `{}`",
                        written(byte)
                    );
                    return Err(self.fault_here(&what));
                }
                None => {
                    let at = Mark::new(opened.line, opened.column, opened.at, 1);
                    return Err(self.fault(at, syntax("the string has no closing quote")));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let letter = self.rest()[1..].chars().next();
        let short = match letter {
            Some(same @ ('"' | '\\' | '/')) => same,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.coded(),
            _ => return Err(self.fault_here("unknown escape sequence")),
        };
        self.pass(2);
        Ok(short)
    }

    /// `\u00e4`, or two of them for one character beyond the first 65,536.
    fn coded(&mut self) -> Result<char, Fault> {
        const PAIR: usize = 12;
        let unit = |text: &str| {
            let digits = text.strip_prefix("\\u")?.get(..4)?;
            let all_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            all_digits.then(|| u16::from_str_radix(digits, 16).ok())?
        };
        let rest = self.rest();
        let Some(first) = unit(rest) else {
            return Err(self.fault_here("expected four hexadecimal digits after `\\u`"));
        };
        if let Some(character) = char::from_u32(first.into()) {
            self.pass(PAIR / 2);
            return Ok(character);
        }
        let second = rest.get(PAIR / 2..).and_then(unit);
        let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
        let Some(character) = pair else {
            return Err(self.fault_here("incomplete surrogate pair: the other `\\u` is missing"));
        };
        self.pass(PAIR);
        Ok(character)
    }

    fn number(&mut self) -> Result<Raw, Fault> {
        let from = self.here();
        let is_part = |byte: u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = self.rest().bytes().take_while(|byte| is_part(*byte)).count();
        let text = &self.rest()[..length];
        self.pass(length);
        let read = if !is_number(text) {
            None
        } else if let Ok(whole) = text.parse::<i64>() {
            Some(Raw::Int(whole))
        } else {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Raw::Float)
        };
        read.ok_or_else(|| {
            self.fault(self.mark(from), syntax(&format!("expected a number but found `{text}`")))
        })
    }

    fn word(&mut self) -> Result<Raw, Fault> {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = self.rest().bytes().take_while(is_letter).count();
        let raw = match &self.rest()[..length] {
            "null" => Raw::Null,
            "true" => Raw::Bool(true),
            "false" => Raw::Bool(false),
            _ => return Err(self.unexpected("a value")),
        };
        self.pass(length);
        Ok(raw)
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let found = match self.rest().chars().next() {
            None => "the end of the file".to_owned(),
            Some(character @ ('"' | '\'')) => format!("`{character}`"),
            Some(character) => format!("`{}`", character.escape_debug()),
        };
        self.fault_here(&format!("expected {expected} but found {found}"))
    }

    /// A fault at the next character.
    fn fault_here(&self, message: &str) -> Fault {
        self.fault(self.next_mark(), syntax(message))
    }

    /// The mark of the next character.
    fn next_mark(&self) -> Mark {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        Mark::new(self.line, self.column, self.at, length)
    }

    fn fault(&self, at: Mark, kind: FaultKind) -> Fault {
        let place = Some(at.place(self.source));
        Fault { source: Arc::clone(self.source), place, kind }
    }
}

fn syntax(message: &str) -> FaultKind {
    FaultKind::Syntax { kind: SyntaxKind::Other, message: message.to_owned() }
}

/// Whether the map already has this key; `seen` is the set of its keys once there are many.
fn is_known(key: &str, fields: &[Field], seen: &mut HashSet<Box<str>>) -> bool {
    if fields.len() < KEYS_COMPARED_MAX {
        return fields.iter().any(|field| *field.key == *key);
    }
    if seen.is_empty() {
        seen.extend(fields.iter().map(|field| field.key.clone()));
    }
    !seen.insert(key.into())
}

/// How a control character is written in a text.
fn written(byte: u8) -> String {
    match byte {
        b'\n' => "\\n".into(),
        b'\r' => "\\r".into(),
        b'\t' => "\\t".into(),
        byte => format!("\\u{byte:04x}"),
    }
}

/// Whether a text is a JSON number: no `+`, no leading zero, digits on both sides of the point.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent
            .is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

#[cfg(test)]
mod tests;
