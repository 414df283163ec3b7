//! [`TaskFiring`]: the part of a key that names a task that is completed.

use std::fmt;

use crate::TaskId;

/// One firing of a task that is completed.
///
/// As a rule one firing does it: its hooks are asked, and with their decision the task is completed.
/// Where there are also hooks that come after the fact, these have a firing of their own behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskFiring {
    /// Which task.
    pub task: TaskId,
    /// Why it is completed.
    pub occasion: Occasion,
    /// Of which hooks.
    pub part: TaskHooks,
}

/// Why a session completes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// A caller asked for it. The number of the request, from 1.
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
pub enum TaskHooks {
    /// All of them.
    Whole,
    /// Those that have a say; others follow.
    Before,
    /// Those that come after the fact.
    After,
}

impl fmt::Display for TaskFiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.task)?;
        match self.occasion {
            Occasion::Asked(time) => write!(f, "{time}"),
            Occasion::Execution { stage, execution } => write!(f, "{stage}-{execution}"),
        }?;
        f.write_str(match self.part {
            TaskHooks::Whole => "",
            TaskHooks::Before => "/before",
            TaskHooks::After => "/after",
        })
    }
}

impl TaskFiring {
    pub(super) fn parse(task: &str, occasion: &str, part: &[&str]) -> Option<Self> {
        let task = TaskId::typed(task)?;
        let occasion = match occasion.split_once('-') {
            None => Occasion::Asked(occasion.parse().ok()?),
            Some((stage, execution)) => Occasion::Execution {
                stage: stage.parse().ok()?,
                execution: execution.parse().ok()?,
            },
        };
        let part = match part {
            [] => TaskHooks::Whole,
            ["before"] => TaskHooks::Before,
            ["after"] => TaskHooks::After,
            _ => return None,
        };
        Some(Self { task, occasion, part })
    }
}
