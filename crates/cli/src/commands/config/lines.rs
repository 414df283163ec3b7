//! YAML block style: where a block ends, and how a hook is written.

use std::ops::Range;

use hookwright_events::EventName;

use super::brackets::{Change, newline};

/// The line that contains an offset, without its end.
pub(super) fn line_at(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    start..end - usize::from(text[start..end].ends_with('\r'))
}

/// The indentation of a line.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The end of the block that begins in this line: all deeper lines, and list items right below a
/// key.
pub(super) fn end_of_block(text: &str, first: &Range<usize>, items_below: bool) -> usize {
    let indent = indent_of(&text[first.clone()]);
    let mut end = first.end;
    for line in lines_from(text, first.end) {
        let words = text[line.clone()].trim();
        if words.is_empty() {
            continue;
        }
        let deeper = indent_of(&text[line.clone()]);
        let belongs = deeper > indent || (items_below && deeper == indent && is_item(words));
        match (belongs, words.starts_with('#')) {
            (true, _) => end = line.end,
            // A comment does not show where the block ends.
            (false, true) => {}
            (false, false) => break,
        }
    }
    end
}

/// The end of the document's last line.
pub(super) fn end_of_document(text: &str) -> usize {
    let mut end = 0;
    let mut has_begun = false;
    for line in lines_from(text, 0) {
        let words = text[line.clone()].trim_end();
        if words.starts_with("...") || (words.starts_with("---") && has_begun) {
            break;
        }
        has_begun |= !words.trim().is_empty() && !words.trim_start().starts_with(['#', '%']);
        if !words.trim().is_empty() {
            end = line.end;
        }
    }
    end
}

/// Whether a line begins a list item.
pub(super) fn is_item(words: &str) -> bool {
    words == "-" || words.starts_with("- ")
}

/// A hook as a list item, one line per field.
pub(super) fn item(fields: &[(&str, &str)], indent: usize) -> Vec<String> {
    let field = |(number, (key, value)): (usize, &(&str, &str))| {
        let dash = if number == 0 { "- " } else { "  " };
        format!("{}{dash}{key}: {}", " ".repeat(indent), scalar(value))
    };
    fields.iter().enumerate().map(field).collect()
}

/// Inserts lines after the line that ends here.
pub(super) fn insert_behind(text: &str, end: usize, lines: &[String]) -> Change {
    let newline = newline(text);
    Change::insert(end, lines.iter().map(|line| format!("{newline}{line}")).collect())
}

/// Inserts lines before the line that begins here, and before the comments right above it.
pub(super) fn insert_before(text: &str, line: &Range<usize>, lines: &[String]) -> Change {
    let indent = indent_of(&text[line.clone()]);
    let mut start = line.start;
    while start > 0 {
        let above = line_at(text, start - 1);
        let words = &text[above.clone()];
        if !words.trim_start().starts_with('#') || indent_of(words) != indent {
            break;
        }
        start = above.start;
    }
    let newline = newline(text);
    Change::insert(start, lines.iter().map(|line| format!("{line}{newline}")).collect())
}

/// Deletes the lines from this one to the end of its block, and the line end before them.
pub(super) fn delete(text: &str, line: &Range<usize>, end: usize) -> Change {
    let before = text[..line.start].trim_end_matches('\n');
    // Only one line end is deleted with the lines.
    let start = match line.start {
        0 => 0,
        start if before.ends_with('\r') && before.len() + 1 == start => before.len() - 1,
        start => start - 1,
    };
    Change::delete(start..end)
}

/// A text as YAML, quoted if necessary.
fn scalar(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_plain = is_plain || text == EventName::EXECUTION_POST_END.as_str();
    if is_plain { text.to_owned() } else { format!("\"{text}\"") }
}

/// The lines after the end of a line.
fn lines_from(text: &str, at: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut next = match at {
        0 => Some(0),
        at => text[at..].find('\n').map(|end| at + end + 1),
    };
    std::iter::from_fn(move || {
        let start = next.filter(|start| *start < text.len())?;
        let line = line_at(text, start);
        next = text[line.end..].find('\n').map(|end| line.end + end + 1);
        Some(line)
    })
}
