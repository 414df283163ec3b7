//! Parameter expansion: `${x}`, `${x:-word}`, `${x#pattern}`, `${x:1:2}`, `${a[i]}`.

use super::{Evaluation, LexError, LookupForm, MarkSubject, Quoting, ShellLexer, Trouble};

impl ShellLexer<'_> {
    /// `${…}`, at its brace.
    pub(super) fn parameter(&mut self, start: usize, quoting: Quoting) -> Result<(), LexError> {
        self.pos += 1;
        let mut form = LookupForm::Value;
        if self.peek(0) == b'#' && !matches!(self.peek(1), b'}' | b'-' | b':' | b'+' | b'?' | b'=')
        {
            form = LookupForm::Measured;
            self.pos += 1;
        } else if self.peek(0) == b'!' && (self.name_len(self.pos + 1) > 0) {
            form = LookupForm::Evaluated;
            self.evaluates = true;
            self.pos += 1;
        }
        if self.take_asked(Quoting::ParameterName) {
            return self.rest(start, Quoting::ParameterName).map(|_| ());
        }
        let name = self.pos..self.pos + self.name_len(self.pos);
        self.pos = name.end;
        if name.is_empty() {
            match self.peek(0) {
                b'0'..=b'9' => {
                    while self.peek(0).is_ascii_digit() {
                        self.pos += 1;
                    }
                }
                b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => self.pos += 1,
                _ => return self.fail(Trouble::Unexpected, start),
            }
        }
        // Marks are in the order of the text, so this comes before those in its word.
        let marked = self.marks.len();
        if !name.is_empty() {
            let subject = MarkSubject::Variable { name: name.clone(), form };
            self.mark(start..name.end, subject, quoting);
        }
        if self.is_unwritten && !name.is_empty() {
            self.path();
        }
        if self.peek(0) == b'[' {
            self.pos += 1;
            self.nested(Some(Evaluation::Subscript), |lexer| lexer.subscript())?;
        }
        let operator = self.peek(0);
        let colon = operator == b':';
        match if colon { self.peek(1) } else { operator } {
            b'}' if !colon => {
                self.pos += 1;
                return Ok(());
            }
            first @ (b'-' | b'=' | b'+' | b'?') => {
                self.pos += 1 + usize::from(colon);
                if first == b'=' && !name.is_empty() {
                    self.set.push(name.clone());
                }
                let form = if first == b'+' { LookupForm::Measured } else { LookupForm::Defaulted };
                self.reform(marked, form);
                let word = self.pos;
                let inside = self.marks.len();
                let has_blanks = self.rest(start, default_quoting(quoting))?;
                if quoting == Quoting::Bare {
                    self.marks[inside..].iter_mut().for_each(|mark| mark.place.in_default = true);
                }
                if has_blanks && quoting == Quoting::Bare && self.splits {
                    // `${v:-eval @}` may be a whole command with unknown words.
                    self.dispute(inside);
                }
                if first == b'=' && !name.is_empty() {
                    self.assign(name, word..self.pos);
                }
                return Ok(());
            }
            _ => {}
        }
        match operator {
            b':' => {
                self.pos += 1;
                self.nested(Some(Evaluation::Arithmetic), |lexer| lexer.arithmetic(start, b'}'))
            }
            b'#' | b'%' | b'^' | b',' => {
                self.pos += 1;
                if self.peek(0) == operator {
                    self.pos += 1;
                }
                self.rest(start, pattern_quoting(quoting)).map(|_| ())
            }
            b'/' => {
                self.pos += 1;
                self.substitution(start, quoting)
            }
            b'@' | b'*' if form == LookupForm::Evaluated && self.peek(1) == b'}' => {
                // `${!prefix*}` lists names and evaluates nothing.
                self.reform(marked, LookupForm::Measured);
                self.pos += 2;
                Ok(())
            }
            b'@' if self.peek(1).is_ascii_alphabetic() && self.peek(2) == b'}' => {
                if self.peek(1) == b'P' {
                    self.evaluates = true;
                    self.reform(marked, LookupForm::Evaluated);
                }
                self.pos += 3;
                Ok(())
            }
            _ if self.pos == self.next.start => {
                self.rest(start, Quoting::ParameterName).map(|_| ())
            }
            _ if self.pos >= self.end => self.fail(Trouble::Unterminated("${"), start),
            _ => self.fail(Trouble::Unexpected, start),
        }
    }

    /// `.b` of `${A.b}`. The shell never sees it: the reference is replaced before.
    fn path(&mut self) {
        let is_path = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let rest = &self.bytes[self.pos..self.end];
        let length = rest.iter().take_while(|byte| is_path(byte)).count();
        if rest.first() == Some(&b'.') && rest.get(length) == Some(&b'}') {
            self.pos += length;
        }
    }

    /// `${x/pattern/replacement}`: quotes do not keep a replacement from being split, and within
    /// double quotes some shells leave them in the replacement.
    fn substitution(&mut self, start: usize, quoting: Quoting) -> Result<(), LexError> {
        let first = self.marks.len();
        self.rest(start, if quoting == Quoting::Bare { quoting } else { Quoting::Disputed })?;
        self.dispute(first);
        Ok(())
    }

    /// Notes that shells disagree about the given ranges since `first`.
    fn dispute(&mut self, first: usize) {
        for mark in &mut self.marks[first..] {
            if mark.subject == MarkSubject::Asked {
                mark.place.quoting = Quoting::Disputed;
            }
        }
    }

    /// Changes the lookup form of the variable just marked. `${!x:-…}` stays unchanged.
    fn reform(&mut self, marked: usize, new: LookupForm) {
        if let Some(mark) = self.marks.get_mut(marked)
            && let MarkSubject::Variable {
                form: form @ (LookupForm::Value | LookupForm::Measured),
                ..
            } = &mut mark.subject
        {
            *form = new;
        } else if new == LookupForm::Measured
            && let Some(mark) = self.marks.get_mut(marked)
            && let MarkSubject::Variable { form, .. } = &mut mark.subject
        {
            *form = new;
        }
    }

    /// The word of an expansion up to its closing brace. Returns whether it contains blanks outside
    /// quotes.
    fn rest(&mut self, start: usize, quoting: Quoting) -> Result<bool, LexError> {
        let mut has_blanks = false;
        let in_double = quoting == Quoting::Double || quoting == Quoting::HereDocument;
        loop {
            if self.take_asked(quoting) {
                continue;
            }
            if self.pos >= self.end {
                return self.fail(Trouble::Unterminated("${"), start);
            }
            match self.bytes[self.pos] {
                b'}' => break,
                b' ' | b'\t' | b'\n' => {
                    has_blanks = true;
                    self.pos += 1;
                }
                b'\\' => self.backslash(),
                b'\'' if in_double => self.pos += 1,
                b'\'' | b'"' if quoting == Quoting::Disputed => {
                    // Shells disagree whether this is a quote.
                    return self.fail(Trouble::Unexpected, self.pos);
                }
                b'\'' => self.single(true).map(|_| ())?,
                b'"' => self.double().map(|_| ())?,
                b'$' => self.dollar(quoting)?,
                b'`' => self.backticks()?,
                _ => self.pos += 1,
            }
        }
        self.pos += 1;
        Ok(has_blanks)
    }
}

fn default_quoting(outer: Quoting) -> Quoting {
    match outer {
        Quoting::Bare | Quoting::Double => outer,
        _ => Quoting::Disputed,
    }
}

fn pattern_quoting(outer: Quoting) -> Quoting {
    match outer {
        Quoting::Bare => outer,
        Quoting::Double => Quoting::DoublePattern,
        _ => Quoting::Disputed,
    }
}
