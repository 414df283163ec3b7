//! Whether a command was started inside a session or a hook, where no person decides.

use std::path::PathBuf;

use hookwright_pipeline::caller::Caller;
use hookwright_process::AncestorProcess;

use crate::error::Failure;
use crate::state;

/// Whether an agent or a hook of this user's state folder is above this process.
pub(crate) fn is_inside_a_session() -> Result<bool, Failure> {
    let ours = state::folder()?;
    // A run with another state folder does not count.
    let is_concerned = |process: &AncestorProcess| {
        let variable = |name| process.variable(name).map(PathBuf::from);
        state::folder_in(variable("XDG_STATE_HOME"), variable("HOME")).is_none_or(|it| it == ours)
    };
    Ok(Caller::this().is_inside_any(is_concerned))
}
