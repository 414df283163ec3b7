//! Session processes that are killed while their worker lives: what they had taken themselves is
//! free for the next one.

use super::{committed_files, hears, is, kill, project, session, submit, worker, write};
use crate::interrupts::{Left, until};
use crate::runs::lines;
use crate::shared_store::shared;
use crate::support::Sandbox;

/// The session's process is killed as soon as the process in `pid` runs, which lets the next one end.
fn killed_process(sandbox: &Sandbox) {
    let slow = Left::by(sandbox, "pid");
    let mut first = worker(sandbox, "a", &["--json"]);
    submit(sandbox, &["--session", "s"]);
    until("the slow process runs", || slow.has_run());
    write(sandbox, "go", "");
    kill("-KILL", &session(sandbox, "s")["process"]["pid"].to_string());
    hears(&mut first, "lost");
    until("the session is complete", || is(sandbox, "s", "completed"));
}

#[test]
fn the_child_session_of_a_killed_session_process_continues_too() {
    let inner = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cd $CHECKOUT; echo $HOOKWRIGHT_ATTEMPT >> log; if [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}\n";
    let outer = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\nhooks: {session:start: [{id: child, type: spawn, pipeline: inner, await: true}]}\n";
    let files = Sandbox::new().file("loop.yaml", outer).file("loops/inner.yaml", inner);
    let sandbox = shared(committed_files(files));
    killed_process(&sandbox);
    assert_eq!(lines(&sandbox, "log"), ["1", "2"]);
}

#[test]
fn a_task_that_a_killed_session_process_was_completing_is_completed_by_the_next_one() {
    let text = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: '$HOOKWRIGHT_BIN task done 1 >> $CHECKOUT/log 2>&1'}\nhooks: {task:complete: [{id: tests, command: 'cd $CHECKOUT; if [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi', await: true}]}\n";
    let sandbox = project(text);
    assert_eq!(sandbox.run(&["task", "add", "fix it"]).code, 0);
    killed_process(&sandbox);
    let (_, tasks) = sandbox.json(&["task", "list", "--all", "--json"]);
    assert_eq!(tasks[0]["state"], "completed");
}
