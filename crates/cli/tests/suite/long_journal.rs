//! A session with a longer journal than any real one: a short session with one iteration made
//! longer.

use hookwright_store::{Append, Commit, JournalKey, SqliteStore, Store, entries, limits};
use serde_json::Value;

use crate::support::Sandbox;

/// Runs a session `long` of one iteration with one hook, and adds this many entries to its journal:
/// hooks that ended, and hooks that never did.
pub(crate) fn run_long_session(entries_more: usize) -> Sandbox {
    let sandbox = Sandbox::new()
        .file(
            "loop.yaml",
            "name: long\nagent: {type: scripted, script: turns.yaml}\nprompt: Work.\n\
             termination: {type: fixed, iterations: 1}\n\
             hooks: {iteration:complete: [{id: one, await: true, command: 'exit 0'}]}\n",
        )
        .file("turns.yaml", "turns: [[{say: x}]]\nthen: repeat\n");
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "long"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let store = SqliteStore::open(&sandbox.path("../.local/state/hookwright")).unwrap();
    let project = sandbox.path("").to_str().unwrap().trim_end_matches('/').to_owned();
    let journal = JournalKey { project, session: "long".into() };
    let whole: Vec<String> =
        entries(&store, &journal, 0).map(|entry| entry.unwrap().value).collect();
    let is = |kind: &str| {
        let kind = format!("\"kind\":\"{kind}\"");
        whole.iter().position(|entry| entry.contains(&kind)).expect("it happened")
    };
    let (starting, reported) = (is("hook_starting"), is("hook_reported"));
    let more = (0..entries_more).map(|number| match number % 2 {
        0 => whole[reported].clone(),
        _ => {
            let mut starting: Value = serde_json::from_str(&whole[starting]).unwrap();
            starting["hook"] = format!("never-ends-{number}").into();
            starting.to_string()
        }
    });
    let before = whole[..=reported].iter().cloned();
    let all: Vec<String> = before.chain(more).chain(whole[reported + 1..].to_vec()).collect();
    store.commit(&Commit { drop_journals: vec![journal.clone()], ..Commit::unsynced() }).unwrap();
    let mut expected = 0;
    for entries in all.chunks(limits::VALUES_PER_COMMIT_MAX) {
        let append = Append { journal: &journal, expected, entries };
        let commit = Commit { append: Some(append), ..Commit::unsynced() };
        expected = store.commit(&commit).unwrap().last;
    }
    sandbox
}
