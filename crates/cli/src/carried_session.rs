//! The work of a submitted session: what `run --on workers` sends, and what a worker makes of it.
//!
//! The project's commit goes to its git remote. A worker makes a work tree of it below the folder that
//! the project names for all workers, or below its checkout. A project that is outside git, or that
//! the remote does not accept, is refused: its sessions could not outlive their machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_engine::Secrets;
use hookwright_engine::variables::Environment;
use hookwright_pipeline::folder::SessionName;
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::store_calls::StoreCalls;
use hookwright_pipeline::trees::{
    Carriable, CarriedWork, CarryError, GitProgram, StoreLock, TreeError, TreeLock, TreeRefs,
    WorkFolder, WorkFolderError, WorkPlace, clean_stores, forget_trees, remove_unused_trees,
    run_setup,
};
use hookwright_pipeline::work_keeper::{TakeError, WorkKeeper, take_work};
use hookwright_process::{faults, kill_everything_now};
use hookwright_store::{Fence, Store};
use tokio_util::sync::CancellationToken;

use crate::error::{Failure, SessionFailure, WorkerFailure};
use crate::exit_code;
use crate::host::runtime;
use crate::interrupts::{Interrupts, check_descriptors, exit_now};
use crate::project;
use crate::screen::Screen;
use crate::text::count;
use crate::worker::WorkedProject;

/// What is sent with each submitted session.
pub(crate) struct SubmittedWork {
    git: GitProgram,
    root: PathBuf,
    carriable: Carriable,
}

/// The work tree of a session on this machine.
pub(crate) struct TakenWork {
    /// The project root in it.
    pub(crate) root: PathBuf,
    pub(crate) keeper: Arc<WorkKeeper>,
    tree: TakenTree,
}

/// A place for a work tree, which is this process's.
struct TakenTree {
    git: GitProgram,
    work: CarriedWork,
    refs: TreeRefs,
    place: WorkPlace,
    /// `None` if a process that stands still holds it.
    lock: Option<TreeLock>,
    _store: StoreLock,
}

impl SubmittedWork {
    /// Checks whether the project can be carried.
    pub(crate) fn find(
        root: &Path,
        environment: &Environment,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let git = GitProgram::find(environment.for_agents()).map_err(not_carried)?;
        let carriable = runtime()?.block_on(Carriable::find(&git, root)).map_err(not_carried)?;
        if carriable.uncommitted > 0 {
            let files = count(carriable.uncommitted, "file");
            screen.talk(&format!(
                "note: {files} with uncommitted changes: workers get only the last commit\n"
            ));
        }
        Ok(Self { git, root: root.to_owned(), carriable })
    }

    /// Sends the commit for a session with this name and id.
    pub(crate) fn send(
        &self,
        name: &SessionName,
        id: &str,
        secrets: &Secrets,
    ) -> Result<CarriedWork, Failure> {
        let refs = TreeRefs::new(name.clone(), id);
        let sent = self.carriable.submit(&self.git, &self.root, &refs, secrets);
        runtime()?.block_on(sent).map_err(not_carried)?;
        Ok(self.carriable.work.clone())
    }
}

impl TakenWork {
    /// Makes the work tree of a claimed session, and runs a command in it that sets it up: the
    /// worker's own, else the project's.
    pub(crate) fn take(
        root: &Path,
        environment: &Environment,
        store: &Arc<dyn Store>,
        record: &SessionRecord,
        fence: &Fence,
        secrets: &Secrets,
        setup: Option<&str>,
    ) -> Result<Self, Failure> {
        let work = record.carried.as_ref().ok_or(WorkerFailure::NothingCarried)?;
        let name: SessionName = record.name.parse().map_err(SessionFailure::Name)?;
        let submission = record.submission.as_ref();
        let chosen = submission.and_then(|submission| submission.folder.as_deref());
        let folder = work_folder(chosen, root);
        let git = GitProgram::find(environment.for_agents()).map_err(not_taken)?;
        let checked = runtime()?.block_on(folder.check_untracked(&git));
        checked.and_then(|()| folder.make()).map_err(no_folder)?;
        let place = WorkPlace::below(&folder, work, &name, &record.id);
        let refs = TreeRefs::new(name, &record.id);
        let tree = TakenTree::take(git.clone(), work, refs, place)?;
        let place = &tree.place;
        let calls = StoreCalls::new(Arc::clone(store)).map_err(Failure::Store)?;
        let take = async {
            let (record, token) = (record.clone(), fence.token);
            faults::point("work is taken");
            let taken = take_work(git, &calls, &record, work, token, place, secrets.clone());
            let keeper = taken.await.map_err(|error| WorkerFailure::NoWork { error })?;
            let of_project = submission.and_then(|submission| submission.setup.as_deref());
            if let Some(command) = setup.or(of_project) {
                let (folder, environment) = (place.root(work), environment.for_agents());
                let never = CancellationToken::new();
                // What it prints is part of its error.
                let show = &mut |_: &str| {};
                let ran = run_setup(command, &folder, environment, secrets, show, &never).await;
                ran.map_err(|error| WorkerFailure::NoSetup { error })?;
            }
            faults::point("work taken");
            Ok::<_, Failure>(keeper)
        };
        check_descriptors().map_err(|cause| Failure::NoRuntime { cause })?;
        let taken = runtime()?.block_on(async {
            let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
            // Nothing has begun that would have to be recorded.
            let end_at_once = || {
                kill_everything_now();
                exit_now(exit_code::INTERRUPTED);
            };
            interrupts.or_else(&end_at_once, take).await
        });
        match taken {
            Ok(keeper) => Ok(Self { root: place.root(work), keeper, tree }),
            Err(error) => {
                tree.remove();
                Err(error)
            }
        }
    }

    /// Removes the work tree: all that is recorded is in the git remote.
    pub(crate) fn remove(self) {
        self.tree.remove();
    }
}

impl TakenTree {
    fn take(
        git: GitProgram,
        work: &CarriedWork,
        refs: TreeRefs,
        place: WorkPlace,
    ) -> Result<Self, Failure> {
        let locked = |path: &Path, cause: std::io::Error| {
            let (path, cause) = (path.to_owned(), cause.to_string());
            no_folder(WorkFolderError::System { doing: "lock", path, cause })
        };
        let store = StoreLock::shared(&place).map_err(|cause| locked(&place.store, cause))?;
        let lock = TreeLock::take(&place).map_err(|cause| locked(&place.lock, cause))?;
        Ok(Self { git, work: work.clone(), refs, place, lock, _store: store })
    }

    /// A later session is not disturbed by what stays.
    fn remove(self) {
        let Self { git, work, refs, place, lock, _store } = self;
        if let Ok(runtime) = runtime() {
            let _ = runtime.block_on(forget_trees(git, &place, &work, &refs));
        }
        let _ = match lock {
            Some(lock) => lock.remove_with(&place),
            None => place.remove(),
        };
    }
}

/// Removes the work trees that sessions of killed processes have left in a project's folder, and what
/// no session needs any more.
pub(crate) async fn remove_left_trees(
    project: &WorkedProject,
    environment: &Environment,
) -> Result<usize, Failure> {
    let chosen = project::worker_settings(&project.root)?.folder;
    let folder = work_folder(chosen.as_deref(), &project.root);
    let git = match GitProgram::find(environment.for_agents()) {
        Ok(git) => git,
        // No session has a work tree here.
        Err(TreeError::NoGit) => return Ok(0),
        Err(error) => return Err(not_taken(error)),
    };
    folder.check_untracked(&git).await.map_err(no_folder)?;
    let removed = match remove_unused_trees(&folder) {
        // The worker does not offer it, and has said so.
        Err(_) if chosen.is_some() => return Ok(0),
        removed => removed.map_err(no_folder)?,
    };
    clean_stores(&git, &folder).await;
    Ok(removed)
}

/// The folder of work trees of a project with this root: the one that it has chosen, or the usual one.
fn work_folder(chosen: Option<&Path>, root: &Path) -> WorkFolder {
    match chosen {
        Some(chosen) => WorkFolder::chosen(chosen),
        None => WorkFolder::of_checkout(root),
    }
}

fn no_folder(error: WorkFolderError) -> Failure {
    WorkerFailure::NoWorkFolder { error }.into()
}

fn not_taken(error: TreeError) -> Failure {
    WorkerFailure::NoWork { error: TakeError::Keep(error.into()) }.into()
}

fn not_carried(error: impl Into<CarryError>) -> Failure {
    WorkerFailure::NotCarried { error: error.into() }.into()
}
