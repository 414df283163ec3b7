//! [`Workplace`]: where the agents of a session work, and with what.

use std::path::PathBuf;

use hookwright_engine::Secrets;
use hookwright_engine::variables::Environment;
use serde_json::{Map, Value};

use crate::changed_files::WorkTree;

/// Where agents work.
pub(super) struct Workplace {
    /// The project root.
    pub(super) root: PathBuf,
    /// The working directory of agents.
    pub(super) agent_dir: PathBuf,
    /// The host's environment.
    pub(super) environment: Environment,
    /// What only hooks that name it get.
    pub(super) secrets: Secrets,
    /// What a hook has given the session.
    pub(super) inputs: Option<Map<String, Value>>,
    /// The project's files.
    pub(super) work_tree: WorkTree,
}

impl Workplace {
    /// A text without secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        self.secrets.hide(text).into_owned()
    }
}
