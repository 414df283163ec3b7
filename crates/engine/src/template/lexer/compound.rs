//! Reserved words, and the items between `case` and `esac`.

use super::commands::{CommandShape, LexedCommand, ListEnd, ListUntil, Pipeline};
use super::words::WordEnd;
use super::{CommandWord, LexError, ShellLexer, Trouble};

/// Whether a word is reserved.
pub(super) enum Reserved {
    No,
    Yes,
    Esac,
}

impl ShellLexer<'_> {
    /// Handles the first word of a command if it is reserved.
    pub(super) fn reserved(
        &mut self,
        command: &mut LexedCommand,
        compounds: &mut Vec<Pipeline>,
        until: ListUntil,
        word: &CommandWord,
    ) -> Result<Reserved, LexError> {
        match &self.text[word.at.clone()] {
            "-p" | "--" if command.shape == CommandShape::Timed => {}
            "!" | "then" | "elif" | "else" | "do" => {}
            "{" | "if" | "while" | "until" => compounds.push(command.pipeline()),
            "}" | "fi" | "done" => {
                if let Some(pipeline) = compounds.pop() {
                    command.continue_pipeline(pipeline);
                }
            }
            "time" => command.shape = CommandShape::Timed,
            "for" | "select" => {
                compounds.push(command.pipeline());
                command.shape = CommandShape::For;
            }
            "case" => command.shape = CommandShape::Case,
            "function" => command.shape = CommandShape::Function,
            "esac" if until == ListUntil::CaseItem => return Ok(Reserved::Esac),
            "[[" => self.nested(None, |lexer| lexer.conditional(word.at.start))?,
            // What follows determines whether its word is a name or a command.
            "coproc" | "esac" => return self.fail(Trouble::Unexpected, word.at.start),
            _ => return Ok(Reserved::No),
        }
        Ok(Reserved::Yes)
    }

    /// The items between `in` and `esac`.
    pub(super) fn case_items(&mut self, open: usize) -> Result<(), LexError> {
        loop {
            self.blanks_and_lines()?;
            if self.peek(0) == b'(' {
                self.pos += 1;
                self.blanks_and_lines()?;
            }
            loop {
                self.splits = false;
                let pattern = self.word(WordEnd::Argument)?;
                let text = &self.text[pattern.at.clone()];
                if text == "esac"
                    && matches!(
                        self.bytes[open..pattern.at.start].last(),
                        Some(b' ' | b'\t' | b'\n' | b';' | b'&')
                    )
                {
                    return Ok(());
                }
                self.blanks_and_lines()?;
                match self.peek(0) {
                    b'|' => self.pos += 1,
                    b')' if !pattern.at.is_empty() => break,
                    _ if self.pos >= self.end => {
                        return self.fail(Trouble::Unterminated("case"), open);
                    }
                    _ => return self.fail(Trouble::Unexpected, self.pos),
                }
                self.blanks_and_lines()?;
            }
            self.pos += 1;
            let ended = self.nested(None, |lexer| lexer.list(ListUntil::CaseItem))?;
            if ended == ListEnd::Esac {
                return Ok(());
            }
        }
    }
}
