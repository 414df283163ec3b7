//! A client, a server that follows a script, and a conversation.

use hookwright_agent::message::{Block, Message};
use hookwright_agent::model::anthropic::AnthropicModel;
use hookwright_agent::model::collect::Collector;
use hookwright_agent::model::{
    AnswerStream, ApiKey, Model, ModelAnswer, ModelError, ModelRequest, ModelServerSettings,
    StreamEvent,
};
use hookwright_agent::tool::ToolSpec;
use hookwright_engine::variables::Environment;
use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use serde_json::json;

pub(crate) const KEY: &str = "sk-test-0123456789";

pub(crate) fn settings(base_url: &str) -> ModelServerSettings {
    ModelServerSettings {
        model: "test-model".into(),
        key: ApiKey::new(KEY),
        base_url: Some(base_url.to_owned()),
        allow_http: false,
        environment: Environment::default(),
    }
}

pub(crate) fn client(base_url: &str) -> AnthropicModel {
    AnthropicModel::new(settings(base_url)).expect("a client")
}

pub(crate) fn script(turns: &str) -> ModelBehaviour {
    ModelBehaviour::Script(ModelScript::parse(&format!("turns:\n{turns}")).expect("a script"))
}

pub(crate) fn server(turns: &str) -> ModelServer {
    ModelServer::start(script(turns)).expect("a server")
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "bash".into(),
        description: "runs a command".into(),
        input_schema: json!({ "type": "object", "properties": { "command": { "type": "string" } } }),
    }]
}

pub(crate) fn hello() -> Vec<Message> {
    vec![Message::user(vec![Block::text("hello")])]
}

/// Sends a conversation; the answer has begun then.
pub(crate) async fn opened(
    model: &dyn Model,
    messages: &[Message],
) -> Result<Box<dyn AnswerStream>, ModelError> {
    let tools = tools();
    let tools: Vec<&ToolSpec> = tools.iter().collect();
    let request = ModelRequest { system: "Be brief.", messages, tools: &tools, max_tokens: 100 };
    model.send(&request).await
}

/// All events of a stream that came, and why there are no more.
pub(crate) async fn all(
    mut stream: Box<dyn AnswerStream>,
) -> (Vec<StreamEvent>, Result<(), ModelError>) {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing comes behind an error");
                return (events, Err(error));
            }
        }
    }
    (events, Ok(()))
}

/// The whole answer to a conversation.
pub(crate) async fn answer(
    model: &dyn Model,
    messages: &[Message],
) -> Result<ModelAnswer, ModelError> {
    let (events, end) = all(opened(model, messages).await?).await;
    end?;
    let mut collector = Collector::default();
    for event in &events {
        collector.push(event)?;
    }
    collector.finish()
}

/// Why there is no answer.
pub(crate) async fn failure(model: &dyn Model) -> ModelError {
    answer(model, &hello()).await.expect_err("there is no answer")
}
