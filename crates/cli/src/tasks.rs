//! A project's tasks, for the commands about them. `tasks/completing.rs` completes a task, and
//! `tasks/session_to_ask.rs` finds the session whose hooks decide.

mod completing;
mod own_hooks;
mod session_to_ask;

use std::path::{Path, PathBuf};

use hookwright_engine::nearest;
use hookwright_events::task::{Task, TaskState};
use hookwright_pipeline::caller::Caller;
pub(crate) use hookwright_pipeline::caller::PROJECT;
use hookwright_server::approvals::iso;
use hookwright_store::{KeptTasks, TaskList};
use serde::ser::{Serialize, SerializeMap, Serializer};

pub(crate) use self::completing::{Completed, as_json as completed_as_json, complete};
use crate::config_files::{ConfigFiles, ConfigOptions};
use crate::error::{Failure, TaskFailure};
use crate::known_session::ProjectOption;
use crate::{project, state};

/// The path of this program, for agents and hooks of a session.
pub(crate) const PROGRAM: &str = "HOOKWRIGHT_BIN";

/// The tasks of a command's project.
pub(crate) struct Tasks {
    /// `None` if there are no tasks and none is to be added.
    pub(crate) kept: Option<KeptTasks>,
    /// The project's name, else its path.
    pub(crate) project: String,
    /// The project's path.
    pub(crate) root: String,
    /// The options for finding hooks.
    pub(crate) options: ConfigOptions,
    /// The calling process.
    pub(crate) caller: Caller,
}

impl Tasks {
    /// The existing tasks, if any.
    pub(crate) fn find(option: &ProjectOption) -> Result<Self, Failure> {
        Self::with(option, |root| {
            let store = state::existing_store()?;
            let project = project::known(root, store.as_ref())?;
            Ok((store.map(|store| KeptTasks::new(store, &project)), project))
        })
    }

    /// The tasks, for adding some.
    pub(crate) fn open(option: &ProjectOption) -> Result<Self, Failure> {
        Self::with(option, |root| {
            let store = state::store()?;
            let project = project::bound(root, &store)?;
            Ok((Some(KeptTasks::new(store, &project)), project))
        })
    }

    fn with(
        option: &ProjectOption,
        kept: impl FnOnce(&Path) -> Result<(Option<KeptTasks>, String), Failure>,
    ) -> Result<Self, Failure> {
        let cwd = match &option.cwd {
            Some(cwd) => Some(cwd.clone()),
            None => project_of_session()?,
        };
        let options =
            ConfigOptions { config: Vec::new(), dialect: None, cwd, no_global_hooks: false };
        let without_hooks = ConfigOptions { no_global_hooks: true, ..options.searching() };
        let root = ConfigFiles::find(&without_hooks)?.project_root;
        let (kept, project) = kept(&root)?;
        let root = root.to_string_lossy().into_owned();
        Ok(Self { kept, project, root, options, caller: Caller::this() })
    }

    /// The stored tasks. Fails with an unknown id if there are none.
    pub(crate) fn kept(&self, id: &str) -> Result<&KeptTasks, Failure> {
        use hookwright_store::TaskError::Unknown;
        let unknown = || task_failure(Unknown { id: id.to_owned(), nearest: None });
        self.kept.as_ref().ok_or_else(unknown)
    }
}

/// The project of the session that called us, if we are in it: an agent may be in any of its
/// folders.
fn project_of_session() -> Result<Option<PathBuf>, Failure> {
    let Some(project) = std::env::var_os(PROJECT).map(PathBuf::from) else { return Ok(None) };
    if !project.is_dir() {
        return Err(Failure::Task(TaskFailure::NoProject { path: project }));
    }
    let here = std::env::current_dir().map_err(|cause| Failure::NoWorkingDirectory { cause })?;
    Ok(here.starts_with(&project).then_some(project))
}

/// An error about a task.
pub(crate) fn task_failure(error: impl Into<TaskFailure>) -> Failure {
    Failure::Task(error.into())
}

/// Parses a state.
pub(crate) fn state_word(word: &str) -> Result<TaskState, Failure> {
    TaskState::typed(word).ok_or_else(|| {
        let nearest = nearest(word, TaskState::ALL.map(TaskState::as_str));
        Failure::Task(TaskFailure::NoSuchState { word: word.to_owned(), nearest })
    })
}

/// A task as JSON; `list` knows what it waits for. Serialized directly, not through a tree of
/// values, since lists may be long.
pub(crate) struct TaskJson<'a> {
    pub(crate) task: &'a Task,
    pub(crate) list: Option<&'a TaskList>,
}

impl Serialize for TaskJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { task, list } = self;
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("version", &1)?;
        fields.serialize_entry("id", &task.id)?;
        fields.serialize_entry("content", &task.content)?;
        fields.serialize_entry("state", &task.state)?;
        fields.serialize_entry("priority", &task.priority)?;
        fields.serialize_entry("depends_on", &task.depends_on)?;
        fields.serialize_entry("created_at", &iso(task.created_ms))?;
        fields.serialize_entry("updated_at", &iso(task.updated_ms))?;
        fields.serialize_entry("session", &task.session)?;
        if let Some(list) = list {
            fields.serialize_entry("waits_for", &list.waits_for(task).collect::<Vec<_>>())?;
            fields.serialize_entry("ready", &list.is_ready(task))?;
        }
        fields.end()
    }
}
