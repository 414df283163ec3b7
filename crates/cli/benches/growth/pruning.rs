//! Deleting sessions: another one costs the same however many there are, and the store's file
//! shrinks.

use std::fs;

use hookwright_store::{Append, Commit, Expected, JournalKey, Kind, Put, RecordKey};
use hookwright_store::{SqliteStore, Store};

use crate::print;
use crate::project::Project;

const TARGET: &str = "at most 1.5 x a session";

/// Entries of a session's journal, and bytes of each: about what ten iterations write.
const ENTRIES: usize = 40;
const ENTRY_BYTES: usize = 500;

/// Sessions whose hooks have started another one.
const WITH_CHILD: usize = 5;

const ROUNDS: usize = 3;

pub(crate) fn sessions(is_test: bool) {
    let sizes: &[usize] = if is_test { &[5, 10] } else { &[100, 300, 1_000, 3_000, 10_000] };
    let rounds = if is_test { 1 } else { ROUNDS };
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); sizes.len()];
    let mut shrunk = String::new();
    for _ in 0..rounds {
        for (size, costs) in sizes.iter().zip(&mut costs) {
            let project = Project::new();
            fill(&project, *size);
            let file = project.state().join("store.sqlite3");
            let before = fs::metadata(&file).unwrap().len();
            let took = project.processor_time(&["sessions", "prune", "--keep", "0", "--yes"]);
            let after = fs::metadata(&file).unwrap().len();
            shrunk = format!("{} KiB before, {} KiB after", before / 1024, after / 1024);
            costs.push(took / *size as f64);
        }
    }
    let median = |costs: &mut Vec<f64>| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    };
    let costs: Vec<(usize, f64)> =
        sizes.iter().zip(&mut costs).map(|(size, costs)| (*size, median(costs))).collect();
    print("a session deleted, of", "ms", &costs, TARGET);
    println!("the store's file with the most of them: {shrunk}");
}

/// Creates this many ended sessions, each with a folder and a journal.
fn fill(project: &Project, size: usize) {
    let store = SqliteStore::open(&project.state()).unwrap();
    let root = project.path("");
    let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
    let entries = vec!["x".repeat(ENTRY_BYTES); ENTRIES];
    for number in 0..size {
        let name = format!("session-{number}");
        add(&store, &root, &name, None, &entries);
        project.write(&format!(".hookwright/sessions/{name}/progress.md"), "done\n");
        if number % WITH_CHILD == 0 {
            add(&store, &root, &format!("{name}--review"), Some(&name), &entries);
            let file = format!(".hookwright/sessions/{name}/children/review/progress.md");
            project.write(&file, "done\n");
        }
    }
}

fn add(store: &SqliteStore, root: &str, name: &str, parent: Option<&str>, entries: &[String]) {
    let parent = parent.map_or(String::new(), |parent| {
        format!(r#", "parent": {{"session": "{parent}", "hook": "review"}}"#)
    });
    let put = Put {
        kind: Kind::Session,
        key: RecordKey { project: root.to_owned(), name: name.to_owned() },
        expected: Expected::Absent,
        value: format!(
            r#"{{"id": "{name}", "name": "{name}", "status": "completed", "startTime": "2026-01-02T03:04:05Z", "endTime": "2026-01-02T03:05:06Z"{parent}}}"#
        ),
        created_at_ms: 1_767_323_045_000,
        status: "completed".to_owned(),
        queued: None,
        moves: None,
    };
    let journal = JournalKey { project: root.to_owned(), session: name.to_owned() };
    let append = Append { journal: &journal, expected: 0, entries };
    store.commit(&Commit { append: Some(append), puts: vec![put], ..Commit::unsynced() }).unwrap();
}
