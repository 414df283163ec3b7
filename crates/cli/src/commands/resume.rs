//! `hookwright resume`: continues a session.

use std::path::PathBuf;

use clap::Args;
use hookwright_events::SessionStatus;
use hookwright_pipeline::folder::{SessionFolder, SessionName};
use hookwright_pipeline::history::History;
use hookwright_pipeline::record::{AGENT_COMMAND, SessionRecord};
use hookwright_pipeline::session::Parts;
use hookwright_pipeline::stored_session::stored_status;
use hookwright_pipeline::trace::TraceKey;
use hookwright_store::{JournalKey, Record, Store};

use crate::config_files::ConfigOptions;
use crate::error::{Failure, SessionFailure};
use crate::exit_code;
use crate::known_session::{SessionChoice, Sessions};
use crate::runner::{self, Prepared, ProjectRunner};
use crate::screen::Screen;
use crate::session_options::SessionOptions;
use crate::{session_choice, state};

/// Resume a session that was killed, interrupted or paused, or that failed
///
/// Work that is recorded as complete is not repeated; work that was in progress is, with a higher
/// attempt number. A question that has ended the session is asked again. The session continues with
/// the configuration that it began with.
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
    let begun = parse(&found);
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
    refuse_child(&*store, &found)?;
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
    let journal = JournalKey { project, session: name.as_str().to_owned() };
    let history = History::read(&*store, &journal).map_err(SessionFailure::History)?;
    let mut record = parse(&known);
    record.name = name.as_str().to_owned();
    if record.id.is_empty() {
        record.id.clone_from(&record.name);
    }
    record.iterations = history.iterations();
    record.hooks.clone_from(&history.hooks);
    record.usage = history.usage().map(Into::into);
    record.usage_of_children = history.usage_of_children().map(Into::into);
    let kept = history.sources.clone();
    let kept = kept.ok_or_else(|| SessionFailure::NothingKept { name: record.name.clone() })?;
    let prepared =
        if arguments.reload { place.prepare(kept.asked)? } else { place.plan(kept, Vec::new()) };
    let Prepared { sources, plan, secrets } = match prepared {
        Ok(prepared) => prepared,
        Err(faults) => return Ok(runner::show_faults(&faults, screen)),
    };
    runner::warn_of_unknown_skips(&arguments.how.switches, &plan, screen);
    let folder = SessionFolder::new(&place.found.project_root, name);
    let parts = Parts {
        version: Some(known.version),
        history,
        reloaded: arguments.reload,
        skip_gates: arguments.skip_gate.clone(),
        ..Parts::new(plan, sources, folder, fence, record)
    };
    place.go(parts, secrets, store, &arguments.how, screen)
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

fn parse(stored: &Record) -> SessionRecord {
    let mut record: SessionRecord = serde_json::from_str(&stored.value).unwrap_or_default();
    record.set_project(stored.key.project.clone());
    record
}

/// A session that a hook started is resumed with its parent.
fn refuse_child(store: &dyn Store, found: &Record) -> Result<(), Failure> {
    let (mut origin, mut parent) = (None, parse(found).parent);
    while let Some(above) = parent {
        let known = state::session(store, &found.key.project, &above.session)?;
        parent = known.as_ref().and_then(|known| parse(known).parent);
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
