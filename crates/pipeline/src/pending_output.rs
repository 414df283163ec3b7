//! [`PendingOutput`]: hook output on its way to the agent.
//!
//! A piping hook may finish when no prompt is being built. Its output waits here, oldest first, until
//! [`PendingOutput::drain`] hands everything to the next prompt. What is left when all iterations are
//! over goes out in one last prompt. Tasks are completed while the agent works, so it is shared
//! ([`SharedOutput`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::Decision;

use crate::limits::PENDING_OUTPUT_BYTES_MAX;

/// What hooks had to say to the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingOutput {
    texts: Vec<Text>,
    bytes: usize,
    /// Bytes that found no room.
    left_out: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    text: String,
    /// The agent gets it as it is.
    raw: bool,
    /// A hook at the start of an iteration said it, and says it again when the iteration is done again.
    at_start: bool,
}

/// What stands above it in the prompt. Agents take raw output for a new task.
const FRAME: &str = "Output of this session's hooks since your last turn. It is no new task: use it \
                     where it matters for the task below, and mend what it says is broken.";

impl PendingOutput {
    /// Adds what one event's hooks had to say; nothing is nothing.
    pub fn push(&mut self, text: &str) {
        self.push_said(text, false);
    }

    fn push_said(&mut self, text: &str, at_start: bool) {
        if !text.trim().is_empty() {
            self.add(text, false, at_start);
        }
    }

    fn add(&mut self, text: &str, raw: bool, at_start: bool) {
        if text.is_empty() {
            return;
        }
        if self.left_out > 0 {
            // What is there has no gaps; all that is missing comes behind it.
            self.left_out += text.len();
            return;
        }
        let mut room = PENDING_OUTPUT_BYTES_MAX.saturating_sub(self.bytes).min(text.len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        let (kept, rest) = text.split_at(room);
        self.left_out += rest.len();
        self.bytes += kept.len();
        if !kept.is_empty() {
            self.texts.push(Text { text: kept.to_owned(), raw, at_start });
        }
    }

    /// Adds all that an event's hooks had to say to the agent.
    pub fn take_in(&mut self, decision: &Decision) {
        self.take_in_said(decision, &|_| false);
    }

    /// The same for the hooks at the start of an iteration. `late` is what hooks of earlier events said
    /// and was handed out there.
    pub(crate) fn take_in_at_start(&mut self, decision: &Decision, late: &[String]) {
        self.take_in_said(decision, &|context| !late.iter().any(|late| late == context));
    }

    fn take_in_said(&mut self, decision: &Decision, is_at_start: &dyn Fn(&str) -> bool) {
        let piped = &decision.piped_output;
        match decision.piped_raw {
            true => self.add(piped, true, is_at_start(piped)),
            false => self.push_said(piped, is_at_start(piped)),
        }
        for context in &decision.additional_context {
            self.push_said(context, is_at_start(context));
        }
    }

    /// Forgets what hooks at the start of an iteration said.
    pub(crate) fn forget_start(&mut self) {
        self.texts.retain(|text| !text.at_start);
        self.bytes = self.texts.iter().map(|text| text.text.len()).sum();
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.left_out == 0
    }

    /// Whether all that waits is raw, so that nothing of ours may stand around it.
    pub fn is_raw(&self) -> bool {
        self.left_out == 0 && self.texts.iter().all(|text| text.raw)
    }

    /// Everything, in one block, and nothing is left.
    pub fn drain(&mut self) -> Option<String> {
        let block = self.block();
        *self = Self::default();
        block
    }

    /// Everything, in one block: what is raw as it is, joined by a line's end, and the rest framed.
    pub fn block(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let parts = self.texts.chunk_by(|one, next| one.raw == next.raw).map(|texts| {
            let is_raw = texts[0].raw;
            let texts = texts.iter().map(|text| text.text.as_str());
            match is_raw {
                true => texts.collect::<Vec<_>>().join("\n"),
                false => {
                    let texts: Vec<&str> = texts.map(str::trim_end).collect();
                    format!("{FRAME}\n\n{}", texts.join("\n\n"))
                }
            }
        });
        let mut block = parts.collect::<Vec<_>>().join("\n\n");
        if self.left_out > 0 {
            let bytes = self.left_out;
            block.push_str(&format!("\n\n[{bytes} bytes of later output were left out]"));
        }
        Some(block)
    }

    pub(crate) fn put_before(&mut self, mut earlier: Self) {
        std::mem::swap(self, &mut earlier);
        self.put_behind(earlier);
    }

    pub(crate) fn put_behind(&mut self, later: Self) {
        for text in &later.texts {
            self.add(&text.text, text.raw, text.at_start);
        }
        self.left_out += later.left_out;
    }
}

/// The same for everybody who has something to add: all see one buffer.
#[derive(Debug, Clone, Default)]
pub struct SharedOutput(Arc<Mutex<PendingOutput>>);

impl From<PendingOutput> for SharedOutput {
    fn from(pending: PendingOutput) -> Self {
        Self(Arc::new(Mutex::new(pending)))
    }
}

impl SharedOutput {
    /// Adds what one event's hooks had to say; nothing is nothing.
    pub fn push(&self, text: &str) {
        self.pending().push(text);
    }

    /// Adds all that an event's hooks had to say to the agent.
    pub fn take_in(&self, decision: &Decision) {
        self.pending().take_in(decision);
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.pending().is_empty()
    }

    /// Whether all that waits is raw, so that nothing of ours may stand around it.
    pub fn is_raw(&self) -> bool {
        self.pending().is_raw()
    }

    /// Everything, in one block, and nothing is left.
    pub fn drain(&self) -> Option<String> {
        self.pending().drain()
    }

    /// Everything, in one block.
    pub fn block(&self) -> Option<String> {
        self.pending().block()
    }

    fn pending(&self) -> MutexGuard<'_, PendingOutput> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_it_adds_to_the_same_and_it_is_drained_once() {
        let one = SharedOutput::from(PendingOutput::default());
        let other = one.clone();
        one.push("first");
        other.push("second");
        assert!(one.drain().expect("something waits").ends_with("\n\nfirst\n\nsecond"));
        assert_eq!((other.drain(), other.is_empty()), (None, true));
    }

    #[test]
    fn it_waits_in_order_is_framed_and_drained_once() {
        let mut pending = PendingOutput::default();
        assert_eq!(pending.drain(), None);
        pending.push("first\n");
        pending.push(" \n");
        pending.push("second");
        let block = pending.drain().expect("something waits");
        assert!(block.starts_with("Output of this session's hooks"), "{block}");
        assert!(
            block.ends_with("below, and mend what it says is broken.\n\nfirst\n\nsecond"),
            "{block}"
        );
        assert!(pending.is_empty());
    }

    #[test]
    fn raw_output_stands_there_as_it_is_joined_by_a_lines_end() {
        let mut pending = PendingOutput::default();
        let decision = |text: &str, raw: bool| Decision {
            piped_output: text.to_owned(),
            piped_raw: raw,
            ..Decision::default()
        };
        pending.take_in(&decision("first\n", true));
        pending.take_in(&decision("", true));
        pending.take_in(&decision("\n[stderr]\ne\n", true));
        assert_eq!(pending.block().as_deref(), Some("first\n\n\n[stderr]\ne\n"));
        assert!(pending.is_raw());
        pending.take_in(&decision("native\n", false));
        assert!(!pending.is_raw());
        let block = pending.drain().expect("something waits");
        assert_eq!(block, format!("first\n\n\n[stderr]\ne\n\n\n{FRAME}\n\nnative"));
    }

    #[test]
    fn beyond_the_limit_it_is_counted() {
        let mut pending = PendingOutput::default();
        pending.push(&"x".repeat(PENDING_OUTPUT_BYTES_MAX - 4));
        pending.push("alléés");
        pending.push("too much");
        let block = pending.drain().expect("something waits");
        // A character is kept whole or not at all.
        assert!(block.ends_with("x\n\nall\n\n[13 bytes of later output were left out]"));
    }
}
