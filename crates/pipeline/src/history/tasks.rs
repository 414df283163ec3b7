//! What a session's journal says about tasks that it completed, or was about to.

use std::collections::HashMap;

use hookwright_engine::PastFiring;
use hookwright_events::firing_key::{Occasion, TaskFiring, TaskHooks};
use hookwright_events::{FiringKey, TaskId, Verdict};

use super::History;

/// A task whose completion was interrupted.
#[derive(Debug)]
pub struct LeftTask {
    /// The firing to resume.
    pub firing: TaskFiring,
    /// What is known of it, if it had begun.
    pub past: Option<PastFiring>,
    /// The stage in which it was requested.
    pub stage: Option<String>,
}

impl History {
    /// Firings of tasks to resume, oldest first: those without a decision, and those that follow
    /// one which lets the task pass.
    pub fn left_tasks(&mut self) -> Vec<LeftTask> {
        let left = self.left_firings();
        left.into_iter().map(|(before, firing)| self.left_task(&before, firing)).collect()
    }

    /// The tasks of these firings.
    pub fn tasks_left(&self) -> Vec<TaskId> {
        self.left_firings().into_iter().map(|(_, firing)| firing.task).collect()
    }

    /// Each with the key under which it is known: its own, or that of the firing before it.
    fn left_firings(&self) -> Vec<(FiringKey, TaskFiring)> {
        let mut left = Vec::new();
        for (key, known) in &self.firings_by_key {
            let Some(firing) = key.task() else { continue };
            let after = TaskFiring { part: TaskHooks::After, ..firing };
            match (&known.verdict, firing.part) {
                (None, _) => left.push((known.number, key.clone(), firing)),
                (Some(verdict), TaskHooks::Before)
                    if verdict.lets_pass() && !self.firings_by_key.contains_key(&after.into()) =>
                {
                    left.push((known.number, key.clone(), after));
                }
                (Some(_), TaskHooks::Before | TaskHooks::After | TaskHooks::Whole) => {}
            }
        }
        left.sort_by_key(|(number, ..)| *number);
        left.into_iter().map(|(_, key, firing)| (key, firing)).collect()
    }

    fn left_task(&mut self, known_by: &FiringKey, firing: TaskFiring) -> LeftTask {
        let is_its_own = FiringKey::from(firing) == *known_by;
        let known = self.firings_by_key.get(known_by);
        let stage = known.and_then(|known| known.stage_of_task.clone());
        let past = is_its_own.then(|| self.take_past(known_by)).flatten();
        LeftTask { firing, past, stage }
    }

    /// How often the completion of each task was requested.
    pub fn task_times(&self) -> HashMap<TaskId, u32> {
        let mut times = HashMap::new();
        for firing in self.firings_by_key.keys().filter_map(FiringKey::task) {
            if let Occasion::Asked(time) = firing.occasion {
                let most = times.entry(firing.task).or_default();
                *most = time.max(*most);
            }
        }
        times
    }

    /// The decision about a task that is completed on this occasion.
    pub fn decided_task(&self, task: TaskId, occasion: Occasion) -> Option<&Verdict> {
        let parts = [TaskHooks::Whole, TaskHooks::Before].into_iter();
        parts
            .filter_map(|part| {
                let firing = TaskFiring { task, occasion, part };
                self.firings_by_key.get(&firing.into())?.verdict.as_ref()
            })
            .next()
    }

    /// Notes the decision of a resumed firing.
    pub fn note_decided(&mut self, firing: &TaskFiring, verdict: Verdict) {
        if let Some(known) = self.firings_by_key.get_mut(&FiringKey::from(*firing)) {
            known.verdict = Some(verdict);
        }
    }

    /// Why a hook of a completed task has ended the session, if that had no effect yet.
    pub fn aborted_by_task(&self) -> Option<&str> {
        let of_tasks = self.firings_by_key.iter().filter(|(key, _)| key.task().is_some());
        of_tasks.into_iter().find_map(|(_, known)| match &known.verdict {
            Some(Verdict::Abort { reason } | Verdict::Stop { reason }) => Some(reason.as_str()),
            _ => None,
        })
    }
}
