//! [`PastFiring`]: what a journal knows of a firing that a crash interrupted.
//!
//! The same machine resumes a firing: dispatch decides anew, and if the journal knows an answer
//! (whether a hook ran, how an attempt ended), that answer is used. So nothing that ended starts
//! again, and an attempt without an end runs again with a higher attempt number.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Answer, EventName, FiringEvent, FiringKey, Outcome, RunEventKind};
use serde_json::{Map, Value};

use crate::hook::Hook;

/// What is known of a firing from before a crash, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct PastFiring {
    /// The firing's number.
    pub number: u64,
    records: Vec<FiringEvent>,
    is_decided: bool,
    /// Unfinished firings by its hooks, with their keys.
    below: Vec<(String, PastFiring)>,
}

/// What an interrupted hook had done.
#[derive(Debug, Clone, Default)]
pub(crate) struct CutOff {
    /// The commit that it was about to make.
    pub(crate) committing: Option<Committing>,
    /// Firings by it, with their keys.
    pub(crate) fired: Vec<(String, PastFiring)>,
}

/// The state of a repository before a hook committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committing {
    /// The commit of HEAD, if there was one.
    pub(crate) head: Option<String>,
    /// The staged tree.
    pub(crate) tree: String,
}

/// What is known of one hook of an interrupted firing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PastHook {
    /// Nothing: it runs as in a new firing.
    Unknown,
    Started,
    /// It was passed over, for this reason, and perhaps because this hook ended the session.
    Skipped(String, Option<String>),
}

impl PastFiring {
    /// The firing with this number, from its recorded events. Only events of the firing level
    /// count.
    pub fn new(number: u64, recorded: impl IntoIterator<Item = RunEventKind>) -> Self {
        let of_firing = |kind| match kind {
            RunEventKind::Firing(event) => Some(event),
            RunEventKind::Turn(_) | RunEventKind::Session(_) => None,
        };
        let records: Vec<FiringEvent> = recorded.into_iter().filter_map(of_firing).collect();
        let is_decided = records.iter().any(|kind| matches!(kind, FiringEvent::Decided { .. }));
        Self { number, records, is_decided, below: Vec::new() }
    }

    /// Adds unfinished firings by its hooks, with their keys, to be resumed with it.
    pub fn with_below(mut self, below: Vec<(String, PastFiring)>) -> Self {
        self.below = below;
        self
    }

    /// The event's data as recorded.
    pub fn data(&self) -> Option<Map<String, Value>> {
        self.records().find_map(|kind| match kind {
            FiringEvent::Fired { data, .. } => data.clone(),
            _ => None,
        })
    }

    /// The event and its data as recorded.
    pub fn fired(&self) -> Option<(EventName, Map<String, Value>)> {
        self.records().find_map(|kind| match kind {
            FiringEvent::Fired { event, data, .. } => {
                Some((event.clone(), data.clone().unwrap_or_default()))
            }
            _ => None,
        })
    }

    /// The late answers that this firing handed out.
    pub fn late_answers(&self) -> Vec<Answer> {
        let of = |kind: &FiringEvent| match kind {
            FiringEvent::Fired { late_answers, .. } => Some(late_answers.clone()),
            _ => None,
        };
        self.records().find_map(of).unwrap_or_default()
    }

    /// Whether its decision was made. If so, only its background hooks are resumed.
    pub fn is_decided(&self) -> bool {
        self.is_decided
    }

    /// Forgets hooks that were replaced by others of the same name.
    pub(crate) fn forget_others(&mut self, hooks: &[Arc<Hook>]) {
        let is_another = |kind: &FiringEvent| match kind {
            FiringEvent::HookStarting { hook: id, digest: Some(digest), .. } => hooks
                .iter()
                .find(|hook| hook.id == *id)
                .filter(|hook| hook.digest() != *digest)
                .map(|hook| hook.id.clone()),
            _ => None,
        };
        let others: Vec<String> = self.records().filter_map(is_another).collect();
        self.records.retain(|kind| !hook_of(kind).is_some_and(|id| others.iter().any(|o| o == id)));
    }

    pub(crate) fn past_of_hook(&self, hook: &Hook) -> PastHook {
        let found = self.records().find_map(|kind| match kind {
            FiringEvent::HookStarting { hook: id, .. } if *id == hook.id => Some(PastHook::Started),
            FiringEvent::HookSkipped { hook: id, reason, ended_by } if *id == hook.id => {
                Some(PastHook::Skipped(reason.clone(), ended_by.clone()))
            }
            _ => None,
        });
        found.unwrap_or(PastHook::Unknown)
    }

    /// How an attempt ended. `number` counts the attempts that ended.
    pub(crate) fn ended(&self, hook: &str, number: u32) -> Option<(Outcome, Duration)> {
        let ends = self.records().filter_map(|kind| match kind {
            FiringEvent::HookEnded { hook: id, outcome, duration_ms, .. } if id == hook => {
                Some((outcome, *duration_ms))
            }
            _ => None,
        });
        let (outcome, duration_ms) = ends.into_iter().nth(usize::try_from(number).ok()? - 1)?;
        Some((outcome.clone(), Duration::from_secs_f64(duration_ms.max(0.0) / 1000.0)))
    }

    /// What this hook had done when the attempt was interrupted. `number` counts the attempts that
    /// ended.
    pub(crate) fn cut_off_run(&self, hook: &str, number: u32) -> Option<Box<CutOff>> {
        let mut ends = 0;
        let mut committing = None;
        for kind in self.records() {
            match kind {
                FiringEvent::HookEnded { hook: id, .. } if id == hook => {
                    ends += 1;
                    committing = None;
                }
                FiringEvent::HookCommitting { hook: id, head, tree } if id == hook => {
                    committing = Some(Committing { head: head.clone(), tree: tree.clone() });
                }
                _ => {}
            }
        }
        let is_its = |key: &str| FiringKey::parse(key).fired_by().is_some_and(|(_, by)| by == hook);
        let fired = self.below.iter().filter(|(key, _)| is_its(key)).cloned().collect();
        (number == ends + 1).then(|| Box::new(CutOff { committing, fired }))
    }

    /// If it moved to the background before it ended: its answer then, if any.
    pub(crate) fn went_async(&self, hook: &str) -> Option<Option<Box<Answer>>> {
        self.records().find_map(|kind| match kind {
            FiringEvent::HookWentAsync { hook: id, answer } if id == hook => Some(answer.clone()),
            _ => None,
        })
    }

    /// How many attempts were interrupted: they started and have no end.
    pub(crate) fn cut_off(&self, hook: &str) -> u32 {
        let count =
            |is: &dyn Fn(&FiringEvent) -> bool| self.records().filter(|kind| is(kind)).count();
        let started =
            count(&|kind| matches!(kind, FiringEvent::HookStarting { hook: id, .. } if id == hook));
        let ended =
            count(&|kind| matches!(kind, FiringEvent::HookEnded { hook: id, .. } if id == hook));
        u32::try_from(started.saturating_sub(ended)).unwrap_or(u32::MAX)
    }

    fn records(&self) -> impl Iterator<Item = &FiringEvent> {
        self.records.iter()
    }
}

/// The records of a firing that are already written. Each counts once, in the order in which they
/// were written.
#[derive(Debug, Default)]
pub(crate) struct WrittenRecords {
    left: Vec<FiringEvent>,
}

impl WrittenRecords {
    pub(crate) fn from_past(past: &PastFiring) -> Self {
        let mut ends: HashMap<String, usize> = HashMap::new();
        for kind in past.records() {
            if let FiringEvent::HookEnded { hook, .. } = kind {
                *ends.entry(hook.clone()).or_default() += 1;
            }
        }
        // An interrupted attempt starts again, and that is a new record.
        let mut has_ended = |kind: &&FiringEvent| match kind {
            FiringEvent::HookStarting { hook, .. } => {
                let left = ends.entry(hook.clone()).or_default();
                let ended = *left > 0;
                *left = left.saturating_sub(1);
                ended
            }
            _ => true,
        };
        Self { left: past.records().filter(|kind| has_ended(kind)).cloned().collect() }
    }

    /// Removes this record, if it is among them, and returns whether it was.
    pub(crate) fn take(&mut self, kind: &FiringEvent) -> bool {
        let found = self.left.iter().position(|written| is_the_same(written, kind));
        if let Some(at) = found {
            self.left.remove(at);
        }
        found.is_some()
    }
}

/// The hook that a record is about.
fn hook_of(kind: &FiringEvent) -> Option<&str> {
    match kind {
        FiringEvent::HookSkipped { hook, .. }
        | FiringEvent::HookStarting { hook, .. }
        | FiringEvent::HookRunning { hook, .. }
        | FiringEvent::HookSpawned { hook, .. }
        | FiringEvent::HookCommitting { hook, .. }
        | FiringEvent::ChildUsed { hook, .. }
        | FiringEvent::HookWaiting { hook, .. }
        | FiringEvent::HookEnded { hook, .. }
        | FiringEvent::HookRetrying { hook, .. }
        | FiringEvent::HookWentAsync { hook, .. }
        | FiringEvent::LateAnswer { hook, .. } => Some(hook),
        FiringEvent::HookReported { report } => Some(&report.id),
        _ => None,
    }
}

/// Whether two records describe the same step, whatever their details.
fn is_the_same(one: &FiringEvent, other: &FiringEvent) -> bool {
    use FiringEvent as Kind;
    if std::mem::discriminant(one) != std::mem::discriminant(other) {
        return false;
    }
    match (one, other) {
        (Kind::Fired { .. } | Kind::Decided { .. }, _) => true,
        (Kind::Remembered { what: a }, Kind::Remembered { what: b }) => a == b,
        (one, other) => hook_of(one).is_some() && hook_of(one) == hook_of(other),
    }
}
