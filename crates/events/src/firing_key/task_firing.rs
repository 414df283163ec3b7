//! [`TaskFiring`]: the part of a key about a completed task.

use std::fmt;

use crate::TaskId;

/// One firing for a completed task.
///
/// Usually one firing is enough: its hooks decide whether the task is completed. If some hooks run
/// after the fact, they get a second firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskFiring {
    /// The completed task.
    pub task: TaskId,
    /// Why it is completed.
    pub occasion: Occasion,
    /// The hooks of this firing.
    pub part: TaskHooks,
}

/// Why a session completes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// A caller requested it. The number of the request, from 1.
    Asked(u32),
    /// A session worked on it and has finished.
    Execution {
        /// The stage, from 0.
        stage: usize,
        /// The execution of the stage, from 1.
        execution: u32,
    },
}

/// The hooks of a firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskHooks {
    /// All of them.
    Whole,
    /// Those that decide; others follow.
    Before,
    /// Those that run after the fact.
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
