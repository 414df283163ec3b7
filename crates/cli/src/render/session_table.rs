//! Tables of sessions, and the heading of one.

use std::path::Path;

use super::{Table, human, session_wait};
use crate::text::{Paint, count, local, one_line, visible};
use hookwright_events::SessionStatus;
use hookwright_pipeline::record::AgentSession;

use crate::config_files::ConfigFiles;
use crate::known_session::KnownSession;
use crate::known_workers::KnownWorkers;
use crate::session_waits::SessionWaits;
use crate::store_time;

/// Characters of a plan, a stage or a branch in a table.
const CELL_CHARS_MAX: usize = 40;

/// Characters of a reason. It may say what to do.
const REASON_CHARS_MAX: usize = 600;

/// Characters of a commit.
const COMMIT_CHARS: usize = 10;

/// A list of sessions; with their projects if `projects` is given.
pub(crate) fn of(list: &[KnownSession], projects: Option<&ConfigFiles>) -> String {
    let mut headings =
        vec!["name", "status", "plan", "stage", "iterations", "started", "duration", "branch"];
    headings.extend(projects.map(|_| "project"));
    let mut table = Table::with_headings(&headings).with_outcomes_in(1);
    let now = store_time::now_ms();
    for session in list {
        let record = &session.record;
        let mut row = vec![
            session.name().to_owned(),
            session.status.in_words().to_owned(),
            one_line(&record.plan, CELL_CHARS_MAX),
            stage(session),
            iterations(session),
            local(&record.start_time),
            duration(session, now),
            one_line(record.metadata.git_branch.as_deref().unwrap_or("-"), CELL_CHARS_MAX),
        ];
        row.extend(projects.map(|found| {
            let project = found.display_path(Path::new(record.project()));
            project.to_string_lossy().into_owned()
        }));
        table.row(row);
    }
    table.to_string()
}

/// Running sessions: their progress, duration and process.
pub(crate) fn running(list: &[KnownSession], waits: &SessionWaits) -> String {
    let mut table = Table::default();
    let now = store_time::now_ms();
    for session in list {
        let iterations = count(session.record.iterations as usize, "iteration");
        table.row([
            format!("  {}", session.name()),
            one_line(&session.record.plan, CELL_CHARS_MAX),
            format!("stage {}, {iterations} done", stage(session)),
            format!("for {}", duration(session, now)),
            session.holder.as_ref().map(|by| format!("process {}", by.pid)).unwrap_or_default(),
        ]);
    }
    let waits = list.iter().map(|session| waits_of(session, waits));
    waits.fold(table.to_string(), |text, lines| text + &lines)
}

/// Sessions that wait for workers, the oldest first, and for what. The list is newest first.
pub(crate) fn queued(list: &[KnownSession], workers: &KnownWorkers) -> String {
    let mut table = Table::default();
    for session in list.iter().rev() {
        table.row([
            format!("  {}", session.name()),
            one_line(&session.record.plan, CELL_CHARS_MAX),
            format!("since {}", local(&session.record.start_time)),
            waits_in_queue(session, workers),
        ]);
    }
    table.to_string()
}

/// For what a queued session waits.
pub(crate) fn waits_in_queue(session: &KnownSession, workers: &KnownWorkers) -> String {
    match workers.missing_for(session) {
        Some(missing) => format!("waits: {}", one_line(&missing, REASON_CHARS_MAX)),
        None => "waits for a free worker".to_owned(),
    }
}

/// What a session waits for, and what the user can do about it.
fn waits_of(session: &KnownSession, waits: &SessionWaits) -> String {
    let waits = waits.get(session.name()).map(Vec::as_slice).unwrap_or_default();
    session_wait::lines(waits, store_time::now_ms())
}

/// Resumable sessions, with the commands.
pub(crate) fn resumable(list: &[KnownSession], waits: &SessionWaits) -> String {
    let mut table = Table::default().with_outcomes_in(1);
    for session in list {
        let iterations = count(session.record.iterations as usize, "iteration");
        table.row([
            format!("  {}", session.name()),
            session.status.in_words().to_owned(),
            one_line(&session.record.plan, CELL_CHARS_MAX),
            format!("stage {}, {iterations} done", stage(session)),
            session.resume_command().unwrap_or_default(),
        ]);
    }
    list.iter().fold(table.to_string(), |text, session| {
        text + &ended_because(session).unwrap_or_default() + &waits_of(session, waits)
    })
}

/// Why a session ended early, if its status does not say it.
fn ended_because(session: &KnownSession) -> Option<String> {
    let reason = Some(session.record.reason.as_str());
    let reason =
        reason.filter(|reason| !reason.is_empty() && *reason != session.status.as_str())?;
    Some(format!("  {}: {}\n", session.name(), one_line(reason, REASON_CHARS_MAX)))
}

/// The heading above a session's timeline.
pub(crate) fn heading(session: &KnownSession) -> String {
    let record = &session.record;
    let paint = Paint::of_results();
    let name = paint.strong(&visible(session.name()));
    let mut text = format!("{name}: {}", paint.outcome(session.status.in_words()));
    if !record.reason.is_empty() && record.reason != session.status.as_str() {
        text.push_str(&format!(" ({})", one_line(&record.reason, REASON_CHARS_MAX)));
    }
    if let Some(took) = session.duration_ms(store_time::now_ms()) {
        text.push_str(&format!(", {}", human::duration(took as f64)));
    }
    let plan = one_line(&record.plan, CELL_CHARS_MAX);
    let what = match session.trace() {
        Some(_) => format!("your hooks inside {}", visible(&plan)),
        None => format!("{} with agent {}", visible(&plan), visible(&record.provider)),
    };
    text.push_str(&format!("\n  {what}, began {}", local(&record.start_time)));
    if session.trace().is_some()
        && let Some(AgentSession { session, .. }) = record.agent_sessions.first()
    {
        text.push_str(&format!(", its session {}", one_line(session, CELL_CHARS_MAX)));
    }
    if let Some(branch) = &record.metadata.git_branch {
        text.push_str(&format!(", branch {}", one_line(branch, CELL_CHARS_MAX)));
    }
    if let Some(commit) = &record.metadata.git_commit {
        let short: String = commit.chars().take(COMMIT_CHARS).collect();
        text.push_str(&format!(" at {}", visible(&short)));
    }
    text.push('\n');
    if let Some(parent) = &record.parent {
        let (hook, session) = (visible(&parent.hook), visible(&parent.session));
        text.push_str(&format!("  started by hook {hook} of session {session}\n"));
    }
    text
}

/// The number of iterations; a session of another agent has none.
fn iterations(session: &KnownSession) -> String {
    match session.trace() {
        Some(_) => "-".to_owned(),
        None => session.record.iterations.to_string(),
    }
}

/// `1/2 plan`.
fn stage(session: &KnownSession) -> String {
    let record = &session.record;
    if session.trace().is_some() {
        return "-".to_owned();
    }
    let name = record.stages.get((record.stage as usize).wrapping_sub(1));
    let name = name.map(|name| format!(" {}", one_line(name, CELL_CHARS_MAX))).unwrap_or_default();
    format!("{}/{}{name}", record.stage, record.stages.len())
}

fn duration(session: &KnownSession, now_ms: i64) -> String {
    match session.duration_ms(now_ms) {
        Some(took) => human::duration(took as f64),
        None if session.status == SessionStatus::CutOff => "?".to_owned(),
        None => "-".to_owned(),
    }
}
