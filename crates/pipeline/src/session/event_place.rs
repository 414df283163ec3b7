//! [`EventPlace`]: where a session is, and the data of its events that follow from that.

use std::path::Path;
use std::sync::Arc;

use hookwright_events::{WorkItem, WorkSource};
use serde_json::{Map, Value};

use crate::course::Position;
use crate::folder::{IterationAt, SessionFolder, StageAt};
use crate::plan::Plan;

/// Room for the data of an ordinary event: those of an iteration, of a work item, and a few more.
const FIELDS: usize = 24;

/// Where a session is.
#[derive(Clone, Copy)]
pub(super) struct EventPlace<'a> {
    /// The session's name.
    pub(super) session: &'a str,
    pub(super) session_id: &'a str,
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a SessionFolder,
    /// The stage, from 0.
    pub(super) stage: usize,
    /// The iteration of the stage; 0 before the first.
    pub(super) iteration: u32,
    /// Iterations of all stages.
    pub(super) iterations: u32,
    /// The latest iterations of the stage that ended.
    pub(super) outputs: &'a [u32],
    pub(super) last_decision: Option<&'a str>,
    /// The work item in progress.
    pub(super) item: Option<&'a WorkItem>,
}

impl EventPlace<'_> {
    /// The data that every event of the session has.
    pub(super) fn of_session(&self) -> Map<String, Value> {
        let mut data = Map::with_capacity(FIELDS);
        let mut set = |name: &str, value: Value| data.insert(name.to_owned(), value);
        set("session", self.session.into());
        set("session_id", self.session_id.into());
        set("host", "run".into());
        set("session_dir", text(self.folder.path()));
        set("transcript_path", "/dev/null".into());
        set("progress", text(&self.folder.progress()));
        set("iteration", self.iterations.into());
        // In a pipeline each stage has its own.
        if let [stage] = &self.plan.stages[..]
            && let Some(most) = stage.bound()
        {
            set("max_iterations", most.into());
        }
        if let Some(decision) = self.last_decision {
            set("last_decision", decision.into());
        }
        data
    }

    /// The data of the stage.
    pub(super) fn of_stage(&self) -> Map<String, Value> {
        let stage = &self.plan.stages[self.stage];
        let next = self.plan.stages.get(self.stage + 1).map_or("", |next| &next.name);
        let outputs = self.folder.outputs_from_root(self.stage_at(), self.outputs);
        let mut data = self.of_session();
        let mut set = |name: &str, value: Value| data.insert(name.to_owned(), value);
        set("stage", stage.name.as_str().into());
        set("next_stage", next.into());
        set("iteration", self.iteration.into());
        set("stage_outputs", outputs.into());
        if let Some(most) = stage.bound() {
            set("max_iterations", most.into());
        }
        if let Some(item) = self.item {
            data.extend(data_of_item(item));
        }
        data
    }

    /// The data of the iteration.
    pub(super) fn of_iteration(&self) -> Map<String, Value> {
        let at = IterationAt { stage: self.stage_at(), iteration: self.iteration };
        let mut data = self.of_stage();
        data.insert("status".to_owned(), text(&self.folder.status(at)));
        data.insert("ctx".to_owned(), text(&self.folder.context(at)));
        data
    }

    fn stage_at(&self) -> StageAt<'_> {
        StageAt { index: self.stage, name: &self.plan.stages[self.stage].name }
    }
}

/// The same, to be kept: the data are made when an event is fired there.
#[derive(Clone)]
pub(super) struct KeptPlace {
    plan: Arc<Plan>,
    folder: Arc<SessionFolder>,
    /// The stage, from 0; `None` before the first one.
    stage: Option<usize>,
    iteration: u32,
    iterations: u32,
    outputs: Vec<u32>,
    last_decision: Option<String>,
    item: Option<WorkItem>,
}

impl KeptPlace {
    pub(super) fn new(plan: &Arc<Plan>, folder: &Arc<SessionFolder>, position: &Position) -> Self {
        Self {
            plan: Arc::clone(plan),
            folder: Arc::clone(folder),
            stage: position.stage,
            iteration: position.iteration,
            iterations: position.iterations,
            outputs: position.outputs.clone(),
            last_decision: position.last_decision.clone(),
            item: position.item.clone(),
        }
    }

    /// The data of an event that is fired there.
    pub(super) fn data(&self, session: &str, session_id: &str) -> Map<String, Value> {
        let place = EventPlace {
            session,
            session_id,
            plan: &self.plan,
            folder: &self.folder,
            stage: self.stage.unwrap_or(0),
            iteration: self.iteration,
            iterations: self.iterations,
            outputs: &self.outputs,
            last_decision: self.last_decision.as_deref(),
            item: self.item.as_ref(),
        };
        match (self.stage, self.iteration) {
            (None, _) => place.of_session(),
            (Some(_), 0) => place.of_stage(),
            (Some(_), _) => place.of_iteration(),
        }
    }
}

fn text(path: &Path) -> Value {
    path.to_string_lossy().into()
}

/// The fields of a work item in every event of its execution.
fn data_of_item(item: &WorkItem) -> Map<String, Value> {
    let mut data = Map::new();
    let mut set = |name: &str, value: Value| data.insert(name.to_owned(), value);
    set("issue_title", item.title.clone().into());
    match item.source {
        WorkSource::Issues => {
            if let Some(number) = item.number() {
                set("issue_number", number.into());
            }
            set("issue_file", item.file.clone().unwrap_or_default().into());
            set("plan_file", item.plan_file.clone().unwrap_or_default().into());
        }
        WorkSource::Tasks => {
            set("task_id", item.key.clone().into());
            let content = item.content.clone().unwrap_or_else(|| item.title.clone());
            set("task_content", content.into());
        }
        WorkSource::Command => {}
    }
    data
}
