//! `hookwright task`: for people, for agents, and with hooks that can block.

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

fn ok(stdout: &str) -> Ran {
    Ran::new(0, stdout, "")
}

fn add(sandbox: &Sandbox, text: &str) {
    let ran = sandbox.run(&["task", "add", text]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

fn state(sandbox: &Sandbox, id: &str) -> String {
    let (_, tasks) = sandbox.json(&["task", "list", "--all", "--json"]);
    let tasks = tasks.as_array().unwrap();
    let task = tasks.iter().find(|task| task["id"] == id).unwrap();
    task["state"].as_str().unwrap().to_owned()
}

#[test]
fn tasks_are_added_listed_in_order_and_done() {
    let sandbox = Sandbox::new();
    let nothing = "no tasks yet; add one with: hookwright task add TEXT\n";
    assert_eq!(sandbox.run(&["task", "list"]), Ran::new(0, "", nothing));
    assert_eq!(sandbox.run(&["task", "add", "write the parser"]), ok("TAS-1\n"));
    assert_eq!(sandbox.run(&["task", "add", "test it", "--after", "1"]), ok("TAS-2\n"));
    assert_eq!(sandbox.run(&["task", "add", "fix the build", "--priority", "0"]), ok("TAS-3\n"));
    assert_eq!(
        sandbox.run(&["task", "list"]),
        Ran::new(
            0,
            "id     state  priority  waits for  task\n\
             TAS-3  open   0         -          fix the build\n\
             TAS-1  open   2         -          write the parser\n\
             TAS-2  open   2         TAS-1      test it\n",
            "3 open\n"
        )
    );
    assert_eq!(sandbox.run(&["task", "done", "tas-3"]), ok("TAS-3 is completed\n"));
    assert_eq!(sandbox.run(&["task", "done", "TAS-3"]), ok("TAS-3 was completed already\n"));
    assert_eq!(
        sandbox.run(&["task", "list", "--ready"]),
        Ran::new(
            0,
            "id     state  priority  waits for  task\n\
             TAS-1  open   2         -          write the parser\n",
            "2 open, 1 completed\n"
        )
    );
    let (_, tasks) = sandbox.json(&["task", "list", "--state", "completed,in-progress", "--json"]);
    let mut tasks = tasks;
    for time in ["created_at", "updated_at"] {
        assert!(tasks[0][time].take().as_str().unwrap().ends_with('Z'));
    }
    assert_eq!(
        tasks,
        json!([{
            "version": 1, "id": "TAS-3", "content": "fix the build", "state": "completed",
            "priority": 0, "depends_on": [], "created_at": null, "updated_at": null,
            "session": null, "waits_for": [], "ready": false,
        }])
    );
}

#[test]
fn a_task_is_read_from_standard_input_and_changed_in_part() {
    let sandbox = Sandbox::new().file("text", "two\nlines\n");
    let text = std::fs::File::open(sandbox.path("text")).unwrap();
    let output = sandbox.command(&["task", "add", "-"]).stdin(text).output().unwrap();
    assert_eq!(Ran::from(output), ok("TAS-1\n"));
    let update = |arguments: &[&str]| {
        let ran = sandbox.run(&[&["task", "update", "1"], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    assert_eq!(update(&["--priority", "4"]), "TAS-1 is open\n");
    assert_eq!(update(&["--state", "blocked"]), "TAS-1 is blocked\n");
    assert_eq!(update(&["--state", "remaining", "--content", "one line"]), "TAS-1 is open\n");
    let (_, tasks) = sandbox.json(&["task", "list", "--json"]);
    assert_eq!(tasks[0]["content"], "one line");
    assert_eq!(tasks[0]["priority"], 4);
    let ran = sandbox.run(&["task", "update", "1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("required arguments were not provided"), "{}", ran.stderr);
}

#[test]
fn a_text_that_is_too_long_is_said_to_be_so_wherever_its_characters_are_cut() {
    let sandbox = Sandbox::new().file("text", "€".repeat(100_000)).file("no text", b"\xff");
    let add = |file: &str| {
        let text = std::fs::File::open(sandbox.path(file)).unwrap();
        Ran::from(sandbox.command(&["task", "add", "-"]).stdin(text).output().unwrap())
    };
    let too_long = "error: bytes of a task's text: expected at most 65536 but found 131070\nhelp: put long text in a file and name that file in the task; complete or cancel tasks that are done\n";
    assert_eq!(add("text"), Ran::new(1, "", too_long));
    assert_eq!(add("no text").stderr.lines().last(), Some("help: a task's text has to be UTF-8"));
}

#[test]
fn what_is_wrong_with_a_task_is_one_clear_error() {
    let sandbox = Sandbox::new();
    let error = |arguments: &[&str]| {
        let ran = sandbox.run(&[&["task"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{arguments:?}");
        ran.stderr
    };
    assert_eq!(
        error(&["done", "TAS-1"]),
        "error: there is no task `TAS-1`\nhelp: there are no tasks yet; add one: `hookwright task add TEXT`\n"
    );
    add(&sandbox, "first");
    sandbox.run(&["task", "add", "second", "--after", "TAS-1"]);
    assert_eq!(
        error(&["add", "first"]),
        "error: `TAS-1` has the same text and is open\nhelp: change that one instead: `hookwright task update TAS-1`\n"
    );
    assert_eq!(
        error(&["update", "1", "--after", "TAS-1"]),
        "error: `TAS-1` would wait for itself: TAS-1 → TAS-1\nhelp: remove one of them from `--after`\n"
    );
    assert_eq!(
        error(&["update", "1", "--after", "2"]),
        "error: `TAS-1` would wait for itself: TAS-1 → TAS-2 → TAS-1\nhelp: remove one of them from `--after`\n"
    );
    assert_eq!(
        error(&["done", "TSA-2"]),
        "error: there is no task `TSA-2`\nhelp: did you mean `TAS-2`?\n"
    );
    assert_eq!(
        error(&["add", "x", "--after", "TAS-9"]),
        "error: there is no task `TAS-9`\nhelp: did you mean `TAS-2`?\n"
    );
    assert_eq!(
        error(&["list", "--state", "complete"]),
        "error: unknown task state `complete`\nhelp: did you mean `completed`?\n"
    );
    assert_eq!(
        error(&["add", "x", "--priority", "7"]),
        "error: expected a priority from 0 (the highest) to 4 but found 7\nhelp: use 0, 1, 2, 3 or 4\n"
    );
    assert_eq!(
        error(&["add", " "]),
        "error: the task has no text\nhelp: describe the task: `hookwright task add TEXT`\n"
    );
}

// Conformance: claude-code-050
#[test]
fn without_a_session_the_projects_hooks_are_asked_and_may_say_no() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {task:complete: [{id: tests, command: 'echo \"$TASK_ID: $TASK_CONTENT\" >> log; [ -e green ] || { echo tests fail >&2; exit 2; }'}]}",
    );
    add(&sandbox, "write the parser");
    let ran = sandbox.run(&["task", "done", "1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.ends_with("TAS-1 stays open: tests fail\n"), "{}", ran.stderr);
    assert_eq!(state(&sandbox, "TAS-1"), "open");
    let sandbox = sandbox.file("green", "");
    let ran = sandbox.run(&["task", "update", "1", "--state", "completed"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "TAS-1 is completed\n"));
    assert_eq!(state(&sandbox, "TAS-1"), "completed");
    // A completed task runs no hooks again.
    assert_eq!(sandbox.run(&["task", "done", "1"]), ok("TAS-1 was completed already\n"));
    let log = std::fs::read_to_string(sandbox.path("log")).unwrap();
    assert_eq!(log, "TAS-1: write the parser\n".repeat(2));
}

#[test]
fn what_hooks_say_to_the_agent_is_printed_where_there_is_no_next_prompt() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {task:complete: [{pipe_output: true, command: echo run the linter too}]}",
    );
    add(&sandbox, "a");
    let ran = sandbox.run(&["task", "done", "1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "run the linter too\nTAS-1 is completed\n"));
    add(&sandbox, "b");
    let ran = sandbox.run(&["task", "done", "2", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let facts = [&said["outcome"], &said["output"], &said["task"]["state"]];
    assert_eq!(facts, [&json!("completed"), &json!(["run the linter too\n"]), &json!("completed")]);
}

#[test]
fn one_that_was_added_as_completed_fires_nothing() {
    let sandbox = Sandbox::with_hooks("hooks: {task:complete: [{command: echo fired >> log}]}");
    assert_eq!(sandbox.run(&["task", "add", "a", "--state", "completed"]), ok("TAS-1\n"));
    assert_eq!(state(&sandbox, "TAS-1"), "completed");
    assert!(!sandbox.path("log").exists());
}

// Conformance: iteratr-023, iteratr-024
#[test]
fn hooks_of_iteratr_run_once_the_task_is_done_and_cannot_take_it_back() {
    let sandbox = Sandbox::new().file(
        ".iteratr.hooks.yml",
        "hooks:\n  on_task_complete:\n    - {command: 'hookwright=$BIN; $hookwright task list --all > seen 2>&1; echo {{task_id}} {{task_content}}; exit 2', pipe_output: true}\n",
    );
    let sandbox = sandbox.set("BIN", env!("CARGO_BIN_EXE_hookwright"));
    add(&sandbox, "write it");
    let ran = sandbox.run(&["task", "done", "1"]);
    let said = "[Hook command failed: exit status 2]\nTAS-1 write it\nTAS-1 is completed\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, said), "{}", ran.stderr);
    let seen = std::fs::read_to_string(sandbox.path("seen")).unwrap();
    assert_eq!(
        seen,
        "id     state      priority  waits for  task\nTAS-1  completed  2         -          write it\n1 completed\n"
    );
}

#[test]
fn a_guard_comes_before_hooks_of_iteratr_and_keeps_them_from_running() {
    let sandbox =
        Sandbox::with_hooks("hooks: {task:complete: [{command: '[ -e green ] || exit 2'}]}").file(
            ".iteratr.hooks.yml",
            "hooks:\n  on_task_complete:\n    - {command: 'echo told >> log'}\n",
        );
    add(&sandbox, "a");
    assert_eq!(sandbox.run(&["task", "done", "1"]).code, 2);
    assert!(!sandbox.path("log").exists());
    let sandbox = sandbox.file("green", "");
    assert_eq!(sandbox.run(&["task", "done", "1"]).code, 0);
    assert_eq!(std::fs::read_to_string(sandbox.path("log")).unwrap(), "told\n");
}

#[test]
fn two_callers_that_complete_a_task_at_once_fire_its_hooks_once() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {task:complete: [{command: 'echo $TASK_ID >> log; while [ ! -e go ]; do sleep 0.01; done'}]}",
    );
    add(&sandbox, "a");
    let start = || {
        let mut command = sandbox.command(&["task", "done", "1"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [start(), start()];
    crate::interrupts::until("a hook runs", || sandbox.path("log").exists());
    std::fs::write(sandbox.path("go"), "").unwrap();
    let mut said = both.map(|child| Ran::from(child.wait_with_output().unwrap()).stdout);
    said.sort();
    assert_eq!(said, ["TAS-1 is completed\n", "TAS-1 was completed already\n"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("log")).unwrap(), "TAS-1\n");
}

#[test]
fn hooks_that_cannot_be_read_let_no_task_pass() {
    let sandbox = Sandbox::with_hooks("hooks: {task:complete: [{comand: x}]}");
    add(&sandbox, "a");
    let ran = sandbox.run(&["task", "done", "1"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("TAS-1 stays open: the hooks cannot be read: "), "{}", ran.stderr);
    assert_eq!(state(&sandbox, "TAS-1"), "open");
}

#[test]
fn a_hook_that_completes_the_task_whose_hook_it_is_does_not_wait_for_itself() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {task:complete: [{command: '$BIN task done $TASK_ID > log 2>&1'}]}",
    )
    .set("BIN", env!("CARGO_BIN_EXE_hookwright"));
    add(&sandbox, "a");
    let ran = sandbox.run(&["task", "done", "1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "TAS-1 is completed\n"), "{}", ran.stderr);
    let log = std::fs::read_to_string(sandbox.path("log")).unwrap();
    assert_eq!(log, "TAS-1 is being completed\n");
}
