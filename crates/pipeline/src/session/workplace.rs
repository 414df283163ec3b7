//! [`Workplace`]: where the agents of a session work, and with what.

use std::path::PathBuf;

use hookwright_engine::Secrets;
use hookwright_engine::variables::Environment;
use serde_json::{Map, Value};

use crate::changed_files::WorkTree;

pub(super) struct Workplace {
    pub(super) root: PathBuf,
    /// The working directory of agents.
    pub(super) agent_dir: PathBuf,
    /// The host's environment.
    pub(super) environment: Environment,
    /// Secrets for hooks that name them.
    pub(super) secrets: Secrets,
    /// The inputs from the hook that started the session.
    pub(super) inputs: Option<Map<String, Value>>,
    /// The project's files.
    pub(super) work_tree: WorkTree,
}

impl Workplace {
    /// Redacts secrets in a text.
    pub(super) fn hide(&self, text: &str) -> String {
        self.secrets.hide(text).into_owned()
    }
}
