//! Rules that every task must follow, alone and among the others of its list.

use std::collections::HashMap;

use hookwright_events::task::{LOWEST, Task, TaskId, TaskState};

use super::{KeptTask, KeptTasks, ListRecord, TaskError, read};
use crate::{Filter, Kind, limits, records};

impl KeptTasks {
    /// Parses these ids and removes duplicates; fails if there is no such task.
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

    /// Fails if the task would depend on itself, directly or through others.
    pub(super) fn refuse_circle(&self, task: &Task) -> Result<(), TaskError> {
        // Dependencies that are not followed yet, as pairs of a task and one that it waits for.
        let mut steps: Vec<(TaskId, TaskId)> =
            task.depends_on.iter().rev().map(|next| (task.id, *next)).collect();
        // The task from which each task was first reached.
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

    /// Fails if another unfinished task has this text.
    pub(super) fn refuse_same(&self, content: &str, but: Option<TaskId>) -> Result<(), TaskError> {
        // The raw value rules out most tasks without parsing them.
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

    /// The id that the user probably meant.
    pub(super) fn nearest(&self, typed: &str) -> Result<Option<TaskId>, TaskError> {
        let ListRecord { last, .. } = self.list_record()?;
        let digits: String = typed.chars().filter(char::is_ascii_digit).collect();
        // Numbers have no gaps, so the nearest is the number itself or the last one.
        let number = digits.parse().unwrap_or(last).clamp(1, last.max(1));
        Ok((last > 0).then_some(TaskId(number)))
    }
}

/// The trimmed text, if it is valid.
pub(super) fn checked_content(content: &str) -> Result<&str, TaskError> {
    let content = content.trim();
    let (what, max) = ("bytes of a task's text", limits::TASK_CONTENT_BYTES_MAX);
    match content.len() {
        0 => Err(TaskError::Empty),
        found if found > max => Err(TaskError::TooLarge { what, found, max }),
        _ => Ok(content),
    }
}

/// Fails if the priority is out of range.
pub(super) fn check_priority(priority: u8) -> Result<(), TaskError> {
    match priority {
        0..=LOWEST => Ok(()),
        found => Err(TaskError::Priority { found }),
    }
}
