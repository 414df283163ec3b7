//! `hookwright workers`: the workers of the store, and what each of them runs.

use clap::Args;
use serde_json::{Value, json};

use crate::error::{Failure, WorkerFailure};
use crate::exit_code;
use crate::known_workers::{HeldSession, KnownWorker, KnownWorkers};
use crate::render::human;
use crate::render::table::Table;
use crate::screen::Screen;
use crate::state;
use crate::text::{local, one_line};
use crate::worker::short_id;

/// Characters of a cell.
const CELL_CHARS_MAX: usize = 60;

/// List the workers of the store, with their sessions
///
/// Shows each `hookwright worker` that has joined the store: its machine, what it offers, the sessions
/// that it runs, and when it last gave a sign of life. A dead worker is shown with the sessions that
/// no other worker has taken yet.
#[derive(Debug, Args)]
pub(crate) struct WorkersArguments {
    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn workers(arguments: &WorkersArguments, screen: &Screen) -> Result<u8, Failure> {
    let store = state::store()?;
    if store.workers().is_none() {
        return Err(WorkerFailure::NoDatabase.into());
    }
    let mut list = Vec::new();
    for worker in KnownWorkers::read(&*store)?.all {
        let sessions = worker.sessions(&*store)?;
        // Other workers have taken everything that it had.
        if !worker.is_dead || !sessions.is_empty() {
            list.push((worker, sessions));
        }
    }
    if arguments.json {
        let list: Vec<Value> = list.iter().map(|(worker, held)| as_json(worker, held)).collect();
        screen.json(&json!({ "version": 1, "workers": list }))?;
        return Ok(exit_code::GO_ON);
    }
    if list.is_empty() {
        screen.talk("no worker runs; start one with `hookwright worker`\n");
        return Ok(exit_code::GO_ON);
    }
    screen.result(&table(&list))?;
    Ok(exit_code::GO_ON)
}

fn as_json(worker: &KnownWorker, sessions: &[HeldSession]) -> Value {
    let mut value = serde_json::to_value(&worker.offer).unwrap_or_default();
    value["id"] = worker.id.clone().into();
    value["isDead"] = worker.is_dead.into();
    value["silentForMs"] = u64::try_from(worker.silent_for.as_millis()).unwrap_or(u64::MAX).into();
    value["sessions"] = json!(sessions);
    value
}

fn table(list: &[(KnownWorker, Vec<HeldSession>)]) -> String {
    let headings =
        ["worker", "state", "host", "since", "at once", "labels", "projects", "sessions"];
    let mut table = Table::with_headings(&headings);
    for (worker, sessions) in list {
        let offer = &worker.offer;
        let silent = human::duration(worker.silent_for.as_secs_f64() * 1000.0);
        let state = match worker.is_dead {
            true => "dead".to_owned(),
            false => format!("seen {silent} ago"),
        };
        let names: Vec<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
        let cell = |texts: &[&str]| match texts {
            [] => "-".to_owned(),
            _ => one_line(&texts.join(", "), CELL_CHARS_MAX),
        };
        let texts = |all: &[String]| cell(&all.iter().map(String::as_str).collect::<Vec<_>>());
        table.row([
            short_id(&worker.id).to_owned(),
            state,
            one_line(&offer.host, CELL_CHARS_MAX),
            local(&offer.since),
            offer.at_once.to_string(),
            texts(&offer.labels),
            texts(&offer.projects),
            cell(&names),
        ]);
    }
    table.to_string()
}
