//! `hookwright trust --list`: the trusted files, and whether they have changed.

use hookwright_config::{ConfigFile, ReadFile};
use hookwright_engine::hook::Layer;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::exit_code;
use crate::render::Table;
use crate::screen::Screen;
use crate::text::local;
use crate::trust::{self, Record, Sha256, Trust};

pub(super) fn list(as_json: bool, screen: &Screen) -> Result<u8, Failure> {
    let trust = Trust::of_user().or_problem().map_err(Failure::Trust)?;
    let records = trust.records();
    if as_json {
        let files: Vec<Value> = records.iter().map(json_of).collect();
        screen.json(&json!({ "version": 1, "files": files }))?;
    } else if records.is_empty() {
        screen.talk("no file is trusted\n");
    } else {
        let mut table = Table::with_headings(&["file", "since", "now"]).with_outcomes_in(2);
        for record in &records {
            let since = local(&record.since);
            table.row([&*record.place.to_string_lossy(), &since, now(record)]);
        }
        screen.result(&table.to_string())?;
    }
    Ok(exit_code::GO_ON)
}

fn json_of(record: &Record) -> Value {
    json!({
        "path": record.place.to_string_lossy(),
        "sha256": record.sha256.to_hex(),
        "since": record.since,
        "now": now(record),
    })
}

/// The current state of a trusted file.
fn now(record: &Record) -> &'static str {
    if trust::is_gone(&record.place) {
        return "gone";
    }
    // Opening a named pipe would block.
    if !record.place.is_file() {
        return "unreadable";
    }
    let file = ConfigFile::native(&record.place, &record.place, Layer::Project);
    match ReadFile::read(&file).text() {
        None => "unreadable",
        Some(text) if Sha256::digest(text.as_bytes()) == record.sha256 => "unchanged",
        Some(_) => "changed",
    }
}
