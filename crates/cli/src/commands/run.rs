//! `hookwright run`: runs an agent through a loop or a pipeline.

use clap::Args;
use hookwright_events::SessionStatus;
use hookwright_pipeline::folder::{SessionFolder, SessionName};
use hookwright_pipeline::session::Parts;
use hookwright_pipeline::stored_session::stored_status;
use hookwright_store::Record;

use crate::error::{Failure, SessionFailure};
use crate::exit_code;
use crate::render::session as render;
use crate::runner::{self, Prepared, ProjectRunner};
use crate::screen::Screen;
use crate::session_options::SessionOptions;
use crate::state;
use crate::submitting::{self, SubmitOptions};

/// Run an agent through a loop or a pipeline
///
/// FILE is a loop.yaml, a pipeline.yaml, a folder that contains one, or a name to look up in
/// loops/, pipelines/, .hookwright/ and ~/.config/hookwright/. Everything is checked before
/// anything starts. A journal records each step, so that `resume` can continue a session that was
/// cut off. Exits with 0 if the session has completed, 3 if a hook aborted it, 5 if it failed, 6 if
/// it is paused and waits for a person, 130 if it was interrupted, 1 for an error of hookwright or
/// faulty files.
///
/// With `--on workers`, sessions are stored for workers on any machine (`hookwright worker`) instead,
/// which needs a Postgres store.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The loop or pipeline
    #[arg(value_name = "FILE")]
    file: String,

    /// The session's name; generated if not given
    #[arg(long, value_name = "NAME")]
    session: Option<String>,

    /// The agent for loops that name none: the name of a known agent, or a command that reads its
    /// prompt from standard input
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Check everything, print the plan, start nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    submit: SubmitOptions,

    #[command(flatten)]
    how: SessionOptions,
}

pub(crate) fn run(arguments: &RunArguments, screen: &Screen) -> Result<u8, Failure> {
    let mut place = ProjectRunner::find(&arguments.how.options)?;
    place.enter_project_of(&arguments.file, &arguments.how.options)?;
    let asked = place.asked(&arguments.file, arguments.agent.as_deref());
    let prepared = match place.prepare(asked)? {
        Ok(prepared) => prepared,
        Err(faults) => return Ok(runner::show_faults(&faults, screen)),
    };
    if arguments.dry_run {
        let plan = &prepared.plan;
        screen.left_out(&plan.left_out);
        runner::warn_of_unfired_hooks(&arguments.how.switches, plan, screen);
        if arguments.how.shown.json {
            screen.json(&render::plan_json(plan))?;
        } else {
            screen.result(&render::plan(plan))?;
        }
        return Ok(exit_code::GO_ON);
    }
    if arguments.submit.is_given() {
        let name = arguments.session.as_deref();
        return submitting::submit(
            &place,
            prepared,
            name,
            &arguments.submit,
            &arguments.how,
            screen,
        );
    }
    let Prepared { sources, plan, secrets } = prepared;
    let given = arguments.session.as_ref().map(|name| name.parse::<SessionName>());
    let given = given.transpose().map_err(SessionFailure::Name)?;
    let store = place.open_store()?;
    let name = match given {
        Some(name) => name,
        None => place.new_name(&*store)?,
    };
    // First, so that no other process begins or ends the session meanwhile.
    let fence = place.take(&*store, &name)?;
    if let Some(known) = state::session(&*store, &place.project(), name.as_str())? {
        let _ = store.release(&fence.lease, fence.token);
        return Err(taken(known).into());
    }
    let folder = SessionFolder::new(&place.found.project_root, name.clone());
    if runner::has_stages(&folder) {
        let (name, folder) = (name.as_str().to_owned(), place.found.display_path(folder.path()));
        return Err(SessionFailure::FolderTaken { name, folder }.into());
    }
    folder.create().map_err(SessionFailure::Folder)?;
    runner::warn_of_unknown_skips(&arguments.how.switches, &plan, screen);
    let record = place.new_record(&name, &plan, &secrets);
    let parts = Parts::new(plan, sources, folder, fence, record);
    place.go(parts, secrets, store, &arguments.how, screen)
}

/// Why a new session cannot have the name of this one, which no process runs.
pub(crate) fn taken(known: Record) -> SessionFailure {
    let (name, status) = (known.key.name, stored_status(&known.status));
    match status {
        SessionStatus::Completed => SessionFailure::Taken { name },
        SessionStatus::Deleting => SessionFailure::HalfDeleted { name },
        SessionStatus::Active => SessionFailure::Unfinished { name, status: SessionStatus::CutOff },
        status => SessionFailure::Unfinished { name, status },
    }
}
