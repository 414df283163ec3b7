//! An agent's prompt and output are kept for each iteration, and shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::interrupts::{Left, start, until};
use crate::runs::{of_session, run};
use crate::serve::Serve;
use crate::support::Sandbox;

/// A loop of two iterations, whose agent repeats its prompt and prints to standard error.
fn a_loop(hooks: &str) -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{{hooks}}}")).file(
        "loop.yaml",
        "name: work\nprompt: 'task ${ITERATION}{${STATUS.x}}'\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'echo \"I was told: $(tail -n 1)\"; echo oh >&2; echo written > $OUTPUT'}\n",
    )
}

#[test]
fn the_prompt_and_what_the_agent_said_are_kept_for_each_iteration_and_shown() {
    let hooks = "iteration:complete: [{id: tests, pipe_output: true, when: '${ITERATION} == 1', command: echo green}]";
    let sandbox = a_loop(hooks);
    run(&sandbox, "loop.yaml", 0);
    let folder = "stage-00-work/iterations";
    assert_eq!(of_session(&sandbox, &format!("{folder}/001/prompt.md")), "task 1{}");
    let prompt = of_session(&sandbox, &format!("{folder}/002/prompt.md"));
    assert!(prompt.starts_with("Output of this session's hooks"), "{prompt}");
    assert!(prompt.ends_with("\n\ngreen\n\ntask 2{}"), "{prompt}");
    let said = of_session(&sandbox, &format!("{folder}/002/said.md"));
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["I was told: task 2{}", "oh"]);
    // Its `output.md` is a different file.
    assert_eq!(of_session(&sandbox, &format!("{folder}/002/output.md")), "written\n");
    let shown = sandbox.run(&["sessions", "show", "s", "--iteration", "1"]).stdout;
    assert!(shown.starts_with("s, stage 1 work\niteration 1: continue, "), "{shown}");
    assert!(shown.contains("\n  iteration:complete    tests "), "{shown}");
    assert!(shown.contains("\nprompt:\n    task 1{}\n\nthe agent's output:\n"), "{shown}");
    assert!(shown.contains("\n    I was told: task 1{}\n"), "{shown}");
    let (_, json) = sandbox.json(&["sessions", "show", "s", "--iteration", "2", "--json"]);
    assert_eq!((&json["prompt"], &json["said"]), (&prompt.into(), &said.into()));
    assert_eq!(json["iteration"]["iteration"], 2, "{json}");
}

#[test]
fn the_page_has_both_behind_a_click() {
    let sandbox = a_loop("");
    run(&sandbox, "loop.yaml", 0);
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let page = serve.page("/sessions/s");
    assert!(page.contains("href=\"/sessions/s/turns/1-2\""), "{page}");
    let turn = serve.page("/sessions/s/turns/1-2");
    for text in ["Iteration 2", "Stage 1: work", "task 2{}</pre>", "I was told: task 2{}"] {
        assert!(turn.contains(text), "{text}: {turn}");
    }
    let none = serve.page("/sessions/s/turns/1-7");
    assert_eq!(none.matches("Not kept.").count(), 2, "{none}");
    assert!(serve.page("/sessions/s/turns/9-1").starts_with("HTTP/1.0 404"));
}

#[test]
fn neither_has_a_secret_and_both_are_bounded() {
    let sandbox = a_loop("").file(
        "loop.yaml",
        "prompt: 'say hunter2hunter2 {${STATUS.x}}'\ntermination: {type: fixed, iterations: 1}\nname: work\nagent: {command: 'cat; head -c 400000 /dev/zero | tr \"\\0\" y; echo the end'}\nhooks: {iteration:start: [{pipe_output: true, command: \"head -c 400000 /dev/zero | tr '\\\\0' x\"}]}\n",
    );
    let sandbox = sandbox.file("../.config/hookwright/secrets.env", "TOKEN=hunter2hunter2\n");
    let secrets = sandbox.path("../.config/hookwright/secrets.env");
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).unwrap();
    run(&sandbox, "loop.yaml", 0);
    for (file, end) in [("prompt.md", "say [secret TOKEN] {}"), ("said.md", "yythe end\n")] {
        let text = of_session(&sandbox, &format!("stage-00-work/iterations/001/{file}"));
        assert!(text.len() < 257 * 1024, "{file}: {}", text.len());
        assert!(text.contains(" bytes left out …]\n") && !text.contains("hunter2"), "{file}");
        assert!(text.ends_with(end), "{file}: {}", &text[text.len() - 50..]);
    }
}

#[test]
fn an_iteration_that_is_not_there_or_not_the_only_one_is_an_error_that_says_so() {
    let sandbox = Sandbox::new().file(
        "pipeline.yaml",
        "name: p\nstages:\n  - {name: plan, runs: 1, loop: {prompt: a, agent: {command: 'true'}}}\n  - {name: build, runs: 2, loop: {prompt: b, agent: {command: 'true'}}}\n",
    );
    run(&sandbox, "pipeline.yaml", 0);
    let show =
        |more: &[&str]| sandbox.run(&[&["sessions", "show", "s", "--iteration"], more].concat());
    assert!(show(&["2"]).stdout.starts_with("s, stage 2 build\niteration 2: "));
    assert!(show(&["1", "--stage", "plan"]).stdout.starts_with("s, stage 1 plan\n"));
    assert!(show(&["1", "--stage", "2"]).stdout.starts_with("s, stage 2 build\n"));
    for (arguments, expected) in [
        (
            &["1"][..],
            "error: more than one stage has an iteration 1: `plan`, `build`\nhelp: name one of them with `--stage`\n",
        ),
        (
            &["3"],
            "error: session `s` has no iteration 3\nhelp: `hookwright sessions show s` shows its iterations\n",
        ),
        (
            &["final"],
            "error: session `s` has no final delivery\nhelp: `hookwright sessions show s` shows its iterations\n",
        ),
        (
            &["1", "--stage", "deploy"],
            "error: session `s` has no stage `deploy`\nhelp: its stages are `plan`, `build`\n",
        ),
    ] {
        let ran = show(arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (1, expected), "{arguments:?}");
    }
    let ran = show(&["0"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("expected the number of an iteration, from 1, or `final`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_final_delivery_is_shown_counted_or_raw() {
    let fails = "iteration:complete: [{id: tests, pipe_output: true, when: '${ITERATION} == 2', command: 'echo red; exit 1'}]";
    let counted = a_loop(fails);
    run(&counted, "loop.yaml", 0);
    let shown = counted.run(&["sessions", "show", "s", "--iteration", "final"]).stdout;
    assert!(shown.starts_with("s, stage 1 work\niteration 3, final delivery: "), "{shown}");
    assert!(shown.contains("\n    red\n"), "{shown}");
    let raw = a_loop("").file(
        ".iteratr.hooks.yml",
        "hooks:\n  post_iteration: [{command: echo raw, pipe_output: true}]\n",
    );
    run(&raw, "loop.yaml", 0);
    let shown = raw.run(&["sessions", "show", "s", "--iteration", "final"]).stdout;
    assert!(shown.starts_with("s, stage 1 work\nfinal delivery: "), "{shown}");
    assert!(shown.contains("\nprompt:\n    raw\n\nthe agent's output:\n"), "{shown}");
    // Those of the last iteration stay its own.
    let shown = raw.run(&["sessions", "show", "s", "--iteration", "2"]).stdout;
    assert!(shown.contains("    task 2{}\n"), "{shown}");
    let serve = Serve::start(&raw, &["--port", "0"]);
    let turn = serve.page("/sessions/s/turns/2-0");
    assert!(
        turn.contains("Final delivery") && turn.contains("<pre tabindex=\"0\">raw</pre>"),
        "{turn}"
    );
}

#[test]
fn a_turn_that_is_done_again_has_its_own_and_the_prompt_is_there_while_it_works() {
    let sandbox = a_loop("").file(
        "loop.yaml",
        "name: work\nprompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo attempt $HOOKWRIGHT_ATTEMPT; [ -e go ] || { echo $$ > pid; exec sleep 1000; }'}\n",
    );
    let left = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || left.has_run());
    let shown = sandbox.run(&["sessions", "show", "s", "--iteration", "1"]).stdout;
    assert!(shown.contains("\niteration 1: the agent works\n"), "{shown}");
    assert!(
        shown.contains("\nprompt:\n    p\n") && shown.contains("output: not kept\n"),
        "{shown}"
    );
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    let said = || of_session(&sandbox, "stage-00-work/iterations/001/said.md");
    assert_eq!(said(), "attempt 1\n");
    fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(sandbox.run(&["resume", "s"]).code, 0);
    assert_eq!(said(), "attempt 2\n");
}

#[test]
fn an_agent_that_makes_a_folder_of_the_file_does_not_end_the_session() {
    let sandbox = a_loop("").file(
        "loop.yaml",
        "name: work\nprompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'mkdir $(dirname $OUTPUT)/said.md'}\n",
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    assert!(
        ran.stdout.contains("note: the output of this turn cannot be saved: "),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_session_that_a_hook_started_has_its_own() {
    let sandbox = a_loop("session:start: [{id: review, type: spawn, pipeline: review}]").file(
        "review.yaml",
        "name: review\nprompt: 'review it {${STATUS.x}}'\ntermination: {type: fixed, iterations: 1}\nagent: {command: echo fine}\n",
    );
    run(&sandbox, "loop.yaml", 0);
    let child = "s--session_start-0";
    let shown = sandbox.run(&["sessions", "show", child, "--iteration", "1"]);
    assert!(shown.stdout.contains("    review it {}\n"), "{}{}", shown.stdout, shown.stderr);
    assert!(shown.stdout.contains("    fine\n"), "{}", shown.stdout);
}

#[test]
fn files_that_the_agent_put_there_are_shown_as_plain_text_and_never_followed() {
    let sandbox = a_loop("").file("private.txt", "a private text\n");
    run(&sandbox, "loop.yaml", 0);
    let files = sandbox.path(".hookwright/sessions/s/stage-00-work/iterations/001");
    let (prompt, said) = (files.join("prompt.md"), files.join("said.md"));
    fs::remove_file(&prompt).unwrap();
    std::os::unix::fs::symlink(sandbox.path("private.txt"), &prompt).unwrap();
    fs::write(&said, "\u{1b}]0;mine\u{7}<script>alert(1)</script>\u{202e}\n").unwrap();
    let show = || sandbox.run(&["sessions", "show", "s", "--iteration", "1", "--color", "always"]);
    let shown = show().stdout;
    assert!(shown.contains("prompt: not kept\n"), "{shown}");
    assert!(shown.contains("\n    ␛]0;mine␇<script>"), "{shown}");
    let (_, json) = sandbox.json(&["sessions", "show", "s", "--iteration", "1", "--json"]);
    assert_eq!(json["prompt"], serde_json::Value::Null);
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let turn = serve.page("/sessions/s/turns/1-1");
    assert!(turn.contains("Not kept.") && turn.contains("&lt;script&gt;"), "{turn}");
    for text in [&shown, &turn] {
        assert!(!text.contains("a private text"), "{text}");
        assert!(!text.contains(['\u{7}', '\u{202e}']) && !text.contains("\u{1b}]"), "{text}");
    }
    assert!(!turn.contains("<script>alert"), "{turn}");
    // A file that is far larger than the limit is not read.
    fs::File::create(&said).unwrap().set_len(64 << 30).unwrap();
    let shown = show().stdout;
    assert!(shown.contains("    [68719476736 bytes, too many to be read]\n"), "{shown}");
}
