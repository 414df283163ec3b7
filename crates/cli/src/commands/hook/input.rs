//! The agent's input: all of standard input. Input that does not end in time is not an event.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hookwright_dialects::hosts::Host;

use super::deadline::Deadline;
use super::host_answer::seconds;
use super::limits::INPUT_BYTES_MAX;
use crate::error::Failure;
use crate::screen::Screen;

/// Reads the agent's input. `patience` is how long the agent waits for this command, if its
/// settings say so; a person at a terminal has no limit.
pub(super) fn read(
    host: &Host,
    called: Instant,
    patience: Option<Duration>,
    screen: &Screen,
) -> Result<String, Failure> {
    let no_event = |cause: String| Failure::NoEventOfAgent { agent: host.display_name, cause };
    let is_person = io::stdin().is_terminal();
    if is_person {
        screen.talk(&format!("waiting for an event of {} on standard input\n", host.display_name));
    }
    let bytes = match patience {
        None if is_person => all_of_standard_input(),
        patience => {
            let patience = patience.unwrap_or_else(|| host.least_patience());
            let deadline = Deadline::new(called, patience);
            until(deadline.of_hooks, all_of_standard_input).unwrap_or_else(|| {
                let span = seconds(deadline.span);
                let cause = format!("standard input had not ended after {span}");
                Err(io::Error::new(io::ErrorKind::TimedOut, cause))
            })
        }
    };
    let bytes = bytes.map_err(|error| no_event(error.to_string()))?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(no_event(format!("it has more than {INPUT_BYTES_MAX} bytes")));
    }
    // An unpaired surrogate, from a program with 16-bit text, must not open a guard.
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn all_of_standard_input() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The result of `work`, if it comes in time. Otherwise the work is abandoned and ends with the
/// process.
fn until<T: Send + 'static>(at: Instant, work: fn() -> T) -> Option<T> {
    let (done, is_done) = mpsc::sync_channel(1);
    let started = thread::Builder::new().name("standard input".into()).spawn(move || {
        // If this fails, the call has already answered.
        let _ = done.send(work());
    });
    match started {
        Ok(_) => is_done.recv_timeout(at.saturating_duration_since(Instant::now())).ok(),
        // Without another thread there is no deadline, but the hooks still run.
        Err(_) => Some(work()),
    }
}
