//! All output of the program goes through here.
//!
//! Results go to standard output, messages to standard error. A reader that closes the pipe
//! (`hookwright events | head -1`) is not an error: the rest is dropped.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use hookwright_config::{Fault, Warning};

use crate::error::{Advice, Failure};
use crate::faults;
use crate::text::{ColorChoice, Paint, escaped};

/// Discards everything.
const NOWHERE: &str = "/dev/null";

/// Standard output and standard error.
pub(crate) struct Screen;

impl Screen {
    /// Prints a result on standard output. The text must already be
    /// [`visible`](crate::text::visible).
    pub(crate) fn result(&self, text: &str) -> Result<(), Failure> {
        self.result_while_read(text).map(drop)
    }

    /// The same for one of many results; returns whether there is still a reader.
    pub(crate) fn result_while_read(&self, text: &str) -> Result<bool, Failure> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(cause) => Err(Failure::CannotWrite { cause }),
        }
    }

    /// Whether standard output is discarded. A closed one counts, since it is `/dev/null` when the
    /// program begins.
    pub(crate) fn is_discarded(&self) -> bool {
        let (Ok(ours), Ok(nowhere)) = (rustix::fs::fstat(io::stdout()), rustix::fs::stat(NOWHERE))
        else {
            return false;
        };
        (ours.st_mode, ours.st_rdev) == (nowhere.st_mode, nowhere.st_rdev)
    }

    /// The width of standard output, if it is a terminal that reports one.
    pub(crate) fn columns(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Prints one JSON value on standard output.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::CannotWrite { cause: error.into() })?;
        let mut text = escaped(&text);
        text.push('\n');
        self.result(&text)
    }

    /// Prints one JSON value on standard output, in one line.
    pub(crate) fn json_line(&self, value: &serde_json::Value) -> Result<(), Failure> {
        self.result(&format!("{}\n", escaped(&value.to_string())))
    }

    /// Prints on standard error. A failure is ignored, since it could not be reported.
    pub(crate) fn talk(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }

    /// Prints an error.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.talk(&faults::failure(failure, paint()));
    }

    /// Prints every fault of a configuration, each with its line and a blank line after it.
    pub(crate) fn faults<'a>(&self, all: impl IntoIterator<Item = &'a Fault>) {
        let paint = paint();
        for fault in all {
            self.talk(&format!("{}\n", faults::fault(fault, paint)));
        }
    }

    /// Prints the skipped entries of foreign files in the same way, as warnings.
    pub(crate) fn left_out(&self, all: &[Arc<Fault>]) {
        let paint = paint();
        for fault in all {
            self.talk(&format!("{}\n", faults::left_out(fault, paint)));
        }
    }

    /// Prints advice without a place, and without a blank line after it.
    pub(crate) fn advice(&self, word: &str, all: &[Advice]) {
        let paint = paint();
        for advice in all {
            self.talk(&faults::without_place(word, advice, paint));
        }
    }

    /// Prints every warning in the same way.
    pub(crate) fn warnings<'a>(&self, all: impl IntoIterator<Item = &'a Warning>) {
        let paint = paint();
        for warning in all {
            self.talk(&format!("{}\n", faults::warning(warning, paint)));
        }
    }
}

/// The value of `--color`, set once when the program begins.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Sets the use of colour for all later output.
pub(crate) fn choose_color(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
    Paint { colour: is_coloured(io::stdout().is_terminal()) }.set_results();
}

/// Whether output to a terminal, or to something else, has colour.
pub(crate) fn is_coloured(is_terminal: bool) -> bool {
    let unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match CHOICE.get().copied().unwrap_or_default() {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal && unset("NO_COLOR") && !dumb,
    }
}

/// The colours of standard error, computed only when something is printed.
fn paint() -> Paint {
    Paint { colour: is_coloured(io::stderr().is_terminal()) }
}
