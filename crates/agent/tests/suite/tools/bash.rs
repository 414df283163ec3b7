//! bash: commands, their output and their end.

use std::fs;
use std::time::Duration;

use hookwright_agent::tool::{ToolEnd, Touches};
use serde_json::json;

use super::{Bench, run};

#[test]
fn a_command_runs_in_the_workspace_with_both_outputs_apart() {
    let bench = Bench::new();
    let (response, text) = bench
        .ran("bash", json!({ "command": "pwd; echo problem >&2; cat", "description": "Look" }));
    let root = bench.root().to_string_lossy().into_owned();
    let expected = json!({
        "stdout": root, "stderr": "problem", "interrupted": false, "isImage": false,
        "noOutputExpected": false, "exitCode": 0,
    });
    assert_eq!(response, expected);
    assert_eq!(text, format!("{root}\nproblem"));
    bench.ran("bash", json!({ "command": "cd /" }));
    assert_eq!(bench.ran("bash", json!({ "command": "pwd" })).1, root, "each starts there");
    assert_eq!(bench.ran("bash", json!({ "command": "true" })).1, "(no output)");
}

#[test]
fn a_command_that_fails_has_run() {
    let bench = Bench::new();
    let (response, text) = bench.ran("bash", json!({ "command": "echo no; exit 3" }));
    assert_eq!((&response["exitCode"], text.as_str()), (&json!(3), "exit code 3\nno"));
    let (response, text) = bench.ran("bash", json!({ "command": "kill -KILL $$" }));
    assert_eq!((&response["exitCode"], text.as_str()), (&json!(137), "ended by signal 9"));
}

#[test]
fn the_environment_is_the_one_that_is_handed_in() {
    let bench = Bench::new();
    let (_, text) = bench.ran("bash", json!({ "command": "env | cut -d= -f1 | sort" }));
    let names: Vec<&str> = text.lines().collect();
    assert_eq!(names, ["HOOKWRIGHT_RUN", "PATH", "PWD", "SHLVL", "_"]);
}

#[test]
fn output_keeps_its_first_and_last_half_and_counts_the_rest() {
    let bench = Bench::new();
    let command = "echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last";
    let (response, text) = bench.ran("bash", json!({ "command": command }));
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast"), "{text}");
    assert!(text.contains("bytes"), "how much is missing: {text}");
    assert!(text.len() < 31_000, "{}", text.len());
    assert_eq!(response["stdout"], json!(text));
}

#[test]
fn invalid_utf_8_is_shown_as_such() {
    let bench = Bench::new();
    let (response, _) = bench.ran("bash", json!({ "command": "printf 'a\\377b\\0c'" }));
    assert_eq!(response["stdout"], json!("a\u{fffd}b\0c"));
}

#[test]
fn a_timeout_ends_the_whole_tree_and_keeps_what_was_printed() {
    let bench = Bench::new();
    let command = "sleep 600 & echo $! > pid; echo begun; wait";
    // On a busy machine the shell is ended before it has printed anything.
    let begun = [500, 5_000, 50_000].into_iter().any(|timeout| {
        let error = bench.failed("bash", json!({ "command": command, "timeout": timeout }));
        assert!(error.contains(&format!("longer than {timeout} ms")), "{error}");
        error.ends_with("begun")
    });
    assert!(begun);
    assert_gone(&bench);
}

#[test]
fn on_cancel_the_whole_tree_is_gone_before_it_returns() {
    let bench = Bench::new();
    let root = bench.root();
    let input = json!({ "command": "setsid sleep 600 & echo $! > new; mv new pid; wait" });
    let end = bench.runtime.block_on(async {
        let cancel = bench.cancel.clone();
        tokio::spawn(async move {
            while !root.join("pid").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        });
        run(bench.tool("bash"), &input, &bench.cancel).await
    });
    let ToolEnd::Failed { error, is_interrupt: true, .. } = end else { panic!("{end:?}") };
    assert_eq!(error, "interrupted");
    assert_gone(&bench);
}

/// The process whose number is in the file `pid` has ended.
fn assert_gone(bench: &Bench) {
    let pid = bench.text("pid");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    // The process that adopted it may not have reaped it yet.
    let state = stat.ok().and_then(|stat| stat.rsplit(") ").next().map(|rest| rest.chars().next()));
    assert!(matches!(state.flatten(), None | Some('Z')), "{pid} is {state:?}");
}

#[test]
fn what_bash_cannot_do_is_refused_with_what_to_do() {
    let bench = Bench::new();
    let background = bench.failed("bash", json!({ "command": "x", "run_in_background": true }));
    assert_eq!(
        background,
        "field `run_in_background` of `bash` must be false, but is `true` (Background commands are \
         not supported: every command runs to its end.)"
    );
    let nul = bench.failed("bash", json!({ "command": "echo \0" }));
    assert_eq!(nul, "the command contains a NUL character, which no shell can read");
    let long = bench.failed("bash", json!({ "command": format!("#{}", "x".repeat(200_000)) }));
    assert!(long.ends_with("write it to a file, then run that"), "{long}");
    let slow = bench.failed("bash", json!({ "command": "x", "timeout": 600_001 }));
    assert_eq!(slow, "field `timeout` of `bash` must be at most 600000, but is 600001");
    let touches = bench.touches("bash", &json!({ "command": "git status" }));
    assert_eq!(touches, Touches::Command("git status".to_owned()));
}
