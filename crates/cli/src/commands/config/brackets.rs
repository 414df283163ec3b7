//! Lists and maps in brackets: JSON, and YAML flow style.
//!
//! Adding and later removing a part leaves no trace, so the text must show what was there before. A
//! part is added to empty brackets without a space; new brackets have a space after the opening
//! one, and are removed with their last part ([`Brackets::is_made_anew`]).

use std::ops::Range;

use serde_json::{Map, Value};

/// A list or a map in brackets, and the ranges of its parts.
#[derive(Debug)]
pub(super) struct Brackets<'t> {
    text: &'t str,
    /// Offset of the opening bracket.
    open: usize,
    /// Its parts: elements, or keys with their values.
    parts: Vec<Range<usize>>,
}

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: Range<usize>,
    pub(super) with: String,
}

impl Change {
    pub(super) fn applied(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.at.start], self.with, &text[self.at.end..])
    }

    pub(super) fn insert(at: usize, with: String) -> Self {
        Self { at: at..at, with }
    }

    pub(super) fn delete(at: Range<usize>) -> Self {
        Self { at, with: String::new() }
    }
}

/// A part to be added.
pub(super) enum Part<'a> {
    Element(&'a Value),
    Member(&'a str, &'a Value),
}

impl<'t> Brackets<'t> {
    pub(super) fn new(text: &'t str, open: usize, parts: Vec<Range<usize>>) -> Self {
        Self { text, open, parts }
    }

    /// Appends a part, or inserts it before another.
    pub(super) fn add(&self, part: &Part<'_>, before: Option<usize>) -> Change {
        let neighbour = before.and_then(|index| self.parts.get(index));
        if let Some(next) = neighbour {
            let blank = self.blank_before(next.start);
            let written = self.written(part, &blank);
            return Change::insert(next.start, format!("{written},{blank}"));
        }
        match self.parts.last() {
            Some(last) => {
                let blank = self.blank_before(last.start);
                let written = self.written(part, &blank);
                Change::insert(last.end, format!(",{blank}{written}"))
            }
            None => {
                let inside = format!("{}{}", line_indent(self.text, self.open), unit(self.text));
                let written = match is_one_line(self.text) {
                    true => inline(part),
                    false => in_lines(part, &inside, self.text),
                };
                Change::insert(self.open + 1, written)
            }
        }
    }

    /// Removes a part. Removing the only part restores the brackets as they were before it was
    /// added.
    pub(super) fn remove(&self, index: usize) -> Option<Change> {
        let part = self.parts.get(index)?;
        Some(Change::delete(match (index.checked_sub(1), self.parts.get(index + 1)) {
            (_, Some(next)) => part.start..next.start,
            (Some(previous), None) => self.parts[previous].end..part.end,
            (None, None) if self.is_made_anew() => self.open + 1..self.close()?,
            (None, None) => part.clone(),
        }))
    }

    /// Whether they have a single part and are removed with it.
    pub(super) fn go_with_their_part(&self) -> bool {
        self.parts.len() == 1 && self.is_made_anew()
    }

    fn is_made_anew(&self) -> bool {
        self.text[self.open + 1..].starts_with([' ', '\t', '\r', '\n'])
    }

    fn close(&self) -> Option<usize> {
        end_of(self.text, self.open).map(|end| end - 1)
    }

    /// The whitespace before a part: a line end and an indentation, or a space.
    fn blank_before(&self, start: usize) -> String {
        let before = &self.text[..start];
        let blank = &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..];
        match blank.rfind('\n') {
            Some(at) => format!("{}{}", newline(self.text), &blank[at + 1..]),
            None if blank.is_empty() && self.parts.len() > 1 => String::new(),
            None => " ".to_owned(),
        }
    }

    fn written(&self, part: &Part<'_>, blank: &str) -> String {
        match blank.rfind('\n') {
            // The neighbours have one line each, so this one does too.
            Some(_) if matches!(part, Part::Element(_)) && self.has_short_parts() => inline(part),
            Some(at) => in_lines(part, &blank[at + 1..], self.text),
            None => inline(part),
        }
    }

    fn has_short_parts(&self) -> bool {
        self.parts.iter().all(|part| !self.text[part.clone()].contains('\n'))
    }
}

/// The end of the value that begins here: brackets, a quoted text, or anything up to a separator.
pub(super) fn end_of(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    // A quote begins a text only after one of these; within a plain word it is a character.
    let mut may_open = true;
    while let Some(byte) = bytes.get(at) {
        let rest = &text[at..];
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => at += quoted(rest, '"')? - 1,
            b'\'' if may_open => at += quoted(rest, '\'')? - 1,
            b'/' if rest.starts_with("//") && may_open => at += rest.find('\n')?,
            b'/' if rest.starts_with("/*") && may_open => at += rest.find("*/")? + 1,
            b'#' if text[..at].ends_with([' ', '\t', '\n']) => at += rest.find('\n')?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
        may_open = match bytes.get(at - 1) {
            Some(b' ' | b'\t' | b'\r' | b'\n') => may_open,
            Some(b'{' | b'[' | b',' | b':' | b'"' | b'\'' | b'}' | b']' | b'/') => true,
            _ => false,
        };
    }
    None
}

/// The length of the quoted text at the beginning of a text.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote == '"' => {
                letters.next();
            }
            _ if letter != quote => {}
            '\'' if letters.next_if(|(_, next)| *next == '\'').is_some() => {}
            _ => return Some(at + 1),
        }
    }
    None
}

fn inline(part: &Part<'_>) -> String {
    match part {
        Part::Element(value) => inline_value(value),
        Part::Member(key, value) => format!("{}: {}", Value::from(*key), inline_value(value)),
    }
}

/// Lists and maps of lists have a space after their opening bracket, hooks have none.
fn inline_value(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline_value).collect();
            format!("[ {} ]", items.join(", "))
        }
        Value::Object(members) => {
            let written = |(key, value)| format!("{}: {}", Value::from(key), inline_value(value));
            let all: Vec<String> = pairs(members).map(written).collect();
            match members.values().any(Value::is_array) {
                true => format!("{{ {} }}", all.join(", ")),
                false => format!("{{{}}}", all.join(", ")),
            }
        }
        value => value.to_string(),
    }
}

fn in_lines(part: &Part<'_>, indent: &str, text: &str) -> String {
    match part {
        Part::Element(value) => value_in_lines(value, indent, text),
        Part::Member(key, value) => {
            format!("{}: {}", Value::from(*key), value_in_lines(value, indent, text))
        }
    }
}

fn value_in_lines(value: &Value, indent: &str, text: &str) -> String {
    let (newline, inner) = (newline(text), format!("{indent}{}", unit(text)));
    let all: Vec<String> = match value {
        Value::Array(items) => {
            items.iter().map(|item| value_in_lines(item, &inner, text)).collect()
        }
        Value::Object(members) => {
            let written = |(key, value)| {
                format!("{}: {}", Value::from(key), value_in_lines(value, &inner, text))
            };
            pairs(members).map(written).collect()
        }
        value => return value.to_string(),
    };
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    let between = format!(",{newline}{inner}");
    format!("{open}{newline}{inner}{}{newline}{indent}{close}", all.join(&between))
}

fn pairs(members: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    members.iter().map(|(key, value)| (key.as_str(), value))
}

/// The line ending of this text.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn is_one_line(text: &str) -> bool {
    !text.trim_end().contains('\n')
}

/// The indentation of a line.
fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// One step of indentation: that of the first indented line.
fn unit(text: &str) -> &str {
    let indents = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]);
    let first = text
        .lines()
        .zip(indents)
        .find(|(line, indent)| !indent.is_empty() && !line.trim().is_empty());
    first.map_or("  ", |(_, indent)| indent)
}
