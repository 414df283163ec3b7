//! Runs without a recorded end: after a crash they may still be alive.

use hookwright_events::FiringEvent;

use super::History;
use super::known::KnownFiring;

/// An attempt of a hook.
#[derive(Debug)]
pub(super) struct UnfinishedRun {
    /// Its marker.
    pub(super) run_id: String,
    /// It has announced a commit.
    pub(super) is_committing: bool,
}

impl History {
    /// The markers of all runs without a recorded end.
    pub fn unfinished_runs(&self) -> Vec<String> {
        let turns = self.turns.values().filter_map(|turn| turn.unfinished.clone());
        let hooks = self.firings_by_key.values().flat_map(|known| {
            known.records.iter().filter_map(|happened| match happened {
                FiringEvent::HookStarting { hook, run_id, .. } if known.open.contains(hook) => {
                    run_id.clone()
                }
                _ => None,
            })
        });
        let without_key = self.runs_without_key.values().map(|run| run.run_id.clone());
        let calls = self.calls.values().cloned();
        turns.chain(calls).chain(hooks).chain(without_key).collect()
    }

    /// Those that have announced a commit: git may be at work.
    pub fn committing_runs(&self) -> Vec<String> {
        let with_key = self.firings_by_key.values().flat_map(|known| {
            let runs = known.open.iter().filter_map(|hook| last_run(known, hook));
            runs.filter(|run| run.is_committing).map(|run| run.run_id)
        });
        let without_key = self.runs_without_key.values().filter(|run| run.is_committing);
        with_key.chain(without_key.map(|run| run.run_id.clone())).collect()
    }

    /// Child sessions, each with the marker of its hook. Everything that such a session starts
    /// carries that marker too.
    pub(crate) fn runs_with_child(&self) -> Vec<(String, String)> {
        let run_of = |of: &(u64, String)| match self.keys.get(&of.0) {
            Some(key) => Some(last_run(self.firings_by_key.get(key)?, &of.1)?.run_id),
            None => Some(self.runs_without_key.get(of)?.run_id.clone()),
        };
        let children = self.children.iter();
        children.filter_map(|(of, child)| Some((run_of(of)?, child.session.clone()))).collect()
    }
}

/// The last attempt of a hook, if it has no recorded end.
fn last_run(known: &KnownFiring, hook: &str) -> Option<UnfinishedRun> {
    let mut last: Option<UnfinishedRun> = None;
    for happened in &known.records {
        match happened {
            FiringEvent::HookStarting { hook: id, run_id: Some(run_id), .. } if id == hook => {
                last = Some(UnfinishedRun { run_id: run_id.clone(), is_committing: false });
            }
            FiringEvent::HookCommitting { hook: id, .. } if id == hook => {
                if let Some(run) = &mut last {
                    run.is_committing = true;
                }
            }
            FiringEvent::HookEnded { hook: id, .. } if id == hook => last = None,
            _ => {}
        }
    }
    last
}
