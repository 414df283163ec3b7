//! [`ArrivingAnswer`]: an answer that is handed on event by event, as its bytes arrive.

use std::collections::VecDeque;

use hookwright_engine::http::OpenResponse;
use hookwright_engine::ports::Promise;
use tokio::time::timeout;

use super::ApiKey;
use crate::limits::{ANSWER_DRAIN_MAX, ANSWER_SILENCE_MAX};
use crate::model::collect::incomplete;
use crate::model::failure::unreachable;
use crate::model::sse::{SseError, SseEvent, SseReader};
use crate::model::{AnswerStream, ModelError, ModelErrorKind, StreamEvent, read_event};

pub(super) struct ArrivingAnswer {
    /// `None` when nothing more is read from it.
    response: Option<OpenResponse>,
    reader: SseReader,
    /// Events that have arrived and are not handed on yet.
    arrived: VecDeque<SseEvent>,
    /// What is told behind them.
    error: Option<ModelError>,
    model: String,
    key: ApiKey,
}

impl ArrivingAnswer {
    pub(super) fn new(response: OpenResponse, model: String, key: ApiKey) -> Self {
        Self {
            response: Some(response),
            reader: SseReader::default(),
            arrived: VecDeque::new(),
            error: None,
            model,
            key,
        }
    }

    async fn next_event(&mut self) -> Option<Result<StreamEvent, ModelError>> {
        loop {
            if let Some(event) = self.arrived.pop_front() {
                let event = read_event(&event.data, &self.model);
                match &event {
                    Ok(StreamEvent::MessageStop) => self.finish(),
                    Ok(_) => {}
                    Err(_) => self.stop(),
                }
                return Some(event.map_err(|error| self.without_key(error)));
            }
            if let Some(error) = self.error.take() {
                self.stop();
                return Some(Err(self.without_key(error)));
            }
            self.response.as_ref()?;
            self.read().await;
        }
    }

    /// Reads the next piece of the response.
    async fn read(&mut self) {
        let Some(response) = &mut self.response else { return };
        let piece = match timeout(ANSWER_SILENCE_MAX, response.chunk()).await {
            Ok(Ok(Some(piece))) => piece,
            Ok(Ok(None)) => {
                self.error = Some(incomplete());
                return;
            }
            Ok(Err(error)) => {
                self.error =
                    Some(unreachable(format!("the connection broke within the answer: {error}")));
                return;
            }
            Err(_) => {
                let seconds = ANSWER_SILENCE_MAX.as_secs();
                let reason = format!("nothing more of the answer came for {seconds} seconds");
                self.error = Some(unreachable(reason));
                return;
            }
        };
        let mut events = Vec::new();
        let read = self.reader.push(piece.as_ref(), &mut events);
        self.arrived.extend(events);
        self.error = read.err().map(too_large);
    }

    /// The answer is complete. The rest of the response, which is empty as a rule, is read beside what
    /// follows, so that the next request can use the same connection.
    fn finish(&mut self) {
        self.arrived.clear();
        self.error = None;
        let Some(mut response) = self.response.take() else { return };
        tokio::spawn(timeout(ANSWER_DRAIN_MAX, async move {
            while let Ok(Some(_)) = response.chunk().await {}
        }));
    }

    fn stop(&mut self) {
        self.arrived.clear();
        self.error = None;
        self.response = None;
    }

    fn without_key(&self, error: ModelError) -> ModelError {
        ModelError { reason: self.key.hide_in(&error.reason), ..error }
    }
}

impl AnswerStream for ArrivingAnswer {
    fn next(&mut self) -> Promise<'_, Option<Result<StreamEvent, ModelError>>> {
        Box::pin(self.next_event())
    }
}

fn too_large(error: SseError) -> ModelError {
    ModelError {
        kind: ModelErrorKind::TooLarge,
        reason: error.to_string(),
        status: None,
        retry: None,
    }
}
