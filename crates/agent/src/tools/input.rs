//! Fields of a call's input, which fits the tool's schema. A field that does not is missing.

use serde_json::Value;

use super::{Input, ToolFailure};

pub(super) fn text<'a>(input: &'a Input, name: &str) -> Option<&'a str> {
    input.get(name).and_then(Value::as_str)
}

pub(super) fn needed<'a>(input: &'a Input, name: &str) -> Result<&'a str, ToolFailure> {
    text(input, name).ok_or_else(|| ToolFailure::Because(format!("the field `{name}` is missing")))
}

pub(super) fn flag(input: &Input, name: &str) -> Option<bool> {
    input.get(name).and_then(Value::as_bool)
}

/// A whole number, also one that is written `2.0`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float stays within the bounds of the integer"
)]
pub(super) fn number(input: &Input, name: &str) -> Option<u64> {
    let value = input.get(name)?;
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}
