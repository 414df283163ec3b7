//! The live view of `run` on a real terminal: the binary in a shell in tmux, and the content of the
//! screen and the scrollback.

mod tmux;

use std::io::Write;
use std::process::Command;

use hookwright_postgres_server::{Cluster, Relay};

use crate::interrupts::{is_gone, until};
use crate::receiver::Receiver;
use crate::shared_store::{at, empty};
use crate::support::{Sandbox, this_user};
use tmux::{Tmux, WHOLE};

/// A project whose agent prints hello in each iteration and continues when something is written
/// into the pipe `go`.
fn project(iterations: u32, hooks: &str) -> Sandbox {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        format!(
            "{{name: work, agent: {{type: command, command: 'echo \"hello $ITERATION\"; cat go'}}, \
             prompt: Do it., termination: {{type: fixed, iterations: {iterations}}}, \
             hooks: {{{hooks}}}}}"
        ),
    );
    let sandbox = sandbox.file("hookwright.yaml", "callback: {port: 0}\n");
    let made = Command::new("mkfifo").arg(sandbox.path("go")).status().unwrap();
    assert!(made.success());
    sandbox
}

/// Lets the agent continue, with this as its last output.
fn go(sandbox: &Sandbox, words: &str) {
    let mut pipe = std::fs::OpenOptions::new().write(true).open(sandbox.path("go")).unwrap();
    writeln!(pipe, "{words}").unwrap();
}

const RUN: &str = "hookwright run loop.yaml --session one";

/// A terminal of this size in which this was typed, once the view shows the agent's output.
fn started(sandbox: &Sandbox, columns: u32, rows: u32, command: &str) -> Tmux {
    let tmux = Tmux::start(sandbox, columns, rows);
    tmux.types(command);
    tmux.wait_for("│ hello 1");
    tmux
}

/// Checks the exit code of the last command, which the shell prints.
fn ended_with(tmux: &Tmux, code: i32) {
    tmux.types("echo ended with $?");
    tmux.wait_for(&format!("ended with {code}"));
}

/// A hook that asks a person when the stage is complete.
fn gate(receiver: &Receiver) -> String {
    let url = receiver.url();
    format!(
        "stage:complete: [{{id: gate, url: '{url}', await: true, \
         body: {{text: 'Ready?', link: '${{CALLBACK_URL}}'}}}}]"
    )
}

/// The agent's output so far; lines that the terminal broke are joined again. No line of the view
/// is between.
fn printed_by_agent(tmux: &Tmux) -> Vec<String> {
    let all = tmux.captured(&["-J"]);
    for of_the_view in ["──", "▸", "│", "p pause", "p s o i ?"] {
        assert!(!all.contains(of_the_view), "{of_the_view}\n{all}");
    }
    let lines = all.lines().filter_map(|line| line.trim_end().strip_prefix("    | "));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_session_is_seen_live_and_leaves_the_screen_as_it_was() {
    let sandbox = project(2, "iteration:complete: [{id: tests, await: true, command: 'true'}]");
    let tmux = Tmux::start(&sandbox, 70, 24);
    tmux.types("echo before");
    tmux.types(RUN);
    tmux.wait_for("│ hello 1");
    tmux.wait_for_all(
        "\
$ echo before
before
$ hookwright run loop.yaml --session one
session one: work (work)
stage 1 work: at most 2 iterations
  iteration 1: the agent works
── one: work ── T ──
stage 1/1 work, iteration 1 of at most 2
▸ agent command works, T, process N
  │ hello 1
p pause  s stop  o more output  i prompt  ? help
",
    );
    go(&sandbox, "bye");
    tmux.wait_for("│ hello 2");
    go(&sandbox, "bye");
    tmux.wait_for_end();
    ended_with(&tmux, 0);
    tmux.wait_for_all(
        "\
$ echo before
before
$ hookwright run loop.yaml --session one
session one: work (work)
stage 1 work: at most 2 iterations
  iteration 1: the agent works
  iteration 1: continue after T
    iteration:complete  tests  success  T
  iteration 2: the agent works
  iteration 2: continue after T
    iteration:complete  tests  success  T
stage 1 work: completed after 2 iterations
session one: completed
  2 iterations, hooks: 2 success, T
  files: .hookwright/sessions/one
$ echo ended with $?
ended with 0
$
",
    );
    assert_eq!(tmux.modes(), WHOLE);
}

#[test]
fn everything_that_was_printed_is_in_the_scrollback_once_and_complete() {
    for (columns, rows) in [(60, 10), (20, 5), (300, 80)] {
        let sandbox = project(1, "").file(
            "loop.yaml",
            "{name: work, agent: {type: command, command: 'seq -f \"%04g and more words\" 500; cat go'}, \
             prompt: x, termination: {type: fixed, iterations: 1}}",
        );
        let tmux = Tmux::start(&sandbox, columns, rows);
        tmux.types(&format!("{RUN} --agent-output"));
        tmux.wait_for("0500 and more");
        go(&sandbox, "bye");
        tmux.wait_for_end();
        let lines = (1..=500).map(|number| format!("{number:04} and more words"));
        let expected: Vec<String> = lines.chain(["bye".to_owned()]).collect();
        assert_eq!(printed_by_agent(&tmux), expected, "{columns}x{rows}");
        assert_eq!(tmux.modes(), WHOLE);
    }
}

#[test]
fn a_tiny_terminal_shows_what_matters_and_a_huge_one_all_of_it() {
    let sandbox = project(1, "");
    let tmux = Tmux::start(&sandbox, 20, 5);
    tmux.types(RUN);
    tmux.wait_for("▸ agent");
    tmux.wait_for_screen(
        "  iteration 1: the a
gent works
stage 1/1 work, it…
▸ agent command wo…
p s o i ?
",
    );
    tmux.resize(300, 80);
    tmux.wait_for("│ hello 1");
    tmux.wait_for_all(
        "\
$ hookwright run loop.yaml --session one
session one: work (work)
stage 1 work: at most 1 iteration
  iteration 1: the agent works
── one: work ── T ──
stage 1/1 work, iteration 1 of at most 1
▸ agent command works, T, process N
  │ hello 1
p pause  s stop  o more output  i prompt  ? help
",
    );
    go(&sandbox, "bye");
    tmux.wait_for_end();
    assert_eq!(tmux.modes(), WHOLE);
}

#[test]
fn a_terminal_that_changes_its_size_while_hooks_print_is_not_damaged() {
    let sandbox = project(6, "").file(
        "loop.yaml",
        "{name: work, agent: {type: command, \
         command: 'seq -f \"%03g lines of many words\" 40; echo \"hello $ITERATION\"; cat go'}, \
         prompt: x, termination: {type: fixed, iterations: 6}}",
    );
    let tmux = Tmux::start(&sandbox, 80, 24);
    tmux.types(&format!("{RUN} --agent-output"));
    for (number, (columns, rows)) in
        [(60, 20), (100, 30), (33, 9), (80, 24), (45, 40), (80, 24)].into_iter().enumerate()
    {
        tmux.wait_for(&format!("│ hello {}", number + 1));
        tmux.resize(columns, rows);
        go(&sandbox, "bye");
    }
    tmux.wait_for_end();
    let of_turn = |turn: u32| {
        let lines = (1..=40).map(|number| format!("{number:03} lines of many words"));
        lines.chain([format!("hello {turn}"), "bye".to_owned()])
    };
    assert_eq!(printed_by_agent(&tmux), (1..=6).flat_map(of_turn).collect::<Vec<_>>());
    assert_eq!(tmux.modes(), WHOLE);
}

#[test]
fn a_question_is_approved_or_rejected_with_a_key() {
    for (keys, code, answer) in
        [(&["a", "y"][..], 0, "approved"), (&["r", "not yet", "Enter", "y"][..], 3, "rejected")]
    {
        let receiver = Receiver::new();
        let sandbox = project(1, &gate(&receiver)).set("USER", "ann");
        let tmux = started(&sandbox, 100, 30, RUN);
        go(&sandbox, "bye");
        tmux.wait_for("a approve  r reject");
        tmux.press(keys[0]);
        match keys[0] {
            "a" => tmux.wait_for("sure? y/n"),
            _ => tmux.wait_for("why not?"),
        }
        keys[1..].iter().for_each(|key| tmux.press(key));
        tmux.wait_for_end();
        ended_with(&tmux, code);
        assert_eq!(tmux.modes(), WHOLE);
        let shown = tmux::without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
        let by = format!("{} in the session's view", this_user());
        let told = format!("asked by gate: {answer} by {by} after T: Ready?");
        assert!(shown.contains(&told), "{shown}");
        assert_eq!(shown.contains("with the message: not yet"), code == 3, "{shown}");
    }
}

#[test]
fn a_no_leaves_the_question_as_it_is() {
    let receiver = Receiver::new();
    let sandbox = project(1, &gate(&receiver));
    let tmux = started(&sandbox, 100, 30, RUN);
    go(&sandbox, "bye");
    tmux.wait_for("a approve  r reject");
    for key in ["a", "r", "s"] {
        tmux.press(key);
        tmux.wait_until("it asks", |screen| {
            screen.contains("sure? y/n") || screen.contains("why not?")
        });
        tmux.press("Escape");
        tmux.wait_for("a approve  r reject");
    }
    let (_, waiting) = sandbox.json(&["approvals", "--json"]);
    let id = waiting[0]["id"].as_str().unwrap().to_owned();
    // A question that was answered elsewhere disappears from the view.
    tmux.press("a");
    tmux.wait_for("sure? y/n");
    assert_eq!(sandbox.run(&["approve", &id]).code, 0);
    tmux.wait_for_end();
    assert!(tmux.all().contains("session one: completed\n"), "{}", tmux.all());
}

#[test]
fn a_session_pauses_before_its_next_step_and_goes_on() {
    let sandbox = project(2, "");
    let tmux = started(&sandbox, 80, 24, RUN);
    tmux.press("p");
    tmux.wait_for("will pause before the next step");
    go(&sandbox, "bye");
    tmux.wait_for("‖ paused for");
    tmux.wait_for_all(
        "\
$ hookwright run loop.yaml --session one
session one: work (work)
stage 1 work: at most 2 iterations
  iteration 1: the agent works
  iteration 1: continue after T
paused: a person paused it
── one: work ── T ──
stage 1/1 work, iteration 1 of at most 2
‖ paused for T (p: continue): a person paused it
  │ hello 1
  │ bye
p continue  s stop  o more output  i prompt  ? help
",
    );
    tmux.press("p");
    tmux.wait_for("│ hello 2");
    go(&sandbox, "bye");
    tmux.wait_for_end();
    let shown = tmux::without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    let told = "│  │  paused (a person) for T: a person paused it\n";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn a_session_that_is_paused_can_be_interrupted() {
    let sandbox = project(2, "");
    let tmux = started(&sandbox, 80, 24, RUN);
    tmux.press("p");
    tmux.wait_for("will pause before the next step");
    go(&sandbox, "bye");
    tmux.wait_for("‖ paused for");
    tmux.press("C-c");
    tmux.wait_for("resume with: hookwright resume one");
    tmux.wait_for_prompt();
    assert_eq!(tmux.modes(), WHOLE);
}

#[test]
fn stop_ends_a_session_as_an_interrupt_does_and_once_more_leaves_at_once() {
    let sandbox = project(1, "session:end: [{id: slow, await: true, command: 'cat stuck'}]");
    assert!(Command::new("mkfifo").arg(sandbox.path("stuck")).status().unwrap().success());
    for how in ["keys", "Ctrl-C"] {
        let session = format!("hookwright run loop.yaml --session {how}");
        let tmux = started(&sandbox, 80, 24, &session);
        let stop = |asks: &str| {
            if how == "keys" {
                tmux.press("s");
                tmux.wait_for(asks);
                tmux.press("y");
            } else {
                tmux.press("C-c");
            }
        };
        stop("stop the session: sure? y/n");
        tmux.wait_for("▸ hook slow at session:end");
        stop("exit at once: sure? y/n");
        tmux.wait_for_prompt();
        ended_with(&tmux, 130);
        tmux.wait_for_all(&format!(
            "\
$ {session}
session {how}: work (work)
stage 1 work: at most 1 iteration
  iteration 1: the agent works
interrupted: ending the session (interrupt again to exit at once)
$ echo ended with $?
ended with 130
$
"
        ));
        assert_eq!(tmux.modes(), WHOLE);
    }
}

#[test]
fn a_signal_ends_a_session_and_the_terminal_is_given_back() {
    let sandbox = project(1, "");
    let tmux = started(&sandbox, 80, 24, RUN);
    let pid = running_pid(&sandbox);
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    tmux.wait_for("resume with: hookwright resume one");
    tmux.wait_for_prompt();
    assert_eq!(tmux.modes(), WHOLE);
}

fn running_pid(sandbox: &Sandbox) -> String {
    let (_, sessions) = sandbox.json(&["sessions", "list", "--json"]);
    sessions["sessions"][0]["process"]["pid"].to_string()
}

#[test]
fn a_session_that_was_stopped_with_ctrl_z_goes_on_in_the_foreground_and_in_the_background() {
    let sandbox = project(2, "");
    let tmux = started(&sandbox, 80, 24, RUN);
    tmux.press("C-z");
    tmux.wait_for("Stopped");
    assert_eq!(tmux.modes(), WHOLE);
    assert!(!tmux.all().contains("──"), "{}", tmux.all());
    tmux.types("fg");
    tmux.wait_for("p pause  s stop");
    tmux.press("p");
    tmux.wait_for("will pause before the next step");
    tmux.press("p");
    tmux.wait_for("p pause  s stop");
    tmux.press("C-z");
    tmux.wait_until("it is stopped again", |screen| screen.matches("Stopped").count() == 2);
    // In the background there are plain lines, and the shell has the terminal.
    tmux.types("bg");
    go(&sandbox, "bye");
    tmux.wait_for("iteration 2: the agent works");
    tmux.press("Enter");
    assert!(!tmux.all().contains("──"), "{}", tmux.all());
    assert_eq!(tmux.modes(), WHOLE);
    tmux.types("fg");
    tmux.wait_for("│ hello 2");
    go(&sandbox, "bye");
    tmux.wait_for_end();
    assert_eq!(tmux.modes(), WHOLE);
}

#[test]
fn a_session_begun_in_the_background_prints_plain_lines() {
    let sandbox = project(1, "");
    let tmux = Tmux::start(&sandbox, 80, 24);
    tmux.types(&format!("{RUN} &"));
    tmux.wait_for("iteration 1: the agent works");
    go(&sandbox, "bye");
    tmux.wait_for("files:");
    tmux.press("Enter");
    assert!(!tmux.all().contains("──"), "{}", tmux.all());
    assert_eq!(tmux.modes(), WHOLE);
}

#[test]
fn without_a_terminal_to_watch_there_are_plain_lines() {
    let sandbox = project(1, "");
    for (number, command) in [
        "hookwright run loop.yaml --session $S --plain",
        "TERM=dumb hookwright run loop.yaml --session $S",
        "CI=true hookwright run loop.yaml --session $S",
        "hookwright run loop.yaml --session $S | cat",
    ]
    .into_iter()
    .enumerate()
    {
        let tmux = Tmux::start(&sandbox, 80, 24);
        let command = command.replace("$S", &format!("s{number}"));
        tmux.types(&command);
        tmux.wait_for("iteration 1: the agent works");
        go(&sandbox, "bye");
        tmux.wait_for_end();
        tmux.wait_for_all(&format!(
            "\
$ {command}
session s{number}: work (work)
stage 1 work: at most 1 iteration
  iteration 1: the agent works
  iteration 1: continue after T
stage 1 work: completed after 1 iteration
session s{number}: completed
  1 iteration, no hooks, T
  files: .hookwright/sessions/s{number}
$
"
        ));
    }
}

#[test]
fn a_session_whose_terminal_goes_away_ends_as_if_interrupted() {
    let sandbox = project(1, "");
    let tmux = started(&sandbox, 80, 24, &format!("exec {RUN}"));
    let pid = running_pid(&sandbox);
    drop(tmux);
    until("it has ended", || is_gone(&pid));
    let (_, sessions) = sandbox.json(&["sessions", "list", "--json"]);
    assert_eq!(sessions["sessions"][0]["status"], "interrupted");
}

#[test]
fn where_no_shell_could_go_on_with_it_ctrl_z_does_nothing() {
    let sandbox = project(1, "");
    // Without a shell with job control above it, the system would not stop it either.
    let tmux = started(&sandbox, 80, 24, &format!("exec {RUN}"));
    tmux.press("C-z");
    tmux.press("?");
    tmux.wait_for("Tab shows the next question");
    go(&sandbox, "bye");
    until("it has ended", || {
        sandbox.json(&["sessions", "list", "--json"]).1["sessions"][0]["status"] == "completed"
    });
}

#[test]
fn more_of_the_output_is_shown_when_it_is_asked_for() {
    let sandbox = project(1, "").file(
        "loop.yaml",
        "{name: work, agent: {type: command, command: 'seq 30; printf \"\\033[31mred\\033[0m\\n\"; cat go'}, \
         prompt: x, termination: {type: fixed, iterations: 1}}",
    );
    let tmux = Tmux::start(&sandbox, 60, 24);
    tmux.types(RUN);
    tmux.wait_for("│ ␛[31mred␛[0m");
    let shown = |tmux: &Tmux| tmux.screen().matches("  │ ").count();
    until("five lines of it are shown", || shown(&tmux) == 5);
    tmux.press("o");
    tmux.wait_for("o less output");
    until("fourteen lines are", || shown(&tmux) == 14);
    tmux.press("o");
    tmux.wait_for("o more output");
    until("five lines are", || shown(&tmux) == 5);
    go(&sandbox, "bye");
    tmux.wait_for_end();
}

#[test]
fn what_the_agent_was_told_is_one_key_away() {
    let hooks = "iteration:start: [{pipe_output: true, command: echo 3 tests are red}]";
    let sandbox = project(1, hooks);
    let tmux = started(&sandbox, 80, 24, RUN);
    tmux.press("i");
    tmux.wait_for("  the agent's prompt:");
    tmux.wait_for("  > 3 tests are red");
    tmux.wait_for("  > Do it.");
    tmux.press("i");
    tmux.wait_for("│ hello 1");
    go(&sandbox, "bye");
    tmux.wait_for_end();
}

#[test]
fn the_view_draws_and_says_so_while_the_database_is_away() {
    let relay = Relay::to(Cluster::shared().port());
    let hook =
        "iteration:start: [{id: hook, command: 'while [ ! -e closed ]; do sleep 0.05; done'}]";
    let sandbox = at(project(2, hook), &relay.address(&empty()));
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    let tmux = started(&sandbox, 100, 24, RUN);
    relay.close();
    std::fs::write(sandbox.path("closed"), "").unwrap();
    tmux.wait_for("the store has been unreachable since ");
    go(&sandbox, "said meanwhile");
    tmux.wait_for("│ said meanwhile");
    relay.open();
    tmux.wait_for("the store is back after ");
    tmux.wait_for("│ hello 2");
    go(&sandbox, "");
    tmux.wait_for_end();
    ended_with(&tmux, 0);
    assert_eq!(tmux.modes(), WHOLE);
}
