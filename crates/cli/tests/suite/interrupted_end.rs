//! Interrupts at the end of a finished session: the end is postponed, and `resume` reaches the same
//! end. `session:end` is fired once, and a hook that has ended does not run again.

use crate::interrupts::{Left, start, until};
use crate::receiver::Receiver;
use crate::runs::{lines, logged};
use crate::support::{Ran, Sandbox};

const LOOP: &str =
    "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: echo agent >> log}\n";

/// A line for every event, and hooks of `session:end`.
fn project(at_end: &str) -> Sandbox {
    let log = "'*': [{id: log, await: true, command: 'echo \"$EVENT $REASON\" >> log'}]";
    Sandbox::with_hooks(&format!("hooks: {{{log}, session:end: [{at_end}]}}"))
        .file("loop.yaml", LOOP)
}

/// A command that logs its attempt, and hangs until there is a file `go`.
fn hangs(name: &str) -> String {
    format!(
        "'echo {name} $HOOKWRIGHT_ATTEMPT >> log; if [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'"
    )
}

fn status(sandbox: &Sandbox) -> String {
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    shown["session"]["status"].as_str().unwrap().to_owned()
}

/// Interrupts this command once the hanging hook has started; its exit code must be 130.
fn is_interrupted(sandbox: &Sandbox, arguments: &[&str], hook: &str) -> Ran {
    let left = Left::by(sandbox, "pid");
    let started = start(sandbox, arguments);
    until("the hook hangs", || {
        left.has_run() && lines(sandbox, "log").iter().any(|line| line == hook)
    });
    started.signal("-INT");
    let ran = started.ran();
    assert_eq!(ran.code, 130, "{}{}", ran.stdout, ran.stderr);
    until("nothing is left", || left.is_gone());
    std::fs::remove_file(sandbox.path("pid")).unwrap();
    assert_eq!(status(sandbox), "interrupted");
    ran
}

fn comes_to_its_end(sandbox: &Sandbox) {
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(status(sandbox), "completed");
    let log = lines(sandbox, "log");
    for (event, times) in [
        ("session:start", vec![""]),
        ("session:stop", vec!["completed"]),
        ("session:end", vec!["completed"]),
        ("user:interrupt", vec![]),
    ] {
        assert_eq!(logged(&log, event), times, "{event}: {log:?}");
    }
    assert_eq!(log.iter().filter(|line| *line == "agent").count(), 1, "{log:?}");
}

#[test]
fn while_it_waits_for_hooks_in_the_background() {
    let receiver = Receiver::new();
    receiver.hold(true);
    let sandbox = project(&format!(
        "{{await: true, command: 'echo quick >> log'}}, {{id: tell, await: false, url: '{}'}}, {{id: slow, await: false, command: {}}}",
        receiver.url(),
        hangs("slow")
    ));
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    let slow = Left::by(&sandbox, "pid");
    started.wait_for_words("note: waiting for background hooks: tell, slow\n");
    until("the hook hangs", || slow.has_run());
    receiver.wait_for(1);
    started.signal("-INT");
    let ran = started.ran();
    assert_eq!(ran.code, 130, "{}{}", ran.stdout, ran.stderr);
    let said = "session s: interrupted (background hooks had not finished: tell, slow)\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    receiver.hold(false);
    comes_to_its_end(&sandbox);
    let log = lines(&sandbox, "log");
    assert_eq!(logged(&log, "slow"), ["1", "2"], "{log:?}");
    assert_eq!(log.iter().filter(|line| *line == "quick").count(), 1, "{log:?}");
    let got = receiver.got();
    assert_eq!(got.len(), 2, "{got:?}");
    assert_eq!(got[0], got[1]);
}

#[test]
fn inside_an_awaited_hook_however_often() {
    let sandbox = project(&format!(
        "{{await: true, command: 'echo before >> log'}}, {{id: report, await: true, command: {}}}, {{await: true, command: 'echo behind >> log'}}",
        hangs("report")
    ));
    let ran = is_interrupted(&sandbox, &["run", "loop.yaml", "--session", "s"], "report 1");
    let said = "session s: interrupted (hooks at session:end had not finished)\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    is_interrupted(&sandbox, &["resume", "s"], "report 2");
    comes_to_its_end(&sandbox);
    let log = lines(&sandbox, "log");
    let at_end = ["session:end completed", "before", "report 1", "report 2", "report 3", "behind"];
    assert!(log.ends_with(&at_end.map(str::to_owned)), "{log:?}");
}

#[test]
fn in_a_hook_of_the_last_iteration_that_ran_in_the_background() {
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks: {{'*': [{{id: log, await: true, command: 'echo \"$EVENT $REASON\" >> log'}}], iteration:complete: [{{id: slow, await: false, command: {}}}]}}",
        hangs("slow")
    ))
    .file("loop.yaml", LOOP);
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    let slow = Left::by(&sandbox, "pid");
    started.wait_for_words("note: waiting for background hooks: slow\n");
    until("the hook hangs", || slow.has_run());
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    // After another interrupt before its end, it still reaches the same end.
    std::fs::remove_file(sandbox.path("pid")).unwrap();
    is_interrupted(&sandbox, &["resume", "s"], "slow 2");
    comes_to_its_end(&sandbox);
    assert_eq!(logged(&lines(&sandbox, "log"), "slow"), ["1", "2", "3"]);
}

#[test]
fn what_a_hook_of_the_end_says_starts_no_agent_when_the_session_is_resumed() {
    let says = r#"{id: says, await: true, command: 'echo "{\"additionalContext\": \"bye\"}"'}"#;
    let sandbox =
        project(&format!("{says}, {{id: slow, await: false, command: {}}}", hangs("slow")));
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    let slow = Left::by(&sandbox, "pid");
    started.wait_for_words("note: waiting for background hooks: slow\n");
    until("the hook hangs", || slow.has_run());
    started.kill();
    comes_to_its_end(&sandbox);
}
