//! `check` of a loop or a pipeline and `run` read the same files, and say the same about them.

use crate::runs::{lines, run};
use crate::support::{Ran, Sandbox};

const LOOP: &str = "prompt: p\nagent: {command: 'true'}\nmax_iterations: 1\n";

#[test]
fn check_of_a_loop_finds_the_faults_of_the_files_that_its_run_reads() {
    let fault = "hooks: {session:stat: [{command: a}]}";
    for sandbox in [
        Sandbox::with_hooks(fault).file("loop.yaml", LOOP),
        Sandbox::new().file("loop.yaml", LOOP).global(fault),
    ] {
        let (checked, ran) =
            (sandbox.run(&["check", "loop.yaml"]), sandbox.run(&["run", "loop.yaml"]));
        assert_eq!((checked.code, ran.code), (1, 1), "{checked:?} {ran:?}");
        let said = |ran: &Ran| ran.stderr.lines().take(6).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(said(&checked), said(&ran));
        assert!(checked.stderr.contains("unknown event `session:stat`"), "{}", checked.stderr);
    }
}

#[test]
fn check_of_a_loop_in_a_project_below_reads_that_projects_file_as_run_does() {
    let sandbox = Sandbox::with_hooks("hooks: {session:stat: [{command: a}]}")
        .file("below/hookwright.yaml", "hooks: {}\n")
        .file("below/loop.yaml", LOOP);
    assert_eq!(sandbox.run(&["run", "below/loop.yaml", "--dry-run"]).code, 0);
    let checked = sandbox.run(&["check", "below/loop.yaml"]);
    assert_eq!(checked, Ran::new(0, "1 file checked, 0 hooks, no faults\n", ""));
}

#[test]
fn hooks_of_a_stages_loop_for_the_session_are_named_because_they_never_run() {
    let of_loop = "prompt: p
agent: {command: 'true'}
hooks:
  on_session_start:
    - command: touch started
  on_session_complete, session:stop:
    - command: touch ended
  on_iteration_complete, session:end:
    - {await: true, command: echo iteration >> log}
";
    let inline = "stages:
  - {name: a, loop: work}
  - name: b
    loop:
      prompt: p
      agent: {command: 'true'}
      hooks:
        session:end: [{command: touch ended}]
hooks:
  on_session_complete: [{await: true, command: echo session >> log}]
";
    let sandbox = Sandbox::new().file("work.yaml", of_loop).file("pipeline.yaml", inline);
    let never = "never wakes a hook of a stage's loop: a pipeline's session begins and ends outside its \
                 stages";
    let expected = format!(
        "warning: `on_session_start` {never}
 --> work.yaml:5:5
  |
5 |     - command: touch started
  |     ^^^^^^^^^^^^^^^^^^^^^^^^
help: move the hook to the pipeline's file, or listen to `stage:start`

warning: `on_session_complete, session:stop` {never}
 --> work.yaml:7:5
  |
7 |     - command: touch ended
  |     ^^^^^^^^^^^^^^^^^^^^^^
help: move the hook to the pipeline's file, or listen to `stage:complete`

warning: `session:end` {never}
 --> pipeline.yaml:8:9
  |
8 |         session:end: [{{command: touch ended}}]
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
help: move the hook to the pipeline's file, or listen to `stage:complete`

"
    );
    let checked = sandbox.run(&["check", "pipeline.yaml"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, &*expected));
    assert!(checked.stdout.ends_with("no faults, 3 warnings\n"), "{}", checked.stdout);
    assert_eq!(sandbox.run(&["check", "pipeline.yaml", "--strict"]).code, 1);
    assert!(sandbox.run(&["run", "pipeline.yaml", "--dry-run"]).stderr.starts_with(&expected));
    assert!(run(&sandbox, "pipeline.yaml", 0).stderr.starts_with(&expected));
    assert!(!sandbox.path("started").exists() && !sandbox.path("ended").exists());
    assert_eq!(lines(&sandbox, "log"), ["iteration", "session"]);
    // Alone, the loop is the session.
    let checked = sandbox.run(&["check", "work.yaml"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
}
