//! Looks at what a session on workers leaves: its branch in the git remote, and the files of its
//! folder in the store. Every turn and every awaited hook of `carried.yaml` writes into both.

use std::collections::BTreeMap;

use hookwright_pipeline::session_files::file_keys;
use hookwright_store::{Kind, RecordKey};
use serde_json::Value;

use super::audit::{Audit, Violation};
use super::fleet::{Fleet, PROJECT};

impl Audit {
    /// The branch has a line for each turn and each awaited hook, once and in their order, and so
    /// have the stored files.
    pub(crate) fn look_at_work(&mut self, fleet: &Fleet, session: &str, iterations: u32) {
        let lines: Vec<String> = (1..=iterations)
            .flat_map(|number| ["before", "turn", "check"].map(|who| format!("{who} {number}")))
            .collect();
        let branch = format!("refs/heads/hookwright/{session}");
        if fleet.lab.remote().refs(&branch).is_empty() {
            self.found(Violation::WorkLost, format!("{session} has left no branch"));
        } else {
            let carried = fleet.lab.remote().git(&["show", &format!("{branch}:carried")]);
            if carried.lines().ne(&lines) {
                let what = format!("{session}: its branch has {carried:?}");
                self.found(Violation::WorkLost, what);
            }
        }
        let files = stored_files(fleet, session);
        for line in &lines {
            let content = files.get(&line.replace(' ', "-")).map(String::as_str);
            if content != Some(&format!("{line}\n")) {
                let what = format!("{session}: its stored file for {line:?} has {content:?}");
                self.found(Violation::WorkLost, what);
            }
        }
        for number in 1..=iterations {
            let output = format!("iterations/{number:03}/output.md");
            if !files.keys().any(|path| path.ends_with(&output)) {
                self.found(Violation::WorkLost, format!("{session}: {output} is not stored"));
            }
        }
    }
}

/// The files of a session's folder that are text, by their paths.
fn stored_files(fleet: &Fleet, session: &str) -> BTreeMap<String, String> {
    let store = fleet.store();
    let key = RecordKey { project: PROJECT.to_owned(), name: session.to_owned() };
    let Some(record) = store.get(Kind::Session, &key).expect("read") else {
        return BTreeMap::new();
    };
    let record: Value = serde_json::from_str(&record.value).expect("a record");
    let id = record["id"].as_str().expect("a session has an id");
    let keys = file_keys(&*store, PROJECT, id).expect("read");
    let files = keys.into_iter().filter_map(|key| {
        let file = store.get(Kind::SessionFile, &key).expect("read")?;
        let file: Value = serde_json::from_str(&file.value).expect("a file");
        let path = key.name.get(id.len() + 1..)?.to_owned();
        Some((path, file["text"].as_str()?.to_owned()))
    });
    files.collect()
}
