//! Words and quotes.

use super::following::Attribute;
use super::{
    CommandWord, Evaluation, LexError, LookupForm, MarkSubject, Quoting, ShellLexer, Trouble,
    is_name,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordEnd {
    /// An argument.
    Argument,
    /// A word that is an assignment if it begins with `name=`.
    Assignable,
    /// A word within `[[ … ]]`.
    Conditional,
    /// An element of `a=( … )`: `[key]=value`.
    Element,
}

impl ShellLexer<'_> {
    /// The word that begins here. Its range is empty at an operator.
    pub(super) fn word(&mut self, kind: WordEnd) -> Result<CommandWord, LexError> {
        let start = self.pos;
        let splits = self.splits;
        let mut word =
            CommandWord { at: start..start, is_static: true, quoted: false, name_end: None };
        // The end of the name of a possible assignment, subscript included.
        let mut target_end = None;
        // The end of the last literal character.
        let mut plain_end = start;
        loop {
            if self.take_asked(Quoting::Bare) {
                word.is_static = false;
                continue;
            }
            if self.pos >= self.end {
                break;
            }
            match self.bytes[self.pos] {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if kind != WordEnd::Conditional && self.peek(1) == b'(' => {
                    word.is_static = false;
                    self.writes_to_commands |= self.bytes[self.pos] == b'>';
                    let open = self.pos;
                    self.pos += 2;
                    self.nested(None, |lexer| lexer.substituted_list())?;
                    self.note_substitution(open);
                }
                b'<' | b'>' => break,
                b'(' => {
                    let before = self.pos.checked_sub(1).filter(|at| *at >= start);
                    let before = before.map_or(0, |at| self.bytes[at]);
                    if word.name_end.is_some() && before == b'=' {
                        word.is_static = false;
                        self.array()?;
                    } else if b"?*+@!".contains(&before) && plain_end == self.pos {
                        self.pattern_group()?;
                    } else {
                        break;
                    }
                }
                b'\\' => {
                    word.quoted = true;
                    self.backslash();
                }
                b'\'' => {
                    word.quoted = true;
                    word.is_static &= self.single(true)?;
                }
                b'"' => {
                    word.quoted = true;
                    word.is_static &= self.double()?;
                }
                b'`' => {
                    word.is_static = false;
                    self.backticks()?;
                }
                b'$' => {
                    if matches!(self.peek(1), b'\'' | b'"') {
                        word.quoted = true;
                    }
                    word.is_static = false;
                    self.dollar(Quoting::Bare)?;
                }
                b'[' if self.opens_subscript(kind, start) => {
                    let name = start..self.pos;
                    self.pos += 1;
                    self.nested(Some(Evaluation::Subscript), |lexer| lexer.subscript())?;
                    if kind == WordEnd::Assignable {
                        self.attribute(name.clone(), Attribute::Array);
                    }
                    target_end = Some((name.end, self.pos));
                }
                b'=' if kind != WordEnd::Argument
                    && kind != WordEnd::Conditional
                    && word.name_end.is_none() =>
                {
                    word.name_end = self.assignment_name(start, target_end);
                    if word.name_end.is_some() {
                        self.splits = kind == WordEnd::Element && self.splits;
                    }
                    self.pos += 1;
                }
                _ => {
                    self.pos += 1;
                    plain_end = self.pos;
                }
            }
        }
        self.splits = splits;
        word.at.end = self.pos;
        if let Some(name_end) = word.name_end.filter(|_| kind == WordEnd::Assignable) {
            let name = start..name_end;
            self.set.push(name.clone());
            self.assign(name, name_end..word.at.end);
        }
        Ok(word)
    }

    fn opens_subscript(&self, kind: WordEnd, start: usize) -> bool {
        match kind {
            WordEnd::Assignable => is_name(&self.bytes[start..self.pos]),
            WordEnd::Element => self.pos == start,
            WordEnd::Argument | WordEnd::Conditional => false,
        }
    }

    /// At the `=` of a word: the end of its name, if it is an assignment.
    fn assignment_name(&self, start: usize, subscript: Option<(usize, usize)>) -> Option<usize> {
        let plus = self.pos > start && self.bytes[self.pos - 1] == b'+';
        let target_end = self.pos - usize::from(plus);
        match subscript {
            Some((name_end, closed)) => (closed == target_end).then_some(name_end),
            None => is_name(&self.bytes[start..target_end]).then_some(target_end),
        }
    }

    /// `a=( … )`, at its bracket.
    fn array(&mut self) -> Result<(), LexError> {
        let open = self.pos;
        self.pos += 1;
        self.nested(None, |lexer| {
            lexer.splits = true;
            loop {
                lexer.blanks_and_lines()?;
                match lexer.peek(0) {
                    0 if lexer.pos >= lexer.end => {
                        return lexer.fail(Trouble::Unterminated("("), open);
                    }
                    b')' => break,
                    _ => {}
                }
                if lexer.word(WordEnd::Element)?.at.is_empty() {
                    return lexer.fail(Trouble::Unexpected, lexer.pos);
                }
            }
            lexer.pos += 1;
            Ok(())
        })
    }

    /// `@(a|b)` and the like, at the parenthesis.
    fn pattern_group(&mut self) -> Result<(), LexError> {
        let open = self.pos;
        self.pos += 1;
        self.nested(None, |lexer| {
            loop {
                lexer.word(WordEnd::Argument)?;
                match lexer.peek(0) {
                    b'|' | b' ' | b'\t' => lexer.pos += 1,
                    b')' => break,
                    _ if lexer.pos >= lexer.end => {
                        return lexer.fail(Trouble::Unterminated("("), open);
                    }
                    _ => return lexer.fail(Trouble::Unexpected, lexer.pos),
                }
            }
            lexer.pos += 1;
            Ok(())
        })
    }

    /// A backslash and the character that it escapes.
    pub(super) fn backslash(&mut self) {
        self.pos += 1;
        if !self.take_asked(Quoting::Escaped) && self.pos < self.end {
            self.pos += 1;
        }
    }

    /// `'…'`. Returns whether it contains no given range.
    pub(super) fn single(&mut self, look_for_variables: bool) -> Result<bool, LexError> {
        let open = self.pos;
        let inside = open + 1;
        let Some(length) = find(&self.bytes[inside..self.end], b'\'') else {
            return self.fail(Trouble::Unterminated("'"), open);
        };
        let close = inside + length;
        if self.is_unwritten && look_for_variables {
            self.literal_variables(inside, close);
        }
        let before = self.next.start;
        self.pass(close, Quoting::Single);
        self.pos += 1;
        Ok(before == self.next.start)
    }

    /// Marks text in single quotes that looks like variables.
    fn literal_variables(&mut self, from: usize, to: usize) {
        let mut at = from;
        while let Some(found) = find(&self.bytes[at..to], b'$') {
            let dollar = at + found;
            at = dollar + 1;
            let braced = usize::from(self.bytes[at] == b'{');
            let length = self.name_len(at + braced);
            if length > 0 {
                let name = at + braced..at + braced + length;
                at = name.end;
                let subject = MarkSubject::Variable { name, form: LookupForm::Value };
                self.mark(dollar..at, subject, Quoting::Single);
            }
        }
    }

    /// `"…"`. Returns whether it contains no expansion.
    pub(super) fn double(&mut self) -> Result<bool, LexError> {
        let open = self.pos;
        self.pos += 1;
        let mut is_static = true;
        loop {
            if self.take_asked(Quoting::Double) {
                is_static = false;
                continue;
            }
            if self.pos >= self.end {
                return self.fail(Trouble::Unterminated("\""), open);
            }
            match self.bytes[self.pos] {
                b'"' => break,
                b'\\' => self.backslash(),
                b'$' => {
                    is_static = false;
                    self.dollar(Quoting::Double)?;
                }
                b'`' => {
                    is_static = false;
                    self.backticks()?;
                }
                _ => self.pos += 1,
            }
        }
        self.pos += 1;
        Ok(is_static)
    }

    /// `$'…'`, at its quote.
    pub(super) fn ansi_c(&mut self) -> Result<(), LexError> {
        let open = self.pos;
        self.pos += 1;
        loop {
            if self.take_asked(Quoting::AnsiC) {
                continue;
            }
            match self.peek(0) {
                b'\'' => break,
                b'\\' => self.backslash(),
                _ if self.pos >= self.end => return self.fail(Trouble::Unterminated("$'"), open),
                _ => self.pos += 1,
            }
        }
        self.pos += 1;
        Ok(())
    }
}

/// The first index of `byte`.
pub(super) fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    bytes.iter().position(|found| *found == byte)
}
