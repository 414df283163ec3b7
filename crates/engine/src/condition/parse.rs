//! Parses a condition into an [`Expression`]: a Pratt parser that looks one token ahead. `token.rs`
//! reads the tokens.

use std::borrow::Cow;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::ConditionError;
use super::expression::{Calculation, Comparison, Expression};
use super::token::{ConditionLexer, ConditionToken, Placed};
use crate::limits::{CONDITION_BYTES_MAX, CONDITION_DEPTH_MAX, REGEX_BYTES_MAX};

/// Parses `text`. Returns the expression and the names of its variables.
pub(super) fn parse(
    text: &str,
    known: &dyn Fn(&str) -> bool,
    names: &dyn Fn() -> Vec<String>,
) -> Result<(Expression, Vec<Box<str>>), ConditionError> {
    if text.len() > CONDITION_BYTES_MAX {
        return Err(ConditionError::TooLong { length: text.len() });
    }
    if text.trim().is_empty() {
        return Err(ConditionError::Empty { at: 0..text.len() });
    }
    let mut lexer = ConditionLexer::new(text);
    let next = lexer.next()?;
    let mut parser = Parser { lexer, next, depth: 0, known, names, variables: Vec::new() };
    let root = parser.expression(0)?;
    if parser.next.token != ConditionToken::End {
        return Err(parser.no_operator("an operator"));
    }
    Ok((root, parser.variables))
}

struct Parser<'a> {
    lexer: ConditionLexer<'a>,
    next: Placed<'a>,
    depth: usize,
    known: &'a dyn Fn(&str) -> bool,
    names: &'a dyn Fn() -> Vec<String>,
    variables: Vec<Box<str>>,
}

/// The binding power of operators, loosest first.
mod power {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const COMPARISON: u8 = 3;
    pub(super) const SUM: u8 = 4;
    pub(super) const PRODUCT: u8 = 5;
}

#[derive(Clone, Copy)]
enum Operator {
    Or,
    And,
    Compare(Comparison),
    In,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    Calculate(Calculation),
}

impl Operator {
    fn read(token: &ConditionToken<'_>) -> Option<Self> {
        let (ConditionToken::Symbol(sign) | ConditionToken::Word(sign)) = token else {
            return None;
        };
        Some(match *sign {
            "||" => Self::Or,
            "&&" => Self::And,
            "==" => Self::Compare(Comparison::Equal),
            "!=" => Self::Compare(Comparison::NotEqual),
            "<" => Self::Compare(Comparison::Less),
            "<=" => Self::Compare(Comparison::LessOrEqual),
            ">" => Self::Compare(Comparison::Greater),
            ">=" => Self::Compare(Comparison::GreaterOrEqual),
            "in" => Self::In,
            "contains" => Self::Contains,
            "startsWith" => Self::StartsWith,
            "endsWith" => Self::EndsWith,
            "matches" => Self::Matches,
            "+" => Self::Calculate(Calculation::Add),
            "-" => Self::Calculate(Calculation::Subtract),
            "*" => Self::Calculate(Calculation::Multiply),
            "/" => Self::Calculate(Calculation::Divide),
            "%" => Self::Calculate(Calculation::Remainder),
            _ => return None,
        })
    }

    fn power(self) -> u8 {
        match self {
            Self::Or => power::OR,
            Self::And => power::AND,
            Self::Compare(_)
            | Self::In
            | Self::Contains
            | Self::StartsWith
            | Self::EndsWith
            | Self::Matches => power::COMPARISON,
            Self::Calculate(Calculation::Add | Calculation::Subtract) => power::SUM,
            Self::Calculate(
                Calculation::Multiply | Calculation::Divide | Calculation::Remainder,
            ) => power::PRODUCT,
        }
    }
}

impl<'a> Parser<'a> {
    /// An expression of operators that bind tighter than `power`.
    fn expression(&mut self, power: u8) -> Result<Expression, ConditionError> {
        let mut left = self.value()?;
        let mut compared = false;
        while let Some(operator) = Operator::read(&self.next.token) {
            if operator.power() <= power {
                break;
            }
            if operator.power() == power::COMPARISON && std::mem::replace(&mut compared, true) {
                return Err(self.unexpected("`&&`, `||` or parentheses between two comparisons"));
            }
            self.advance()?;
            left = self.with_right_side(left, operator)?;
        }
        Ok(left)
    }

    fn with_right_side(
        &mut self,
        left: Expression,
        operator: Operator,
    ) -> Result<Expression, ConditionError> {
        let start = self.next.at.start;
        let right = self.expression(operator.power())?;
        Ok(match operator {
            Operator::Or => match left {
                Expression::Any(mut all) => {
                    all.push(right);
                    Expression::Any(all)
                }
                left => Expression::Any(vec![left, right]),
            },
            Operator::And => match left {
                Expression::All(mut all) => {
                    all.push(right);
                    Expression::All(all)
                }
                left => Expression::All(vec![left, right]),
            },
            // Appending is correct for a left side in parentheses too: `(1 + 2) * 3` and `1 + 2 -
            // 3` are both calculated from left to right.
            Operator::Calculate(calculation) => match left {
                Expression::Calculate { first, mut rest } => {
                    rest.push((calculation, right));
                    Expression::Calculate { first, rest }
                }
                left => {
                    Expression::Calculate { first: left.into(), rest: vec![(calculation, right)] }
                }
            },
            Operator::Compare(comparison) => {
                Expression::Compare { left: left.into(), comparison, right: right.into() }
            }
            Operator::In => match right {
                Expression::List(_) | Expression::Variable { .. } => {
                    Expression::In { item: left.into(), list: right.into() }
                }
                _ => return Err(self.unexpected_since(start, "a list or a variable")),
            },
            Operator::Contains => Expression::Contains { whole: left.into(), part: right.into() },
            Operator::StartsWith => {
                Expression::StartsWith { whole: left.into(), part: right.into() }
            }
            Operator::EndsWith => Expression::EndsWith { whole: left.into(), part: right.into() },
            // Only a literal is allowed, so that it is compiled and checked once.
            Operator::Matches => match right {
                Expression::Text(pattern) => {
                    let regex = compile(&pattern, self.read_since(start))?;
                    Expression::Matches { text: left.into(), regex }
                }
                _ => return Err(self.unexpected_since(start, "a regular expression in quotes")),
            },
        })
    }

    /// A literal, a variable, a list, an expression in parentheses, or one of these after `!` or
    /// `-`.
    fn value(&mut self) -> Result<Expression, ConditionError> {
        if let ConditionToken::Symbol("(" | "[" | "!" | "-") = self.next.token {
            self.depth += 1;
            if self.depth > CONDITION_DEPTH_MAX {
                return Err(ConditionError::TooDeep { at: self.next.at.clone() });
            }
            let nested = self.nested();
            self.depth -= 1;
            return nested;
        }
        let expression = match &mut self.next.token {
            ConditionToken::Number(number) => Expression::Number(*number),
            ConditionToken::Text(text) => Expression::Text(std::mem::take(text)),
            ConditionToken::Word("true") => Expression::Bool(true),
            ConditionToken::Word("false") => Expression::Bool(false),
            ConditionToken::Variable { name, path } => {
                let (name, path) = (*name, std::mem::take(path));
                self.check_name(name)?;
                Expression::Variable { name: name.into(), path }
            }
            _ => return Err(self.no_value()),
        };
        self.advance()?;
        Ok(expression)
    }

    fn nested(&mut self) -> Result<Expression, ConditionError> {
        let opened = self.advance()?;
        match opened {
            ConditionToken::Symbol("!") => Ok(Expression::Not(self.value()?.into())),
            ConditionToken::Symbol("-") => Ok(match self.value()? {
                Expression::Number(number) => Expression::Number(number.negated()),
                value => Expression::Negate(value.into()),
            }),
            ConditionToken::Symbol("[") => self.list(),
            _ => {
                let expression = self.expression(0)?;
                if self.next.token != ConditionToken::Symbol(")") {
                    return Err(self.no_operator("an operator or `)`"));
                }
                self.advance()?;
                Ok(expression)
            }
        }
    }

    fn list(&mut self) -> Result<Expression, ConditionError> {
        let mut items = Vec::new();
        while self.next.token != ConditionToken::Symbol("]") {
            items.push(self.expression(0)?);
            match self.next.token {
                ConditionToken::Symbol(",") => {
                    self.advance()?;
                }
                ConditionToken::Symbol("]") => {}
                _ => return Err(self.no_operator("`,` or `]`")),
            }
        }
        self.advance()?;
        Ok(Expression::List(items))
    }

    /// Checks and notes the name of the next variable.
    fn check_name(&mut self, name: &'a str) -> Result<(), ConditionError> {
        if !(self.known)(name) {
            let start = self.next.at.start + "${".len();
            return Err(ConditionError::UnknownVariable {
                name: name.to_owned(),
                at: start..start + name.len(),
                nearest: nearest(name, (self.names)()),
            });
        }
        if !self.variables.iter().any(|seen| **seen == *name) {
            self.variables.push(name.into());
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<ConditionToken<'a>, ConditionError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next).token)
    }

    /// The error for a missing value. The likeliest cause is a forgotten `${}` or forgotten quotes.
    fn no_value(&self) -> ConditionError {
        match self.next.token {
            ConditionToken::Word("not") => self.unexpected("`!`"),
            ConditionToken::Word(word) if (self.known)(word) => {
                self.unexpected(format!("`${{{word}}}`"))
            }
            ConditionToken::Word(word) if !is_operator(word) => {
                self.unexpected(format!("`${{{word}}}` or text in quotes"))
            }
            _ => self.unexpected("a value"),
        }
    }

    /// The error for a missing operator or closing token.
    fn no_operator(&self, expected: &'static str) -> ConditionError {
        match self.next.token {
            ConditionToken::Symbol("=") => self.unexpected("`==`"),
            ConditionToken::Symbol("&") | ConditionToken::Word("and" | "AND") => {
                self.unexpected("`&&`")
            }
            ConditionToken::Symbol("|") | ConditionToken::Word("or" | "OR") => {
                self.unexpected("`||`")
            }
            _ => self.unexpected(expected),
        }
    }

    fn unexpected(&self, expected: impl Into<Cow<'static, str>>) -> ConditionError {
        self.lexer.unexpected(expected, self.next.at.clone())
    }

    /// Like [`Self::unexpected`], for everything read since `start`.
    fn unexpected_since(&self, start: usize, expected: &'static str) -> ConditionError {
        self.lexer.unexpected(expected, self.read_since(start))
    }

    /// From `start` to the end of the last token read.
    fn read_since(&self, start: usize) -> Range<usize> {
        let read = &self.lexer.text[start..self.next.at.start];
        start..start + read.trim_end().len()
    }
}

fn is_operator(word: &str) -> bool {
    Operator::read(&ConditionToken::Word(word)).is_some()
}

fn compile(pattern: &str, at: Range<usize>) -> Result<Regex, ConditionError> {
    RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build().map_err(|error| {
        ConditionError::BadRegex { pattern: pattern.to_owned(), cause: cause(&error), at }
    })
}

/// The message of a regex error, without the drawing around it.
fn cause(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("it needs more than {limit} bytes"),
        error => {
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

/// The most similar name, if one is close enough.
fn nearest(name: &str, names: Vec<String>) -> Option<String> {
    let wanted = name.to_uppercase();
    let farthest = (wanted.len() / 3).max(1);
    names
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(wanted.len()) <= farthest)
        .map(|candidate| {
            (strsim::damerau_levenshtein(&wanted, &candidate.to_uppercase()), candidate)
        })
        .filter(|(distance, _)| *distance <= farthest)
        .min()
        .map(|(_, candidate)| candidate)
}
