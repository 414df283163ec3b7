//! `hookwright sessions show`: one session as a tree.

mod one_iteration;

use clap::Args;
use hookwright_events::{RunEvent, SessionStatus, Usage};
use hookwright_pipeline::history::HistoryError;
use hookwright_pipeline::timeline::{Part, Timeline, read_entry};
use hookwright_store::{Entry, Store, entries};

use crate::error::{Failure, SessionFailure};
use crate::exit_code;
use crate::known_session::{KnownSession, ProjectOption, SessionChoice, Sessions};
use crate::known_workers::KnownWorkers;
use crate::render::session_table;
use crate::render::timeline::TimelineScreen;
use crate::screen::Screen;
use crate::text::escaped;
use one_iteration::WhichIteration;

/// Show one session: its stages, iterations and hooks as a tree
///
/// Shows each hook with its event, how it ended, how long it took and why; each iteration with its
/// result and what it used; pieces of work, questions and who answered them, pauses, and sessions
/// that hooks started. Of a long stage, only the first and the last iterations and those with
/// problems are shown; skipped hooks are counted.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The session: its name or id, or the beginning of one; optional if only one is running or
    /// known
    #[arg(value_name = "SESSION")]
    name: Option<String>,

    /// Show everything
    #[arg(long)]
    all: bool,

    /// Show one iteration: its hooks, the agent's prompt and its output; `final` is the final
    /// delivery
    #[arg(long, value_name = "N", conflicts_with = "all")]
    iteration: Option<WhichIteration>,

    /// The stage of that iteration, by its name or its number
    #[arg(long, value_name = "STAGE", requires = "iteration")]
    stage: Option<String>,

    /// Print one JSON value on standard output: the session and its whole timeline
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn show(arguments: &ShowArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find_with_traces(&arguments.project)?;
    let (store, mut session) =
        sessions.chosen(arguments.name.as_deref(), SessionChoice::Show("sessions show"))?;
    if let Some(which) = arguments.iteration {
        let stage = arguments.stage.as_deref();
        one_iteration::show(store, &session, which, stage, arguments.json, screen)?;
        return Ok(exit_code::GO_ON);
    }
    if arguments.json {
        sessions.read_issues(std::slice::from_mut(&mut session))?;
        show_json(store, &session, screen)?;
        return Ok(exit_code::GO_ON);
    }
    screen.result(&session_table::heading(&session))?;
    if session.status == SessionStatus::Queued {
        let waits = session_table::waits_in_queue(&session, &KnownWorkers::read(store)?);
        screen.result(&format!("  {waits}\n"))?;
    }
    let mut drawn = TimelineScreen::new(arguments.all, screen.columns());
    for_each_part(store, &session, |part| screen.result_while_read(&drawn.part(part)))?;
    screen.result(&drawn.finish(&session))?;
    Ok(exit_code::GO_ON)
}

/// Prints the session, and its timeline one part per line, so that a long one is never held in
/// memory.
fn show_json(store: &dyn Store, session: &KnownSession, screen: &Screen) -> Result<(), Failure> {
    let record = escaped(&session.json().to_string());
    screen.result(&format!("{{\"version\":1,\n\"session\":{record},\n\"timeline\":["))?;
    let mut between = "\n";
    let used = for_each_part(store, session, |part| {
        let text = serde_json::to_string(&part).unwrap_or_default();
        let text = format!("{between}{}", escaped(&text));
        between = ",\n";
        screen.result_while_read(&text)
    })?;
    let used = serde_json::to_string(&used).unwrap_or_default();
    screen.result(&format!("\n],\n\"usage\":{used}}}\n"))
}

/// Passes every part of the timeline to `take` until that returns false. Returns the agents' usage,
/// as far as they report it.
fn for_each_part(
    store: &dyn Store,
    session: &KnownSession,
    mut take: impl FnMut(Part) -> Result<bool, Failure>,
) -> Result<Option<Usage>, Failure> {
    let journal = session.journal();
    let mut timeline = Timeline::default();
    for entry in entries(store, &journal, 0) {
        for part in timeline.see(read(&entry.map_err(Failure::Store)?)?) {
            if !take(part)? {
                return Ok(timeline.used());
            }
        }
    }
    let used = timeline.used();
    for part in timeline.finish(session.runs()) {
        take(part)?;
    }
    Ok(used)
}

fn read(entry: &Entry) -> Result<RunEvent, Failure> {
    read_entry(&entry.value).map_err(|error| {
        let (sequence, cause) = (entry.sequence, error.to_string());
        Failure::Session(SessionFailure::History(HistoryError::NotUnderstood { sequence, cause }))
    })
}
