//! The variables that Claude Code sets for a hook.
//!
//! `CLAUDE_ENV_FILE` names a file to which a hook can append variables for later commands of the
//! session. The host owns it: if the event names the session's folder, it is `env.sh` there;
//! otherwise hooks inherit the host's own variable, if it has one.

use std::borrow::Cow;
use std::path::Path;

use hookwright_events::{Event, EventName};

/// The file in a session's folder.
const ENV_FILE: &str = "env.sh";

/// Events whose hooks can set variables for later commands.
const WITH_ENV_FILE: &[EventName] = &[
    EventName::SESSION_START,
    EventName::SESSION_SETUP,
    EventName::CLAUDE_CWD_CHANGED,
    EventName::CLAUDE_FILE_CHANGED,
];

/// The variable that names the file.
pub const ENV_FILE_VARIABLE: &str = "CLAUDE_ENV_FILE";

/// Whether the host must provide such a file: the event's hooks may append to one, and the event
/// names no folder for it.
pub fn wants_env_file(event: &Event) -> bool {
    let has_folder = event.text("session_dir").is_some_and(|folder| !folder.is_empty());
    WITH_ENV_FILE.contains(&event.name) && !has_folder
}

/// The variables of a hook at this event.
pub(super) fn hook_variables(event: &Event, root: &Path) -> Vec<(Cow<'static, str>, String)> {
    let mut variables = vec![
        (Cow::Borrowed("CLAUDE_PROJECT_DIR"), root.to_string_lossy().into_owned()),
        (Cow::Borrowed("CLAUDECODE"), "1".to_owned()),
    ];
    let session = event.text("session_id").or(event.text("session")).unwrap_or_default();
    variables.push((Cow::Borrowed("CLAUDE_CODE_SESSION_ID"), session.to_owned()));
    let folder = event.text("session_dir").filter(|folder| !folder.is_empty());
    if let Some(folder) = folder.filter(|_| WITH_ENV_FILE.contains(&event.name)) {
        let file = root.join(folder).join(ENV_FILE);
        variables.push((Cow::Borrowed(ENV_FILE_VARIABLE), file.to_string_lossy().into_owned()));
    }
    variables
}
