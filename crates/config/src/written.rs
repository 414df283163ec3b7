//! Finds the places of a text value's parts in its file.
//!
//! YAML has many ways to write one text: plain, in quotes with escapes, in blocks that are indented
//! and folded. All of them keep the characters other than blanks, in order. So this reader walks
//! through the value and the file in parallel, skips blanks in both, resolves escapes, and requires
//! every other character to be equal. At the first difference no place is certain any more, and
//! none is returned.

use std::ops::Range;

use super::FilePlace;

/// A value and its text in the file, read from the beginning. Ask for parts in order.
pub(super) struct WrittenText<'a> {
    value: &'a str,
    file: &'a str,
    style: Style,
    /// How much of the value has been read.
    passed: usize,
    /// The position in the file.
    at: usize,
    line: u32,
    column: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
}

/// A character of the value as the file shows it.
struct WrittenCharacter {
    character: char,
    /// The bytes it takes in the file.
    length: usize,
}

impl<'a> WrittenText<'a> {
    /// The text that begins at `whole`; a block begins with its first line, not with its `|`.
    pub(super) fn new(whole: &FilePlace, file: &'a str, value: &'a str) -> Self {
        let start = whole.range.start;
        let written = Self {
            value,
            file,
            style: Style::Plain,
            passed: 0,
            at: if file.is_char_boundary(start) { start } else { file.len() },
            line: whole.line,
            column: whole.column,
        };
        match file.as_bytes().get(written.at) {
            // A block may begin with a quote, too; then the quote is part of its text.
            Some(b'\'') if !written.is_all_plain() => written.opened(Style::Single),
            Some(b'"') if !written.is_all_plain() => written.opened(Style::Double),
            _ => written,
        }
    }

    fn is_all_plain(&self) -> bool {
        let mut walked = Self { ..*self };
        while walked.passed < walked.value.len() {
            if walked.step().is_none() {
                return false;
            }
        }
        true
    }

    fn opened(self, style: Style) -> Self {
        Self { style, at: self.at + 1, column: self.column + 1, ..self }
    }

    /// The place of a part of the value; `None` if it is uncertain.
    pub(super) fn place(&mut self, part: &Range<usize>) -> Option<FilePlace> {
        while self.passed < part.start {
            self.step()?;
        }
        // Blanks in the file before a character of the value belong to no part.
        if self.value[part.start..].starts_with(|next: char| !next.is_whitespace()) {
            while self.next_character()?.character.is_whitespace() {
                self.pass_shown()?;
            }
        }
        let (line, column, start) = (self.line, self.column, self.at);
        while self.passed < part.end {
            self.step()?;
        }
        Some(FilePlace { line, column, range: start..self.at })
    }

    /// Passes one character of the value, and what shows it.
    fn step(&mut self) -> Option<()> {
        let wanted = self.value[self.passed..].chars().next()?;
        loop {
            let shown = self.next_character();
            match shown {
                Some(WrittenCharacter { character, .. }) if character == wanted => {
                    self.pass_shown()?;
                    break;
                }
                // A line end of the value may be absent in the file, and vice versa.
                _ if wanted.is_whitespace() => break,
                Some(WrittenCharacter { character, .. }) if character.is_whitespace() => {
                    self.pass_shown()?
                }
                _ => return None,
            }
        }
        self.passed += wanted.len_utf8();
        Some(())
    }

    /// The next character of the file; an escaped line end counts as a blank.
    fn next_character(&self) -> Option<WrittenCharacter> {
        let rest = &self.file[self.at..];
        let character = rest.chars().next()?;
        match (self.style, character) {
            (Style::Single, '\'') => {
                rest.starts_with("''").then_some(WrittenCharacter { character, length: 2 })
            }
            (Style::Double, '"') => None,
            (Style::Double, '\\') => escape(&rest[1..]),
            _ => Some(WrittenCharacter { character, length: character.len_utf8() }),
        }
    }

    fn pass_shown(&mut self) -> Option<()> {
        let end = self.at + self.next_character()?.length;
        for character in self.file[self.at..end].chars() {
            match character {
                '\n' => {
                    self.line += 1;
                    self.column = 1;
                }
                _ => self.column += 1,
            }
        }
        // Programs disagree on whether a lone carriage return ends a line.
        let is_clear = self.file[self.at..end] != *"\r" || self.file[end..].starts_with('\n');
        self.at = end;
        is_clear.then_some(())
    }
}

/// What follows a backslash in double quotes.
fn escape(rest: &str) -> Option<WrittenCharacter> {
    let letter = rest.chars().next()?;
    let short = |character| Some(WrittenCharacter { character, length: 1 + letter.len_utf8() });
    let coded = |digits: usize| {
        let number = u32::from_str_radix(rest.get(1..=digits)?, 16).ok()?;
        Some(WrittenCharacter { character: char::from_u32(number)?, length: 2 + digits })
    };
    match letter {
        '0' => short('\0'),
        'a' => short('\u{7}'),
        'b' => short('\u{8}'),
        't' => short('\t'),
        'n' => short('\n'),
        'v' => short('\u{b}'),
        'f' => short('\u{c}'),
        'r' => short('\r'),
        'e' => short('\u{1b}'),
        'N' => short('\u{85}'),
        '_' => short('\u{a0}'),
        'L' => short('\u{2028}'),
        'P' => short('\u{2029}'),
        ' ' | '\t' | '"' | '/' | '\\' | '\n' => short(letter),
        'x' => coded(2),
        'u' => coded(4),
        'U' => coded(8),
        _ => None,
    }
}
