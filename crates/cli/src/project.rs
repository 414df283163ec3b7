//! The name under which a project is stored: `project` of its `hookwright.yaml`, else its path.
//!
//! A name belongs to the repository that first stores something under it
//! (`store/kept_projects.rs`). Every command checks that before it reads or writes anything under
//! the name, so a cloned repository cannot claim the name of another project.

mod checkout;
mod remote_address;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_config::{ConfigFile, Fault, ProjectName, WorkerSettings, project_name};
use hookwright_engine::hook::Layer;
use hookwright_store::{KeptProjects, NamedProject, ProjectOrigin, Store};

use self::checkout::Checkout;
use crate::config_files::PROJECT_NAMES;
use crate::error::{Failure, ProjectFailure};
use crate::store_time;

/// A folder that claims a name.
pub(crate) struct NamedFolder {
    pub(crate) name: ProjectName,
    /// The file that says so.
    pub(crate) file: PathBuf,
    root: PathBuf,
}

/// The name of the project in this folder, for commands that only read. Fails if the name belongs
/// to another repository.
pub(crate) fn known(root: &Path, store: Option<&Arc<dyn Store>>) -> Result<String, Failure> {
    let Some(claimed) = NamedFolder::of(root)? else { return Ok(path_name(root)) };
    if let Some(store) = store {
        claimed.check(&KeptProjects::new(Arc::clone(store)))?;
    }
    Ok(claimed.name.to_string())
}

/// The same for commands that store something: a name that no repository has becomes this one's.
pub(crate) fn bound(root: &Path, store: &Arc<dyn Store>) -> Result<String, Failure> {
    let Some(claimed) = NamedFolder::of(root)? else { return Ok(path_name(root)) };
    let kept = KeptProjects::new(Arc::clone(store));
    if claimed.check(&kept)?.is_none() {
        let checkout = claimed.checkout()?;
        let origin = claimed.failing(checkout.origin())?;
        let known = kept.bind(claimed.name.as_str(), origin, store_time::now_ms());
        // Another process may have bound it first.
        claimed.check_against(&kept, &known.map_err(ProjectFailure::Kept)?)?;
    }
    Ok(claimed.name.to_string())
}

/// The root for a stored value beside a project's name; `None` if the name is the root.
pub(crate) fn root_beside(project: &str, root: &Path) -> Option<String> {
    let path = path_name(root);
    (path != project).then_some(path)
}

/// What a project's file says about workers.
pub(crate) fn worker_settings(root: &Path) -> Result<WorkerSettings, Failure> {
    let Some(file) = file_of(root) else { return Ok(WorkerSettings::default()) };
    hookwright_config::worker_settings(&file).map_err(|faults| unreadable(&file, faults))
}

/// The project's own file, if it has one.
fn file_of(root: &Path) -> Option<ConfigFile> {
    let mut files = PROJECT_NAMES.iter().map(|name| (root.join(name), name));
    let (path, name) = files.find(|(path, _)| path.is_file())?;
    Some(ConfigFile::native(&path, name, Layer::Project))
}

fn unreadable(file: &ConfigFile, faults: Vec<Fault>) -> Failure {
    ProjectFailure::File { path: file.path.clone(), faults }.into()
}

fn path_name(root: &Path) -> String {
    root.to_string_lossy().into_owned()
}

impl NamedFolder {
    /// The folder's claim, if its file names the project.
    pub(crate) fn of(root: &Path) -> Result<Option<Self>, Failure> {
        let Some(file) = file_of(root) else { return Ok(None) };
        let name = project_name(&file).map_err(|faults| unreadable(&file, faults))?;
        Ok(name.map(|name| Self { name, file: file.path, root: root.to_owned() }))
    }

    /// Makes this folder's repository one that has the name, or the only one.
    pub(crate) fn confirm(
        &self,
        store: Arc<dyn Store>,
        only: bool,
    ) -> Result<NamedProject, Failure> {
        let origin = self.failing(self.checkout()?.origin())?;
        let kept = KeptProjects::new(store).confirm(
            self.name.as_str(),
            &origin,
            only,
            store_time::now_ms(),
        );
        Ok(kept.map_err(ProjectFailure::Kept)?)
    }

    /// Fails if the name belongs to another repository; `None` if it belongs to none.
    fn check(&self, kept: &KeptProjects) -> Result<Option<()>, Failure> {
        let known = kept.get(self.name.as_str()).map_err(ProjectFailure::Kept)?;
        known.map(|known| self.check_against(kept, &known)).transpose()
    }

    fn check_against(&self, kept: &KeptProjects, known: &NamedProject) -> Result<(), Failure> {
        let checkout = self.checkout()?;
        for origin in &known.origins {
            if !self.failing(checkout.is_of(origin))? {
                continue;
            }
            // A folder that was recognised by its path may have become a repository with a remote,
            // whose clones are then recognised, too.
            if !matches!(origin, ProjectOrigin::Remote { .. }) {
                let better = self.failing(checkout.origin())?;
                if !known.origins.contains(&better) {
                    // A store that is not writable keeps the first one.
                    let _ = kept.confirm(self.name.as_str(), &better, false, store_time::now_ms());
                }
            }
            return Ok(());
        }
        Err(ProjectFailure::OfAnother {
            name: self.name.to_string(),
            file: self.file.clone(),
            origins: known.origins.iter().map(described).collect(),
            this: described(&self.failing(checkout.origin())?),
            is_shallow: checkout.is_shallow(),
        }
        .into())
    }

    fn checkout(&self) -> Result<Checkout, Failure> {
        self.failing(Checkout::of(&self.root))
    }

    fn failing<T>(&self, result: Result<T, String>) -> Result<T, Failure> {
        let (name, root) = (self.name.to_string(), self.root.clone());
        result.map_err(|cause| ProjectFailure::Git { name, root, cause }.into())
    }
}

/// An origin in words for people.
pub(crate) fn described(origin: &ProjectOrigin) -> String {
    let below = |folder: &str| match folder {
        "" => String::new(),
        folder => format!(", folder {folder}"),
    };
    match origin {
        ProjectOrigin::Remote { address, root_commit, folder } => {
            let commit: String = root_commit.chars().take(12).collect();
            format!("{address} (first commit {commit}){}", below(folder))
        }
        ProjectOrigin::Local { git_folder, folder } => format!("{git_folder}{}", below(folder)),
        ProjectOrigin::Folder { path } => path.clone(),
    }
}
