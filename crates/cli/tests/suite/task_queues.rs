//! Loops that work on the project's tasks.

use crate::queues::command;
use crate::runs::{lines, run};
use crate::support::{Ran, Sandbox};

/// A project with these tasks and a loop that works on them.
fn tasks(hooks: &str, agent: &str, tasks: &[&str]) -> Sandbox {
    let sandbox = Sandbox::with_hooks(&format!("hooks: {{{hooks}}}")).file(
        "loop.yaml",
        format!("prompt: Work.\nagent: {agent}\ntermination: {{type: queue}}\n"),
    );
    for task in tasks {
        let arguments: Vec<&str> = ["task", "add"].into_iter().chain(task.split('|')).collect();
        let added = sandbox.run(&arguments);
        assert_eq!(added.code, 0, "{}", added.stderr);
    }
    sandbox
}

fn states_of_tasks(sandbox: &Sandbox) -> Vec<String> {
    let (code, listed) = sandbox.json(&["task", "list", "--all", "--json"]);
    assert_eq!(code, 0);
    let mut tasks: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|task| format!("{} {}", task["id"].as_str().unwrap(), task["state"].as_str().unwrap()))
        .collect();
    tasks.sort();
    tasks
}

#[test]
fn tasks_are_worked_off_by_priority_and_after_what_they_wait_for() {
    let sandbox = tasks(
        "task:complete: [{command: 'echo complete $TASK_ID >> log'}]",
        &command("echo \"agent $TASK_ID $TASK_CONTENT\" >> log"),
        &["third", "second|--priority|1", "first|--priority|0", "last|--priority|0|--after|TAS-1"],
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "agent TAS-3 first",
            "complete TAS-3",
            "agent TAS-2 second",
            "complete TAS-2",
            "agent TAS-1 third",
            "complete TAS-1",
            "agent TAS-4 last",
            "complete TAS-4",
        ]
    );
    let done = ["TAS-1 completed", "TAS-2 completed", "TAS-3 completed", "TAS-4 completed"];
    assert_eq!(states_of_tasks(&sandbox), done);
}

#[test]
fn a_task_that_hooks_do_not_let_complete_has_failed_and_is_blocked() {
    let sandbox = tasks(
        "task:complete: [{when: \"${TASK_ID} == 'TAS-1'\", command: 'echo no tests >&2; exit 2'}], \
         execution:post_end: [{await: true, command: 'echo $TASK_ID $SUCCESS $ERROR >> log'}]",
        &command("true"),
        &["one", "two"],
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["TAS-1 false no tests", "TAS-2 true"]);
    assert_eq!(states_of_tasks(&sandbox), ["TAS-1 blocked", "TAS-2 completed"]);
    assert_eq!(
        sandbox.run(&["reopen", "TAS-1"]),
        Ran::new(0, "task TAS-1 is open again, it was blocked: one\n", "")
    );
    assert_eq!(states_of_tasks(&sandbox), ["TAS-1 open", "TAS-2 completed"]);
}

#[test]
fn what_the_agent_says_about_its_task_counts() {
    let bin = env!("CARGO_BIN_EXE_hookwright");
    let agent = format!(
        "echo agent $TASK_ID >> log; case $TASK_ID in \
         TAS-1) {bin} task done TAS-1;; \
         TAS-2) {bin} task update TAS-2 --state blocked;; \
         TAS-4) {bin} task update TAS-4 --state open;; \
         TAS-5) {bin} task update TAS-5 --state cancelled;; \
         TAS-3) {bin} task add 'found this';; esac >> out 2>&1"
    );
    let sandbox = tasks(
        "task:complete: [{command: 'echo complete $TASK_ID >> log'}], \
         execution:post_end: [{await: true, command: 'echo $TASK_ID $SUCCESS >> ends'}]",
        &command(&agent),
        &["one", "two", "three", "four", "five"],
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "agent TAS-1",
            "complete TAS-1",
            "agent TAS-2",
            "agent TAS-3",
            "complete TAS-3",
            "agent TAS-4",
            "agent TAS-5",
            "agent TAS-6",
            "complete TAS-6"
        ],
        "{:?}",
        lines(&sandbox, "out")
    );
    assert_eq!(
        states_of_tasks(&sandbox),
        [
            "TAS-1 completed",
            "TAS-2 blocked",
            "TAS-3 completed",
            "TAS-4 open",
            "TAS-5 cancelled",
            "TAS-6 completed"
        ]
    );
    assert_eq!(
        lines(&sandbox, "ends"),
        ["TAS-1 true", "TAS-2 false", "TAS-3 true", "TAS-4 false", "TAS-5 false", "TAS-6 true"]
    );
}

#[test]
fn a_task_that_the_agent_puts_back_is_for_another_session() {
    let agent = command(
        "echo agent $TASK_ID >> log; [ $TASK_ID = TAS-2 ] || \"$HOOKWRIGHT_BIN\" task update $TASK_ID --state open",
    );
    let sandbox = tasks("", &agent, &["one", "two"]);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["agent TAS-1", "agent TAS-2"]);
    assert_eq!(states_of_tasks(&sandbox), ["TAS-1 open", "TAS-2 completed"]);
}

#[test]
fn a_task_that_a_running_session_works_on_is_not_opened_for_another() {
    let agent = command("\"$HOOKWRIGHT_BIN\" reopen $TASK_ID > out 2> err; echo $? >> out");
    let sandbox = tasks("", &agent, &["one"]);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "out"), ["1"]);
    assert_eq!(
        lines(&sandbox, "err"),
        [
            "error: session s is working on task TAS-1",
            "help: wait for it, or end it: `hookwright stop s`"
        ]
    );
    assert_eq!(states_of_tasks(&sandbox), ["TAS-1 completed"]);
}

#[test]
fn a_session_that_died_leaves_the_task_that_another_has_completed() {
    let agent = command(
        "echo agent $SESSION $TASK_ID >> log; [ -e killed ] || { touch killed; kill -9 $PPID; }",
    );
    let sandbox = tasks("", &agent, &["one", "two"]);
    let killed = sandbox.command(&["run", "loop.yaml", "--session", "s"]).output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stdout));
    let other = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(other.code, 0, "{}{}", other.stdout, other.stderr);
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "log"), ["agent s TAS-1", "agent t TAS-1", "agent t TAS-2"]);
    assert_eq!(states_of_tasks(&sandbox), ["TAS-1 completed", "TAS-2 completed"]);
}

#[test]
fn a_session_that_goes_on_has_the_task_it_was_at_although_another_has_begun_meanwhile() {
    let agent = command(
        "echo agent $SESSION $TASK_ID >> log; case $SESSION$TASK_ID in \
         sTAS-1) [ -e killed ] || { touch killed; kill -9 $PPID; };; \
         tTAS-2) \"$HOOKWRIGHT_BIN\" resume s >> out 2>&1;; esac",
    );
    let sandbox = tasks("", &agent, &["one"]);
    let killed = sandbox.command(&["run", "loop.yaml", "--session", "s"]).output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stdout));
    assert_eq!(sandbox.run(&["task", "add", "urgent", "--priority", "0"]).code, 0);
    let other = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(other.code, 0, "{}{}", other.stdout, other.stderr);
    assert_eq!(
        lines(&sandbox, "log"),
        ["agent s TAS-1", "agent t TAS-2", "agent s TAS-1"],
        "{:?}",
        lines(&sandbox, "out")
    );
    assert_eq!(states_of_tasks(&sandbox), ["TAS-1 completed", "TAS-2 completed"]);
}
