//! [`ChosenModel`]: the model of a session, and what it runs on.
//!
//! | name | model |
//! |---|---|
//! | `scripted:FILE` | plays the file |
//! | `anthropic:NAME`, `openai:NAME` | NAME at that service |
//! | another name, or none | at Anthropic if its key is set; else over chat completions if the key or the base URL for that is set |
//!
//! A name alone never chooses the service: compatible servers have models of every vendor. Without a name, each
//! vendor's own server has a default; another server of chat completions has none.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hookwright_agent::model::anthropic::{self, AnthropicModel};
use hookwright_agent::model::chat_completions::{self, ChatModel};
use hookwright_agent::model::scripted::ScriptedModel;
use hookwright_agent::model::{ApiKey, Model, ModelError, ModelServerSettings};
use hookwright_engine::Secrets;
use hookwright_engine::variables::Environment;

use crate::error::{AgentFailure, Failure};
use crate::model_service::ModelService;

/// Variables that hold keys of models. Tools of the built-in agent do not get them, and its hooks get
/// one only if they name it, like a secret.
pub(crate) const KEYS: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];

/// Tokens of one answer, at most.
pub(crate) const ANSWER_TOKENS_MAX: u32 = 16_384;

/// What the model is told first. It is the same for every session in the same folder, so that the
/// model's server can cache it.
pub(crate) const SYSTEM: &str = "You are a coding agent. You work alone, in the user's project, with the tools \
    that you are given. Do what the prompt says, check your work, and end with a short summary. \
    Text that begins with \"From a hook:\" comes from the user's own rules: follow it.";

/// A model that can be asked.
pub(crate) struct ChosenModel {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) service: ModelService,
}

impl ChosenModel {
    /// The model that a name means, or the one that there is a key for.
    pub(crate) fn choose(
        name: Option<&str>,
        environment: &Environment,
        secrets: &Secrets,
    ) -> Result<Self, Failure> {
        let given = |variable: &str| {
            let value = environment.text(variable).or_else(|| secrets.get(variable));
            value.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let (service, name) = chosen(name, |variable| given(variable).is_some())?;
        let settings = || ModelServerSettings {
            model: name.clone(),
            key: given(service.key_variable()).map_or_else(ApiKey::none, |key| ApiKey::new(&key)),
            base_url: given(service.url_variable()),
            allow_http: false,
            environment: environment.clone(),
        };
        let failed = |error: ModelError| AgentFailure::Client { error, service };
        let model: Arc<dyn Model> = match service {
            ModelService::Anthropic => Arc::new(AnthropicModel::new(settings()).map_err(failed)?),
            ModelService::OpenAi => Arc::new(ChatModel::new(settings()).map_err(failed)?),
            ModelService::Script => scripted(Path::new(&name))?,
        };
        Ok(Self { model, service })
    }
}

/// The service and the name of the model there. `is_set` says whether a variable has a value.
fn chosen(
    name: Option<&str>,
    is_set: impl Fn(&str) -> bool,
) -> Result<(ModelService, String), AgentFailure> {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    if let Some(file) = name.and_then(|name| name.strip_prefix(ModelService::Script.prefix())) {
        return Ok((ModelService::Script, file.to_owned()));
    }
    for service in ModelService::WITH_PREFIX {
        if let Some(name) = name.and_then(|name| name.strip_prefix(service.prefix())) {
            return match name.trim() {
                "" => Err(AgentFailure::NoModelName { service }),
                name => Ok((service, name.to_owned())),
            };
        }
    }
    let chat = ModelService::OpenAi;
    let service = if is_set(ModelService::Anthropic.key_variable()) {
        ModelService::Anthropic
    } else if is_set(chat.key_variable()) || is_set(chat.url_variable()) {
        chat
    } else {
        return Err(AgentFailure::NoModel);
    };
    let name = match (name, service) {
        (Some(name), _) => name,
        (None, ModelService::OpenAi) if is_set(chat.url_variable()) => {
            return Err(AgentFailure::NoModelName { service });
        }
        (None, ModelService::OpenAi) => chat_completions::DEFAULT_MODEL,
        (None, ModelService::Anthropic | ModelService::Script) => anthropic::DEFAULT_MODEL,
    };
    Ok((service, name.to_owned()))
}

fn scripted(path: &Path) -> Result<Arc<dyn Model>, Failure> {
    let failed = |cause: String| AgentFailure::Script { path: path.to_owned(), cause };
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let name = format!("scripted:{}", path.display());
    let model = ScriptedModel::parse(name, &text).map_err(|fault| failed(fault.to_string()))?;
    Ok(Arc::new(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_chooses_the_service_and_a_key_does_without_one() {
        use ModelService::{Anthropic, OpenAi, Script};

        let (a_key, o_key, o_url) = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL");
        let default = anthropic::DEFAULT_MODEL;
        for (name, set, expected) in [
            (None, &[a_key][..], Some((Anthropic, default))),
            (None, &[a_key, o_key, o_url], Some((Anthropic, default))),
            (None, &[o_key], Some((OpenAi, "gpt-5"))),
            (None, &[], None),
            (None, &[o_url], None),
            (None, &[o_key, o_url], None),
            (Some("m"), &[], None),
            (Some("m"), &[a_key, o_key], Some((Anthropic, "m"))),
            (Some("m"), &[o_key], Some((OpenAi, "m"))),
            (Some(" m:8b "), &[o_url], Some((OpenAi, "m:8b"))),
            (Some(" "), &[a_key], Some((Anthropic, default))),
            (Some("openai:m"), &[a_key], Some((OpenAi, "m"))),
            (Some("openai/m"), &[a_key], Some((Anthropic, "openai/m"))),
            (Some("anthropic: m"), &[o_key], Some((Anthropic, "m"))),
            (Some("openai:"), &[o_key], None),
            (Some("scripted:a b.yaml"), &[a_key], Some((Script, "a b.yaml"))),
        ] {
            let found = chosen(name, |variable| set.contains(&variable)).ok();
            let found = found.as_ref().map(|(service, name)| (*service, name.as_str()));
            assert_eq!(found, expected, "{name:?} with {set:?}");
        }
    }
}
