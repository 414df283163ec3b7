//! [`Timeline`]: a session's journal, told as a person follows it: stages, their iterations, and the
//! hooks at each.
//!
//! The journal goes in one entry at a time, parts come out as soon as they are whole: an iteration
//! when it is over, with all that happened in it. So memory stays flat however long a session is.

use std::collections::BTreeMap;

use hookwright_events::{
    Decision, EventName, Report, RunEvent, RunEventKind, Status, TurnName, TurnResult, Verdict,
};
use serde::Serialize;

use crate::limits::FIRINGS_REMEMBERED_MAX;
use crate::record::milliseconds;

/// A part of a session's story, in the order of the story.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Part {
    /// Where the session came to.
    Milestone(Milestone),
    /// What happened outside of iterations.
    Deed(Deed),
}

/// Where a session came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Milestone {
    /// It began.
    SessionBegan {
        /// When.
        at: String,
        /// The loop's or pipeline's name.
        plan: String,
        /// Its stages.
        stages: Vec<String>,
    },
    /// It was taken up again.
    SessionResumed {
        /// When.
        at: String,
        /// For which time.
        time: u32,
    },
    /// A stage began, or goes on.
    StageBegan {
        /// When.
        at: String,
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// The most iterations it may have; `None` if it goes on.
        iterations_max: Option<u32>,
    },
    /// An iteration, or the delivery of what hooks had to say at the end.
    Iteration(Box<Iteration>),
    /// A stage is over.
    StageEnded {
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// Why; `None` if it was left before its end.
        reason: Option<String>,
        /// How many iterations it had; `None` if it was left before its end.
        iterations: Option<u32>,
        /// From its beginning, or from where it went on.
        duration_ms: Option<f64>,
    },
    /// It ended, or was left to be resumed.
    SessionEnded {
        /// When.
        at: String,
        /// `completed`, `failed`, `aborted`, `interrupted`.
        status: String,
        /// Why, in words.
        reason: String,
    },
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Iteration {
    /// When it began.
    pub at: String,
    /// The stage's number, from 1.
    pub stage: u32,
    /// From 1; 0 delivers what hooks had to say at the end.
    pub iteration: u32,
    /// 1, or more if an earlier attempt was cut off; 0 if the agent was not started.
    pub attempt: u32,
    /// How far it came.
    pub state: IterationState,
    /// What came of it, if it ended.
    pub result: Option<TurnResult>,
    /// How long the agent took.
    pub duration_ms: Option<f64>,
    /// What happened around it.
    pub deeds: Vec<Deed>,
}

/// How far an iteration came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationState {
    /// The agent was not started.
    NotStarted,
    /// The agent works.
    Running,
    /// The agent's turn ended.
    Ended,
    /// The session was cut off or interrupted in the middle of it.
    CutOff,
}

/// What happened at an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Deed {
    /// A hook ran, or did not.
    Hook {
        /// At which event.
        event: String,
        /// Of which iteration, if it was reported outside of it: it ran in the background.
        #[serde(skip_serializing_if = "Option::is_none")]
        of_iteration: Option<u32>,
        /// Its id.
        hook: String,
        /// The word of its report, or `running`, or `cut_off`.
        status: &'static str,
        /// Why it was blocked, failed or skipped; what it did.
        reason: Option<String>,
        /// How often it was started.
        attempts: u32,
        /// How long it ran, all attempts together.
        duration_ms: Option<f64>,
    },
    /// The hooks asked for something.
    Decision {
        /// At which event.
        event: String,
        /// `allow`, `ask`, `block`, `stop` or `abort`.
        verdict: &'static str,
        /// Why.
        reason: String,
    },
    /// Something that a person should know.
    Note {
        /// What.
        note: String,
    },
}

/// Folds a journal into parts.
#[derive(Debug, Default)]
pub struct Timeline {
    stages: Vec<String>,
    stage: Option<OpenStage>,
    /// Why stages ended that did: a hook that blocks the stop lets the last one go on.
    complete: BTreeMap<u32, String>,
    iteration: Option<Iteration>,
    /// The latest events and the iterations they were fired in, by the numbers of their firings.
    firings: BTreeMap<u64, (EventName, Option<TurnName>)>,
    /// Hooks that run, by firing and id, with their attempt.
    hooks: BTreeMap<(u64, String), u32>,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct OpenStage {
    name: String,
    index: u32,
    began_ms: Option<i64>,
    ended: Option<StageEnd>,
}

#[derive(Debug)]
struct StageEnd {
    reason: String,
    iterations: u32,
    at_ms: Option<i64>,
}

impl Iteration {
    /// Whether a person who looks for trouble should see it.
    pub fn is_trouble(&self) -> bool {
        let failed = self.result.as_ref().is_some_and(|result| result.error.is_some());
        failed || self.state != IterationState::Ended || self.deeds.iter().any(Deed::is_trouble)
    }
}

impl Deed {
    fn is_trouble(&self) -> bool {
        match self {
            Deed::Hook { status, .. } => !matches!(*status, "success" | "skipped" | "started"),
            Deed::Decision { .. } => true,
            Deed::Note { .. } => false,
        }
    }
}

impl Timeline {
    /// Takes in the next entry; returns the parts that are whole now.
    pub fn see(&mut self, event: RunEvent) -> Vec<Part> {
        let RunEvent { firing, at, kind, .. } = event;
        match kind {
            RunEventKind::SessionStarted { plan, stages, .. } => {
                self.stages.clone_from(&stages);
                self.reach(Milestone::SessionBegan { at, plan, stages });
            }
            RunEventKind::SessionResumed { time, .. } => {
                self.leave("cut_off", IterationState::CutOff);
                self.end_stage();
                self.reach(Milestone::SessionResumed { at, time });
            }
            RunEventKind::StageStarted { stage, index, iterations_max } => {
                self.end_iteration();
                self.begin_stage(at, stage, index, Some(iterations_max));
            }
            RunEventKind::TurnStarting { turn, attempt, .. } => self.begin_turn(at, turn, attempt),
            RunEventKind::TurnEnded { turn, attempt, result, duration_ms } => {
                if self.iteration.as_ref().is_none_or(|open| !open.is(&turn)) {
                    self.begin_turn(at, turn, attempt);
                }
                if let Some(iteration) = &mut self.iteration {
                    iteration.state = IterationState::Ended;
                    iteration.result = Some(result);
                    iteration.duration_ms = Some(duration_ms);
                }
            }
            RunEventKind::StageEnded { stage, index, reason, iterations } => {
                self.end_iteration();
                self.complete.insert(index, reason.clone());
                let at_ms = milliseconds(&at);
                if self.stage.as_ref().is_none_or(|open| open.index != index) {
                    // It was cut off after its last iteration.
                    self.begin_stage(at, stage, index, None);
                }
                if let Some(stage) = &mut self.stage {
                    stage.ended = Some(StageEnd { reason, iterations, at_ms });
                }
            }
            RunEventKind::SessionEnded { status, reason } => {
                self.leave("cut_off", IterationState::CutOff);
                self.end_stage();
                self.reach(Milestone::SessionEnded { at, status, reason });
            }
            RunEventKind::Fired { event, key, .. } => self.see_firing(firing, at, event, key),
            kind => self.see_hook(firing, kind),
        }
        std::mem::take(&mut self.parts)
    }

    /// What is left when the journal has no more entries: it is under way if the session runs, and
    /// was cut off if nobody runs it.
    pub fn finish(mut self, runs: bool) -> Vec<Part> {
        if runs {
            self.leave("running", IterationState::Running);
        } else {
            self.leave("cut_off", IterationState::CutOff);
            self.end_stage();
        }
        self.parts
    }

    fn see_firing(&mut self, firing: u64, at: String, event: EventName, key: Option<String>) {
        match event.as_str() {
            "iteration:start" => {
                if let Some(turn) = key.as_deref().and_then(turn_of_key) {
                    self.begin_iteration(at, turn);
                }
            }
            "session:stop" | "session:end" | "user:interrupt" => {
                self.end_iteration();
                self.end_stage();
            }
            _ => {}
        }
        self.firings.insert(firing, (event, self.turn()));
        if self.firings.len() > FIRINGS_REMEMBERED_MAX {
            self.firings.pop_first();
        }
    }

    fn see_hook(&mut self, firing: u64, kind: RunEventKind) {
        match kind {
            RunEventKind::HookStarting { hook, attempt, .. } => {
                self.hooks.insert((firing, hook), attempt);
            }
            RunEventKind::HookSkipped { hook, reason } => {
                self.add_hook(firing, hook, Status::Skipped.as_str(), Some(reason), 0, None);
            }
            RunEventKind::HookReported { report } => {
                // A report counts the attempts of its own process only.
                let last = self.hooks.remove(&(firing, report.id.clone())).unwrap_or(0);
                let Report { id, status, reason, attempts, duration_ms, .. } = report;
                let took = Some(duration_ms);
                self.add_hook(firing, id, status.as_str(), reason, attempts.max(last), took);
            }
            RunEventKind::Decided { decision } => {
                if let Some((verdict, reason)) = in_words(Decision::from_record(&decision).verdict)
                {
                    let event = self.event_of(firing);
                    self.add(Deed::Decision { event, verdict, reason });
                }
            }
            RunEventKind::Noted { note } => self.add(Deed::Note { note }),
            // Details of what is told above, and what is no hook's.
            RunEventKind::HookRunning { .. }
            | RunEventKind::HookWaiting { .. }
            | RunEventKind::HookOutput { .. }
            | RunEventKind::HookEnded { .. }
            | RunEventKind::HookRetrying { .. }
            | RunEventKind::HookWentAsync { .. }
            | RunEventKind::LateAnswer { .. }
            | RunEventKind::Remembered { .. }
            | RunEventKind::AgentRunning { .. }
            | RunEventKind::AgentOutput { .. }
            | RunEventKind::Fired { .. }
            | RunEventKind::SessionStarted { .. }
            | RunEventKind::SessionResumed { .. }
            | RunEventKind::StageStarted { .. }
            | RunEventKind::TurnStarting { .. }
            | RunEventKind::TurnEnded { .. }
            | RunEventKind::ItemStarted { .. }
            | RunEventKind::ItemEnded { .. }
            | RunEventKind::HookSpawned { .. }
            | RunEventKind::AgentChanged { .. }
            | RunEventKind::Paused { .. }
            | RunEventKind::Continued {}
            | RunEventKind::StageEnded { .. }
            | RunEventKind::SessionEnded { .. } => {}
        }
    }

    fn begin_turn(&mut self, at: String, turn: TurnName, attempt: u32) {
        let waits = |open: &Iteration| open.is(&turn) && open.state == IterationState::NotStarted;
        if !self.iteration.as_ref().is_some_and(waits) {
            self.begin_iteration(at, turn);
        }
        if let Some(iteration) = &mut self.iteration {
            iteration.state = IterationState::Running;
            iteration.attempt = attempt;
        }
    }

    fn begin_iteration(&mut self, at: String, turn: TurnName) {
        self.end_iteration();
        if turn.iteration == 0 {
            self.end_stage();
        } else if self.stage.as_ref().is_none_or(|open| open.index != turn.stage) {
            let name = self.stages.get((turn.stage as usize).wrapping_sub(1));
            let name = name.cloned().unwrap_or_default();
            self.begin_stage(at.clone(), name, turn.stage, None);
        }
        self.iteration = Some(Iteration {
            at,
            stage: turn.stage,
            iteration: turn.iteration,
            attempt: 0,
            state: IterationState::NotStarted,
            result: None,
            duration_ms: None,
            deeds: Vec::new(),
        });
    }

    fn begin_stage(&mut self, at: String, stage: String, index: u32, iterations_max: Option<u32>) {
        self.end_stage();
        let (name, began_ms) = (stage.clone(), milliseconds(&at));
        self.stage = Some(OpenStage { name, index, began_ms, ended: None });
        self.reach(Milestone::StageBegan { at, stage, index, iterations_max });
    }

    fn end_stage(&mut self) {
        let Some(OpenStage { name, index, began_ms, ended }) = self.stage.take() else {
            return;
        };
        let took = |end: &StageEnd| Some((end.at_ms? - began_ms?) as f64);
        self.reach(Milestone::StageEnded {
            stage: name,
            index,
            duration_ms: ended.as_ref().and_then(took),
            iterations: ended.as_ref().map(|end| end.iterations),
            reason: ended.map(|end| end.reason),
        });
    }

    fn end_iteration(&mut self) {
        if let Some(iteration) = self.iteration.take() {
            if let Some(stage) = &mut self.stage
                && let Some(reason) = self.complete.get(&stage.index)
            {
                let (reason, iterations) = (reason.clone(), iteration.iteration);
                stage.ended = Some(StageEnd { reason, iterations, at_ms: None });
            }
            self.reach(Milestone::Iteration(Box::new(iteration)));
        }
    }

    /// The process is gone, or there are no more entries: what was under way stays as it is.
    fn leave(&mut self, hook_status: &'static str, state: IterationState) {
        for ((firing, hook), attempts) in std::mem::take(&mut self.hooks) {
            self.add_hook(firing, hook, hook_status, None, attempts, None);
        }
        if let Some(iteration) = &mut self.iteration
            && iteration.state == IterationState::Running
        {
            iteration.state = state;
        }
        self.end_iteration();
    }

    fn add_hook(
        &mut self,
        firing: u64,
        hook: String,
        status: &'static str,
        reason: Option<String>,
        attempts: u32,
        duration_ms: Option<f64>,
    ) {
        let event = self.event_of(firing);
        let turn = self.firings.get(&firing).and_then(|(_, turn)| turn.clone());
        let elsewhere = turn.filter(|turn| self.turn().as_ref() != Some(turn));
        let of_iteration = elsewhere.map(|turn| turn.iteration);
        self.add(Deed::Hook { event, of_iteration, hook, status, reason, attempts, duration_ms });
    }

    fn add(&mut self, deed: Deed) {
        match &mut self.iteration {
            Some(iteration) => iteration.deeds.push(deed),
            None => self.parts.push(Part::Deed(deed)),
        }
    }

    fn reach(&mut self, milestone: Milestone) {
        self.parts.push(Part::Milestone(milestone));
    }

    fn event_of(&self, firing: u64) -> String {
        let fired = self.firings.get(&firing);
        fired.map_or_else(String::new, |(event, _)| event.as_str().to_owned())
    }

    /// The iteration that is open.
    fn turn(&self) -> Option<TurnName> {
        let open = self.iteration.as_ref()?;
        Some(TurnName { stage: open.stage, iteration: open.iteration })
    }
}

impl Iteration {
    fn is(&self, turn: &TurnName) -> bool {
        (self.stage, self.iteration) == (turn.stage, turn.iteration)
    }
}

/// `iteration:start/0/3` is the third iteration of the first stage.
fn turn_of_key(key: &str) -> Option<TurnName> {
    let mut numbers = key.split('/').skip(1).map(str::parse::<u32>);
    let (index, iteration) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(TurnName { stage: index + 1, iteration })
}

/// A verdict that is worth a word.
fn in_words(verdict: Verdict) -> Option<(&'static str, String)> {
    match verdict {
        Verdict::Proceed { .. } => None,
        Verdict::Allow { reason, .. } => Some(("allow", reason.unwrap_or_default())),
        Verdict::Ask { reason, .. } => Some(("ask", reason.unwrap_or_default())),
        Verdict::Block { reason } => Some(("block", reason)),
        Verdict::Stop { reason } => Some(("stop", reason)),
        Verdict::Abort { reason } => Some(("abort", reason)),
    }
}
