//! `hookwright resume`: continues a session.

use std::path::PathBuf;

use clap::Args;
use hookwright_events::SessionStatus;
use hookwright_pipeline::folder::SessionName;
use hookwright_pipeline::lease::{self, LeaseError};
use hookwright_pipeline::record::AGENT_COMMAND;
use hookwright_pipeline::stored_session::stored_status;
use hookwright_pipeline::submission;
use hookwright_pipeline::trace::TraceKey;
use hookwright_store::{Record, Store};

use crate::config_files::ConfigOptions;
use crate::error::{Failure, SessionFailure, WorkerFailure};
use crate::exit_code;
use crate::known_session::{SessionChoice, Sessions};
use crate::resumption::{Resumption, record_of};
use crate::runner::ProjectRunner;
use crate::screen::Screen;
use crate::session_options::SessionOptions;
use crate::text::visible;
use crate::{session_choice, state};

/// Resume a session that was killed, interrupted or paused, or that failed
///
/// Work that is recorded as complete is not repeated; work that was in progress is, with a higher
/// attempt number. A question that has ended the session is asked again. The session continues with
/// the configuration that it began with. A session that was submitted to workers is queued again, and
/// a worker continues it.
#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The session: its name or id, or the beginning of one; optional if only one can be resumed
    #[arg(value_name = "SESSION")]
    session: Option<String>,

    /// Reload the configuration files
    #[arg(long)]
    reload: bool,

    /// Skip the question of this hook, which has ended the session, and continue after it; may be
    /// given more than once
    #[arg(long, value_name = "ID")]
    skip_gate: Vec<String>,

    #[command(flatten)]
    how: SessionOptions,
}

pub(crate) fn resume(arguments: &ResumeArguments, screen: &Screen) -> Result<u8, Failure> {
    let mut place = ProjectRunner::find(&arguments.how.options)?;
    let store = place.open_store()?;
    let found = chosen(arguments, &*store, &place)?;
    let name = found.key.name.parse::<SessionName>().map_err(SessionFailure::Name)?;
    let no_such = || SessionFailure::Unknown { name: name.as_str().to_owned() };
    let begun = record_of(&found);
    refuse_child(&*store, &found)?;
    if begun.submission.is_some() {
        return queue_again(arguments, &*store, &found, screen);
    }
    // Another project has it, or another checkout of this one.
    if begun.workspace != place.found.project_root.to_string_lossy() {
        let found_first = place;
        place = ProjectRunner::find(&ConfigOptions {
            cwd: Some(PathBuf::from(&begun.workspace)),
            config: arguments.how.options.config.clone(),
            dialect: arguments.how.options.dialect.clone(),
            no_global_hooks: arguments.how.options.no_global_hooks,
        })?;
        place.bind_name(&store)?;
        place.waits_as(&found_first);
    }
    if begun.command == AGENT_COMMAND {
        return Err(SessionFailure::OfAgent { name: name.as_str().to_owned() }.into());
    }
    let project = place.project();
    // From here on this process holds the lease, so the stored state does not change.
    let fence = place.take(&*store, &name)?;
    let known = state::session(&*store, &project, name.as_str())?.ok_or_else(no_such)?;
    if stored_status(&known.status) == SessionStatus::Completed {
        let _ = store.release(&fence.lease, fence.token);
        screen
            .talk(&format!("session {} is completed; there is nothing to resume\n", name.as_str()));
        return Ok(exit_code::GO_ON);
    }
    if stored_status(&known.status) == SessionStatus::Deleting {
        let _ = store.release(&fence.lease, fence.token);
        return Err(SessionFailure::HalfDeleted { name: known.key.name }.into());
    }
    let (reload, skip_gates) = (arguments.reload, arguments.skip_gate.clone());
    let resumption = Resumption { store, fence, known, reload, skip_gates, worker: None };
    resumption.run(&place, &arguments.how, screen)
}

/// Lets a worker continue a session that was submitted to workers.
fn queue_again(
    arguments: &ResumeArguments,
    store: &dyn Store,
    found: &Record,
    screen: &Screen,
) -> Result<u8, Failure> {
    let name = found.key.name.clone();
    let how = &arguments.how;
    if arguments.reload || how.switches.no_hooks || !how.switches.skip.is_empty() {
        return Err(WorkerFailure::ChangedOnWorkers { name }.into());
    }
    let said = |text: &str| {
        screen.talk(&format!("session {} {text}\n", visible(&name)));
        Ok(exit_code::GO_ON)
    };
    let fence = match lease::take(store, &lease::name_of(&found.key.project, &name)) {
        Ok(fence) => fence,
        Err(LeaseError::Runs { .. }) => return said("runs on a worker"),
        Err(LeaseError::Store(error)) => return Err(Failure::Store(error)),
    };
    // From here on this process holds the lease, so the stored state does not change.
    let known = state::session(store, &found.key.project, &name)?;
    let status = known.as_ref().map(|known| stored_status(&known.status));
    let release = || drop(store.release(&fence.lease, fence.token));
    match (known, status) {
        (Some(_), Some(SessionStatus::Completed)) => {
            release();
            said("is completed; there is nothing to resume")
        }
        (Some(_), Some(SessionStatus::Queued)) => {
            release();
            said("is queued already")
        }
        (None, _) | (_, Some(SessionStatus::Deleting)) => {
            release();
            Err(SessionFailure::HalfDeleted { name: name.clone() }.into())
        }
        (Some(known), _) => {
            let skip_gates = arguments.skip_gate.clone();
            let queued = submission::queue_again(store, &known, &fence, skip_gates, how.max_cost);
            queued.map_err(Failure::Store)?;
            said("is queued; a worker continues it")
        }
    }
}

/// The session that the user means.
fn chosen(
    arguments: &ResumeArguments,
    store: &dyn Store,
    place: &ProjectRunner,
) -> Result<Record, Failure> {
    let project = place.project();
    match &arguments.session {
        Some(text) if TraceKey::may_begin_with(text) => {
            Err(SessionFailure::InAgent { name: text.clone() }.into())
        }
        Some(text) => {
            let text = text.parse::<SessionName>().map_err(SessionFailure::Name)?;
            session_choice::anywhere(store, &project, text.as_str())
        }
        None => {
            let sessions = Sessions::of_project(project.clone(), &arguments.how.options)?;
            let name = sessions.chosen(None, SessionChoice::Resume)?.1.name().to_owned();
            session_choice::in_project(store, &project, &name)
        }
    }
}

/// A session that a hook started is resumed with its parent.
fn refuse_child(store: &dyn Store, found: &Record) -> Result<(), Failure> {
    let (mut origin, mut parent) = (None, record_of(found).parent);
    while let Some(above) = parent {
        let known = state::session(store, &found.key.project, &above.session)?;
        parent = known.as_ref().and_then(|known| record_of(known).parent);
        origin = Some((
            above.session,
            known.is_some_and(|known| stored_status(&known.status) == SessionStatus::Completed),
        ));
    }
    match origin {
        None => Ok(()),
        Some((origin, is_completed)) => {
            let name = found.key.name.clone();
            Err(SessionFailure::OfHook { name, command: "resume", origin, is_completed }.into())
        }
    }
}
