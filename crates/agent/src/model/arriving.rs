//! [`ArrivingAnswer`]: an answer that is handed on event by event, as its bytes arrive. What the events of a
//! connection mean is said by the protocol's [`StreamTranslation`].

use std::collections::VecDeque;

use hookwright_engine::http::OpenResponse;
use hookwright_engine::ports::Promise;
use tokio::time::{Instant, timeout, timeout_at};

use super::api_key::ApiKey;
use super::failure::unreachable;
use super::sse::{SseError, SseEvent, SseReader};
use super::{AnswerStream, ModelError, ModelErrorKind, StreamEvent};
use crate::limits::{ANSWER_DRAIN_MAX, ANSWER_SILENCE_MAX, ANSWER_TAIL_MAX};

/// Turns the events of a connection into those of an answer.
pub(super) trait StreamTranslation: Send {
    /// Reads the next event, and appends what it means.
    fn read(
        &mut self,
        event: &SseEvent,
        events: &mut VecDeque<StreamEvent>,
    ) -> Result<(), ModelError>;

    /// Nothing more comes. Appends what is missing, or says that the answer is not complete.
    fn end(&mut self, events: &mut VecDeque<StreamEvent>) -> Result<(), ModelError>;

    /// Whether all of the content has come, so that the answer can do without what may still come.
    fn has_content(&self) -> bool;
}

pub(super) struct ArrivingAnswer {
    /// `None` when nothing more is read from it.
    response: Option<OpenResponse>,
    reader: SseReader,
    /// Events of the connection that are not translated yet.
    arrived: VecDeque<SseEvent>,
    /// How the connection ended, behind them.
    end: Option<Result<(), ModelError>>,
    translation: Box<dyn StreamTranslation>,
    /// Events of the answer that are not handed on yet.
    translated: VecDeque<StreamEvent>,
    /// What is told behind them.
    error: Option<ModelError>,
    /// When to stop waiting for what the answer can do without.
    tail_until: Option<Instant>,
    key: ApiKey,
}

impl ArrivingAnswer {
    pub(super) fn new(
        response: OpenResponse,
        translation: Box<dyn StreamTranslation>,
        key: ApiKey,
    ) -> Self {
        Self { response: Some(response), ..Self::without_response(translation, key) }
    }

    /// An answer that came whole, as one event.
    pub(super) fn whole(
        data: String,
        translation: Box<dyn StreamTranslation>,
        key: ApiKey,
    ) -> Self {
        let event = SseEvent { name: String::new(), data };
        let arrived = VecDeque::from([event]);
        Self { arrived, end: Some(Ok(())), ..Self::without_response(translation, key) }
    }

    fn without_response(translation: Box<dyn StreamTranslation>, key: ApiKey) -> Self {
        Self {
            response: None,
            reader: SseReader::default(),
            arrived: VecDeque::new(),
            end: None,
            translation,
            translated: VecDeque::new(),
            error: None,
            tail_until: None,
            key,
        }
    }

    async fn next_event(&mut self) -> Option<Result<StreamEvent, ModelError>> {
        loop {
            if let Some(event) = self.translated.pop_front() {
                if event == StreamEvent::MessageStop {
                    self.finish();
                }
                return Some(Ok(event));
            }
            if let Some(error) = self.error.take() {
                self.stop();
                let reason = self.key.hide_in(&error.reason);
                return Some(Err(ModelError { reason, ..error }));
            }
            if let Some(event) = self.arrived.pop_front() {
                self.error = self.translation.read(&event, &mut self.translated).err();
                continue;
            }
            if let Some(end) = self.end.take() {
                self.response = None;
                let may_end = end.is_ok() || self.translation.has_content();
                self.error = match may_end {
                    true => self.translation.end(&mut self.translated).err(),
                    false => end.err(),
                };
                continue;
            }
            self.response.as_ref()?;
            self.read().await;
        }
    }

    /// Reads the next piece of the response.
    async fn read(&mut self) {
        let Some(response) = &mut self.response else { return };
        let mut until = Instant::now() + ANSWER_SILENCE_MAX;
        if self.translation.has_content() {
            until = *self.tail_until.get_or_insert_with(|| Instant::now() + ANSWER_TAIL_MAX);
        }
        let piece = match timeout_at(until, response.chunk()).await {
            Ok(Ok(Some(piece))) => piece,
            Ok(Ok(None)) => {
                self.end = Some(Ok(()));
                return;
            }
            Ok(Err(error)) => {
                let reason = format!("the connection broke within the answer: {error}");
                self.end = Some(Err(unreachable(reason)));
                return;
            }
            Err(_) => {
                let seconds = ANSWER_SILENCE_MAX.as_secs();
                let reason = format!("nothing more of the answer came for {seconds} seconds");
                self.end = Some(Err(unreachable(reason)));
                return;
            }
        };
        let mut events = Vec::new();
        let read = self.reader.push(piece.as_ref(), &mut events);
        self.arrived.extend(events);
        self.end = read.err().map(|error| Err(too_large(error)));
    }

    /// The answer is complete. The rest of the response, which is empty as a rule, is read beside what
    /// follows, so that the next request can use the same connection.
    fn finish(&mut self) {
        let response = self.response.take();
        self.stop();
        let Some(mut response) = response else { return };
        tokio::spawn(timeout(ANSWER_DRAIN_MAX, async move {
            while let Ok(Some(_)) = response.chunk().await {}
        }));
    }

    fn stop(&mut self) {
        self.arrived.clear();
        self.translated.clear();
        self.end = None;
        self.error = None;
        self.response = None;
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
