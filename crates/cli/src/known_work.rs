//! A project's work for the commands about it: issues with their states, and tasks by state.
//!
//! Reading creates nothing: without a store every issue is open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hookwright_events::task::TaskState;
use hookwright_pipeline::queue::{IssueFolder, IssueState, IssueStates, KeptIssue};
use hookwright_store::KeptTasks;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::known_session::Sessions;
use crate::tasks;

/// The default folder of issues, if no session has worked on any.
const USUAL_FOLDER: &str = "issues";

/// An issue and its state.
pub(crate) struct KnownIssue {
    pub(crate) folder: String,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) state: IssueState,
    /// Its record in the store.
    pub(crate) kept: Option<KeptIssue>,
}

impl KnownIssue {
    pub(crate) fn reason(&self) -> Option<&str> {
        self.kept.as_ref().and_then(|kept| kept.record.reason.as_deref())
    }

    pub(crate) fn json(&self) -> Value {
        let record = self.kept.as_ref().map(|kept| &kept.record);
        json!({
            "folder": self.folder,
            "number": self.number,
            "title": self.title,
            "state": self.state.as_str(),
            "reason": self.reason(),
            "session": record.map(|record| &record.session),
            "at": record.map(|record| &record.at),
        })
    }
}

/// The work of a project.
#[derive(Default)]
pub(crate) struct KnownWork {
    /// Sorted by folder and number.
    pub(crate) issues: Vec<KnownIssue>,
    /// The number of tasks in each state.
    pub(crate) tasks: BTreeMap<&'static str, usize>,
    /// Issues that cannot be read, and why.
    pub(crate) problems: Vec<String>,
    /// Files that look like issues but are not.
    pub(crate) notes: Vec<String>,
}

impl KnownWork {
    pub(crate) fn find(sessions: &Sessions) -> Result<Self, Failure> {
        let (root, project) = (&*sessions.found.project_root, &*sessions.project);
        let store = sessions.store.clone();
        let mut work = Self::default();
        let states = store.clone().map(|store| IssueStates::new(store, project));
        let mut known = match &states {
            Some(states) => states.all().map_err(Failure::Store)?,
            None => BTreeMap::new(),
        };
        let folders: BTreeSet<String> = known
            .keys()
            .map(|(folder, _)| folder.clone())
            .chain([USUAL_FOLDER.to_owned()])
            .collect();
        for folder in folders {
            let folder = IssueFolder::new(root, Path::new(&folder));
            if !folder.path().is_dir() {
                continue;
            }
            work.notes.extend(folder.misnamed());
            match folder.read() {
                Ok(found) => {
                    work.problems.extend(found.faults.iter().map(ToString::to_string));
                    work.issues.extend(found.issues.into_iter().map(|issue| {
                        let kept = known.remove(&(folder.shown().to_owned(), issue.number));
                        KnownIssue {
                            folder: folder.shown().to_owned(),
                            number: issue.number,
                            title: issue.title,
                            state: kept.as_ref().map_or(IssueState::Open, |kept| kept.record.state),
                            kept,
                        }
                    }));
                }
                Err(error) => work.problems.push(error.to_string()),
            }
        }
        if let Some(states) = &states {
            work.free_those_of_the_dead(states)?;
        }
        if let Some(store) = store {
            // Every list has the states of all tasks; only those in this state are parsed.
            let few = [TaskState::InProgress];
            let list = KeptTasks::new(store, project).list(&few).map_err(tasks::task_failure)?;
            let counts = TaskState::ALL.map(|state| (state.as_str(), list.count(state)));
            work.tasks.extend(counts.into_iter().filter(|(_, number)| *number > 0));
        }
        Ok(work)
    }

    /// Treats an issue as open if its session no longer runs.
    fn free_those_of_the_dead(&mut self, states: &IssueStates) -> Result<(), Failure> {
        for issue in &mut self.issues {
            if issue.state == IssueState::Active
                && let Some(kept) = &issue.kept
                && states.is_free(&kept.record, "").map_err(Failure::Store)?
            {
                issue.state = IssueState::Open;
            }
        }
        Ok(())
    }

    /// How many issues are in a state.
    pub(crate) fn count(&self, state: IssueState) -> usize {
        self.issues.iter().filter(|issue| issue.state == state).count()
    }

    pub(crate) fn json(&self) -> Value {
        let tasks: serde_json::Map<String, Value> = TaskState::ALL
            .iter()
            .map(|state| state.as_str())
            .map(|word| (word.to_owned(), self.tasks.get(word).copied().unwrap_or(0).into()))
            .collect();
        json!({
            "issues": self.issues.iter().map(KnownIssue::json).collect::<Vec<_>>(),
            "tasks": tasks,
            "problems": self.problems,
            "notes": self.notes,
        })
    }
}
