//! [`History`]: a session's journal, folded into what the runner needs to continue.
//!
//! The runner goes through stages and iterations in one way only; if the history knows how a step
//! ended, that answer is used and the step is not repeated. A new session has an empty history.
//!
//! Memory stays small however long the journal is: of finished parts only the result is kept.

mod aborts;
mod below;
mod endings;
mod known;
mod open_child;
mod past_item;
mod tasks;
mod unfinished;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use hookwright_engine::PastFiring;
use hookwright_engine::ports::{Keepsake, Remembered};
use hookwright_events::firing_key::{ClosingEvent, IterationEvent};
use hookwright_events::{
    Decision, FiringEvent, FiringKey, ItemState, Point, RunEvent, RunEventKind, SessionEvent,
    SessionStatus, TurnEvent, TurnName, TurnResult, Usage, Verdict,
};
use hookwright_store::{JournalKey, Store, StoreError, entries};

use crate::availability::Availability;
use crate::limits::TRANSCRIPT_MARKS_MAX;
use crate::pending_output::PendingOutput;
use crate::plan::Reason;
use crate::record::{end_of_hook, milliseconds};
use crate::sources::Sources;
use aborts::Aborted;
pub(crate) use aborts::Again;
use endings::is_completed_end;
use known::KnownFiring;
pub(crate) use open_child::OpenChild;
pub(crate) use past_item::PastItem;
pub use tasks::LeftTask;
use unfinished::UnfinishedRun;

/// What is known of a session.
#[derive(Debug, Default)]
pub struct History {
    /// The sequence number of the last entry.
    pub last: u64,
    /// It has begun. A session that was only submitted to workers has not.
    pub has_begun: bool,
    /// The number of the last firing.
    pub firings: u64,
    /// The configuration it was started with.
    pub sources: Option<Sources>,
    /// How often it was resumed.
    pub resumes: u32,
    /// Stages that began.
    pub stages_started: Vec<u32>,
    pub(crate) stages_ended: BTreeMap<u32, PastStage>,
    /// Work items that were taken from queues, by stage and execution.
    pub(crate) items: BTreeMap<(u32, u32), PastItem>,
    /// Those that were put back since the session last worked on them, by stage.
    put_back: HashMap<u32, Arc<HashSet<String>>>,
    /// Turns of agents. A running session removes those that it has passed.
    pub turns: BTreeMap<TurnName, PastTurn>,
    /// The last iteration of each stage (from 1) that was begun.
    begun: BTreeMap<u32, u32>,
    /// What is remembered between events.
    pub memory: Remembered,
    /// Hook output that no prompt has delivered.
    pub pending: PendingOutput,
    /// The last known lengths of the transcript, each with the digest of what it contained.
    pub transcript_marks: Vec<(u64, String)>,
    /// The markers of calls of the built-in agent that have not ended, by the call's id.
    calls: HashMap<String, String>,
    /// How it ended last.
    pub ended: Option<(SessionStatus, String)>,
    /// How often it ended.
    pub endings: u32,
    /// The number of hooks by status.
    pub hooks: BTreeMap<String, u32>,
    /// Sessions that hooks have started and whose end their hooks have not seen, by the number of
    /// the firing and the hook.
    pub(crate) children: HashMap<(u64, String), OpenChild>,
    pub(crate) availability: Availability,
    /// The agent that worked last, if recorded.
    pub(crate) at_work: Option<String>,
    /// The usage of agents, by stage (from 1), including children.
    pub(crate) usage: BTreeMap<u32, Usage>,
    /// The part of it that children used.
    usage_of_children: Option<Usage>,
    /// The iteration that delivers what hooks reported after the last one.
    pub(crate) final_delivery: Option<TurnName>,
    /// The key of the last question whether the session may stop, until a turn follows.
    asked_to_stop: Option<FiringKey>,
    /// The session was being ended because of an interrupt, and its end is not recorded.
    is_interrupted: bool,
    /// Points at which hooks have ended the session, by the keys of their firings.
    again: HashMap<FiringKey, Again>,
    firings_by_key: HashMap<FiringKey, KnownFiring>,
    keys: HashMap<u64, FiringKey>,
    /// By the number of a firing, its hooks that were not reported and the keys of their own
    /// firings.
    below: HashMap<u64, Vec<(String, FiringKey)>>,
    /// Hooks that were not reported, of firings without a key.
    runs_without_key: HashMap<(u64, String), UnfinishedRun>,
    /// What was delivered to the turn that has not ended.
    in_flight: PendingOutput,
    /// The last turn that ended, if it failed, and what was delivered to it.
    failed_with: Option<(TurnName, PendingOutput)>,
}

/// A turn of an agent.
#[derive(Debug, Clone, Default)]
pub struct PastTurn {
    /// How often it was started.
    pub attempts: u32,
    /// The marker of the attempt that has not ended.
    pub unfinished: Option<String>,
    /// The result, if it ended.
    pub result: Option<TurnResult>,
    /// How long the agent took.
    pub duration_ms: f64,
    /// How often it is repeated because the session ended with its failure.
    pub redone: u32,
    /// Its error then.
    pub failed_before: Option<String>,
    /// The session ended after it had failed, and was resumed: it does not end the session again.
    pub is_forgiven: bool,
}

/// A stage that ended.
#[derive(Debug)]
pub(crate) struct PastStage {
    pub(crate) reason: Reason,
    pub(crate) iterations: u32,
    /// Work items that it had taken by then.
    pub(crate) executions: u32,
}

impl History {
    /// Reads a journal.
    pub fn read(store: &dyn Store, journal: &JournalKey) -> Result<Self, HistoryError> {
        let mut history = Self::default();
        for entry in entries(store, journal, 0) {
            let entry = entry?;
            let event = RunEvent::from_json(&entry.value).map_err(|error| {
                HistoryError::NotUnderstood { sequence: entry.sequence, cause: error.to_string() }
            })?;
            history.last = entry.sequence;
            history.add(event);
        }
        history.end_interrupted();
        history.pending.put_before(std::mem::take(&mut history.in_flight));
        Ok(history)
    }

    /// The decision of the firing with this key, if known.
    pub(crate) fn decided(&self, key: &FiringKey) -> Option<&Verdict> {
        self.firings_by_key.get(key)?.verdict.as_ref()
    }

    /// Firings that the course does not reach again although some of their hooks have not ended,
    /// with their keys: their decision is known, or they belong to an interrupted end of the
    /// session.
    pub fn left_in_background(&mut self) -> Vec<(FiringKey, PastFiring)> {
        let this_end = self.endings;
        let is_past = |key: &FiringKey| matches!(key.point, Point::Closing { endings, .. } if endings != this_end);
        let is_left = |(key, known): &(&FiringKey, &KnownFiring)| match known.verdict {
            // A turn that is repeated fires anew; what a turn left in the background is ended.
            _ if matches!(key.point, Point::InTurn { .. }) => false,
            Some(_) => !known.open.is_empty() && !self.is_below_open_hook(key),
            None => is_past(key),
        };
        let left = self.firings_by_key.iter().filter(is_left);
        let keys: Vec<FiringKey> = left.map(|(key, _)| key.clone()).collect();
        let past = |key: FiringKey| self.take_past(&key).map(|past| (key, past));
        let mut left: Vec<(FiringKey, PastFiring)> = keys.into_iter().filter_map(past).collect();
        left.sort_by_key(|(_, past)| past.number);
        left
    }

    /// Whether the hooks of this firing had something to say to the agent.
    pub fn survives(&self, key: &FiringKey) -> bool {
        self.firings_by_key.get(key).is_some_and(|known| known.survives)
    }

    /// Notes the end of a work item of a stage (from 1).
    pub(crate) fn note_end_of_item(&mut self, stage: u32, key: &str, state: ItemState) {
        let put_back = Arc::make_mut(self.put_back.entry(stage).or_default());
        match state {
            ItemState::Open => put_back.insert(key.to_owned()),
            ItemState::Done | ItemState::Failed | ItemState::Blocked => put_back.remove(key),
        };
    }

    /// Work items of a stage (from 1) that were put back since the session last worked on them.
    pub(crate) fn put_back(&self, stage: u32) -> Arc<HashSet<String>> {
        self.put_back.get(&stage).cloned().unwrap_or_default()
    }

    /// The keys of the work items that a stage (from 1) has begun, and their last state.
    pub(crate) fn tried(&self, stage: u32) -> BTreeMap<&str, Option<ItemState>> {
        let of_stage = self.items.range((stage, 0)..=(stage, u32::MAX));
        let tried = of_stage.map(|(_, past)| {
            let state = past.ended.as_ref().map(|(state, _)| *state);
            (past.item.key.as_str(), state)
        });
        tried.collect()
    }

    /// Executions of a stage (from 1) so far.
    fn executions(&self, stage: u32) -> u32 {
        let last = self.items.range((stage, 0)..=(stage, u32::MAX)).next_back();
        last.map_or(0, |((_, execution), _)| *execution)
    }

    /// The last iteration of a stage (from 1) of which anything is known: its turn, or the hooks
    /// before it.
    pub(crate) fn last_begun(&self, stage: u32) -> u32 {
        self.begun.get(&stage).copied().unwrap_or(0)
    }

    fn note_begun(&mut self, turn: &TurnName) {
        let begun = self.begun.entry(turn.stage).or_default();
        *begun = turn.iteration.max(*begun);
    }

    /// The number of iterations that ended, of all stages.
    pub fn iterations(&self) -> u32 {
        let ended =
            self.turns.iter().filter(|(name, past)| name.iteration > 0 && past.result.is_some());
        u32::try_from(ended.count()).unwrap_or(u32::MAX)
    }

    /// The turn that delivers raw output of hooks after the last iteration, if it was begun.
    pub(crate) fn raw_delivery(&self) -> Option<&TurnName> {
        self.turns.keys().rfind(|name| name.iteration == 0)
    }

    /// Whether hooks were asked this many times (from 1) whether the session may stop.
    pub(crate) fn has_asked_to_stop(&self, times: u32) -> bool {
        self.firings_by_key.contains_key(&Point::SessionStop { time: times }.into())
    }

    /// Whether a turn is known to have ended.
    pub fn has_ended(&self, turn: &TurnName) -> bool {
        self.turns.get(turn).is_some_and(|past| past.result.is_some())
    }

    /// The decision of a stage's latest iteration that ended.
    pub fn last_decision(&self) -> Option<&str> {
        let ended = self.turns.iter().rev().filter(|(name, _)| name.iteration > 0);
        ended.into_iter().find_map(|(_, turn)| Some(turn.result.as_ref()?.decision.as_str()))
    }

    pub(crate) fn add(&mut self, event: RunEvent) {
        if let Some(word) = end_of_hook(&event.kind) {
            *self.hooks.entry(word.to_owned()).or_default() += 1;
        }
        self.firings = self.firings.max(event.firing);
        self.has_begun |= begins(&event.kind);
        match event.kind {
            RunEventKind::Session(happened) => self.add_to_session(event.at, happened),
            RunEventKind::Turn(happened) => self.add_to_turn(&event.at, happened),
            RunEventKind::Firing(FiringEvent::ChildUsed { hook, stage, usage, .. }) => {
                self.add_child_usage((event.firing, hook), stage, usage);
            }
            RunEventKind::Firing(happened) => self.add_to_firing(event.firing, happened),
        }
    }

    fn add_to_session(&mut self, at: String, happened: SessionEvent) {
        match happened {
            SessionEvent::SessionSubmitted { sources, .. }
            | SessionEvent::SessionStarted { sources, .. } => {
                self.sources = serde_json::from_value(sources).ok();
            }
            SessionEvent::SessionResumed { sources, .. } => {
                self.end_interrupted();
                self.resumes += 1;
                if let Some(sources) = sources.and_then(|kept| serde_json::from_value(kept).ok()) {
                    self.sources = Some(sources);
                }
                self.ended = None;
            }
            SessionEvent::StageStarted { index, .. } => self.stages_started.push(index),
            SessionEvent::ItemStarted { stage, execution, item } => {
                self.items.insert((stage, execution), PastItem::new(item, at));
            }
            SessionEvent::ItemEnded {
                stage, execution, key, state, reason, iterations, ..
            } => {
                self.note_end_of_item(stage, &key, state);
                // Everything else that leaves an item open comes after an iteration.
                let is_left = state == ItemState::Open && iterations == 0;
                let left_at = is_left.then(|| self.last_begun(stage));
                if let Some(past) = self.items.get_mut(&(stage, execution)) {
                    past.left_at = left_at;
                    past.ended = Some((state, reason));
                }
            }
            SessionEvent::StageEnded { index, reason, iterations, .. } => {
                let (reason, executions) = (Reason::named(&reason), self.executions(index));
                self.stages_ended.insert(index, PastStage { reason, iterations, executions });
            }
            SessionEvent::SessionEnded { status, reason } => {
                match status {
                    // An interrupt during the end only delays the end, and so does a hook of it
                    // that aborts.
                    SessionStatus::Interrupted if self.is_at_its_end() => {}
                    SessionStatus::Aborted if self.is_at_its_end() => self.leave_behind(),
                    status => self.end(status),
                }
                self.ended = Some((status, reason));
            }
            SessionEvent::Paused { .. }
            | SessionEvent::Continued {}
            | SessionEvent::TreeKept { .. }
            | SessionEvent::Noted { .. } => {}
        }
    }

    fn add_to_turn(&mut self, at: &str, happened: TurnEvent) {
        match happened {
            TurnEvent::FinalDelivery { turn } => self.final_delivery = Some(turn),
            TurnEvent::TurnStarting { turn, attempt, run_id, .. } => {
                self.note_begun(&turn);
                let drained = match turn.iteration {
                    0 => self.pending.drain_raw(),
                    _ => std::mem::take(&mut self.pending),
                };
                self.in_flight.put_behind(drained);
                self.asked_to_stop = None;
                let past = self.turns.entry(turn).or_default();
                past.attempts = attempt;
                past.unfinished = Some(run_id);
            }
            TurnEvent::TurnGivenUp {
                turn,
                agent,
                cause,
                reason,
                until,
                usage,
                duration_ms,
                ..
            } => {
                let now = milliseconds(at).unwrap_or_default();
                let until = until.as_deref().and_then(milliseconds);
                self.availability.refuse(&agent, cause, &reason, until, now);
                self.at_work = Some(agent);
                self.add_usage(turn.stage, usage);
                let past = self.turns.entry(turn).or_default();
                past.unfinished = None;
                past.duration_ms += duration_ms;
            }
            TurnEvent::TurnEnded { turn, result, duration_ms, .. } => {
                self.add_usage(turn.stage, result.usage);
                if let Some(agent) = &result.agent {
                    self.availability.has_worked(agent);
                    self.at_work = Some(agent.clone());
                }
                let execution = self.executions(turn.stage);
                if let Some(past) = self.items.get_mut(&(turn.stage, execution))
                    && past.ended.is_none()
                {
                    past.last_iteration = turn.iteration;
                }
                let delivered = std::mem::take(&mut self.in_flight);
                self.failed_with = result.error.is_some().then(|| (turn.clone(), delivered));
                let past = self.turns.entry(turn).or_default();
                past.unfinished = None;
                past.result = Some(result);
                past.duration_ms += duration_ms;
                self.calls.clear();
            }
            TurnEvent::CallStarting { call, run_id: Some(run_id), .. } => {
                self.calls.insert(call, run_id);
            }
            TurnEvent::CallEnded { call, .. } => drop(self.calls.remove(&call)),
            TurnEvent::TranscriptWritten { bytes, digest } => {
                if self.transcript_marks.len() >= TRANSCRIPT_MARKS_MAX {
                    self.transcript_marks.remove(0);
                }
                self.transcript_marks.push((bytes, digest));
            }
            TurnEvent::AgentRunning { .. }
            | TurnEvent::AgentPrompted { .. }
            | TurnEvent::AgentOutput { .. }
            | TurnEvent::AgentChanged { .. }
            | TurnEvent::RequestSending { .. }
            | TurnEvent::RequestEnded { .. }
            | TurnEvent::CallStarting { .. }
            | TurnEvent::QuestionAsked { .. }
            | TurnEvent::QuestionAnswered { .. } => {}
        }
    }

    fn add_usage(&mut self, stage: u32, usage: Option<Usage>) {
        if let Some(usage) = usage {
            let sum = self.usage.entry(stage).or_default();
            *sum = sum.and(usage);
        }
    }

    /// The usage of all agents, including children.
    pub fn usage(&self) -> Option<Usage> {
        self.usage.values().copied().reduce(Usage::and)
    }

    /// The part of it that agents of children used.
    pub fn usage_of_children(&self) -> Option<Usage> {
        self.usage_of_children
    }

    fn add_to_firing(&mut self, number: u64, happened: FiringEvent) {
        self.note_child(number, &happened);
        if let FiringEvent::Fired { key: Some(key), late_answers, data, .. } = &happened {
            let key = FiringKey::parse(key);
            self.is_interrupted |=
                matches!(key.point, Point::Closing { event: ClosingEvent::UserInterrupt, .. });
            if let Some(turn) = key.starting_turn() {
                self.note_begun(&turn);
            }
            self.keys.insert(number, key.clone());
            self.note_below(&key);
            let stage = data.as_ref().filter(|_| key.task().is_some());
            let stage = stage.and_then(|data| data.get("stage")?.as_str().map(str::to_owned));
            let known = KnownFiring { number, stage_of_task: stage, ..KnownFiring::default() };
            self.firings_by_key.insert(key, known);
            // They were handed out, and no longer wait.
            let handed_out = late_answers.len().min(self.memory.late_answers.len());
            self.memory.late_answers.drain(..handed_out);
        }
        let key = self.keys.get(&number).cloned();
        let is_below_open_hook = key.as_ref().is_some_and(|key| self.is_below_open_hook(key));
        let known = key.and_then(|key| Some((self.firings_by_key.get_mut(&key)?, key)));
        let Some((known, key)) = known else {
            // Fired by an action; when the action runs again, it fires it again.
            return self.note_without_key(number, &happened);
        };
        if known.is_of_interrupt(&happened) {
            return;
        }
        let mut reported = None;
        match &happened {
            FiringEvent::HookStarting { hook, .. } if !known.open.contains(hook) => {
                known.open.push(hook.clone());
            }
            FiringEvent::HookReported { report } => {
                known.open.retain(|hook| *hook != report.id);
                reported = Some(report.id.clone());
            }
            FiringEvent::Decided { decision } => {
                let decision = Decision::from_record(decision);
                known.survives = !decision.piped_output.is_empty() || decision.survives_error;
                if matches!(key.point, Point::SessionStop { .. }) {
                    self.asked_to_stop = Some(key.clone());
                }
                match &key.point {
                    // The agent has ended its work, and is not started again for it.
                    _ if is_completed_end(&key) => {}
                    // The hook that fired it says it as well.
                    Point::Below { .. } => {}
                    // The driver that fired it has told the agent.
                    Point::InTurn { .. } => {}
                    Point::Iteration { event: IterationEvent::Start, .. } => {
                        self.pending.take_in_at_start(&decision, &late_contexts(&known.records));
                    }
                    _ => self.pending.take_in(&decision, key.event().as_ref()),
                }
                known.aborted = Aborted::from_records(&decision.verdict, &known.records);
                known.verdict = Some(decision.verdict);
                known.records.iter().for_each(|happened| remember(&mut self.memory, happened));
            }
            _ => {}
        }
        if known.verdict.is_some() {
            remember(&mut self.memory, &happened);
        }
        if known.verdict.is_some() && known.open.is_empty() && !is_below_open_hook {
            known.records = Vec::new();
        } else {
            known.records.push(happened);
        }
        if let Some(hook) = reported {
            self.release_below(number, &hook);
        }
    }
}

/// Contexts for the agent from background hooks of earlier firings, handed out at this firing.
fn late_contexts(records: &[FiringEvent]) -> Vec<String> {
    let late = records.iter().find_map(|happened| match happened {
        FiringEvent::Fired { late_answers, .. } => Some(late_answers),
        _ => None,
    });
    late.into_iter().flatten().flat_map(|answer| answer.additional_context.clone()).collect()
}

/// What an undecided firing has remembered is remembered again when it is resumed.
fn remember(memory: &mut Remembered, happened: &FiringEvent) {
    if let FiringEvent::Remembered { what } = happened
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
    #[error("entry {sequence} of the session's journal cannot be parsed: {cause}")]
    NotUnderstood {
        /// The entry's sequence number.
        sequence: u64,
        /// The parser's error.
        cause: String,
    },
}

/// Whether a session with this entry has begun.
fn begins(kind: &RunEventKind) -> bool {
    !matches!(
        kind,
        RunEventKind::Session(SessionEvent::SessionSubmitted { .. } | SessionEvent::Noted { .. })
    )
}

#[cfg(test)]
mod cut_off_tests;
#[cfg(test)]
mod tests;
