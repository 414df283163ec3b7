//! What holds for any bytes that a server of chat completions sends.

use std::collections::{HashSet, VecDeque};

use hookwright_agent::message::{Block, Message};
use hookwright_agent::model::chat_completions::chunks::ChunkTranslation;
use hookwright_agent::model::collect::Collector;
use hookwright_agent::model::sse::SseReader;
use hookwright_agent::model::{ModelAnswer, ModelError, ModelErrorKind, StreamEvent};

/// An id that the conversation has already.
const USED_ID: &str = "used";

/// The translation of a stream does not depend on how it is cut, its events follow the protocol of answers, and
/// no stream makes an answer that cannot be sent back. The first byte says how it is cut.
pub(crate) fn holds(data: &[u8]) {
    let Some((cuts, stream)) = data.split_first() else { return };
    let whole = translated(stream, stream.len());
    assert_eq!(translated(stream, 1), whole, "byte by byte");
    let step = usize::from(*cuts) + 1;
    assert_eq!(translated(stream, step), whole, "{step} bytes at a time");
    let (events, end) = whole;
    let mut collector = Collector::default();
    for event in &events {
        // A call whose name is missing ends the answer; everything else is in order.
        collector.push(event).expect("what is handed on follows the protocol");
    }
    match (end, collector.finish()) {
        (Ok(()), Ok(answer)) => can_be_sent_back(&answer),
        (Ok(()), Err(error)) => panic!("a complete answer is no answer: {error}"),
        (Err(_), Ok(answer)) => panic!("half an answer would run tools: {answer:?}"),
        (Err(error), Err(_)) => {
            assert!(!error.reason.is_empty());
            assert!(error.kind != ModelErrorKind::NoKey, "{error}");
        }
    }
}

/// The events of an answer that arrives in pieces of so many bytes, and how it ends.
fn translated(stream: &[u8], step: usize) -> (Vec<StreamEvent>, Result<(), ModelError>) {
    let used = Block::ToolUse { id: USED_ID.into(), name: "x".into(), input: Default::default() };
    let mut translation = ChunkTranslation::new("m", &[Message::assistant(vec![used])], 1);
    let mut reader = SseReader::with_limits(crate::model_stream::LIMITS);
    let mut events = VecDeque::new();
    let end = (|| {
        for piece in stream.chunks(step.max(1)) {
            let mut arrived = Vec::new();
            let read = reader.push(piece, &mut arrived);
            for event in &arrived {
                translation.read(event, &mut events)?;
            }
            if read.is_err() {
                break;
            }
        }
        translation.end(&mut events)
    })();
    (events.into(), end)
}

fn can_be_sent_back(answer: &ModelAnswer) {
    let mut ids = HashSet::from([USED_ID.to_owned()]);
    for block in &answer.content {
        match block {
            Block::Text { text } => assert!(!text.trim().is_empty(), "a text says something"),
            Block::ToolUse { id, name, .. } => {
                assert!(!id.is_empty() && !name.is_empty());
                assert!(ids.insert(id.clone()), "two calls have the id {id}");
            }
            Block::Thinking { signature, .. } => assert!(signature.is_empty()),
            Block::RedactedThinking { .. } | Block::ToolResult { .. } => panic!("{block:?}"),
        }
    }
    for (id, why) in &answer.broken_inputs {
        assert!(ids.contains(id) && !why.is_empty(), "a broken input belongs to a call");
    }
    let counts = answer.usage;
    assert!(answer.stop_reason.is_some() && counts.cache_creation_input_tokens == 0);
}
