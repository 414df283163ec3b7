//! `sessions prune`: the next one completes a killed one; deleted data leave the disk.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hookwright_store::{
    Append, Commit, Expected, Filter, JournalKey, Kind, Put, Record, RecordKey, Rewrite,
    SqliteStore, Store, records,
};

use crate::support::{Ran, Sandbox};

const KILLS: usize = 12;
const SESSIONS: usize = 60;
const ENTRIES: usize = 20;

fn store(sandbox: &Sandbox) -> SqliteStore {
    SqliteStore::open(&sandbox.path("../.local/state/hookwright")).unwrap()
}

fn project(sandbox: &Sandbox) -> String {
    sandbox.path("").to_str().unwrap().trim_end_matches('/').to_owned()
}

fn journal(sandbox: &Sandbox, name: &str) -> JournalKey {
    JournalKey { project: project(sandbox), session: name.to_owned() }
}

/// A record of an ended session.
fn put(sandbox: &Sandbox, name: &str, status: &str, parent: Option<&str>) -> Put {
    let parent = parent.map_or(String::new(), |parent| {
        format!(r#", "parent": {{"session": "{parent}", "hook": "review"}}"#)
    });
    Put {
        kind: Kind::Session,
        key: RecordKey { project: project(sandbox), name: name.to_owned() },
        expected: Expected::Any,
        value: format!(
            r#"{{"id": "{name}", "name": "{name}", "startTime": "2026-01-02T03:04:05Z",
                "endTime": "2026-01-02T03:05:06Z"{parent}}}"#
        ),
        created_at_ms: 1_767_323_045_000,
        status: status.to_owned(),
        queued: None,
        moves: None,
    }
}

/// A session with a folder and a journal.
fn add(sandbox: &Sandbox, store: &SqliteStore, name: &str, parent: Option<&str>, entry: &str) {
    let (journal, entries) = (journal(sandbox, name), vec![entry.to_owned(); ENTRIES]);
    let append = Append { journal: &journal, expected: 0, entries: &entries };
    let puts = vec![put(sandbox, name, "interrupted", parent)];
    store.commit(&Commit { append: Some(append), puts, ..Commit::unsynced() }).unwrap();
    let folder = match parent {
        None => folder(sandbox, name),
        Some(parent) => folder(sandbox, parent) + "/children/review",
    };
    for file in ["progress.md", "stage-1-work/iterations/001/output.md"] {
        let path = Path::new(&folder).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
}

fn folder(sandbox: &Sandbox, name: &str) -> String {
    sandbox.path(&format!(".hookwright/sessions/{name}")).to_str().unwrap().to_owned()
}

fn files_below(folder: &str) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries
        .iter()
        .map(|path| if path.is_dir() { files_below(path.to_str().unwrap()) } else { 1 })
        .sum()
}

fn recorded(store: &SqliteStore) -> Vec<Record> {
    records(store, Kind::Session, Filter::newest(usize::MAX)).map(Result::unwrap).collect()
}

#[test]
fn a_prune_that_was_killed_leaves_whole_sessions_and_the_next_one_finishes_it() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..SESSIONS).map(|number| format!("s{number}")).collect();
    let (mut killed_within, mut random) = (0, RandomState::new().hash_one(0));
    for _ in 0..KILLS {
        let store = store(&sandbox);
        for name in &names {
            if !recorded(&store).iter().any(|record| record.key.name == *name) {
                add(&sandbox, &store, name, None, "entry");
                add(&sandbox, &store, &format!("{name}--review"), Some(name), "entry");
            }
        }
        let mut command = sandbox.command(&["sessions", "prune", "--keep", "0", "--yes"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // It is killed after one of its commits, at a random moment.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let wanted = 1 + (random >> 33) as usize % (SESSIONS - 10);
        let mut is_over = false;
        while !is_over && recorded(&store).len() > (SESSIONS - wanted) * 2 {
            is_over = child.try_wait().unwrap().is_some();
        }
        let (since, more) = (Instant::now(), Duration::from_micros(random % 2_000));
        while since.elapsed() < more {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let left = recorded(&store);
        let status = |name: &str| {
            left.iter().find(|record| record.key.name == name).map(|record| record.status.clone())
        };
        killed_within += usize::from(!left.is_empty());
        for name in &names {
            let entries = store.last(&journal(&sandbox, name)).unwrap() as usize;
            let files = files_below(&folder(&sandbox, name));
            let of_child = status(&format!("{name}--review"));
            match status(name).as_deref() {
                None => assert_eq!((entries, files, of_child), (0, 0, None), "{name}, {random}"),
                // It can be resumed, so it must be complete.
                Some("interrupted") => {
                    let whole = (ENTRIES, 4, Some("interrupted".to_owned()));
                    assert_eq!((entries, files, of_child), whole, "{name}, {random}");
                }
                Some(other) => assert_eq!(other, "deleting", "{name}, {random}"),
            }
        }
    }
    assert!(killed_within > 0, "every prune was over before it was killed");
    // Whatever the next one selects.
    let next = ["sessions", "prune", "--keep", "1000", "--yes"];
    let ran = sandbox.run(&next);
    assert_eq!(ran.code, 0, "{ran:?}");
    let store = store(&sandbox);
    assert!(recorded(&store).iter().all(|record| record.status == "interrupted"));
    assert_eq!(store.reclaim(Rewrite::Always).unwrap().entries, 0, "all entries have gone");
    assert_eq!(sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]).code, 0);
    assert!(recorded(&store).is_empty());
    assert_eq!(files_below(sandbox.path(".hookwright/sessions").to_str().unwrap()), 0);
}

#[test]
fn a_session_that_is_half_deleted_cannot_be_resumed_and_any_prune_deletes_the_rest() {
    let sandbox = Sandbox::new().file("work.yaml", "prompt: p\nagent: {command: 'true'}\n");
    let store = store(&sandbox);
    add(&sandbox, &store, "half", None, "entry");
    add(&sandbox, &store, "whole", None, "entry");
    let puts = vec![put(&sandbox, "half", "deleting", None)];
    store.commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
    fs::remove_file(folder(&sandbox, "half") + "/progress.md").unwrap();
    let refused = Ran::new(
        1,
        "",
        "error: `sessions prune` began to delete session `half` and did not finish\n\
         help: delete what is left: `hookwright sessions prune --status deleting --keep 0 --yes`\n",
    );
    assert_eq!(sandbox.run(&["resume", "half"]), refused);
    assert_eq!(sandbox.run(&["run", "work.yaml", "--session", "half"]), refused);
    let listed = sandbox.run(&["sessions", "list", "--status", "deleting"]).stdout;
    assert!(listed.contains("\nhalf ") && !listed.contains("whole"), "{listed}");
    let ran = sandbox.run(&["sessions", "prune", "--older-than", "9000d", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "1 session deleted\n"));
    assert_eq!(files_below(&folder(&sandbox, "half")), 0);
    let left = recorded(&store);
    assert_eq!(left.iter().map(|record| &record.key.name).collect::<Vec<_>>(), ["whole"]);
}

#[test]
fn a_session_with_more_children_than_fit_into_a_commit_is_deleted() {
    let sandbox = Sandbox::new();
    let store = store(&sandbox);
    let numbers: Vec<usize> = (0..11_000).collect();
    for numbers in numbers.chunks(5_000) {
        let child = |number: &usize| {
            // A hook of each odd session started the next one.
            let parent = match number % 2 {
                0 => "parent".to_owned(),
                _ => format!("child-{}", number - 1),
            };
            put(&sandbox, &format!("child-{number}"), "completed", Some(&parent))
        };
        let puts = numbers.iter().map(child).collect();
        store.commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
    }
    add(&sandbox, &store, "parent", None, "entry");
    add(&sandbox, &store, "other", None, "entry");
    add(&sandbox, &store, "other--review", Some("other"), "entry");
    let ran = sandbox.run(&["sessions", "prune", "--keep", "1", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "1 session deleted\n"));
    let left: Vec<String> = recorded(&store).into_iter().map(|record| record.key.name).collect();
    assert_eq!(left, ["other--review", "other"]);
}

#[test]
fn what_is_deleted_leaves_the_disk() {
    let sandbox = Sandbox::new();
    let store = store(&sandbox);
    for number in 0..20 {
        add(&sandbox, &store, &format!("s{number}"), None, &"x".repeat(10_000));
    }
    drop(store);
    let bytes =
        || fs::metadata(sandbox.path("../.local/state/hookwright/store.sqlite3")).unwrap().len();
    assert!(bytes() > 2_000_000, "{}", bytes());
    let ran = sandbox.run(&["sessions", "prune", "--keep", "1", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "19 sessions deleted\n"));
    assert!(bytes() < 600_000, "{}", bytes());
}

/// Runs git, and returns what it printed.
fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.com");
    }
    let ran = git.args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

#[test]
fn the_trees_and_files_of_a_session_that_workers_ran_are_deleted_but_not_its_branch() {
    let (sandbox, remotes) = (Sandbox::new(), tempfile::tempdir().unwrap());
    let (remote, away) = (remotes.path().join("remote.git"), remotes.path().join("away.git"));
    git(remotes.path(), &["init", "--quiet", "--bare", "remote.git"]);
    let empty = git(&remote, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let commit = git(&remote, &["commit-tree", &empty, "-m", "x"]);
    for name in [
        "refs/hookwright/calm-fox/1be2e452b46d7a0d/0/0",
        "refs/hookwright/calm-fox/1be2e452b46d7a0d/7/1",
        "refs/hookwright/other/7/1",
        "refs/heads/hookwright/calm-fox",
    ] {
        git(&remote, &["update-ref", name, &commit]);
    }
    let store = store(&sandbox);
    add(&sandbox, &store, "calm-fox", None, "entry");
    let mut record = put(&sandbox, "calm-fox", "completed", None);
    record.value = format!(
        r#"{{"id": "0123", "name": "calm-fox", "startTime": "2026-01-02T03:04:05Z",
            "carried": {{"remote": "{}", "commit": "{commit}"}}}}"#,
        remote.display()
    );
    let of_it = |kind, name: &str| Put {
        kind,
        key: RecordKey { project: project(&sandbox), name: name.to_owned() },
        value: "{}".to_owned(),
        ..record.clone()
    };
    let puts = vec![
        of_it(Kind::SessionTree, "0123"),
        of_it(Kind::SessionFile, "0123/progress.md"),
        of_it(Kind::SessionFile, "01234/progress.md"),
        record.clone(),
    ];
    store.commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
    let prune = ["sessions", "prune", "--keep", "0", "--yes"];

    fs::rename(&remote, &away).unwrap();
    let ran = sandbox.run(&prune);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("the work trees of the session `calm-fox` cannot be deleted"));
    fs::rename(&away, &remote).unwrap();
    let ran = sandbox.run(&prune);
    assert_eq!(ran.code, 0, "{ran:?}");

    let refs = git(&remote, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/hookwright/calm-fox\nrefs/hookwright/other/7/1");
    assert!(recorded(&store).is_empty());
    let left = |kind| {
        let all = records(&store, kind, Filter::newest(usize::MAX)).map(Result::unwrap);
        all.map(|record| record.key.name).collect::<Vec<_>>()
    };
    assert_eq!(left(Kind::SessionFile), ["01234/progress.md"]);
    assert_eq!(left(Kind::SessionTree), [""; 0]);
}
