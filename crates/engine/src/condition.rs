//! [`Condition`]: the `when:` of a hook, parsed once and asked at every event.
//!
//! A condition only looks: it runs no code and takes bounded time and memory. Parsing, with every
//! fault's place, is in `condition/parse.rs`; how values compare is in `condition/evaluate.rs`.
//!
//! From loose to tight, the operators are
//!
//! | operators | |
//! |---|---|
//! | `\|\|` | the right side is asked only when the left is false |
//! | `&&` | the right side is asked only when the left is true |
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
    /// The condition that `text` says. `known` tells whether a variable's name exists, and `names`
    /// lists the names that a misspelt one may have meant.
    pub fn parse(
        text: &str,
        known: &dyn Fn(&str) -> bool,
        names: &dyn Fn() -> Vec<String>,
    ) -> Result<Self, ConditionError> {
        let (root, variables) = parse::parse(text, known, names)?;
        Ok(Self { source: text.into(), root, variables })
    }

    /// Whether it holds for these values.
    pub fn holds(&self, values: &dyn Values) -> Result<bool, EvaluateError> {
        evaluate::truth(&self.root, values)
    }

    /// The text it was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The variables it uses, each once, without their paths.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(AsRef::as_ref)
    }
}

/// What the variables of a condition are worth at one event.
pub trait Values {
    /// The variable's value; `None` counts as empty text.
    fn value(&self, name: &str) -> Option<Cow<'_, Value>>;
}

/// Why a text is no condition, and where. Ranges are bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// There is nothing but spaces.
    #[error("the condition is empty")]
    Empty {
        /// All of the text.
        at: Range<usize>,
    },
    /// A variable that neither Hookwright nor the environment has.
    #[error("unknown variable `{name}`")]
    UnknownVariable {
        /// The name, without its path.
        name: String,
        /// Where the name stands.
        at: Range<usize>,
        /// The known name that looks most like it.
        nearest: Option<String>,
    },
    /// Something stands where something else has to.
    #[error("expected {expected} but found {}", found_text(found))]
    Unexpected {
        /// What could stand here.
        expected: Cow<'static, str>,
        /// What does; empty at the end of the text.
        found: String,
        /// Where it stands.
        at: Range<usize>,
    },
    /// A quote that is never closed.
    #[error("the string that begins here has no closing quote")]
    UnterminatedString {
        /// From the quote to the end.
        at: Range<usize>,
    },
    /// What `matches` is given is no regular expression, or too large a one.
    #[error("`{pattern}` is not a valid regular expression: {cause}")]
    BadRegex {
        /// The pattern, without its quotes.
        pattern: String,
        /// What is wrong with it.
        cause: String,
        /// Where it stands, with its quotes.
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
        /// What opens one level too many.
        at: Range<usize>,
    },
}

impl ConditionError {
    /// Where in the text the fault is.
    pub fn at(&self) -> Range<usize> {
        match self {
            Self::Empty { at }
            | Self::UnknownVariable { at, .. }
            | Self::Unexpected { at, .. }
            | Self::UnterminatedString { at }
            | Self::BadRegex { at, .. }
            | Self::TooDeep { at } => at.clone(),
            // The whole of it; the end may lie within a character.
            Self::TooLong { .. } => 0..0,
        }
    }
}

fn found_text(found: &str) -> Cow<'static, str> {
    if found.is_empty() { "the end".into() } else { format!("`{found}`").into() }
}

/// Why a condition has no answer for the values it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// Something to calculate with is no number.
    #[error("`{operator}` needs a number but {operand}")]
    NotANumber {
        /// What wanted a number.
        operator: &'static str,
        /// What it was given; boxed, since every step of an evaluation returns this type.
        operand: Box<Operand>,
    },
    /// The right side of `in` has no items.
    #[error("`in` needs a list but {operand}")]
    NotAList {
        /// What it was given.
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
    /// The variable it came from, as written and without `${}`; `None` for a literal or a result.
    pub variable: Option<String>,
    /// Its text, shortened.
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
