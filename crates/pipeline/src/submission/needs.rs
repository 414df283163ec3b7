//! What a session needs, and what a worker offers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a worker has to offer so that it may take a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Needs {
    /// Labels of the worker.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Known agents that have to be installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Names of secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The folder below which its work tree is made: the project's own, or the checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

impl Needs {
    /// Each need in words, which are also the labels of the store's queue.
    pub fn marks(&self) -> Vec<String> {
        let WorkerOffer { labels, agents, secrets, folders, .. } = &self.as_offer();
        marks(labels, agents, secrets, folders)
    }

    /// Those that none of these workers offers.
    fn unmet_by(&self, workers: &[WorkerOffer]) -> Self {
        let unmet = |names: &[String], offered: fn(&WorkerOffer) -> &[String]| {
            let is_unmet = |name: &&String| !workers.iter().any(|it| offered(it).contains(name));
            names.iter().filter(is_unmet).cloned().collect()
        };
        let has_folder = |folder: &PathBuf| workers.iter().any(|it| it.folders.contains(folder));
        Self {
            labels: unmet(&self.labels, |worker| &worker.labels),
            agents: unmet(&self.agents, |worker| &worker.agents),
            secrets: unmet(&self.secrets, |worker| &worker.secrets),
            folder: self.folder.clone().filter(|folder| !has_folder(folder)),
        }
    }

    fn as_offer(&self) -> WorkerOffer {
        WorkerOffer {
            labels: self.labels.clone(),
            agents: self.agents.clone(),
            secrets: self.secrets.clone(),
            folders: self.folder.iter().cloned().collect(),
            ..WorkerOffer::default()
        }
    }
}

/// A worker as it describes itself in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerOffer {
    /// The machine's name.
    pub host: String,
    /// The worker's process.
    pub pid: u32,
    /// When it began, ISO 8601 in UTC.
    pub since: String,
    /// Sessions at once.
    pub at_once: usize,
    /// Names or paths of the projects whose sessions it takes.
    pub projects: Vec<String>,
    /// Its labels.
    pub labels: Vec<String>,
    /// Installed agents.
    pub agents: Vec<String>,
    /// Names of its user's secrets.
    pub secrets: Vec<String>,
    /// Folders in which it runs sessions.
    pub folders: Vec<PathBuf>,
}

impl WorkerOffer {
    /// Everything that it offers, in the words of [`Needs::marks`].
    pub fn marks(&self) -> Vec<String> {
        marks(&self.labels, &self.agents, &self.secrets, &self.folders)
    }
}

fn marks(
    labels: &[String],
    agents: &[String],
    secrets: &[String],
    folders: &[PathBuf],
) -> Vec<String> {
    let texts = [("label", labels), ("agent", agents), ("secret", secrets)];
    let named = texts
        .into_iter()
        .flat_map(|(what, names)| names.iter().map(move |name| format!("{what} {name}")));
    named.chain(folders.iter().map(|folder| format!("folder {}", folder.display()))).collect()
}

/// Why none of a project's workers takes a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnmetNeeds {
    /// No worker of the project runs.
    NoWorker,
    /// No worker has these.
    Nowhere(Needs),
    /// Each of these is on some worker, but they are not all on one.
    NotTogether(Needs),
}

/// Why none of these workers takes a session with these needs; `None` if one of them does.
pub fn unmet_needs(needs: &Needs, workers: &[WorkerOffer]) -> Option<UnmetNeeds> {
    if workers.is_empty() {
        return Some(UnmetNeeds::NoWorker);
    }
    let nothing = Needs::default();
    if workers.iter().any(|worker| needs.unmet_by(std::slice::from_ref(worker)) == nothing) {
        return None;
    }
    let nowhere = needs.unmet_by(workers);
    Some(match nowhere == nothing {
        true => UnmetNeeds::NotTogether(needs.clone()),
        false => UnmetNeeds::Nowhere(nowhere),
    })
}
