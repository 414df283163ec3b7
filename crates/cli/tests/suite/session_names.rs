//! The names of sessions, and how little of a name a user has to type.

use hookwright_pipeline::record::milliseconds;
use serde_json::Value;

use crate::interrupts::{start, until};
use crate::runs::lines;
use crate::support::{Ran, Sandbox};

/// A loop of one iteration whose agent does this. A hook writes the name of its session.
fn looping(does: &str) -> Sandbox {
    let says = "echo $SESSION $SESSION_ID >> ../called";
    Sandbox::with_hooks(&format!(
        "hooks: {{session:start: [{{id: says, await: true, command: '{says}'}}]}}"
    ))
    .file(
        "loop.yaml",
        format!(
            "prompt: p\ntermination: {{type: fixed, iterations: 1}}\nagent: {{command: '{does}'}}\n"
        ),
    )
}

/// Name and id of each session that has run, as its hooks got them.
fn called(sandbox: &Sandbox) -> Vec<(String, String)> {
    let called = lines(sandbox, "../called");
    let pair = |line: &String| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
    called.iter().filter_map(pair).collect()
}

fn failing() -> Sandbox {
    looping("[ -e ../fixed ] || exit 1")
}

fn is_fixed(sandbox: &Sandbox) {
    std::fs::write(sandbox.path("../fixed"), "").unwrap();
}

fn refused(ran: &Ran, heading: &str, help: &str) {
    assert_eq!((ran.code, ran.stderr.as_str()), (1, &*format!("error: {heading}\nhelp: {help}\n")));
}

#[test]
fn a_session_without_a_name_gets_one_of_two_words_and_an_id_of_its_own() {
    let sandbox = looping("true");
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["run", "loop.yaml"]).code, 0);
    }
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "mine"]).code, 0);
    let called = called(&sandbox);
    let names: Vec<&str> = called.iter().map(|(name, _)| name.as_str()).collect();
    for name in &names[..2] {
        let words: Vec<&str> = name.split('-').collect();
        assert_eq!(words.len(), 2, "{name}");
        assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }
    assert_ne!(names[0], names[1]);
    assert_eq!(names[2], "mine");
    let (_, listed) = sandbox.json(&["sessions", "list", "--json"]);
    for (session, (name, id)) in listed["sessions"].as_array().unwrap().iter().rev().zip(&called) {
        assert_eq!(
            (session["name"].as_str(), session["id"].as_str()),
            (Some(&**name), Some(&**id))
        );
        let start = milliseconds(session["startTime"].as_str().unwrap()).unwrap();
        let random = id.strip_prefix(&format!("session-{start}-"));
        assert_eq!(random.map(str::len), Some(6), "{id}");
    }
    assert!(sandbox.path(&format!(".hookwright/sessions/{}", names[0])).is_dir());
}

#[test]
fn a_name_is_not_made_again_when_its_session_is_deleted() {
    let sandbox = looping("true");
    let mut names = std::collections::HashSet::new();
    for _ in 0..5 {
        assert_eq!(sandbox.run(&["run", "loop.yaml"]).code, 0);
        let pruned = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
        assert_eq!(pruned.code, 0, "{pruned:?}");
        names.insert(called(&sandbox).pop().unwrap().0);
    }
    assert_eq!(names.len(), 5);
}

#[test]
fn a_name_an_id_and_the_beginning_of_either_are_enough() {
    let sandbox = failing();
    for name in ["calm-fox", "calm-owl", "deep-sea"] {
        assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", name]).code, 5);
    }
    let id = called(&sandbox)[0].1.clone();
    let ambiguous = "`calm` is ambiguous: `calm-owl`, `calm-fox`";
    for command in [&["resume"][..], &["stop"], &["sessions", "show"], &["sessions", "log"]] {
        let with = |text| sandbox.run(&[command, &[text]].concat());
        refused(&with("calm"), ambiguous, "type more of the name");
        let all = sandbox.run(&[command, &["session-1"]].concat());
        assert!(all.stderr.starts_with("error: `session-1` is ambiguous: "), "{all:?}");
        refused(
            &with("calmer"),
            "there is no session `calmer` in this project",
            "list them: `hookwright sessions list`",
        );
    }
    let shown = |text: &str| {
        let (code, shown) = sandbox.json(&["sessions", "show", text, "--json"]);
        (code, shown["session"]["name"].as_str().map(str::to_owned))
    };
    for text in ["calm-fox", "calm-f", &id, &id[..id.len() - 3]] {
        assert_eq!(shown(text), (0, Some("calm-fox".to_owned())), "{text}");
    }
    is_fixed(&sandbox);
    for text in ["calm-f", "d"] {
        let ran = sandbox.run(&["resume", text]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(
        sandbox.run(&["stop", "calm-f"]).stderr.lines().next(),
        Some("error: session `calm-fox` is not running: it is completed")
    );
}

#[test]
fn a_session_that_a_hook_started_does_not_make_the_beginning_of_its_parents_name_ambiguous() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {stage:complete: [{id: review, type: spawn, pipeline: review}]}",
    );
    let one = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\n";
    let sandbox = sandbox.file("loop.yaml", one).file("loops/review.yaml", one);
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "calm-fox"]).code, 0);
    let name = |text: &str| {
        let (_, shown) = sandbox.json(&["sessions", "show", text, "--json"]);
        shown["session"]["name"].as_str().map(str::to_owned)
    };
    assert_eq!(name("calm").as_deref(), Some("calm-fox"));
    assert_eq!(name("calm-fox--").as_deref(), Some("calm-fox--stage_complete-1"));
}

#[test]
fn a_session_of_another_project_is_found_by_its_whole_name_or_id_only() {
    let sandbox = failing();
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "calm-fox"]).code, 5);
    let id = called(&sandbox)[0].1.clone();
    is_fixed(&sandbox);
    std::fs::create_dir_all(sandbox.path("../other/.git")).unwrap();
    let elsewhere = sandbox.path("../other").to_string_lossy().into_owned();
    let there = |text: &str| sandbox.run(&["resume", text, "--cwd", &elsewhere]);
    assert_eq!(there("calm").code, 1);
    let ran = there(&id);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn nothing_has_to_be_named_where_only_one_session_can_be_meant() {
    let sandbox = failing();
    refused(
        &sandbox.run(&["resume"]),
        "this project has no session that can be resumed",
        "name a session: `hookwright resume NAME`; `hookwright sessions list` shows all",
    );
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "one"]).code, 5);
    let (code, shown) = sandbox.json(&["sessions", "show", "--json"]);
    assert_eq!((code, shown["session"]["name"].as_str()), (0, Some("one")));
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "two"]).code, 5);
    let several = "more than one session can be resumed: `two`, `one`";
    refused(&sandbox.run(&["resume"]), several, "name one of them: `hookwright resume NAME`");
    is_fixed(&sandbox);
    assert_eq!(sandbox.run(&["resume", "one"]).code, 0);
    let ran = sandbox.run(&["resume"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("session two: completed"), "{ran:?}");
}

#[test]
fn the_only_session_that_runs_is_stopped_without_its_name() {
    let sandbox = looping("touch ../works; exec sleep 1000");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "runs"]);
    until("the agent works", || sandbox.path("../works").exists());
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "dry", "--dry-run"]).code, 0);
    let ran = sandbox.run(&["stop"]);
    assert_eq!((ran.code, ran.stdout.contains("session runs: interrupted")), (0, true), "{ran:?}");
    assert_eq!(started.ran().code, 130);
    refused(
        &sandbox.run(&["stop"]),
        "this project has no session that is running",
        "name a session: `hookwright stop NAME`; `hookwright sessions list` shows all",
    );
}

#[test]
fn the_only_question_is_answered_without_its_id() {
    let gate =
        |id: &str| format!("{{id: {id}, type: webhook, await: true, body: {{text: '{id}?'}}}}");
    let hooks = format!("callback: {{port: 0}}\nhooks: {{stage:complete: [{}]}}\n", gate("gate"));
    let one = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\n";
    let sandbox = Sandbox::with_hooks(&hooks).file("loop.yaml", one);
    refused(
        &sandbox.run(&["approve"]),
        "no question waits for an answer",
        "show past questions: `hookwright sessions show`",
    );
    let waiting = || -> Vec<Value> {
        sandbox.json(&["approvals", "--json"]).1.as_array().cloned().unwrap_or_default()
    };
    let first = start(&sandbox, &["run", "loop.yaml", "--session", "a"]);
    until("one waits", || waiting().len() == 1);
    let second = start(&sandbox, &["run", "loop.yaml", "--session", "b"]);
    until("two wait", || waiting().len() == 2);
    for command in ["approve", "reject"] {
        refused(
            &sandbox.run(&[command]),
            "2 questions wait for an answer",
            "name one of them; `hookwright approvals` lists them",
        );
    }
    let of_b = waiting().into_iter().find(|wait| wait["session"] == "b").unwrap();
    let ids: Vec<String> =
        waiting().iter().map(|wait| wait["id"].as_str().unwrap().to_owned()).collect();
    let id = of_b["id"].as_str().unwrap();
    let other = ids.iter().find(|other| *other != id).unwrap();
    let same = id.bytes().zip(other.bytes()).take_while(|(one, two)| one == two).count();
    assert_eq!(sandbox.run(&["approve", &id[..=same]]).code, 0);
    assert_eq!(second.ran().code, 0);
    let ran = sandbox.run(&["reject"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(first.ran().code, 3);
}
