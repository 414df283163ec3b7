//! `hookwright explain`.

use serde_json::json;

use crate::support::{Ran, Sandbox};

const HOOKS: &str = "hooks:
  tool:pre_execute:
    - {id: tests, command: touch ran}
    - {id: after, command: touch ran, when: \"${LAST_HOOK_STATUS} == 'failed'\", on_failure: retry}
    - {id: reads, command: touch ran, matcher: read}
  '*':
    - {id: log, command: touch ran, await: false, on_failure: continue}
";

#[test]
fn what_would_run_is_said_in_order_and_nothing_runs() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let data = r#"{"tool_name": "Bash"}"#;
    let stdout = "\
tool:pre_execute (bash): 3 of 4 hooks
1  tests  runs     awaited, at most 5m00s, on failure block                                    hookwright.yaml:3
2  after  depends  on the result of tests; awaited, at most 5m00s, 3 retries, on failure block  hookwright.yaml:4
3  log    runs     in the background, at most 5m00s, on failure continue                       hookwright.yaml:7
-  reads  no       matches other subjects than `bash`                                        hookwright.yaml:5
";
    let ran = sandbox.run(&["explain", "PreToolUse", "--data", data]);
    assert_eq!(
        ran.stdout.split_whitespace().collect::<Vec<_>>(),
        stdout.split_whitespace().collect::<Vec<_>>()
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn programs_read_the_same() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let (code, value) = sandbox.json(&["explain", "session:start", "--json", "--skip", "log"]);
    assert_eq!(code, 0);
    assert_eq!(value["event"], "session:start");
    assert_eq!(value["can_block"], false);
    assert_eq!(
        value["hooks"][0],
        json!({ "id": "log", "source": "hookwright.yaml:7", "fate": "skipped",
                "why": "--skip log", "depends_on": null, "terms": null })
    );
    let (_, value) = sandbox.json(&["explain", "PreToolUse", "--json"]);
    assert_eq!(value["hooks"][1]["depends_on"], "tests");
    assert_eq!(
        value["hooks"][1]["terms"],
        json!({ "await": true, "timeout_ms": 300000, "retries": 3, "on_failure": "block" })
    );
}

#[test]
fn with_faults_it_says_what_would_come_of_them() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: x, nope: 1}]}");
    let ran = sandbox.run(&["explain", "Stop"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "session:stop: 0 of 0 hooks\n"));
    assert!(ran.stderr.ends_with("nothing would run, and the event would be blocked\n"));
    let ran = sandbox.run(&["explain", "stage:start"]);
    assert!(ran.stderr.ends_with("with these faults nothing would run\n"));
}

#[test]
fn switched_off_hooks_are_explained_all_the_same() {
    let sandbox =
        Sandbox::with_hooks("hooks: {Stop: [{id: a, command: x}]}").set("HOOKWRIGHT", "0");
    let ran = sandbox.run(&["explain", "Stop"]);
    assert_eq!(
        ran,
        Ran::new(
            0,
            "session:stop: 1 of 1 hook\n1  a  runs  awaited, at most 5m00s, on failure continue  hookwright.yaml:1\n",
            "hooks are switched off (HOOKWRIGHT=0): no hook would run\n"
        )
    );
}
