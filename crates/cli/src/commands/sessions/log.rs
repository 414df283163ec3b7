//! `hookwright sessions log`: prints a session's journal, and follows it.

use std::time::Duration;

use clap::Args;
use hookwright_events::RunEvent;
use hookwright_store::{Entry, Store, entries};

use crate::error::Failure;
use crate::exit_code;
use crate::known_session::{ProjectOption, SessionChoice, Sessions};
use crate::render::journal_line;
use crate::screen::Screen;
use crate::text::escaped;

/// Pause between two reads.
const FOLLOW_PAUSE: Duration = Duration::from_millis(100);

/// Print the journal of a session, one line per entry
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The session: its name or id, or the beginning of one; optional if only one is running or
    /// known
    #[arg(value_name = "SESSION")]
    name: Option<String>,

    /// Print new entries as they are written, until the session ends
    #[arg(long, short)]
    follow: bool,

    /// Print the run events as they were written, one line of JSON each
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn log(arguments: &LogArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find_with_traces(&arguments.project)?;
    let chosen = sessions.chosen(arguments.name.as_deref(), SessionChoice::Show("sessions log"))?;
    let name = chosen.1.name().to_owned();
    let mut last = 0;
    loop {
        // Read before the entries, so that none that the session wrote before its end is missed.
        let (store, session) = sessions.named(&name)?;
        let Some(read) = print_from(store, &session.journal(), last, arguments.json, screen)?
        else {
            return Ok(exit_code::GO_ON);
        };
        last = read;
        if !arguments.follow || !session.goes_on() {
            return Ok(exit_code::GO_ON);
        }
        std::thread::sleep(FOLLOW_PAUSE);
    }
}

/// Prints the entries after `last`; returns the last one now, or `None` if the reader is gone.
fn print_from(
    store: &dyn Store,
    journal: &hookwright_store::JournalKey,
    mut last: u64,
    json: bool,
    screen: &Screen,
) -> Result<Option<u64>, Failure> {
    for entry in entries(store, journal, last) {
        let entry = entry.map_err(Failure::Store)?;
        last = entry.sequence;
        if !screen.result_while_read(&line(&entry, json))? {
            return Ok(None);
        }
    }
    Ok(Some(last))
}

fn line(entry: &Entry, json: bool) -> String {
    if json {
        return format!("{}\n", escaped(&entry.value));
    }
    match RunEvent::from_json(&entry.value) {
        Ok(event) => journal_line::of(entry.sequence, &event),
        Err(_) => journal_line::not_understood(entry.sequence),
    }
}
