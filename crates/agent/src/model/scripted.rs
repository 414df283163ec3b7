//! [`ScriptedModel`]: plays a file of turns in place of a model, so that hooks can be tried without a key.
//!
//! Each request gets the next turn, as the events in which a server would send it. The file's format is that
//! of `hookwright_model_script`. Where a connection would break or fall silent, this one does too.

use std::sync::{Mutex, PoisonError};
use std::vec::IntoIter;

use hookwright_engine::ports::Promise;
use hookwright_model_script::{
    Ending, ModelScript, ScriptProgress, ScriptedAnswer, ScriptedError, ScriptedTurn, sse,
};
pub use hookwright_model_script::{SCRIPT_BYTES_MAX, ScriptFault};

use super::collect::incomplete;
use super::failure;
use super::protocol::Protocol;
use super::server_words::ServerWords;
use super::{AnswerStream, Model, ModelError, ModelRequest, StreamEvent, read_event};
use crate::message::Message;

/// A model that follows a script.
#[derive(Debug)]
pub struct ScriptedModel {
    name: String,
    script: ModelScript,
    progress: Mutex<ScriptProgress>,
}

impl ScriptedModel {
    /// A model with this name that plays the script in `text`, YAML or JSON.
    pub fn parse(name: impl Into<String>, text: &str) -> Result<Self, ScriptFault> {
        let script = ModelScript::parse(text)?;
        Ok(Self { name: name.into(), script, progress: Mutex::default() })
    }

    fn next_turn(&self, request: &ModelRequest<'_>) -> Result<Box<dyn AnswerStream>, ModelError> {
        let first_message = request.messages.first().map(Message::plain_text).unwrap_or_default();
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, turn) = progress.next(&self.script, &first_message);
        drop(progress);
        match turn {
            ScriptedTurn::Answer(answer) => {
                Ok(Box::new(PlayedAnswer::new(&answer, number, &self.name)))
            }
            ScriptedTurn::Error(error) => Err(self.refused(&error)),
            ScriptedTurn::Reply(reply) if reply.status == 200 => {
                Err(failure::not_an_answer(&reply.content_type))
            }
            ScriptedTurn::Reply(reply) => Err(self.failed(reply.status, &ServerWords::default())),
        }
    }

    fn refused(&self, error: &ScriptedError) -> ModelError {
        let retry_after =
            error.retry_after.as_deref().and_then(hookwright_engine::http::retry_after);
        let (name, message) = (error.name().to_owned(), error.message().to_owned());
        let words = ServerWords { name, message, retry_after, ..ServerWords::default() };
        self.failed(error.status, &words)
    }

    fn failed(&self, status: u16, words: &ServerWords) -> ModelError {
        failure::of_status(Protocol::Messages, status, words, &self.name)
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn send<'a>(
        &'a self,
        request: &'a ModelRequest<'a>,
    ) -> Promise<'a, Result<Box<dyn AnswerStream>, ModelError>> {
        Box::pin(std::future::ready(self.next_turn(request)))
    }
}

/// An answer of a script on its way.
struct PlayedAnswer {
    events: IntoIter<Result<StreamEvent, ModelError>>,
    /// Nothing more comes, and the answer does not end.
    is_silent: bool,
}

impl PlayedAnswer {
    fn new(answer: &ScriptedAnswer, number: usize, model: &str) -> Self {
        let mut room = match answer.ending {
            Ending::Cut(bytes) | Ending::Short(bytes) | Ending::Silence(bytes) => bytes,
            Ending::Complete | Ending::Error(_) => usize::MAX,
        };
        let mut events = Vec::new();
        for event in answer.events(number, model) {
            let bytes = sse(&event).len();
            if bytes > room {
                break;
            }
            room -= bytes;
            events.push(read_event(&event.to_string(), model));
        }
        if matches!(answer.ending, Ending::Cut(_) | Ending::Short(_)) {
            events.push(Err(incomplete()));
        }
        let is_silent = matches!(answer.ending, Ending::Silence(_));
        Self { events: events.into_iter(), is_silent }
    }
}

impl AnswerStream for PlayedAnswer {
    fn next(&mut self) -> Promise<'_, Option<Result<StreamEvent, ModelError>>> {
        Box::pin(async {
            // A server's events come one by one too: what else the host does goes on between them.
            tokio::task::yield_now().await;
            match self.events.next() {
                None if self.is_silent => std::future::pending().await,
                event => event,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::collect::Collector;
    use super::super::{ModelAnswer, ModelErrorKind, RetryAfter};
    use super::*;
    use crate::message::Block;

    async fn answer(model: &ScriptedModel) -> (usize, Result<ModelAnswer, ModelError>) {
        let messages = [Message::user(vec![Block::text("go")])];
        let request = ModelRequest { system: "", messages: &messages, tools: &[], max_tokens: 1 };
        let mut collector = Collector::default();
        let mut events = 0;
        let mut stream = match model.send(&request).await {
            Ok(stream) => stream,
            Err(error) => return (0, Err(error)),
        };
        while let Some(event) = stream.next().await {
            match event.and_then(|event| collector.push(&event)) {
                Ok(()) => events += 1,
                Err(error) => return (events, Err(error)),
            }
        }
        (events, collector.finish())
    }

    #[tokio::test]
    async fn each_request_gets_the_next_turn_and_the_last_one_ends_the_work() {
        let model = ScriptedModel::parse(
            "scripted:a.yaml",
            "turns:
  - content:
      - {type: text, text: I will have a look at the files here.}
      - {type: tool_use, name: bash, input: {command: ls}}
      - {type: tool_use, name: bash, input_text: '{'}
  - error: {status: 529, retry_after: 3}
  - content: [{type: text, text: Done.}]
",
        )
        .expect("a script");
        assert_eq!(model.name(), "scripted:a.yaml");
        let (events, first) = answer(&model).await;
        assert!(events > 10, "a text comes in several deltas: {events}");
        let first = first.expect("an answer");
        let input = serde_json::json!({ "command": "ls" }).as_object().expect("a map").clone();
        let name = || "bash".to_owned();
        assert_eq!(
            first.content,
            [
                Block::text("I will have a look at the files here."),
                Block::ToolUse { id: "toolu_1_2".into(), name: name(), input },
                Block::ToolUse { id: "toolu_1_3".into(), name: name(), input: Default::default() },
            ]
        );
        assert_eq!(first.broken_inputs.len(), 1);
        assert_eq!(first.broken_inputs[0].0, "toolu_1_3");
        assert_eq!(first.stop_reason.as_deref(), Some("tool_use"));
        assert_eq!((first.id.as_str(), first.model.as_str()), ("msg_1", "scripted:a.yaml"));
        let (_, error) = answer(&model).await;
        let error = error.expect_err("the second turn is an error");
        assert_eq!((error.kind, error.status), (ModelErrorKind::Overloaded, Some(529)));
        assert_eq!(error.retry, Some(RetryAfter::Named(Duration::from_secs(3))));
        assert_eq!(answer(&model).await.1.expect("a text").content, [Block::text("Done.")]);
        for _ in 0..2 {
            let end = answer(&model).await.1.expect("the end");
            assert_eq!(end.content, [Block::text("The script has no more turns.")]);
            assert_eq!(end.stop_reason.as_deref(), Some("end_turn"));
        }
    }

    #[tokio::test]
    async fn an_answer_breaks_off_where_the_script_says() {
        let script = "turns:
  - {content: [{type: text, text: hello}], cut_after: 500}
  - {content: [{type: text, text: hello}], then_error: {status: 529}}
  - {reply: {body: <html>}}
  - {reply: {status: 502, body: <html>}}
  - {content: [{type: text, text: hello}], silent_after: 500}
";
        let model = ScriptedModel::parse("m", script).expect("a script");
        let (events, cut) = answer(&model).await;
        assert!(events >= 1, "what came before the cut is handed on");
        assert_eq!(cut, Err(incomplete()));
        let (events, failed) = answer(&model).await;
        assert!(events >= 4, "the text came before the error: {events}");
        let failed = failed.expect_err("overloaded");
        assert_eq!(failed.kind, ModelErrorKind::Overloaded);
        assert_eq!(failed.retry, Some(RetryAfter::Backoff));
        let page = answer(&model).await.1.expect_err("a page");
        assert_eq!(page.kind, ModelErrorKind::NotUnderstood);
        assert_eq!(answer(&model).await.1.expect_err("502").status, Some(502));
        tokio::select! {
            biased;
            _ = answer(&model) => panic!("it does not end"),
            () = async { for _ in 0..100 { tokio::task::yield_now().await } } => {}
        }
    }
}
