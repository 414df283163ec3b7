//! A fault or a warning on the screen: what is wrong, its line with carets under the place, what to do.
//!
//! ```text
//! error: unknown variable `ITERATON`
//!   --> hooks.yaml:14:16
//!    |
//! 14 |       when: "${ITERATON} % 10 == 0"
//!    |                ^^^^^^^^
//! help: did you mean `ITERATION`?
//! ```
//!
//! Drawn here and not by a library: existing ones let some control characters through, and process
//! whole lines, which may be 4 MiB long.

use std::fmt::Write as _;

use hookwright_config::{Fault, FilePlace, Warning};

use crate::error::{Advice, Failure, advice, warning_advice};
use crate::text::{Paint, visible, width};

/// Characters of a line that are shown; a file without line breaks must not flood the screen.
const LINE_CHARS_MAX: usize = 120;

/// Characters before the place, if the line has to be cut.
const CHARS_BEFORE: usize = 40;

/// Characters of a heading, which may quote a user's long text.
const HEADING_CHARS_MAX: usize = 300;

/// A fault of a configuration.
pub(crate) fn fault(fault: &Fault, paint: Paint) -> String {
    Drawing::of(fault).drawn(paint, &paint.wrong("error:"), Paint::wrong)
}

/// A skipped entry of a foreign file.
pub(crate) fn left_out(fault: &Fault, paint: Paint) -> String {
    Drawing::of(fault).drawn(paint, &paint.odd("warning:"), Paint::odd)
}

/// A warning about a place in a configuration.
pub(crate) fn warning(warning: &Warning, paint: Paint) -> String {
    let drawing = Drawing {
        advice: warning_advice(warning),
        location: warning.location(),
        file: &warning.source.text,
        place: Some(&warning.place),
    };
    drawing.drawn(paint, &paint.odd("warning:"), Paint::odd)
}

/// Advice without a place; `word` is `warning:` or `note:`.
pub(crate) fn without_place(word: &str, advice: &Advice, paint: Paint) -> String {
    let mut text = heading(&paint.odd(word), &advice.heading, paint);
    help(&mut text, &advice.help, paint);
    text
}

struct Drawing<'a> {
    advice: Advice,
    location: String,
    file: &'a str,
    place: Option<&'a FilePlace>,
}

impl<'a> Drawing<'a> {
    fn of(fault: &'a Fault) -> Self {
        Self {
            advice: advice(fault),
            location: fault.location(),
            file: &fault.source.text,
            place: fault.place.as_ref(),
        }
    }

    fn drawn(&self, paint: Paint, word: &str, caret: fn(Paint, &str) -> String) -> String {
        let mut text = heading(word, &self.advice.heading, paint);
        let number = self.place.map_or_else(String::new, |place| place.line.to_string());
        let margin = " ".repeat(number.len().max(1));
        let arrow = paint.frame("-->");
        let _ = writeln!(text, "{margin}{arrow} {}", visible(&self.location));
        if let Some(snippet) = self.place.and_then(|place| Snippet::of(self.file, place)) {
            let edge = paint.frame("|");
            let _ = writeln!(text, "{margin} {edge}");
            let _ = writeln!(text, "{} {edge} {}", paint.frame(&number), snippet.line);
            let carets = caret(paint, &"^".repeat(snippet.carets));
            let _ = writeln!(text, "{margin} {edge} {}{carets}", " ".repeat(snippet.indent));
        }
        help(&mut text, &self.advice.help, paint);
        text
    }
}

/// An error of the program or the system.
pub(crate) fn failure(failure: &Failure, paint: Paint) -> String {
    let message = failure.message();
    let mut text = heading(&paint.wrong("error:"), &message.heading, paint);
    if let Some(place) = &message.place {
        let _ = writeln!(text, " {} {}", paint.frame("-->"), visible(place));
    }
    help(&mut text, &message.help, paint);
    text
}

fn heading(word: &str, heading: &str, paint: Paint) -> String {
    let shown = crate::text::one_line(heading, HEADING_CHARS_MAX);
    format!("{word} {}\n", paint.strong(&shown))
}

fn help(text: &mut String, help: &str, paint: Paint) {
    let _ = writeln!(text, "{} {}", paint.advice("help:"), visible(help));
}

/// The line ends of YAML.
const BREAKS: [char; 2] = ['\n', '\r'];

/// One line of a file, and the position of the carets.
struct Snippet {
    line: String,
    indent: usize,
    carets: usize,
}

impl Snippet {
    fn of(text: &str, place: &FilePlace) -> Option<Self> {
        let at = place.range.start.min(text.len());
        if !text.is_char_boundary(at) {
            return None;
        }
        // No further than is shown: one long line may have thousands of faults.
        let within = |(_, letter): &(usize, char)| !BREAKS.contains(letter);
        let start = text[..at].char_indices().rev().take_while(within);
        let start = start.take(LINE_CHARS_MAX + 1).last();
        let end = text[at..].char_indices().take_while(within);
        let end = end.take(LINE_CHARS_MAX + 1).last();
        let before = &text[start.map_or(at, |(offset, _)| offset)..at];
        let after = &text[at..end.map_or(at, |(offset, letter)| at + offset + letter.len_utf8())];
        let after = after.trim_end();
        // A range of several lines is marked on its first line.
        let marked =
            after.char_indices().take_while(|(offset, _)| at + offset < place.range.end).count();
        Some(Self::cut(before, after, marked))
    }

    fn cut(before: &str, after: &str, marked: usize) -> Self {
        let too_long = |text: &str, chars: usize| text.chars().nth(chars).is_some();
        let whole = !too_long(before, LINE_CHARS_MAX)
            && !too_long(after, LINE_CHARS_MAX - before.chars().count());
        let mut line = Line::default();
        let (skipped, room) = if whole {
            (before, LINE_CHARS_MAX)
        } else {
            (tail(before, CHARS_BEFORE), LINE_CHARS_MAX - CHARS_BEFORE)
        };
        if skipped.len() < before.len() {
            line.push('…');
        }
        skipped.chars().for_each(|letter| line.push(letter));
        let indent = line.columns;
        let shown = marked.min(room);
        after.chars().take(shown).for_each(|letter| line.push(letter));
        let carets = (line.columns - indent).max(1);
        after.chars().skip(shown).take(room - shown).for_each(|letter| line.push(letter));
        if too_long(after, room) {
            line.push('…');
        }
        Self { line: line.text, indent, carets }
    }
}

/// The last `chars` characters.
fn tail(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1));
    start.map_or(text, |(at, _)| &text[at..])
}

/// A line that knows its width.
#[derive(Default)]
struct Line {
    text: String,
    columns: usize,
}

impl Line {
    fn push(&mut self, letter: char) {
        let mut buffer = [0; 4];
        let shown = match letter {
            '\t' => "    ".into(),
            letter => visible(letter.encode_utf8(&mut buffer)),
        };
        self.columns += shown.chars().map(width).sum::<usize>();
        self.text.push_str(&shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(before: &str, after: &str, marked: usize) -> String {
        let snippet = Snippet::cut(before, after, marked);
        let carets = "^".repeat(snippet.carets);
        format!("{}\n{}{carets}", snippet.line, " ".repeat(snippet.indent))
    }

    #[test]
    fn carets_stand_under_wide_tabbed_and_hostile_text() {
        assert_eq!(drawn("a: ", "日本 x", 2), "a: 日本 x\n   ^^^^");
        assert_eq!(drawn("\ta: ", "b", 1), "    a: b\n       ^");
        assert_eq!(drawn("\x1b[2J", "b\x1bc", 3), "␛[2Jb␛c\n    ^^^");
        assert_eq!(drawn("abc", "", 0), "abc\n   ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let long = "x".repeat(1_000_000);
        assert_eq!(
            drawn(&long, &format!("bad{long}"), 3),
            format!("…{}bad{}…\n{}^^^", "x".repeat(40), "x".repeat(77), " ".repeat(41))
        );
        assert_eq!(drawn("", &long, 1_000_000), format!("{}…\n{}", "x".repeat(80), "^".repeat(80)));
    }
}
