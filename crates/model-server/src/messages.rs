//! Anthropic's Messages: a script's turns, and the vendor's refusals of invalid requests.

pub(crate) mod refused;

use hookwright_model_script::{ScriptedAnswer, sse};
use serde_json::Value;

/// The events of an answer, as they are sent.
pub(crate) fn events(answer: &ScriptedAnswer, number: usize, request: &Value) -> Vec<String> {
    let model = request["model"].as_str().unwrap_or_default();
    answer.events(number, model).iter().map(sse).collect()
}
