//! An agent that tries to complete a task although a guard blocks it.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use crate::hook_claude::{call, sent, trusted};
use crate::interrupts::{Left, start, until};
use crate::runs::lines;
use crate::support::{Ran, Sandbox};

/// A guard that always blocks, and keeps its chain.
const GUARD: &str = "{id: guard, command: 'printf %s \"$HOOKWRIGHT_CHAIN\" > chain; echo $TASK_ID >> asked; echo no >&2; exit 2'}";

/// A loop whose guard always blocks, and whose agent does this.
fn guarded(does: &str) -> Sandbox {
    let agent = "agent: {command: 'cat > /dev/null; . ./does'}\ntermination: {type: fixed, iterations: 1}\nprompt: work\n";
    let sandbox = Sandbox::new()
        .file("loop.yaml", format!("{agent}hooks: {{task:complete: [{GUARD}]}}\n"))
        .file("lenient.yaml", agent.replace("./does", "./does-too"))
        .file("does", does)
        .file("does-too", "touch lenient-works; until [ -e over ]; do sleep 0.01; done");
    for task in ["a", "b"] {
        assert_eq!(sandbox.run(&["task", "add", task]).code, 0);
    }
    sandbox
}

fn state_of(sandbox: &Sandbox, id: &str) -> String {
    let (_, tasks) = sandbox.json(&["task", "list", "--all", "--json"]);
    let task = tasks.as_array().unwrap().iter().find(|task| task["id"] == id).unwrap();
    task["state"].as_str().unwrap().to_owned()
}

/// Runs the loop to its end, and checks the exit codes that the agent has kept: each attempt was
/// blocked.
fn all_blocked(sandbox: &Sandbox, tries: usize) {
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let log = lines(sandbox, "log").join("\n");
    assert_eq!(lines(sandbox, "codes"), vec!["2"; tries], "{log}");
    assert_eq!(lines(sandbox, "asked").len(), tries, "{log}");
    assert_eq!(state_of(sandbox, "TAS-1"), "open", "{log}");
}

const TRY: &str = "try() { \"$@\" >> log 2>&1; echo $? >> codes; }\n";

#[test]
fn a_forged_chain_completes_no_task() {
    let five = json!(["a", "b", "c", "d", "e"].map(|hook| json!({ "event": hook, "hook": hook })));
    let does = format!(
        "{TRY}try $HOOKWRIGHT_BIN task done 1
         HOOKWRIGHT_CHAIN=$(cat chain) try $HOOKWRIGHT_BIN task done 1
         HOOKWRIGHT_CHAIN='{five}' try $HOOKWRIGHT_BIN task done 1
         HOOKWRIGHT_CHAIN=nonsense try $HOOKWRIGHT_BIN task done 1"
    );
    let sandbox = guarded(&does);
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(lines(&sandbox, "codes"), ["2"; 4], "{:?}", lines(&sandbox, "log"));
    // A chain that claims that the guard is running keeps it from running, and the answer is no.
    assert_eq!(lines(&sandbox, "asked"), ["TAS-1"; 2]);
    let log = lines(&sandbox, "log");
    assert!(log.iter().any(|line| line.contains("it would wake itself again")), "{log:?}");
    assert!(log.iter().any(|line| line.contains("already nested 4 deep")), "{log:?}");
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
    // The same without a session.
    let sandbox = sandbox.file("hookwright.yaml", format!("hooks: {{task:complete: [{GUARD}]}}"));
    assert_eq!(sandbox.run(&["task", "done", "1"]).code, 2);
    let chain = std::fs::read_to_string(sandbox.path("chain")).unwrap();
    for forged in [chain, five.to_string()] {
        let sandbox = sandbox.command(&["task", "done", "1"]);
        let ran = { sandbox }.env("HOOKWRIGHT_CHAIN", forged).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    }
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn what_a_guard_runs_completes_no_other_task() {
    // A guard that runs the project's tests runs the agent's own code.
    let sandbox = guarded("$HOOKWRIGHT_BIN task done 1 >> log 2>&1; echo $? >> codes")
        .file("tests.sh", "$HOOKWRIGHT_BIN task done 2 >> log 2>&1; echo $? >> codes; exit 2");
    let text = std::fs::read_to_string(sandbox.path("loop.yaml")).unwrap();
    let sandbox = sandbox.file("loop.yaml", text.replace("echo no >&2; exit 2", ". ./tests.sh"));
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(lines(&sandbox, "codes"), ["2", "2"], "{:?}", lines(&sandbox, "log"));
    assert_eq!(state_of(&sandbox, "TAS-2"), "open");
}

fn desks(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("../.local/state/hookwright/desks")
}

#[test]
fn a_session_whose_socket_is_removed_is_asked_all_the_same() {
    let desks = "$HOME/.local/state/hookwright/desks";
    let does = format!(
        "{TRY}rm {desks}/*; try $HOOKWRIGHT_BIN task done 1
         rm -r {desks}; try $HOOKWRIGHT_BIN task done 1"
    );
    all_blocked(&guarded(&does), 2);
}

#[test]
fn a_session_that_cannot_be_reached_completes_nothing() {
    let desks = "$HOME/.local/state/hookwright/desks";
    let does = format!(
        "{TRY}desk=$(echo {desks}/*); rm $desk; mkdir $desk; try $HOOKWRIGHT_BIN task done 1; rmdir $desk"
    );
    let sandbox = guarded(&does);
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "waiting for session s: its socket is missing",
            "error: session `s` is running but cannot be reached; `TAS-1` is open",
            "help: try again; if that does not help, read what the session's first lines say about tasks",
        ]
    );
    assert_eq!(lines(&sandbox, "codes"), ["1"]);
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn a_socket_that_another_process_puts_in_its_place_is_not_believed() {
    let sandbox = guarded("touch works; until [ -e over ]; do sleep 0.01; done");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("works").exists());
    let desk = std::fs::read_dir(desks(&sandbox)).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&desk).unwrap();
    let fake = UnixListener::bind(&desk).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut caller, _)) = fake.accept() {
            let _ = caller.read(&mut [0; 1]);
            let _ = caller.write_all(b"{\"answer\":\"closed\"}\n");
        }
    });
    let ran = sandbox.run(&["task", "done", "1"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, "TAS-1 stays open: no\n"));
    std::fs::write(sandbox.path("over"), "").unwrap();
    assert_eq!(started.ran().code, 0);
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn the_session_in_which_the_agent_works_is_asked_whatever_its_environment_says() {
    let does = format!(
        "{TRY}HOOKWRIGHT_SESSION=lenient try $HOOKWRIGHT_BIN task done 1
         try env -u HOOKWRIGHT_SESSION $HOOKWRIGHT_BIN task done 1
         try env -i HOME=$HOME $HOOKWRIGHT_BIN task done 1
         (env -i HOME=$HOME setsid sh -c '
            '$HOOKWRIGHT_BIN' task done 1 >> log 2>&1; echo $? >> codes; touch left' &)
         until [ -e left ]; do sleep 0.01; done
         HOOKWRIGHT_SESSION=lenient $HOOKWRIGHT_BIN task update 1 --state in_progress >> log 2>&1
         HOOKWRIGHT_SESSION=lenient try $HOOKWRIGHT_BIN task done 1
         $HOOKWRIGHT_BIN task update 1 --state open >> log 2>&1"
    );
    let sandbox = guarded(&does);
    let lenient = start(&sandbox, &["run", "lenient.yaml", "--session", "lenient"]);
    until("the other agent works", || sandbox.path("lenient-works").exists());
    all_blocked(&sandbox, 5);
    std::fs::write(sandbox.path("over"), "").unwrap();
    assert_eq!(lenient.ran().code, 0);
}

#[test]
fn the_session_that_works_on_a_task_decides_whichever_caller_completes_it() {
    let sandbox = guarded(
        "$HOOKWRIGHT_BIN task update 1 --state in_progress >> log 2>&1; touch works
         until [ -e over ]; do sleep 0.01; done",
    )
    .file(
        "does-too",
        "touch lenient-works; until [ -e works ]; do sleep 0.01; done
         $HOOKWRIGHT_BIN task done 1 >> said 2>&1; echo $? >> said
         $HOOKWRIGHT_BIN task update 1 --state open >> said 2>&1; echo $? >> said
         touch over",
    );
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("works").exists());
    // A caller outside of both.
    assert_eq!(sandbox.run(&["task", "done", "1"]).code, 2);
    let ran = sandbox.run(&["run", "lenient.yaml", "--session", "lenient"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(started.ran().code, 0);
    assert_eq!(
        lines(&sandbox, "said"),
        [
            "TAS-1 stays in_progress: no",
            "2",
            "error: session `s` works on `TAS-1`",
            "help: wait until it has ended, or change the task outside any session",
            "1",
        ]
    );
    assert_eq!(lines(&sandbox, "asked"), ["TAS-1", "TAS-1"]);
    assert_eq!(state_of(&sandbox, "TAS-1"), "in_progress");
}

#[test]
fn a_session_completes_no_task_on_which_another_one_works() {
    let sandbox = guarded(
        "$HOOKWRIGHT_BIN task update 1 --state in_progress >> log 2>&1; touch works
         until [ -e over ]; do sleep 0.01; done",
    );
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("works").exists());
    let before = std::fs::read_dir(desks(&sandbox)).unwrap().next().unwrap().unwrap().path();
    let lenient = start(&sandbox, &["run", "lenient.yaml", "--session", "lenient"]);
    until("the other agent works", || sandbox.path("lenient-works").exists());
    let mut desks = std::fs::read_dir(desks(&sandbox)).unwrap().map(|desk| desk.unwrap().path());
    let desk = desks.find(|desk| *desk != before).unwrap();
    let mut caller = std::os::unix::net::UnixStream::connect(desk).unwrap();
    let project = sandbox.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let request =
        json!({ "version": 1, "project": project, "session": "lenient", "complete_task": "TAS-1" });
    caller.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    caller.read_to_string(&mut answer).unwrap();
    let reason = "session `s` is working on it and has to complete it";
    assert_eq!(answer, format!("{}\n", json!({ "answer": "failed", "reason": reason })));
    std::fs::write(sandbox.path("over"), "").unwrap();
    assert_eq!((started.ran().code, lenient.ran().code), (0, 0));
}

#[test]
fn an_agent_that_outlived_its_session_completes_nothing_while_the_session_is_resumed() {
    // It ignores the request to end, so it keeps calling while the session is resumed.
    let does = "[ ! -e resumed ] || return 0; trap '' TERM; echo $$ > pid
        while :; do touch works; $HOOKWRIGHT_BIN task done 1 >> log 2>&1 && touch passed; done";
    let sandbox = guarded(does);
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent was refused", || lines(&sandbox, "log").len() > 1);
    started.kill();
    std::fs::write(sandbox.path("resumed"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    until("the agent is gone", || agent.is_gone());
    assert!(!sandbox.path("passed").exists(), "{:?}", lines(&sandbox, "log"));
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn an_agent_that_outlived_its_session_is_known_by_the_processes_above_it() {
    let does = "[ ! -e dead ] || return 0; echo $$ > pid; until [ -e dead ]; do sleep 0.01; done
        env -u HOOKWRIGHT_SESSION -u HOOKWRIGHT_RUN $HOOKWRIGHT_BIN task done 1 >> log 2>&1
        echo $? >> codes";
    let sandbox = guarded(does);
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    started.kill();
    std::fs::write(sandbox.path("dead"), "").unwrap();
    until("the agent was told", || !lines(&sandbox, "codes").is_empty());
    assert_eq!(lines(&sandbox, "codes"), ["1"]);
    let log = lines(&sandbox, "log");
    assert!(log[0].contains("session `s` was killed"), "{log:?}");
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn a_process_that_left_its_killed_session_and_hides_it_completes_nothing() {
    let does = "[ ! -e dead ] || return 0; bin=$HOOKWRIGHT_BIN
        (env -i HOME=$HOME PATH=$PATH bin=$bin setsid sh ./late > /dev/null 2>&1 < /dev/null &)
        until [ -e pid ]; do sleep 0.01; done; until [ -e dead ]; do sleep 0.01; done";
    let late = "echo $$ > pid; until [ -e dead ]; do sleep 0.01; done
        $bin task done 1 >> log 2>&1; echo $? >> codes";
    let sandbox = guarded(does).file("late", late);
    let left = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("it runs", || left.has_run());
    started.kill();
    std::fs::write(sandbox.path("dead"), "").unwrap();
    until("it was told", || !lines(&sandbox, "codes").is_empty());
    let log = lines(&sandbox, "log");
    assert_eq!(lines(&sandbox, "codes"), ["1"], "{log:?}");
    assert!(log[0].contains("by a process that hides its session"), "{log:?}");
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn an_agent_does_not_switch_the_projects_guard_off() {
    // Without a session: an agent that marks the processes it starts.
    let sandbox = guarded("")
        .file("hookwright.yaml", format!("hooks: {{task:complete: [{GUARD}]}}"))
        .file("agent", "CLAUDECODE=1 sh -c 'env -u CLAUDECODE HOOKWRIGHT=0 \"$bin\" task done 1; exit $?'; exit $?");
    let own = sandbox.command(&[]);
    let mut agent = std::process::Command::new("sh");
    agent.arg("agent").current_dir(sandbox.path(".")).env_clear().env("bin", own.get_program());
    agent.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Ran::from(agent.output().unwrap());
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.starts_with("HOOKWRIGHT=0 is ignored, and hooks run"), "{ran:?}");
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn a_resumed_session_answers_when_it_is_back_in_its_stage() {
    // Two tasks: the second one's hooks, which are the project's, hang until the test continues
    // them.
    let does = "[ -e go ] || { $HOOKWRIGHT_BIN task done 2 >> log 2>&1; }";
    let sandbox = guarded(does).file(
        "hookwright.yaml",
        "hooks: {task:complete: [{id: slow, command: '[ $TASK_ID = TAS-2 ] || exit 0; echo $$ > pid; echo x >> began; until [ -e go ]; do sleep 0.01; done; exit 2'}]}",
    );
    let text = std::fs::read_to_string(sandbox.path("loop.yaml")).unwrap();
    let only_first = text.replace("printf", "[ $TASK_ID = TAS-1 ] || exit 0; printf");
    let sandbox = sandbox.file("loop.yaml", only_first);
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook runs", || hook.has_run());
    started.kill();
    let resumed = start(&sandbox, &["resume", "s"]);
    until("the hook runs again", || lines(&sandbox, "began").len() == 2);
    let mut command = sandbox.command(&["task", "done", "1"]);
    let mut asking = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let words = b"waiting for the hooks of session s\n";
    let mut heard = [0; 35];
    asking.stderr.as_mut().unwrap().read_exact(&mut heard).unwrap();
    assert_eq!(heard, *words);
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
    std::fs::write(sandbox.path("go"), "").unwrap();
    let asked = Ran::from(asking.wait_with_output().unwrap());
    let ran = resumed.ran();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((asked.code, asked.stdout.as_str()), (2, ""), "{}", asked.stderr);
    assert_eq!(lines(&sandbox, "asked"), ["TAS-1"]);
    assert_eq!(state_of(&sandbox, "TAS-1"), "open");
}

#[test]
fn a_forged_chain_passes_no_guard_of_fire_or_of_an_agents_call() {
    let hooks = "hooks:
  tool:pre_execute: [{id: guard, on_failure: continue, command: 'echo no >&2; exit 2'}]
  session:stop: [{id: guard, command: 'echo no >&2; exit 2'}]
  task:complete: [{id: guard, command: 'echo no >&2; exit 2'}]
";
    let sandbox = trusted(hooks);
    let file = sandbox.path("hookwright.yaml");
    let five = json!(["a", "b", "c", "d", "e"].map(|hook| json!({ "event": hook, "hook": hook })));
    for (event, of_agent) in [
        ("tool:pre_execute", Some("PreToolUse")),
        ("session:stop", Some("Stop")),
        ("task:complete", None),
    ] {
        let circle = json!([{ "event": event, "hook": "guard", "file": file }]);
        for chain in [&circle, &five] {
            let mut command = sandbox.command(&["fire", event]);
            let ran =
                Ran::from(command.env("HOOKWRIGHT_CHAIN", chain.to_string()).output().unwrap());
            assert_eq!(ran.code, 2, "{event} {chain} {ran:?}");
        }
        let Some(of_agent) = of_agent else { continue };
        for chain in [circle, five.clone()] {
            let sandbox = trusted(hooks).set("HOOKWRIGHT_CHAIN", &chain.to_string());
            let circle = chain.to_string().replace(
                &*file.to_string_lossy(),
                &sandbox.path("hookwright.yaml").to_string_lossy(),
            );
            let sandbox = sandbox.set("HOOKWRIGHT_CHAIN", &circle);
            let mut event = sent(of_agent);
            event["cwd"] = json!(sandbox.path("."));
            let ran = call(&sandbox, &event);
            let is_no = ran.stdout.contains("\"deny\"") || ran.stdout.contains("\"block\"");
            assert!(is_no, "{of_agent} {circle} {ran:?}");
        }
    }
}

#[test]
fn a_hook_at_a_stop_that_starts_another_agent_does_not_trap_it() {
    let inner = "'\"$BINARY\" fire session:stop > inner 2>&1; echo $? > code; exit 2'";
    let sandbox =
        Sandbox::with_hooks(&format!("hooks: {{session:stop: [{{id: judge, command: {inner}}}]}}"))
            .set("BINARY", env!("CARGO_BIN_EXE_hookwright"));
    assert_eq!(sandbox.run(&["fire", "session:stop"]).code, 2);
    assert_eq!(lines(&sandbox, "code"), ["0"], "{:?}", lines(&sandbox, "inner"));
    assert!(lines(&sandbox, "inner").concat().contains("it would wake itself again"));
}
