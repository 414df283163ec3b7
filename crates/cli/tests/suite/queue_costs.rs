//! What choosing the next work item reads: the names of a folder of issues, and only the file that
//! is taken.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use hookwright_store::{Filter, Kind, SqliteStore, Store};
use rustix::fs::inotify;
use serde_json::json;

use crate::interrupts::until;
use crate::queues::command;
use crate::runs::{lines, run};
use crate::support::Sandbox;

/// Beside the project, so that nothing else reads it.
const ISSUES: &str = "termination: {type: queue, source: {issues: ../issues}}\n";

fn issues(count: u32, agent: &str, most: u32) -> Sandbox {
    let text = format!("prompt: p\nagent: {agent}\nmax_iterations: {most}\n{ISSUES}");
    let sandbox = Sandbox::new().file("loop.yaml", text);
    (1..=count).fold(sandbox, |sandbox, number| {
        sandbox.file(&format!("../issues/{number}-x.md"), format!("# Issue {number}\n"))
    })
}

/// Records what is opened in a folder.
struct Opened {
    watch: OwnedFd,
}

impl Opened {
    fn below(sandbox: &Sandbox, folder: &str) -> Self {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let watch = inotify::init(flags).expect("there is room for one more");
        let path = sandbox.path(folder);
        inotify::add_watch(&watch, path, inotify::WatchFlags::OPEN).expect("it is there");
        Self { watch }
    }

    /// The names that were opened, and how often the folder itself was.
    fn names(self) -> (BTreeSet<String>, usize) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(self.watch, &mut buffer);
        let (mut names, mut listings) = (BTreeSet::new(), 0);
        while let Ok(event) = reader.next() {
            match event.file_name() {
                Some(name) => drop(names.insert(name.to_string_lossy().into_owned())),
                None => listings += 1,
            }
        }
        (names, listings)
    }
}

/// Waits until the folder's next change is certain to get another modification time.
fn settle(sandbox: &Sandbox, folder: &str) {
    let changed = sandbox.path(folder).metadata().unwrap().modified().unwrap();
    let age = || SystemTime::now().duration_since(changed).unwrap_or_default();
    until("the folder was changed some time ago", || age() > Duration::from_millis(500));
}

#[test]
fn no_file_of_another_issue_is_opened() {
    let sandbox = issues(20, &command("true"), 3);
    let opened = Opened::below(&sandbox, "../issues");
    run(&sandbox, "loop.yaml", 0);
    let (names, _) = opened.names();
    assert_eq!(names, ["1-x.md", "2-x.md", "3-x.md"].map(str::to_owned).into());
    // Nor when a session continues where another one ended.
    let opened = Opened::below(&sandbox, "../issues");
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let (names, _) = opened.names();
    assert_eq!(names, ["4-x.md", "5-x.md", "6-x.md"].map(str::to_owned).into());
}

#[test]
fn a_folder_is_listed_again_only_when_it_has_changed() {
    let listings = |most: u32, agent: &str| {
        let sandbox = issues(20, &command(agent), most);
        settle(&sandbox, "../issues");
        let opened = Opened::below(&sandbox, "../issues");
        run(&sandbox, "loop.yaml", 0);
        opened.names().1
    };
    let few = listings(2, "true");
    assert_eq!(listings(12, "true"), few);
    // A changed file is not a change of the folder.
    assert_eq!(listings(12, "echo more >> ../issues/20-x.md"), few);
    assert!(listings(12, "echo > ../issues/1$ISSUE_NUMBER-new.md") > few);
}

#[test]
fn issues_that_come_go_and_change_their_names_meanwhile_are_seen() {
    let agent = "echo $ISSUE_NUMBER $ISSUE_TITLE >> log; case $ISSUE_NUMBER in \
                 1) rm ../issues/2-x.md; echo '# New' > ../issues/3-y.md; rm ../issues/3-x.md;; \
                 3) echo '# Five' > ../issues/5-x.md; echo '# Other' > ../issues/4-x.md;; esac";
    let sandbox = issues(4, &command(agent), 100);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["1 Issue 1", "3 New", "4 Other", "5 Five"]);
}

#[test]
fn an_issue_that_is_opened_again_meanwhile_is_the_next_one() {
    let agent = "echo $ISSUE_NUMBER >> log; [ $ISSUE_NUMBER != 3 ] || [ -e once ] || { touch once; \
                 \"$HOOKWRIGHT_BIN\" reopen 2 >> out 2>&1; }";
    let sandbox = issues(4, &command(agent), 100);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["1", "2", "3", "2", "4"], "{:?}", lines(&sandbox, "out"));
}

#[test]
fn an_issue_that_cannot_be_read_is_left_out_when_its_turn_comes_and_tried_once_more_at_the_end() {
    let agent =
        "echo $ISSUE_NUMBER >> log; [ $ISSUE_NUMBER != 4 ] || echo '# Text' > ../issues/2-x.md";
    let sandbox = issues(4, &command(agent), 100)
        .file("../issues/2-x.md", b"# \xff\xfe")
        .file("../issues/3-x.md", b"# \xff\xfe");
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["1", "4", "2"]);
    for number in [2, 3] {
        let said = format!("skipped: ../issues/{number}-x.md is not text");
        assert_eq!(ran.stdout.matches(&said).count(), 1, "{}", ran.stdout);
    }
}

// Conformance: autoagent-056
#[test]
fn the_issues_of_a_session_are_listed_whole_and_deleted_with_it() {
    let agent = command("[ $ISSUE_NUMBER != 7 ]");
    let sandbox = issues(300, &agent, 290);
    run(&sandbox, "loop.yaml", 0);
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let session = &shown["session"];
    let numbers = |range: std::ops::RangeInclusive<u64>| json!(range.collect::<Vec<_>>());
    assert_eq!(session["issuesPlanned"], numbers(1..=300));
    assert_eq!(session["issuesFailed"], json!([7]));
    let completed: Vec<u64> = (1..=290).filter(|number| *number != 7).collect();
    assert_eq!(session["issuesCompleted"], json!(completed));
    for arguments in [&["sessions", "list", "--json"][..], &["sessions", "current", "--json"]] {
        let (_, listed) = sandbox.json(arguments);
        assert_eq!(listed["sessions"][0]["issuesPlanned"], numbers(1..=300), "{arguments:?}");
    }
    let pages = || {
        let folder = sandbox.path("../.local/state/hookwright");
        let store = SqliteStore::find(&folder).unwrap().expect("a session has run");
        store.list(Kind::SessionIssues, &Filter::newest(100)).unwrap().len()
    };
    assert_eq!(pages(), 3);
    let (_, pruned) =
        sandbox.json_and_talk(&["sessions", "prune", "--keep", "0", "--yes", "--json"]);
    assert_eq!(pruned["sessions"][0]["issuesPlanned"], numbers(1..=300));
    assert_eq!(pages(), 0);
}
