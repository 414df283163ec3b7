//! Hook output on its way to the agent.

use crate::runs::{KEEPS_PROMPTS, lines, prompts, run};
use crate::support::Sandbox;

const FRAME: &str = "Output of this session's hooks since your last turn. This is not a new task: \
     use it where it matters for the task below, and fix what it says is broken.";

/// A loop with these hooks, whose agent keeps its prompts. Its task names the status file, so that
/// nothing is added to it.
fn a_loop(hooks: &str, iterations: u32) -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{{hooks}}}")).file(
        "loop.yaml",
        format!(
            "prompt: 'task ${{ITERATION}}{{${{STATUS.x}}}}'\ntermination: {{type: fixed, iterations: {iterations}}}\nagent: {KEEPS_PROMPTS}\n"
        ),
    )
}

fn task(number: u32) -> String {
    format!("task {number}{{}}")
}

fn piped(texts: &str) -> String {
    format!("{FRAME}\n\n{texts}\n\n")
}

#[test]
fn what_waits_comes_first_then_what_iteration_start_says_and_each_once() {
    let says = |text: &str| format!("{{await: true, pipe_output: true, command: echo {text}}}");
    let hooks = format!(
        "session:start: [{}], iteration:start: [{}], iteration:complete: [{}, {}]",
        says("session"),
        "{pipe_output: true, when: '${ITERATION} < 3', command: echo start $ITERATION}",
        "{pipe_output: true, when: '${ITERATION} == 1', command: echo complete $ITERATION}",
        "{pipe_output: true, when: '${ITERATION} == 1', command: echo again $ITERATION}",
    );
    let sandbox = a_loop(&hooks, 3);
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        prompts(&sandbox),
        [
            piped("session\n\nstart 1") + &task(1),
            piped("complete 1\nagain 1\n\nstart 2") + &task(2),
            task(3),
        ]
    );
}

#[test]
fn additional_context_of_a_hook_reaches_the_next_prompt() {
    let sandbox = a_loop(
        r#"iteration:complete: [{await: true, when: '${ITERATION} == 1', command: 'echo "{\"additionalContext\": \"seen\"}"'}]"#,
        2,
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox), [task(1), piped("seen") + &task(2)]);
}

#[test]
fn a_failed_hook_pipes_how_it_failed_and_what_it_printed() {
    let sandbox = a_loop(
        "iteration:complete: [{id: tests, pipe_output: true, when: '${ITERATION} == 1', command: 'echo 2 tests failed; exit 1'}]",
        2,
    );
    run(&sandbox, "loop.yaml", 0);
    let second = prompts(&sandbox)[1].clone();
    assert!(second.starts_with(FRAME), "{second}");
    assert!(second.contains("tests") && second.contains("2 tests failed"), "{second}");
    assert!(second.ends_with(&task(2)), "{second}");
}

/// A loop whose agent fails while there is a file `fail`, counting down.
fn failing(hooks: &str, fails: &[u32], iterations: u32) -> Sandbox {
    let fails: Vec<String> = fails.iter().map(u32::to_string).collect();
    Sandbox::with_hooks(&format!("hooks: {{{hooks}}}")).file(
        "loop.yaml",
        format!(
            "prompt: 'task ${{ITERATION}}{{${{STATUS.x}}}}'\ntermination: {{type: fixed, iterations: {iterations}}}\nagent: {{command: 'mkdir -p ../prompts; cat > ../prompts/$(ls ../prompts | wc -l); case \" {} \" in *\" $ITERATION \"*) echo broken >&2; exit 7;; esac'}}\n",
            fails.join(" ")
        ),
    )
}

#[test]
fn an_error_whose_hooks_pipe_sends_a_recovery_prompt_that_counts() {
    let sandbox = failing("iteration:error: [{pipe_output: true, command: echo fix it}]", &[1], 3);
    let ran = run(&sandbox, "loop.yaml", 0);
    let prompts = prompts(&sandbox);
    assert_eq!(prompts.len(), 3);
    let error = "the agent exited with 7: broken";
    assert!(
        prompts[1].starts_with(&format!("{}Your last turn failed: {error}\n", piped("fix it"))),
        "{}",
        prompts[1]
    );
    assert!(prompts[1].ends_with(&task(2)), "{}", prompts[1]);
    // The error is reported once.
    assert_eq!(prompts[2], task(3));
    assert!(ran.stdout.contains("\n  3 iterations, "), "{}", ran.stdout);
}

#[test]
fn an_error_whose_hooks_say_nothing_ends_the_session_as_failed() {
    let sandbox = failing("iteration:error: [{await: true, command: echo fix it >> log}]", &[1], 3);
    let ran = run(&sandbox, "loop.yaml", 5);
    assert_eq!((prompts(&sandbox).len(), lines(&sandbox, "log")), (1, vec!["fix it".to_owned()]));
    let end = "session s: failed (iteration 1 failed: the agent exited with 7: broken)\n";
    assert!(ran.stdout.contains(end), "{}", ran.stdout);
}

#[test]
fn three_errors_in_a_row_end_it_always() {
    let pipes = "iteration:error: [{pipe_output: true, command: echo fix it}]";
    let sandbox = failing(pipes, &[1, 2, 4, 5, 6], 9);
    let ran = run(&sandbox, "loop.yaml", 5);
    assert_eq!(prompts(&sandbox).len(), 6);
    assert!(ran.stdout.contains("failed (3 iterations failed in a row: "), "{}", ran.stdout);
}

#[test]
fn more_than_fits_is_counted() {
    let sandbox = a_loop(
        "iteration:complete: [{pipe_output: true, when: '${ITERATION} == 1', command: \"head -c 1000000 /dev/zero | tr '\\\\0' x\"}, {pipe_output: true, when: '${ITERATION} == 1', command: \"head -c 1000000 /dev/zero | tr '\\\\0' y\"}]",
        2,
    );
    run(&sandbox, "loop.yaml", 0);
    let second = &prompts(&sandbox)[1];
    assert!(second.len() < 1_100_000, "{}", second.len());
    assert!(second.contains("bytes"), "nothing says that something is missing");
}

#[test]
fn an_iteration_that_failed_gets_again_what_it_was_given_and_its_start_hooks_speak_anew() {
    let hooks = "iteration:start: [{pipe_output: true, command: 'echo >> starts; echo start $ITERATION.$(wc -l < starts)'}], iteration:complete: [{pipe_output: true, when: '${ITERATION} == 1', command: echo tests are red}]";
    let sandbox = a_loop(hooks, 2).file(
        "loop.yaml",
        "prompt: 'task ${ITERATION}{${STATUS.x}}'\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'mkdir -p ../prompts; cat > ../prompts/$(ls ../prompts | wc -l); [ $ITERATION = 1 ] || [ -e go ] || exit 7'}\n",
    );
    run(&sandbox, "loop.yaml", 5);
    // It may fail once more.
    for (code, file) in [(5, "nothing"), (0, "go")] {
        std::fs::write(sandbox.path(file), "").unwrap();
        let ran = sandbox.run(&["resume", "s"]);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    }
    let failed = "Your last turn failed: the agent exited with 7\n";
    let prompts = prompts(&sandbox);
    assert_eq!(prompts[0], piped("start 1.1") + &task(1));
    assert_eq!(prompts[1], piped("tests are red\n\nstart 2.2") + &task(2));
    for (prompt, start) in prompts[2..].iter().zip(["start 2.3", "start 2.4"]) {
        let said = piped(&format!("tests are red\n\n{start}"));
        assert!(prompt.starts_with(&said), "{prompt}");
        assert!(prompt.contains(failed) && prompt.ends_with(&task(2)), "{prompt}");
    }
    assert_eq!(prompts.len(), 4);
}
