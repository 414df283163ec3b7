//! Hooks to start with, as Code-Forge ships them. They also work in Code-Forge itself.

use hookwright_events::EventName;

use super::Entry;

/// A template's name, and a function that creates its hook.
pub type EntryTemplate = (&'static str, fn() -> Entry);

/// Every template, by its name.
pub const ALL: &[EntryTemplate] = &[
    ("log_all", log_all),
    ("notify_session_start", notify_session_start),
    ("git_auto_commit", git_auto_commit),
    ("block_sudo", block_sudo),
];

/// The template of this name.
pub fn named(name: &str) -> Option<Entry> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, make)| make())
}

/// Appends a line for every event to `~/.config/forge/events.log`.
pub fn log_all() -> Entry {
    let command = "folder=\"${XDG_CONFIG_HOME:-$HOME/.config}/forge\"; mkdir -p \"$folder\" && \
                   printf '%s %s %s\\n' \"$FORGE_TIMESTAMP\" \"$FORGE_EVENT\" \"${FORGE_TOOL_NAME:-}\" \
                   >> \"$folder/events.log\"";
    Entry::new("*", command).description("Log all events")
}

/// Shows a desktop notification when a session begins.
pub fn notify_session_start() -> Entry {
    let command = "if command -v notify-send > /dev/null; then \
                   notify-send 'Code-Forge' 'Session started'; fi";
    Entry::new(EventName::SESSION_START.as_str(), command)
        .description("Desktop notification on session start")
}

/// Commits after every written file.
pub fn git_auto_commit() -> Entry {
    let command = "git add -A && { git diff --cached --quiet || \
                   git commit -q -m \"Auto-save after $FORGE_TOOL_NAME\"; }";
    Entry::new("tool:post_execute:write", command)
        .timeout(30.0)
        .description("Auto-commit on file writes")
}

/// Blocks commands with `sudo`.
pub fn block_sudo() -> Entry {
    let command = "if printf '%s' \"$FORGE_TOOL_ARGS\" | grep -qw sudo; then \
                   echo 'Blocked: sudo commands not allowed'; exit 1; fi";
    Entry::new("tool:pre_execute:bash", command).description("Block sudo commands")
}
