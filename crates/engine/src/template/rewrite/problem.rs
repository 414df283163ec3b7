//! Why a `{{x}}` is not allowed at its place, and what to write instead.

use std::fmt;
use std::ops::Range;

use crate::template::lexer::{Evaluation, LexError, Quoting};

/// Why a command with `{{x}}` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TemplateError {
    /// What is wrong.
    pub problem: Problem,
    /// The range in the text.
    pub at: Range<usize>,
}

/// What is wrong with a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The command can't be parsed, so no place in it is certain.
    #[error("this command can't be read: {0}")]
    Unreadable(LexError),
    /// A value is not allowed there.
    #[error("`{reference}` can't be used {}", standing(*quoting))]
    Misplaced {
        /// The reference as written.
        reference: String,
        /// How the shell reads the place.
        quoting: Quoting,
    },
    /// The shell would evaluate the value.
    #[error("the shell evaluates `{reference}` again {evaluation}, so a value could run commands")]
    EvaluatedAgain {
        /// The reference as written.
        reference: String,
        /// Why it would be evaluated.
        evaluation: Evaluation,
    },
    /// A list names the command: if it were empty, the next word would.
    #[error("`{reference}` is a list and can't name the command")]
    ListAsCommand {
        /// The reference as written.
        reference: String,
    },
}

/// What to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fix {
    /// `[ {{x}} -gt 3 ]`, `expr {{x}} + 1`
    TestOrExpr,
    /// `[ {{x}} -eq 3 ]`
    SingleBrackets,
    /// `case {{x}} in a) … ;; esac`
    FixedNames,
    /// `value={{x}}`, and then `"$value"`
    AssignFirst,
    /// `sh -c '… "$1" …' sh {{x}}`
    Argument,
    /// `<<EOF` rather than `<<'EOF'`
    UnquotedDelimiter,
    /// `"{{x}}"`
    DoubleQuotes,
    /// `$( … )`
    DollarBrackets,
    /// Move it out of the comment.
    NoComment,
    /// `\\{{x}}`
    DoubledBackslash,
    /// `\${{x}}`
    EscapedDollar,
    /// A command name before it.
    NamedCommand,
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TestOrExpr => "compare with `[ {{x}} -gt 3 ]`, calculate with `expr {{x}} + 1`",
            Self::SingleBrackets => "use single brackets: `[ {{x}} -eq 3 ]`",
            Self::FixedNames => "choose among names you write: `case {{x}} in a) … ;; esac`",
            Self::AssignFirst => {
                "assign it first: `value={{x}}`, and name it there in single quotes: `'\"$value\"'`"
            }
            Self::Argument => "pass it as an argument: `sh -c '… \"$1\" …' sh {{x}}`",
            Self::UnquotedDelimiter => "write the delimiter without quotes: `<<EOF`",
            Self::DoubleQuotes => "use double quotes: `\"{{x}}\"`",
            Self::DollarBrackets => "use `$( … )` instead of backticks",
            Self::NoComment => "take it out of the comment",
            Self::DoubledBackslash => "double the backslash: `\\\\{{x}}`",
            Self::EscapedDollar => "escape the dollar: `\\${{x}}`",
            Self::NamedCommand => "name the command before the list",
        })
    }
}

impl Problem {
    /// What to write instead, if known.
    pub fn fix(&self) -> Option<Fix> {
        Some(match self {
            Self::Unreadable(_) => return None,
            Self::ListAsCommand { .. } => Fix::NamedCommand,
            Self::EvaluatedAgain { evaluation, .. } => match evaluation {
                Evaluation::Arithmetic | Evaluation::Let => Fix::TestOrExpr,
                Evaluation::NumericTest => Fix::SingleBrackets,
                Evaluation::Subscript | Evaluation::VariableName => Fix::FixedNames,
                Evaluation::Declaration | Evaluation::Eval | Evaluation::Trap => Fix::AssignFirst,
                Evaluation::Program => Fix::Argument,
            },
            Self::Misplaced { quoting, .. } => match quoting {
                Quoting::AnsiC => Fix::DoubleQuotes,
                Quoting::QuotedHereDocument => Fix::UnquotedDelimiter,
                Quoting::Comment => Fix::NoComment,
                Quoting::NestedBackticks => Fix::DollarBrackets,
                Quoting::Escaped => Fix::DoubledBackslash,
                Quoting::AfterDollar => Fix::EscapedDollar,
                Quoting::ParameterName => Fix::FixedNames,
                Quoting::Disputed
                | Quoting::Bare
                | Quoting::Single
                | Quoting::Double
                | Quoting::DoublePattern
                | Quoting::HereDocument => Fix::AssignFirst,
            },
        })
    }
}

fn standing(quoting: Quoting) -> &'static str {
    match quoting {
        Quoting::AnsiC => "in `$'…'`",
        Quoting::QuotedHereDocument => "in a here-document whose delimiter is quoted",
        Quoting::Comment => "in a comment",
        Quoting::NestedBackticks => "in backticks that hold backslashes",
        Quoting::Escaped => "after a backslash",
        Quoting::AfterDollar => "after a `$`",
        Quoting::ParameterName => "where `${…}` has its name",
        Quoting::Disputed => "in this expansion, which shells read differently",
        Quoting::Bare
        | Quoting::Single
        | Quoting::Double
        | Quoting::DoublePattern
        | Quoting::HereDocument => "here",
    }
}
