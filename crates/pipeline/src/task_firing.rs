//! [`TaskFiring`]: what a session's journal calls one firing of a task that is completed.
//!
//! As a rule one firing does it: its hooks are asked, and with their decision the task is completed.
//! Where there are also hooks that come after the fact, these have a firing of their own behind it.

use hookwright_events::{EventName, TaskId, Verdict};

/// The event.
const EVENT: EventName = EventName::TASK_COMPLETE;

/// One firing of a task that is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskFiring {
    /// Which task.
    pub task: TaskId,
    /// Why it is completed.
    pub occasion: Occasion,
    /// Of which hooks.
    pub part: Part,
}

/// Why a session completes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// Somebody asked for it, for the so-manyth time, counted from 1.
    Asked(u32),
    /// It was worked on, and that is over.
    Execution {
        /// The stage, from 0.
        stage: usize,
        /// Which execution of it, from 1.
        execution: u32,
    },
}

/// Which hooks a firing is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// All of them.
    Whole,
    /// Those that have a say; others follow.
    Before,
    /// Those that come after the fact.
    After,
}

impl TaskFiring {
    /// The key of this firing.
    pub fn key(&self) -> String {
        let Self { task, occasion, part } = self;
        let part = match part {
            Part::Whole => "",
            Part::Before => "/before",
            Part::After => "/after",
        };
        match occasion {
            Occasion::Asked(time) => format!("{EVENT}/{task}/{time}{part}"),
            Occasion::Execution { stage, execution } => {
                format!("{EVENT}/{task}/{stage}-{execution}{part}")
            }
        }
    }

    /// The firing with this key, if it is one of a task.
    pub fn of(key: &str) -> Option<Self> {
        let mut parts = key.strip_prefix(EVENT.as_str())?.strip_prefix('/')?.split('/');
        let task = TaskId::typed(parts.next()?)?;
        let occasion = Occasion::of(parts.next()?)?;
        let part = match parts.next() {
            None => Part::Whole,
            Some("before") => Part::Before,
            Some("after") => Part::After,
            Some(_) => return None,
        };
        Some(Self { task, occasion, part })
    }
}

impl Occasion {
    fn of(text: &str) -> Option<Self> {
        Some(match text.split_once('-') {
            None => Self::Asked(text.parse().ok()?),
            Some((stage, execution)) => {
                Self::Execution { stage: stage.parse().ok()?, execution: execution.parse().ok()? }
            }
        })
    }
}

/// Whether a task is completed after this.
pub fn lets_pass(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Proceed { .. } | Verdict::Allow { .. } => true,
        Verdict::Ask { .. }
        | Verdict::Block { .. }
        | Verdict::Stop { .. }
        | Verdict::Abort { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_the_task_the_occasion_and_the_part_and_is_read_again() {
        let execution = Occasion::Execution { stage: 0, execution: 7 };
        for (occasion, part, key) in [
            (Occasion::Asked(2), Part::Whole, "task:complete/TAS-3/2"),
            (Occasion::Asked(2), Part::Before, "task:complete/TAS-3/2/before"),
            (Occasion::Asked(2), Part::After, "task:complete/TAS-3/2/after"),
            (execution, Part::Whole, "task:complete/TAS-3/0-7"),
            (execution, Part::After, "task:complete/TAS-3/0-7/after"),
        ] {
            let firing = TaskFiring { task: TaskId(3), occasion, part };
            assert_eq!(firing.key(), key);
            assert_eq!(TaskFiring::of(key), Some(firing));
        }
        for other in ["session:start/0", "task:complete/3", "task:complete/TAS-3/2/x"] {
            assert_eq!(TaskFiring::of(other), None, "{other}");
        }
    }
}
