//! [`TaskLease`]: one process at a time completes a task, so that its hooks run once.
//!
//! This file decides how long to wait for another process, and when not to. The caller decides how
//! to wait: a session does other things meanwhile, a command has nothing else to do.

use std::time::{Duration, Instant};

use hookwright_engine::Chain;
use hookwright_events::TaskId;
use hookwright_store::{Fence, KeptTasks, StoreError};

use crate::lease::{self, LeaseError};
use crate::limits::DESK_ANSWER_TIMEOUT;

/// The lease of a task to complete.
#[derive(Clone)]
pub struct TaskLease {
    tasks: KeptTasks,
    name: String,
    wanted_since: Instant,
}

/// The result of trying to take it. Another process is named by its id.
#[derive(Debug, PartialEq, Eq)]
pub enum Look {
    /// It is ours, until it is given back.
    Ours(Fence),
    /// The caller runs within hooks, perhaps of this very completion: it would wait for itself.
    Underway,
    /// Another process has it; try again after [`TASK_PAUSE`](crate::limits::TASK_PAUSE).
    Theirs {
        /// The other process.
        pid: u32,
        /// The time waited so far.
        waited: Duration,
    },
    /// Another process has it, and the wait was long enough.
    Busy {
        /// The other process.
        pid: u32,
    },
}

impl TaskLease {
    /// Begins the wait for this task's lease.
    pub fn new(tasks: &KeptTasks, id: TaskId) -> Self {
        let name = lease::name_of_task(tasks.project(), id);
        Self { tasks: tasks.clone(), name, wanted_since: Instant::now() }
    }

    /// Takes it if it is free. `chain` are the hooks that the caller runs in.
    pub fn look(&self, chain: &Chain) -> Result<Look, StoreError> {
        let holder = match lease::take(self.tasks.store(), &self.name) {
            Ok(fence) => return Ok(Look::Ours(fence)),
            Err(LeaseError::Store(error)) => return Err(error),
            Err(LeaseError::Runs { holder }) => holder,
        };
        let (pid, waited) = (holder.pid, self.wanted_since.elapsed());
        Ok(match waited > DESK_ANSWER_TIMEOUT {
            _ if chain.depth() > 0 => Look::Underway,
            true => Look::Busy { pid },
            false => Look::Theirs { pid, waited },
        })
    }

    /// Releases it. If that fails, it will soon belong to a dead process.
    pub fn give_back(&self, fence: &Fence) {
        let _ = self.tasks.store().release(&fence.lease, fence.token);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use hookwright_events::EventName;
    use hookwright_store::SqliteStore;

    use super::*;

    #[test]
    fn one_process_at_a_time_completes_a_task_and_none_waits_for_the_hooks_above_it() {
        let tasks = KeptTasks::new(Arc::new(SqliteStore::in_memory().expect("memory")), "/p");
        let (one, other) = (TaskLease::new(&tasks, TaskId(1)), TaskLease::new(&tasks, TaskId(1)));
        let event = EventName::resolve("task:complete").expect("it is in the table");
        let outside = Chain::default();
        let within = outside.with(&event, "a", Path::new("hooks.yaml"));
        let Look::Ours(fence) = one.look(&within).expect("read") else {
            panic!("it is free");
        };
        let pid = std::process::id();
        assert!(
            matches!(other.look(&outside).expect("read"), Look::Theirs { pid: by, .. } if by == pid)
        );
        assert_eq!(other.look(&within).expect("read"), Look::Underway);
        let another = TaskLease::new(&tasks, TaskId(2));
        assert!(matches!(another.look(&outside).expect("read"), Look::Ours(_)));
        one.give_back(&fence);
        assert!(matches!(other.look(&outside).expect("read"), Look::Ours(_)));
    }
}
