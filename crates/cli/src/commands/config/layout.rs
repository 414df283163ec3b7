//! [`Layout`]: how a list or map is written, and the changes that add or remove a part of it.
//!
//! Adding a part and removing it restores the text, so the text must show what was there before. A
//! part in brackets that were empty has no blank before it. New brackets have a blank after the opening
//! one; they are removed with their last part.

use std::ops::Range;

use hookwright_config::SourceFile;
use hookwright_config::tree::{Field, Mark, Node, Raw};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// How a list or map is written.
pub(super) struct Layout<'s> {
    source: &'s SourceFile,
    text: &'s str,
    /// The place of its key; the root has none.
    key: Option<Mark>,
    node: &'s Node,
    in_brackets: bool,
}

/// A change of a text.
pub(super) struct Change {
    at: Range<usize>,
    with: String,
}

impl Change {
    pub(super) fn applied(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.at.start], self.with, &text[self.at.end..])
    }

    fn insert(at: usize, with: String) -> Self {
        Self { at: at..at, with }
    }

    fn delete(at: Range<usize>) -> Self {
        Self { at, with: String::new() }
    }
}

/// A new hook, and the keys above it that are not in the file yet, outermost first.
pub(super) struct NewHook<'a> {
    pub(super) keys: &'a [&'a str],
    pub(super) fields: &'a Map<String, Value>,
}

impl<'s> Layout<'s> {
    pub(super) fn of_root(source: &'s SourceFile, root: &'s Node) -> Self {
        Self::new(source, None, root)
    }

    pub(super) fn of_field(source: &'s SourceFile, field: &'s Field) -> Self {
        Self::new(source, Some(field.at), &field.value)
    }

    fn new(source: &'s SourceFile, key: Option<Mark>, node: &'s Node) -> Self {
        // The place of a block list may be that of its first item, which may be a map in brackets.
        let open = if matches!(node.raw, Raw::List(_)) { '[' } else { '{' };
        let in_brackets = source.text[start_of(node.at, source)..].starts_with(open);
        Self { source, text: &source.text, key, node, in_brackets }
    }

    /// Adds a hook after all parts, or before one of them.
    pub(super) fn add(&self, new: &NewHook<'_>, before: Option<usize>) -> Option<Change> {
        let parts = self.parts()?;
        let next = before.and_then(|index| parts.get(index));
        if self.in_brackets {
            return Some(self.add_in_brackets(new, &parts, next));
        }
        let first = parts.first()?;
        let indent = indent_at(self.text, first.start);
        let step = if new.keys.len() == 1 { self.step_below_keys().unwrap_or(2) } else { 2 };
        let lines = new.in_yaml(indent, step);
        let newline = newline(self.text);
        Some(match next {
            Some(next) => {
                let at = self.above_comments(next.start);
                Change::insert(at, lines.iter().map(|line| format!("{line}{newline}")).collect())
            }
            None => {
                let new = lines.iter().map(|line| format!("{newline}{line}")).collect();
                Change::insert(self.end_in_lines(), new)
            }
        })
    }

    fn add_in_brackets(
        &self,
        new: &NewHook<'_>,
        parts: &[Range<usize>],
        next: Option<&Range<usize>>,
    ) -> Change {
        let Some(neighbour) = next.or(parts.last()) else {
            let open = start_of(self.node.at, self.source);
            let line = &self.text[line_start(self.text, open)..open];
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            let written = match self.text.trim_end().contains('\n') {
                true => new.in_json_lines(&format!("{indent}{}", unit(self.text)), self.text),
                false => new.in_json(),
            };
            return Change::insert(open + 1, written);
        };
        let before = &self.text[..neighbour.start];
        let blank = &before[before.trim_end_matches(BLANK).len()..];
        let blank = match blank.rfind('\n') {
            Some(at) => format!("{}{}", newline(self.text), &blank[at + 1..]),
            None if blank.is_empty() && parts.len() > 1 => String::new(),
            None => " ".to_owned(),
        };
        // If every other element takes one line, the new one does too.
        let is_short = |part: &Range<usize>| !self.text[part.clone()].contains('\n');
        let written = match blank.rsplit_once('\n') {
            Some((_, indent)) if !(new.keys.is_empty() && parts.iter().all(is_short)) => {
                new.in_json_lines(indent, self.text)
            }
            _ => new.in_json(),
        };
        match next {
            Some(next) => Change::insert(next.start, format!("{written},{blank}")),
            None => Change::insert(neighbour.end, format!(",{blank}{written}")),
        }
    }

    /// Removes one part. A block list or map that loses its only part becomes `[]` or `{}`; brackets
    /// become what they were before the part was added.
    pub(super) fn remove(&self, index: usize) -> Option<Change> {
        let parts = self.parts()?;
        let part = parts.get(index)?.clone();
        let is_only_part = parts.len() == 1;
        if !self.in_brackets && is_only_part {
            let with = if matches!(self.node.raw, Raw::List(_)) { " []" } else { " {}" };
            let key = self.key?.place(self.source).range;
            let colon = key.end + self.text[key.end..].find(':')?;
            return Some(Change { at: colon + 1..self.end_in_lines(), with: with.to_owned() });
        }
        let at = match (index.checked_sub(1), parts.get(index + 1)) {
            _ if !self.in_brackets => self.line_end_before(part.start)..part.end,
            (_, Some(next)) => part.start..next.start,
            (Some(previous), None) => parts[previous].end..part.end,
            (None, None) if self.is_made_anew() => {
                start_of(self.node.at, self.source) + 1..end_of(self.node, self.source)? - 1
            }
            (None, None) => part,
        };
        Some(Change::delete(at))
    }

    /// Whether it is removed with its only part. A list of all hooks stays, because it was not made for
    /// one hook. The only key of a file stays, because a file without keys is not a configuration.
    pub(super) fn goes_with_its_part(&self, parent: &Layout<'_>) -> bool {
        let count = |layout: &Layout<'_>| layout.parts().map_or(0, |parts| parts.len());
        let is_list_of_all = matches!(self.node.raw, Raw::List(_)) && parent.key.is_none();
        let may_go = match self.in_brackets {
            true => self.is_made_anew() && parent.in_brackets,
            false => parent.key.is_some() || count(parent) > 1,
        };
        count(self) == 1 && may_go && !is_list_of_all
    }

    fn is_made_anew(&self) -> bool {
        self.text[start_of(self.node.at, self.source) + 1..].starts_with(BLANK)
    }

    /// Its elements, or its keys with their values; in a block, from the start of the line.
    fn parts(&self) -> Option<Vec<Range<usize>>> {
        let start = |mark| start_of(mark, self.source);
        let parts: Vec<(usize, &Node)> = match &self.node.raw {
            Raw::Map(fields) => {
                fields.iter().map(|field| (start(field.at), &field.value)).collect()
            }
            Raw::List(items) => items.iter().map(|item| (start(item.at), item)).collect(),
            _ => return None,
        };
        let is_list = matches!(self.node.raw, Raw::List(_));
        let range = |(start, value): (usize, &Node)| match self.in_brackets {
            true => Some(start..end_of(value, self.source)?),
            false => {
                let start = line_start(self.text, start);
                let is_part = !is_list || is_item(self.text[start..].trim_start());
                is_part.then(|| start..end_of_block(self.text, start, !is_list))
            }
        };
        parts.into_iter().map(range).collect()
    }

    /// How much deeper than its key the items of this map's lists are indented.
    fn step_below_keys(&self) -> Option<usize> {
        let Raw::Map(lists) = &self.node.raw else { return None };
        lists.iter().find_map(|list| {
            let layout = Layout::of_field(self.source, list);
            let item = layout.parts().filter(|_| !layout.in_brackets)?.first()?.start;
            let key = line_start(self.text, start_of(list.at, self.source));
            indent_at(self.text, item).checked_sub(indent_at(self.text, key))
        })
    }

    /// The end of its last line.
    fn end_in_lines(&self) -> usize {
        match self.key {
            Some(key) => {
                let line = line_start(self.text, start_of(key, self.source));
                end_of_block(self.text, line, true)
            }
            None => end_of_document(self.text),
        }
    }

    /// The end of the line before this one.
    fn line_end_before(&self, line: usize) -> usize {
        let before = &self.text[..line];
        before.strip_suffix('\n').map_or(0, |it| it.strip_suffix('\r').unwrap_or(it).len())
    }

    /// The start of the comments right above a line.
    fn above_comments(&self, line: usize) -> usize {
        let indent = indent_at(self.text, line);
        let mut start = line;
        while start > 0 {
            let above = line_start(self.text, start - 1);
            let is_comment = self.text[above..].trim_start_matches(' ').starts_with('#');
            if !is_comment || indent_at(self.text, above) != indent {
                break;
            }
            start = above;
        }
        start
    }
}

impl NewHook<'_> {
    /// In one line of JSON. New lists and maps have a blank after the opening bracket, hooks have none.
    fn in_json(&self) -> String {
        let field = |(key, value): (&String, &Value)| format!("{}: {value}", Value::from(&**key));
        let fields: Vec<String> = self.fields.iter().map(field).collect();
        let hook = format!("{{{}}}", fields.join(", "));
        match self.keys {
            [hooks, point] => format!("\"{hooks}\": {{ \"{point}\": [ {hook} ] }}"),
            [point] => format!("\"{point}\": [ {hook} ]"),
            _ => hook,
        }
    }

    /// In lines of JSON, indented like the other lines of the text.
    fn in_json_lines(&self, indent: &str, text: &str) -> String {
        let (key, value) = match self.keys {
            [hooks, point] => (format!("\"{hooks}\": "), json!({ *point: [self.fields] })),
            [point] => (format!("\"{point}\": "), json!([self.fields])),
            _ => (String::new(), json!(self.fields)),
        };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(unit(text).as_bytes());
        let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        written.expect("memory takes all of it");
        let lines = String::from_utf8(bytes).expect("JSON is text");
        format!("{key}{}", lines.replace('\n', &format!("{}{indent}", newline(text))))
    }

    /// In lines of YAML; `step` is how much deeper than their key the items of a list are.
    fn in_yaml(&self, indent: usize, step: usize) -> Vec<String> {
        let key = |(depth, key): (usize, &&str)| format!("{:1$}{key}:", "", indent + 2 * depth);
        let mut lines: Vec<String> = self.keys.iter().enumerate().map(key).collect();
        let indent = match self.keys.len().checked_sub(1) {
            Some(above) => indent + 2 * above + step,
            None => indent,
        };
        for (number, (key, value)) in self.fields.iter().enumerate() {
            let dash = if number == 0 { "- " } else { "  " };
            let value = match value.as_str() {
                Some(text) if text.contains([' ', '#']) => format!("\"{text}\""),
                Some(text) => text.to_owned(),
                None => value.to_string(),
            };
            lines.push(format!("{:indent$}{dash}{key}: {value}", ""));
        }
        lines
    }
}

fn start_of(mark: Mark, source: &SourceFile) -> usize {
    mark.place(source).range.start
}

/// The end of a value in brackets or of a part of one: after its last part and the closing bracket.
fn end_of(node: &Node, source: &SourceFile) -> Option<usize> {
    let range = node.at.place(source).range;
    let last = match &node.raw {
        Raw::Map(fields) => fields.last().map(|field| &field.value),
        Raw::List(items) => items.last(),
        _ => return Some(range.end),
    };
    let mut at = match last {
        Some(last) => end_of(last, source)?,
        None => range.start + 1,
    };
    loop {
        let rest = &source.text[at..];
        at += match rest.chars().next()? {
            ']' | '}' => return Some(at + 1),
            '/' if rest.starts_with("/*") => rest.find("*/")? + 2,
            '/' | '#' => rest.find('\n')?,
            letter => letter.len_utf8(),
        };
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The indentation of the line that begins here.
fn indent_at(text: &str, line: usize) -> usize {
    text[line..].len() - text[line..].trim_start_matches(' ').len()
}

/// Whether a line begins an item of a list.
fn is_item(words: &str) -> bool {
    words.strip_prefix('-').is_some_and(|rest| rest.is_empty() || rest.starts_with(BLANK))
}

/// The lines from this one on that are not empty: the end of each, and its text.
fn lines_from(text: &str, line: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = line;
    let lines = text[line..].split_inclusive('\n').map(move |line| {
        let words = line.trim_end_matches(['\n', '\r']);
        let end = at + words.len();
        at += line.len();
        (end, words)
    });
    lines.filter(|(_, words)| !words.trim().is_empty())
}

/// The end of the block that begins in this line: all lines that are indented deeper, and list items
/// right below a key.
fn end_of_block(text: &str, line: usize, items_below: bool) -> usize {
    let indent = indent_at(text, line);
    let mut lines = lines_from(text, line);
    let mut end = lines.next().map_or(line, |(end, _)| end);
    for (line_end, line) in lines {
        let (deeper, words) = (indent_at(line, 0), line.trim());
        let belongs = deeper > indent || (items_below && deeper == indent && is_item(words));
        match (belongs, words.starts_with('#')) {
            (true, _) => end = line_end,
            // A comment does not tell what follows it.
            (false, true) => {}
            (false, false) => break,
        }
    }
    end
}

/// The end of the last line of the document.
fn end_of_document(text: &str) -> usize {
    let mut end = 0;
    let mut has_begun = false;
    for (line_end, line) in lines_from(text, 0) {
        if line.starts_with("...") || (line.starts_with("---") && has_begun) {
            break;
        }
        has_begun |= !line.trim_start().starts_with(['#', '%']);
        end = line_end;
    }
    end
}

/// The line ending of this text.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// One step of indentation: that of the first indented line.
fn unit(text: &str) -> &str {
    let indent = |line: &'_ str| line.len() - line.trim_start().len();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && indent(line) > 0);
    lines.next().map_or("  ", |line| &line[..indent(line)])
}
