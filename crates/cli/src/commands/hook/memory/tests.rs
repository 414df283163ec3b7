//! Rules of `memory.rs`.

use std::time::Duration;

use super::*;

fn memory(folder: &Path) -> SessionMemory {
    SessionMemory::new("claude", Some(folder.to_owned()))
}

fn late(text: String) -> Keepsake {
    let answer = Answer { additional_context: vec![text], ..Answer::default() };
    Keepsake::LateAnswer { answer: Box::new(answer) }
}

fn stop_blocks(count: u32) -> Keepsake {
    Keepsake::StopBlocks { agent: String::new(), count }
}

fn of_session(count: u32) -> StopBlocks {
    let mut blocks = StopBlocks::default();
    blocks.set("", count);
    blocks
}

/// The only file of a session.
fn only_file(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder.join(FOLDER)).unwrap();
    let mut files = entries.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some()).unwrap()
}

#[test]
fn what_one_call_keeps_the_next_one_recalls() {
    let folder = tempfile::tempdir().unwrap();
    let first = memory(folder.path());
    for keepsake in [
        Keepsake::Once { hook: "a".into() },
        Keepsake::LastHookStatus { status: "failed".into() },
        stop_blocks(3),
        late("b".into()),
    ] {
        first.keep_now("s", keepsake);
    }
    let second = memory(folder.path());
    let recalled = second.recalled("s");
    let wanted = Remembered {
        once: vec!["a".into()],
        carried: Carried { last_hook_status: Some("failed".into()), ..Carried::default() },
        stop_blocks: of_session(3),
        late_answers: vec![Answer { additional_context: vec!["b".into()], ..Answer::default() }],
    };
    assert_eq!(recalled, wanted);
    let once = Remembered { late_answers: Vec::new(), ..wanted };
    assert_eq!(second.recalled("s"), once, "what is late is handed out once");
    assert_eq!(second.recalled("t"), Remembered::default());
    let other = SessionMemory::new("other", Some(folder.path().to_owned()));
    assert_eq!(other.recalled("s"), Remembered::default());
}

#[test]
fn late_answers_wait_for_an_event_that_can_deliver_them() {
    let folder = tempfile::tempdir().unwrap();
    memory(folder.path()).keep_now("s", late("b".into()));
    let deaf = memory(folder.path()).handing_out(false);
    assert_eq!(deaf.recalled("s"), Remembered::default());
    deaf.keep_now("s", stop_blocks(1));
    let recalled = memory(folder.path()).recalled("s");
    assert_eq!((recalled.stop_blocks.count_for(""), recalled.late_answers.len()), (1, 1));
}

#[test]
fn of_calls_at_once_nothing_is_lost_and_nothing_is_handed_out_twice() {
    let folder = tempfile::tempdir().unwrap();
    let handed_out = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (folder, handed_out) = (folder.path(), &handed_out);
            scope.spawn(move || {
                for step in 0..10 {
                    let memory = memory(folder);
                    memory.keep_now("s", Keepsake::Once { hook: format!("{number}-{step}") });
                    memory.keep_now("s", late(format!("{number}-{step}")));
                    let late = memory.recalled("s").late_answers;
                    handed_out.lock().unwrap().extend(late);
                }
            });
        }
    });
    let recalled = memory(folder.path()).recalled("s");
    let mut handed_out = handed_out.into_inner().unwrap();
    handed_out.extend(recalled.late_answers);
    let mut texts: Vec<String> =
        handed_out.into_iter().flat_map(|answer| answer.additional_context).collect();
    texts.sort();
    let mut once = recalled.once;
    once.sort();
    assert_eq!((texts.len(), &texts), (80, &once));
}

#[test]
fn a_notice_is_told_once_in_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let both = || vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(memory(folder.path()).untold("s", vec!["a".to_owned()]), ["a"]);
    assert_eq!(memory(folder.path()).untold("s", both()), ["b"]);
    assert_eq!(memory(folder.path()).untold("s", both()), [""; 0]);
    assert_eq!(memory(folder.path()).untold("t", both()), ["a", "b"]);
    // Without a session name or a folder nothing is remembered, so the notice is shown.
    assert_eq!(memory(folder.path()).untold("", both()), ["a", "b"]);
    assert_eq!(SessionMemory::new("claude", None).untold("s", both()), ["a", "b"]);
    let many = (0..=TOLD_MAX).map(|number| number.to_string()).collect();
    memory(folder.path()).untold("s", many);
    assert_eq!(read(&only_file_of(folder.path(), "s")).told.len(), TOLD_MAX);
}

fn only_file_of(folder: &Path, session: &str) -> PathBuf {
    memory(folder).file(session).unwrap()
}

#[test]
fn a_session_without_a_name_remembers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    memory(folder.path()).keep_now("", stop_blocks(1));
    assert_eq!(memory(folder.path()).recalled(""), Remembered::default());
    assert!(!folder.path().join(FOLDER).exists());
}

#[test]
fn a_file_that_is_damaged_or_newer_counts_for_nothing_and_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    memory(folder.path()).keep_now("s", stop_blocks(1));
    let file = only_file(folder.path());
    for text in ["", "{\"version\":1,", "{\"version\":2,\"stop_blocks\":5}", "\u{0}"] {
        fs::write(&file, text).unwrap();
        assert_eq!(memory(folder.path()).recalled("s"), Remembered::default(), "{text}");
    }
    memory(folder.path()).keep_now("s", stop_blocks(2));
    assert_eq!(memory(folder.path()).recalled("s").stop_blocks.count_for(""), 2);
}

#[test]
fn what_is_too_much_loses_its_oldest() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path());
    for number in 0..5 {
        memory.keep_now("s", late(number.to_string().repeat(1024 * 1024)));
    }
    assert!(fs::metadata(only_file(folder.path())).unwrap().len() <= MEMORY_BYTES_MAX as u64);
    let late = memory.recalled("s").late_answers;
    let firsts: Vec<&str> = late.iter().map(|answer| &answer.additional_context[0][..1]).collect();
    assert_eq!(firsts, ["2", "3", "4"]);
}

#[test]
fn only_the_user_can_read_it_and_what_is_old_is_removed_with_the_next_session() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    memory(folder.path()).keep_now("old", stop_blocks(1));
    let old = only_file(folder.path());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&old), mode(&folder.path().join(FOLDER))), (0o600, 0o700));
    let long_ago = SystemTime::now() - MEMORY_AGE_MAX - Duration::from_secs(60);
    File::options().append(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    memory(folder.path()).keep_now("new", stop_blocks(1));
    assert!(!old.exists());
    assert_eq!(memory(folder.path()).recalled("new").stop_blocks.count_for(""), 1);
    assert!(folder.path().join(FOLDER).join("lock").exists());
}
