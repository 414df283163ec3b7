//! `hookwright list`.

use serde_json::json;

use crate::support::{Ran, Sandbox};

const HOOKS: &str = "version: 1
hooks:
  tool:pre_execute:bash:
    - command: ./guards/no-sudo.sh
      id: no-sudo
      once: true
  iteration:*:
    - command: |
        cargo test
        echo done
      pipe_output: true
      enabled: false
      matcher: /plan|work/
  on_stage_complete:
    - type: webhook
      url: ${SLACK_WEBHOOK}
      await: true
      on_failure: abort
      timeout: 5m
      when: ${STAGE} == 'plan'
      description: asks whether the plan is good
";

#[test]
fn every_hook_is_listed_with_what_it_does_and_where_it_came_from() {
    let sandbox = Sandbox::with_hooks(HOOKS)
        .global("hooks:\n  SessionEnd:\n    - type: git-push\n      retries: 2\n");
    let expected = "id                              event                  type      action               source                             flags
no-sudo                         tool:pre_execute:bash  shell     ./guards/no-sudo.sh  hookwright.yaml:4                  once
hookwright/iteration:*#0        iteration:*            shell     cargo test…          hookwright.yaml:8                  disabled, pipe_output, matcher: /plan|work/
hookwright/on_stage_complete#0  on_stage_complete      webhook   ${SLACK_WEBHOOK}     hookwright.yaml:15                 await: true, on_failure: abort, when: ${STAGE} == 'plan'
hooks/SessionEnd#0              SessionEnd             git-push  origin               ~/.config/hookwright/hooks.yaml:3
";
    assert_eq!(sandbox.run(&["list"]), Ran::new(0, expected, "4 hooks in 2 files\n"));
}

#[test]
fn programs_read_every_hook_as_it_was_written() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    assert_eq!(
        sandbox.json(&["list", "--json"]),
        (
            0,
            json!({
                "version": 1,
                "hooks": [
                    {
                        "id": "no-sudo",
                        "event": "tool:pre_execute:bash",
                        "events": ["tool:pre_execute"],
                        "type": "shell",
                        "action": "./guards/no-sudo.sh",
                        "source": { "file": "hookwright.yaml", "line": 4 },
                        "layer": "project",
                        "dialect": "native",
                        "enabled": true,
                        "pipe_output": false,
                        "once": true,
                        "description": null,
                    },
                    {
                        "id": "hookwright/iteration:*#0",
                        "event": "iteration:*",
                        "events": ["iteration:start", "iteration:complete", "iteration:error"],
                        "type": "shell",
                        "action": "cargo test\necho done\n",
                        "source": { "file": "hookwright.yaml", "line": 8 },
                        "layer": "project",
                        "dialect": "native",
                        "enabled": false,
                        "matcher": "/plan|work/",
                        "pipe_output": true,
                        "once": false,
                        "description": null,
                    },
                    {
                        "id": "hookwright/on_stage_complete#0",
                        "event": "on_stage_complete",
                        "events": ["stage:complete"],
                        "type": "webhook",
                        "action": "${SLACK_WEBHOOK}",
                        "source": { "file": "hookwright.yaml", "line": 15 },
                        "layer": "project",
                        "dialect": "native",
                        "enabled": true,
                        "when": "${STAGE} == 'plan'",
                        "await": true,
                        "timeout_ms": 300_000,
                        "on_failure": "abort",
                        "pipe_output": false,
                        "once": false,
                        "description": "asks whether the plan is good",
                    },
                ],
                "faults": [],
                "left_out": [],
            })
        )
    );
}

#[test]
fn what_can_be_read_of_a_faulty_file_is_listed() {
    let sandbox = Sandbox::with_hooks(
        "hooks:\n  Stop:\n    - command: good\n      id: good\n    - command: bad\n      tmeout: 5\n",
    );
    assert_eq!(
        sandbox.run(&["list"]),
        Ran::new(
            1,
            "id    event  type   action  source             flags
good  Stop   shell  good    hookwright.yaml:3
",
            "error: unknown key `tmeout`
 --> hookwright.yaml:6:7
  |
6 |       tmeout: 5
  |       ^^^^^^
help: did you mean `timeout`?

1 fault in 1 file
1 hook in 1 file
"
        )
    );
    let (code, value) = sandbox.json(&["list", "--json"]);
    assert_eq!(
        (code, &value["hooks"][0]["id"], &value["faults"][0]["nearest"]),
        (1, &json!("good"), &json!("timeout"))
    );
}

#[test]
fn what_a_hook_is_called_cannot_steer_the_terminal() {
    let sandbox = Sandbox::with_hooks(
        r#"hooks:
  "tool:pre_execute:\e[2J":
    - command: "echo \e]0;title\a\u009b31m"
      id: "a\rb\u202e\tc"
      when: "${STAGE} == '\e[1m'"
      description: "\e[5m"
"#,
    );
    assert_eq!(
        sandbox.run(&["list"]),
        Ran::new(
            0,
            r#"id             event                  type   action                    source             flags
a␍b\u{202e} c  tool:pre_execute:␛[2J  shell  echo ␛]0;title␇\u{9b}31m  hookwright.yaml:3  when: ${STAGE} == '␛[1m'
"#,
            "1 hook in 1 file\n"
        )
    );
    let ran = sandbox.run(&["list", "--json"]);
    let raw = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
    assert!(!ran.stdout.contains(raw), "{:?}", ran.stdout);
}

#[test]
fn long_commands_and_ids_are_cut() {
    let long = "x".repeat(5_000);
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks:\n  Stop:\n    - command: {long}\n      id: {long}\n      matcher: {long}\n"
    ));
    let cut = |chars: usize| format!("{}…", "x".repeat(chars - 1));
    let expected = format!(
        "id{:78}  event  type   action{:34}  source             flags\n\
         {}  Stop   shell  {}  hookwright.yaml:3  matcher: {}\n",
        "",
        "",
        cut(80),
        cut(40),
        cut(40)
    );
    assert_eq!(sandbox.run(&["list"]), Ran::new(0, &expected, "1 hook in 1 file\n"));
}

#[test]
fn no_file_and_no_hooks_are_said() {
    let ran = Sandbox::new().run(&["list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.starts_with("note: no `hookwright.yaml` in ~/project or any folder above"));
    assert_eq!(
        Sandbox::with_hooks("hooks: {}\n").run(&["list"]),
        Ran::new(0, "", "0 hooks in 1 file\n")
    );
}
