//! [`Context`]: `context.json`, what an agent may want to know, in the shape that agent-pipelines
//! gives it.

use std::collections::BTreeMap;
use std::path::Path;

use hookwright_events::WorkItem;
use serde::{Serialize, Serializer};

use super::{IterationAt, SessionFolder};

/// All of `context.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context {
    /// Of this shape: [`Context::VERSION`].
    pub version: u32,
    /// The session's name.
    pub session: String,
    /// The pipeline's name, or the loop's.
    pub pipeline: String,
    /// Where in the pipeline.
    pub stage: ContextStage,
    /// From 1, within the stage.
    pub iteration: u32,
    /// The piece of work that is to be done, with a queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<WorkItem>,
    /// Where files are.
    pub paths: ContextPaths,
    /// What came before.
    pub inputs: ContextInputs,
    /// What bounds the work.
    pub limits: ContextLimits,
}

/// The stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextStage {
    /// The stage's name.
    pub id: String,
    /// From 0.
    pub index: usize,
    /// The loop it runs.
    pub template: String,
}

/// Where files are. Bytes of a path that are no text are shown as U+FFFD: JSON has no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextPaths {
    /// The session's folder.
    pub session_dir: String,
    /// The stage's folder.
    pub stage_dir: String,
    /// The agent's notes.
    pub progress: String,
    /// Where the agent may write its output.
    pub output: String,
    /// Where the agent answers.
    pub status: String,
}

/// What came before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ContextInputs {
    /// Outputs of earlier stages that the stage asked for, by the stage's name.
    pub from_stage: BTreeMap<String, Vec<String>>,
    /// Outputs of earlier iterations of this stage, oldest first.
    pub from_previous_iterations: Vec<String>,
    /// The file with what the hook that started the session has given it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_parent: Option<String>,
}

/// What bounds the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextLimits {
    /// Iterations of this stage. Without a bound it is written as -1.
    #[serde(serialize_with = "or_minus_one")]
    pub max_iterations: Option<u32>,
    /// Until `max_runtime` ends the session. Without such an end it is written as -1.
    #[serde(serialize_with = "or_minus_one")]
    pub remaining_seconds: Option<u64>,
}

impl Context {
    /// The version of this shape.
    pub const VERSION: u32 = 1;
}

impl SessionFolder {
    /// The paths of an iteration, as `context.json` names them.
    pub fn context_paths(&self, at: IterationAt<'_>) -> ContextPaths {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        ContextPaths {
            session_dir: shown(self.path()),
            stage_dir: shown(&self.stage(at.stage)),
            progress: shown(&self.progress()),
            output: shown(&self.output(at)),
            status: shown(&self.status(at)),
        }
    }
}

fn or_minus_one<N: Copy + Into<u64>, S: Serializer>(
    number: &Option<N>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => to.serialize_u64((*number).into()),
        None => to.serialize_i64(-1),
    }
}
