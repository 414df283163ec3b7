//! [`Timeline`]: a session's journal for people: stages, their iterations, and the hooks at each.
//!
//! It is a view of [`SessionState`]. The journal goes in one entry at a time, and parts come out as
//! soon as they are complete: an iteration when it is over, with everything in it; if that is very
//! much, the middle is only counted. So memory stays constant however long a session is.

mod entry;
mod last_lines;
mod open_parts;
mod part;
mod question;
mod timeline_event;

use std::fmt;

use hookwright_events::{
    Decision, EventName, FiringEvent, FiringKey, Point, Report, RunEvent, RunEventKind,
    SessionEvent, Status, TurnEvent, Usage,
};

use crate::record::{Pause, milliseconds};
use crate::session_state::{EndedParts, OpenCall, OpenQuestion, RunningHook, SessionState};
pub use entry::read_entry;
use last_lines::PrintedLines;
use open_parts::{ItemEnd, OpenParts};
pub use part::{Iteration, IterationState, Milestone, Part};
pub use timeline_event::{HookRun, QuestionState, TimelineEvent};

/// Divides a journal into parts: a view of the session's state and of what each event ends.
#[derive(Clone, Default)]
pub struct Timeline {
    state: SessionState,
    parts: OpenParts,
    /// Output of hooks that have ended and were not reported.
    printed: PrintedLines,
}

/// Shows what grows with the work in progress. The page measures the size of a copy by it.
impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionState { record, hooks, questions, firings, .. } = &self.state;
        f.debug_struct("Timeline")
            .field("stages", &record.stages)
            .field("hooks", hooks)
            .field("questions", questions)
            .field("firings", firings)
            .field("parts", &self.parts)
            .field("printed", &self.printed)
            .finish_non_exhaustive()
    }
}

impl Timeline {
    /// Applies the next entry; returns the parts that are complete now.
    pub fn see(&mut self, event: RunEvent) -> Vec<Part> {
        let closed = self.state.apply(&event);
        let RunEvent { firing, at, kind, .. } = event;
        match kind {
            RunEventKind::Firing(happened) => self.see_firing(firing, at, happened, closed),
            RunEventKind::Turn(happened) => self.see_turn(at, happened, closed),
            RunEventKind::Session(happened) => self.see_session(at, happened, closed),
        }
        std::mem::take(&mut self.parts.whole)
    }

    /// What is left when the journal has no more entries: it is in progress if the session runs,
    /// and was interrupted otherwise.
    pub fn finish(mut self, runs: bool) -> Vec<Part> {
        let open = self.state.close();
        self.leave(open, if runs { Left::Running } else { Left::Ended });
        self.parts.whole
    }

    /// What [`Timeline::finish`] would return, while the journal continues.
    pub fn under_way(&self, runs: bool) -> Vec<Part> {
        self.small_copy().finish(runs)
    }

    /// A copy for reading further entries, small however long the session is: of firings it knows
    /// only those of hooks and questions in progress. Others have to be added by
    /// [`Timeline::recall`] before it reads an entry of theirs.
    #[must_use]
    pub fn small_copy(&self) -> Self {
        let (parts, printed) = (self.parts.clone(), self.printed.clone());
        Self { state: self.state.small_copy(), parts, printed }
    }

    /// Whether a firing had been seen when this small copy was made. If not, the copy reads about
    /// it itself.
    #[must_use]
    pub fn had_seen(&self, firing: u64, copy: &Self) -> bool {
        self.state.firings.had_seen(firing, &copy.state.firings)
    }

    /// Adds a firing to a small copy; `false` if the copy has it already.
    pub fn recall(&self, firing: u64, copy: &mut Self) -> bool {
        self.state.firings.recall(firing, &mut copy.state.firings)
    }

    /// The usage of all agents so far, as far as they report it, including children.
    pub fn used(&self) -> Option<Usage> {
        self.state.record.usage.map(Usage::from)
    }

    fn see_session(&mut self, at: String, happened: SessionEvent, closed: EndedParts) {
        match happened {
            // Where it waits is told by its record.
            SessionEvent::SessionSubmitted { .. } => {}
            SessionEvent::SessionStarted { plan, stages, .. } => {
                self.parts.reach(Milestone::SessionBegan { at, plan, stages });
            }
            SessionEvent::SessionResumed { time, .. } => {
                self.leave(closed, Left::Ended);
                self.parts.reach(Milestone::SessionResumed { at, time });
            }
            SessionEvent::StageStarted { stage, index, iterations_max } => {
                self.parts.end_iteration();
                self.parts.begin_stage(at, stage, index, Some(iterations_max));
            }
            SessionEvent::ItemStarted { stage, execution, item } => {
                self.parts.begin_item(at, stage, execution, item, &self.state);
            }
            SessionEvent::ItemEnded {
                stage,
                execution,
                state,
                reason,
                iterations,
                duration_ms,
                ..
            } => {
                let end = ItemEnd { state, reason, iterations, duration_ms };
                self.parts.see_item_end(&at, stage, execution, end, &self.state);
            }
            SessionEvent::StageEnded { stage, index, reason, iterations } => {
                self.parts.see_stage_end(at, stage, index, reason, iterations);
            }
            SessionEvent::SessionEnded { status, reason } => {
                self.leave(closed, Left::Ended);
                let usage = self.used();
                self.parts.reach(Milestone::SessionEnded { at, status, reason, usage });
            }
            SessionEvent::Paused { .. } => self.end_pause(closed.pause, None),
            SessionEvent::Continued {} => self.end_pause(closed.pause, Some(&at)),
            SessionEvent::TreeKept { .. } => {}
            SessionEvent::Noted { note } => self.parts.add(TimelineEvent::Note { note }),
        }
    }

    fn see_turn(&mut self, at: String, happened: TurnEvent, closed: EndedParts) {
        match happened {
            TurnEvent::CallEnded { tool, what, outcome, reason, duration_ms, .. } => {
                let (status, duration_ms) = (outcome.as_str(), Some(duration_ms));
                self.parts.add(TimelineEvent::Call { tool, what, status, reason, duration_ms });
                return;
            }
            TurnEvent::QuestionAnswered { allowed, words, .. } => {
                for OpenCall { tool, what, .. } in closed.calls {
                    let (allowed, words) = (Some(allowed), words.clone());
                    self.parts.add(TimelineEvent::CallQuestion { tool, what, allowed, words });
                }
                return;
            }
            _ => self.leave_calls(closed.calls, "cut_off"),
        }
        match happened {
            TurnEvent::TurnStarting { turn, attempt, agent, .. } => {
                self.parts.begin_turn(at, turn, attempt, agent, &self.state);
            }
            TurnEvent::TurnEnded { turn, attempt, result, duration_ms } => {
                self.parts.end_turn(at, turn, attempt, result, duration_ms, &self.state);
            }
            TurnEvent::TurnGivenUp { agent, cause, reason, usage, duration_ms, .. } => {
                let deed = TimelineEvent::GivenUp { agent, cause, reason, duration_ms };
                self.parts.give_up_turn(deed, usage);
            }
            TurnEvent::AgentChanged { from, to, reason } => {
                self.parts.add(TimelineEvent::AgentChanged { from, to, reason });
            }
            TurnEvent::RequestEnded { attempt, error: Some(error), duration_ms, .. } => {
                self.parts.add(TimelineEvent::RequestFailed { attempt, error, duration_ms });
            }
            TurnEvent::RequestSending { .. }
            | TurnEvent::RequestEnded { .. }
            | TurnEvent::CallStarting { .. }
            | TurnEvent::CallEnded { .. }
            | TurnEvent::QuestionAsked { .. }
            | TurnEvent::QuestionAnswered { .. }
            | TurnEvent::TranscriptWritten { .. }
            | TurnEvent::FinalDelivery { .. }
            | TurnEvent::AgentRunning { .. }
            | TurnEvent::AgentPrompted { .. }
            | TurnEvent::AgentOutput { .. } => {}
        }
    }

    fn see_firing(&mut self, firing: u64, at: String, happened: FiringEvent, closed: EndedParts) {
        match happened {
            FiringEvent::Fired { event, key, .. } => self.see_fired(firing, at, &event, key),
            // More are in progress than possible: the oldest counts as interrupted.
            FiringEvent::HookStarting { .. } => self.leave_hooks(closed.hooks, "cut_off"),
            FiringEvent::HookSkipped { hook, reason, .. } => {
                let status = Status::Skipped.as_str();
                self.add_hook(
                    firing,
                    HookRun { reason: Some(reason), ..HookRun::new(hook, status) },
                );
            }
            FiringEvent::HookReported { report } => {
                // A background hook is shown when it is reported as started, and at its end.
                let open = self.state.hooks.iter().find(|open| open.is(firing, &report.id));
                let ran = match report.status {
                    Status::Started => open,
                    _ => closed.hooks.first().filter(|ran| !ran.is_reported),
                };
                let (at, attempt) = ran.map(|ran| (ran.attempt_since.clone(), ran.started)).unzip();
                let last_lines = self.printed.take(firing, &report);
                let Report { id, status, reason, attempts, duration_ms, .. } = report;
                // A report counts the attempts of its own process only.
                let attempts = attempts.max(attempt.unwrap_or(0));
                let (new, duration_ms) = (HookRun::new(id, status.as_str()), Some(duration_ms));
                let run = HookRun { at, reason, attempts, duration_ms, last_lines, ..new };
                self.add_hook(firing, run);
            }
            // As above.
            FiringEvent::HookWaiting { .. } => {
                self.leave_questions(closed.questions, QuestionState::CutOff);
            }
            FiringEvent::HookEnded { hook, outcome, .. } => {
                self.printed.see(firing, &hook, &outcome);
                for question in closed.questions {
                    let event = self.event_of(firing);
                    self.parts.add(question::ended(question, event, &outcome));
                }
            }
            FiringEvent::HookSpawned { hook, session, pipeline } => {
                let event = self.event_of(firing);
                self.parts.add(TimelineEvent::Child { event, hook, session, pipeline });
            }
            FiringEvent::ChildUsed { hook, stage, usage, .. } => {
                // A background hook may outlive the work item, and then belongs to none.
                let mut hooks = self.state.hooks.iter();
                let is_told = hooks.any(|open| open.is(firing, &hook) && !open.is_reported);
                let execution = self.state.firings.execution_of(firing).filter(|_| is_told);
                self.parts.count_child(stage, execution, usage);
            }
            FiringEvent::Decided { decision } => {
                let event = self.event_of(firing);
                let verdict = Decision::from_record(&decision).verdict;
                TimelineEvent::of_verdict(event, verdict)
                    .into_iter()
                    .for_each(|deed| self.parts.add(deed));
            }
            // Details of the above.
            FiringEvent::HookRunning { .. }
            | FiringEvent::HookCommitting { .. }
            | FiringEvent::TakenUp { .. }
            | FiringEvent::HookOutput { .. }
            | FiringEvent::HookRetrying { .. }
            | FiringEvent::HookWentAsync { .. }
            | FiringEvent::LateAnswer { .. }
            | FiringEvent::Remembered { .. } => {}
        }
    }

    fn see_fired(&mut self, firing: u64, at: String, event: &EventName, key: Option<String>) {
        let key = key.map(|key| FiringKey::parse(&key));
        match *event {
            // An agent's driver fired it in the middle of the turn.
            _ if key.as_ref().is_some_and(|key| matches!(key.point, Point::InTurn { .. })) => {}
            EventName::ITERATION_START => {
                if let Some(turn) = key.and_then(|key| key.starting_turn()) {
                    self.parts.begin_iteration(at, turn, &self.state);
                }
            }
            EventName::EXECUTION_PRE_END | EventName::EXECUTION_POST_END => {
                self.parts.end_iteration();
            }
            EventName::SESSION_STOP | EventName::SESSION_END | EventName::USER_INTERRUPT => {
                self.parts.end_iteration();
                self.parts.end_stage();
            }
            _ => {}
        }
        self.state.firings.place(firing, self.parts.turn(), self.parts.execution());
    }

    /// Keeps what was in progress as it was.
    fn leave(&mut self, open: EndedParts, left: Left) {
        let (hook_status, question, iteration) = match left {
            Left::Running => ("running", QuestionState::Waiting, IterationState::Running),
            Left::Ended => ("cut_off", QuestionState::CutOff, IterationState::CutOff),
        };
        self.leave_questions(open.questions, question);
        self.leave_calls(open.calls, hook_status);
        self.leave_hooks(open.hooks, hook_status);
        self.end_pause(open.pause, None);
        self.parts.leave_iteration(iteration);
        if left == Left::Ended {
            self.parts.end_stage();
        }
    }

    fn leave_questions(&mut self, mut open: Vec<OpenQuestion>, state: QuestionState) {
        open.sort_by(|a, b| (a.firing, &a.hook).cmp(&(b.firing, &b.hook)));
        for question in open {
            let event = self.event_of(question.firing);
            self.parts.add(question::left(question, event, state));
        }
    }

    /// Keeps calls that have not ended as they are.
    fn leave_calls(&mut self, open: Vec<OpenCall>, status: &'static str) {
        for OpenCall { tool, what, is_asked, .. } in open {
            let (allowed, words, reason, duration_ms) = (None, None, None, None);
            self.parts.add(match is_asked {
                true => TimelineEvent::CallQuestion { tool, what, allowed, words },
                false => TimelineEvent::Call { tool, what, status, reason, duration_ms },
            });
        }
    }

    /// Keeps hooks that have not ended as they are.
    fn leave_hooks(&mut self, mut open: Vec<RunningHook>, status: &'static str) {
        open.retain(|hook| !hook.is_reported);
        open.sort_by(|a, b| (a.firing, &a.id).cmp(&(b.firing, &b.id)));
        for RunningHook { firing, id, attempt_since, started, .. } in open {
            let (at, attempts) = (Some(attempt_since), started);
            self.add_hook(firing, HookRun { at, attempts, ..HookRun::new(id, status) });
        }
    }

    /// A pause between two steps belongs to neither.
    fn end_pause(&mut self, pause: Option<(Pause, String)>, continued: Option<&str>) {
        let Some((Pause { cause: Some(cause), reason, until }, at)) = pause else { return };
        let ended = continued.and_then(milliseconds);
        let duration_ms = ended.zip(milliseconds(&at)).map(|(end, at)| (end - at).max(0) as f64);
        if self.parts.has_worked() {
            self.parts.end_iteration();
        }
        self.parts.add(TimelineEvent::Pause { at, cause, reason, until, duration_ms });
    }

    fn add_hook(&mut self, firing: u64, run: HookRun) {
        let turn = self.state.firings.turn_of(firing);
        let elsewhere = turn.filter(|turn| self.parts.turn().as_ref() != Some(turn));
        let (event, of_iteration) = (self.event_of(firing), elsewhere.map(|turn| turn.iteration));
        self.parts.add(TimelineEvent::Hook(HookRun { event, of_iteration, ..run }));
    }

    fn event_of(&self, firing: u64) -> String {
        self.state.event_of(firing).map(EventName::to_string).unwrap_or_default()
    }
}

/// How a journal stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The session runs.
    Running,
    /// It ended, or its process is gone.
    Ended,
}

#[cfg(test)]
mod tests;
