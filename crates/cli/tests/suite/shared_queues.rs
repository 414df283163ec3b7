//! Several sessions on one queue, some of which are killed.

use crate::queues::command;
use crate::runs::lines;
use crate::support::Sandbox;

/// Three issues. Hooks and the agent log what they work on; the agent also runs this command.
fn issues(hooks: &str, agent: &str) -> Sandbox {
    let agent = command(&format!("echo agent $SESSION $ISSUE_NUMBER $ITERATION >> log; {agent}"));
    let queue = "termination: {type: queue, source: {issues: issues/}}\n";
    let text = format!("prompt: Work.\nagent: {agent}\n{queue}");
    Sandbox::with_hooks(&format!("hooks: {{{hooks}}}"))
        .file("issues/1-first.md", "# The first\n")
        .file("issues/2-second.md", "# The second\n")
        .file("issues/3-third.md", "# The third\n")
        .file("one.yaml", format!("{text}max_iterations: 1\n"))
        .file("all.yaml", text)
}

/// Kills the session of a hook, once.
fn kills_once(when: &str, name: &str) -> String {
    format!("[ \"{when}\" = yes ] && [ ! -e {name} ] && {{ touch {name}; kill -9 $PPID; }}")
}

fn is_killed(sandbox: &Sandbox, arguments: &[&str]) {
    let killed = sandbox.command(arguments).output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stdout));
}

#[test]
fn an_issue_that_is_done_is_not_done_again_and_no_hook_gets_the_data_of_another() {
    let first = kills_once("$([ $SESSION$ISSUE_NUMBER = s2 ] && echo yes)", "killed-at-2");
    let second = kills_once("$([ $SESSION$ISSUE_NUMBER = s3 ] && echo yes)", "killed-behind-3");
    let sandbox = issues(
        &format!(
            "iteration:start: [{{await: true, command: 'echo start $SESSION $ISSUE_NUMBER $ITERATION >> log; {first}; true'}}], execution:post_end: [{{await: true, command: 'echo end $SESSION $ISSUE_NUMBER >> log; {second}; true'}}]"
        ),
        "true",
    );
    is_killed(&sandbox, &["run", "all.yaml", "--session", "s"]);
    let other = sandbox.run(&["run", "one.yaml", "--session", "t"]);
    assert_eq!(other.code, 0, "{}{}", other.stdout, other.stderr);
    is_killed(&sandbox, &["resume", "s"]);
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "start s 1 1",
            "agent s 1 1",
            "end s 1",
            "start s 2 2",
            "start t 2 1",
            "agent t 2 1",
            "end t 2",
            "start s 3 3",
            "agent s 3 3",
            "end s 3",
            // It was cut off.
            "end s 3",
        ]
    );
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    assert_eq!(shown["session"]["issuesCompleted"], serde_json::json!([1, 3]));
}
