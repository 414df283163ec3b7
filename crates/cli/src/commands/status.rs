//! `hookwright status`: what runs in this project, and what could be taken up again.

use clap::Args;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::exit_code;
use crate::known_session::{KnownSession, ProjectOption, Query, RESUMABLE, Sessions};
use crate::render::{count, session_table};
use crate::screen::Screen;

/// Sessions to be resumed that are shown.
const RESUMABLE_SHOWN_MAX: usize = 5;

/// Sessions to be resumed that are looked for; beyond this nobody counts.
const RESUMABLE_MAX: usize = 1_000;

/// Say what runs in this project now, and what could be resumed
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn status(arguments: &StatusArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find(&arguments.project)?;
    let running = sessions.list(&Query { statuses: vec!["active"], ..Query::default() })?;
    let statuses = RESUMABLE.to_vec();
    let resumable =
        sessions.list(&Query { statuses, limit: Some(RESUMABLE_MAX), ..Query::default() })?;
    if arguments.json {
        let all =
            |list: &[KnownSession]| -> Vec<Value> { list.iter().map(KnownSession::json).collect() };
        let (running, resumable) = (all(&running), all(&resumable));
        let project = &sessions.project;
        screen.json(&json!({
            "version": 1,
            "project": project,
            "running": running,
            "resumable": resumable,
        }))?;
        return Ok(exit_code::GO_ON);
    }
    screen.result(&shown(&running, &resumable))?;
    Ok(exit_code::GO_ON)
}

fn shown(running: &[KnownSession], resumable: &[KnownSession]) -> String {
    let mut text = String::new();
    if running.is_empty() {
        text.push_str("nothing runs here\n");
    } else {
        text.push_str("running:\n");
        text.push_str(&session_table::running(running));
    }
    if resumable.is_empty() {
        return text;
    }
    text.push_str("can be resumed:\n");
    let first = &resumable[..resumable.len().min(RESUMABLE_SHOWN_MAX)];
    text.push_str(&session_table::resumable(first));
    let more = resumable.len() - first.len();
    if more > 0 {
        let more = count(more, "older session");
        text.push_str(&format!("  and {more}; `hookwright sessions list` shows them\n"));
    }
    text
}
