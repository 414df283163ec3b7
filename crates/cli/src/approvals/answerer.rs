//! Who answers a question, in words for its record. The environment has no say in it: any program can set
//! `USER`.

use std::io::{stderr, stdin, stdout};
use std::os::fd::AsFd;

use hookwright_server::Origin;
use rustix::process::getuid;
use rustix::termios::ttyname;

/// Where the system's users are listed.
const USERS: &str = "/etc/passwd";

/// Bytes of a terminal's name; the system has none that is longer.
const TERMINAL_BYTES_MAX: usize = 256;

/// Who runs this process, and where.
pub(super) fn in_words(origin: Origin) -> String {
    let user = user();
    match (origin, terminal()) {
        (Origin::View, _) => format!("{user} in the session's view"),
        (_, Some(terminal)) => format!("{user} at {terminal}"),
        (_, None) => format!("{user}, without a terminal"),
    }
}

fn user() -> String {
    let id = getuid().as_raw();
    let users = std::fs::read_to_string(USERS).unwrap_or_default();
    name_of(id, &users).map_or_else(|| format!("user {id}"), str::to_owned)
}

/// The name of a user in the system's list.
fn name_of(id: u32, users: &str) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(id)).then_some(name)
    })
}

/// The terminal of one of the standard streams.
fn terminal() -> Option<String> {
    let of = |stream: &dyn AsFd| {
        let name = ttyname(stream.as_fd(), Vec::with_capacity(TERMINAL_BYTES_MAX)).ok()?;
        name.into_string().ok()
    };
    of(&stdin()).or_else(|| of(&stdout())).or_else(|| of(&stderr()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_by_number_and_never_by_another_field() {
        let users = "root:x:0:0::/:/bin/sh\n\nann:x:1000:7::/home/ann:/bin/sh\n:x:8:8:::\nbroken\n";
        assert_eq!(name_of(0, users), Some("root"));
        assert_eq!(name_of(1000, users), Some("ann"));
        for unknown in [7, 8, 100] {
            assert_eq!(name_of(unknown, users), None, "{unknown}");
        }
    }
}
