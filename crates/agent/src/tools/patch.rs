//! The difference between two texts, as hook scripts read it: hunks with their lines.

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::limits::DIFF_TIME_MAX;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

pub(super) fn structured_patch(old: &str, new: &str) -> Value {
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(old, new);
    let hunks = diff.grouped_ops(CONTEXT_LINES).into_iter().filter_map(|group| {
        let (first, last) = (group.first()?, group.last()?);
        let mut lines = Vec::new();
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value();
            lines.push(format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
            if !line.ends_with('\n') {
                lines.push("\\ No newline at end of file".to_owned());
            }
        }
        Some(json!({
            "oldStart": first.old_range().start + 1,
            "oldLines": last.old_range().end - first.old_range().start,
            "newStart": first.new_range().start + 1,
            "newLines": last.new_range().end - first.new_range().start,
            "lines": lines,
        }))
    });
    hunks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_three_lines_around_each_change() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("5\n", "five\n").replace("20\n", "20");
        let expected = json!([
            { "oldStart": 2, "oldLines": 7, "newStart": 2, "newLines": 7,
              "lines": [" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"] },
            { "oldStart": 12, "oldLines": 9, "newStart": 12, "newLines": 9,
              "lines": [" 12", " 13", " 14", "-15", "+1five", " 16", " 17", " 18", " 19", "-20", "+20",
                        "\\ No newline at end of file"] },
        ]);
        assert_eq!(structured_patch(&old, &new), expected);
        assert_eq!(structured_patch("a\n", "a\n"), json!([]));
    }
}
