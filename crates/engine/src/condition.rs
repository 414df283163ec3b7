//! [`Condition`]: the `when:` of a hook, parsed once and evaluated at every event.
//!
//! A condition runs no code and takes bounded time and memory. Parsing, with the place of every
//! fault, is in `condition/parse.rs`; how values compare is in `condition/evaluate.rs`.
//!
//! The operators, from loose to tight:
//!
//! | operators | |
//! |---|---|
//! | `\|\|` | the right side is evaluated only if the left is false |
//! | `&&` | the right side is evaluated only if the left is true |
//! | `== != < <= > >=`, `in contains startsWith endsWith matches` | do not chain: `a == b == c` is a fault |
//! | `+ -` | numbers only |
//! | `* / %` | numbers only |
//! | `! -` before a value | as in C: `!${X} == 1` is `(!${X}) == 1`, so write `!(${X} == 1)` |

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use self::expression::Expression;
use crate::limits::{CONDITION_BYTES_MAX, CONDITION_DEPTH_MAX};

mod evaluate;
mod expression;
mod number;
mod parse;
#[cfg(test)]
mod tests;
mod token;

/// The `when:` of a hook, parsed and checked.
#[derive(Debug, Clone)]
pub struct Condition {
    source: Box<str>,
    root: Expression,
    variables: Vec<Box<str>>,
}

impl Condition {
    /// Parses a condition. `known` tells whether a variable exists; `names` lists the names to
    /// suggest for a misspelt one.
    pub fn parse(
        text: &str,
        known: &dyn Fn(&str) -> bool,
        names: &dyn Fn() -> Vec<String>,
    ) -> Result<Self, ConditionError> {
        let (root, variables) = parse::parse(text, known, names)?;
        Ok(Self { source: text.into(), root, variables })
    }

    /// Whether the condition is true for these values.
    pub fn holds(&self, values: &dyn Values) -> Result<bool, EvaluateError> {
        evaluate::truth(&self.root, values)
    }

    /// The text that it was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The variables that it uses, each once, without their paths.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(AsRef::as_ref)
    }
}

/// The values of a condition's variables at one event.
pub trait Values {
    /// The variable's value; `None` counts as empty text.
    fn value(&self, name: &str) -> Option<Cow<'_, Value>>;
}

/// Why a text is not a valid condition, and where. Ranges are bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The text is blank.
    #[error("the condition is empty")]
    Empty {
        /// The whole text.
        at: Range<usize>,
    },
    /// A variable that is neither built in nor in the environment.
    #[error("unknown variable `{name}`")]
    UnknownVariable {
        /// The variable's name, without its path.
        name: String,
        /// The range of the name.
        at: Range<usize>,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A token at the wrong place.
    #[error("expected {expected} but found {}", found_text(found))]
    Unexpected {
        /// What may be here instead.
        expected: Cow<'static, str>,
        /// The token; empty at the end of the text.
        found: String,
        /// The range of the token.
        at: Range<usize>,
    },
    /// A quote that is not closed.
    #[error("the string that begins here has no closing quote")]
    UnterminatedString {
        /// From the quote to the end.
        at: Range<usize>,
    },
    /// The operand of `matches` is not a regular expression, or is too large.
    #[error("`{pattern}` is not a valid regular expression: {cause}")]
    BadRegex {
        /// The pattern, without its quotes.
        pattern: String,
        /// The regex compiler's message.
        cause: String,
        /// The range of the pattern, with its quotes.
        at: Range<usize>,
    },
    /// The text is longer than [`CONDITION_BYTES_MAX`].
    #[error("the condition has {length} bytes, expected at most {CONDITION_BYTES_MAX}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// It nests deeper than [`CONDITION_DEPTH_MAX`].
    #[error("the condition nests deeper than {CONDITION_DEPTH_MAX} levels")]
    TooDeep {
        /// The token that opens one level too many.
        at: Range<usize>,
    },
}

impl ConditionError {
    /// The range of the fault in the text.
    pub fn at(&self) -> Range<usize> {
        match self {
            Self::Empty { at }
            | Self::UnknownVariable { at, .. }
            | Self::Unexpected { at, .. }
            | Self::UnterminatedString { at }
            | Self::BadRegex { at, .. }
            | Self::TooDeep { at } => at.clone(),
            // No range: the end may lie within a character.
            Self::TooLong { .. } => 0..0,
        }
    }
}

fn found_text(found: &str) -> Cow<'static, str> {
    if found.is_empty() { "the end".into() } else { format!("`{found}`").into() }
}

/// Why a condition cannot be evaluated for the given values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// An operand of arithmetic is not a number.
    #[error("`{operator}` needs a number but {operand}")]
    NotANumber {
        /// The operator that needs a number.
        operator: &'static str,
        /// The operand; boxed, since every step of an evaluation returns this type.
        operand: Box<Operand>,
    },
    /// The right side of `in` is not a list.
    #[error("`in` needs a list but {operand}")]
    NotAList {
        /// The right side.
        operand: Box<Operand>,
    },
    /// A division or remainder by zero.
    #[error("`{operator}` by zero")]
    DivisionByZero {
        /// `/` or `%`.
        operator: &'static str,
    },
}

/// A value that an operator could not use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// The variable that the value came from, as written but without `${}`; `None` for a literal or
    /// a result.
    pub variable: Option<String>,
    /// The value as text, shortened.
    pub value: String,
}

impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.variable, self.value.as_str()) {
            (Some(name), "") => write!(f, "`${{{name}}}` is empty"),
            (Some(name), value) => write!(f, "`${{{name}}}` is `{value}`"),
            (None, "") => write!(f, "found an empty string"),
            (None, value) => write!(f, "found `{value}`"),
        }
    }
}
