//! Hook files that guarded an agent's session and are gone.
//!
//! A changed hook file must be trusted again, and blocks until then. Deleting it must not achieve
//! what changing it cannot, so a session remembers the trusted files whose hooks it ran. If one of
//! them no longer exists, everything that hooks can block is blocked, until the file is back or a
//! person has revoked its trust. A file that exists but is no longer found, because the agent works
//! in another folder now, is not gone.

use std::path::PathBuf;

use super::memory::SessionMemory;
use crate::text::visible_path;
use crate::trust::{self, Trust};

/// Remembers the trusted files of a session, and returns the reason to block if one of them is
/// gone.
pub(super) fn refusal(
    memory: &SessionMemory,
    session: &str,
    trusted: &[PathBuf],
) -> Option<String> {
    let known = memory.files(session);
    if trusted.iter().any(|place| !known.contains(place)) {
        memory.remember_files(session, trusted);
    }
    let gone: Vec<PathBuf> = known.into_iter().filter(|place| trust::is_gone(place)).collect();
    let first = still_trusted(gone).into_iter().next()?;
    Some(format!(
        "the hook file {} is missing, and its hooks guarded this session; restore it, or, to \
         continue without it, run in a terminal: {}",
        visible_path(&first),
        trust::command_to_revoke(&first)
    ))
}

/// The files whose trust was not revoked. If that is unknown, all of them.
fn still_trusted(places: Vec<PathBuf>) -> Vec<PathBuf> {
    if places.is_empty() {
        return places;
    }
    match Trust::of_user().or_problem() {
        Ok(trust) => places.into_iter().filter(|place| trust.knows(place)).collect(),
        Err(_) => places,
    }
}
