//! Whatever the live view keeps or does has a limit. All of them stand here, each with its reason.

use std::time::Duration;

/// Between two drawings: ten a second look alive, and cost next to nothing however fast things happen.
pub(super) const FRAME: Duration = Duration::from_millis(100);

/// Between two drawings while nothing happens but time: clocks show seconds.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Bytes of lines that wait to be printed. A terminal that stands still (Ctrl-S) holds the session up
/// from there on, as it would without the view.
pub(super) const UNPRINTED_BYTES_MAX: usize = 1024 * 1024;

/// Lines of the agent that are kept: the tallest terminals have less.
pub(super) const OUTPUT_LINES_MAX: usize = 200;

/// Characters of one of them: the widest terminals have less.
pub(super) const OUTPUT_LINE_CHARS_MAX: usize = 500;

/// Lines of the agent's prompt that are kept, as of its output.
pub(super) const PROMPT_LINES_MAX: usize = OUTPUT_LINES_MAX;

/// Lines of the agent that are shown unless more are asked for.
pub(super) const OUTPUT_LINES_SHOWN: usize = 5;

/// Hooks that are shown while they run; more are counted.
pub(super) const HOOKS_SHOWN_MAX: usize = 5;

/// Characters of a message that is typed; later hooks read it from their environment.
pub(super) const MESSAGE_CHARS_MAX: usize = 1_000;

/// How long whoever leaves at once waits for a drawing that is under way.
pub(super) const LEAVING: Duration = Duration::from_millis(200);
