//! [`SettingsChange`]: what to add, replace or remove, and the text that follows from it.

use std::ops::Range;

use serde_json::Value;

use super::SettingsFault;
use super::document::{SettingsPart, SettingsValue, ValueKind, parse};
use super::layout::{BLANK, Layout};

/// A change of the value at a path: the numbers of the entries that lead to it from the root.
#[derive(Debug)]
pub(crate) struct SettingsChange {
    pub(crate) path: Vec<usize>,
    pub(crate) what: ValueChange,
}

/// What happens to a value.
#[derive(Debug)]
pub(crate) enum ValueChange {
    /// A map or list gets these entries after all others.
    Append(Vec<NewPart>),
    /// It becomes another value.
    Replace(Value),
    /// A map or list loses these entries.
    Remove(Vec<usize>),
}

/// A new entry of a map or a list.
#[derive(Debug, Clone)]
pub(crate) struct NewPart {
    /// Its key, in a map.
    pub(crate) key: Option<String>,
    pub(crate) value: Value,
}

impl SettingsChange {
    pub(crate) fn append(path: &[usize], new: Vec<NewPart>) -> Self {
        Self { path: path.to_owned(), what: ValueChange::Append(new) }
    }

    pub(crate) fn replace(path: &[usize], with: Value) -> Self {
        Self { path: path.to_owned(), what: ValueChange::Replace(with) }
    }

    pub(crate) fn remove(path: &[usize], entries: Vec<usize>) -> Self {
        Self { path: path.to_owned(), what: ValueChange::Remove(entries) }
    }
}

/// The text after these changes, of which no two concern the same value.
pub(crate) fn changed(
    text: &str,
    root: &SettingsValue,
    changes: &[SettingsChange],
) -> Result<String, SettingsFault> {
    let layout = Layout::find(text, Some(root));
    let mut edits = TextEdits::default();
    for change in changes {
        let value = at_path(root, &change.path);
        match &change.what {
            ValueChange::Append(new) => edits.append(text, &layout, value, new),
            ValueChange::Replace(with) => {
                edits.replace(value.at.clone(), layout.replacement(value, with));
            }
            ValueChange::Remove(entries) => edits.remove(text, value, entries),
        }
    }
    let after = edits.applied(text);
    let mut expected = Meaning::read(root);
    let mut changes: Vec<&SettingsChange> = changes.iter().collect();
    // Removing an entry moves those behind it, so the last ones are changed first.
    changes.sort_by(|a, b| b.path.cmp(&a.path));
    changes.into_iter().for_each(|change| expected.change(change));
    let has_meaning = |root: &SettingsValue| Meaning::read(root) == expected;
    match parse(&after) {
        Ok(Some(root)) if has_meaning(&root) => Ok(after),
        _ => Err(SettingsFault::new(
            root.at.start..root.at.start + 1,
            "this cannot be changed without changing other parts of the file",
        )),
    }
}

/// A new text with this value, after the comments of the old one.
pub(crate) fn filled(text: &str, value: &Value) -> String {
    let layout = Layout::find(text, None);
    let is_open_line = !text.trim_matches(['\u{feff}']).is_empty() && !text.ends_with('\n');
    let newline = if is_open_line { "\n" } else { "" };
    format!("{text}{newline}{}", layout.whole(value))
}

fn at_path<'v>(root: &'v SettingsValue, path: &[usize]) -> &'v SettingsValue {
    path.iter().fold(root, |value, number| &value.parts()[*number].value)
}

/// Replacements of ranges of one text.
#[derive(Debug, Default)]
struct TextEdits(Vec<(Range<usize>, String)>);

impl TextEdits {
    fn replace(&mut self, at: Range<usize>, with: String) {
        self.0.push((at, with));
    }

    fn append(&mut self, text: &str, layout: &Layout<'_>, into: &SettingsValue, new: &[NewPart]) {
        let (at, mut written) = layout.appended(into, new);
        if let Some(last) = into.parts().last()
            && last.comma.is_none()
        {
            let end = last.value.at.end;
            match end == at {
                true => written.insert(0, ','),
                false => self.replace(end..end, ",".to_owned()),
            }
        }
        debug_assert!(text.is_char_boundary(at));
        self.replace(at..at, written);
    }

    fn remove(&mut self, text: &str, from: &SettingsValue, entries: &[usize]) {
        let parts = from.parts();
        let stays = |number: &usize| !entries.contains(number);
        if (0..parts.len()).all(|number| !stays(&number)) && has_no_comments(text, from) {
            self.replace(from.at.start + 1..from.at.end - 1, String::new());
            return;
        }
        for number in entries {
            let part = &parts[*number];
            let end = part.value.at.end;
            match part.comma {
                // With a comment before the comma, the comma goes alone.
                Some(comma) if !text[end..comma].trim_matches(BLANK).is_empty() => {
                    self.replace(comma..comma + 1, String::new());
                    self.replace(with_blanks(text, part.start()..end, false), String::new());
                }
                comma => {
                    let end = comma.map_or(end, |comma| comma + 1);
                    let is_last = (*number + 1..parts.len()).all(|it| !stays(&it));
                    self.replace(with_blanks(text, part.start()..end, is_last), String::new());
                }
            }
        }
        // Only a file with trailing commas has one after its new last entry.
        let last_left = (0..parts.len()).rev().find(stays).map(|number| &parts[number]);
        let had_trailing_comma = parts.last().is_some_and(|part| part.comma.is_some());
        if let Some(SettingsPart { comma: Some(comma), .. }) = last_left
            && !had_trailing_comma
        {
            self.replace(*comma..*comma + 1, String::new());
        }
    }

    fn applied(mut self, text: &str) -> String {
        // Of two edits at one place, the first one comes first.
        self.0.sort_by_key(|(at, _)| (at.start, at.end));
        let mut after = String::with_capacity(text.len() + 1024);
        let mut copied = 0;
        for (at, with) in self.0 {
            if at.start > copied {
                after.push_str(&text[copied..at.start]);
            }
            after.push_str(&with);
            copied = copied.max(at.end);
        }
        after.push_str(&text[copied..]);
        after
    }
}

/// Whether a map or list has nothing between its entries but blanks and commas.
fn has_no_comments(text: &str, value: &SettingsValue) -> bool {
    let mut at = value.at.start + 1;
    let is_blank = |range: Range<usize>| text[range].trim_matches(BLANK).is_empty();
    for part in value.parts() {
        let end = part.value.at.end;
        let behind = part.comma.map_or(end, |comma| comma + 1);
        if !is_blank(at..part.start())
            || !text[end..behind]
                .trim_matches(BLANK)
                .trim_end_matches(',')
                .trim_matches(BLANK)
                .is_empty()
        {
            return false;
        }
        at = behind;
    }
    is_blank(at..value.at.end - 1)
}

/// The range of an entry with the blanks that belong to it: its line, if nothing else is in it, else
/// the blanks up to its neighbour.
fn with_blanks(text: &str, at: Range<usize>, is_last: bool) -> Range<usize> {
    let (before, behind) = (&text[..at.start], &text[at.end..]);
    let same_line = [' ', '\t'];
    let indent = before.len() - before.trim_end_matches(same_line).len();
    let blanks = behind.len() - behind.trim_start_matches(same_line).len();
    let line_ends = behind[blanks..].starts_with(['\r', '\n']);
    let line_begins = before[..at.start - indent].ends_with('\n');
    if line_begins && line_ends {
        let line = before[..at.start - indent - 1].strip_suffix('\r');
        let start = line.map_or(at.start - indent - 1, str::len);
        return start..at.end + blanks;
    }
    match is_last {
        true if !line_begins => at.start - indent..at.end,
        _ => at.start..at.end + blanks,
    }
}

/// What a text means: its values without places. Numbers are compared as they are written.
#[derive(Debug, PartialEq)]
enum Meaning {
    Map(Vec<(String, Meaning)>),
    List(Vec<Meaning>),
    Text(String),
    Word(String),
}

impl Meaning {
    fn read(value: &SettingsValue) -> Self {
        let of = |part: &SettingsPart| Self::read(&part.value);
        match &value.kind {
            ValueKind::Map(parts) => {
                let key = |part: &SettingsPart| part.key().unwrap_or_default().to_owned();
                Self::Map(parts.iter().map(|part| (key(part), of(part))).collect())
            }
            ValueKind::List(parts) => Self::List(parts.iter().map(of).collect()),
            ValueKind::Text(text) => Self::Text(text.clone()),
            ValueKind::Word(word) => Self::Word(word.to_string()),
        }
    }

    fn of_json(value: &Value) -> Self {
        match value {
            Value::Object(fields) => Self::Map(
                fields.iter().map(|(key, value)| (key.clone(), Self::of_json(value))).collect(),
            ),
            Value::Array(items) => Self::List(items.iter().map(Self::of_json).collect()),
            Value::String(text) => Self::Text(text.clone()),
            word => Self::Word(word.to_string()),
        }
    }

    fn change(&mut self, change: &SettingsChange) {
        let value = change.path.iter().fold(self, |value, number| match value {
            Self::Map(fields) => &mut fields[*number].1,
            Self::List(items) => &mut items[*number],
            other => other,
        });
        match (&change.what, value) {
            (ValueChange::Replace(with), value) => *value = Self::of_json(with),
            (ValueChange::Append(new), Self::Map(fields)) => {
                fields.extend(new.iter().map(|part| {
                    (part.key.clone().unwrap_or_default(), Self::of_json(&part.value))
                }));
            }
            (ValueChange::Append(new), Self::List(items)) => {
                items.extend(new.iter().map(|part| Self::of_json(&part.value)));
            }
            (ValueChange::Remove(entries), Self::Map(fields)) => {
                let mut number = 0..;
                fields.retain(|_| number.next().is_none_or(|it| !entries.contains(&it)));
            }
            (ValueChange::Remove(entries), Self::List(items)) => {
                let mut number = 0..;
                items.retain(|_| number.next().is_none_or(|it| !entries.contains(&it)));
            }
            (ValueChange::Append(_) | ValueChange::Remove(_), Self::Text(_) | Self::Word(_)) => {}
        }
    }
}
