//! Looking on while a command runs.

use std::time::Duration;

use hookwright_events::{Outcome, Output, ProcessOutcome, Status};
use hookwright_process::{Captured, Leader, OutputFilter, Stream, Watch};
use tokio::sync::SemaphorePermit;

use super::super::telling::Telling;
use super::super::{ActionNews, HookAttempt};
use crate::answer;
use crate::limits::ASYNC_LINE_BYTES_MAX;
use crate::policy::At;

/// Looks on while the command runs: the first line may turn it into a background one.
pub(super) struct ShellWatch<'a> {
    attempt: &'a HookAttempt,
    telling: Telling<'a>,
    /// What has come of the first line; `None` once it is known not to matter.
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
            telling: Telling::new(&attempt.hook.id, &attempt.run_id, news),
            first_line: attempt.terms.awaited.then(Vec::new),
            went_async: false,
            slot,
        }
    }

    fn go_async(&mut self) {
        self.went_async = true;
        // Guards must not wait for what nothing waits for. If all other places are taken, it keeps
        // its own: the number of children stays bounded.
        if let Some(slot) = self.attempt.surroundings.slots.move_to_background() {
            self.slot = slot;
        }
        self.telling.news.went_async(None);
    }
}

impl Watch for ShellWatch<'_> {
    fn filter(&mut self, _stream: Stream) -> Option<Box<dyn OutputFilter>> {
        self.attempt.surroundings.secrets.filter()
    }

    fn started(&mut self, leader: &Leader) {
        self.telling.started(leader);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        self.telling.printed(stream, bytes);
        if stream == Stream::Stderr {
            return None;
        }
        let line = self.first_line.as_mut()?;
        line.extend_from_slice(&bytes[..bytes.len().min(ASYNC_LINE_BYTES_MAX)]);
        // Judged whole or not at all: how a command's writes are split must not matter.
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

    /// Only what nothing can undo is enough: a deny or an end.
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
