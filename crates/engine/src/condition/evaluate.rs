//! Evaluates an [`Expression`] for the values of one event. The rules:
//!
//! - Variables come from JSON and from the environment, so a text that reads as a number counts as
//!   that number: optional `-`, digits, optional point and digits, spaces around it allowed, no
//!   exponent (`1e5` is more often part of a commit id). If both sides of a comparison read as
//!   numbers, they compare as numbers (`'9' < '10'`, `'10.0' == 10`), otherwise as text, by code
//!   point.
//! - As text, `true` and `false` are these words, a missing value and `null` are empty, and lists
//!   and objects are compact JSON. Two lists are equal if their items are.
//! - On its own a value is false if it is false, empty, the string `false`, an empty list, or reads
//!   as zero.
//!
//! `number.rs` parses numbers and calculates.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::expression::{Comparison, Expression};
use super::number::Number;
use super::{EvaluateError, Operand, Values};

/// Characters of a value in an error message.
const SHOWN_MAX: usize = 60;

/// Whether the expression is true.
pub(super) fn truth(expression: &Expression, values: &dyn Values) -> Result<bool, EvaluateError> {
    match expression {
        Expression::Any(all) => any(all, |one| truth(one, values)),
        Expression::All(all) => Ok(!any(all, |one| Ok(!truth(one, values)?))?),
        Expression::Not(inner) => Ok(!truth(inner, values)?),
        Expression::Compare { left, comparison, right } => {
            let (left, right) = (evaluate(left, values)?, evaluate(right, values)?);
            Ok(left.compares(*comparison, &right))
        }
        Expression::In { item, list } => is_in(&evaluate(item, values)?, list, values),
        Expression::Contains { whole, part } => contains(whole, &evaluate(part, values)?, values),
        Expression::StartsWith { whole, part } => {
            let (whole, part) = (evaluate(whole, values)?, evaluate(part, values)?);
            Ok(whole.text().starts_with(&*part.text()))
        }
        Expression::EndsWith { whole, part } => {
            let (whole, part) = (evaluate(whole, values)?, evaluate(part, values)?);
            Ok(whole.text().ends_with(&*part.text()))
        }
        Expression::Matches { text, regex } => Ok(regex.is_match(&evaluate(text, values)?.text())),
        Expression::Bool(_)
        | Expression::Number(_)
        | Expression::Text(_)
        | Expression::List(_)
        | Expression::Variable { .. }
        | Expression::Negate(_)
        | Expression::Calculate { .. } => Ok(evaluate(expression, values)?.is_true()),
    }
}

/// Stops at the first one that is true, or at an error.
fn any(
    all: &[Expression],
    mut holds: impl FnMut(&Expression) -> Result<bool, EvaluateError>,
) -> Result<bool, EvaluateError> {
    for one in all {
        if holds(one)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_in(
    item: &Evaluated<'_>,
    list: &Expression,
    values: &dyn Values,
) -> Result<bool, EvaluateError> {
    if let Expression::List(all) = list {
        return any(all, |one| Ok(item.equals(&evaluate(one, values)?)));
    }
    let found = match evaluate(list, values)? {
        Evaluated::Json(json) if json.is_array() => item.is_among(&json),
        Evaluated::Text(text) => match json_inside(&text) {
            Some(json) if json.is_array() => item.is_among(&json),
            _ => text.lines().any(|line| item.equals(&Evaluated::Text(line.into()))),
        },
        other => {
            return Err(EvaluateError::NotAList { operand: operand(list, &other) });
        }
    };
    Ok(found)
}

fn contains(
    whole: &Expression,
    part: &Evaluated<'_>,
    values: &dyn Values,
) -> Result<bool, EvaluateError> {
    if let Expression::List(all) = whole {
        return any(all, |one| Ok(part.equals(&evaluate(one, values)?)));
    }
    Ok(match evaluate(whole, values)? {
        Evaluated::Json(json) if json.is_array() => part.is_among(&json),
        whole => whole.text().contains(&*part.text()),
    })
}

/// The value of an expression.
fn evaluate<'a>(
    expression: &'a Expression,
    values: &'a dyn Values,
) -> Result<Evaluated<'a>, EvaluateError> {
    Ok(match expression {
        Expression::Bool(bool) => Evaluated::Bool(*bool),
        Expression::Number(number) => Evaluated::Number(*number),
        Expression::Text(text) => Evaluated::Text(Cow::Borrowed(text)),
        Expression::List(all) => {
            let items = all.iter().map(|one| Ok(evaluate(one, values)?.into_json()));
            Evaluated::Json(Cow::Owned(items.collect::<Result<Value, _>>()?))
        }
        Expression::Variable { name, path } => {
            let value = values.value(name).and_then(|value| part(value, path));
            value.map_or(Evaluated::Text("".into()), Evaluated::from_json)
        }
        Expression::Negate(inner) => Evaluated::Number(number(inner, "-", values)?.negated()),
        Expression::Calculate { first, rest } => {
            let sign = rest.first().map_or("", |(calculation, _)| calculation.sign());
            let mut result = number(first, sign, values)?;
            for (calculation, right) in rest {
                let right = number(right, calculation.sign(), values)?;
                result = result.calculate(*calculation, right)?;
            }
            Evaluated::Number(result)
        }
        Expression::Any(_)
        | Expression::All(_)
        | Expression::Not(_)
        | Expression::Compare { .. }
        | Expression::In { .. }
        | Expression::Contains { .. }
        | Expression::StartsWith { .. }
        | Expression::EndsWith { .. }
        | Expression::Matches { .. } => Evaluated::Bool(truth(expression, values)?),
    })
}

fn number(
    expression: &Expression,
    operator: &'static str,
    values: &dyn Values,
) -> Result<Number, EvaluateError> {
    if let Expression::Number(number) = expression {
        return Ok(*number);
    }
    let found = evaluate(expression, values)?;
    found
        .number()
        .ok_or_else(|| EvaluateError::NotANumber { operator, operand: operand(expression, &found) })
}

/// The part of a value at a path. A text that contains a JSON list or object is parsed first:
/// values from the environment look like that.
fn part<'a>(value: Cow<'a, Value>, path: &[Box<str>]) -> Option<Cow<'a, Value>> {
    let mut value = value;
    for segment in path {
        if let Value::String(text) = &*value {
            value = Cow::Owned(json_inside(text)?);
        }
        value = match value {
            Cow::Borrowed(Value::Object(map)) => Cow::Borrowed(map.get(&**segment)?),
            Cow::Borrowed(Value::Array(items)) => Cow::Borrowed(items.get(index(segment)?)?),
            Cow::Owned(Value::Object(mut map)) => Cow::Owned(map.remove(&**segment)?),
            Cow::Owned(Value::Array(mut items)) => {
                let index = index(segment).filter(|index| *index < items.len())?;
                Cow::Owned(items.swap_remove(index))
            }
            _ => return None,
        };
    }
    Some(value)
}

fn index(segment: &str) -> Option<usize> {
    segment.bytes().all(|byte| byte.is_ascii_digit()).then(|| segment.parse().ok())?
}

/// The list or object that a text contains.
fn json_inside(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok())?
}

fn operand(expression: &Expression, evaluate: &Evaluated<'_>) -> Box<Operand> {
    let text = evaluate.text();
    let value = match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    };
    let variable = match expression {
        Expression::Variable { name, path } => {
            let parts = path.iter().map(AsRef::as_ref);
            Some(std::iter::once(&**name).chain(parts).collect::<Vec<_>>().join("."))
        }
        _ => None,
    };
    Box::new(Operand { variable, value })
}

/// The value of an expression.
enum Evaluated<'a> {
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    /// A list or an object.
    Json(Cow<'a, Value>),
}

impl<'a> Evaluated<'a> {
    fn from_json(value: Cow<'a, Value>) -> Self {
        match value {
            Cow::Borrowed(Value::String(text)) => Self::Text(Cow::Borrowed(text)),
            Cow::Owned(Value::String(text)) => Self::Text(Cow::Owned(text)),
            value => match &*value {
                Value::Null => Self::Text("".into()),
                Value::Bool(bool) => Self::Bool(*bool),
                Value::Number(number) => Self::Number(Number::from_json(number)),
                Value::String(text) => Self::Text(Cow::Owned(text.clone())),
                Value::Array(_) | Value::Object(_) => Self::Json(value),
            },
        }
    }

    fn into_json(self) -> Value {
        match self {
            Self::Bool(bool) => bool.into(),
            Self::Number(Number::Whole(whole)) => whole.into(),
            Self::Number(Number::Decimal(decimal)) => decimal.into(),
            Self::Text(text) => text.into(),
            Self::Json(json) => json.into_owned(),
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Self::Bool(bool) => *bool,
            Self::Number(number) => !number.is_zero(),
            Self::Text(text) => {
                !text.is_empty()
                    && text != "false"
                    && !Number::read(text).is_some_and(Number::is_zero)
            }
            Self::Json(json) => json.as_array().is_none_or(|items| !items.is_empty()),
        }
    }

    fn compares(&self, comparison: Comparison, other: &Evaluated<'_>) -> bool {
        match comparison {
            Comparison::Equal => self.equals(other),
            Comparison::NotEqual => !self.equals(other),
            Comparison::Less => self.order(other).is_some_and(Ordering::is_lt),
            Comparison::LessOrEqual => self.order(other).is_some_and(Ordering::is_le),
            Comparison::Greater => self.order(other).is_some_and(Ordering::is_gt),
            Comparison::GreaterOrEqual => self.order(other).is_some_and(Ordering::is_ge),
        }
    }

    fn equals(&self, other: &Evaluated<'_>) -> bool {
        if let (Self::Json(left), Evaluated::Json(right)) = (self, other) {
            return match (&**left, &**right) {
                (Value::Array(left), Value::Array(right)) => {
                    left.len() == right.len()
                        && left.iter().zip(right).all(|(left, right)| {
                            Evaluated::from_json(Cow::Borrowed(left))
                                .equals(&Evaluated::from_json(Cow::Borrowed(right)))
                        })
                }
                (left, right) => left == right,
            };
        }
        self.order(other).is_some_and(Ordering::is_eq)
    }

    /// Whether it equals one of the list's items.
    fn is_among(&self, list: &Value) -> bool {
        list.as_array().is_some_and(|items| {
            items.iter().any(|item| self.equals(&Evaluated::from_json(Cow::Borrowed(item))))
        })
    }

    /// `None` only for results that are not numbers, such as infinity minus infinity.
    fn order(&self, other: &Evaluated<'_>) -> Option<Ordering> {
        if let (Some(left), Some(right)) = (self.number(), other.number()) {
            // Two long ids that differ in their last digit are the same decimal.
            let are_texts = matches!((self, other), (Self::Text(_), Evaluated::Text(_)));
            if !(are_texts && left.is_inexact() && right.is_inexact()) {
                return left.order(right);
            }
        }
        Some(self.text().cmp(&other.text()))
    }

    fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => Number::read(text),
            Self::Bool(_) | Self::Json(_) => None,
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Bool(true) => "true".into(),
            Self::Bool(false) => "false".into(),
            Self::Number(Number::Whole(whole)) => whole.to_string().into(),
            Self::Number(Number::Decimal(decimal)) => decimal.to_string().into(),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Json(json) => json.to_string().into(),
        }
    }
}
