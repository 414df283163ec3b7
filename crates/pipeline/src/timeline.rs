//! [`Timeline`]: a session's journal, told as a person follows it: stages, their iterations, and the
//! hooks at each.
//!
//! The journal goes in one entry at a time, parts come out as soon as they are whole: an iteration
//! when it is over, with what happened in it, of which the middle is counted where it is very much. So
//! memory stays flat however long a session is.

mod course;
mod deed;
mod entry;
mod firings;
mod last_lines;
mod part;
mod question;

use std::collections::BTreeMap;

use hookwright_events::{
    Decision, EventName, FiringEvent, FiringKey, Report, RunEvent, RunEventKind, SessionEvent,
    Status, TurnEvent, Usage,
};

use crate::limits::UNDER_WAY_MAX;
use crate::record::milliseconds;
use course::{Course, ItemEnd};
pub use deed::{Deed, QuestionState};
pub use entry::read_entry;
use firings::Firings;
use last_lines::Printed;
pub use part::{Iteration, IterationState, Milestone, Part};
use question::Question;

/// Folds a journal into parts.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    course: Course,
    firings: Firings,
    /// Hooks that run, by firing and id.
    hooks: BTreeMap<(u64, String), RunningHook>,
    /// What hooks printed that have ended and were not reported.
    printed: Printed,
    /// What is asked, by firing and hook.
    questions: BTreeMap<(u64, String), Question>,
    /// The pause that is not over, as it will be told.
    pause: Option<Deed>,
}

#[derive(Debug, Clone)]
struct RunningHook {
    at: String,
    attempt: u32,
    /// The execution that it was started in, if it was in one.
    execution: Option<u32>,
}

impl Timeline {
    /// Takes in the next entry; returns the parts that are whole now.
    pub fn see(&mut self, event: RunEvent) -> Vec<Part> {
        let RunEvent { firing, at, kind, .. } = event;
        match kind {
            RunEventKind::Session(SessionEvent::SessionStarted { plan, stages, .. }) => {
                self.course.begin_session(at, plan, stages);
            }
            RunEventKind::Session(SessionEvent::SessionResumed { time, .. }) => {
                self.leave(Left::Ended);
                self.course.reach(Milestone::SessionResumed { at, time });
            }
            RunEventKind::Session(SessionEvent::StageStarted { stage, index, iterations_max }) => {
                self.course.end_iteration();
                self.course.begin_stage(at, stage, index, Some(iterations_max));
            }
            RunEventKind::Session(SessionEvent::ItemStarted { stage, execution, item }) => {
                self.course.begin_item(at, stage, execution, item);
            }
            RunEventKind::Turn(TurnEvent::FinalDelivery { turn }) => {
                self.course.final_delivery = Some(turn)
            }
            RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, agent, .. }) => {
                self.course.begin_turn(at, turn, attempt, agent);
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, attempt, result, duration_ms }) => {
                self.course.end_turn(at, turn, attempt, result, duration_ms);
            }
            RunEventKind::Turn(TurnEvent::TurnGivenUp {
                agent,
                cause,
                reason,
                usage,
                duration_ms,
                ..
            }) => {
                let deed = Deed::GivenUp { agent, cause, reason, duration_ms };
                self.course.give_up_turn(deed, usage);
            }
            RunEventKind::Session(SessionEvent::ItemEnded {
                stage,
                execution,
                key,
                state,
                reason,
                iterations,
                duration_ms,
            }) => {
                let end = ItemEnd { key, state, reason, iterations, duration_ms };
                self.course.see_item_end(&at, stage, execution, end);
            }
            RunEventKind::Session(SessionEvent::StageEnded {
                stage,
                index,
                reason,
                iterations,
            }) => {
                self.course.see_stage_end(at, stage, index, reason, iterations);
            }
            RunEventKind::Session(SessionEvent::SessionEnded { status, reason }) => {
                self.leave(Left::Ended);
                let usage = self.used();
                self.course.reach(Milestone::SessionEnded { at, status, reason, usage });
            }
            RunEventKind::Firing(FiringEvent::Fired { event, key, .. }) => {
                self.see_firing(firing, at, event, key)
            }
            RunEventKind::Session(SessionEvent::Paused { cause, reason, until }) => {
                self.end_pause(None);
                self.pause = Some(Deed::Pause { at, cause, reason, until, duration_ms: None });
            }
            RunEventKind::Session(SessionEvent::Continued {}) => self.end_pause(Some(&at)),
            kind => self.see_hook(firing, at, kind),
        }
        std::mem::take(&mut self.course.parts)
    }

    /// What is left when the journal has no more entries: it is under way if the session runs, and
    /// was cut off if nobody runs it.
    pub fn finish(mut self, runs: bool) -> Vec<Part> {
        self.leave(if runs { Left::Running } else { Left::Ended });
        self.course.parts
    }

    /// What [`Timeline::finish`] would return, while the journal goes on.
    pub fn under_way(&self, runs: bool) -> Vec<Part> {
        self.small_copy().finish(runs)
    }

    /// A copy to read the journal on with, which is small however long the session is: of firings it
    /// knows only those of hooks and questions that are under way. Others have to be told to it by
    /// [`Timeline::recall`] before it reads an entry of theirs.
    #[must_use]
    pub fn small_copy(&self) -> Self {
        let open = self.hooks.keys().chain(self.questions.keys()).map(|(firing, _)| *firing);
        Self {
            course: self.course.clone(),
            firings: self.firings.only(open),
            hooks: self.hooks.clone(),
            printed: self.printed.clone(),
            questions: self.questions.clone(),
            pause: self.pause.clone(),
        }
    }

    /// Whether a firing had been seen when this small copy was made. If not, the copy reads of it itself.
    #[must_use]
    pub fn had_seen(&self, firing: u64, copy: &Self) -> bool {
        self.firings.had_seen(firing, &copy.firings)
    }

    /// Tells a small copy what is known of a firing here; `false` if it knows.
    pub fn recall(&self, firing: u64, copy: &mut Self) -> bool {
        self.firings.recall(firing, &mut copy.firings)
    }

    /// What agents have used so far, in all and as far as they tell, those of children included.
    pub fn used(&self) -> Option<Usage> {
        self.course.used
    }

    fn see_firing(&mut self, firing: u64, at: String, event: EventName, key: Option<String>) {
        match event {
            EventName::ITERATION_START => {
                if let Some(turn) = key.and_then(|key| FiringKey::parse(&key).starting_turn()) {
                    self.course.begin_iteration(at, turn);
                }
            }
            EventName::EXECUTION_PRE_END | EventName::EXECUTION_POST_END => {
                self.course.end_iteration()
            }
            EventName::SESSION_STOP | EventName::SESSION_END | EventName::USER_INTERRUPT => {
                self.course.end_iteration();
                self.course.end_stage();
            }
            _ => {}
        }
        self.firings.add(firing, event, self.course.turn());
    }

    fn see_hook(&mut self, firing: u64, at: String, kind: RunEventKind) {
        match kind {
            RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, .. }) => {
                let execution = self.course.execution();
                self.hooks.insert((firing, hook), RunningHook { at, attempt, execution });
                if self.hooks.len() > UNDER_WAY_MAX
                    && let Some(((firing, hook), ran)) = self.hooks.pop_first()
                {
                    self.leave_hook(firing, hook, ran, "cut_off");
                }
            }
            RunEventKind::Firing(FiringEvent::HookSkipped { hook, reason }) => {
                let status = Status::Skipped.as_str();
                self.add_hook(firing, hook, None, HookEnd::new(status, Some(reason), 0, None));
            }
            RunEventKind::Firing(FiringEvent::HookReported { report }) => {
                let ran = self.hooks.remove(&(firing, report.id.clone()));
                let last_lines = self.printed.take(firing, &report);
                let Report { id, status, reason, attempts, duration_ms, .. } = report;
                // A report counts the attempts of its own process only.
                let attempts = attempts.max(ran.as_ref().map_or(0, |ran| ran.attempt));
                let end = HookEnd::new(status.as_str(), reason, attempts, Some(duration_ms));
                let end = HookEnd { last_lines, ..end };
                self.add_hook(firing, id, ran.map(|ran| ran.at), end);
            }
            RunEventKind::Firing(FiringEvent::HookWaiting {
                hook, wait, question, since, ..
            }) => {
                self.questions.insert((firing, hook), Question { wait, question, since });
                if self.questions.len() > UNDER_WAY_MAX
                    && let Some(((firing, hook), open)) = self.questions.pop_first()
                {
                    let event = self.event_of(firing);
                    self.course.add(open.left(event, hook, QuestionState::CutOff));
                }
            }
            RunEventKind::Firing(FiringEvent::HookEnded { hook, outcome, .. }) => {
                self.printed.see(firing, &hook, &outcome);
                if let Some(question) = self.questions.remove(&(firing, hook.clone())) {
                    let event = self.event_of(firing);
                    self.course.add(question.ended(event, hook, outcome));
                }
            }
            RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline }) => {
                let event = self.event_of(firing);
                self.course.add(Deed::Child { event, hook, session, pipeline });
            }
            RunEventKind::Firing(FiringEvent::ChildUsed { hook, stage, usage, .. }) => {
                // One that nothing waits for may outlive the piece of work, and is of none.
                let execution = self.hooks.get(&(firing, hook)).and_then(|ran| ran.execution);
                self.course.count_child(stage, execution, usage);
            }
            RunEventKind::Turn(TurnEvent::AgentChanged { from, to, reason }) => {
                self.course.add(Deed::AgentChanged { from, to, reason });
            }
            RunEventKind::Firing(FiringEvent::Decided { decision }) => {
                let event = self.event_of(firing);
                let verdict = Decision::from_record(&decision).verdict;
                Deed::of_verdict(event, verdict).into_iter().for_each(|deed| self.course.add(deed));
            }
            RunEventKind::Session(SessionEvent::Noted { note }) => {
                self.course.add(Deed::Note { note })
            }
            // Details of what is told above, and what is no hook's.
            RunEventKind::Firing(FiringEvent::HookRunning { .. })
            | RunEventKind::Firing(FiringEvent::HookCommitting { .. })
            | RunEventKind::Firing(FiringEvent::TakenUp { .. })
            | RunEventKind::Firing(FiringEvent::HookOutput { .. })
            | RunEventKind::Firing(FiringEvent::HookRetrying { .. })
            | RunEventKind::Firing(FiringEvent::HookWentAsync { .. })
            | RunEventKind::Firing(FiringEvent::LateAnswer { .. })
            | RunEventKind::Firing(FiringEvent::Remembered { .. })
            | RunEventKind::Turn(TurnEvent::AgentRunning { .. })
            | RunEventKind::Turn(TurnEvent::AgentPrompted { .. })
            | RunEventKind::Turn(TurnEvent::AgentOutput { .. })
            | RunEventKind::Firing(FiringEvent::Fired { .. })
            | RunEventKind::Session(SessionEvent::SessionStarted { .. })
            | RunEventKind::Session(SessionEvent::SessionResumed { .. })
            | RunEventKind::Session(SessionEvent::StageStarted { .. })
            | RunEventKind::Turn(TurnEvent::FinalDelivery { .. })
            | RunEventKind::Turn(TurnEvent::TurnStarting { .. })
            | RunEventKind::Turn(TurnEvent::TurnEnded { .. })
            | RunEventKind::Session(SessionEvent::ItemStarted { .. })
            | RunEventKind::Session(SessionEvent::ItemEnded { .. })
            | RunEventKind::Turn(TurnEvent::TurnGivenUp { .. })
            | RunEventKind::Session(SessionEvent::Paused { .. })
            | RunEventKind::Session(SessionEvent::Continued {})
            | RunEventKind::Session(SessionEvent::StageEnded { .. })
            | RunEventKind::Session(SessionEvent::SessionEnded { .. }) => {}
        }
    }

    /// What is under way stays as it is.
    fn leave(&mut self, left: Left) {
        let (hook_status, question, iteration) = match left {
            Left::Running => ("running", QuestionState::Waiting, IterationState::Running),
            Left::Ended => ("cut_off", QuestionState::CutOff, IterationState::CutOff),
        };
        for ((firing, hook), open) in std::mem::take(&mut self.questions) {
            let event = self.event_of(firing);
            self.course.add(open.left(event, hook, question));
        }
        for ((firing, hook), ran) in std::mem::take(&mut self.hooks) {
            self.leave_hook(firing, hook, ran, hook_status);
        }
        self.end_pause(None);
        self.course.leave_iteration(iteration);
        if left == Left::Ended {
            self.course.end_stage();
        }
    }

    /// A hook that has not ended stays as it is.
    fn leave_hook(&mut self, firing: u64, hook: String, ran: RunningHook, status: &'static str) {
        let end = HookEnd::new(status, None, ran.attempt, None);
        self.add_hook(firing, hook, Some(ran.at), end);
    }

    /// A pause between two steps belongs to neither.
    fn end_pause(&mut self, continued: Option<&str>) {
        let Some(mut pause) = self.pause.take() else { return };
        if let Deed::Pause { at, duration_ms, .. } = &mut pause {
            let ended = continued.and_then(milliseconds);
            *duration_ms = ended.zip(milliseconds(at)).map(|(end, at)| (end - at).max(0) as f64);
        }
        if self.course.has_worked() {
            self.course.end_iteration();
        }
        self.course.add(pause);
    }

    fn add_hook(&mut self, firing: u64, hook: String, at: Option<String>, end: HookEnd) {
        let HookEnd { status, reason, attempts, duration_ms, last_lines } = end;
        let event = self.event_of(firing);
        let turn = self.firings.turn_of(firing);
        let elsewhere = turn.filter(|turn| self.course.turn().as_ref() != Some(turn));
        let of_iteration = elsewhere.map(|turn| turn.iteration);
        self.course.add(Deed::Hook {
            at,
            event,
            of_iteration,
            hook,
            status,
            reason,
            attempts,
            duration_ms,
            last_lines,
        });
    }

    fn event_of(&self, firing: u64) -> String {
        self.firings.event_of(firing)
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

/// How a hook's run ended.
struct HookEnd {
    status: &'static str,
    reason: Option<String>,
    attempts: u32,
    duration_ms: Option<f64>,
    last_lines: Vec<String>,
}

impl HookEnd {
    fn new(
        status: &'static str,
        reason: Option<String>,
        attempts: u32,
        duration_ms: Option<f64>,
    ) -> Self {
        Self { status, reason, attempts, duration_ms, last_lines: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
