//! [`OpenChild`]: a session that a hook has started and whose end the hook has not seen; and what
//! children used.

use hookwright_events::{FiringEvent, Outcome, ProcessOutcome, Usage};

use super::History;

/// A child to resume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenChild {
    pub(crate) session: String,
    /// The stage that it counts for, from 1.
    pub(crate) stage: u32,
    /// What its parent knows of its usage.
    pub(crate) used: Usage,
}

impl History {
    /// Notes a child. It belongs to its hook until that has ended by itself; one that an interrupt
    /// ended is resumed.
    pub(super) fn note_child(&mut self, firing: u64, happened: &FiringEvent) {
        match happened {
            FiringEvent::HookSpawned { hook, session, .. } => {
                // Before the first stage it counts for that one.
                let stage = self.stages_started.last().copied().unwrap_or(1);
                let child = OpenChild { session: session.clone(), stage, used: Usage::default() };
                self.children.insert((firing, hook.clone()), child);
            }
            FiringEvent::HookEnded {
                outcome: Outcome::Process(ProcessOutcome::Interrupted { .. }),
                ..
            } => {}
            FiringEvent::HookEnded { hook, .. } => {
                self.children.remove(&(firing, hook.clone()));
            }
            _ => {}
        }
    }

    /// Counts a child's usage for the session, in the stage in which the child was started.
    pub(super) fn add_child_usage(&mut self, of: (u64, String), stage: u32, usage: Usage) {
        self.add_usage(stage, Some(usage));
        self.usage_of_children = Some(self.usage_of_children.unwrap_or_default().and(usage));
        if let Some(child) = self.children.get_mut(&of) {
            child.used = child.used.and(usage);
        }
    }
}
