//! What the end of a session means when it is resumed.
//!
//! | the session | when it is resumed |
//! |---|---|
//! | failed | repeats the failed iteration, from `iteration:start` on |
//! | was aborted by a hook | continues after that hook, with the other hooks of that point; a question is asked again |
//! | was aborted at its end | comes to the same end |
//! | was interrupted at work | continues with the work in progress |
//! | was interrupted at its end | comes to the same end: `session:end` is not fired again |

use hookwright_events::firing_key::{ClosingEvent, IterationEvent};
use hookwright_events::{FiringKey, Point, SessionStatus};

use super::{History, PastItem};

/// Whether this is the key of the last event of a completed session, also if it is fired again for
/// hooks that were kept from running.
pub(super) fn is_completed_end(key: &FiringKey) -> bool {
    let (event, status) = (ClosingEvent::SessionEnd, SessionStatus::Completed);
    matches!(key.point, Point::Closing { event: e, status: s, .. } if (e, s) == (event, status))
}

impl History {
    /// Whether the session had done its work, so that only the hooks of its end are left.
    pub(crate) fn is_at_its_end(&self) -> bool {
        let (event, status) = (ClosingEvent::SessionEnd, SessionStatus::Completed);
        let end = Point::Closing { event, endings: self.endings, status, resumes: None };
        !self.is_interrupted && self.firings_by_key.contains_key(&end.into())
    }

    /// An interrupted session whose last hooks were killed has still ended: when it is resumed, its
    /// work continues, and it ends once more later.
    pub(crate) fn end_interrupted(&mut self) {
        if self.is_interrupted {
            self.end(SessionStatus::Interrupted);
        }
    }

    pub(super) fn end(&mut self, status: SessionStatus) {
        self.is_interrupted = false;
        self.endings += 1;
        self.availability.start_over();
        self.forgive();
        self.redo_last(status);
    }

    /// Makes sure that what ended the session does not end it again when it is resumed.
    fn forgive(&mut self) {
        self.leave_behind();
        // It had no effect yet, so it is asked again.
        if let Some(key) = self.asked_to_stop.take() {
            self.firings_by_key.remove(&key);
        }
        for turn in self.turns.values_mut() {
            let result = turn.result.as_ref();
            turn.is_forgiven = result.is_some_and(|result| result.error.is_some());
        }
    }

    /// Repeats the last iteration if it failed: it had no result, and nothing came after it.
    fn redo_last(&mut self, status: SessionStatus) {
        let mut iterations = self.turns.iter_mut().filter(|(name, _)| name.iteration > 0);
        let Some((name, last)) = iterations.next_back() else { return };
        let ended = self.stages_ended.get(&name.stage);
        if ended.is_some_and(|stage| name.iteration <= stage.iterations) {
            return;
        }
        // The end of a work item is final.
        let is_settled =
            |past: &PastItem| past.ended.is_some() && past.last_iteration >= name.iteration;
        let mut items = self.items.range((name.stage, 0)..=(name.stage, u32::MAX));
        if items.any(|(_, past)| is_settled(past)) {
            return;
        }
        // After an interrupt the hooks may still have something to say about the failure.
        let key = FiringKey::from(Point::Iteration {
            event: IterationEvent::Error,
            stage: name.stage as usize - 1,
            iteration: name.iteration,
            redone: last.redone,
        });
        let is_given_up = self
            .firings_by_key
            .get(&key)
            .is_some_and(|known| known.verdict.is_some() && !known.survives);
        if matches!(status, SessionStatus::Interrupted | SessionStatus::Paused) && !is_given_up {
            return;
        }
        let result = last.result.take_if(|result| result.error.is_some() && !result.out_of_time);
        if let Some(error) = result.and_then(|result| result.error) {
            last.redone += 1;
            last.failed_before = Some(error);
            last.is_forgiven = false;
            // It gets the same output again; the hooks at its start run again and add their own.
            if let Some((_, mut given)) = self.failed_with.take_if(|(failed, _)| failed == name) {
                given.forget_start();
                self.pending.put_before(given);
            }
        }
    }
}
