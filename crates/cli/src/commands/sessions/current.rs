//! `hookwright sessions current`: the running sessions of this project, else the latest one.

use clap::Args;

use super::list::{as_json, hint_at_cut_off};
use crate::error::{Failure, SessionFailure};
use crate::exit_code;
use crate::known_session::{ProjectOption, Query, Sessions};
use crate::render::session_table;
use crate::screen::Screen;
use hookwright_events::SessionStatus;

/// Show the sessions of this project that are running, else the latest one
///
/// Exits with 1 if this project has no session.
#[derive(Debug, Args)]
pub(crate) struct CurrentArguments {
    /// Print one JSON value on standard output instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn current(arguments: &CurrentArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find(&arguments.project)?;
    let mut list = sessions.list(&Query::with_statuses([SessionStatus::Active]))?;
    if list.is_empty() {
        list = sessions.list(&Query { limit: Some(1), ..Query::default() })?;
    }
    if list.is_empty() {
        let project = sessions.found.display_path(&sessions.found.project_root);
        return Err(SessionFailure::NoneYet { project }.into());
    }
    if arguments.json {
        sessions.read_issues(&mut list)?;
        screen.json(&as_json(&list))?;
        return Ok(exit_code::GO_ON);
    }
    screen.result(&session_table::of(&list, None))?;
    if let Some(hint) = hint_at_cut_off(&list, &sessions.project) {
        screen.talk(&hint);
    }
    Ok(exit_code::GO_ON)
}
