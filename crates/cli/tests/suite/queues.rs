//! Loops with a queue: issues in a folder, a command's output, tasks.

use serde_json::{Value, json};

use crate::interrupts::{Left, start, until};
use crate::runs::{KEEPS_PROMPTS, events, lines, of_session, prompts, run};
use crate::support::{Ran, Sandbox};

const ISSUES: &str = "termination: {type: queue, source: {issues: issues/}}\n";

/// A log line for every event, with the work item.
const LOG: &str = "'*': [{id: log, await: true, command: 'echo \"$EVENT $ISSUE_NUMBER $ITERATION\" | tr -s \" \" >> log'}]";

/// A project with three issues and a loop that works on them with this agent.
fn issues(hooks: &str, agent: &str) -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{{hooks}}}"))
        .file("issues/1-first.md", "# The first\n\nDo it.\n")
        .file("issues/2-second.md", "# It's \"$(touch pwned)\" `x` {{y}}\n")
        .file("issues/10-last_one.md", "no heading\n")
        .file("plans/2-second.md", "a plan\n")
        .file("loop.yaml", format!("prompt: Work.\nagent: {agent}\n{ISSUES}"))
}

/// An agent that is this command.
pub(crate) fn command(text: &str) -> String {
    format!("{{command: {}}}", serde_json::to_string(text).unwrap())
}

/// State and reason of each issue, from `status --json`.
fn states(sandbox: &Sandbox) -> Vec<(u64, String, Value)> {
    let (code, status) = sandbox.json(&["status", "--json"]);
    assert_eq!(code, 0);
    let issues = status["work"]["issues"].as_array().unwrap().iter();
    issues
        .map(|issue| {
            let state = issue["state"].as_str().unwrap().to_owned();
            (issue["number"].as_u64().unwrap(), state, issue["reason"].clone())
        })
        .collect()
}

fn words(sandbox: &Sandbox) -> Vec<String> {
    states(sandbox).into_iter().map(|(number, state, _)| format!("{number} {state}")).collect()
}

// Conformance: autoagent-005, autoagent-006
#[test]
fn each_issue_is_an_execution_in_the_order_of_the_numbers() {
    let sandbox = issues(LOG, &command("echo agent $ISSUE_NUMBER >> log"));
    let ran = run(&sandbox, "loop.yaml", 0);
    let of = |number: u32, iteration: u32| {
        [
            format!("execution:pre_start {number} {}", iteration - 1),
            format!("execution:post_start {number} {}", iteration - 1),
            format!("iteration:start {number} {iteration}"),
            format!("agent {number}"),
            format!("iteration:complete {number} {iteration}"),
            format!("execution:pre_end {number} {iteration}"),
            format!("execution:post_end {number} {iteration}"),
        ]
    };
    let expected: Vec<String> = ["session:start 0", "stage:start 0"]
        .map(str::to_owned)
        .into_iter()
        .chain(of(1, 1))
        .chain(of(2, 2))
        .chain(of(10, 3))
        .chain(["stage:complete 3", "session:stop 3", "session:end 3"].map(str::to_owned))
        .collect();
    assert_eq!(lines(&sandbox, "log"), expected);
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done"]);
    assert!(ran.stdout.contains("  issue 1: The first\n"), "{}", ran.stdout);
    assert_eq!(
        std::fs::read_to_string(sandbox.path("issues/1-first.md")).unwrap(),
        "# The first\n\nDo it.\n"
    );
    // The next one has nothing left to do.
    let again = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stdout.contains("completed after 0 iterations"), "{}", again.stdout);
}

// Conformance: autoagent-015, autoagent-016
#[test]
fn hooks_read_every_field_of_an_execution_and_no_value_is_run() {
    let sandbox = issues(
        "'execution:*': [{id: keep, await: true, command: 'cat >> seen'}]",
        &command("echo work > file.$ISSUE_NUMBER; echo \"did $ISSUE_TITLE\""),
    );
    run(&sandbox, "loop.yaml", 0);
    let seen: Vec<Value> =
        lines(&sandbox, "seen").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_second: Vec<&Value> = seen.iter().filter(|event| event["issue_number"] == 2).collect();
    let title = "It's \"$(touch pwned)\" `x` {{y}}";
    for (event, name) in of_second.iter().zip([
        "execution:pre_start",
        "execution:post_start",
        "execution:pre_end",
        "execution:post_end",
    ]) {
        assert_eq!(event["event"], name);
        assert_eq!(event["issue_title"], title);
        assert_eq!(event["issue_file"], "issues/2-second.md");
        assert_eq!(event["plan_file"], "plans/2-second.md");
        assert_eq!(event["provider"], "command");
    }
    for end in &of_second[2..] {
        assert_eq!(end["success"], true);
        assert_eq!(end["files_modified"], json!(["file.2"]));
        assert_eq!(end["output"], format!("did {title}\n"));
        assert!(end["duration"].is_u64(), "shells count with whole numbers alone: {end}");
    }
    assert_eq!(seen[8]["issue_title"], "last one");
    assert_eq!(seen[8]["plan_file"], "");
    assert!(!sandbox.path("pwned").exists());
}

#[test]
fn the_agent_is_told_which_issue_unless_its_prompt_says_so_itself() {
    let sandbox = issues("", KEEPS_PROMPTS);
    run(&sandbox, "loop.yaml", 0);
    let told = prompts(&sandbox);
    assert_eq!(told.len(), 3);
    assert!(
        told[1].starts_with(
            "Work.\n\nDo this now, and none of the other open work:\n\nissue 2, \"It's \"$(touch pwned)\" \
             `x` {{y}}\". It is in `issues/2-second.md`. The plan for it is in `plans/2-second.md`.\n\n"
        ),
        "{}",
        told[1]
    );
    let sandbox = issues("", KEEPS_PROMPTS).file(
        "loop.yaml",
        format!("prompt: 'Fix ${{ISSUE_FILE}} ${{STATUS.x}}'\nagent: {KEEPS_PROMPTS}\n{ISSUES}"),
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        prompts(&sandbox),
        ["Fix issues/1-first.md ", "Fix issues/2-second.md ", "Fix issues/10-last_one.md "]
    );
    let (_, listed) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let stage = listed["session"]["stages"][0].as_str().unwrap().to_owned();
    let file = format!("stage-00-{stage}/iterations/002/context.json");
    let context: Value = serde_json::from_str(&of_session(&sandbox, &file)).unwrap();
    assert_eq!(context["item"]["file"], "issues/2-second.md");
}

// Conformance: autoagent-007, autoagent-008
#[test]
fn a_blocked_start_skips_an_issue_and_a_blocked_end_fails_it() {
    let sandbox = issues(
        "execution:pre_start: [{when: '${ISSUE_NUMBER} == 1', command: 'echo not today >&2; exit 2'}], \
         execution:pre_end: [{when: '${ISSUE_NUMBER} == 2', command: 'echo no tests >&2; exit 2'}], \
         execution:post_end: [{await: true, command: 'echo post $ISSUE_NUMBER $SUCCESS $ERROR >> log'}]",
        &command("echo agent $ISSUE_NUMBER >> log"),
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        ["agent 2", "post 2 false no tests", "agent 10", "post 10 true"]
    );
    assert_eq!(
        states(&sandbox),
        [
            (1, "blocked".to_owned(), json!("not today")),
            (2, "failed".to_owned(), json!("no tests")),
            (10, "done".to_owned(), Value::Null),
        ]
    );
    assert!(ran.stdout.contains("  issue 1: blocked after "), "{}", ran.stdout);
    // The last lines alone must show that not everything is done.
    let summary =
        "session s: completed\n  2 iterations, work: 1 blocked, 1 done, 1 failed, hooks: ";
    assert!(ran.stdout.contains(summary), "{}", ran.stdout);
    let shown = sandbox.run(&["status"]);
    assert!(
        shown.stdout.ends_with(
            "issues: 1 failed, 1 blocked, 1 done\n  2   failed   It's \"$(touch pwned)\" `x` {{y}}: no tests\n  1   \
             blocked  The first: not today\n  10  done     last one\n  to try one again: hookwright reopen 1\n"
        ),
        "{}",
        shown.stdout
    );
}

#[test]
fn failed_and_blocked_issues_are_retried_only_after_reopen() {
    let agent = command("echo agent $ISSUE_NUMBER >> log; [ $ISSUE_NUMBER != 2 ] || [ -e fixed ]");
    let sandbox = issues("", &agent);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(words(&sandbox), ["1 done", "2 failed", "10 done"]);
    let again = |session: &str| {
        let ran = sandbox.run(&["run", "loop.yaml", "--session", session]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        lines(&sandbox, "log")
    };
    assert_eq!(again("t"), ["agent 1", "agent 2", "agent 10"]);
    assert_eq!(
        sandbox.run(&["reopen", "2"]),
        Ran::new(
            0,
            "issue 2 is open again, it was failed: It's \"$(touch pwned)\" `x` {{y}}\n",
            ""
        )
    );
    std::fs::write(sandbox.path("fixed"), "").unwrap();
    assert_eq!(again("u"), ["agent 1", "agent 2", "agent 10", "agent 2"]);
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done"]);
    let unknown = sandbox.run(&["reopen", "3"]);
    assert_eq!(unknown.code, 1);
    assert_eq!(
        unknown.stderr,
        "error: there is no issue 3 in this project\nhelp: there are 3 issues; `hookwright status` lists them\n"
    );
}

#[test]
fn an_issue_may_take_several_iterations_and_stop_ends_it_sooner() {
    let sandbox = issues("", "{script: turns.yaml}")
        .file("loop.yaml", "prompt: p\nagent: {script: turns.yaml}\ntermination: {type: queue, source: {issues: issues}, per_item: 3}\n")
        .file(
            "turns.yaml",
            "turns:
  - [{status: {decision: continue}}]
  - [{status: {decision: stop}}]
  - [{status: {decision: error, reason: too hard}}]
  - [{status: {decision: continue}}]
",
        );
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let events = events(&ran);
    let ended: Vec<Value> = events
        .iter()
        .filter(|event| event["kind"] == "item_ended")
        .map(|event| json!([event["key"], event["state"], event["iterations"], event["reason"]]))
        .collect();
    assert_eq!(
        ended,
        [
            json!(["1", "done", 2, null]),
            json!(["2", "failed", 1, "too hard"]),
            json!(["10", "done", 3, null]),
        ]
    );
}

#[test]
fn after_a_failure_the_next_issue_follows_but_three_in_a_row_end_the_session() {
    let sandbox = issues("", &command("echo agent $ISSUE_NUMBER >> log; exit 3"))
        .file("issues/20-more.md", "");
    let ran = run(&sandbox, "loop.yaml", 5);
    assert_eq!(lines(&sandbox, "log"), ["agent 1", "agent 2", "agent 10"]);
    assert_eq!(words(&sandbox), ["1 failed", "2 failed", "10 failed", "20 open"]);
    assert!(
        ran.stdout.contains("3 iterations failed in a row: the agent exited with 3"),
        "{}",
        ran.stdout
    );
    // Finished ones stay finished; the rest is worked on.
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(lines(&sandbox, "log"), ["agent 1", "agent 2", "agent 10", "agent 20"]);
    assert_eq!(words(&sandbox)[3], "20 failed");
}

#[test]
fn what_hooks_say_about_an_error_gives_the_issue_another_try() {
    let sandbox = issues(
        "iteration:error: [{pipe_output: true, command: 'echo look here'}]",
        &command("cat > prompt.$ITERATION; echo agent $ISSUE_NUMBER >> log; [ $ITERATION != 1 ]"),
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["agent 1", "agent 1", "agent 2", "agent 10"]);
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done"]);
    let told = lines(&sandbox, "prompt.2").join("\n");
    assert!(told.contains("look here") && told.contains("issue 1"), "{told}");
}

#[test]
fn bounds_leave_the_rest_open_and_are_named() {
    let sandbox = issues(
        "session:stop: [{command: 'echo $ISSUES_COMPLETED of $ISSUES_TOTAL $REASON >> log'}]",
        &command("true"),
    )
    .file(
        "loop.yaml",
        format!("prompt: p\nagent: {{command: 'true'}}\nmax_iterations: 2\n{ISSUES}"),
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    assert!(ran.stdout.contains("max_iterations after 2 iterations"), "{}", ran.stdout);
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 open"]);
    assert_eq!(lines(&sandbox, "log"), ["2 of 3 max_iterations"]);
    // A limit that is reached in the middle of one leaves it open too.
    let sandbox = issues("", "{script: turns.yaml}")
        .file("turns.yaml", "turns: [[{status: {decision: continue}}]]")
        .file("loop.yaml", "prompt: p\nagent: {script: turns.yaml}\nmax_iterations: 4\ntermination: {type: queue, source: {issues: issues}, per_item: 3}\n");
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(words(&sandbox), ["1 done", "2 open", "10 open"]);
}

// Conformance: autoagent-010, autoagent-011
#[test]
fn a_blocked_stop_goes_on_with_what_is_open_by_now() {
    let sandbox = issues(
        "session:stop: [{command: 'echo stop $ISSUES_COMPLETED/$ISSUES_TOTAL $STOP_HOOK_ACTIVE >> log; [ -e issues/11-new.md ] || { echo more > issues/11-new.md; echo there is more >&2; exit 2; }'}]",
        &command("echo agent $ISSUE_NUMBER >> log"),
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        ["agent 1", "agent 2", "agent 10", "stop 3/3 false", "agent 11", "stop 4/4 true"]
    );
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done", "11 done"]);
}

// Conformance: autoagent-063
#[test]
fn a_session_that_was_interrupted_goes_on_with_the_issue_it_was_at() {
    let sandbox = issues(
        "",
        &command(
            "echo agent $ISSUE_NUMBER $HOOKWRIGHT_ATTEMPT >> log; if [ $ISSUE_NUMBER = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi",
        ),
    );
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    assert_eq!(words(&sandbox), ["1 done", "2 active", "10 open"]);
    // Another session takes the rest, not the same.
    let other = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(other.code, 0, "{}{}", other.stdout, other.stderr);
    assert_eq!(words(&sandbox), ["1 done", "2 active", "10 done"]);
    let said = sandbox.run(&["reopen", "2"]);
    assert!(said.stderr.contains("session s is working on issue 2"), "{}", said.stderr);
    started.kill();
    assert_eq!(words(&sandbox), ["1 done", "2 open", "10 done"]);
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "log"), ["agent 1 1", "agent 2 1", "agent 10 1", "agent 2 2"]);
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done"]);
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let session = &shown["session"];
    assert_eq!(session["issuesPlanned"], json!([1, 2, 10]));
    assert_eq!(session["issuesCompleted"], json!([1, 2]));
    assert_eq!(session["issuesFailed"], json!([]));
    assert_eq!(session["currentIssue"], Value::Null);
}

#[test]
fn what_is_being_done_when_a_session_is_interrupted_is_counted_once() {
    let stop =
        "session:stop: [{await: true, command: 'echo $ISSUES_COMPLETED of $ISSUES_TOTAL >> log'}]";
    let agent = "[ \"$ISSUE_TITLE\" = 'The first' ] || { kill -INT $PPID; exec sleep 1000; }";
    for source in ["{issues: issues/}", "{tasks: true}"] {
        let termination = format!("termination: {{type: queue, source: {source}}}");
        let agent = command(agent);
        let sandbox = issues(stop, "")
            .file("loop.yaml", format!("prompt: p\nagent: {agent}\n{termination}\n"));
        for task in ["The first", "The second", "The third"] {
            assert_eq!(sandbox.run(&["task", "add", task]).code, 0);
        }
        run(&sandbox, "loop.yaml", 130);
        assert_eq!(lines(&sandbox, "log"), ["1 of 3"], "{source}");
    }
}

/// A session whose agent kills it.
fn is_killed(sandbox: &Sandbox, arguments: &[&str]) {
    let killed = sandbox.command(arguments).output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stdout));
}

#[test]
fn a_session_that_died_leaves_to_another_what_that_one_has_taken() {
    let agent = command(
        "echo agent $SESSION $ISSUE_NUMBER >> log; if [ $ISSUE_NUMBER = 2 ] && [ ! -e killed ]; then touch killed; kill -9 $PPID; fi",
    );
    let log =
        "execution:post_end: [{await: true, command: 'echo end $SESSION $ISSUE_NUMBER >> log'}]";
    let sandbox = issues(log, &agent);
    is_killed(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    let other = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(other.code, 0, "{}{}", other.stdout, other.stderr);
    std::fs::write(sandbox.path("issues/11-more.md"), "# More\n").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let expected = [
        "agent s 1",
        "end s 1",
        "agent s 2",
        "agent t 2",
        "end t 2",
        "agent t 10",
        "end t 10",
        "agent s 11",
        "end s 11",
    ];
    assert_eq!(lines(&sandbox, "log"), expected);
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done", "11 done"]);
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    assert_eq!(shown["session"]["issuesCompleted"], json!([1, 11]));
}

#[test]
fn what_a_dead_session_left_running_is_ended_before_another_one_takes_up_its_work() {
    let agent = command(
        "if [ $SESSION = s ]; then echo $$ > pid; exec sleep 1000; fi; grep -qs sleep /proc/$(cat pid)/cmdline; echo $? >> log",
    );
    for source in ["{issues: issues/}", "{tasks: true}"] {
        let sandbox = Sandbox::new().file("issues/1-first.md", "# The first\n").file(
            "loop.yaml",
            format!("prompt: p\nagent: {agent}\ntermination: {{type: queue, source: {source}}}\n"),
        );
        assert_eq!(sandbox.run(&["task", "add", "the first"]).code, 0);
        let left = Left::by(&sandbox, "pid");
        let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
        until("the agent runs", || left.has_run());
        started.kill();
        let other = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
        assert_eq!(other.code, 0, "{}{}", other.stdout, other.stderr);
        assert!(lines(&sandbox, "log").iter().all(|found| found != "0"), "{source}");
        until("nothing is left", || left.is_gone());
    }
}

#[test]
fn what_was_left_to_another_session_stays_left_when_a_session_is_resumed_twice() {
    let agent = command(
        "echo agent $SESSION $ISSUE_NUMBER $ITERATION >> log; case $SESSION$ISSUE_NUMBER in s2|s11) [ -e killed$ISSUE_NUMBER ] || { touch killed$ISSUE_NUMBER; kill -9 $PPID; };; esac",
    );
    let sandbox = issues("", &agent);
    is_killed(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    let other = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(other.code, 0, "{}{}", other.stdout, other.stderr);
    std::fs::write(sandbox.path("issues/11-more.md"), "# More\n").unwrap();
    is_killed(&sandbox, &["resume", "s"]);
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let expected = [
        "agent s 1 1",
        "agent s 2 2",
        "agent t 2 1",
        "agent t 10 2",
        "agent s 11 3",
        "agent s 11 3",
    ];
    assert_eq!(lines(&sandbox, "log"), expected);
}

#[test]
fn a_command_says_what_is_open_and_the_agent_closes_it() {
    let sandbox = Sandbox::with_hooks("hooks: {'execution:post_end': [{await: true, command: 'echo \"$ISSUE_TITLE $SUCCESS\" >> log'}]}")
        .file("open", "fix $(touch pwned)\nbroken one\ntwice\n")
        .file(
            "loop.yaml",
            "prompt: p
agent:
  command: |
    case \"$ISSUE_TITLE\" in
      broken*) exit 1 ;;
      twice) [ -e once ] || { touch once; exit 0; } ;;
    esac
    grep -vxF \"$ISSUE_TITLE\" open > rest; mv rest open
termination: {type: queue, source: {command: 'cat open'}}
",
        );
    let ran = run(&sandbox, "loop.yaml", 0);
    // A failed one is not retried, an open one is.
    assert_eq!(
        lines(&sandbox, "log"),
        ["fix $(touch pwned) true", "broken one false", "twice true", "twice true"]
    );
    assert!(ran.stdout.contains("completed after 4 iterations"), "{}", ran.stdout);
    assert!(!sandbox.path("pwned").exists());
}

#[test]
fn what_a_dead_session_left_of_its_queues_command_is_ended_before_it_goes_on() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'echo agent >> log; touch done'}\ntermination: {type: queue, source: {command: '[ -e go ] || { echo $$ > pid; exec sleep 1000; }; [ -e done ] || echo one'}}\n",
    );
    let command = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the command runs", || command.has_run());
    started.kill();
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "log"), ["agent"]);
    until("nothing is left of the command", || command.is_gone());
}

#[test]
fn a_title_reaches_the_agent_also_where_no_environment_can_hold_it() {
    // Markdown replaces a NUL in the same way.
    let seen = "echo \"$ISSUE_TITLE\" >> seen; touch closed";
    for queue in ["{issues: issues/}", "{command: '[ -e closed ] || printf \"a\\0b\"'}"] {
        for prompt in ["stdin", "argument"] {
            let agent = format!("{{command: {}, prompt: {prompt}}}", json!(seen));
            let sandbox = Sandbox::new().file("issues/1-a.md", "# a\0b\n").file(
                "loop.yaml",
                format!(
                    "prompt: p\nagent: {agent}\ntermination: {{type: queue, source: {queue}}}\n"
                ),
            );
            run(&sandbox, "loop.yaml", 0);
            assert_eq!(lines(&sandbox, "seen"), ["a\u{fffd}b"], "{queue} {prompt}");
        }
    }
    // A text that is too long is in a file, as for hooks.
    let title = "x".repeat(100 * 1024);
    let agent = command(
        "printf %s \"$ISSUE_TITLE\" > short; cat \"$ISSUE_TITLE_FILE\" > long; cmp long \"$HOOKWRIGHT_ISSUE_TITLE_FILE\"",
    );
    let sandbox = Sandbox::new()
        .file("title", title.as_str())
        .file(
            "loop.yaml",
            format!("prompt: p\nagent: {agent}\ntermination: {{type: queue, source: {{command: '[ -e long ] || cat title'}}}}\n"),
        );
    run(&sandbox, "loop.yaml", 0);
    let read = |file: &str| std::fs::read_to_string(sandbox.path(file)).unwrap();
    assert_eq!((read("short"), read("long")), (String::new(), title));
}

#[test]
fn a_queues_command_that_fails_ends_the_session_with_its_words() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'true'}\ntermination: {type: queue, source: {command: 'echo no such thing >&2; exit 4'}}\n",
    );
    let ran = run(&sandbox, "loop.yaml", 5);
    assert!(
        ran.stdout.contains(
            "the queue's command `echo no such thing >&2; exit 4` failed: it exited with 4: no such thing"
        ),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_queue_that_never_empties_is_bounded() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'true'}\ntermination: {type: queue, source: {command: echo always}}\n",
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    assert!(ran.stdout.contains("max_iterations after 25 iterations"), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_a_queue_is_said_before_anything_starts() {
    for (rest, files, said) in [
        (ISSUES, &[][..], "there is no folder of issues `issues`"),
        (
            ISSUES,
            &["issues/1-a.md", "issues/01-b.md"],
            "two issues have the number 1: issues/01-b.md and issues/1-a.md; rename one of them",
        ),
        (ISSUES, &["issues/1-a.md/x"], "issues/1-a.md cannot be read: Is a directory"),
        ("termination: {type: queue, source: {}}\n", &[], "expected one of `command: …`"),
        (
            "termination: {type: queue, source: {tasks: true, issues: x}}\n",
            &[],
            "expected one of `command: …`",
        ),
        ("termination: {type: queue, source: {isues: x}}\n", &[], "unknown key `isues`"),
        (
            "termination: {type: queue, source: {isues: x}}\n",
            &[],
            "\n1 fault; nothing was started\n",
        ),
        (
            "termination: {type: queue, source: {tasks: false}}\n",
            &[],
            "expected true, or another source",
        ),
        ("termination: {type: queue, per_item: 0}\n", &[], "from 1 to 1000000 but found `0`"),
    ] {
        let sandbox = Sandbox::new()
            .file("loop.yaml", format!("prompt: p\nagent: {{command: touch ran}}\n{rest}"));
        let sandbox = files.iter().fold(sandbox, |sandbox, file| sandbox.file(file, ""));
        let ran = run(&sandbox, "loop.yaml", 1);
        assert!(ran.stderr.contains(said), "{rest}: {}", ran.stderr);
        assert!(ran.stderr.contains("loop.yaml:3:"), "{rest}: {}", ran.stderr);
        assert!(!sandbox.path("ran").exists());
    }
}

#[test]
fn an_issue_that_becomes_faulty_meanwhile_is_left_out_and_told_and_the_others_are_worked_off() {
    let agent = "echo $ISSUE_NUMBER >> done; mkdir -p issues/11-x.md; touch issues/02-again.md";
    let sandbox = issues("", &command(agent));
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "done"), ["1", "10"]);
    for said in [
        "skipped: two issues have the number 2: issues/02-again.md and issues/2-second.md; rename one of them",
        "skipped: issues/11-x.md cannot be read: Is a directory (os error 21)",
    ] {
        assert_eq!(ran.stdout.matches(said).count(), 1, "{said}: {}", ran.stdout);
    }
    // `status` shows the others, and the fault.
    assert_eq!(words(&sandbox), ["1 done", "10 done"]);
    let (_, status) = sandbox.json(&["status", "--json"]);
    assert_eq!(status["work"]["problems"].as_array().map(Vec::len), Some(2), "{status}");
    let shown = sandbox.run(&["status"]).stdout;
    let said = "some issues cannot be read: two issues have the number 2: issues/02-again.md and ";
    assert!(shown.contains(said), "{shown}");
    // No new session starts with them.
    let ran = run(&sandbox, "loop.yaml", 1);
    assert!(ran.stderr.contains("two issues have the number 2"), "{}", ran.stderr);
}

#[test]
fn files_that_are_probably_meant_as_issues_are_named_by_run_check_and_status() {
    let sandbox = issues("", &command("true"))
        .file("issues/6_a.md", "")
        .file("issues/issue-7.md", "")
        .file("issues/README.md", "");
    let said = "issues/6_a.md, issues/issue-7.md are not issues: expected a name like `6-title.md`";
    let warning = format!(
        "warning: {said}
 --> loop.yaml:3:45
  |
3 | termination: {{type: queue, source: {{issues: issues/}}}}
  |                                             ^^^^^^^
help: rename the files that are issues to `N-title.md`, each with a number of its own

"
    );
    assert_eq!(
        sandbox.run(&["check", "loop.yaml"]),
        Ran::new(0, "1 file checked, 0 hooks, no faults, 1 warning\n", &warning)
    );
    assert_eq!(run(&sandbox, "loop.yaml", 0).stderr, warning);
    let status = sandbox.run(&["status"]).stdout;
    assert_eq!(status.matches(&format!("\nnote: {said}\n")).count(), 1, "{status}");
    let (_, status) = sandbox.json(&["status", "--json"]);
    assert_eq!(status["work"]["notes"], json!([said]));
    assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done"]);
}

#[test]
fn killed_anywhere_around_an_item_no_item_is_lost_or_done_twice() {
    let kill = "case \"$ISSUE_NUMBER\" in 2|\"\") [ -e killed ] || { touch killed; kill -9 $PPID; };; esac";
    let log =
        "execution:post_end: [{await: true, command: 'echo end $ISSUE_NUMBER $SUCCESS >> log'}]";
    for event in [
        "execution:pre_start",
        "execution:post_start",
        "iteration:start",
        "iteration:complete",
        "execution:pre_end",
        "execution:post_end",
        "stage:complete",
        "session:stop",
        "session:end",
    ] {
        let sandbox = issues(log, "").file(
            "loop.yaml",
            format!(
                "prompt: p\nagent: {{command: 'echo agent $ISSUE_NUMBER >> log'}}\n{ISSUES}hooks: {{{event}: [{{await: true, command: '{kill}'}}]}}\n"
            ),
        );
        let ran = sandbox.command(&["run", "loop.yaml", "--session", "s"]).output().unwrap();
        assert_eq!(ran.status.code(), None, "{event}: {}", String::from_utf8_lossy(&ran.stdout));
        let ran = sandbox.run(&["resume", "s"]);
        assert_eq!(ran.code, 0, "{event}: {}{}", ran.stdout, ran.stderr);
        let log = lines(&sandbox, "log");
        let expected =
            ["agent 1", "end 1 true", "agent 2", "end 2 true", "agent 10", "end 10 true"];
        assert_eq!(log, expected, "{event}");
        assert_eq!(words(&sandbox), ["1 done", "2 done", "10 done"], "{event}");
    }
}

// Conformance: autoagent-005, autoagent-006, autoagent-007, autoagent-008, autoagent-010
// Conformance: autoagent-016, autoagent-017, autoagent-018, autoagent-037
#[test]
fn files_of_autoagent_run_whole() {
    let config = json!({ "hooks": {
        "PreExecutionStart": [{ "type": "command", "command": "[ {{issueNumber}} != 1 ] || { echo not {{issueTitle}} >&2; exit 2; }" }],
        "PostExecutionStart": [{ "type": "command", "command": "echo started {{issueNumber}} {{planFile}} >> log" }],
        "PreExecutionEnd": [{ "type": "command", "command": "cat >> seen; [ {{issueNumber}} != 10 ] || echo '{\"decision\": \"block\", \"reason\": \"no tests\"}'" }],
        "PostExecutionEnd": [
            { "type": "command", "command": "echo ended {{issueNumber}} {{success}} {{filesModified}} >> log" },
            { "type": "git-commit", "message": "feat: issue {{issueNumber}} - {{issueTitle}}" }
        ],
        "Stop": [{ "type": "command", "command": "echo stop {{issuesCompleted}}/{{issuesTotal}} {{reason}} >> log" }],
    }});
    let sandbox = issues("", &command("echo x > file.$ISSUE_NUMBER"))
        .file(".autoagent/config.json", config.to_string())
        .file(".gitignore", "log\nseen\n");
    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(sandbox.path(""))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "T"]);
    git(&["config", "user.email", "t@example.org"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "begin"]);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "started 2 plans/2-second.md",
            "ended 2 true file.2",
            "started 10 ",
            "ended 10 false file.10",
            "stop 1/3 completed",
        ]
    );
    assert_eq!(words(&sandbox), ["1 blocked", "2 done", "10 failed"]);
    let seen: Value = serde_json::from_str(&lines(&sandbox, "seen")[0]).unwrap();
    assert_eq!(seen["eventName"], "PreExecutionEnd");
    assert_eq!(seen["issueNumber"], 2);
    assert_eq!(seen["filesModified"], json!(["file.2"]));
    assert_eq!(seen["provider"], "command");
    assert_eq!(
        git(&["log", "--format=%s"]),
        "feat: issue 10 - last one\nfeat: issue 2 - It's \"$(touch pwned)\" `x` {{y}}\nbegin\n"
    );
    assert!(!sandbox.path("pwned").exists());
}
