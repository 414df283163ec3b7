//! [`PendingOutput`]: hook output on its way to the agent.
//!
//! A piping hook may finish when no prompt is being built. Its output waits here, oldest first,
//! until [`PendingOutput::drain`] hands everything to the next prompt. What is left after all
//! iterations is delivered once more if necessary ([`PendingOutput::last`]). Tasks are completed
//! while the agent works, so it is shared ([`SharedOutput`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{Decision, EventName};

use crate::limits::PENDING_OUTPUT_BYTES_MAX;

/// Hook output for the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingOutput {
    texts: Vec<Text>,
    bytes: usize,
    /// Bytes that did not fit.
    left_out: usize,
    /// Some of those must reach the agent.
    left_out_must_reach: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    text: String,
    /// The agent gets it unchanged.
    raw: bool,
    /// A hook at the start of an iteration printed it, and prints it again when the iteration is
    /// repeated.
    at_start: bool,
    /// It is more than news of a success: the agent gets it even after all iterations.
    must_reach: bool,
}

/// What to do with hook output after all iterations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Last {
    /// There is none, or only news of a success.
    #[default]
    Nothing,
    /// Only raw output must be delivered.
    Raw,
    /// The agent must be told of a failure.
    Failure,
}

/// Precedes the output in the prompt: without it agents read output as a new task.
const FRAME: &str = "Output of this session's hooks since your last turn. This is not a new task: \
     use it where it matters for the task below, and fix what it says is broken.";

impl PendingOutput {
    /// Adds the output of one event's hooks; empty text adds nothing.
    pub fn push(&mut self, text: &str) {
        self.push_said(text, false, false);
    }

    fn push_said(&mut self, text: &str, at_start: bool, must_reach: bool) {
        if !text.trim().is_empty() {
            let text = text.to_owned();
            self.add(Text { text, raw: false, at_start, must_reach });
        }
    }

    fn add(&mut self, mut added: Text) {
        let all = added.text.len();
        // The kept part has no gaps; everything that is missing comes after it.
        let room = match self.left_out {
            0 => PENDING_OUTPUT_BYTES_MAX.saturating_sub(self.bytes).min(all),
            _ => 0,
        };
        added.text.truncate(added.text.floor_char_boundary(room));
        let kept = added.text.len();
        self.left_out += all - kept;
        self.left_out_must_reach |= kept < all && (added.must_reach || added.raw);
        self.bytes += kept;
        if kept > 0 {
            self.texts.push(added);
        }
    }

    /// Adds all output of a decision's hooks for the agent at this event.
    pub fn take_in(&mut self, decision: &Decision, event: Option<&EventName>) {
        // The agent must get everything that hooks say about a failed iteration.
        let must_reach = decision.must_reach_agent || event == Some(&EventName::ITERATION_ERROR);
        self.take_in_said(decision, must_reach, &|_| false);
    }

    /// The same for the hooks at the start of an iteration. `late` is output of hooks of earlier
    /// events that was handed out there.
    pub(crate) fn take_in_at_start(&mut self, decision: &Decision, late: &[String]) {
        let is_at_start = |context: &str| !late.iter().any(|late| late == context);
        self.take_in_said(decision, decision.must_reach_agent, &is_at_start);
    }

    fn take_in_said(
        &mut self,
        decision: &Decision,
        must_reach: bool,
        is_at_start: &dyn Fn(&str) -> bool,
    ) {
        let piped = &decision.piped_output;
        let at_start = is_at_start(piped);
        match decision.piped_raw {
            true => self.add(Text { text: piped.clone(), raw: true, at_start, must_reach }),
            false => self.push_said(piped, at_start, must_reach),
        }
        for context in &decision.additional_context {
            self.push_said(context, is_at_start(context), must_reach);
        }
    }

    /// Removes the output of hooks at the start of an iteration.
    pub(crate) fn forget_start(&mut self) {
        self.texts.retain(|text| !text.at_start);
        self.bytes = self.counted();
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.left_out == 0
    }

    /// What to do with it after all iterations.
    pub fn last(&self) -> Last {
        let is_failure = |text: &Text| text.must_reach && !text.raw;
        if self.left_out_must_reach || self.texts.iter().any(is_failure) {
            return Last::Failure;
        }
        match self.texts.iter().any(|text| text.raw) {
            true => Last::Raw,
            false => Last::Nothing,
        }
    }

    /// The first lines of what the agent should have received.
    pub(crate) fn headlines(&self) -> impl Iterator<Item = &str> {
        let must_reach = self.texts.iter().filter(|text| text.must_reach || text.raw);
        must_reach.filter_map(|text| text.text.lines().find(|line| !line.is_empty()))
    }

    /// Removes and returns everything, in one block.
    pub fn drain(&mut self) -> Option<String> {
        let block = self.block();
        *self = Self::default();
        block
    }

    /// Removes the raw output.
    pub(crate) fn drain_raw(&mut self) -> Self {
        let is_raw = |text: &mut Text| text.raw;
        let raw = Self { texts: self.texts.extract_if(.., is_raw).collect(), ..Self::default() };
        let raw = Self { bytes: raw.counted(), ..raw };
        self.bytes = self.counted();
        raw
    }

    fn counted(&self) -> usize {
        self.texts.iter().map(|text| text.text.len()).sum()
    }

    /// The raw output, unchanged.
    pub fn raw_block(&self) -> Option<String> {
        self.clone().drain_raw().block()
    }

    /// Everything in one block: raw output unchanged, joined by a line end, and the rest framed.
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
        for text in later.texts {
            self.add(text);
        }
        self.left_out += later.left_out;
        self.left_out_must_reach |= later.left_out_must_reach;
    }
}

/// A shared buffer: clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedOutput(Arc<Mutex<PendingOutput>>);

impl From<PendingOutput> for SharedOutput {
    fn from(pending: PendingOutput) -> Self {
        Self(Arc::new(Mutex::new(pending)))
    }
}

impl SharedOutput {
    pub(crate) fn lock(&self) -> MutexGuard<'_, PendingOutput> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Conformance: iteratr-025
    #[test]
    fn shared_output_is_collected_in_one_place_and_drained_once() {
        let one = SharedOutput::from(PendingOutput::default());
        let other = one.clone();
        one.lock().push("first");
        other.lock().push("second");
        assert!(one.lock().drain().expect("something waits").ends_with("\n\nfirst\n\nsecond"));
        assert_eq!(other.lock().drain(), None);
        assert!(other.lock().is_empty());
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
            block.ends_with("below, and fix what it says is broken.\n\nfirst\n\nsecond"),
            "{block}"
        );
        assert!(pending.is_empty());
    }

    // Conformance: iteratr-015
    #[test]
    fn raw_output_stays_unchanged_and_is_joined_by_a_line_end() {
        let mut pending = PendingOutput::default();
        let decision = |text: &str, raw: bool| Decision {
            piped_output: text.to_owned(),
            piped_raw: raw,
            ..Decision::default()
        };
        let event = Some(&EventName::ITERATION_COMPLETE);
        pending.take_in(&decision("first\n", true), event);
        pending.take_in(&decision("", true), event);
        pending.take_in(&decision("\n[stderr]\ne\n", true), event);
        assert_eq!(pending.block().as_deref(), Some("first\n\n\n[stderr]\ne\n"));
        pending.take_in(&decision("native\n", false), event);
        assert_eq!(pending.raw_block().as_deref(), Some("first\n\n\n[stderr]\ne\n"));
        let block = pending.block().expect("something waits");
        assert_eq!(block, format!("first\n\n\n[stderr]\ne\n\n\n{FRAME}\n\nnative"));
        // Output that is not raw keeps waiting.
        pending.drain_raw();
        assert_eq!(pending.drain(), Some(format!("{FRAME}\n\nnative")));
    }

    #[test]
    fn after_the_last_iteration_failures_are_delivered_raw_output_is_and_news_of_success_is_not() {
        let said = |piped: &str, context: &[&str], raw: bool, failed: bool| Decision {
            piped_output: piped.to_owned(),
            additional_context: context.iter().map(|text| (*text).to_owned()).collect(),
            piped_raw: raw,
            must_reach_agent: failed,
            ..Decision::default()
        };
        let complete = &EventName::ITERATION_COMPLETE;
        for (last, told) in [
            (Last::Nothing, vec![]),
            (Last::Nothing, vec![(said("12 passed", &["seen"], false, false), complete)]),
            (Last::Nothing, vec![(said("", &[], true, true), complete)]),
            (Last::Failure, vec![(said("1 failed", &[], false, true), complete)]),
            (Last::Failure, vec![(said("", &["no"], false, true), &EventName::SESSION_STOP)]),
            (Last::Failure, vec![(said("look", &[], false, false), &EventName::ITERATION_ERROR)]),
            (Last::Raw, vec![(said("12 passed", &[], true, false), complete)]),
            (Last::Raw, vec![(said("raw", &[], true, false), &EventName::ITERATION_ERROR)]),
            (
                Last::Raw,
                vec![
                    (said("12 passed", &[], false, false), complete),
                    (said("raw", &[], true, false), complete),
                ],
            ),
            (
                Last::Failure,
                vec![
                    (said("raw", &[], true, false), complete),
                    (said("1 failed", &[], false, true), complete),
                ],
            ),
        ] {
            let mut pending = PendingOutput::default();
            told.iter().for_each(|(decision, event)| pending.take_in(decision, Some(event)));
            assert_eq!(pending.last(), last, "{told:?}");
        }
    }

    #[test]
    fn a_failure_that_found_no_room_is_delivered_all_the_same() {
        let mut pending = PendingOutput::default();
        pending.push(&"x".repeat(PENDING_OUTPUT_BYTES_MAX));
        assert_eq!(pending.last(), Last::Nothing);
        let piped_output = "1 failed".to_owned();
        let failed = Decision { piped_output, must_reach_agent: true, ..Decision::default() };
        pending.take_in(&failed, Some(&EventName::ITERATION_COMPLETE));
        let mut moved = PendingOutput::default();
        moved.put_before(pending);
        assert_eq!(moved.last(), Last::Failure);
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
