//! How new values are written: like their neighbours.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::change::NewPart;
use super::document::SettingsValue;

/// Spaces, tabs and line ends.
pub(super) const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// One step of indentation where a text shows none.
const STEP: &str = "  ";

/// How a text is written.
pub(super) struct Layout<'t> {
    text: &'t str,
    newline: &'static str,
    step: &'t str,
}

impl<'t> Layout<'t> {
    pub(super) fn find(text: &'t str, root: Option<&SettingsValue>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let layout = Self { text, newline, step: STEP };
        let step = root.and_then(|root| layout.step_in(root)).unwrap_or(STEP);
        Self { step, ..layout }
    }

    /// How much deeper the first entry on a line of its own is indented than its brackets.
    fn step_in(&self, value: &SettingsValue) -> Option<&'t str> {
        let outer = self.line_indent(value.at.start);
        value.parts().iter().find_map(|part| {
            let own = self.own_line_indent(part.start());
            own.and_then(|inner| inner.strip_prefix(outer).filter(|step| !step.is_empty()))
                .or_else(|| self.step_in(&part.value))
        })
    }

    /// A whole file with this value.
    pub(super) fn whole(&self, value: &Value) -> String {
        format!("{}{}", self.lines(value, ""), self.newline)
    }

    /// A value in the place of another.
    pub(super) fn replacement(&self, old: &SettingsValue, new: &Value) -> String {
        match self.text[old.at.clone()].contains('\n') {
            true => self.lines(new, self.line_indent(old.at.start)),
            false => new.to_string(),
        }
    }

    /// Where new entries of this map or list go, and their text, without a comma before it.
    pub(super) fn appended(&self, into: &SettingsValue, new: &[NewPart]) -> (usize, String) {
        let (open, close) = (into.at.start, into.at.end - 1);
        let last = into.parts().last();
        let behind_last =
            last.map_or(open + 1, |part| part.comma.map_or(part.value.at.end, |comma| comma + 1));
        // Behind the comments that follow the last entry.
        let at = behind_last + self.text[behind_last..close].trim_end_matches(BLANK).len();
        let trailing_comma = if last.is_some_and(|part| part.comma.is_some()) { "," } else { "" };
        if !self.has_lines(into) {
            let before = if last.is_some() { " " } else { "" };
            let new: Vec<String> =
                new.iter().map(|part| part.written(&part.value.to_string())).collect();
            return (at, format!("{before}{}{trailing_comma}", new.join(", ")));
        }
        let own_lines = into.parts().iter().rev();
        let indent = own_lines.filter_map(|part| self.own_line_indent(part.start())).next();
        let indent = indent
            .map_or_else(|| format!("{}{}", self.line_indent(open), self.step), str::to_owned);
        let mut text = String::new();
        for (number, part) in new.iter().enumerate() {
            let comma = if number + 1 < new.len() { "," } else { trailing_comma };
            let value = self.lines(&part.value, &indent);
            text += &format!("{}{indent}{}{comma}", self.newline, part.written(&value));
        }
        if last.is_none() && !self.text[at..close].contains('\n') {
            text += &format!("{}{}", self.newline, self.line_indent(open));
        }
        (at, text)
    }

    /// Whether the entries of a map or list are on several lines.
    fn has_lines(&self, value: &SettingsValue) -> bool {
        let inside = &self.text[value.at.start + 1..value.at.end - 1];
        let before = self.text[..value.at.start].trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        let is_root_or_below_lines = || before.is_empty() || self.text.trim_end().contains('\n');
        inside.contains('\n') || (value.parts().is_empty() && is_root_or_below_lines())
    }

    /// A value in lines; all but the first are indented like this.
    fn lines(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.step.as_bytes());
        let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        written.expect("memory takes all of it");
        let text = String::from_utf8(bytes).expect("JSON is text");
        text.replace('\n', &format!("{}{indent}", self.newline))
    }

    /// The indentation of the line with this place.
    fn line_indent(&self, at: usize) -> &'t str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// The same, if nothing else is before this place in its line.
    fn own_line_indent(&self, at: usize) -> Option<&'t str> {
        let start = self.line_start(at);
        let line = &self.text[start..at];
        (start > 0 && line.trim_matches([' ', '\t']).is_empty()).then_some(line)
    }

    fn line_start(&self, at: usize) -> usize {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let is_marked = start == 0 && self.text.starts_with('\u{feff}') && at > 0;
        if is_marked { '\u{feff}'.len_utf8() } else { start }
    }
}

impl NewPart {
    fn written(&self, value: &str) -> String {
        match &self.key {
            Some(key) => format!("{}: {value}", Value::from(key.as_str())),
            None => value.to_owned(),
        }
    }
}
