//! What holds for any bytes that a model's server sends.

use std::collections::HashSet;

use hookwright_agent::message::Block;
use hookwright_agent::model::collect::Collector;
use hookwright_agent::model::sse::{SseError, SseEvent, SseLimits, SseReader};
use hookwright_agent::model::{ModelAnswer, ModelError, read_event};

/// Small, so that made-up inputs reach them.
pub(crate) const LIMITS: SseLimits = SseLimits { event_bytes: 600, answer_bytes: 3000 };

/// The events of a stream do not depend on how it is cut into pieces, and no stream makes an answer that
/// cannot be sent back. The first byte says how it is cut.
pub(crate) fn holds(data: &[u8]) {
    let Some((cuts, stream)) = data.split_first() else { return };
    let whole = read(stream, LIMITS, |rest| rest);
    assert_eq!(read(stream, LIMITS, |_| 1), whole, "byte by byte");
    let step = usize::from(*cuts) + 1;
    assert_eq!(read(stream, LIMITS, |_| step), whole, "{step} bytes at a time");
    let mut size = 0;
    let growing = read(stream, LIMITS, |_| {
        size += 1;
        size
    });
    assert_eq!(growing, whole, "pieces that grow");
    for event in &whole.0 {
        assert!(event.data.len() + event.name.len() <= 3 * LIMITS.event_bytes);
    }
    if let Ok(answer) = collected(&whole.0) {
        can_be_sent_back(&answer);
    }
}

/// All events, and why there are no more, if pieces have the size that `size` names for so much rest.
pub(crate) fn read(
    stream: &[u8],
    limits: SseLimits,
    mut size: impl FnMut(usize) -> usize,
) -> (Vec<SseEvent>, Result<(), SseError>) {
    let mut reader = SseReader::with_limits(limits);
    let mut events = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(size(rest.len()).clamp(1, rest.len()));
        if let Err(error) = reader.push(piece, &mut events) {
            return (events, Err(error));
        }
        rest = more;
    }
    (events, Ok(()))
}

fn collected(events: &[SseEvent]) -> Result<ModelAnswer, ModelError> {
    let mut collector = Collector::default();
    for event in events {
        collector.push(&read_event(&event.data, "m")?)?;
    }
    collector.finish()
}

fn can_be_sent_back(answer: &ModelAnswer) {
    let mut ids = HashSet::new();
    for block in &answer.content {
        match block {
            Block::Text { text } => assert!(!text.trim().is_empty(), "a text says something"),
            Block::ToolUse { id, name, .. } => {
                assert!(!id.is_empty() && !name.is_empty());
                assert!(ids.insert(id.clone()), "two calls have the id {id}");
            }
            Block::Thinking { .. } | Block::RedactedThinking { .. } => {}
            Block::ToolResult { .. } => panic!("a model has no results"),
        }
    }
    for (id, why) in &answer.broken_inputs {
        assert!(ids.contains(id) && !why.is_empty(), "a broken input belongs to a call");
    }
}
