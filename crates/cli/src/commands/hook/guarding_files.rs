//! Hook files that guarded an agent's session and are gone.
//!
//! A hook file that changes has to be trusted again, and blocks until then. Deleting it must not do
//! what changing it can't: so a session remembers the trusted files that it ran hooks of. Where one of
//! them no longer exists, what hooks can block is blocked, until the file is back or a person has
//! revoked its trust. A file that is still there and only not found any more, because the agent works
//! in another folder now, is not gone.

use std::path::PathBuf;

use super::memory::SessionMemory;
use crate::text::visible_path;
use crate::trust::{self, Trust};

/// Remembers the trusted files of a session, and says why nothing may pass if one of them is gone.
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

/// Those whose trust was not revoked. Where that cannot be told, all of them.
fn still_trusted(places: Vec<PathBuf>) -> Vec<PathBuf> {
    if places.is_empty() {
        return places;
    }
    match Trust::of_user().or_problem() {
        Ok(trust) => places.into_iter().filter(|place| trust.knows(place)).collect(),
        Err(_) => places,
    }
}
