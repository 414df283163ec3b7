//! Tasks that are completed while a session runs: the session's own hooks run, and their messages
//! reach its agent.

use std::process::Stdio;

use crate::interrupts::{Left, start, until};
use crate::runs::{lines, prompts, run};
use crate::support::{Ran, Sandbox};

/// A loop whose agent keeps its prompts and does this, with the tasks `a`, `b` and `c`.
fn a_loop(iterations: u32, does: &str) -> Sandbox {
    let sandbox = Sandbox::new()
        .file(
            "loop.yaml",
            format!(
                "prompt: 'task ${{ITERATION}}{{${{STATUS.x}}}}'\ntermination: {{type: fixed, iterations: {iterations}}}\nagent: {{command: 'number=$(ls ../prompts 2>/dev/null | wc -l); mkdir -p ../prompts; cat > ../prompts/$number; . ./does'}}\n"
            ),
        )
        .file("does", does);
    for task in ["a", "b", "c"] {
        assert_eq!(sandbox.run(&["task", "add", task]).code, 0);
    }
    sandbox
}

fn hooks(sandbox: Sandbox, hooks: &str) -> Sandbox {
    sandbox.file("hookwright.yaml", format!("hooks: {{task:complete: [{hooks}]}}"))
}

fn iteratr(sandbox: Sandbox, command: &str) -> Sandbox {
    let hook = format!("{{command: '{command}', pipe_output: true}}");
    sandbox.file(".iteratr.hooks.yml", format!("hooks:\n  on_task_complete: [{hook}]\n"))
}

fn task(number: u32) -> String {
    format!("task {number}{{}}")
}

fn states(sandbox: &Sandbox) -> Vec<String> {
    let (_, tasks) = sandbox.json(&["task", "list", "--all", "--json"]);
    let mut states: Vec<(u64, String)> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            let number = task["id"].as_str().unwrap()[4..].parse().unwrap();
            (number, task["state"].as_str().unwrap().to_owned())
        })
        .collect();
    states.sort();
    states.into_iter().map(|(_, state)| state).collect()
}

// Conformance: iteratr-023, iteratr-031, iteratr-038
#[test]
fn an_agent_completes_tasks_and_what_the_hooks_say_joins_its_next_prompt_in_order() {
    let does = "case $number in
        0) cd /tmp/.. ; cd \"$HOOKWRIGHT_PROJECT\"; mkdir -p deep; cd deep
           $HOOKWRIGHT_BIN task done TAS-2 >> ../log 2>&1; $HOOKWRIGHT_BIN task done 1 >> ../log 2>&1;;
    esac";
    let sandbox = iteratr(a_loop(2, does), "echo {{session}} {{task_id}} {{task_content}}");
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["TAS-2 is completed", "TAS-1 is completed"]);
    let said = "s TAS-2 b\n\ns TAS-1 a\n";
    assert_eq!(prompts(&sandbox), [task(1), format!("{said}\n{}", task(2))]);
    assert_eq!(states(&sandbox), ["completed", "completed", "open"]);
}

// Conformance: iteratr-034
#[test]
fn what_is_completed_last_is_delivered_and_what_that_delivery_completes_is_told() {
    let does = "case $number in
        0) $HOOKWRIGHT_BIN task done 1 > log 2>&1;;
        1) $HOOKWRIGHT_BIN task done 2 >> log 2>&1;;
    esac";
    let sandbox = iteratr(a_loop(1, does), "echo {{task_id}}");
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox), [task(1), "TAS-1\n".into()]);
    assert_eq!(states(&sandbox), ["completed", "completed", "open"]);
    let note =
        "note: not delivered to the agent, since the final delivery was made before: TAS-2\n";
    assert!(ran.stdout.contains(note), "{}", ran.stdout);
}

#[test]
fn a_completion_that_the_agent_left_in_the_background_is_waited_for_and_delivered() {
    let does = "[ $number != 0 ] || { setsid $HOOKWRIGHT_BIN task done 1 > log 2>&1 < /dev/null & while [ ! -e begun ]; do sleep 0.01; done; }";
    let command = "touch begun; while [ ! -e ended ]; do sleep 0.01; done; echo late";
    let sandbox = iteratr(a_loop(1, does), command)
        .file("hookwright.yaml", "hooks: {stage:complete: [{await: true, command: touch ended}]}");
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox), [task(1), "late\n".to_owned()]);
    assert_eq!(states(&sandbox)[0], "completed");
}

// Conformance: claude-code-050
#[test]
fn a_hook_of_the_loop_blocks_the_agents_task_which_stays_open_and_says_why() {
    let sandbox = a_loop(2, "$HOOKWRIGHT_BIN task done 1 >> log 2>&1; echo $? >> log");
    let text = std::fs::read_to_string(sandbox.path("loop.yaml")).unwrap();
    let hook = "hooks: {task:complete: [{command: 'echo \"$STAGE $ITERATION $TASK_ID\" >> log; [ $ITERATION = 2 ] || { echo tests fail >&2; exit 2; }'}]}\n";
    let sandbox = sandbox.file("loop.yaml", text + hook);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "project 1 TAS-1",
            "TAS-1 stays open: tests fail",
            "2",
            "project 2 TAS-1",
            "TAS-1 is completed",
            "0",
        ]
    );
    assert_eq!(states(&sandbox), ["completed", "open", "open"]);
}

#[test]
fn a_person_completes_a_task_with_the_hooks_of_the_only_session_that_runs() {
    let does = "touch works; while [ ! -e go ]; do sleep 0.01; done";
    let sandbox = hooks(a_loop(2, does), "{pipe_output: true, command: echo $SESSION}");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("works").exists());
    assert_eq!(sandbox.run(&["task", "done", "3"]), Ran::new(0, "TAS-3 is completed\n", ""));
    let (_, tasks) = sandbox.json(&["task", "list", "--state", "completed", "--json"]);
    assert_eq!(tasks[0]["session"], "s");
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(started.ran().code, 0);
    assert!(
        prompts(&sandbox)[1].ends_with(&format!("\n\ns\n\n{}", task(2))),
        "{:?}",
        prompts(&sandbox)
    );
}

// Conformance: iteratr-025
#[test]
fn many_tasks_completed_at_once_are_all_counted_once() {
    let does = "for id in $(seq 4 23); do $HOOKWRIGHT_BIN task done $id >> log 2>&1 & done; wait";
    let sandbox = iteratr(a_loop(1, does), "echo {{task_id}} >> fired; echo {{task_id}}");
    for number in 4..=23 {
        assert_eq!(sandbox.run(&["task", "add", &format!("task {number}")]).code, 0);
    }
    // From the first prompt; the last one completes a completed task.
    run(&sandbox, "loop.yaml", 0);
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    let ids = sorted((4..=23).map(|number| format!("TAS-{number}")).collect());
    assert_eq!(sorted(lines(&sandbox, "fired")), ids);
    let told = prompts(&sandbox)[1].clone();
    assert_eq!(sorted(told.lines().filter(|it| !it.is_empty()).map(str::to_owned).collect()), ids);
    assert_eq!(states(&sandbox)[3..], ["completed"; 20]);
    let log = lines(&sandbox, "log");
    assert_eq!(log.iter().filter(|line| line.ends_with(" is completed")).count(), 20, "{log:?}");
    assert_eq!(log.iter().filter(|line| line.ends_with(" already")).count(), 20, "{log:?}");
}

#[test]
fn two_callers_that_complete_a_task_of_a_session_get_the_same_answer_from_one_firing() {
    let does = "touch works; while [ ! -e over ]; do sleep 0.01; done";
    let sandbox = hooks(
        a_loop(1, does),
        "{command: 'echo $TASK_ID >> fired; while [ ! -e go ]; do sleep 0.01; done; echo no >&2; exit 2'}",
    );
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("works").exists());
    let ask = || {
        let mut command = sandbox.command(&["task", "done", "1"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let first = ask();
    until("the hook runs", || sandbox.path("fired").exists());
    let mut second = ask();
    // It waits, and says so.
    let words = b"waiting for the hooks of session s\n";
    let mut heard = [0; 35];
    std::io::Read::read_exact(second.stderr.as_mut().unwrap(), &mut heard).unwrap();
    assert_eq!(heard, *words);
    std::fs::write(sandbox.path("go"), "").unwrap();
    for child in [first, second] {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.ends_with("TAS-1 stays open: no\n"), "{}", ran.stderr);
    }
    std::fs::write(sandbox.path("over"), "").unwrap();
    assert_eq!(started.ran().code, 0);
    assert_eq!(lines(&sandbox, "fired"), ["TAS-1"]);
}

#[test]
fn a_hook_of_a_session_that_completes_its_own_task_does_not_wait_for_itself() {
    let sandbox = hooks(
        a_loop(1, "$HOOKWRIGHT_BIN task done 1 >> log 2>&1"),
        "{id: me, command: '$HOOKWRIGHT_BIN task done $TASK_ID >> log 2>&1; $HOOKWRIGHT_BIN task done 2 >> log 2>&1; exit 0'}",
    );
    run(&sandbox, "loop.yaml", 0);
    let log = lines(&sandbox, "log");
    // While it runs, it cannot be asked about another task, so that one is not completed.
    let circle = "it would wake itself again: task:complete (me) → task:complete (me)";
    let refused = format!("TAS-2 stays open: hook me failed (cannot start: {circle})");
    assert_eq!(log, ["TAS-1 is being completed", &refused, "TAS-1 is completed"]);
}

#[test]
fn a_hook_of_a_task_that_aborts_ends_the_session_after_the_turn() {
    let sandbox = hooks(
        a_loop(3, "$HOOKWRIGHT_BIN task done 1 >> log 2>&1; echo $? >> log"),
        "{on_failure: abort, command: echo broken >&2; exit 1}",
    );
    let ran = run(&sandbox, "loop.yaml", 3);
    assert_eq!(prompts(&sandbox), [task(1)]);
    assert_eq!(states(&sandbox)[0], "open");
    assert_eq!(lines(&sandbox, "log").last().map(String::as_str), Some("2"));
    assert!(ran.stdout.contains("session s: aborted"), "{}", ran.stdout);
}

/// A session whose agent completes task 1; the first time, the hook hangs after it has left its
/// mark.
fn cut_off_in_its_hook() -> Sandbox {
    let command = "echo {{task_id}} $HOOKWRIGHT_ATTEMPT >> fired; [ -e go ] || { echo $$ > pid; exec sleep 1000; }; echo said";
    iteratr(a_loop(1, "[ $number != 0 ] || $HOOKWRIGHT_BIN task done 1 >> log 2>&1"), command)
}

#[test]
fn killed_while_the_hook_runs_it_runs_again_when_the_session_goes_on() {
    for native in [false, true] {
        let mut sandbox = cut_off_in_its_hook();
        if native {
            std::fs::remove_file(sandbox.path(".iteratr.hooks.yml")).unwrap();
            sandbox = hooks(
                sandbox,
                "{pipe_output: true, command: 'echo $TASK_ID $HOOKWRIGHT_ATTEMPT >> fired; [ -e go ] || { echo $$ > pid; exec sleep 1000; }; echo said'}",
            );
        }
        let hook = Left::by(&sandbox, "pid");
        let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
        until("the hook runs", || hook.has_run());
        started.kill();
        // Hooks that can block run before the task is done, the others after it.
        assert_eq!(states(&sandbox)[0], if native { "open" } else { "completed" });
        std::fs::write(sandbox.path("go"), "").unwrap();
        let ran = sandbox.run(&["resume", "s"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(lines(&sandbox, "fired"), ["TAS-1 1", "TAS-1 2"]);
        assert_eq!(states(&sandbox), ["completed", "open", "open"]);
        // The turn that was cut off is repeated, with the hook's message.
        let told = prompts(&sandbox);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].contains("said\n"), "{told:?}");
        assert!(told[1].ends_with(&task(1)), "{told:?}");
    }
}

#[test]
fn an_agent_that_outlives_its_session_completes_nothing_behind_the_back_of_its_hooks() {
    let does = "echo $$ > pid; until [ -e dead ]; do sleep 0.05; done
        $HOOKWRIGHT_BIN task done 1 >> log 2>&1; echo $? >> log";
    let guard = "hooks: {task:complete: [{id: guard, command: 'echo $TASK_ID >> asked'}]}\n";
    let sandbox = a_loop(1, does);
    let text = std::fs::read_to_string(sandbox.path("loop.yaml")).unwrap();
    let sandbox = sandbox.file("loop.yaml", text + guard);
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    started.kill();
    std::fs::write(sandbox.path("dead"), "").unwrap();
    until("the agent has been told", || {
        sandbox.path("log").exists() && lines(&sandbox, "log").len() >= 3
    });
    let told = [
        "error: session `s` was killed, so its hooks cannot run; `TAS-1` is open",
        "help: resume it: `hookwright resume s`",
        "1",
    ];
    assert_eq!(lines(&sandbox, "log"), told);
    assert_eq!(states(&sandbox)[0], "open");
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "log")[told.len()..], ["TAS-1 is completed", "0"]);
    assert_eq!(lines(&sandbox, "asked"), ["TAS-1"]);
}

#[test]
fn an_interrupt_ends_the_hook_and_the_task_is_completed_when_the_session_goes_on() {
    let sandbox = hooks(
        a_loop(1, "[ -e go ] || $HOOKWRIGHT_BIN task done 1 >> log 2>&1"),
        "{command: 'echo $TASK_ID $HOOKWRIGHT_ATTEMPT >> fired; [ -e go ] || { echo $$ > pid; exec sleep 1000; }'}",
    );
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook runs", || hook.has_run());
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    until("nothing is left", || hook.is_gone());
    assert_eq!(states(&sandbox)[0], "open");
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "fired"), ["TAS-1 1", "TAS-1 2"]);
    assert_eq!(states(&sandbox)[0], "completed");
}

#[test]
fn a_state_folder_that_lies_deep_has_a_desk_all_the_same() {
    let sandbox = iteratr(a_loop(2, ""), "echo {{session}}");
    let deep = sandbox.path(&format!("../{}", "deep/".repeat(40)));
    std::fs::create_dir_all(&deep).unwrap();
    let sandbox = sandbox
        .set("XDG_STATE_HOME", &deep.canonicalize().unwrap().to_string_lossy())
        .file("does", "[ $number != 0 ] || $HOOKWRIGHT_BIN task done 1 > log 2>&1");
    assert_eq!(sandbox.run(&["task", "add", "a"]).code, 0);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["TAS-1 is completed"]);
    assert_eq!(prompts(&sandbox)[1], format!("s\n\n{}", task(2)));
}

#[test]
fn nothing_of_the_desk_is_left_and_others_may_not_enter_it() {
    use std::os::unix::fs::PermissionsExt;
    let does = "stat -c '%a %F' $HOME/.local/state/hookwright/desks $HOME/.local/state/hookwright/desks/* > log";
    let sandbox = a_loop(1, does);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["700 directory", "600 socket"]);
    let desks = sandbox.path("../.local/state/hookwright/desks");
    assert_eq!(std::fs::read_dir(&desks).unwrap().count(), 0);
    // The socket is not created in a folder that others may enter. The session continues without
    // it, and since its hooks cannot be asked, no task is completed.
    std::fs::set_permissions(&desks, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = sandbox.file("does", "$HOOKWRIGHT_BIN task done 1 > log 2>&1; echo $? >> log");
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "t"]);
    assert_eq!(ran.code, 0);
    let note = "this session cannot receive requests to complete tasks: `";
    assert!(ran.stdout.contains(note), "{}", ran.stdout);
    let refused = "error: session `t` is running but cannot be reached; `TAS-1` is open";
    let log = lines(&sandbox, "log");
    assert_eq!(log[0], "waiting for session t: its socket is missing");
    assert_eq!((log[1].as_str(), log[3].as_str()), (refused, "1"), "{log:?}");
}

#[test]
fn callers_that_say_nothing_or_nonsense_or_go_away_do_no_harm() {
    let does = "touch works; while [ ! -e go ]; do sleep 0.01; done";
    let sandbox = iteratr(a_loop(1, does), "echo {{task_id}} >> fired");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("works").exists());
    let desks = sandbox.path("../.local/state/hookwright/desks");
    let desk = std::fs::read_dir(desks).unwrap().next().unwrap().unwrap().path();
    let call = || std::os::unix::net::UnixStream::connect(&desk).unwrap();
    let said = |line: &str| {
        use std::io::{Read, Write};
        let mut caller = call();
        caller.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        caller.read_to_string(&mut answer).unwrap();
        answer
    };
    let silent = call();
    assert_eq!(
        said("nonsense\n"),
        "{\"answer\":\"failed\",\"reason\":\"the request cannot be parsed: expected ident at line 1 column 2\"}\n"
    );
    let project = sandbox.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let request = |session: &str, id: &str| {
        format!(
            "{{\"version\":1,\"project\":\"{project}\",\"session\":\"{session}\",\"complete_task\":\"{id}\"}}\n"
        )
    };
    assert_eq!(said(&request("another", "TAS-1")), "{\"answer\":\"closed\"}\n");
    assert_eq!(
        said(&request("s", "TAS-9")),
        "{\"answer\":\"failed\",\"reason\":\"there is no task `TAS-9`\"}\n"
    );
    {
        use std::io::Write;
        call().write_all(request("s", "TAS-2").as_bytes()).unwrap();
    }
    until("what was asked for is done", || states(&sandbox)[1] == "completed");
    assert_eq!(said(&request("s", "TAS-1")), "{\"answer\":\"completed\",\"messages\":[]}\n");
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(started.ran().code, 0);
    drop(silent);
    let mut fired = lines(&sandbox, "fired");
    fired.sort();
    assert_eq!(fired, ["TAS-1", "TAS-2"]);
}

/// A loop that works on the tasks, whose agent does this.
fn a_queue(does: &str) -> Sandbox {
    a_loop(1, does).file(
        "loop.yaml",
        "prompt: 'work on ${TASK_ID}, status ${STATUS}'\ntermination: {type: queue}\nagent: {command: 'cat > /dev/null; . ./does'}\n",
    )
}

#[test]
fn every_task_of_a_queue_runs_its_hooks_once_whichever_caller_completes_it() {
    let sandbox =
        a_queue("[ \"$TASK_ID\" != TAS-2 ] || $HOOKWRIGHT_BIN task done $TASK_ID > log 2>&1");
    let state = "$HOOKWRIGHT_BIN task list --all 2>/dev/null | grep \"$TASK_ID \" | tr -s \" \" | cut -d\" \" -f2";
    let sandbox = hooks(sandbox, &format!("{{command: 'echo $TASK_ID $({state}) >> fired'}}"));
    let sandbox = iteratr(sandbox, &format!("echo {{{{task_id}}}} $({state}) >> fired"));
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["TAS-2 is completed"]);
    assert_eq!(
        lines(&sandbox, "fired"),
        ["TAS-1", "TAS-2", "TAS-3"]
            .map(|id| [format!("{id} in_progress"), format!("{id} completed")])
            .concat()
    );
    assert_eq!(states(&sandbox), ["completed"; 3]);
}

#[test]
fn a_task_of_a_queue_whose_hook_says_no_is_not_asked_about_again_after_a_kill() {
    // The hanging hook comes after the decision, at the end of the execution.
    let sandbox = a_queue("").file(
        "hookwright.yaml",
        "hooks: {task:complete: [{command: 'echo $TASK_ID >> fired; [ $TASK_ID != TAS-1 ] || { echo no >&2; exit 2; }'}], execution:post_end: [{await: true, command: '[ $TASK_ID != TAS-1 ] || [ -e go ] || { echo $$ > pid; exec sleep 1000; }'}]}",
    );
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook runs", || hook.has_run());
    started.kill();
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "fired"), ["TAS-1", "TAS-2", "TAS-3"]);
    assert_eq!(states(&sandbox), ["blocked", "completed", "completed"]);
}

#[test]
fn a_task_of_a_queue_that_was_cut_off_in_its_hook_is_asked_about_again() {
    let sandbox = hooks(
        a_queue(""),
        "{command: 'echo $TASK_ID $HOOKWRIGHT_ATTEMPT >> fired; [ $TASK_ID != TAS-2 ] || [ -e go ] || { echo $$ > pid; exec sleep 1000; }; [ $TASK_ID != TAS-2 ] || { echo no >&2; exit 2; }'}",
    );
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook runs", || hook.has_run());
    started.kill();
    assert_eq!(states(&sandbox), ["completed", "in_progress", "open"]);
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "fired"), ["TAS-1 1", "TAS-2 1", "TAS-2 2", "TAS-3 1"]);
    assert_eq!(states(&sandbox), ["completed", "blocked", "completed"]);
}
