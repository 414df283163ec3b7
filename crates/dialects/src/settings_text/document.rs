//! [`SettingsValue`]: the values of a settings file and their places in its text.

use std::ops::Range;

use serde_json::Value;

use super::SettingsFault;

/// The deepest nesting that is read. Real settings are not a tenth as deep.
const DEPTH_MAX: usize = 128;

/// A value, and its place in the text.
#[derive(Debug)]
pub(crate) struct SettingsValue {
    pub(crate) at: Range<usize>,
    pub(crate) kind: ValueKind,
}

/// What a value is.
#[derive(Debug)]
pub(crate) enum ValueKind {
    /// A map. A key may appear twice.
    Map(Vec<SettingsPart>),
    List(Vec<SettingsPart>),
    /// A string without its quotes and escapes.
    Text(String),
    /// A number, a boolean or `null`, as it is written.
    Word(Box<str>),
}

/// One entry of a map or a list.
#[derive(Debug)]
pub(crate) struct SettingsPart {
    /// The key and its place, in a map.
    pub(crate) key: Option<(String, Range<usize>)>,
    pub(crate) value: SettingsValue,
    /// The place of the comma after it.
    pub(crate) comma: Option<usize>,
}

impl SettingsValue {
    /// The entries of a map or a list; none for anything else.
    pub(crate) fn parts(&self) -> &[SettingsPart] {
        match &self.kind {
            ValueKind::Map(parts) | ValueKind::List(parts) => parts,
            ValueKind::Text(_) | ValueKind::Word(_) => &[],
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.kind, ValueKind::Map(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.kind, ValueKind::List(_))
    }

    /// The string, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            ValueKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key of a map. If the key appears twice, the last one counts, as in programs
    /// that read such a file.
    pub(crate) fn get(&self, key: &str) -> Option<&SettingsValue> {
        let has_key = |part: &&SettingsPart| part.key().is_some_and(|its| its == key);
        self.parts().iter().rev().find(has_key).map(|part| &part.value)
    }

    /// Whether it is this value. A map may have its keys in another order.
    pub(crate) fn means(&self, value: &Value) -> bool {
        let same_parts = |count: usize| self.parts().len() == count;
        match (&self.kind, value) {
            (ValueKind::Map(_), Value::Object(fields)) => {
                let has = |(key, value): (&String, &Value)| {
                    self.get(key).is_some_and(|its| its.means(value))
                };
                same_parts(fields.len()) && fields.iter().all(has)
            }
            (ValueKind::List(parts), Value::Array(items)) => {
                let mut pairs = parts.iter().zip(items);
                same_parts(items.len()) && pairs.all(|(part, item)| part.value.means(item))
            }
            (ValueKind::Text(text), Value::String(other)) => text == other,
            (ValueKind::Word(word), Value::Null | Value::Bool(_) | Value::Number(_)) => {
                **word == *value.to_string()
            }
            _ => false,
        }
    }

    /// What was found, in words.
    pub(crate) fn found(&self) -> &'static str {
        match self.kind {
            ValueKind::Map(_) => "a map",
            ValueKind::List(_) => "a list",
            ValueKind::Text(_) => "a string",
            ValueKind::Word(_) => "another value",
        }
    }
}

impl SettingsPart {
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|(key, _)| key.as_str())
    }

    /// Where it begins: at its key, or at its value.
    pub(crate) fn start(&self) -> usize {
        self.key.as_ref().map_or(self.value.at.start, |(_, at)| at.start)
    }
}

/// The value of a whole text; `None` if it has only blanks and comments.
pub(crate) fn parse(text: &str) -> Result<Option<SettingsValue>, SettingsFault> {
    let at = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut reader = Reader { text, at };
    reader.pass_blanks()?;
    if reader.next().is_none() {
        return Ok(None);
    }
    let root = reader.value(0)?;
    reader.pass_blanks()?;
    match reader.next() {
        None => Ok(Some(root)),
        Some(_) => Err(reader.unexpected("the end of the file")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn pass_blanks(&mut self) -> Result<(), SettingsFault> {
        loop {
            match self.next() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                Some(b'/') if self.rest().starts_with("/*") => {
                    let Some(end) = self.rest()[2..].find("*/") else {
                        let opened = self.at..self.at + 2;
                        return Err(SettingsFault::new(opened, "the comment has no end"));
                    };
                    self.at += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<SettingsValue, SettingsFault> {
        if depth > DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} brackets in each other");
            return Err(SettingsFault::new(self.at..self.at + 1, message));
        }
        let start = self.at;
        let kind = match self.next() {
            Some(b'{') => ValueKind::Map(self.parts(b'}', depth)?),
            Some(b'[') => ValueKind::List(self.parts(b']', depth)?),
            Some(b'"') => ValueKind::Text(self.string()?),
            _ => self.word()?,
        };
        Ok(SettingsValue { at: start..self.at, kind })
    }

    fn parts(&mut self, close: u8, depth: usize) -> Result<Vec<SettingsPart>, SettingsFault> {
        let mut parts = Vec::new();
        self.at += 1;
        loop {
            self.pass_blanks()?;
            if self.next() == Some(close) {
                self.at += 1;
                return Ok(parts);
            }
            let key = match close {
                b'}' => Some(self.key()?),
                _ => None,
            };
            let value = self.value(depth + 1)?;
            self.pass_blanks()?;
            let comma = (self.next() == Some(b',')).then_some(self.at);
            parts.push(SettingsPart { key, value, comma });
            match (comma, self.next()) {
                (Some(_), _) => self.at += 1,
                (None, Some(next)) if next == close => {}
                (None, _) => {
                    return Err(self.unexpected(&format!("`,` or `{}`", char::from(close))));
                }
            }
        }
    }

    fn key(&mut self) -> Result<(String, Range<usize>), SettingsFault> {
        let start = self.at;
        if self.next() != Some(b'"') {
            return Err(self.unexpected("a key in double quotes"));
        }
        let key = self.string()?;
        let at = start..self.at;
        self.pass_blanks()?;
        if self.next() != Some(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.at += 1;
        self.pass_blanks()?;
        Ok((key, at))
    }

    fn string(&mut self) -> Result<String, SettingsFault> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(byte) if *byte >= 0x20 => end += 1,
                Some(_) | None => {
                    let opened = start..start + 1;
                    return Err(SettingsFault::new(opened, "the string has no closing quote"));
                }
            }
        }
        self.at = end + 1;
        let written = self.text.get(start..self.at).unwrap_or_default();
        // The parser of JSON knows all escapes.
        serde_json::from_str(written).map_err(|_| {
            SettingsFault::new(start..end + 1, "the string has an unknown escape sequence")
        })
    }

    fn word(&mut self) -> Result<ValueKind, SettingsFault> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.rest().bytes().take_while(is_part).count();
        let word = &self.rest()[..length];
        if serde_json::from_str::<serde::de::IgnoredAny>(word).is_err() {
            return Err(self.unexpected("a value"));
        }
        let word = word.into();
        self.at += length;
        Ok(ValueKind::Word(word))
    }

    fn unexpected(&self, expected: &str) -> SettingsFault {
        let (found, length) = match self.rest().chars().next() {
            None => ("the end of the file".to_owned(), 0),
            Some(letter @ ('"' | '\'')) => (format!("`{letter}`"), 1),
            Some(letter) => (format!("`{}`", letter.escape_debug()), letter.len_utf8()),
        };
        let at = self.at..self.at + length;
        SettingsFault::new(at, format!("expected {expected} but found {found}"))
    }
}
