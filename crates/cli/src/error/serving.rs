//! What a person can do when the page of sessions cannot be served.

use hookwright_server::board::serving::ServeError;

use super::{Message, without_number};

pub(super) fn of_serving(error: &ServeError) -> Message {
    let (heading, help) = match error {
        ServeError::Taken { .. } => (
            error.to_string(),
            "name another port, or let the system choose a free one: `--port 0`",
        ),
        ServeError::Refused { address, cause } => (
            format!("the page cannot be served at {address}: {}", without_number(cause)),
            "set `--bind` to an address of this machine, and `--port` to a port above 1023",
        ),
    };
    Message { heading, place: None, help: help.into() }
}
