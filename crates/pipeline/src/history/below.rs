//! Firings by hooks: a hook that commits tells other hooks of its commit. Such a firing has a key
//! that names the hook, is resumed with it, and is remembered until the hook was reported.

use hookwright_engine::PastFiring;
use hookwright_events::{FiringEvent, FiringKey, RunEventKind};

use super::History;
use super::unfinished::UnfinishedRun;

impl History {
    /// Notes a firing by a hook.
    pub(super) fn note_below(&mut self, key: &FiringKey) {
        if let Some((firing, hook)) = key.fired_by() {
            let below = self.below.entry(firing).or_default();
            below.push((hook.to_owned(), key.clone()));
        }
    }

    /// Whether the hook that fired this has not been reported.
    pub(super) fn is_below_open_hook(&self, key: &FiringKey) -> bool {
        let below = key.fired_by().and_then(|(firing, _)| self.below.get(&firing));
        below.is_some_and(|below| below.iter().any(|(_, known)| known == key))
    }

    /// Notes that a hook was reported: its firings are no longer resumed with it.
    pub(super) fn release_below(&mut self, firing: u64, hook: &str) {
        let Some(mut below) = self.below.remove(&firing) else { return };
        below.retain(|(by, key)| {
            let is_its = by == hook;
            if let Some(known) = self.firings_by_key.get_mut(key).filter(|_| is_its)
                && known.verdict.is_some()
                && known.open.is_empty()
            {
                known.records = Vec::new();
            }
            !is_its
        });
        if !below.is_empty() {
            self.below.insert(firing, below);
        }
    }

    /// Notes hooks of a firing without a key: it is never resumed, but processes that it left
    /// running are ended.
    pub(super) fn note_without_key(&mut self, firing: u64, happened: &FiringEvent) {
        match happened {
            FiringEvent::HookStarting { hook, run_id: Some(run_id), .. } => {
                let run = UnfinishedRun { run_id: run_id.clone(), is_committing: false };
                self.runs_without_key.insert((firing, hook.clone()), run);
            }
            FiringEvent::HookCommitting { hook, .. } => {
                if let Some(run) = self.runs_without_key.get_mut(&(firing, hook.clone())) {
                    run.is_committing = true;
                }
            }
            FiringEvent::HookReported { report } => {
                self.runs_without_key.remove(&(firing, report.id.clone()));
            }
            _ => {}
        }
    }

    /// What is known of a firing, with the firings by its hooks that are resumed with it.
    pub(crate) fn take_past(&mut self, key: &FiringKey) -> Option<PastFiring> {
        let known = self.firings_by_key.get_mut(key)?;
        let (number, records) = (known.number, std::mem::take(&mut known.records));
        let mut below = Vec::new();
        for (_, key) in self.below.remove(&number).unwrap_or_default() {
            if let Some(past) = self.take_past(&key) {
                below.push((key.to_string(), past));
            }
        }
        let records = records.into_iter().map(RunEventKind::Firing);
        Some(PastFiring::new(number, records).with_below(below))
    }

    /// The key of the firing that determines the stage of this one: its own, or that of the hook's
    /// firing.
    pub fn key_above<'a>(&'a self, key: &'a FiringKey) -> &'a FiringKey {
        let above = key.fired_by().and_then(|(firing, _)| self.keys.get(&firing));
        above.unwrap_or(key)
    }
}
