//! [`Expression`]: a condition as a tree.
//!
//! Chains (`a && b && c`, `1 + 2 - 3`) are one flat node, so only explicit nesting is nested in
//! memory. The tree is never deeper than `CONDITION_DEPTH_MAX` times the levels of precedence,
//! whatever its length, and walking or dropping it can't exhaust the stack.

use regex::Regex;

use super::number::Number;

/// A condition or a part of one.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    Bool(bool),
    Number(Number),
    Text(Box<str>),
    List(Vec<Expression>),
    Variable {
        name: Box<str>,
        path: Vec<Box<str>>,
    },
    Not(Box<Expression>),
    Negate(Box<Expression>),
    /// `||`: at least two.
    Any(Vec<Expression>),
    /// `&&`: at least two.
    All(Vec<Expression>),
    Compare {
        left: Box<Expression>,
        comparison: Comparison,
        right: Box<Expression>,
    },
    /// The right side is a list or a variable.
    In {
        item: Box<Expression>,
        list: Box<Expression>,
    },
    Contains {
        whole: Box<Expression>,
        part: Box<Expression>,
    },
    StartsWith {
        whole: Box<Expression>,
        part: Box<Expression>,
    },
    EndsWith {
        whole: Box<Expression>,
        part: Box<Expression>,
    },
    Matches {
        text: Box<Expression>,
        regex: Regex,
    },
    /// Applied from left to right, whatever their precedence: `(1 + 2) * 3` is one of these.
    Calculate {
        first: Box<Expression>,
        rest: Vec<(Calculation, Expression)>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calculation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Calculation {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}
