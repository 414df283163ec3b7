//! Loops with iteratr's hooks: the exact text that the agent gets.

use crate::interrupts::{Left, killed_and_resumed, start, until};
use crate::runs::{KEEPS_PROMPTS, lines, prompts, run};
use crate::support::Sandbox;

/// A loop with these hooks, whose agent keeps its prompts. Its task names the status file, so that
/// nothing is added to it.
fn a_loop(hooks: &str, iterations: u32) -> Sandbox {
    with_agent(hooks, iterations, KEEPS_PROMPTS)
}

/// The same, whose agent fails in these iterations.
fn failing(hooks: &str, iterations: u32, fails: &[u32]) -> Sandbox {
    let fails: Vec<String> = fails.iter().map(u32::to_string).collect();
    let agent = format!(
        "{{command: 'mkdir -p ../prompts; cat > ../prompts/$(ls ../prompts | wc -l); case \" {} \" in *\" $ITERATION \"*) echo broken >&2; exit 7;; esac'}}",
        fails.join(" ")
    );
    with_agent(hooks, iterations, &agent)
}

fn with_agent(hooks: &str, iterations: u32, agent: &str) -> Sandbox {
    Sandbox::new().file(".iteratr.hooks.yml", format!("hooks:\n{hooks}")).file(
        "loop.yaml",
        format!(
            "prompt: 'task ${{ITERATION}}{{${{STATUS.x}}}}'\ntermination: {{type: fixed, iterations: {iterations}}}\nagent: {agent}\n"
        ),
    )
}

fn task(number: u32) -> String {
    format!("task {number}{{}}")
}

const FAILED: &str = "Your last turn failed: the agent exited with 7: broken";
const RECOVER: &str = "\n\nRead what the hooks say above, fix it, and go on with the task.\n\n";

// Conformance: iteratr-006, iteratr-014, iteratr-015, iteratr-020, iteratr-021, iteratr-022
// Conformance: iteratr-030, iteratr-031, iteratr-032, iteratr-034
#[test]
fn raw_output_waits_in_order_is_above_the_next_prompt_once_and_the_rest_is_delivered_last() {
    let sandbox = a_loop(
        "
  session_start:
    - {command: 'echo session {{session}}', pipe_output: true}
    - {command: 'echo nobody reads this'}
  pre_iteration:
    - {command: 'echo before {{iteration}}', pipe_output: true}
    - {command: '[ {{iteration}} = 2 ] || printf more', pipe_output: true}
  post_iteration:
    - {command: 'echo after {{iteration}}; echo oops >&2', pipe_output: true}
    - {command: 'exit {{iteration}}', pipe_output: true}
  session_end:
    - {command: 'ls ../prompts | wc -l > log; echo nobody reads this either', pipe_output: true}
",
        2,
    );
    run(&sandbox, "loop.yaml", 0);
    let after = |number: u32| {
        format!("after {number}\n\n[stderr]\noops\n\n[Hook command failed: exit status {number}]\n")
    };
    assert_eq!(
        prompts(&sandbox),
        [
            format!("session s\n\nbefore 1\n\nmore\n\n{}", task(1)),
            format!("{}\nbefore 2\n\n{}", after(1), task(2)),
            after(2),
        ]
    );
    // It ran after the last delivery.
    assert_eq!(lines(&sandbox, "log"), ["3"]);
}

// Conformance: iteratr-005, iteratr-035
#[test]
fn output_that_is_not_piped_reaches_no_prompt() {
    let sandbox = a_loop(
        "
  session_start: [{command: echo a}]
  pre_iteration: [{command: echo b}]
  post_iteration: [{command: echo c; exit 2}]
  session_end: [{command: echo d}]
",
        2,
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox), [task(1), task(2)]);
}

// Conformance: iteratr-017
#[test]
fn a_hook_that_takes_too_long_is_told_to_the_agent_with_all_that_it_had_printed() {
    // A busy machine needs longer until the hook has printed, and until the second one has ended.
    for timeout in (0..6).map(|doubled| 2 << doubled) {
        let hooks = format!(
            "
  post_iteration:
    - command: '[ {{{{iteration}}}} = 2 ] || {{ echo begun; echo oops >&2; touch printed; exec sleep 1000; }}'
      timeout: {timeout}
      pipe_output: true
  session_end: [{{command: 'ls ../prompts > told'}}]
"
        );
        let sandbox = a_loop(&hooks, 2);
        run(&sandbox, "loop.yaml", 0);
        let second_was_late = lines(&sandbox, "told").len() > 2;
        if !sandbox.path("printed").exists() || second_was_late {
            continue;
        }
        let said = format!(
            "[Hook timed out after {timeout}s]\nPartial output:\nbegun\n\n[stderr]\noops\n"
        );
        return assert_eq!(prompts(&sandbox), [task(1), format!("{said}\n{}", task(2))]);
    }
    panic!("the hook never came so far as to print");
}

// Conformance: iteratr-027
#[test]
fn what_error_hooks_pipe_is_a_recovery_prompt_at_once_and_counts_as_an_iteration() {
    let sandbox = failing(
        "
  on_error: [{command: 'echo look at {{iteration}}: {{error}}', pipe_output: true}]
  post_iteration: [{command: 'echo done {{iteration}}', pipe_output: true}]
  session_end: [{command: echo over > log}]
",
        2,
        &[1],
    );
    // Waiting for the delay would take a day.
    let text = std::fs::read_to_string(sandbox.path("loop.yaml")).unwrap();
    let sandbox = sandbox.file("loop.yaml", format!("{text}delay: 24h\n"));
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the end of the session", || lines(&sandbox, "log") == ["over"]);
    assert_eq!(started.ran().code, 0);
    let said = "look at 1: the agent exited with 7: broken\n";
    assert_eq!(
        prompts(&sandbox),
        [task(1), format!("{said}\n{FAILED}{RECOVER}{}", task(2)), "done 2\n".to_owned(),]
    );
}

// Conformance: iteratr-026, iteratr-028, iteratr-039
#[test]
fn a_session_with_error_hooks_survives_also_if_they_say_nothing() {
    let sandbox = failing("  on_error: [{command: 'echo {{error}} >> log; exit 1'}]\n", 4, &[1, 3]);
    let ran = run(&sandbox, "loop.yaml", 0);
    // Without output of the hooks there is no recovery prompt.
    assert_eq!(prompts(&sandbox), [1, 2, 3, 4].map(task));
    assert_eq!(lines(&sandbox, "log"), ["the agent exited with 7: broken"; 2]);
    assert!(ran.stdout.contains("\n  4 iterations, "), "{}", ran.stdout);
}

#[test]
fn a_session_without_error_hooks_ends_with_the_first_error() {
    let sandbox = failing("  post_iteration: [{command: echo x, pipe_output: true}]\n", 3, &[1]);
    let ran = run(&sandbox, "loop.yaml", 5);
    assert_eq!(prompts(&sandbox), [task(1)]);
    let end = "session s: failed (iteration 1 failed: the agent exited with 7: broken)\n";
    assert!(ran.stdout.contains(end), "{}", ran.stdout);
}

// Conformance: iteratr-029
#[test]
fn three_errors_in_a_row_end_a_session_whatever_its_hooks_are() {
    let sandbox = failing("  on_error: [{command: 'true'}]\n", 9, &[1, 2, 4, 5, 6]);
    let ran = run(&sandbox, "loop.yaml", 5);
    assert_eq!(prompts(&sandbox), [1, 2, 3, 4, 5, 6].map(task));
    assert!(ran.stdout.contains("failed (3 iterations failed in a row: "), "{}", ran.stdout);
}

#[test]
fn an_error_of_the_last_iteration_is_told_with_the_last_delivery() {
    let sandbox = failing("  on_error: [{command: echo fix it, pipe_output: true}]\n", 1, &[1]);
    // The delivery has the number of the last iteration, so this agent fails there too.
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox), [task(1), format!("fix it\n\n{FAILED}")]);
}

// Conformance: iteratr-015
#[test]
fn beside_native_hooks_raw_output_stays_raw_and_theirs_is_framed() {
    let sandbox = a_loop("  session_start: [{command: echo raw, pipe_output: true}]\n", 1).file(
        "hookwright.yaml",
        "hooks: {iteration:start: [{pipe_output: true, command: echo framed}]}",
    );
    run(&sandbox, "loop.yaml", 0);
    let frame = "Output of this session's hooks since your last turn. This is not a new task: use \
         it where it matters for the task below, and fix what it says is broken.";
    assert_eq!(prompts(&sandbox), [format!("raw\n\n\n{frame}\n\nframed\n\n{}", task(1))]);
}

// Conformance: iteratr-010
#[test]
fn a_file_that_cannot_be_read_is_said_and_the_session_goes_on_without_its_hooks() {
    let sandbox = a_loop("  session_start: echo here\n", 1);
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox), [task(1)]);
    let warning = "expected a list of hooks but found the string `echo here`";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert!(ran.stderr.contains(".iteratr.hooks.yml:2:18"), "{}", ran.stderr);
}

#[test]
fn a_native_hook_that_names_the_dialect_has_its_names_and_its_texts() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{dialect: iteratr, pipe_output: true, timeout: 30, command: 'echo {{iteration}} {{error}}; exit 3'}]}",
    )
    .file(
        "loop.yaml",
        format!("prompt: 'task ${{ITERATION}}{{${{STATUS.x}}}}'\ntermination: {{type: fixed, iterations: 1}}\nagent: {KEEPS_PROMPTS}\n"),
    );
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox), [task(1), "[Hook command failed: exit status 3]\n1 \n".into()]);
}

/// A session in which a hook at every point prints something, and the second of three iterations
/// fails. A command that finds its own name in the file `hang` hangs once.
fn talkative() -> Sandbox {
    let say = "if [ \"$(cat hang 2>/dev/null)\" = \"$*\" ]; then rm hang; echo $$ > pid; exec sleep 1000; fi\necho \"$*\" >> log\necho \"$*\"\n";
    let agent = "{command: 'mkdir -p ../prompts; number=$(ls ../prompts | wc -l); sh say agent $number; cat > ../prompts/$number; [ $number != 1 ] || exit 7'}";
    let hooks = "
  session_start: [{command: 'sh say session_start', pipe_output: true}]
  pre_iteration: [{command: 'sh say pre_iteration {{iteration}}', pipe_output: true}]
  post_iteration:
    - {command: 'sh say post_iteration {{iteration}}', pipe_output: true}
    - {command: 'sh say second {{iteration}}', pipe_output: true}
  on_error: [{command: 'sh say on_error {{iteration}}', pipe_output: true}]
  session_end: [{command: 'sh say session_end', pipe_output: true}]
";
    with_agent(hooks, 3, agent).file("say", say)
}

#[test]
fn killed_at_any_point_and_resumed_the_agent_is_told_the_same_once() {
    let calm = talkative();
    run(&calm, "loop.yaml", 0);
    let told = prompts(&calm);
    let failed = "Your last turn failed: the agent exited with 7";
    assert_eq!(
        told,
        [
            format!("session_start\n\npre_iteration 1\n\n{}", task(1)),
            format!("post_iteration 1\n\nsecond 1\n\npre_iteration 2\n\n{}", task(2)),
            format!("on_error 2\n\npre_iteration 3\n\n{failed}{RECOVER}{}", task(3)),
            "post_iteration 3\n\nsecond 3\n".to_owned(),
        ]
    );
    let places = lines(&calm, "log");
    assert_eq!(
        places,
        [
            "session_start",
            "pre_iteration 1",
            "agent 0",
            "post_iteration 1",
            "second 1",
            "pre_iteration 2",
            "agent 1",
            "on_error 2",
            "pre_iteration 3",
            "agent 2",
            "post_iteration 3",
            "second 3",
            "agent 3",
            "session_end",
        ]
    );
    for place in &places {
        let sandbox = talkative().file("hang", place);
        let ran = killed_and_resumed(&sandbox, place);
        assert_eq!(ran.code, 0, "{place}: {}{}", ran.stdout, ran.stderr);
        assert_eq!((prompts(&sandbox), lines(&sandbox, "log")), (told.clone(), places.clone()));
    }
}

#[test]
fn a_session_that_survived_an_error_without_a_word_survives_it_after_a_kill_as_well() {
    let agent = "{command: 'mkdir -p ../prompts; cat > ../prompts/$(ls ../prompts | wc -l); if [ $ITERATION = 1 ]; then exit 7; fi; if [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}";
    let sandbox = with_agent("  on_error: [{command: echo x >> log}]\n", 2, agent);
    let left = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the second iteration", || left.has_run());
    started.kill();
    let sandbox = sandbox.file("go", "");
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        (prompts(&sandbox), lines(&sandbox, "log")),
        ([1, 2, 2].map(task).to_vec(), vec!["x".to_owned()])
    );
}
