//! Limits, each with its reason.

use std::time::Duration;

/// Bytes of one compiled regular expression: enough for any list of tool names. `(a{1000}){1000}`
/// is short but compiles to far more.
pub(super) const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// A command's default timeout at the event of this name.
pub(crate) fn default_timeout(event: &str) -> Duration {
    match event {
        "SessionEnd" => SESSION_END_TIMEOUT,
        "MessageDisplay" => DISPLAY_TIMEOUT,
        "UserPromptSubmit" | "PreModelSwitch" | "PostModelSwitch" => PROMPT_TIMEOUT,
        _ => COMMAND_TIMEOUT,
    }
}

/// A command's default timeout, as in Claude Code.
pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// The same if a prompt or a model is waiting. As in Claude Code.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// The same while a message is being shown. As in Claude Code.
const DISPLAY_TIMEOUT: Duration = Duration::from_secs(10);

/// The time limit that all hooks of `SessionEnd` share by default. As in Claude Code.
pub(super) const SESSION_END_TIMEOUT: Duration = Duration::from_millis(1500);

/// The highest such limit that a hook can set. As in Claude Code.
pub(super) const SESSION_END_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// The longest timeout: 30 days, as everywhere.
pub(super) const TIMEOUT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
