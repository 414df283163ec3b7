//! `hookwright store move`: session by session, so that it can be interrupted and repeated.

use hookwright_pipeline::lease::{self, LeaseError};
use hookwright_store::{Kind, SqliteStore, Store, Transfer, TransferOutcome};
use serde_json::{Value, json};

use super::access;
use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;
use crate::state;
use crate::text::{count, visible};

/// How many of a kind were copied.
#[derive(Default)]
struct Moved {
    copied: usize,
    already_there: usize,
    /// Names of those that differ in the database.
    differ: Vec<String>,
    /// Names of sessions that run.
    running: Vec<String>,
}

pub(super) fn transfer(in_json: bool, screen: &Screen) -> Result<u8, Failure> {
    let access = access()?;
    let from = SqliteStore::find(&state::folder()?).map_err(Failure::Store)?;
    let from = from.ok_or(Failure::NothingToMove)?;
    let to = state::store()?;
    drop(access);
    let transfer = Transfer { from: &from, to: &*to };
    let mut moved = vec![("session", sessions(&transfer, &from)?)];
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Session) {
        let mut of_kind = Moved::default();
        for (key, outcome) in transfer.records(kind).map_err(Failure::Store)? {
            of_kind.add(key.name, outcome);
        }
        moved.push((kind.word(), of_kind));
    }
    tell(in_json, &moved, screen)?;
    let is_whole = moved.iter().all(|(_, it)| it.differ.is_empty() && it.running.is_empty());
    Ok(if is_whole { exit_code::GO_ON } else { exit_code::OUR_FAULT })
}

fn sessions(transfer: &Transfer<'_>, from: &SqliteStore) -> Result<Moved, Failure> {
    let mut moved = Moved::default();
    for key in transfer.keys(Kind::Session).map_err(Failure::Store)? {
        // Held meanwhile, so that no other process resumes it.
        let fence = match lease::take(from, &lease::name_of(&key.project, &key.name)) {
            Ok(fence) => fence,
            Err(LeaseError::Runs { .. }) => {
                moved.running.push(key.name);
                continue;
            }
            Err(LeaseError::Store(error)) => return Err(Failure::Store(error)),
        };
        let outcome = transfer.session(&key);
        from.release(&fence.lease, fence.token).map_err(Failure::Store)?;
        moved.add(key.name, outcome.map_err(Failure::Store)?);
    }
    Ok(moved)
}

impl Moved {
    fn add(&mut self, name: String, outcome: TransferOutcome) {
        match outcome {
            TransferOutcome::Copied => self.copied += 1,
            TransferOutcome::AlreadyThere => self.already_there += 1,
            TransferOutcome::Differs => self.differ.push(name),
        }
    }
}

fn tell(in_json: bool, moved: &[(&str, Moved)], screen: &Screen) -> Result<(), Failure> {
    if in_json {
        let of_kind = |(kind, it): &(&str, Moved)| -> (String, Value) {
            let value = json!({
                "copied": it.copied, "already_there": it.already_there, "differ": it.differ,
                "running": it.running,
            });
            (kind.replace(' ', "_"), value)
        };
        let kinds: serde_json::Map<String, Value> = moved.iter().map(of_kind).collect();
        return screen.json(&json!({ "version": 1, "moved": kinds }));
    }
    let sessions = &moved[0].1;
    let others: usize = moved[1..].iter().map(|(_, it)| it.copied).sum();
    let there: usize = moved.iter().map(|(_, it)| it.already_there).sum();
    screen.result(&format!(
        "copied {} and {}; {there} were there already\n",
        count(sessions.copied, "session"),
        count(others, "other record"),
    ))?;
    for name in &sessions.running {
        screen.talk(&format!(
            "warning: session `{}` is running, so it was left out\n",
            visible(name)
        ));
    }
    for (kind, it) in moved {
        for name in &it.differ {
            screen.talk(&format!(
                "warning: the {kind} `{}` is another one in the database, so it was left alone\n",
                visible(name)
            ));
        }
    }
    if !sessions.running.is_empty() {
        screen.talk("help: when they have ended, run `hookwright store move` again\n");
    }
    Ok(())
}
