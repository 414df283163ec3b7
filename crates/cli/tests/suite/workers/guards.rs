//! The hooks of a worker's own user, in sessions that others submit.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{hears, home_of, is, is_there, project, submit, worker};
use crate::interrupts::{Started, until};
use crate::runs::lines;
use crate::support::Sandbox;

const ONE_TURN: &str = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo turn >> $CHECKOUT/log'}\n";

/// The folder for the hooks of the worker's user with this home.
fn settings(sandbox: &Sandbox, home: &str) -> std::path::PathBuf {
    let settings = home_of(sandbox, home).join(".config/hookwright");
    fs::create_dir_all(&settings).unwrap();
    settings
}

/// Makes sure that the worker refuses the session for this reason, and runs nothing of it.
fn is_refused(sandbox: &Sandbox, worker: &mut Started, reason: &str) {
    hears(worker, "refused");
    worker.wait_for_words(reason);
    assert!(!is_there(sandbox, "log"));
}

/// Leaves at a path what cannot be read as a hook file.
type Spoil<'a> = &'a dyn Fn(&Path);

#[test]
fn a_machine_runs_no_session_while_a_guard_of_its_user_cannot_be_read() {
    let not_text = |path: &Path| fs::write(path, b"hooks: {} # \xff\xfe").unwrap();
    let dangling = |path: &Path| symlink("/nowhere/hooks.yaml", path).unwrap();
    let too_big = |path: &Path| fs::write(path, vec![b'#'; 64 * 1024 * 1024]).unwrap();
    let cases: [(Spoil<'_>, &str); 3] = [
        (&not_text, "\"reason\":\"the file is not UTF-8"),
        (&dangling, "\"reason\":\"the file cannot be read"),
        (&too_big, "\"reason\":\"the file has 67108864 bytes"),
    ];
    for (make, reason) in cases {
        let sandbox = project(ONE_TURN);
        make(&settings(&sandbox, "a").join("hooks.yaml"));
        let mut first = worker(&sandbox, "a", &["--json"]);
        submit(&sandbox, &["--session", "s"]);
        is_refused(&sandbox, &mut first, reason);
        drop(first);
        // Another machine is not concerned.
        let _second = worker(&sandbox, "b", &[]);
        until("the session is complete", || is(&sandbox, "s", "completed"));
    }
}

#[test]
fn a_machine_runs_no_session_while_a_hook_of_its_user_starts_a_pipeline() {
    let sandbox = project(ONE_TURN);
    let spawn = "hooks: {iteration:start: [{type: spawn, pipeline: review, await: true}]}\n";
    fs::write(settings(&sandbox, "a").join("hooks.yaml"), spawn).unwrap();
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    let reason = "a hook of the worker's user cannot start `review` in a submitted session";
    is_refused(&sandbox, &mut first, reason);
}

#[test]
fn a_loop_that_a_hook_starts_keeps_the_guards_of_the_workers_user() {
    let sandbox = project(&format!(
        "{ONE_TURN}hooks: {{iteration:complete: [{{type: spawn, pipeline: review, await: true}}]}}\n"
    ));
    let settings = settings(&sandbox, "a");
    let guard = "hooks: {iteration:start: [{command: 'echo guarded $SESSION >> $CHECKOUT/log', await: true}]}";
    fs::write(settings.join("hooks.yaml"), guard).unwrap();
    // As if the guard's file were a prompt.
    let review = format!(
        "prompt_file: {}\ntermination: {{type: fixed, iterations: 1}}\nagent: {{command: 'true'}}\n",
        settings.join("hooks.yaml").display()
    );
    fs::write(sandbox.path("review.yaml"), review).unwrap();
    submit(&sandbox, &["--session", "s"]);
    let _worker = worker(&sandbox, "a", &[]);
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log"), ["guarded s", "turn", "guarded s--iteration_complete-1"]);
}
