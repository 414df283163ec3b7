//! `hookwright sessions prune`: deletes sessions that are over.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use hookwright_pipeline::folder::{SessionFolder, SessionName};
use hookwright_pipeline::lease::{self, LeaseError};
use hookwright_pipeline::session_issues::page_keys;
use hookwright_store::{Commit, Delete, Expected, Fence, Kind, RecordKey, SqliteStore, Store};
use serde_json::{Value, json};

use crate::error::{Failure, SessionFailure};
use crate::known_session::{KnownSession, ProjectOption, Query, Sessions, StatusWord};
use crate::render::{count, session_table, visible};
use crate::screen::Screen;
use crate::{exit_code, span, state};

/// Sessions that are over when nobody says which are meant.
const OVER: [&str; 4] = ["completed", "interrupted", "failed", "aborted"];

/// Delete sessions that are over: what the store has of them, and their folders
///
/// Without `--yes` nothing is deleted and what would be is listed. With both `--older-than` and
/// `--keep` a session has to be old and not among the newest. A session that runs is never deleted;
/// one that was cut off only with `--status cut-off`. What hooks of a session have started goes with
/// it. Ends with 1 if something could not be deleted.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true).args(["older_than", "keep"]))]
pub(crate) struct PruneArguments {
    /// Only sessions that ended before so long, like 30d or 12h
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    older_than: Option<Duration>,

    /// All but the newest so many, counted as `sessions list` shows them
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Only sessions with this status; may be given more than once
    #[arg(long, value_name = "STATUS")]
    status: Vec<StatusWord>,

    /// The sessions of every project
    #[arg(long)]
    all_projects: bool,

    /// Do it
    #[arg(long)]
    yes: bool,

    /// Print one JSON value on standard output instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn prune(arguments: &PruneArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find(&arguments.project)?;
    let mut chosen = choose(arguments, &sessions)?;
    if arguments.json {
        sessions.read_issues(&mut chosen)?;
    }
    let Some(store) = sessions.store.as_ref().filter(|_| arguments.yes && !chosen.is_empty())
    else {
        say(arguments, &sessions, &chosen, screen)?;
        return Ok(exit_code::GO_ON);
    };
    let (mut deleted, mut has_failed) = (Vec::new(), false);
    for session in chosen {
        match delete(store, &session, &sessions) {
            Ok(Deleted::Yes) => deleted.push(session),
            Ok(Deleted::LeftAlone) => {
                let name = visible(session.name()).into_owned();
                screen.talk(&format!("session {name} was taken up meanwhile; it stays\n"));
            }
            // The others can go all the same.
            Err(failure) => {
                screen.failure(&failure);
                has_failed = true;
            }
        }
    }
    say(arguments, &sessions, &deleted, screen)?;
    Ok(if has_failed { exit_code::OUR_FAULT } else { exit_code::GO_ON })
}

/// The sessions that are meant.
fn choose(arguments: &PruneArguments, sessions: &Sessions) -> Result<Vec<KnownSession>, Failure> {
    let wanted = match &arguments.status[..] {
        [] => OVER.to_vec(),
        words => Query::with_words(words).statuses,
    };
    let all_projects = arguments.all_projects;
    let mut chosen = sessions.list(&Query { all_projects, ..Query::default() })?;
    chosen.drain(..arguments.keep.unwrap_or(0).min(chosen.len()));
    let now = state::now_ms();
    chosen.retain(|session| {
        let is_old = arguments.older_than.is_none_or(|span| {
            // Nobody knows when one that was cut off ended.
            let ended = session.record.ended_at_ms().unwrap_or(session.record.created_at_ms());
            now - ended > i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
        });
        is_old && !session.runs() && wanted.contains(&session.status.as_str())
    });
    Ok(chosen)
}

enum Deleted {
    Yes,
    /// Somebody runs it now, or has run it since we looked.
    LeftAlone,
}

/// Deletes a session under its lease, so that nobody can take it up meanwhile. The folder goes first:
/// as long as there is something of it, the store knows it.
fn delete(
    store: &SqliteStore,
    session: &KnownSession,
    sessions: &Sessions,
) -> Result<Deleted, Failure> {
    let lease = lease::name_of(&session.record.workspace, session.name());
    let fence = match lease::take(store, &lease) {
        Ok(fence) => fence,
        Err(LeaseError::Runs { .. }) => return Ok(Deleted::LeftAlone),
        Err(LeaseError::Store(error)) => return Err(Failure::Store(error)),
    };
    let deleted = delete_under(&fence, store, session, sessions);
    let released = store.release(&lease, fence.token).map_err(Failure::Store);
    let deleted = deleted?;
    released?;
    Ok(deleted)
}

fn delete_under(
    fence: &Fence,
    store: &SqliteStore,
    session: &KnownSession,
    sessions: &Sessions,
) -> Result<Deleted, Failure> {
    let workspace = &session.record.workspace;
    let now = state::session(store, workspace, session.name())?;
    if now.is_none_or(|now| now.version != session.version) {
        return Ok(Deleted::LeftAlone);
    }
    let root = if *workspace == sessions.project {
        sessions.found.project_root.clone()
    } else {
        PathBuf::from(workspace)
    };
    remove_folder(&root, session.name())?;
    let children = sessions.started_by_hooks_of(session)?;
    let delete = |session: &KnownSession| {
        let record = Delete {
            kind: Kind::Session,
            key: RecordKey { project: workspace.clone(), name: session.name().to_owned() },
            expected: Expected::Version(session.version),
        };
        let page = |key| Delete { kind: Kind::SessionIssues, key, expected: Expected::Any };
        let pages: Vec<Delete> = page_keys(&session.record).map(page).collect();
        pages.into_iter().chain([record])
    };
    // Their folders are in that of the session.
    let all = || children.iter().chain([session]);
    // Not synced: a session that comes back with the machine is deleted the next time.
    store
        .commit(&Commit {
            fence: Some(fence),
            drop_journals: all().map(KnownSession::journal).collect(),
            deletes: all().flat_map(delete).collect(),
            ..Commit::unsynced()
        })
        .map_err(Failure::Store)?;
    Ok(Deleted::Yes)
}

fn remove_folder(root: &Path, name: &str) -> Result<(), Failure> {
    let session: SessionName = name.parse().map_err(SessionFailure::Name)?;
    let removed = SessionFolder::new(root, session).remove();
    removed.map_err(|cause| {
        Failure::Session(SessionFailure::FolderStays { name: name.to_owned(), cause })
    })
}

/// What was deleted, or would be.
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
