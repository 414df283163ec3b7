//! Here-documents: the delimiter on the command's line, the body after it.

use super::words::{WordEnd, find};
use super::{LexError, Pending, Quoting, ShellLexer, Trouble};

impl ShellLexer<'_> {
    /// `<<word` or `<<-word`, at its beginning.
    pub(super) fn here_document(&mut self, start: usize) -> Result<(), LexError> {
        self.pos += 2;
        let strip_tabs = self.peek(0) == b'-';
        self.pos += usize::from(strip_tabs);
        while matches!(self.peek(0), b' ' | b'\t') {
            self.pos += 1;
        }
        let word = self.word(WordEnd::Argument)?;
        match self.literal(&word) {
            Some(delimiter) if !word.at.is_empty() && !delimiter.contains('\n') => {
                let delimiter = delimiter.into_owned();
                let at = start..word.at.end;
                let quoted = word.quoted;
                self.pending.push(Pending { at, delimiter, quoted, strip_tabs, evaluation: None });
                Ok(())
            }
            _ => self.fail(Trouble::Unexpected, word.at.start),
        }
    }

    /// A line end, and the bodies that begin after it. Shells disagree where the body for a line
    /// outside this substitution is.
    pub(super) fn line_end(&mut self) -> Result<(), LexError> {
        self.pos += 1;
        if self.pending_outer > 0 {
            return self.fail_pending();
        }
        for pending in std::mem::take(&mut self.pending) {
            self.body(&pending)?;
        }
        Ok(())
    }

    pub(super) fn fail_pending<T>(&self) -> Result<T, LexError> {
        let at = self.pending.first().map_or(self.pos..self.pos, |first| first.at.clone());
        Err(LexError { trouble: Trouble::HereDocument, at })
    }

    fn body(&mut self, pending: &Pending) -> Result<(), LexError> {
        let mut line = self.pos;
        let mut continued = false;
        let (end, after) = loop {
            if line >= self.end {
                return Err(LexError {
                    trouble: Trouble::Unterminated("<<"),
                    at: pending.at.clone(),
                });
            }
            let rest = &self.bytes[line..self.end];
            let length = find(rest, b'\n').unwrap_or(rest.len());
            let text = &rest[..length];
            let tabs = text.iter().take_while(|byte| **byte == b'\t').count();
            let stripped = if pending.strip_tabs { &text[tabs..] } else { text };
            if !continued && stripped == pending.delimiter.as_bytes() {
                break (line, (line + length + 1).min(self.end));
            }
            let backslashes = text.iter().rev().take_while(|byte| **byte == b'\\').count();
            continued = !pending.quoted && backslashes % 2 == 1;
            line += length + 1;
        };
        if pending.quoted {
            self.pass(end, Quoting::QuotedHereDocument);
        } else {
            let outer = std::mem::replace(&mut self.end, end);
            let marks = self.marks.len();
            self.nested(pending.evaluation, Self::expanded_body)?;
            self.feed(marks);
            self.end = outer;
        }
        self.pos = after;
        Ok(())
    }

    fn expanded_body(&mut self) -> Result<(), LexError> {
        self.splits = false;
        loop {
            if self.take_asked(Quoting::HereDocument) {
                continue;
            }
            if self.pos >= self.end {
                return Ok(());
            }
            match self.bytes[self.pos] {
                b'\\' => self.backslash(),
                b'$' => self.dollar(Quoting::HereDocument)?,
                b'`' => self.backticks()?,
                _ => self.pos += 1,
            }
        }
    }
}
