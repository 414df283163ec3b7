use std::os::unix::fs::{PermissionsExt, symlink};
use std::thread;

use hookwright_store::{Filter, JournalKey, Kind, Store};

use super::*;
use crate::trace::StoreWithTraces;

const AT: &str = "2026-01-02T03:04:05.000Z";

fn state() -> (tempfile::TempDir, TraceFolder) {
    let state = tempfile::tempdir().expect("a folder");
    let folder = TraceFolder::new(state.path());
    (state, folder)
}

fn head() -> TraceHead {
    TraceHead::new("Codex", "s", "/p".to_owned(), AT.to_owned())
}

fn note(note: &str) -> String {
    note_line(note.to_owned(), "codex:x", AT.to_owned())
}

fn append(folder: &TraceFolder, key: &TraceKey, lines: &str) {
    let open = folder.open(key.clone()).expect("it can be opened");
    open.append(lines.as_bytes(), &head()).expect("it can be written");
}

fn journal(key: &TraceKey) -> JournalKey {
    JournalKey { project: "/p".to_owned(), session: key.name() }
}

/// The numbers and the notes of the entries after this one, as readers get them.
fn read(store: &dyn Store, key: &TraceKey, after: u64) -> Vec<(u64, String)> {
    let note = |value: &str| {
        let value: serde_json::Value = serde_json::from_str(value).expect(value);
        value["note"].as_str().unwrap_or_default().to_owned()
    };
    let journal = journal(key);
    let entries = hookwright_store::entries(store, &journal, after);
    entries.map(|it| it.expect("it is read")).map(|it| (it.sequence, note(&it.value))).collect()
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

#[test]
fn only_the_user_can_read_a_trace() {
    let (state, folder) = state();
    let key = TraceKey::new("codex", "s");
    append(&folder, &key, &note("a"));
    for (path, mode) in [(state.path().join(FOLDER), 0o700), (folder.file(&key), 0o600)] {
        let found = fs::metadata(&path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}

#[test]
fn of_calls_that_begin_a_session_at_once_none_is_lost_and_one_writes_the_head() {
    let (_state, folder) = state();
    let key = TraceKey::new("codex", "s");
    thread::scope(|scope| {
        for number in 0..16 {
            let (folder, key) = (&folder, &key);
            scope.spawn(move || {
                for call in 0..20 {
                    append(folder, key, &note(&format!("{number}/{call}")));
                }
            });
        }
    });
    let text = fs::read_to_string(folder.file(&key)).expect("it is there");
    let heads = text.lines().filter(|line| TraceHead::parse(line).is_some()).count();
    assert_eq!((heads, text.lines().count()), (1, 1 + 16 * 20));
    assert!(TraceHead::parse(text.lines().next().expect("a line")).is_some());
    let left = fs::read_dir(&folder.path).expect("a folder").count();
    assert_eq!(left, 1, "drafts are left");
}

#[test]
fn a_long_trace_keeps_its_newest_entries_with_their_numbers() {
    let (_state, folder) = state();
    let key = TraceKey::new("codex", "s");
    let long = "x".repeat(64 * 1024);
    let calls = 4 * TRACE_BYTES_MAX / long.len() as u64;
    for call in 0..calls {
        append(&folder, &key, &note(&format!("{call} {long}")));
    }
    for name in [key.file_name(), key.old_file_name()] {
        let bytes = fs::metadata(folder.path.join(name)).expect("a file").len();
        assert!(bytes <= TRACE_BYTES_MAX + 1024, "{bytes}");
    }
    let store = StoreWithTraces::new(None, folder.clone());
    let entries = read(&store, &key, 0);
    let numbers: Vec<u64> = entries.iter().map(|(number, _)| *number).collect();
    assert!(numbers.is_sorted() && numbers[0] > 1, "{numbers:?}");
    let notes: Vec<&str> = entries.iter().map(|(_, note)| first_word(note)).collect();
    assert_eq!(notes.last(), Some(&&*(calls - 1).to_string()));
    assert!(notes.len() as u64 > calls / 4, "{} of {calls}", notes.len());
    assert!(entries.iter().any(|(_, note)| note.contains("entries are deleted")));
    assert_eq!(store.last(&journal(&key)), Ok(*numbers.last().expect("some")));
    // The session is as it began.
    let first = folder.read_head(&key).expect("a head");
    assert_eq!((&*first.at, &*first.agent_session, &*first.project), (AT, "s", "/p"));
    assert_eq!(store.list(Kind::Session, &Filter::newest(10)).expect("listed").len(), 1);
    folder.remove(&key).expect("it can be deleted");
    assert!(!folder.path.join(key.old_file_name()).exists());
}

#[test]
fn traces_of_a_project_with_a_name_are_shown_under_the_name() {
    let (_state, folder) = state();
    let key = TraceKey::new("codex", "s");
    append(&folder, &key, &note("a call"));
    let of = |store: &StoreWithTraces, project: &str| {
        let filter = Filter { project: Some(project.to_owned()), ..Filter::newest(10) };
        store.list(Kind::Session, &filter).expect("listed").pop().map(|record| record.key)
    };
    let store = StoreWithTraces::new(None, folder.clone()).naming("/p".into(), "shop".into());
    let found = of(&store, "shop").expect("it is there");
    assert_eq!(found.project, "shop");
    assert!(store.get(Kind::Session, &found).expect("read").is_some());
    let journal = JournalKey { project: "shop".into(), session: found.name };
    assert!(store.last(&journal).expect("read") > 0);
    assert_eq!(of(&store, "/p"), None);
    let other = StoreWithTraces::new(None, folder).naming("/other".into(), "shop".into());
    assert_eq!((of(&other, "shop"), of(&other, "/p").is_some()), (None, true));
}

#[test]
fn a_reader_continues_where_it_was_when_the_file_is_full() {
    let (_state, folder) = state();
    let key = TraceKey::new("codex", "s");
    let store = StoreWithTraces::new(None, folder.clone());
    let long = "x".repeat(256 * 1024);
    let (mut last, mut seen) = (0, Vec::new());
    for call in 0..40 {
        append(&folder, &key, &note(&format!("{call} {long}")));
        for (sequence, note) in read(&store, &key, last) {
            last = sequence;
            seen.extend(first_word(&note).parse::<u32>());
        }
    }
    assert_eq!(seen, (0..40).collect::<Vec<_>>());
}

#[test]
fn a_new_session_deletes_traces_that_were_silent_for_long() {
    let (_state, folder) = state();
    let keys = ["a", "b", "c"].map(|session| TraceKey::new("codex", session));
    append(&folder, &keys[0], &note("old"));
    append(&folder, &keys[1], &note("new"));
    let draft = folder.path.join(format!("{DRAFT}x"));
    fs::write(&draft, "").expect("written");
    let past = SystemTime::now() - TRACE_AGE_MAX - Duration::from_secs(60);
    for path in [&folder.file(&keys[0]), &draft] {
        let file = File::options().write(true).open(path).expect("a file");
        file.set_modified(past).expect("its time");
    }
    append(&folder, &keys[2], &note("begins"));
    let mut left = folder.keys().expect("listed");
    left.sort_unstable();
    let mut expected = vec![keys[1].clone(), keys[2].clone()];
    expected.sort_unstable();
    assert_eq!(left, expected);
    assert!(!draft.exists());
}

#[test]
fn of_too_many_traces_those_that_were_silent_longest_are_deleted() {
    let (_state, folder) = state();
    let begins = |number: usize| TraceKey::new("codex", &number.to_string());
    for number in 0..TRACE_FILES_MAX + 2 {
        append(&folder, &begins(number), &note("a"));
        if number < 3 {
            let file = File::options().write(true).open(folder.file(&begins(number)));
            let past = SystemTime::now() - Duration::from_secs(600 - number as u64);
            file.and_then(|file| file.set_modified(past)).expect("its time");
        }
    }
    let there = |number: usize| folder.file(&begins(number)).exists();
    assert_eq!([0, 1, 2, TRACE_FILES_MAX + 1].map(there), [false, false, true, true]);
}

#[test]
fn what_is_no_file_is_neither_followed_nor_waited_for() {
    let (state, folder) = state();
    let key = TraceKey::new("codex", "s");
    fs::create_dir(&folder.path).expect("made");
    let elsewhere = state.path().join("elsewhere");
    fs::write(&elsewhere, "").expect("written");
    symlink(&elsewhere, folder.file(&key)).expect("a link");
    folder.open(key.clone()).expect_err("a link");
    assert!(folder.read(&key, TraceHalf::Newer).is_err());
    let pipe = TraceKey::new("codex", "pipe");
    let (directory, mode) = (rustix::fs::CWD, rustix::fs::Mode::RWXU);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(directory, folder.file(&pipe), fifo, mode, 0).expect("a pipe");
    folder.open(pipe.clone()).expect_err("a pipe");
    assert!(folder.read(&pipe, TraceHalf::Newer).is_err());
    let store = StoreWithTraces::new(None, folder);
    assert_eq!(store.list(Kind::Session, &Filter::newest(10)), Ok(Vec::new()));
}

#[test]
fn a_line_that_was_cut_off_does_not_hide_the_others() {
    let (_state, folder) = state();
    let key = TraceKey::new("codex", "s");
    append(&folder, &key, &note("a"));
    append(&folder, &key, "{\"version\":1,\"fir\n");
    append(&folder, &key, &note("b"));
    append(&folder, &key, "{\"version\":1,");
    let store = StoreWithTraces::new(None, folder);
    let notes: Vec<String> = read(&store, &key, 0).into_iter().map(|(_, note)| note).collect();
    assert_eq!(notes, ["", "a", "b"]);
}
