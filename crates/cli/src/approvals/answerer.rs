//! Describes who answers a question, for its record. It ignores the environment, since any program
//! can set `USER`.

use std::io::{stderr, stdin, stdout};
use std::os::fd::AsFd;

use hookwright_server::Origin;
use rustix::process::getuid;
use rustix::termios::ttyname;

use crate::system_user::SystemUser;

/// Bytes of a terminal's name: longer than any.
const TERMINAL_BYTES_MAX: usize = 256;

/// The user of this process, and its terminal.
pub(super) fn in_words(origin: Origin) -> String {
    let user = user();
    match (origin, terminal()) {
        (Origin::View, _) => format!("{user} in the session's view"),
        (_, Some(terminal)) => format!("{user} at {terminal}"),
        (_, None) => format!("{user}, without a terminal"),
    }
}

fn user() -> String {
    let listed = SystemUser::of_this_process().map(|user| user.name);
    listed.unwrap_or_else(|| format!("user {}", getuid().as_raw()))
}

/// The terminal of one of the standard streams.
fn terminal() -> Option<String> {
    let of = |stream: &dyn AsFd| {
        let name = ttyname(stream.as_fd(), Vec::with_capacity(TERMINAL_BYTES_MAX)).ok()?;
        name.into_string().ok()
    };
    of(&stdin()).or_else(|| of(&stdout())).or_else(|| of(&stderr()))
}
