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
    Carriable, CarriedWork, CarryError, GitProgram, TreeError, TreeLock, TreeRefs, WorkPlace,
    remove_unused_trees, run_setup,
};
use hookwright_pipeline::work_keeper::{TakeError, WorkKeeper, take_work};
use hookwright_process::kill_everything_now;
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

/// The folder of work trees of a project that names none, relative to the project root.
const FOLDER: &str = ".hookwright/work";

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
    place: WorkPlace,
    _lock: Option<TreeLock>,
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
                "note: {files} with uncommitted changes: workers get the last commit, without them\n"
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
        let chosen = submission.and_then(|submission| submission.folder.clone());
        let folder = chosen.unwrap_or_else(|| root.join(FOLDER));
        WorkPlace::make_folder(&folder)
            .map_err(|cause| WorkerFailure::NoWorkFolder { folder: folder.clone(), cause })?;
        let place = WorkPlace::below(&folder, work, &name, &record.id);
        let lock = TreeLock::take(&place)
            .map_err(|cause| WorkerFailure::NoWorkFolder { folder: place.lock.clone(), cause })?;
        let git = GitProgram::find(environment.for_agents()).map_err(not_taken)?;
        let calls = StoreCalls::new(Arc::clone(store)).map_err(Failure::Store)?;
        let take = async {
            let (record, token) = (record.clone(), fence.token);
            let taken = take_work(git, &calls, &record, work, token, &place, secrets.clone());
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
            Ok::<_, Failure>(keeper)
        };
        check_descriptors().map_err(|cause| Failure::NoRuntime { cause })?;
        let keeper = runtime()?.block_on(async {
            let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
            // Nothing has begun that would have to be recorded.
            let end_at_once = || {
                kill_everything_now();
                exit_now(exit_code::INTERRUPTED);
            };
            interrupts.or_else(&end_at_once, take).await
        })?;
        Ok(Self { root: place.root(work), keeper, place, _lock: lock })
    }

    /// Removes the work tree: all that is recorded is in the git remote.
    pub(crate) fn remove(&self) {
        // A later session is not disturbed by what stays.
        let _ = self.place.remove();
    }
}

/// Removes the work trees that sessions of killed processes have left in a project's folder.
pub(crate) fn remove_left_trees(project: &WorkedProject) -> Result<usize, Failure> {
    let chosen = project::worker_settings(&project.root)?.folder;
    Ok(remove_unused_trees(&chosen.unwrap_or_else(|| project.root.join(FOLDER))))
}

fn not_taken(error: TreeError) -> Failure {
    WorkerFailure::NoWork { error: TakeError::Keep(error.into()) }.into()
}

fn not_carried(error: impl Into<CarryError>) -> Failure {
    WorkerFailure::NotCarried { error: error.into() }.into()
}
