//! Reports of hooks after the last iteration: if necessary they reach the agent in one more
//! iteration.

use crate::interrupts::killed_and_resumed;
use crate::runs::{KEEPS_PROMPTS, events, lines, of_session, prompts, run};
use crate::support::Sandbox;

const FRAME: &str = "Output of this session's hooks since your last turn.";
const TASK: &str = "\n\nAll iterations of this session are over. Fix what is reported above; start nothing new.\n\n";

/// A loop with these hooks and further lines, whose agent keeps its prompts.
fn a_loop(hooks: &str, rest: &str) -> Sandbox {
    with_agent(hooks, rest, KEEPS_PROMPTS)
}

fn with_agent(hooks: &str, rest: &str, agent: &str) -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{{hooks}}}")).file(
        "loop.yaml",
        format!(
            "name: work\nprompt: 'task ${{ITERATION}}{{${{STATUS.x}}}}'\n{rest}\nagent: {agent}\n"
        ),
    )
}

fn fixed(iterations: u32) -> String {
    format!("termination: {{type: fixed, iterations: {iterations}}}")
}

/// Hooks that log each event of an iteration.
const LOGS: &str = "iteration:start: [{await: true, command: echo start $ITERATION >> log}], \
                    iteration:error: [{await: true, command: echo error $ITERATION >> log}]";

/// Tests that fail, and tell the agent, until there is a file `fixed`.
const TESTS: &str = "{id: tests, pipe_output: true, command: 'echo tests $ITERATION >> log; [ -e fixed ] || { echo 2 tests failed; exit 1; }; echo 12 tests passed'}";

#[test]
fn news_of_success_does_not_start_an_agent_again_that_has_finished() {
    let agent = "{command: 'cat > /dev/null; echo agent $ITERATION >> log; echo \"{\\\"decision\\\": \\\"stop\\\"}\" > $STATUS'}";
    let hooks = format!(
        "{LOGS}, iteration:complete: [{TESTS}, {}]",
        r#"{await: true, command: 'echo "{\"additionalContext\": \"all is well\"}"'}"#
    );
    let judgment = "termination: {type: judgment, consensus: 2}";
    let sandbox = with_agent(&hooks, judgment, agent).file("fixed", "");
    let ran = run(&sandbox, "loop.yaml", 0);
    let log = ["start 1", "agent 1", "tests 1", "start 2", "agent 2", "tests 2"];
    assert_eq!(lines(&sandbox, "log"), log);
    assert!(ran.stdout.contains("\n  2 iterations, "), "{}", ran.stdout);
    assert!(!ran.stdout.contains("not delivered"), "{}", ran.stdout);
}

#[test]
fn a_failure_after_the_last_iteration_is_delivered_in_one_that_counts_with_its_hooks() {
    let agent = "{command: 'mkdir -p ../prompts; cat > ../prompts/$ITERATION; [ $ITERATION = 1 ] || touch fixed; echo said $ITERATION'}";
    let hooks = format!("{LOGS}, iteration:complete: [{TESTS}]");
    let sandbox = with_agent(&hooks, &fixed(1), agent);
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["start 1", "tests 1", "start 2", "tests 2"]);
    let prompt = std::fs::read_to_string(sandbox.path("../prompts/2")).unwrap();
    assert!(prompt.starts_with(FRAME), "{prompt}");
    assert!(
        prompt.contains("\n\n[hook tests: failed (exit code 1)]\n2 tests failed\n\nAll"),
        "{prompt}"
    );
    assert!(prompt.contains(TASK) && prompt.contains("/002/status.json"), "{prompt}");
    assert!(!prompt.contains("task 2"), "it is no new task: {prompt}");
    assert_eq!(of_session(&sandbox, "stage-00-work/iterations/002/output.md"), "said 2\n");
    assert!(ran.stdout.contains("\n  2 iterations, "), "{}", ran.stdout);
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    assert!(shown.contains("iteration 2, final delivery: continue"), "{shown}");
    let (_, record) = sandbox.json(&["sessions", "show", "s", "--json"]);
    assert_eq!(record["session"]["iterations"], 2, "{record}");
}

#[test]
fn its_result_decides_whatever_hooks_say_about_it() {
    let agent = "{command: '[ $ITERATION = 1 ] || { echo broken >&2; exit 7; }'}";
    for error in ["{await: true, command: 'true'}", "{pipe_output: true, command: echo fix it}"] {
        let hooks = format!("iteration:complete: [{TESTS}], iteration:error: [{error}]");
        let sandbox = with_agent(&hooks, &fixed(1), agent);
        let ran = run(&sandbox, "loop.yaml", 5);
        let end = "session s: failed (iteration 2 (final delivery) failed: the agent exited with 7: broken)\n";
        assert!(ran.stdout.contains(end), "{}", ran.stdout);
        // The resumed session repeats it with the same input.
        let sandbox = sandbox.file("fixed", "");
        std::fs::write(
            sandbox.path("loop.yaml"),
            format!("name: work\nprompt: p\n{}\nagent: {KEEPS_PROMPTS}\n", fixed(1)),
        )
        .unwrap();
        let ran = sandbox.run(&["resume", "s", "--reload"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let prompts = prompts(&sandbox);
        assert_eq!(prompts.len(), 1);
        assert!(
            prompts[0].contains("2 tests failed") && prompts[0].contains("exited with 7"),
            "{prompts:?}"
        );
        assert_eq!(lines(&sandbox, "log"), ["tests 1", "tests 2"]);
    }
}

#[test]
fn there_is_one_at_most_also_at_max_iterations_and_what_is_reported_in_it_is_shown() {
    let hooks = format!("{LOGS}, iteration:complete: [{TESTS}]");
    for rest in
        [fixed(2), "termination: {type: judgment, consensus: 1}\nmax_iterations: 2".to_owned()]
    {
        let agent = "{command: 'cat > /dev/null; echo agent $ITERATION >> log; echo \"{\\\"decision\\\": \\\"continue\\\"}\" > $STATUS'}";
        let sandbox = with_agent(&hooks, &rest, agent);
        let ran = run(&sandbox, "loop.yaml", 0);
        let log = lines(&sandbox, "log");
        assert_eq!(log.len(), 9, "{log:?}");
        assert_eq!(log[6..], ["start 3", "agent 3", "tests 3"]);
        assert!(ran.stdout.contains("\n  3 iterations, "), "{}", ran.stdout);
        let note = "note: not delivered to the agent, since the final delivery was made before: [hook tests: failed (exit code 1)]\n";
        assert!(ran.stdout.contains(note), "{}", ran.stdout);
        // The journal keeps all piped text.
        let log = sandbox.run(&["sessions", "log", "s", "--json"]).stdout;
        let piped = log.matches(r#""piped_output":"[hook tests: failed"#).count();
        assert_eq!(piped, 3, "{log}");
    }
}

#[test]
fn an_agent_need_not_judge_in_it() {
    let agent = "{command: 'cat > /dev/null; [ $ITERATION = 2 ] && touch fixed || echo \"{\\\"decision\\\": \\\"stop\\\"}\" > $STATUS'}";
    let judgment = "termination: {type: judgment, consensus: 1}";
    let sandbox = with_agent(&format!("iteration:complete: [{TESTS}]"), judgment, agent);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["tests 1", "tests 2"]);
}

#[test]
fn what_hooks_report_about_the_last_iteration_that_failed_is_delivered() {
    let agent = "{command: 'mkdir -p ../prompts; cat > ../prompts/$(ls ../prompts | wc -l); [ $ITERATION != 1 ] || exit 7'}";
    let hooks = "iteration:error: [{pipe_output: true, command: echo fix it}]";
    let sandbox = with_agent(hooks, &fixed(1), agent);
    run(&sandbox, "loop.yaml", 0);
    let prompts = prompts(&sandbox);
    assert_eq!(prompts.len(), 2);
    let expected = format!("\n\nfix it\n\nYour last turn failed: the agent exited with 7{TASK}");
    assert!(prompts[1].contains(&expected), "{}", prompts[1]);
}

#[test]
fn what_a_stop_hook_reports_is_delivered_before_the_end_and_only_once() {
    let hooks = "session:stop: [{id: lint, pipe_output: true, on_failure: continue, command: 'echo 3 warnings; exit 1'}], \
                 iteration:complete: [{when: '${ITERATION} == 2', pipe_output: true, command: 'echo red; exit 1'}], \
                 session:end: [{await: true, command: ls ../prompts | wc -l >> log}]";
    let sandbox = a_loop(hooks, &fixed(1));
    let ran = run(&sandbox, "loop.yaml", 0);
    let prompts = prompts(&sandbox);
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(prompts[1].contains("\n3 warnings\n"), "{}", prompts[1]);
    assert_eq!(lines(&sandbox, "log"), ["2"]);
    assert!(
        ran.stdout.contains("note: not delivered to the agent, since the final"),
        "{}",
        ran.stdout
    );
}

#[test]
fn news_of_success_waits_for_the_iteration_that_a_blocked_stop_asks_for() {
    let hooks = "iteration:complete: [{when: '${ITERATION} == 1', pipe_output: true, command: echo 12 tests passed}], \
                 session:stop: [{command: '[ $ITERATION = 2 ] || { echo write notes >&2; exit 2; }'}]";
    let sandbox = a_loop(hooks, "termination: {type: fixed, iterations: 1}\nmax_iterations: 5");
    run(&sandbox, "loop.yaml", 0);
    let prompts = prompts(&sandbox);
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(prompts[1].contains("12 tests passed"), "{}", prompts[1]);
    assert!(prompts[1].contains("The session must not stop yet: write notes"), "{}", prompts[1]);
}

#[test]
fn after_max_runtime_nothing_is_delivered() {
    let agent = "{command: 'echo agent >> log; exec sleep 1000'}";
    let hooks = "iteration:error: [{pipe_output: true, command: echo fix it}]";
    let sandbox = with_agent(hooks, &format!("{}\nmax_runtime: 300ms", fixed(9)), agent);
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["agent"]);
    let note = "note: not delivered to the agent, since max_runtime is reached: fix it\n";
    assert!(ran.stdout.contains(note), "{}", ran.stdout);
}

// Conformance: iteratr-034
#[test]
fn output_in_the_format_of_iteratr_is_delivered_raw_without_its_hooks_and_a_failure_beside_it_counts()
 {
    let hooks = "version: 1\nhooks:\n  post_iteration: [{command: 'echo post >> log; echo raw', pipe_output: true}]\n";
    // At another event: at the same event both are one text.
    let native = format!("stage:complete: [{TESTS}]");
    let sandbox = || a_loop(&native, &fixed(1)).file(".iteratr.hooks.yml", hooks);
    // Reports of success are left out.
    let green = sandbox().file("fixed", "");
    let ran = run(&green, "loop.yaml", 0);
    assert_eq!(prompts(&green), ["task 1{}", "raw\n"]);
    assert_eq!(lines(&green, "log"), ["post", "tests 1"]);
    assert!(ran.stdout.contains("\n  1 iteration, "), "{}", ran.stdout);
    let red = sandbox();
    let ran = run(&red, "loop.yaml", 0);
    let prompts = prompts(&red);
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(prompts[1].starts_with("raw\n\n\nOutput of this session"), "{}", prompts[1]);
    assert!(prompts[1].contains("2 tests failed"), "{}", prompts[1]);
    assert_eq!(lines(&red, "log"), ["post", "tests 1", "post"]);
    assert!(ran.stdout.contains("\n  2 iterations, "), "{}", ran.stdout);
}

#[test]
fn at_the_same_point_as_output_in_the_format_of_iteratr_news_of_success_is_delivered_with_it() {
    let hooks = "version: 1\nhooks:\n  post_iteration: [{command: echo raw, pipe_output: true}]\n";
    let native = "iteration:complete: [{pipe_output: true, command: echo 12 tests passed}]";
    let sandbox = a_loop(native, &fixed(1)).file(".iteratr.hooks.yml", hooks);
    run(&sandbox, "loop.yaml", 0);
    let prompts = prompts(&sandbox);
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(prompts[1].contains("raw") && prompts[1].contains("12 tests passed"), "{prompts:?}");
}

/// A session whose tests fail after its only iteration. A command that finds its own name in the
/// file `hang` hangs once.
fn red() -> Sandbox {
    let say = "if [ \"$(cat hang 2>/dev/null)\" = \"$*\" ]; then rm hang; echo $$ > pid; exec sleep 1000; fi\necho \"$*\" >> log\n";
    let hooks = "iteration:start: [{await: true, command: sh say start $ITERATION}], \
                 iteration:complete: [{id: tests, pipe_output: true, command: 'sh say tests $ITERATION; echo red $ITERATION; [ $ITERATION = 2 ]'}], \
                 session:stop: [{await: true, command: sh say stop}], \
                 session:end: [{await: true, command: sh say end}]";
    let agent = "{command: 'mkdir -p ../prompts; sh say agent $ITERATION; cat > ../prompts/$(ls ../prompts | wc -l)'}";
    with_agent(hooks, &fixed(1), agent).file("say", say)
}

/// The prompts without the folder of the sandbox.
fn without_paths(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.path("").to_string_lossy().into_owned();
    prompts(sandbox).iter().map(|prompt| prompt.replace(&folder, "")).collect()
}

#[test]
fn killed_at_any_point_and_resumed_it_is_made_once() {
    let calm = red();
    run(&calm, "loop.yaml", 0);
    let (told, places) = (without_paths(&calm), lines(&calm, "log"));
    let all = ["start 1", "agent 1", "tests 1", "start 2", "agent 2", "tests 2", "stop", "end"];
    assert_eq!(places, all);
    assert_eq!((told.len(), told[1].matches("red 1").count()), (2, 1), "{told:?}");
    for place in &places {
        let sandbox = red().file("hang", place);
        let ran = killed_and_resumed(&sandbox, place);
        assert_eq!(ran.code, 0, "{place}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(lines(&sandbox, "log"), places, "{place}");
        assert_eq!(without_paths(&sandbox), told, "{place}");
        assert!(ran.stdout.contains("\n  2 iterations, "), "{place}: {}", ran.stdout);
    }
}

#[test]
fn its_run_events_say_which_iteration_it_is() {
    let sandbox = a_loop(&format!("iteration:complete: [{TESTS}]"), &fixed(1));
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let of_kind = |kind: &str| {
        let all = events(&ran);
        all.into_iter()
            .filter(|event| event["kind"] == kind)
            .map(|event| event["turn"].clone())
            .collect::<Vec<_>>()
    };
    let turn = |iteration: u32| serde_json::json!({ "stage": 1, "iteration": iteration });
    assert_eq!(of_kind("final_delivery"), [turn(2)]);
    assert_eq!(of_kind("turn_ended"), [turn(1), turn(2)]);
}
