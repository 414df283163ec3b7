//! What the page, `sessions show` and `status` say about a session's result.

use crate::runs::run;
use crate::serve::Serve;
use crate::sessions::without_times;
use crate::support::Sandbox;

/// The part of a page from the first text to the next occurrence of the second.
fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let start = page.find(from).unwrap_or_else(|| panic!("no {from}: {page}"));
    let part = &page[start..];
    &part[..part[from.len()..].find(to).map_or(part.len(), |end| end + from.len())]
}

#[test]
fn after_max_cost_everything_that_says_how_to_go_on_names_the_command_that_works() {
    let sandbox = Sandbox::new()
        .file(
            "loop.yaml",
            "name: work\nprompt: p\nmax_cost: 1\ntermination: {type: fixed, iterations: 2}\n\
             agent: {script: turns.yaml}\n",
        )
        .file(
            "turns.yaml",
            "turns: [[{status: {decision: continue, usage: {cost_usd: 2.2}}}]]\nthen: repeat\n",
        );
    let ran = run(&sandbox, "loop.yaml", 6);
    let command = "hookwright resume s --max-cost 5";
    assert!(ran.stdout.contains(&format!("  resume with: {command}\n")), "{}", ran.stdout);
    let page = Serve::start(&sandbox, &["--port", "0"]).page("/sessions/s");
    assert!(page.contains(&format!("Resume with <code>{command}</code>")), "{page}");
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    assert!(shown.contains(&format!("resume with: {command}\n")), "{shown}");
    let status = without_times(&sandbox.run(&["status"]).stdout);
    assert!(status.contains(&format!("1 iteration done {command}\n")), "{status}");
    let (_, json) = sandbox.json(&["status", "--json"]);
    assert_eq!(json["resumable"][0]["pausedFor"], "cost", "{json}");
    // Without the higher limit it is paused again at once; with it, it continues.
    assert_eq!(sandbox.run(&["resume", "s"]).code, 6);
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let resumed = sandbox.run(&arguments);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn an_iteration_whose_hooks_failed_is_not_shown_as_if_all_went_well() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{id: tests, await: true, command: '[ $ITERATION = 2 ]'}]}",
    )
    .file(
        "loop.yaml",
        "name: work\nprompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'true'}\n",
    );
    run(&sandbox, "loop.yaml", 0);
    let shown = without_times(&sandbox.run(&["sessions", "show", "s"]).stdout);
    assert!(shown.contains("iteration 1: continue, D, 1 hook failed\n"), "{shown}");
    assert!(shown.contains("iteration 2: continue, D\n"), "{shown}");
    let painted = sandbox.run(&["sessions", "show", "s", "--color", "always"]).stdout;
    let line = painted.lines().find(|line| line.contains("iteration 1:")).unwrap();
    assert!(!line.contains("\u{1b}[32m"), "{line:?}");
    let page = Serve::start(&sandbox, &["--port", "0"]).page("/sessions/s");
    for (iteration, class, words) in [
        ("Iteration 1<", "sign warn", "1 hook failed · continue"),
        ("Iteration 2<", "sign good", "continue<"),
    ] {
        let before = &page[..page.find(iteration).unwrap()];
        let sign = &before[before.rfind("<span class=\"sign").unwrap()..];
        assert!(sign.contains(class), "{iteration}: {sign}");
        assert!(between(&page, iteration, "</summary>").contains(words), "{page}");
    }
    // The agent itself succeeded.
    let inside = between(&page, "Iteration 1<", "tests");
    assert!(inside.contains("<span class=\"sign good\""), "{inside}");
}

#[test]
fn the_bar_of_a_stage_is_how_much_of_it_is_done() {
    let stage = |name: &str, rest: &str, agent: &str| {
        format!(
            "  - {{name: {name}, {rest}, loop: {{prompt: p, agent: {{command: '{agent}'}}}}}}\n"
        )
    };
    let sandbox = Sandbox::new().file(
        "pipeline.yaml",
        format!(
            "name: p\nstages:\n{}{}{}",
            stage("short", "runs: 1", "true"),
            stage("long", "runs: 1", "sleep 0.5"),
            stage("broken", "runs: 4", "[ $ITERATION = 1 ]")
        ),
    );
    run(&sandbox, "pipeline.yaml", 5);
    let page = Serve::start(&sandbox, &["--port", "0"]).page("/sessions/s");
    for (stage, width) in [("stage-1", "100.0"), ("stage-2", "100.0"), ("stage-3", "50.0")] {
        let chip = between(&page, &format!("id=\"{stage}\""), "</li>");
        assert!(chip.contains(&format!("<rect width=\"{width}\"")), "{stage}: {chip}");
    }
}
