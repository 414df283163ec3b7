//! What every task has to keep to, alone and among the others of its list.

use std::collections::HashMap;

use hookwright_events::task::{LOWEST, Task, TaskId, TaskState};

use super::{KeptTask, KeptTasks, ListRecord, TaskError, read};
use crate::{Filter, Kind, limits, records};

impl KeptTasks {
    /// These ids, each once, if there are such tasks.
    pub(super) fn known_ids(&self, typed: &[String]) -> Result<Vec<TaskId>, TaskError> {
        let (what, max) = ("tasks that one task waits for", limits::TASK_DEPENDENCIES_MAX);
        if typed.len() > max {
            return Err(TaskError::TooLarge { what, found: typed.len(), max });
        }
        let mut ids = Vec::new();
        for id in typed {
            let id = self.get(id)?.task.id;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Refuses a task that would, through those it waits for, wait for itself.
    pub(super) fn refuse_circle(&self, task: &Task) -> Result<(), TaskError> {
        // Steps that have still to be taken, each from one task to one that it waits for.
        let mut steps: Vec<(TaskId, TaskId)> =
            task.depends_on.iter().rev().map(|next| (task.id, *next)).collect();
        // From where each task was first come to.
        let mut come_from: HashMap<TaskId, TaskId> = HashMap::new();
        while let Some((from, at)) = steps.pop() {
            if at == task.id {
                let mut way = vec![task.id, from];
                while let Some(before) = way.last().and_then(|last| come_from.get(last)) {
                    way.push(*before);
                }
                way.reverse();
                return Err(TaskError::Circle { way });
            }
            if come_from.contains_key(&at) {
                continue;
            }
            come_from.insert(at, from);
            let Some(there) = self.find(at)? else { continue };
            steps.extend(there.task.depends_on.iter().rev().map(|next| (at, *next)));
        }
        Ok(())
    }

    /// Refuses what an unfinished task (other than this one) says already.
    pub(super) fn refuse_same(&self, content: &str, but: Option<TaskId>) -> Result<(), TaskError> {
        // Most tasks say something else, which shows without reading the whole of them.
        let written = serde_json::to_string(content).expect("text is JSON");
        let statuses = TaskState::UNFINISHED.map(|state| state.as_str().to_owned()).to_vec();
        let mut unfinished = 0;
        for record in records(&*self.store, Kind::Task, Filter { statuses, ..self.all() }) {
            let record = record?;
            unfinished += 1;
            if !record.value.contains(&written) {
                continue;
            }
            let KeptTask { task, .. } = read(&record)?;
            if task.content == content && Some(task.id) != but {
                return Err(TaskError::Same { id: task.id, state: task.state });
            }
        }
        let (what, max) = ("unfinished tasks of a project", limits::UNFINISHED_TASKS_MAX);
        if unfinished >= max {
            return Err(TaskError::TooLarge { what, found: unfinished + 1, max });
        }
        Ok(())
    }

    /// The id that was perhaps meant.
    pub(super) fn nearest(&self, typed: &str) -> Result<Option<TaskId>, TaskError> {
        let ListRecord { last, .. } = self.list_record()?;
        let digits: String = typed.chars().filter(char::is_ascii_digit).collect();
        // Numbers are given without gaps, so the nearest is the number itself or the last one.
        let number = digits.parse().unwrap_or(last).clamp(1, last.max(1));
        Ok((last > 0).then_some(TaskId(number)))
    }
}

/// The text of a task, if it is one.
pub(super) fn checked_content(content: &str) -> Result<&str, TaskError> {
    let content = content.trim();
    let (what, max) = ("bytes of a task's text", limits::TASK_CONTENT_BYTES_MAX);
    match content.len() {
        0 => Err(TaskError::Empty),
        found if found > max => Err(TaskError::TooLarge { what, found, max }),
        _ => Ok(content),
    }
}

/// Refuses what is no priority.
pub(super) fn check_priority(priority: u8) -> Result<(), TaskError> {
    match priority {
        0..=LOWEST => Ok(()),
        found => Err(TaskError::Priority { found }),
    }
}
