//! Sessions that an earlier version of the program started, killed after each of their commits, and
//! resumed by this one.
//!
//! Each folder in `journals/` is a session: the files of its project in `project/`, the commits of
//! the version that ran it in `commits.jsonl`, and in `resumed.txt` what a session that was killed
//! after each of those commits does when it is resumed: what it fires, which hooks and turns it
//! starts, and how it ends. A part that is the same as after the commit before is shown as `…`.
//!
//! Some of them are also resumed with a remote store, which another thread calls: that does the same.
//!
//! `HOOKWRIGHT_RECORD=1` runs the sessions that are not recorded yet. Record before a change, and
//! never again: the commits of an earlier version are what sessions of users look like.
//! `HOOKWRIGHT_UPDATE=1` rewrites what resumed sessions do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hookwright_events::{RunEvent, RunEventKind, TurnEvent};
use hookwright_store::{
    Append, Commit, Expected, JournalKey, Kind, LaneMove, Put, Queued, RecordKey, Store,
};
use serde_json::{Value, json};

use super::project::Project;

/// Every one of so many is also resumed with a remote store.
const REMOTE_EVERY: usize = 5;

/// Replaces the project's folder.
const ROOT: &str = "@ROOT@";

macro_rules! recorded {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                resumes_as_before(stringify!($name)).await;
            }
        )*

        const ALL: &[&str] = &[$(stringify!($name)),*];
    };
}

recorded!(
    a_fixed_loop,
    a_loop_that_ends_by_judgment,
    a_pipeline_of_two_stages,
    a_queue_of_issues,
    a_queue_of_issues_that_is_cut_by_its_bound,
    a_queue_of_tasks,
    a_queue_of_a_command,
    a_hook_that_starts_a_session,
    an_agent_that_takes_over_from_another,
    agents_that_are_out_of_quota,
    a_session_that_costs_too_much,
    a_stop_that_is_blocked,
    a_final_delivery,
    a_raw_delivery,
    an_iteration_that_fails,
    an_error_that_hooks_answer,
    a_hook_that_aborts,
    an_interrupt_in_a_turn,
);

#[test]
fn every_recorded_session_is_tested() {
    let folders = std::fs::read_dir(journals()).expect("it is there");
    let mut names: Vec<String> = folders
        .map(|folder| folder.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut all: Vec<&str> = ALL.to_vec();
    all.sort_unstable();
    assert_eq!(names, all);
}

#[expect(clippy::disallowed_methods, reason = "the person who runs the tests sets it")]
fn is_wanted(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

fn journals() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/sessions/journals")
}

async fn resumes_as_before(name: &str) {
    let folder = journals().join(name);
    let commits = folder.join("commits.jsonl");
    if !commits.exists() && is_wanted("HOOKWRIGHT_RECORD") {
        record(&folder).await;
    }
    let commits = std::fs::read_to_string(commits).expect("it was recorded");
    let commits: Vec<&str> = commits.lines().collect();
    let mut told = String::new();
    let mut before: Vec<String> = Vec::new();
    for cut in 1..=commits.len() {
        let trace = after(&commits[..cut], project(&folder)).await;
        if cut % REMOTE_EVERY == 0 {
            let remote = after(&commits[..cut], project(&folder).with_remote_store()).await;
            assert_eq!(remote, trace, "{name}: with a remote store, after {cut} commits");
        }
        let same = trace.iter().rev().zip(before.iter().rev()).take_while(|(a, b)| a == b).count();
        let mut shown = trace[..trace.len() - same].join(" | ");
        if same > 0 {
            shown.push_str(" | …");
        }
        told.push_str(&format!("{cut:>3} {shown}\n"));
        before = trace;
    }
    let expected = folder.join("resumed.txt");
    if is_wanted("HOOKWRIGHT_UPDATE") {
        std::fs::write(&expected, &told).expect("written");
    }
    let expected = std::fs::read_to_string(expected).expect("it is there");
    for (told, expected) in told.lines().zip(expected.lines()) {
        assert_eq!(told, expected, "{name}");
    }
    assert_eq!(told.lines().count(), expected.lines().count());
}

/// What a session does that was killed after these commits.
async fn after(commits: &[&str], mut project: Project) -> Vec<String> {
    for line in commits {
        put_back(&project, &line.replace(ROOT, &project.workspace()));
    }
    match has_begun(&project) && !is_completed(&project) {
        true => resume(&mut project).await,
        false => Vec::new(),
    }
}

fn project(folder: &Path) -> Project {
    let mut files = Vec::new();
    let mut folders = vec![folder.join("project")];
    while let Some(inside) = folders.pop() {
        for entry in std::fs::read_dir(&inside).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            let name = path.strip_prefix(folder.join("project")).expect("it is inside");
            files.push((name.to_string_lossy().into_owned(), text));
        }
    }
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Project::new(&files)
}

fn has_begun(project: &Project) -> bool {
    project.record("s").is_some()
}

/// Whether nothing is left to resume.
fn is_completed(project: &Project) -> bool {
    let journal = project.journal();
    journal
        .last()
        .is_some_and(|last| last["kind"] == "session_ended" && last["status"] == "completed")
}

/// Resumes the session; returns what it did then.
async fn resume(project: &mut Project) -> Vec<String> {
    let trace = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&trace);
    project.store().record(move |commit| {
        let Some(append) = &commit.append else { return };
        for entry in append.entries {
            let event: RunEvent = serde_json::from_str(entry).expect("as written");
            let by =
                (append.journal.session != "s").then(|| format!("{} ", append.journal.session));
            let what = in_words(&event.kind).map(|what| by.unwrap_or_default() + &what);
            told.lock().expect("no test panics with it").extend(what);
        }
    });
    project.take_up().await.expect("it came to an end");
    let trace = trace.lock().expect("no test panics with it");
    trace.iter().map(|what| what.replace(&project.workspace(), ROOT)).collect()
}

/// Describes an entry of a session's course.
fn in_words(kind: &RunEventKind) -> Option<String> {
    let value = serde_json::to_value(kind).expect("it is JSON");
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let turn = || {
        format!("{}.{}#{}", value["turn"]["stage"], value["turn"]["iteration"], value["attempt"])
    };
    Some(match text("kind") {
        "fired" => match value["key"].as_str() {
            Some(key) => key.to_owned(),
            None => format!("({})", text("event")),
        },
        "hook_starting" => format!("+{}#{}", text("hook"), value["attempt"]),
        "hook_skipped" => format!("-{}", text("hook")),
        "turn_starting" => format!("turn {} {}", turn(), text("agent")).trim_end().to_owned(),
        "turn_given_up" => format!("given up {} {}", turn(), text("cause")),
        "turn_ended" => match value["error"].as_str() {
            Some(error) => format!("failed {}: {error}", turn()),
            None => format!("ended {}", turn()),
        },
        "session_resumed" => format!("resumed {}", value["time"]),
        "stage_started" => format!("stage {}", value["index"]),
        "stage_ended" => {
            format!("stage {} {} after {}", value["index"], text("reason"), value["iterations"])
        }
        "item_started" => format!("item {}", value["execution"]),
        "item_ended" => format!(
            "item {} {} {} after {}",
            value["execution"],
            text("state"),
            text("reason"),
            value["iterations"]
        ),
        "final_delivery" => "final delivery".to_owned(),
        "agent_changed" => format!("{} → {}", text("from"), text("to")),
        "paused" => format!("paused: {}", text("reason")),
        "continued" => "continued".to_owned(),
        "noted" => format!("note: {}", text("note")),
        "session_started" => "session".to_owned(),
        "session_ended" => format!("{}: {}", text("status"), text("reason")),
        _ => return None,
    })
}

/// Runs a session of this version and stores its commits.
async fn record(folder: &Path) {
    let mut project = project(folder);
    let commits = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&commits);
    let root = project.workspace();
    project.store().record(move |commit| {
        told.lock().expect("no test panics with it").push(as_json(commit));
    });
    if let Ok(tasks) = std::fs::read_to_string(project.path("tasks.txt")) {
        let kept = hookwright_store::KeptTasks::new(project.store().shared(), &root);
        for task in tasks.lines() {
            kept.add(&hookwright_store::NewTask::new(task), 1).expect("kept");
        }
    }
    if project.path("interrupt").exists() {
        let interrupt = project.interrupt();
        project = project.watched(move |event| {
            if matches!(&event.kind, RunEventKind::Turn(TurnEvent::TurnStarting { turn, .. }) if turn.iteration == 2)
            {
                interrupt.ask("interrupted");
            }
        });
    }
    project.take_up().await.expect("it came to an end");
    let commits = commits.lock().expect("no test panics with it");
    let lines: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    std::fs::write(folder.join("commits.jsonl"), lines.replace(&root, ROOT)).expect("written");
}

/// What to store of a commit.
fn as_json(commit: &Commit<'_>) -> Value {
    let puts = commit.puts.iter().map(|put| {
        json!({
            "kind": format!("{:?}", put.kind),
            "name": put.key.name,
            "value": serde_json::from_str::<Value>(&put.value).expect("JSON"),
            "at": put.created_at_ms,
            "status": put.status,
            "queued": put.queued.as_ref().map(|queued| json!([queued.lane, queued.rank])),
            "moves": put.moves.as_ref().map(|moves| json!([moves.from, moves.to])),
        })
    });
    let puts: Vec<Value> = puts.collect();
    let append = commit.append.as_ref().map(|append| {
        let entries = append.entries.iter();
        let entries = entries.map(|entry| serde_json::from_str(entry).expect("JSON"));
        json!({ "session": append.journal.session, "entries": entries.collect::<Vec<Value>>() })
    });
    json!({ "append": append, "puts": puts })
}

/// Makes a commit again.
fn put_back(project: &Project, line: &str) {
    let commit: Value = serde_json::from_str(line).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let workspace = project.workspace();
    let kinds: BTreeMap<String, Kind> =
        [Kind::Session, Kind::Wait, Kind::Task, Kind::Issue, Kind::Counter, Kind::SessionIssues]
            .map(|kind| (format!("{kind:?}"), kind))
            .into();
    let puts = commit["puts"].as_array().expect("a list").iter().map(|put| Put {
        kind: kinds[put["kind"].as_str().expect("a text")],
        key: RecordKey { project: workspace.clone(), name: text(&put["name"]) },
        expected: Expected::Any,
        value: put["value"].to_string(),
        created_at_ms: put["at"].as_i64().expect("a number"),
        status: text(&put["status"]),
        queued: put["queued"]
            .as_array()
            .map(|queued| Queued::at(text(&queued[0]), queued[1].as_i64().expect("a number"))),
        moves: put["moves"]
            .as_array()
            .map(|moves| LaneMove { from: text(&moves[0]), to: text(&moves[1]) }),
    });
    let mut again = Commit::unsynced();
    again.puts = puts.collect();
    let append = &commit["append"];
    let entries: Vec<String> =
        append["entries"].as_array().into_iter().flatten().map(Value::to_string).collect();
    if append.is_null() {
        project.store().commit(&again).expect("kept");
        return;
    }
    let journal = JournalKey { project: workspace, session: text(&append["session"]) };
    let expected = project.store().last(&journal).expect("it can be read");
    again.append = Some(Append { journal: &journal, expected, entries: &entries });
    project.store().commit(&again).expect("kept");
}
