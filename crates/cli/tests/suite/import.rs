//! `hookwright import`: its output, which behaves like the original.

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

const AUTOAGENT: &str = r#"{
  "providers": ["claude"],
  "hooks": {
    "PreExecutionEnd": [
      {"type": "command", "command": "bash validate.sh {{issueNumber}}", "blocking": true, "timeout": 1500}
    ],
    "PostExecutionEnd": [
      {"type": "git-commit", "message": "Complete issue #{{issueNumber}}: {{issueTitle}}"},
      {"type": "git-push", "remote": "origin"}
    ]
  }
}"#;

const ITERATR: &str = "hooks:
  session_start:
    - command: \"echo 'a: b' {{session}}\"
      timeout: 60
  on_error:
    - command: git diff HEAD
      pipe_output: true
";

#[test]
fn what_native_hooks_can_say_is_said_natively_and_the_rest_keeps_its_dialect() {
    let sandbox = Sandbox::new().file(".autoagent/config.json", AUTOAGENT);
    assert_eq!(
        sandbox.run(&["import", ".autoagent/config.json"]),
        Ran::new(
            0,
            "# The hooks of .autoagent/config.json (autoagent).
version: 1
hooks:
  execution:pre_end:
    # it reads its JSON under AutoAgent's names, and its output is shown to people
    # its `blocking` has no native form: only an explicit block blocks
    - command: \"bash validate.sh {{issueNumber}}\"
      timeout: 1.5
      dialect: autoagent
  execution:post_end:
    - type: git-commit
      message: \"Complete issue #${ISSUE_NUMBER}: ${ISSUE_TITLE}\"
      await: true
      timeout: 60
      on_failure: continue
    - type: git-push
      remote: origin
      await: true
      timeout: 60
      on_failure: continue
",
            "3 hooks, 1 of them with their dialect
note: hookwright still finds .autoagent/config.json, so these hooks run twice once a native file has them too
help: then remove them from .autoagent/config.json
"
        )
    );
}

#[test]
fn templates_become_variables_where_ours_have_the_same_value() {
    let sandbox = Sandbox::new().file("other.yml", ITERATR);
    assert_eq!(
        sandbox.run(&["import", "other.yml", "--dialect", "iteratr"]).stdout,
        "# The hooks of other.yml (iteratr).
version: 1
hooks:
  session:start:
    - command: \"echo 'a: b' \\\"${SESSION}\\\"\"
      shell: sh
      await: true
      timeout: 60
      on_failure: continue
  iteration:error:
    # its piped output reaches the agent unchanged, in iteratr's wording
    # a session continues after an error that the hook handled
    - command: git diff HEAD
      pipe_output: true
      dialect: iteratr
"
    );
}

#[test]
fn what_was_imported_runs_as_it_did() {
    let before = Sandbox::new().file(".iteratr.hooks.yml", ITERATR);
    let imported = before.run(&["import", ".iteratr.hooks.yml"]).stdout;
    let after = Sandbox::new().file("hookwright.yaml", &imported);
    let fired = |sandbox: &Sandbox, event: &str| {
        let data = json!({ "session": "it's $(me)", "iteration": 1, "error": "e" }).to_string();
        let (code, record) = sandbox.json(&["fire", event, "--data", &data, "--json"]);
        let seen = |hook: &Value| json!([hook["status"], hook["stdout"], hook["stderr"]]);
        let hooks = record["hooks"].as_array().expect("hooks").iter().map(seen);
        json!([code, record["piped_output"], record["piped_raw"], hooks.collect::<Vec<_>>()])
    };
    for event in ["session:start", "iteration:error"] {
        assert_eq!(fired(&before, event), fired(&after, event), "{event}");
    }
}

#[test]
fn a_file_of_an_unknown_system_says_how_to_name_its_system() {
    let sandbox = Sandbox::new().file("x.yaml", "hooks: {}\n");
    let ran = sandbox.run(&["import", "x.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.starts_with("error: cannot tell which system this file is from\n --> x.yaml\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_cannot_be_read_prints_nothing_and_says_why() {
    let sandbox = Sandbox::new().file(".iteratr.hooks.yml", "hooks: [");
    let ran = sandbox.run(&["import", ".iteratr.hooks.yml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("warning: "), "{}", ran.stderr);
}
