//! [`PastFiring`]: what a journal knows of a firing that a crash cut off.
//!
//! A firing is taken up again by the same machine that would have gone on with it: dispatch decides
//! anew, and wherever the journal knows the answer (whether a hook ran, how an attempt ended) that
//! answer is given instead of a new one. So nothing that ended is started again, and what had started
//! without an end runs again with a higher attempt number.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Answer, EventName, FiringEvent, FiringKey, Outcome, RunEventKind};
use serde_json::{Map, Value};

use crate::hook::Hook;

/// What is known of a firing from before a crash, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct PastFiring {
    /// Its number.
    pub number: u64,
    records: Vec<FiringEvent>,
    is_decided: bool,
    /// Firings by its hooks that have not ended, by their keys.
    below: Vec<(String, PastFiring)>,
}

/// What a hook that was cut off had done by then.
#[derive(Debug, Clone, Default)]
pub(crate) struct CutOff {
    /// The commit that it was about to make.
    pub(crate) committing: Option<Committing>,
    /// Firings by it, by their keys.
    pub(crate) fired: Vec<(String, PastFiring)>,
}

/// Where a repository was before a hook committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committing {
    /// The commit that HEAD named, if there was one.
    pub(crate) head: Option<String>,
    /// What was staged.
    pub(crate) tree: String,
}

/// What is known of one hook of such a firing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PastHook {
    /// Nothing: it has its turn as if nothing had happened.
    Unknown,
    /// It was started.
    Started,
    /// It was passed, for this reason.
    Skipped(String),
}

impl PastFiring {
    /// The firing with this number, from what was recorded with it; what is of another level than
    /// firings does not count.
    pub fn new(number: u64, recorded: impl IntoIterator<Item = RunEventKind>) -> Self {
        let of_firing = |kind| match kind {
            RunEventKind::Firing(event) => Some(event),
            RunEventKind::Turn(_) | RunEventKind::Session(_) => None,
        };
        let records: Vec<FiringEvent> = recorded.into_iter().filter_map(of_firing).collect();
        let is_decided = records.iter().any(|kind| matches!(kind, FiringEvent::Decided { .. }));
        Self { number, records, is_decided, below: Vec::new() }
    }

    /// With firings by its hooks that are to be taken up with it, each with its key.
    pub fn with_below(mut self, below: Vec<(String, PastFiring)>) -> Self {
        self.below = below;
        self
    }

    /// The event's data as they were.
    pub fn data(&self) -> Option<Map<String, Value>> {
        self.records().find_map(|kind| match kind {
            FiringEvent::Fired { data, .. } => data.clone(),
            _ => None,
        })
    }

    /// The event and its data as they were.
    pub fn fired(&self) -> Option<(EventName, Map<String, Value>)> {
        self.records().find_map(|kind| match kind {
            FiringEvent::Fired { event, data, .. } => {
                Some((event.clone(), data.clone().unwrap_or_default()))
            }
            _ => None,
        })
    }

    /// What was handed out at this firing.
    pub fn late_answers(&self) -> Vec<Answer> {
        let of = |kind: &FiringEvent| match kind {
            FiringEvent::Fired { late_answers, .. } => Some(late_answers.clone()),
            _ => None,
        };
        self.records().find_map(of).unwrap_or_default()
    }

    /// Whether its decision was made. Then only what ran in the background is taken up again.
    pub fn is_decided(&self) -> bool {
        self.is_decided
    }

    /// Forgets what hooks did that are others now, though they have the same names.
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

    /// What is known of this hook.
    pub(crate) fn past_of_hook(&self, hook: &Hook) -> PastHook {
        let found = self.records().find_map(|kind| match kind {
            FiringEvent::HookStarting { hook: id, .. } if *id == hook.id => Some(PastHook::Started),
            FiringEvent::HookSkipped { hook: id, reason } if *id == hook.id => {
                Some(PastHook::Skipped(reason.clone()))
            }
            _ => None,
        });
        found.unwrap_or(PastHook::Unknown)
    }

    /// How the attempt with this number, counting those that ended, came to its end.
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

    /// What this hook had done when it was cut off in the attempt with this number, counting those that
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

    /// If it went to the background before it ended: what it answered then, if it did.
    pub(crate) fn went_async(&self, hook: &str) -> Option<Option<Box<Answer>>> {
        self.records().find_map(|kind| match kind {
            FiringEvent::HookWentAsync { hook: id, answer } if id == hook => Some(answer.clone()),
            _ => None,
        })
    }

    /// How many attempts were cut off: they started and never ended.
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

/// Which records of a firing are written already; each counts once, in the order in which they were
/// written.
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
        // An attempt that was cut off starts again, and that is a new record.
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

    /// Whether this record is among them; it is then taken out.
    pub(crate) fn take(&mut self, kind: &FiringEvent) -> bool {
        let found = self.left.iter().position(|written| is_the_same(written, kind));
        if let Some(at) = found {
            self.left.remove(at);
        }
        found.is_some()
    }
}

/// The hook that a record tells of.
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

/// Whether two records tell of the same thing, however they put it.
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
