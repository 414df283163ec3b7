//! What `run` prints, for people and for programs, and what it hides.

use serde_json::Value;

use crate::interrupts::{Left, start, until};
use crate::runs::{events, lines, of_session, run};
use crate::support::Sandbox;

/// Without durations and times, and with single spaces.
fn timeless(text: &str) -> String {
    let text = crate::docs::timeless(text);
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.map(|line| line + "\n").collect()
}

#[test]
fn the_screen_is_one_line_a_happening_and_a_summary() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{id: tests, await: true, command: 'exit 1'}, {id: never, when: 'false', command: 'true'}]}",
    )
    .file("pipeline.yaml", "name: full\nstages: [{name: a, loop: {prompt: p, agent: {script: t.yaml}}}, {name: b, runs: 2, loop: {prompt: p, agent: {script: t.yaml}}}]\n")
    .file("t.yaml", "turns: [[{write: {'f${STAGE}${ITERATION}': x}}, {status: {decision: continue, summary: 'did ${STAGE}'}}]]");
    let ran = run(&sandbox, ".", 0);
    assert_eq!(ran.stderr, "");
    assert_eq!(
        timeless(&ran.stdout),
        "session s: full (a, b)
stage 1 a: at most 1 iteration
iteration 1: the agent works
iteration 1: continue after N s, 1 file changed: did a
iteration:complete tests failed Nms exit code 1
stage 1 a: completed after 1 iteration
stage 2 b: at most 2 iterations
iteration 1: the agent works
iteration 1: continue after N s, 1 file changed: did b
iteration:complete tests failed Nms exit code 1
iteration 2: the agent works
iteration 2: continue after N s, 1 file changed: did b
iteration:complete tests failed Nms exit code 1
stage 2 b: completed after 2 iterations
session s: completed
3 iterations, hooks: 3 failed, 3 skipped, N s
files: .hookwright/sessions/s
"
    );
}

#[test]
fn resumed_hooks_are_shown_like_all_others() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{id: slow, await: true, command: 'test -e go || { echo $$ > pid; exec sleep 1000; }'}, {id: tests, await: true, command: 'exit 1'}]}",
    )
    .file("loop.yaml", "name: n\nprompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {script: t.yaml}\n")
    .file("t.yaml", "turns: [[{say: x}]]");
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook runs", || hook.has_run());
    started.kill();
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let summary = ran.stdout.find("session s: completed").expect("it has completed");
    assert_eq!(
        timeless(&ran.stdout[..summary]),
        "session s: resumed for the 1st time
iteration:complete slow success Nms
iteration:complete tests failed Nms exit code 1
stage 1 n: completed after 1 iteration
"
    );
}

// Conformance: iteratr-019
#[test]
fn nothing_that_others_wrote_reaches_the_terminal_raw() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{id: \"bad\\e[2Jid\", await: true, command: \"printf 'x\\\\033[2Jy\\\\n' >&2; exit 1\"}]}",
    )
    .file("loop.yaml", "name: \"n\\e[2Jame\"\nprompt: p\nmax_iterations: 1\nagent: {script: t.yaml}\n")
    .file("t.yaml", "turns: [[{say: \"out\\e[2J\"}, {complain: \"err\\e[2J\"}, {status: {decision: continue, summary: \"sum\\e[2Jmary\"}}]]");
    for arguments in [
        &["run", "loop.yaml", "--agent-output"][..],
        &["run", "loop.yaml", "--json"],
        &["run", "loop.yaml", "--dry-run"],
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{}", ran.stdout);
    }
    let ran = sandbox.run(&["run", "loop.yaml", "--agent-output"]);
    for shown in ["out␛[2J", "err␛[2J", "sum␛[2Jmary", "x␛[2Jy", "bad␛[2Jid", "n␛[2Jame"]
    {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.stdout);
    }
}

#[test]
fn nothing_that_others_wrote_takes_more_than_its_line() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:stop: [{id: stopper, command: \"printf 'first\\nsession s: forged\\n' >&2; exit 2\"}]}",
    )
    .file("loop.yaml", "name: \"one\\nsession s: forged\"\nprompt: p\nmax_iterations: 1\nagent: {script: t.yaml}\n")
    .file("t.yaml", "turns: [[{status: {decision: continue, summary: \"sum\\nsession s: forged\"}}]]");
    let ran = run(&sandbox, "loop.yaml", 0);
    assert!(
        !ran.stdout.lines().any(|line| line.starts_with("session s: forged")),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("note: a hook blocked the stop, but"), "{}", ran.stdout);
}

#[test]
fn agents_output_is_shown_only_if_asked_for() {
    let text = "prompt: p\nmax_iterations: 1\nagent: {command: 'echo spoken; echo loud >&2'}\n";
    let sandbox = Sandbox::new().file("loop.yaml", text);
    let quiet = sandbox.run(&["run", "loop.yaml"]).stdout;
    assert!(!quiet.contains("spoken") && !quiet.contains("loud"), "{quiet}");
    let shown = sandbox.run(&["run", "loop.yaml", "--agent-output"]).stdout;
    assert!(shown.contains("    | spoken\n") && shown.contains("    | loud\n"), "{shown}");
}

#[test]
fn json_is_run_events_alone_one_a_line() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {'*': [{id: all, await: true, command: echo out; echo err >&2}]}",
    )
    .file("loop.yaml", "prompt: p\nmax_iterations: 1\nagent: {command: 'echo spoken'}\n");
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s", "--json"]);
    assert_eq!(ran.code, 0);
    let events = events(&ran);
    for event in &events {
        assert_eq!((&event["version"], &event["session"]), (&Value::from(1), &Value::from("s")));
        assert!(event["at"].is_string() && event["kind"].is_string(), "{event}");
    }
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    let of_session: Vec<&str> = kinds
        .iter()
        .copied()
        .filter(|kind| ["session", "stage", "turn", "agent"].iter().any(|of| kind.starts_with(of)))
        .collect();
    assert_eq!(
        of_session,
        [
            "session_started",
            "stage_started",
            "turn_starting",
            "agent_prompted",
            "agent_running",
            "agent_output",
            "turn_ended",
            "stage_ended",
            "session_ended",
        ]
    );
    let fired: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(
        fired,
        [
            "session:start",
            "stage:start",
            "iteration:start",
            "iteration:complete",
            "stage:complete",
            "session:stop",
            "session:end",
        ]
    );
    // The summary goes to standard error.
    assert!(ran.stderr.starts_with("session s: completed"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_goes_away_does_not_end_a_session() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 3}\nagent: {command: 'echo >> turns'}\n",
    );
    let mut command = sandbox.command(&["run", "loop.yaml", "--session", "s"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(lines(&sandbox, "turns").len(), 3);
}

/// A secret's value, which only the hook that names it may see.
const VALUE: &str = "hunter22/hunter22";

fn with_secret(sandbox: Sandbox) -> Sandbox {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox.file("../.config/hookwright/secrets.env", format!("KEY={VALUE}\n"));
    let file = sandbox.path("../.config/hookwright/secrets.env");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    sandbox
}

#[test]
fn an_agent_gets_no_secret_though_hooks_do() {
    let sandbox = with_secret(Sandbox::with_hooks(
        "hooks: {iteration:start: [{pipe_output: true, command: 'echo \"key: $KEY\"'}]}",
    ))
    .file(
        "loop.yaml",
        "prompt: 'p ${KEY}'\nmax_iterations: 1\nagent: {command: 'cat > prompt; env > env'}\n",
    );
    run(&sandbox, "loop.yaml", 0);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    assert!(!read("env").contains("hunter22"), "{}", read("env"));
    assert!(read("prompt").contains("key: [secret KEY]"), "{}", read("prompt"));
    assert!(!read("prompt").contains("hunter22"), "{}", read("prompt"));
}

#[test]
fn what_agents_print_or_write_as_status_hides_secrets() {
    // An agent can read the user's files, so it may find a secret.
    let stolen = "S=$(sed s/KEY=// ../.config/hookwright/secrets.env)";
    for (agent, code) in [
        (
            "echo \"$S\"; echo \"$S\" >&2; echo \"{\\\"decision\\\": \\\"stop\\\", \\\"reason\\\": \\\"$S\\\", \\\"summary\\\": \\\"$S\\\"}\" > $STATUS",
            0,
        ),
        ("printf hunter22; sleep 0.2; echo /hunter22; echo \"fatal: $S\" >&2; exit 1", 5),
        ("echo \"{\\\"decision\\\": \\\"$S\\\"}\" > $STATUS", 5),
        ("echo \"{\\\"decision\\\": \\\"error\\\", \\\"reason\\\": \\\"$S\\\"}\" > $STATUS", 5),
    ] {
        for shown in [&["--agent-output"][..], &["--json"]] {
            let sandbox = with_secret(Sandbox::new()).file(
                "loop.yaml",
                format!("name: w\nprompt: p\nmax_iterations: 1\nagent:\n  command: |\n    {stolen}; {agent}\n"),
            );
            let mut arguments = vec!["run", "loop.yaml", "--session", "s"];
            arguments.extend(shown);
            let ran = sandbox.run(&arguments);
            assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
            assert!(
                !ran.stdout.contains(VALUE) && !ran.stderr.contains(VALUE),
                "{}{}",
                ran.stdout,
                ran.stderr
            );
            // Nor in two pieces.
            let together = ran.stdout.replace("    | ", "").replace(['\n', ' '], "");
            assert!(!together.contains(VALUE), "{}", ran.stdout);
            let output = of_session(&sandbox, "stage-00-w/iterations/001/output.md");
            assert!(!output.contains(VALUE), "{output}");
            for entry in std::fs::read_dir(sandbox.path("../.local/state/hookwright")).unwrap() {
                let path = entry.unwrap().path();
                let bytes = std::fs::read(&path).unwrap_or_default();
                let holds = bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes());
                assert!(!holds, "{} holds it", path.display());
            }
        }
    }
}
