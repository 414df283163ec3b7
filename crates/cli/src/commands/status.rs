//! `hookwright status`: what runs in this project and what it waits for, what can be resumed, and
//! the state of issues and tasks.

use clap::Args;
use hookwright_events::SessionStatus;
use hookwright_pipeline::queue::IssueState;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::exit_code;
use crate::known_session::{KnownSession, ProjectOption, Query, Sessions};
use crate::known_work::KnownWork;
use crate::known_workers::KnownWorkers;
use crate::render::session_table;
use crate::render::table::Table;
use crate::screen::Screen;
use crate::session_waits::{self, SessionWaits};
use crate::text::{Paint, count, one_line};

/// Resumable sessions that are shown.
const RESUMABLE_SHOWN_MAX: usize = 5;

/// Queued sessions that are shown.
const QUEUED_SHOWN_MAX: usize = 10;

/// Queued sessions that are counted.
const QUEUED_MAX: usize = 1_000;

/// Issues that are shown; `--json` has all.
const ISSUES_SHOWN_MAX: usize = 30;

/// Characters of a title or a reason that are shown.
const WORDS_MAX: usize = 80;

/// Characters of a note: the names of a few files.
const NOTE_MAX: usize = 500;

/// Resumable sessions that are counted.
const RESUMABLE_MAX: usize = 1_000;

/// Show running and queued sessions and what they wait for, what can be resumed, and the state of issues and
/// tasks
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn status(arguments: &StatusArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find(&arguments.project)?;
    let mut running = sessions.list(&Query::with_statuses([SessionStatus::Active]))?;
    let mut resumable =
        sessions.list(&Query { limit: Some(RESUMABLE_MAX), ..Query::resumable() })?;
    let queued = Query::with_statuses([SessionStatus::Queued]);
    let mut queued = sessions.list(&Query { limit: Some(QUEUED_MAX), ..queued })?;
    let workers = match sessions.store.as_deref().filter(|_| !queued.is_empty()) {
        Some(store) => KnownWorkers::read(store)?,
        None => KnownWorkers { all: Vec::new() },
    };
    let work = KnownWork::find(&sessions)?;
    let waits = session_waits::of_project(&sessions)?;
    if arguments.json {
        sessions.read_issues(&mut running)?;
        sessions.read_issues(&mut resumable)?;
        sessions.read_issues(&mut queued)?;
        let all = |list: &[KnownSession]| -> Vec<Value> {
            list.iter().map(|session| as_json(session, &waits)).collect()
        };
        let (running, resumable, mut waiting) = (all(&running), all(&resumable), all(&queued));
        for (value, session) in waiting.iter_mut().zip(&queued) {
            value["missing"] = workers.missing_for(session).into();
        }
        let project = &sessions.project;
        screen.json(&json!({
            "version": 1,
            "project": project,
            "running": running,
            "queued": waiting,
            "resumable": resumable,
            "work": work.json(),
        }))?;
        return Ok(exit_code::GO_ON);
    }
    let text = shown(&running, (&queued, &workers), &resumable, &waits) + &shown_work(&work);
    screen.result(&text)?;
    Ok(exit_code::GO_ON)
}

/// A session, and what it and its child sessions wait for.
fn as_json(session: &KnownSession, waits: &SessionWaits) -> Value {
    let mut value = session.json();
    let waits = waits.get(session.name()).map(Vec::as_slice).unwrap_or_default();
    value["waits"] = waits.iter().map(|(name, wait)| wait.json(name)).collect();
    value
}

fn shown(
    running: &[KnownSession],
    (queued, workers): (&[KnownSession], &KnownWorkers),
    resumable: &[KnownSession],
    waits: &SessionWaits,
) -> String {
    let mut text = String::new();
    if running.is_empty() {
        text.push_str("nothing runs here\n");
    } else {
        text.push_str(&heading("running:"));
        text.push_str(&session_table::running(running, waits));
    }
    if !queued.is_empty() {
        text.push_str(&heading("queued for workers:"));
        let first = &queued[queued.len().saturating_sub(QUEUED_SHOWN_MAX)..];
        text.push_str(&session_table::queued(first, workers));
        let more = queued.len() - first.len();
        if more > 0 {
            let more = count(more, "newer session");
            text.push_str(&format!("  and {more}; `hookwright sessions list` shows them\n"));
        }
    }
    if resumable.is_empty() {
        return text;
    }
    text.push_str(&heading("can be resumed:"));
    let first = &resumable[..resumable.len().min(RESUMABLE_SHOWN_MAX)];
    text.push_str(&session_table::resumable(first, waits));
    let more = resumable.len() - first.len();
    if more > 0 {
        let more = count(more, "older session");
        text.push_str(&format!("  and {more}; `hookwright sessions list` shows them\n"));
    }
    text
}

fn heading(words: &str) -> String {
    format!("{}\n", Paint::of_results().strong(words))
}

/// The order of states, most important first.
const ORDER: [IssueState; 5] = [
    IssueState::Active,
    IssueState::Failed,
    IssueState::Blocked,
    IssueState::Open,
    IssueState::Done,
];

fn shown_work(work: &KnownWork) -> String {
    let mut text = String::new();
    for problem in &work.problems {
        text.push_str(&format!(
            "some issues cannot be read: {}\n",
            one_line(problem, 2 * WORDS_MAX)
        ));
    }
    for note in &work.notes {
        text.push_str(&format!("note: {}\n", one_line(note, NOTE_MAX)));
    }
    if !work.issues.is_empty() {
        let counts = ORDER.iter().map(|state| (work.count(*state), state.as_str()));
        text.push_str(&format!("issues: {}\n", listed(counts)));
        text.push_str(&issues(work));
    }
    if !work.tasks.is_empty() {
        let counts = work.tasks.iter().map(|(state, number)| (*number, *state));
        let counts = listed(counts).replace('_', " ");
        text.push_str(&format!("tasks: {counts}; `hookwright task list` shows them\n"));
    }
    text
}

fn listed<'a>(counts: impl Iterator<Item = (usize, &'a str)>) -> String {
    let counts = counts.filter(|(number, _)| *number > 0);
    counts.map(|(number, state)| format!("{number} {state}")).collect::<Vec<_>>().join(", ")
}

fn issues(work: &KnownWork) -> String {
    let mut table = Table::default().with_outcomes_in(1);
    let of_state =
        |state: &'static IssueState| work.issues.iter().filter(move |issue| issue.state == *state);
    let in_order = ORDER.iter().flat_map(of_state);
    let several = work.issues.iter().any(|issue| issue.folder != work.issues[0].folder);
    for issue in in_order.take(ISSUES_SHOWN_MAX) {
        let name = match several {
            true => format!("  {}/{}", issue.folder, issue.number),
            false => format!("  {}", issue.number),
        };
        let reason = issue.reason().filter(|_| issue.state != IssueState::Open);
        let reason = reason.map(|reason| format!(": {}", one_line(reason, WORDS_MAX)));
        let words = one_line(&issue.title, WORDS_MAX) + &reason.unwrap_or_default();
        table.row([name.as_str(), issue.state.as_str(), &words]);
    }
    let mut text = table.to_string();
    let more = work.issues.len().saturating_sub(ISSUES_SHOWN_MAX);
    if more > 0 {
        text.push_str(&format!("  and {more} more; `--json` shows all\n"));
    }
    let closed = [IssueState::Failed, IssueState::Blocked];
    if let Some(issue) = work.issues.iter().find(|issue| closed.contains(&issue.state)) {
        text.push_str(&format!("  to try one again: hookwright reopen {}\n", issue.number));
    }
    text
}
