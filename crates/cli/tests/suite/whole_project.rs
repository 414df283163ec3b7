//! `check`, `list` and `explain` without a file include the hooks of the project's loops and
//! pipelines.

use serde_json::json;

use crate::support::{Ran, Sandbox};

const PROJECT: &str = "agent: {command: 'true'}
hooks:
  iteration:complete: [{id: notify, command: echo hi}]
";

const LOOP: &str = "prompt: p
hooks:
  iteration:complete: [{id: tests, command: echo hi}]
";

const PIPELINE: &str = "stages:
  - {name: a, loop: work}
  - name: b
    loop: {prompt: p, hooks: {iteration:start: [{id: inline, command: echo hi}]}}
hooks:
  stage:complete: [{id: stage, command: echo hi}]
";

fn project() -> Sandbox {
    Sandbox::with_hooks(PROJECT).file("loops/work.yaml", LOOP).file("pipeline.yaml", PIPELINE)
}

#[test]
fn check_reads_every_loop_and_pipeline_and_counts_what_it_has_read() {
    let sandbox = project();
    assert_eq!(
        sandbox.run(&["check", "--strict"]),
        Ran::new(0, "3 files checked, 4 hooks, no faults\n", "")
    );
    let (_, found) = sandbox.json(&["check", "--json"]);
    assert_eq!(
        (&found["files"], &found["hooks"]),
        (&json!(["hookwright.yaml", "pipeline.yaml", "loops/work.yaml"]), &json!(4))
    );
    // Files that a named pipeline names are read and counted too.
    assert_eq!(
        sandbox.run(&["check", "pipeline.yaml"]),
        Ran::new(0, "2 files checked, 3 hooks, no faults\n", "")
    );
}

#[test]
fn faults_and_warnings_of_a_loop_that_was_not_named_are_found() {
    for (slip, expected) in [
        ("command: echo hi", "error: unknown key `comand`\n --> loops/work.yaml:3:36"),
        ("prompt: p", "error: unknown key `promt`\n --> loops/work.yaml:1:1"),
    ] {
        let slipped = slip.replace("command", "comand").replace("prompt", "promt");
        let sandbox = project().file("loops/work.yaml", LOOP.replace(slip, &slipped));
        let ran = sandbox.run(&["check"]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    let odd = LOOP.replace("echo hi", "echo $PROMPT");
    let ran = project().file("loops/work.yaml", odd).run(&["check", "--strict"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "3 files checked, 4 hooks, no faults, 1 warning\n")
    );
    // A pipeline that names a missing loop.
    let nowhere = project().file("pipeline.yaml", PIPELINE.replace("loop: work", "loop: wrok"));
    let ran = nowhere.run(&["check"]);
    assert!(ran.stderr.contains("there is no loop `wrok`"), "{}", ran.stderr);
}

#[test]
fn check_names_a_guard_that_no_run_of_the_project_fires() {
    let guard = "hooks:\n  tool:pre_execute:bash: [{id: no-sudo, command: exit 2}]\n";
    let agent = "prompt: p\nagent: {command: 'true'}\n";
    let sandbox = Sandbox::with_hooks(guard).file("loop.yaml", agent);
    let ran = sandbox.run(&["check", "--strict"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "2 files checked, 1 hook, no faults, 1 warning\n")
    );
    assert!(ran.stderr.contains("nothing here fires `tool:pre_execute:bash`"), "{}", ran.stderr);
}

#[test]
fn files_of_other_programs_and_of_other_projects_are_left_alone() {
    let sandbox = project()
        .file("azure-pipelines.yml", "stages:\n- stage: Build\n  jobs: []\n")
        .file("compose.yaml", "services: {}\n")
        .file("below/hookwright.yaml", "hoks: {}\n")
        .file("below/loop.yaml", "promt: p\n");
    assert_eq!(sandbox.run(&["check"]).stdout, "3 files checked, 4 hooks, no faults\n");
}

#[test]
fn a_loop_alone_is_a_project_to_check() {
    let sandbox = Sandbox::new().file("loop.yaml", "prompt: p\nagent: {command: 'true'}\n");
    assert_eq!(sandbox.run(&["check"]), Ran::new(0, "1 file checked, 0 hooks, no faults\n", ""));
}

#[test]
fn list_shows_hooks_of_loops_and_pipelines_with_their_files() {
    let sandbox = project();
    assert_eq!(
        sandbox.run(&["list"]),
        Ran::new(
            0,
            "id      event               type   action   source             flags
stage   stage:complete      shell  echo hi  pipeline.yaml:6
inline  iteration:start     shell  echo hi  pipeline.yaml:4
tests   iteration:complete  shell  echo hi  loops/work.yaml:3
notify  iteration:complete  shell  echo hi  hookwright.yaml:3
",
            "4 hooks in 3 files\n"
        )
    );
    let (_, listed) = sandbox.json(&["list", "--json"]);
    let layers: Vec<&str> =
        listed["hooks"].as_array().unwrap().iter().map(|h| h["layer"].as_str().unwrap()).collect();
    assert_eq!(layers, ["pipeline", "loop", "loop", "project"]);
    // A loop that switches global hooks off does so in its own runs only.
    let sandbox = project()
        .file("loops/work.yaml", format!("disable_global_hooks: true\n{LOOP}"))
        .global("hooks: {iteration:complete: [{id: mine, command: echo hi}]}\n");
    let listed = sandbox.run(&["list"]).stdout;
    assert!(!listed.contains("disable_global_hooks"), "{listed}");
}

#[test]
fn list_shows_the_faults_of_a_loop_and_ends_with_1() {
    let ran = project().file("loops/work.yaml", "prompt: p\nhoks: {}\n").run(&["list"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("unknown key `hoks`"), "{}", ran.stderr);
    assert!(ran.stdout.contains("notify"), "{}", ran.stdout);
}

#[test]
fn explain_says_what_would_run_in_runs_of_each_loop_that_listens() {
    let sandbox = project();
    let rules = "in the background, at most 5m00s, on failure continue";
    assert_eq!(
        sandbox.run(&["explain", "iteration:complete"]),
        Ran::new(
            0,
            &format!(
                "iteration:complete: 1 of 1 hook
1  notify  runs  {rules}  hookwright.yaml:3
in runs of loops/work.yaml: 2 of 2 hooks
1  tests   runs  {rules}  loops/work.yaml:3
2  notify  runs  {rules}  hookwright.yaml:3
"
            ),
            ""
        )
    );
    let (_, explained) = sandbox.json(&["explain", "iteration:complete", "--json"]);
    assert_eq!(explained["hooks"].as_array().map(Vec::len), Some(1));
    assert_eq!(explained["runs"][0]["file"], "loops/work.yaml");
    assert_eq!(explained["runs"][0]["hooks"][0]["id"], "tests");
    assert_eq!(explained["runs"].as_array().map(Vec::len), Some(1));

    let ran = project()
        .file("loops/work.yaml", "prompt: p\nhoks: {}\n")
        .run(&["explain", "iteration:complete"]);
    let said = "in runs of loops/work.yaml: nothing, it has 1 fault; run `hookwright check`\n";
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.ends_with(said), "{}", ran.stdout);
}
