//! Watches a command while it runs.

use std::time::Duration;

use hookwright_events::{Outcome, Output, ProcessOutcome, Status};
use hookwright_process::{Captured, Leader, OutputFilter, Stream, Watch};
use tokio::sync::SemaphorePermit;

use super::super::child_news::ChildNews;
use super::super::{ActionNews, HookAttempt};
use crate::answer;
use crate::limits::ASYNC_LINE_BYTES_MAX;
use crate::policy::At;

/// Watches a running command: its first line may move it to the background.
pub(super) struct ShellWatch<'a> {
    attempt: &'a HookAttempt,
    child_news: ChildNews<'a>,
    /// The first line so far; `None` once it is known not to matter.
    first_line: Option<Vec<u8>>,
    went_async: bool,
    slot: SemaphorePermit<'a>,
}

impl<'a> ShellWatch<'a> {
    pub(super) fn new(
        attempt: &'a HookAttempt,
        news: &'a mut dyn ActionNews,
        slot: SemaphorePermit<'a>,
    ) -> Self {
        Self {
            attempt,
            child_news: ChildNews::new(&attempt.hook.id, &attempt.run_id, news),
            first_line: attempt.terms.awaited.then(Vec::new),
            went_async: false,
            slot,
        }
    }

    fn go_async(&mut self) {
        self.went_async = true;
        // Guards must not wait for slots of background hooks. If no background slot is free, the
        // command keeps its own, so the number of children stays bounded.
        if let Some(slot) = self.attempt.surroundings.slots.move_to_background() {
            self.slot = slot;
        }
        self.child_news.news.went_async(None);
    }
}

impl Watch for ShellWatch<'_> {
    fn filter(&mut self, _stream: Stream) -> Option<Box<dyn OutputFilter>> {
        self.attempt.surroundings.secrets.filter()
    }

    fn started(&mut self, leader: &Leader) {
        self.child_news.started(leader);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        self.child_news.printed(stream, bytes);
        if stream == Stream::Stderr {
            return None;
        }
        let line = self.first_line.as_mut()?;
        line.extend_from_slice(&bytes[..bytes.len().min(ASYNC_LINE_BYTES_MAX)]);
        // The line is read only when complete: how a command's writes are split must not matter.
        let Some(end) = line.iter().position(|byte| *byte == b'\n') else {
            if line.len() >= ASYNC_LINE_BYTES_MAX {
                self.first_line = None;
            }
            return None;
        };
        let unit = self.attempt.policy.async_unit;
        let line = std::str::from_utf8(&line[..end]).ok();
        let more_time = line.and_then(|line| answer::async_for(line, unit));
        self.first_line = None;
        if more_time.is_some() {
            self.go_async();
        }
        more_time
    }

    /// Whether the output already contains a deny or a stop, which nothing can undo.
    fn enough(&mut self, stdout: &Captured) -> bool {
        if self.went_async {
            return false;
        }
        let output = Output {
            stdout: stdout.text().into_owned(),
            stdout_left_out: stdout.left_out(),
            ..Output::default()
        };
        let at = At {
            event: &self.attempt.event,
            power: self.attempt.power,
            awaited: self.attempt.terms.awaited,
        };
        let meaning = self
            .attempt
            .policy
            .wire
            .meaning(&Outcome::Process(ProcessOutcome::Exited { code: 0, output }), at);
        meaning.answer.stop || meaning.status == Status::Blocked
    }
}
