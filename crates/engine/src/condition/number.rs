//! [`Number`]: how the numbers of a condition are parsed, calculated and ordered.
//!
//! Whole numbers are exact as long as they fit into 64 bits and become decimals beyond; `7 / 2` is
//! 3.5. `%` is the remainder and has the sign of its left side.

use std::cmp::Ordering;

use super::EvaluateError;
use super::expression::Calculation;

/// A number, exact if it is whole and fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(i64),
    Decimal(f64),
}

impl Number {
    /// Parses a text as a number.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim_ascii();
        let digits = text.strip_prefix('-').unwrap_or(text);
        // Most texts are not numbers, and some are a megabyte long.
        if !digits.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
        let are_digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(decimals) {
            return None;
        }
        match text.parse() {
            Ok(whole) => Some(Self::Whole(whole)),
            Err(_) => text.parse().ok().map(Self::Decimal),
        }
    }

    pub(super) fn from_json(number: &serde_json::Number) -> Self {
        match number.as_i64() {
            Some(whole) => Self::Whole(whole),
            None => Self::Decimal(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Self::Whole(whole) => {
                whole.checked_neg().map_or(Self::Decimal(-(whole as f64)), Self::Whole)
            }
            Self::Decimal(decimal) => Self::Decimal(-decimal),
        }
    }

    pub(super) fn calculate(
        self,
        calculation: Calculation,
        right: Self,
    ) -> Result<Self, EvaluateError> {
        if matches!(calculation, Calculation::Divide | Calculation::Remainder) && right.is_zero() {
            return Err(EvaluateError::DivisionByZero { operator: calculation.sign() });
        }
        if let (Self::Whole(left), Self::Whole(right)) = (self, right) {
            let exact = match calculation {
                Calculation::Add => left.checked_add(right),
                Calculation::Subtract => left.checked_sub(right),
                Calculation::Multiply => left.checked_mul(right),
                Calculation::Divide => match left.checked_rem(right) {
                    Some(0) => left.checked_div(right),
                    _ => None,
                },
                // Wraps only for the smallest number by -1, whose remainder is correctly 0.
                Calculation::Remainder => Some(left.wrapping_rem(right)),
            };
            if let Some(exact) = exact {
                return Ok(Self::Whole(exact));
            }
        }
        let (left, right) = (self.decimal(), right.decimal());
        Ok(Self::Decimal(match calculation {
            Calculation::Add => left + right,
            Calculation::Subtract => left - right,
            Calculation::Multiply => left * right,
            Calculation::Divide => left / right,
            Calculation::Remainder => left % right,
        }))
    }

    pub(super) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(&right)),
            (left, right) => left.decimal().partial_cmp(&right.decimal()),
        }
    }

    pub(super) fn decimal(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Decimal(decimal) => decimal,
        }
    }

    pub(super) fn is_zero(self) -> bool {
        match self {
            Self::Whole(whole) => whole == 0,
            Self::Decimal(decimal) => decimal == 0.0,
        }
    }

    /// Whether it may have lost digits of the text that it was read from.
    pub(super) fn is_inexact(self) -> bool {
        matches!(self, Self::Decimal(decimal) if decimal.abs() >= 2f64.powi(f64::MANTISSA_DIGITS as i32))
    }
}
