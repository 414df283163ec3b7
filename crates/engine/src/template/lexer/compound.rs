//! Reserved words, and what stands between `case` and `esac`.

use super::commands::{Command, Ended, Pipeline, Shape, Until};
use super::words::Kind;
use super::{LexError, Lexer, Trouble, Word};

/// Whether a word is reserved.
pub(super) enum Reserved {
    No,
    Yes,
    Esac,
}

impl Lexer<'_> {
    /// The first word of a command, if it is reserved.
    pub(super) fn reserved(
        &mut self,
        command: &mut Command,
        compounds: &mut Vec<Pipeline>,
        until: Until,
        word: &Word,
    ) -> Result<Reserved, LexError> {
        match &self.text[word.at.clone()] {
            "-p" | "--" if command.shape == Shape::Timed => {}
            "!" | "then" | "elif" | "else" | "do" => {}
            "{" | "if" | "while" | "until" => compounds.push(command.pipeline()),
            "}" | "fi" | "done" => {
                if let Some(pipeline) = compounds.pop() {
                    command.continue_pipeline(pipeline);
                }
            }
            "time" => command.shape = Shape::Timed,
            "for" | "select" => {
                compounds.push(command.pipeline());
                command.shape = Shape::For;
            }
            "case" => command.shape = Shape::Case,
            "function" => command.shape = Shape::Function,
            "esac" if until == Until::CaseItem => return Ok(Reserved::Esac),
            "[[" => self.nested(None, |lexer| lexer.conditional(word.at.start))?,
            // Its word may be a name or a command, by what follows.
            "coproc" | "esac" => return self.fail(Trouble::Unexpected, word.at.start),
            _ => return Ok(Reserved::No),
        }
        Ok(Reserved::Yes)
    }

    /// What stands between `in` and `esac`.
    pub(super) fn case_items(&mut self, open: usize) -> Result<(), LexError> {
        loop {
            self.blanks_and_lines()?;
            if self.peek(0) == b'(' {
                self.pos += 1;
                self.blanks_and_lines()?;
            }
            loop {
                self.splits = false;
                let pattern = self.word(Kind::Argument)?;
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
            let ended = self.nested(None, |lexer| lexer.list(Until::CaseItem))?;
            if ended == Ended::Esac {
                return Ok(());
            }
        }
    }
}
