//! `hookwright sessions list`: the sessions of a project, newest first.

use clap::Args;
use hookwright_events::SessionStatus;

use crate::error::Failure;
use crate::exit_code;
use crate::known_session::{KnownSession, ProjectOption, Query, Sessions, StatusWord};
use crate::render::session_table;
use crate::screen::Screen;
use crate::text::{count, visible};

/// List sessions, newest first
///
/// The columns are the session's name, its status, the loop or pipeline, the stage it has reached
/// and the iterations that ended, when it began, how long it took, and the git branch it began on.
/// A session that has not ended but whose process is gone is `cut off`; `hookwright resume`
/// continues it. Sessions that hooks have started are part of another session, and are listed with
/// `--children`. Sessions of other agents in which your hooks ran have the agent's name, like
/// `codex:0f3a5c7e9b1d`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only sessions whose names begin with this
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,

    /// Show at most N
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Only sessions with this status; may be given more than once
    #[arg(long, value_name = "STATUS")]
    status: Vec<StatusWord>,

    /// Include the sessions of every project
    #[arg(long)]
    all_projects: bool,

    /// Include sessions that hooks of other sessions have started
    #[arg(long)]
    children: bool,

    /// Print one JSON value on standard output instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn list(arguments: &ListArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find_with_traces(&arguments.project)?;
    let shown_max = arguments.limit as usize;
    let mut list = sessions.list(&Query {
        all_projects: arguments.all_projects,
        children: arguments.children,
        name_prefix: arguments.prefix.as_deref(),
        // One more than shown, to know whether there are more.
        limit: Some(shown_max.saturating_add(1)),
        ..Query::with_statuses(arguments.status.iter().copied())
    })?;
    let are_more = list.len() > shown_max;
    list.truncate(shown_max);
    if arguments.json {
        sessions.read_issues(&mut list)?;
        screen.json(&as_json(&list))?;
        return Ok(exit_code::GO_ON);
    }
    if list.is_empty() {
        let is_narrowed = arguments.prefix.is_some() || !arguments.status.is_empty();
        screen.talk(if is_narrowed { "no such sessions\n" } else { "no sessions yet\n" });
        return Ok(exit_code::GO_ON);
    }
    let projects = arguments.all_projects.then_some(&sessions.found);
    screen.result(&session_table::of(&list, projects))?;
    if are_more {
        screen.talk(&format!("the newest {shown_max}; `--limit N` shows more\n"));
    }
    if let Some(hint) = hint_at_cut_off(&list, &sessions.project) {
        screen.talk(&hint);
    }
    Ok(exit_code::GO_ON)
}

/// The list as JSON.
#[derive(serde::Serialize)]
pub(super) struct Listed<'a> {
    version: u32,
    sessions: &'a [KnownSession],
}

pub(super) fn as_json(list: &[KnownSession]) -> Listed<'_> {
    Listed { version: 1, sessions: list }
}

/// Advice about sessions that were cut off.
pub(super) fn hint_at_cut_off(list: &[KnownSession], project: &str) -> Option<String> {
    let cut_off: Vec<&KnownSession> = list
        .iter()
        .filter(|known| known.status == SessionStatus::CutOff && known.can_be_resumed())
        .collect();
    let newest = cut_off.first()?;
    let number = count(cut_off.len(), "session");
    let was = if cut_off.len() == 1 { "was" } else { "were" };
    let elsewhere = match newest.record.project() == project {
        true => String::new(),
        false => format!(" --cwd {}", visible(&newest.record.workspace)),
    };
    let name = visible(newest.name());
    Some(format!("{number} {was} cut off; resume with: hookwright resume {name}{elsewhere}\n"))
}
