//! `[[ … ]]`.

use super::bare_names::NameSearch;
use super::words::WordEnd;
use super::{Evaluation, LexError, Quoting, ShellLexer, Trouble};

impl ShellLexer<'_> {
    /// After `[[`, through `]]`.
    pub(super) fn conditional(&mut self, open: usize) -> Result<(), LexError> {
        let words = self.words.len();
        let marks = self.marks.len();
        self.splits = false;
        loop {
            self.blanks_and_lines()?;
            if self.pos >= self.end {
                return self.fail(Trouble::Unterminated("[["), open);
            }
            let is_match =
                self.words[words..].last().is_some_and(|word| &self.text[word.at.clone()] == "=~");
            if is_match {
                self.regular_expression()?;
                // What follows is no longer beside the operator.
                self.words.truncate(words);
                continue;
            }
            match self.peek(0) {
                _ if self.pos == self.next.start => {}
                b'(' | b')' | b'<' | b'>' | b'&' | b'|' => {
                    self.pos += 1;
                    continue;
                }
                b';' => return self.fail(Trouble::Unexpected, self.pos),
                _ => {}
            }
            let word = self.word(WordEnd::Conditional)?;
            if &self.text[word.at.clone()] == "]]" {
                break;
            }
            self.words.push(word);
        }
        for at in words..self.words.len() {
            let operator = &self.text[self.words[at].at.clone()];
            match operator {
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    let before = (at > words).then(|| self.words[at - 1].at.clone());
                    let after = self.words.get(at + 1).map(|word| word.at.clone());
                    for operand in before.into_iter().chain(after) {
                        self.evaluate(marks, &operand, Evaluation::NumericTest);
                        self.search_names(operand, Evaluation::NumericTest, NameSearch::Everywhere);
                    }
                }
                "-v" | "-R" => {
                    if let Some(after) = self.words.get(at + 1).map(|word| word.at.clone()) {
                        self.evaluate(marks, &after, Evaluation::VariableName);
                        self.search_names(after, Evaluation::Subscript, NameSearch::InBrackets);
                    }
                }
                _ => {}
            }
        }
        self.words.truncate(words);
        Ok(())
    }

    /// The word after `=~`, which may contain blanks between brackets.
    fn regular_expression(&mut self) -> Result<(), LexError> {
        let start = self.pos;
        let mut depth = 0_usize;
        loop {
            if self.take_asked(Quoting::Bare) {
                continue;
            }
            match self.peek(0) {
                _ if self.pos >= self.end => return self.fail(Trouble::Unterminated("[["), start),
                b' ' | b'\t' | b'\n' | b'&' | b';' | b'<' | b'>' if depth == 0 => break,
                b'(' => {
                    depth += 1;
                    self.pos += 1;
                }
                b')' if depth == 0 => break,
                b')' => {
                    depth -= 1;
                    self.pos += 1;
                }
                b'\\' => self.backslash(),
                b'\'' => self.single(true).map(|_| ())?,
                b'"' => self.double().map(|_| ())?,
                b'`' => self.backticks()?,
                b'$' => self.dollar(Quoting::Bare)?,
                _ => self.pos += 1,
            }
        }
        if self.pos == start { self.fail(Trouble::Unexpected, start) } else { Ok(()) }
    }
}
