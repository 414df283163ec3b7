//! `hookwright sessions prune`: deletes sessions that have ended.

mod children;
mod deletion;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hookwright_events::SessionStatus;
use hookwright_store::{Reclaimed, Rewrite};
use serde_json::{Value, json};

use self::children::PrunedChildren;
use self::deletion::{Deleted, delete};
use crate::error::Failure;
use crate::known_session::{KnownSession, ProjectOption, Query, Sessions, StatusWord};
use crate::render::session_table;
use crate::screen::Screen;
use crate::store_time;
use crate::text::{count, visible};
use crate::{exit_code, span};

/// The statuses that are deleted by default.
const OVER: [SessionStatus; 4] = [
    SessionStatus::Completed,
    SessionStatus::Interrupted,
    SessionStatus::Failed,
    SessionStatus::Aborted,
];

/// Free space in the store's file that is worth a note.
const FREE_MEGABYTES_TOLD: u64 = 10;

/// Delete sessions that have ended: their data in the store and their folders
///
/// Without `--yes`, nothing is deleted: the command lists what it would delete. With both
/// `--older-than` and `--keep`, a session has to be old and not among the newest. A running session
/// is never deleted; one that was cut off only with `--status cut-off`. Sessions that a session's
/// hooks have started are deleted with it. What a killed prune left behind is deleted too. Then the
/// store's file shrinks. Exits with 1 if something could not be deleted.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true).args(["older_than", "keep"]))]
pub(crate) struct PruneArguments {
    /// Only sessions that ended longer ago than this, like 30d or 12h
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    older_than: Option<Duration>,

    /// Keep the newest N, counted as `sessions list` shows them
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Only sessions with this status; may be given more than once
    #[arg(long, value_name = "STATUS")]
    status: Vec<StatusWord>,

    /// Include the sessions of every project
    #[arg(long)]
    all_projects: bool,

    /// Delete them
    #[arg(long)]
    yes: bool,

    /// Rewrite the store's file if that is needed to shrink it, while other sessions wait; only a
    /// store that an older version created ever needs it
    #[arg(long, requires = "yes")]
    compact: bool,

    /// Print one JSON value on standard output instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn prune(arguments: &PruneArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find_with_traces(&arguments.project)?;
    let (mut chosen, children) = choose(arguments, &sessions)?;
    if arguments.json {
        sessions.read_issues(&mut chosen)?;
    }
    let Some(store) = sessions.store.as_deref().filter(|_| arguments.yes) else {
        say(arguments, &sessions, &chosen, screen)?;
        return Ok(exit_code::GO_ON);
    };
    let (mut deleted, mut has_failed) = (Vec::new(), false);
    for session in chosen {
        let (project, name) = (session.record.project(), session.name());
        let (workspace, here) = (&session.record.workspace, &sessions.found.project_root);
        let root = match *workspace == here.to_string_lossy() {
            true => here.clone(),
            false => PathBuf::from(workspace),
        };
        match delete(store, &root, &session, &children.below(project, name)) {
            Ok(Deleted::Yes) => deleted.push(session),
            Ok(Deleted::LeftAlone) => {
                let name = visible(name).into_owned();
                screen.talk(&format!("session {name} was resumed meanwhile, so it is kept\n"));
            }
            // The others can still be deleted.
            Err(failure) => {
                screen.failure(&failure);
                has_failed = true;
            }
        }
    }
    say(arguments, &sessions, &deleted, screen)?;
    // Even if nothing was deleted: an earlier prune may have been killed before this step.
    let rewrite = if arguments.compact { Rewrite::Always } else { Rewrite::IfQuick };
    match store.reclaim(rewrite) {
        Ok(reclaimed) => say_what_is_left(&reclaimed, screen),
        Err(error) => {
            screen.failure(&Failure::Store(error));
            has_failed = true;
        }
    }
    Ok(if has_failed { exit_code::OUR_FAULT } else { exit_code::GO_ON })
}

/// The selected sessions, and the sessions that hooks started.
fn choose(
    arguments: &PruneArguments,
    sessions: &Sessions,
) -> Result<(Vec<KnownSession>, PrunedChildren), Failure> {
    let wanted = match &arguments.status[..] {
        [] => OVER.to_vec(),
        words => Query::with_statuses(words.iter().copied()).statuses,
    };
    let query = Query { all_projects: arguments.all_projects, children: true, ..Query::default() };
    let (mut chosen, mut children) = (Vec::new(), PrunedChildren::default());
    let (mut kept, now) = (arguments.keep.unwrap_or(0), store_time::now_ms());
    for session in sessions.list(&query)? {
        if session.record.parent.is_some() {
            children.add(session);
        } else if session.status == SessionStatus::Deleting {
            // An earlier prune began to delete it, so this one completes it.
            chosen.push(session);
        } else if kept > 0 {
            kept -= 1;
        } else {
            let is_old = arguments.older_than.is_none_or(|span| {
                // The end of a killed session is unknown.
                let ended = session.record.ended_at_ms().unwrap_or(session.record.created_at_ms());
                now - ended > i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
            });
            if is_old && !session.runs() && wanted.contains(&session.status) {
                chosen.push(session);
            }
        }
    }
    Ok((chosen, children))
}

/// Prints how much free space stays in the store's file.
fn say_what_is_left(reclaimed: &Reclaimed, screen: &Screen) {
    let megabytes = reclaimed.bytes_left / 1_000_000;
    if megabytes >= FREE_MEGABYTES_TOLD {
        screen.talk(&format!(
            "the store's file has {megabytes} MB of unused space; `--compact` releases it while \
             other sessions wait\n"
        ));
    }
}

/// Prints what was deleted, or would be.
fn say(
    arguments: &PruneArguments,
    sessions: &Sessions,
    list: &[KnownSession],
    screen: &Screen,
) -> Result<(), Failure> {
    if arguments.json {
        let list: Vec<Value> = list.iter().map(KnownSession::json).collect();
        return screen.json(&json!({ "version": 1, "deleted": arguments.yes, "sessions": list }));
    }
    if !list.is_empty() {
        let projects = arguments.all_projects.then_some(&sessions.found);
        screen.result(&session_table::of(list, projects))?;
    }
    let number = count(list.len(), "session");
    screen.talk(&match arguments.yes {
        true if list.is_empty() => "nothing was deleted\n".to_owned(),
        false if list.is_empty() => "nothing to delete\n".to_owned(),
        true => format!("{number} deleted\n"),
        false => format!("{number} would be deleted; `--yes` deletes\n"),
    });
    Ok(())
}
