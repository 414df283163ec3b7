//! The difference of two texts, as `diff -u` prints it.

use super::limits::CONTEXT_LINES;
use crate::text::{Paint, visible};

/// The lines that two texts differ in, with some unchanged lines around them. Equal lines at the
/// start and at the end of the texts are found first, so a small change in a large file is cheap.
pub(super) fn difference(before: &str, after: &str, paint: Paint) -> String {
    let (old, new) = (lines(before), lines(after));
    let mut shown = String::new();
    for hunk in hunks(&old, &new) {
        shown += &hunk.written(&old, &new, paint);
    }
    shown
}

/// A line with its end, so that another end is another line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Lines that differ: a range of the old ones, and one of the new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
}

/// The ranges that differ, in order. Lines are compared in one pass: after a difference, the next old
/// line that also comes soon in the new text ends it.
fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let (mut at_old, mut at_new) = (0, 0);
    let mut hunks = Vec::new();
    while at_old < old.len() || at_new < new.len() {
        if at_old < old.len() && at_new < new.len() && old[at_old] == new[at_new] {
            (at_old, at_new) = (at_old + 1, at_new + 1);
            continue;
        }
        let (skip_old, skip_new) = next_in_common(&old[at_old..], &new[at_new..]);
        hunks.push(Hunk { old: at_old..at_old + skip_old, new: at_new..at_new + skip_new });
        (at_old, at_new) = (at_old + skip_old, at_new + skip_new);
    }
    hunks
}

/// How many lines of both to skip until they have the same lines again: as few as possible.
fn next_in_common(old: &[&str], new: &[&str]) -> (usize, usize) {
    /// Our longest entry has fewer lines.
    const LOOK_AHEAD: usize = 400;
    /// So many equal lines are no coincidence, such as a bracket.
    const EQUAL_LINES: usize = 3;
    let is_equal = |skip_old: usize, skip_new: usize| {
        let (old, new) = (&old[skip_old..], &new[skip_new..]);
        let length = EQUAL_LINES.min(old.len()).min(new.len());
        let both_end = old.len() == new.len();
        length > 0 && old[..length] == new[..length] && (length == EQUAL_LINES || both_end)
    };
    for skipped in 1..=LOOK_AHEAD.min(old.len() + new.len()) {
        for skip_old in 0..=skipped.min(old.len()) {
            let skip_new = skipped - skip_old;
            if skip_new <= new.len() && is_equal(skip_old, skip_new) {
                return (skip_old, skip_new);
            }
        }
    }
    (old.len(), new.len())
}

impl Hunk {
    fn written(&self, old: &[&str], new: &[&str], paint: Paint) -> String {
        let first = self.old.start.saturating_sub(CONTEXT_LINES);
        let last = (self.old.end + CONTEXT_LINES).min(old.len());
        let mut text = paint.faint(&format!("@@ line {} @@", first + 1)) + "\n";
        let mut add = |sign: char, lines: &[&str], paint: fn(Paint, &str) -> String, by: Paint| {
            for line in lines {
                let line = line.trim_end_matches(['\n', '\r']);
                text += &paint(by, &format!("{sign}{}", visible(line)));
                text.push('\n');
            }
        };
        add(' ', &old[first..self.old.start], |_, line| line.to_owned(), paint);
        add('-', &old[self.old.clone()], Paint::wrong, paint);
        add('+', &new[self.new.clone()], Paint::good, paint);
        add(' ', &old[self.old.end..last], |_, line| line.to_owned(), paint);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    #[test]
    fn changed_lines_are_shown_with_those_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let after = "1\n2\n3\n4\nnew\nlines\n5\n6\n7\n8\n";
        assert_eq!(
            difference(before, after, PLAIN),
            "@@ line 2 @@\n 2\n 3\n 4\n+new\n+lines\n 5\n 6\n 7\n"
        );
        assert_eq!(difference(before, before, PLAIN), "");
        assert_eq!(difference("", "a\n", PLAIN), "@@ line 1 @@\n+a\n");
        assert_eq!(difference("a", "a,\nb", PLAIN), "@@ line 1 @@\n-a\n+a,\n+b\n");
        assert_eq!(difference("a\r\n", "a\n", PLAIN), "@@ line 1 @@\n-a\n+a\n");
        assert_eq!(difference("a\u{1b}[2J", "", PLAIN), "@@ line 1 @@\n-a␛[2J\n");
    }

    #[test]
    fn two_changes_in_a_large_file_are_shown_alone() {
        let lines: Vec<String> = (0..200_000).map(|number| format!("line {number}\n")).collect();
        let before = lines.concat();
        let after = before.replace("line 70\n", "seventy\n").replace("line 170000\n", "");
        assert_eq!(
            difference(&before, &after, PLAIN),
            "@@ line 68 @@\n line 67\n line 68\n line 69\n-line 70\n+seventy\n line 71\n line 72\n \
             line 73\n@@ line 169998 @@\n line 169997\n line 169998\n line 169999\n-line 170000\n \
             line 170001\n line 170002\n line 170003\n"
        );
    }
}
