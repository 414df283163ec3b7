//! JSON with references: a webhook's body, a pipeline's inputs.
//!
//! Values are placed inside the parsed JSON, as texts: no value can close a quote or add a key.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FillError, FilledText, Filling, Revealing, TextTemplate, ValueWriting};
use crate::secrets::Secrets;

/// JSON whose texts contain references. Keys are literal.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTemplate {
    /// JSON without references.
    Constant(Value),
    /// A text with references.
    Text(TextTemplate),
    /// A list.
    List(Vec<JsonTemplate>),
    /// An object.
    Object(Vec<(String, JsonTemplate)>),
}

/// JSON with its values filled in, secrets still by name. It can be stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilledJson {
    /// JSON without filled-in values.
    Constant(Value),
    /// A text.
    Text(FilledText),
    /// A list.
    List(Vec<FilledJson>),
    /// An object.
    Object(Vec<(String, FilledJson)>),
}

impl JsonTemplate {
    /// Reads a JSON value.
    pub fn new(value: &Value) -> Self {
        let template = match value {
            Value::String(text) => Self::Text(TextTemplate::new(text)),
            Value::Array(items) => Self::List(items.iter().map(Self::new).collect()),
            Value::Object(map) => Self::Object(
                map.iter().map(|(key, value)| (key.clone(), Self::new(value))).collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                return Self::Constant(value.clone());
            }
        };
        if template.names().is_empty() { Self::Constant(value.clone()) } else { template }
    }

    /// The names that it references.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Constant(_) => Vec::new(),
            Self::Text(text) => text.names().collect(),
            Self::List(items) => items.iter().flat_map(Self::names).collect(),
            Self::Object(map) => map.iter().flat_map(|(_, value)| value.names()).collect(),
        }
    }

    /// The JSON as written.
    pub fn source(&self) -> Value {
        match self {
            Self::Constant(value) => value.clone(),
            Self::Text(text) => text.source().into(),
            Self::List(items) => items.iter().map(Self::source).collect(),
            Self::Object(map) => Value::Object(
                map.iter().map(|(key, value)| (key.clone(), value.source())).collect(),
            ),
        }
    }

    /// Fills in the values; secrets stay names.
    pub fn fill(&self, filling: &Filling<'_>) -> Result<FilledJson, FillError> {
        Ok(match self {
            Self::Constant(value) => FilledJson::Constant(value.clone()),
            Self::Text(text) => FilledJson::Text(text.fill(filling, ValueWriting::Plain)?),
            Self::List(items) => FilledJson::List(
                items.iter().map(|item| item.fill(filling)).collect::<Result<_, _>>()?,
            ),
            Self::Object(map) => FilledJson::Object(
                map.iter()
                    .map(|(key, value)| Ok((key.clone(), value.fill(filling)?)))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }
}

impl FilledJson {
    /// The whole JSON, including secrets, for its receiver. A secret that no longer exists is an
    /// error.
    pub fn reveal(&self, secrets: &Secrets) -> Result<Value, FillError> {
        self.made(&|text| text.reveal(secrets))
    }

    /// Like [`Self::reveal`], and also fills in the address for a person's answer.
    pub fn reveal_all(&self, revealing: Revealing<'_>) -> Result<Value, FillError> {
        self.made(&|text| text.reveal_all(revealing))
    }

    /// Whether it contains the address for a person's answer.
    pub fn names_callback(&self) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Text(text) => text.names_callback(),
            Self::List(items) => items.iter().any(Self::names_callback),
            Self::Object(map) => map.iter().any(|(_, value)| value.names_callback()),
        }
    }

    /// Everything except secrets, for display.
    pub fn redacted(&self) -> Value {
        self.made(&|text| Ok(text.redacted())).unwrap_or_default()
    }

    fn made(
        &self,
        of_text: &dyn Fn(&FilledText) -> Result<String, FillError>,
    ) -> Result<Value, FillError> {
        Ok(match self {
            Self::Constant(value) => value.clone(),
            Self::Text(text) => of_text(text)?.into(),
            Self::List(items) => {
                items.iter().map(|item| item.made(of_text)).collect::<Result<_, _>>()?
            }
            Self::Object(map) => {
                let entry =
                    |(key, value): &(String, FilledJson)| Ok((key.clone(), value.made(of_text)?));
                Value::Object(map.iter().map(entry).collect::<Result<Map<_, _>, _>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::{Event, EventName};
    use serde_json::json;

    use super::*;
    use crate::variables::{Carried, Environment, Variables};

    fn filled(template: &Value, data: Value) -> Result<FilledJson, FillError> {
        let Value::Object(data) = data else { panic!("data must be an object") };
        let event = Event::new(EventName::resolve("iteration:error").expect("known"), data);
        let (carried, environment) = (Carried::default(), Environment::default());
        let variables = Variables { event: &event, carried: &carried, environment: &environment };
        JsonTemplate::new(template).fill(&Filling {
            variables,
            secrets: &secrets(),
            wire: &crate::native::NativeWire,
            has_callback: true,
        })
    }

    fn secrets() -> Secrets {
        Secrets::new(vec![("TOKEN".into(), "hunter\"22".into())])
    }

    #[test]
    fn a_value_stays_one_text_with_any_content() {
        let hostile = "\"}], \"admin\": true, \\ ${TOKEN} \n";
        let body = json!({
            "text": "Failed: ${ERROR}", "n": 3, "${ERROR}": [{ "x": "${ERROR}${STAGE}" }, null],
            "auth": "Bearer ${TOKEN}", "plain": "as it is"
        });
        let filled = filled(&body, json!({ "error": hostile })).expect("all names are known");
        let expected = json!({
            "text": format!("Failed: {hostile}"), "n": 3, "${ERROR}": [{ "x": hostile }, null],
            "auth": "Bearer hunter\"22", "plain": "as it is"
        });
        assert_eq!(filled.reveal(&secrets()), Ok(expected.clone()));
        let mut shown = expected;
        shown["auth"] = json!("Bearer [secret TOKEN]");
        assert_eq!(filled.redacted(), shown);
        let gone = filled.reveal(&Secrets::default()).expect_err("the secret is gone");
        assert_eq!(gone.to_string(), "unknown variable `TOKEN`");
    }

    #[test]
    fn stored_templates_contain_no_secret_and_can_be_read_back() {
        let filled = filled(&json!(["${TOKEN} ${ERROR}", { "a": ["b"] }]), json!({ "error": "e" }));
        let filled = filled.expect("all names are known");
        let line = serde_json::to_string(&filled).expect("plain data");
        assert!(!line.contains("hunter"), "{line}");
        assert_eq!(serde_json::from_str::<FilledJson>(&line).expect("as written"), filled);
    }

    #[test]
    fn an_unknown_name_fails_at_any_depth() {
        let error =
            filled(&json!({ "a": [[{ "b": "${ERORR}" }]] }), json!({})).expect_err("unknown");
        assert_eq!(error.to_string(), "unknown variable `ERORR`");
    }

    #[test]
    fn the_source_is_the_authors_text() {
        let body = json!({ "a": ["${ERROR}", 1, { "b": "c" }] });
        assert_eq!(JsonTemplate::new(&body).source(), body);
        assert_eq!(JsonTemplate::new(&body).names(), ["ERROR"]);
    }
}
