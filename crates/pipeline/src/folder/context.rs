//! [`Context`]: `context.json`, information for the agent, in the format of agent-pipelines.

use std::collections::BTreeMap;
use std::path::Path;

use hookwright_events::WorkItem;
use serde::{Serialize, Serializer};

use super::{IterationAt, SessionFolder};

/// All of `context.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context {
    /// The version of this format: [`Context::VERSION`].
    pub version: u32,
    /// The session's name.
    pub session: String,
    /// The pipeline's name, or the loop's.
    pub pipeline: String,
    /// The stage in the pipeline.
    pub stage: ContextStage,
    /// The iteration within the stage, from 1.
    pub iteration: u32,
    /// The current work item, with a queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<WorkItem>,
    /// The paths of files.
    pub paths: ContextPaths,
    /// The outputs of earlier work.
    pub inputs: ContextInputs,
    /// The limits of the work.
    pub limits: ContextLimits,
}

/// A stage of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextStage {
    /// The stage's name.
    pub id: String,
    /// The index, from 0.
    pub index: usize,
    /// The loop that it runs.
    pub template: String,
}

/// The paths of files. Invalid UTF-8 is shown as U+FFFD, since JSON has only text.
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

/// The outputs of earlier work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ContextInputs {
    /// Outputs of earlier stages that the stage requested, by the stage's name.
    pub from_stage: BTreeMap<String, Vec<String>>,
    /// Outputs of earlier iterations of this stage, oldest first.
    pub from_previous_iterations: Vec<String>,
    /// The file with the inputs from the hook that started the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_parent: Option<String>,
}

/// The limits of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextLimits {
    /// The maximum number of iterations of this stage. No limit is written as -1.
    #[serde(serialize_with = "or_minus_one")]
    pub max_iterations: Option<u32>,
    /// The time until `max_runtime` ends the session. No limit is written as -1.
    #[serde(serialize_with = "or_minus_one")]
    pub remaining_seconds: Option<u64>,
}

impl Context {
    /// The version of this format.
    pub const VERSION: u32 = 1;
}

impl SessionFolder {
    /// The paths of an iteration for `context.json`.
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
