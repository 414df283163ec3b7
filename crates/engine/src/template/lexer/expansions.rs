//! What begins with `$` or a backtick, and arithmetic.

use super::bare_names::NameSearch;
use super::commands::ListUntil;
use super::{
    Evaluation, LexError, LookupForm, MarkSubject, Quoting, ShellLexer, Trouble, is_name_byte,
};

impl ShellLexer<'_> {
    /// The expansion that begins with this `$`.
    pub(super) fn dollar(&mut self, quoting: Quoting) -> Result<(), LexError> {
        let start = self.pos;
        self.pos += 1;
        if self.pos == self.next.start {
            self.take_asked(Quoting::AfterDollar);
            return Ok(());
        }
        match self.peek(0) {
            b'(' if self.peek(1) == b'(' => {
                self.pos += 2;
                self.nested(Some(Evaluation::Arithmetic), |lexer| lexer.arithmetic(start, b')'))
            }
            b'(' => {
                self.pos += 1;
                self.nested(None, |lexer| lexer.substituted_list())?;
                self.note_substitution(start);
                Ok(())
            }
            b'{' => self.nested(None, |lexer| lexer.parameter(start, quoting)),
            b'[' => {
                self.pos += 1;
                self.nested(Some(Evaluation::Arithmetic), |lexer| lexer.arithmetic(start, b']'))
            }
            b'\'' if matches!(quoting, Quoting::Bare | Quoting::DoublePattern) => self.ansi_c(),
            b'"' if quoting == Quoting::Bare => self.double().map(|_| ()),
            // `$$`, `$1`, …: one character, unless a given range begins there.
            b'$' | b'?' | b'!' | b'#' | b'@' | b'*' | b'-' | b'0'..=b'9' => {
                self.pos += 1;
                Ok(())
            }
            _ => {
                let length = self.name_len(self.pos);
                let name = self.pos..self.pos + length;
                if length > 0 {
                    let subject = MarkSubject::Variable { name, form: LookupForm::Value };
                    self.mark(start..self.pos + length, subject, quoting);
                }
                self.pos += length;
                Ok(())
            }
        }
    }

    /// The commands of a substitution, after its opening parenthesis.
    pub(super) fn substituted_list(&mut self) -> Result<(), LexError> {
        self.list(ListUntil::Substitution).map(|_| ())
    }

    /// `` `…` ``. The shell removes backslashes before it reads the inside, so only text without
    /// them is taken literally.
    pub(super) fn backticks(&mut self) -> Result<(), LexError> {
        let open = self.pos;
        let mut close = open + 1;
        let mut has_backslash = false;
        loop {
            if close >= self.end {
                return self.fail(Trouble::Unterminated("`"), open);
            }
            match self.bytes[close] {
                b'`' => break,
                b'\\' => {
                    has_backslash = true;
                    close += 2;
                }
                _ => close += 1,
            }
        }
        self.pos = open + 1;
        if has_backslash {
            self.pass(close, Quoting::NestedBackticks);
        } else {
            let end = std::mem::replace(&mut self.end, close);
            self.nested(None, |lexer| lexer.list(ListUntil::End))?;
            self.end = end;
        }
        self.pos = close + 1;
        self.note_substitution(open);
        Ok(())
    }

    /// Arithmetic, after its opening at `open`: up to `))`, `]` or `}`.
    pub(super) fn arithmetic(&mut self, open: usize, close: u8) -> Result<(), LexError> {
        let mut depth = 0_usize;
        loop {
            if self.take_asked(Quoting::Bare) {
                continue;
            }
            if self.pos >= self.end {
                let opened = if close == b')' { "((" } else { "[" };
                return self.fail(Trouble::Unterminated(opened), open);
            }
            let byte = self.bytes[self.pos];
            if byte == close && depth == 0 {
                break;
            }
            match byte {
                b'(' | b'[' => {
                    depth += 1;
                    self.pos += 1;
                }
                b')' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.pos += 1;
                }
                b'\\' => self.backslash(),
                b'\'' => self.single(false).map(|_| ())?,
                b'"' => {
                    let quoted = self.pos;
                    self.double()?;
                    // Its quotes are removed before it is calculated.
                    if let Some(why) = self.evaluation {
                        self.search_names(quoted..self.pos, why, NameSearch::Everywhere);
                    }
                }
                b'`' => self.backticks()?,
                b'$' => self.dollar(Quoting::Double)?,
                _ if is_name_byte(byte) => self.arithmetic_name(),
                _ => self.pos += 1,
            }
        }
        self.pos += 1;
        if close == b')' {
            if self.peek(0) != b')' {
                return self.fail(Trouble::TwoParentheses, open);
            }
            self.pos += 1;
        }
        Ok(())
    }

    /// A number, or a variable's name, which needs no `$` in arithmetic.
    fn arithmetic_name(&mut self) {
        let length = self.name_len(self.pos);
        if length == 0 {
            while is_name_byte(self.peek(0)) || self.peek(0) == b'#' {
                self.pos += 1;
            }
            return;
        }
        let name = self.pos..self.pos + length;
        self.pos += length;
        let after: &[u8] = self.bytes[self.pos..self.end].trim_ascii_start();
        let operator = after.iter().take_while(|byte| b"+-*/%&|^<>=".contains(byte)).count();
        let assigns = match &after[..operator] {
            [b'='] | [b'+', b'+', ..] | [b'-', b'-', ..] => true,
            [b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^', b'=', ..] => true,
            [b'<', b'<', b'=', ..] | [b'>', b'>', b'=', ..] => true,
            // `x=-1`
            [b'=', b'-' | b'+'] => true,
            _ => false,
        };
        if assigns {
            self.set.push(name.clone());
        }
        // The key of an associative array is not a variable, and looks the same.
        let in_subscript = self.evaluation == Some(Evaluation::Subscript);
        let form = if in_subscript { LookupForm::Bare } else { LookupForm::Value };
        let subject = MarkSubject::Variable { name: name.clone(), form };
        self.mark(name, subject, Quoting::Bare);
    }

    /// The inside of `a[…]`, after its bracket.
    pub(super) fn subscript(&mut self) -> Result<(), LexError> {
        self.arithmetic(self.pos - 1, b']')
    }
}
