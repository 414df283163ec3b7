//! Deletes one session such that the next prune can complete a killed one.
//!
//! The record is marked first ([`SessionStatus::Deleting`]), so that the session cannot be resumed
//! without its files. Then its folder is removed, and its work trees in the git remote, then the
//! data of its children and of itself, in small commits. The record comes last: while anything is left, the store knows the session.

use std::path::Path;

use hookwright_events::SessionStatus;
use hookwright_pipeline::desk::request_keys;
use hookwright_pipeline::folder::{SessionFolder, SessionName};
use hookwright_pipeline::lease::{self, LeaseError};
use hookwright_pipeline::record::AGENT_COMMAND;
use hookwright_pipeline::session_files::file_keys;
use hookwright_pipeline::session_issues::page_keys;
use hookwright_pipeline::stored_session::stored_status;
use hookwright_pipeline::trees::{GitProgram, GitRemote, TreeRefs, delete_trees};
use hookwright_pipeline::work_keeper::tree_key;
use hookwright_process::faults;
use hookwright_store::{
    Commit, Delete, Expected, Fence, JournalKey, Kind, Put, RecordKey, Store, StoreError,
};

use crate::error::{AgentFailure, Failure, SessionFailure};
use crate::host::runtime;
use crate::known_session::KnownSession;
use crate::state;

/// Journals and records that one commit deletes: other sessions wait meanwhile.
const DELETED_AT_ONCE: usize = 500;

pub(super) enum Deleted {
    Yes,
    /// Another process runs it, or has run it since it was selected.
    LeftAlone,
}

/// Deletes a session under its lease, so that no other process can resume it meanwhile.
pub(super) fn delete(
    store: &dyn Store,
    root: &Path,
    session: &KnownSession,
    children: &[&KnownSession],
) -> Result<Deleted, Failure> {
    if let Some(key) = session.trace() {
        let removed = state::traces()?.remove(&key);
        let name = session.name().to_owned();
        removed.map_err(|cause| SessionFailure::TraceStays { name, cause })?;
        return Ok(Deleted::Yes);
    }
    let lease = lease::name_of(session.record.project(), session.name());
    let fence = match lease::take(store, &lease) {
        Ok(fence) => fence,
        Err(LeaseError::Runs { .. }) => return Ok(Deleted::LeftAlone),
        Err(LeaseError::Store(error)) => return Err(Failure::Store(error)),
    };
    let deleted = delete_under(&fence, store, root, session, children);
    let released = store.release(&lease, fence.token).map_err(Failure::Store);
    let deleted = deleted?;
    released?;
    Ok(deleted)
}

fn delete_under(
    fence: &Fence,
    store: &dyn Store,
    root: &Path,
    session: &KnownSession,
    children: &[&KnownSession],
) -> Result<Deleted, Failure> {
    let Some(version) = mark(fence, store, session)? else { return Ok(Deleted::LeftAlone) };
    faults::point("prune marked");
    remove_folder(root, session.name())?;
    remove_transcript(session)?;
    remove_trees(session)?;
    faults::point("prune removed folder");
    let mut parts: Vec<PrunedPart> = Vec::new();
    // The folders of children are inside the session's.
    for child in children {
        parts.extend(parts_of(child, child.version));
    }
    parts.extend(carried_parts(store, session).map_err(Failure::Store)?);
    parts.extend(parts_of(session, version));
    for some in parts.chunks(DELETED_AT_ONCE) {
        delete_some(fence, store, some).map_err(Failure::Store)?;
        faults::point("prune deleted");
    }
    Ok(Deleted::Yes)
}

/// Marks an unchanged session; returns the record's new version.
fn mark(fence: &Fence, store: &dyn Store, session: &KnownSession) -> Result<Option<u64>, Failure> {
    let found = state::session(store, session.record.project(), session.name())?;
    let Some(found) = found.filter(|found| found.version == session.version) else {
        return Ok(None);
    };
    if stored_status(&found.status) == SessionStatus::Deleting {
        return Ok(Some(found.version));
    }
    let put = Put {
        kind: Kind::Session,
        key: found.key,
        expected: Expected::Version(found.version),
        value: found.value,
        created_at_ms: found.place.created_at_ms,
        status: SessionStatus::Deleting.to_string(),
        queued: None,
        moves: None,
    };
    // Not synced, nor are the following commits: a session that a crash restores is deleted next
    // time.
    let commit = Commit { fence: Some(fence), puts: vec![put], ..Commit::unsynced() };
    let committed = store.commit(&commit).map_err(Failure::Store)?;
    Ok(committed.versions.first().copied())
}

fn remove_folder(root: &Path, name: &str) -> Result<(), Failure> {
    let session: SessionName = name.parse().map_err(SessionFailure::Name)?;
    let removed = SessionFolder::new(root, session).remove();
    removed.map_err(|cause| {
        Failure::Session(SessionFailure::FolderStays { name: name.to_owned(), cause })
    })
}

/// The transcript of a session of the built-in agent is outside of the project.
fn remove_transcript(session: &KnownSession) -> Result<(), Failure> {
    if session.record.command != AGENT_COMMAND {
        return Ok(());
    }
    let path = state::transcript(&session.record.id)?;
    match std::fs::remove_file(&path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(AgentFailure::Transcript { path, cause }.into())
        }
        _ => Ok(()),
    }
}

/// The work trees of a session that was submitted to workers. Its branch stays: it is the result.
fn remove_trees(session: &KnownSession) -> Result<(), Failure> {
    let Some(work) = &session.record.carried else { return Ok(()) };
    let name: SessionName = session.name().parse().map_err(SessionFailure::Name)?;
    let refs = TreeRefs::new(name, &session.record.id);
    let environment: Vec<_> = std::env::vars_os().collect();
    let removed = runtime()?.block_on(async {
        let git = GitProgram::find(&environment)?;
        delete_trees(&git, &GitRemote::new(&work.remote), &refs).await
    });
    let name = session.name().to_owned();
    removed.map_err(|cause| SessionFailure::TreesStay { name, cause })?;
    Ok(())
}

/// What the store has of a session besides its journal because other machines share it: files, the
/// last work tree, requests.
fn carried_parts(store: &dyn Store, session: &KnownSession) -> Result<Vec<PrunedPart>, StoreError> {
    let (project, id) = (session.record.project(), &session.record.id);
    if id.is_empty() {
        return Ok(Vec::new());
    }
    let delete = |kind, key| PrunedPart::Record(Delete { kind, key, expected: Expected::Any });
    let files = file_keys(store, project, id)?.into_iter();
    let files = files.map(|key| delete(Kind::SessionFile, key));
    let requests = request_keys(store, project, session.name())?.into_iter();
    let requests = requests.map(|key| delete(Kind::Request, key));
    let tree = delete(Kind::SessionTree, tree_key(project, id));
    Ok(files.chain(requests).chain([tree]).collect())
}

/// A part of a session's data in the store.
#[derive(Clone)]
enum PrunedPart {
    Journal(JournalKey),
    Record(Delete),
}

/// All data of a session in the store; the record that names the rest comes last.
fn parts_of(session: &KnownSession, version: u64) -> impl Iterator<Item = PrunedPart> {
    let page = |key| {
        PrunedPart::Record(Delete { kind: Kind::SessionIssues, key, expected: Expected::Any })
    };
    let record = Delete {
        kind: Kind::Session,
        key: RecordKey {
            project: session.record.project().to_owned(),
            name: session.name().to_owned(),
        },
        expected: Expected::Version(version),
    };
    let pages = page_keys(&session.record).map(page);
    [PrunedPart::Journal(session.journal())]
        .into_iter()
        .chain(pages)
        .chain([PrunedPart::Record(record)])
}

fn delete_some(fence: &Fence, store: &dyn Store, parts: &[PrunedPart]) -> Result<(), StoreError> {
    let mut commit = Commit { fence: Some(fence), ..Commit::unsynced() };
    for part in parts {
        match part.clone() {
            PrunedPart::Journal(key) => commit.drop_journals.push(key),
            PrunedPart::Record(delete) => commit.deletes.push(delete),
        }
    }
    store.commit(&commit).map(|_| ())
}
