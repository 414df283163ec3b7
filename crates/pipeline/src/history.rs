//! [`History`]: what a session's journal says, folded into what the runner has to know to go on.
//!
//! The runner goes through stages and iterations in one way only; wherever the history knows how a
//! step ended, that answer is taken instead of doing it again. A session that begins has an empty
//! history.
//!
//! Memory stays small however long the journal is: of what is complete only the result is kept.

use std::collections::{BTreeMap, HashMap};

use hookwright_engine::past::PastFiring;
use hookwright_engine::ports::{Keepsake, Remembered};
use hookwright_events::{Decision, RunEvent, RunEventKind, TurnName, TurnResult, Verdict};
use hookwright_store::{JournalKey, Store, StoreError, entries};

use crate::pending_output::PendingOutput;
use crate::sources::Sources;

/// What is known of a session.
#[derive(Debug, Default)]
pub struct History {
    /// The sequence number of the last entry.
    pub last: u64,
    /// The number of the last firing.
    pub firings: u64,
    /// What it was started with.
    pub sources: Option<Sources>,
    /// How often it was taken up again.
    pub resumes: u32,
    /// Stages that began.
    pub stages_started: Vec<u32>,
    /// Stages that ended.
    pub stages_ended: BTreeMap<u32, PastStage>,
    /// Turns of agents.
    pub turns: BTreeMap<TurnName, PastTurn>,
    /// What is remembered between events.
    pub memory: Remembered,
    /// Hook output that no prompt has delivered.
    pub pending: PendingOutput,
    /// How it ended last.
    pub ended: Option<(String, String)>,
    /// How often it ended.
    pub endings: u32,
    /// What failed before it ended, and does not end it again.
    forgiven: Vec<TurnName>,
    /// Iterations of each stage when it ended.
    iterations_at_end: BTreeMap<u32, u32>,
    /// The session was being ended because of an interrupt, and its end is not recorded.
    is_interrupted: bool,
    firings_by_key: HashMap<String, Known>,
    keys: HashMap<u64, String>,
    in_flight: PendingOutput,
}

/// A stage that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastStage {
    /// Why.
    pub reason: String,
    /// How many iterations it had.
    pub iterations: u32,
}

/// A turn of an agent.
#[derive(Debug, Clone, Default)]
pub struct PastTurn {
    /// How often it was started.
    pub attempts: u32,
    /// The marker of the attempt that has not ended.
    pub unfinished: Option<String>,
    /// What came of it, if it ended.
    pub result: Option<TurnResult>,
    /// How long the agent took.
    pub duration_ms: f64,
}

/// A firing.
#[derive(Debug, Default)]
struct Known {
    number: u64,
    decision: Option<Decision>,
    /// What was recorded, until nothing is left to be done about it.
    records: Vec<RunEventKind>,
    /// Hooks that started and were not reported.
    open: Vec<String>,
    /// Its hooks had something to say to the agent.
    piped: bool,
}

/// What has to be done about a firing.
pub enum Step {
    /// It has not begun.
    Begin,
    /// Its decision is known.
    Decided(Box<Decision>),
    /// It has to be taken up again.
    TakeUp(Box<PastFiring>),
}

impl History {
    /// Reads a journal.
    pub fn read(store: &dyn Store, journal: &JournalKey) -> Result<Self, HistoryError> {
        let mut history = Self::default();
        for entry in entries(store, journal, 0) {
            let entry = entry?;
            let event: RunEvent = serde_json::from_str(&entry.value).map_err(|error| {
                HistoryError::NotUnderstood { sequence: entry.sequence, cause: error.to_string() }
            })?;
            history.last = entry.sequence;
            history.add(event);
        }
        history.end_interrupted();
        history.pending.put_before(std::mem::take(&mut history.in_flight));
        Ok(history)
    }

    /// What has to be done about the firing with this key.
    pub fn step(&mut self, key: &str) -> Step {
        match self.firings_by_key.get_mut(key) {
            None => Step::Begin,
            Some(Known { decision: Some(decision), .. }) => {
                Step::Decided(Box::new(decision.clone()))
            }
            Some(known) => {
                let records = std::mem::take(&mut known.records);
                Step::TakeUp(Box::new(PastFiring::new(known.number, records)))
            }
        }
    }

    /// Firings that nobody comes to again although some of their hooks have not ended, with their
    /// keys: their decision is known, or they are of an end of the session that was cut off.
    pub fn left_in_background(&mut self) -> Vec<(String, PastFiring)> {
        let this_end = format!("/{}", self.endings);
        let is_past = |key: &str| key.starts_with("closing/") && !key.ends_with(&this_end);
        let mut left: Vec<(String, PastFiring)> = self
            .firings_by_key
            .iter_mut()
            .filter(|(key, known)| match known.decision {
                Some(_) => !known.open.is_empty(),
                None => is_past(key),
            })
            .map(|(key, known)| {
                let records = std::mem::take(&mut known.records);
                (key.clone(), PastFiring::new(known.number, records))
            })
            .collect();
        left.sort_by_key(|(_, past)| past.number);
        left
    }

    /// Whether the hooks of this firing had something to say to the agent.
    pub fn piped(&self, key: &str) -> bool {
        self.firings_by_key.get(key).is_some_and(|known| known.piped)
    }

    /// Whether this turn is recorded as complete.
    pub fn has_ended(&self, turn: &TurnName) -> bool {
        self.turns.get(turn).is_some_and(|past| past.result.is_some())
    }

    /// How many iterations the stage of this turn had when the session last ended.
    pub fn iterations_at_last_end(&self, turn: &TurnName) -> u32 {
        self.iterations_at_end.get(&turn.stage).copied().unwrap_or(0)
    }

    /// Whether the session ended after this turn had failed, and was taken up again.
    pub fn is_forgiven(&self, turn: &TurnName) -> bool {
        self.forgiven.contains(turn)
    }

    /// The markers of everything that was started and has no recorded end.
    pub fn unfinished_runs(&self) -> Vec<String> {
        let turns = self.turns.values().filter_map(|turn| turn.unfinished.clone());
        let hooks = self.firings_by_key.values().flat_map(|known| {
            known.records.iter().filter_map(|kind| match kind {
                RunEventKind::HookStarting { hook, run_id, .. } if known.open.contains(hook) => {
                    run_id.clone()
                }
                _ => None,
            })
        });
        turns.chain(hooks).collect()
    }

    /// The decision of a stage's latest iteration that ended.
    pub fn last_decision(&self) -> Option<&str> {
        let ended = self.turns.iter().rev().filter(|(name, _)| name.iteration > 0);
        ended.into_iter().find_map(|(_, turn)| Some(turn.result.as_ref()?.decision.as_str()))
    }

    fn add(&mut self, event: RunEvent) {
        self.firings = self.firings.max(event.firing);
        match event.kind {
            RunEventKind::SessionStarted { sources, .. } => {
                self.sources = serde_json::from_value(sources).ok();
            }
            RunEventKind::SessionResumed { .. } => {
                self.end_interrupted();
                self.resumes += 1;
                self.ended = None;
            }
            RunEventKind::StageStarted { index, .. } => self.stages_started.push(index),
            RunEventKind::StageEnded { index, reason, iterations, .. } => {
                self.stages_ended.insert(index, PastStage { reason, iterations });
            }
            RunEventKind::TurnStarting { turn, attempt, run_id } => {
                let past = self.turns.entry(turn).or_default();
                past.attempts = attempt;
                past.unfinished = Some(run_id);
                let drained = std::mem::take(&mut self.pending);
                self.in_flight.put_behind(drained);
            }
            RunEventKind::TurnEnded { turn, result, duration_ms, .. } => {
                let past = self.turns.entry(turn).or_default();
                past.unfinished = None;
                past.result = Some(result);
                past.duration_ms += duration_ms;
                self.in_flight = PendingOutput::default();
            }
            RunEventKind::SessionEnded { status, reason } => {
                self.ended = Some((status, reason));
                self.end();
            }
            kind => self.add_to_firing(event.firing, kind),
        }
    }

    /// An interrupted session whose last hooks were cut off has ended all the same: when it is taken
    /// up its work goes on, and it ends once more later.
    fn end_interrupted(&mut self) {
        if self.is_interrupted {
            self.end();
        }
    }

    fn end(&mut self) {
        self.is_interrupted = false;
        self.endings += 1;
        self.forgive();
        for (name, _) in self.turns.iter().filter(|(_, turn)| turn.result.is_some()) {
            let most = self.iterations_at_end.entry(name.stage).or_default();
            *most = name.iteration.max(*most);
        }
    }

    /// What ended the session then does not end it again when it is taken up.
    fn forgive(&mut self) {
        for known in self.firings_by_key.values_mut() {
            if let Some(decision) = &mut known.decision {
                decision.verdict = Verdict::Proceed { rewritten_input: None };
            }
        }
        let failed = |(_, turn): &(&TurnName, &PastTurn)| {
            turn.result.as_ref().is_some_and(|result| result.error.is_some())
        };
        self.forgiven = self.turns.iter().filter(failed).map(|(name, _)| name.clone()).collect();
    }

    fn add_to_firing(&mut self, number: u64, kind: RunEventKind) {
        if let RunEventKind::Fired { key: Some(key), late_answers, .. } = &kind {
            self.is_interrupted |= key.starts_with("closing/user:interrupt/");
            self.keys.insert(number, key.clone());
            self.firings_by_key.insert(key.clone(), Known { number, ..Known::default() });
            // They were handed out, and are no longer waiting.
            let handed_out = late_answers.len().min(self.memory.late_answers.len());
            self.memory.late_answers.drain(..handed_out);
        }
        let known = self.keys.get(&number).and_then(|key| self.firings_by_key.get_mut(key));
        let Some(known) = known else {
            // Fired by an action; whoever runs the action again fires it again.
            return;
        };
        match &kind {
            RunEventKind::HookStarting { hook, .. } if !known.open.contains(hook) => {
                known.open.push(hook.clone());
            }
            RunEventKind::HookReported { report } => known.open.retain(|hook| *hook != report.id),
            RunEventKind::Decided { decision } => {
                let decision = Decision::from_record(decision);
                known.piped = !decision.piped_output.is_empty();
                self.pending.take_in(&decision);
                let verdict = decision.verdict;
                known.decision = Some(Decision { verdict, ..Decision::default() });
                for kind in &known.records {
                    remember(&mut self.memory, kind);
                }
            }
            kind if known.decision.is_some() => remember(&mut self.memory, kind),
            _ => {}
        }
        if known.decision.is_some() && known.open.is_empty() {
            known.records = Vec::new();
        } else {
            known.records.push(kind);
        }
    }
}

/// What a firing that is not decided has remembered is remembered again when it is taken up.
fn remember(memory: &mut Remembered, kind: &RunEventKind) {
    if let RunEventKind::Remembered { what } = kind
        && let Ok(keepsake) = serde_json::from_value::<Keepsake>(what.clone())
    {
        memory.keep(keepsake);
    }
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An entry that this version does not know.
    #[error("entry {sequence} of the session's journal cannot be understood: {cause}")]
    NotUnderstood {
        /// Its number.
        sequence: u64,
        /// Why not.
        cause: String,
    },
}

#[cfg(test)]
mod tests;
