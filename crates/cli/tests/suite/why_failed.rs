//! Why a hook failed is shown everywhere: while the session runs, in its timeline, on its page.

use crate::interrupts::{Left, start, until};
use crate::runs::{lines, run};
use crate::serve::Serve;
use crate::support::Sandbox;

/// A session with these hooks after its only iteration.
fn a_session(hooks: &str) -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{iteration:complete: [{hooks}]}}")).file(
        "loop.yaml",
        "name: work\nprompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\n",
    )
}

/// Two tests that fail, one of which pipes its output.
const TESTS: &str = "{id: piped, pipe_output: true, when: '${ITERATION} == 1', command: 'seq 1 20; echo cart is red; echo 1 failed >&2; exit 1'}, {id: alone, await: true, when: '${ITERATION} == 1', command: 'echo basket is red; echo 2 failed >&2; exit 1'}";

#[test]
fn the_last_lines_of_a_hook_that_failed_are_shown_piped_or_not() {
    let sandbox = a_session(TESTS);
    let ran = run(&sandbox, "loop.yaml", 0);
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    for text in [&ran.stdout, &shown] {
        for line in ["cart is red", "1 failed", "basket is red", "2 failed"] {
            let is_it = |shown: &&str| shown.trim_start_matches(['│', ' ']).trim_end() == line;
            assert_eq!(text.lines().filter(is_it).count(), 1, "{line}: {text}");
        }
        assert!(text.lines().any(|line| line.ends_with("   20")), "{text}");
        assert!(!text.lines().any(|line| line.ends_with("   12")), "ten lines: {text}");
    }
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let deeds = shown["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|part| part["deeds"].as_array().cloned().unwrap_or_default());
    let printed: Vec<_> = deeds
        .filter(|deed| deed["hook"] == "alone")
        .map(|deed| deed["last_lines"].clone())
        .collect();
    assert_eq!(printed[0], serde_json::json!(["basket is red", "2 failed"]), "{shown}");
}

#[test]
fn the_page_has_the_last_lines_and_the_whole_output_behind_a_click() {
    let sandbox = a_session(TESTS);
    run(&sandbox, "loop.yaml", 0);
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let page = serve.page("/sessions/s");
    for (name, lines) in
        [("piped", "20\ncart is red\n1 failed</pre>"), ("alone", "basket is red\n2 failed</pre>")]
    {
        assert!(page.contains(lines), "{name}: {page}");
    }
    let path = page.split("/sessions/s/reports/").nth(1).unwrap().split('"').next().unwrap();
    let report = serve.page(&format!("/sessions/s/reports/{path}"));
    assert!(report.contains("\n20\ncart is red\n</pre>"), "{report}");
    assert!(report.contains("1 failed\n</pre>") && !report.contains("Nothing."), "{report}");
}

#[test]
fn what_a_hook_does_not_want_to_be_shown_is_shown_nowhere() {
    let sandbox = a_session(
        r#"{id: quiet, await: true, command: 'echo "{\"suppressOutput\": true}"; echo do not look >&2'}"#,
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let page = serve.page("/sessions/s");
    let path = page.split("/sessions/s/reports/").nth(1).unwrap().split('"').next().unwrap();
    let report = serve.page(&format!("/sessions/s/reports/{path}"));
    assert_eq!(report.matches("Nothing.").count(), 2, "{report}");
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    for text in [&ran.stdout, &shown, &page, &report] {
        assert!(!text.contains("do not look"), "{text}");
    }
}

#[test]
fn a_hook_that_had_failed_before_the_session_was_killed_is_told_once() {
    let hooks = "{id: tests, pipe_output: true, when: '${ITERATION} == 1', command: 'echo tests >> log; echo cart is red; exit 1'}, {id: next, await: true, command: '[ -e go ] || { echo $$ > pid; exec sleep 1000; }'}";
    let sandbox = a_session(hooks);
    let left = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the next hook runs", || left.has_run());
    started.kill();
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "log"), ["tests"]);
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    assert_eq!(shown.matches("cart is red\n").count(), 1, "{shown}");
}
