//! [`validate`]: whether a call's input fits its tool's schema.
//!
//! It knows the words that tools use to describe an input: `type`, `properties`, `required`,
//! `additionalProperties`, `items`, `enum`, `minimum`, `maximum`, `minLength`. Other words are not
//! checked: a server's tool may use any of them, and the server checks its input itself.

use serde_json::{Map, Value};

use crate::limits::INPUT_DEPTH_MAX;
use crate::tool::ToolSpec;

/// Checks the input of a call, whether the model wrote it or a hook rewrote it. The message names the
/// field, what was expected and what was found.
pub fn validate(spec: &ToolSpec, input: &Value) -> Result<(), String> {
    check(&spec.input_schema, input, &Field { tool: &spec.name, path: String::new(), depth: 0 })
}

/// The place that is being checked.
struct Field<'a> {
    tool: &'a str,
    path: String,
    depth: usize,
}

impl Field<'_> {
    fn named(&self, name: &str) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Self { tool: self.tool, path, depth: self.depth + 1 }
    }

    fn at(&self, index: usize) -> Self {
        Self { tool: self.tool, path: format!("{}[{index}]", self.path), depth: self.depth + 1 }
    }

    fn wrong(&self, problem: &str) -> String {
        match self.path.as_str() {
            "" => format!("the input of `{}` {problem}", self.tool),
            path => format!("field `{path}` of `{}` {problem}", self.tool),
        }
    }
}

fn check(schema: &Value, value: &Value, field: &Field<'_>) -> Result<(), String> {
    if field.depth > INPUT_DEPTH_MAX {
        return Err(field.wrong(&format!("is nested deeper than {INPUT_DEPTH_MAX}")));
    }
    check_type(schema, value, field)?;
    check_enum(schema, value, field)?;
    check_bounds(schema, value, field)?;
    match value {
        Value::Object(object) => check_object(schema, object, field),
        Value::Array(items) => match schema.get("items") {
            Some(of_item) => {
                let mut items = items.iter().enumerate();
                items.try_for_each(|(index, item)| check(of_item, item, &field.at(index)))
            }
            None => Ok(()),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn check_type(schema: &Value, value: &Value, field: &Field<'_>) -> Result<(), String> {
    let expected: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    if expected.iter().any(|name| has_type(value, name)) {
        return Ok(());
    }
    let found = shortened(value);
    Err(field.wrong(&format!("must be of type {}, but is {found}", expected.join(" or "))))
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        // 2.0 is an integer too.
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => true,
    }
}

fn check_enum(schema: &Value, value: &Value, field: &Field<'_>) -> Result<(), String> {
    let Some(allowed) = schema.get("enum").and_then(Value::as_array) else { return Ok(()) };
    if allowed.contains(value) {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().map(Value::to_string).collect();
    let why = schema.get("description").and_then(Value::as_str);
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let found = shortened(value);
    Err(field.wrong(&format!("must be {}, but is {found}{why}", names.join(" or "))))
}

fn check_bounds(schema: &Value, value: &Value, field: &Field<'_>) -> Result<(), String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(minimum) = bound("minimum").filter(|minimum| number < *minimum) {
            return Err(field.wrong(&format!("must be at least {minimum}, but is {value}")));
        }
        if let Some(maximum) = bound("maximum").filter(|maximum| number > *maximum) {
            return Err(field.wrong(&format!("must be at most {maximum}, but is {value}")));
        }
    }
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    match value.as_str() {
        Some("") if least > 0 => Err(field.wrong("must not be empty")),
        Some(text) if (text.chars().count() as u64) < least => {
            Err(field.wrong(&format!("must have at least {least} characters")))
        }
        _ => Ok(()),
    }
}

fn check_object(
    schema: &Value,
    object: &Map<String, Value>,
    field: &Field<'_>,
) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            let of_field = properties.and_then(|known| known.get(name));
            let kind = of_field.and_then(|known| known.get("type")).and_then(Value::as_str);
            let kind = kind.map(|kind| format!(" ({kind})")).unwrap_or_default();
            return Err(field.wrong(&format!("lacks the field `{name}`{kind}")));
        }
    }
    for (name, value) in object {
        match properties.and_then(|known| known.get(name)) {
            Some(of_field) => check(of_field, value, &field.named(name))?,
            None => match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => return Err(unknown(name, properties, field)),
                Some(of_rest @ Value::Object(_)) => check(of_rest, value, &field.named(name))?,
                _ => {}
            },
        }
    }
    Ok(())
}

fn unknown(name: &str, known: Option<&Map<String, Value>>, field: &Field<'_>) -> String {
    let known: Vec<String> =
        known.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
    let name: String = name.chars().take(FOUND_CHARS_MAX).collect();
    field.wrong(&format!("has an unknown field `{name}`: the fields are {}", known.join(", ")))
}

/// Characters of a value that a message repeats.
const FOUND_CHARS_MAX: usize = 60;

fn shortened(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::String(text) if text.chars().count() > FOUND_CHARS_MAX => "a long string".to_owned(),
        other => format!("`{other}`"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(input: Value) -> Result<(), String> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 600 },
                "mode": { "type": "string", "enum": ["content", "count"] },
                "later": { "type": "boolean", "enum": [false], "description": "not supported" },
                "list": { "type": "array", "items": { "type": ["string", "null"] } },
                "more": { "type": "object", "additionalProperties": { "type": "number" } },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let spec =
            ToolSpec { name: "look".into(), description: String::new(), input_schema: schema };
        validate(&spec, &input)
    }

    #[test]
    fn an_input_that_fits_is_accepted() {
        assert_eq!(said(json!({ "path": "a" })), Ok(()));
        let all = json!({
            "path": "a", "limit": 2.0, "mode": "count", "later": false, "list": ["x", null],
            "more": { "x": 1.5 },
        });
        assert_eq!(said(all), Ok(()));
    }

    #[test]
    fn a_message_names_the_field_what_was_expected_and_what_was_found() {
        let cases = [
            (json!([]), "the input of `look` must be of type object, but is an array"),
            (json!({}), "the input of `look` lacks the field `path` (string)"),
            (
                json!({ "file_path": "a", "path": "b" }),
                "the input of `look` has an unknown field `file_path`: the fields are `path`, \
                 `limit`, `mode`, `later`, `list`, `more`",
            ),
            (json!({ "path": 1 }), "field `path` of `look` must be of type string, but is `1`"),
            (json!({ "path": "" }), "field `path` of `look` must not be empty"),
            (
                json!({ "path": "a", "limit": 1.5 }),
                "field `limit` of `look` must be of type integer, but is `1.5`",
            ),
            (
                json!({ "path": "a", "limit": 0 }),
                "field `limit` of `look` must be at least 1, but is 0",
            ),
            (
                json!({ "path": "a", "limit": 601 }),
                "field `limit` of `look` must be at most 600, but is 601",
            ),
            (
                json!({ "path": "a", "mode": "all" }),
                "field `mode` of `look` must be \"content\" or \"count\", but is `\"all\"`",
            ),
            (
                json!({ "path": "a", "later": true }),
                "field `later` of `look` must be false, but is `true` (not supported)",
            ),
            (
                json!({ "path": "a", "list": ["x", 1] }),
                "field `list[1]` of `look` must be of type string or null, but is `1`",
            ),
            (
                json!({ "path": "a", "more": { "x": "1" } }),
                "field `more.x` of `look` must be of type number, but is `\"1\"`",
            ),
            (
                json!({ "path": { "a": 1 } }),
                "field `path` of `look` must be of type string, but is an object",
            ),
        ];
        for (input, expected) in cases {
            assert_eq!(said(input.clone()), Err(expected.to_owned()), "{input}");
        }
    }
}
