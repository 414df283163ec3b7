//! Limits of the live view, each with its reason.

use std::time::Duration;

/// Pause between two drawings: ten a second look alive and cost little, however much happens.
pub(super) const FRAME: Duration = Duration::from_millis(100);

/// Pause between two drawings while only time passes: clocks show seconds.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Bytes of lines that wait to be printed. Beyond it a stopped terminal (Ctrl-S) delays the
/// session, as it would without the view.
pub(super) const UNPRINTED_BYTES_MAX: usize = 1024 * 1024;

/// The agent's lines that are kept: more than the tallest terminals show.
pub(super) const OUTPUT_LINES_MAX: usize = 200;

/// Characters of such a line: more than the widest terminals show.
pub(super) const OUTPUT_LINE_CHARS_MAX: usize = 500;

/// Lines of the agent's prompt that are kept, like those of its output.
pub(super) const PROMPT_LINES_MAX: usize = OUTPUT_LINES_MAX;

/// The agent's lines that are shown by default.
pub(super) const OUTPUT_LINES_SHOWN: usize = 5;

/// Running hooks that are shown; the others are counted.
pub(super) const HOOKS_SHOWN_MAX: usize = 5;

/// Characters of a typed message; later hooks read it from their environment.
pub(super) const MESSAGE_CHARS_MAX: usize = 1_000;

/// How long an immediate exit waits for the current drawing.
pub(super) const LEAVING: Duration = Duration::from_millis(200);
