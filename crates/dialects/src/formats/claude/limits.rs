//! Whatever waits or grows here has a limit, each with its reason.

use std::time::Duration;

/// Bytes of one compiled regular expression: enough for any list of tool names, and
/// `(a{1000}){1000}` is short to write.
pub(super) const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// How long a command may take at an event of this name, unless its entry says otherwise.
pub(crate) fn default_timeout(event: &str) -> Duration {
    match event {
        "SessionEnd" => SESSION_END_TIMEOUT,
        "MessageDisplay" => DISPLAY_TIMEOUT,
        "UserPromptSubmit" | "PreModelSwitch" | "PostModelSwitch" => PROMPT_TIMEOUT,
        _ => COMMAND_TIMEOUT,
    }
}

/// How long a command may take, unless its entry or its event says otherwise. Claude Code's own.
pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// The same where somebody waits for a prompt or a model. Claude Code's own.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// The same while a message is being shown. Claude Code's own.
const DISPLAY_TIMEOUT: Duration = Duration::from_secs(10);

/// What all hooks of a session's end share, unless one of them asks for more. Claude Code's own.
pub(super) const SESSION_END_TIMEOUT: Duration = Duration::from_millis(1500);

/// The most that one of them can ask for. Claude Code's own.
pub(super) const SESSION_END_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// The longest timeout that can be asked for: 30 days, as everywhere.
pub(super) const TIMEOUT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
