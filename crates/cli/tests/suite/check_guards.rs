//! Warnings of `check` about hooks that would never work: missing scripts, tools that no agent has,
//! inputs that a tool does not have.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Ran, Sandbox};

/// Kind, line, column, found text and nearest name of every warning.
fn warned(sandbox: &Sandbox) -> Vec<String> {
    let (code, found) = sandbox.json(&["check", "--json"]);
    assert_eq!((code, found["faults"].to_string().as_str()), (0, "[]"));
    let warnings = found["warnings"].as_array().expect("a list");
    let one_line = |warning: &serde_json::Value| {
        let text = |key: &str| warning[key].as_str().unwrap_or("-").to_owned();
        let place = format!("{}:{}", warning["line"], warning["column"]);
        // The place of the name, or of the event that contains it.
        let path = text("file").replacen('~', "..", 1);
        let file = fs::read_to_string(sandbox.path(&path)).expect("readable");
        let line = warning["line"].as_u64().expect("a number") as usize - 1;
        let column = warning["column"].as_u64().expect("a number") as usize - 1;
        let marked = &file.lines().nth(line).expect("a line")[column..];
        let found = text("found");
        assert!(marked.starts_with(&found) || marked.starts_with("tool:"), "{found}: {marked}");
        format!("{place} {} {} {}", text("kind"), text("found"), text("nearest"))
    };
    warnings.iter().map(one_line).collect()
}

#[test]
fn a_script_or_program_that_is_not_there_is_a_warning() {
    let hooks = "hooks:
  session:start:
    - {id: gone, command: ./guards/no-sudo.sh --strict}
    - {id: plain, command: guards/there.sh}
    - {id: fine, command: ./guards/fine.sh}
    - {id: by-shell, command: bash guards/gone.sh}
    - {id: read, command: sh guards/there.sh}
    - {id: program, command: no-such-program -x | cat}
    - {id: off, enabled: false, command: ./gone.sh}
    - {id: elsewhere, working_dir: guards, command: ./fine.sh}
    - {id: shells, command: 'if true; then ./gone.sh; fi'}
    - {id: again, command: ./guards/no-sudo.sh}
";
    let sandbox = Sandbox::with_hooks(hooks)
        .file("guards/there.sh", "true\n")
        .program("guards/fine.sh", "#!/bin/sh\ntrue\n");
    assert_eq!(
        warned(&sandbox),
        [
            "3:27 no_program ./guards/no-sudo.sh -",
            "4:28 not_executable guards/there.sh -",
            "6:36 no_program guards/gone.sh -",
            "8:30 no_program no-such-program -",
        ]
    );
    let ran = sandbox.run(&["check", "--strict"]);
    assert_eq!(ran.code, 1);
    for said in [
        "warning: there is no file `./guards/no-sudo.sh`, so hook `gone` cannot run it\n",
        "help: create it, or fix its path; paths begin at the project root, or at `working_dir`\n",
        "warning: `guards/there.sh` is not executable, so hook `plain` cannot run it\n",
        "help: make it executable: `chmod +x guards/there.sh`\n",
        "warning: there is no program `no-such-program`, so hook `program` cannot run it\n",
    ] {
        assert!(ran.stderr.contains(said), "{said}{}", ran.stderr);
    }
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path("guards/there.sh"), mode).expect("set");
    assert_eq!(warned(&sandbox).len(), 3);
}

#[test]
fn a_path_in_a_file_for_all_projects_may_be_there_in_another_project() {
    let sandbox = Sandbox::new()
        .global("hooks: {session:start: [{command: ./gone.sh}, {command: no-such-program}]}");
    assert_eq!(warned(&sandbox), ["1:57 no_program no-such-program -"]);
}

#[test]
fn a_tool_that_no_agent_has_is_a_warning_with_the_nearest_one() {
    let hooks = "hooks:
  tool:pre_execute:bsah: [{command: 'true'}]
  tool:post_execute:
    - {matcher: Wirte|Edit, command: 'true'}
    - {matcher: deploy, command: 'true'}
    - {matcher: /^deploy$/, command: 'true'}
    - {matcher: mcp__github__*, command: 'true'}
    - {matcher: mcp__github__search|WebFetch|run_shell_command, command: 'true'}
  stage:complete: [{matcher: bsah, command: 'true'}]
";
    let sandbox = Sandbox::with_hooks(hooks);
    assert_eq!(
        warned(&sandbox),
        [
            "2:3 unknown_tool bsah bash",
            "4:17 unknown_tool Wirte write",
            "5:17 unknown_tool deploy -",
        ]
    );
    let said = sandbox.run(&["check"]).stderr;
    for expected in [
        "warning: no agent has a tool `bsah`, so hook `hookwright/tool:pre_execute:bsah#0` never wakes for it\n",
        "help: did you mean `bash`?\n",
        "help: for a tool of your own, use a regular expression: `matcher: /^deploy$/`\n",
    ] {
        assert!(said.contains(expected), "{expected}{said}");
    }
}

#[test]
fn an_input_that_the_named_tool_does_not_have_is_a_warning_with_the_nearest_one() {
    let hooks = "hooks:
  tool:pre_execute:bash:
    - {id: guard, command: exit 2, when: \"${TOOL_INPUT.comand} matches 'sudo'\"}
    - {id: right, command: exit 2, when: \"${TOOL_INPUT.command} matches 'sudo'\"}
    - {id: text, command: 'echo \"${TOOL_INPUT.command}\" \"${HOOKWRIGHT_TOOL_INPUT.comand.x}\"'}
    - {id: body, url: https://example.com, body: {text: '${TOOL_INPUT.content}'}}
  tool:pre_execute:
    - {id: any, command: exit 2, when: \"${TOOL_INPUT.comand} matches 'sudo'\"}
    - {id: unknown, matcher: WebFetch, command: exit 2, when: \"${TOOL_INPUT.ulr} matches 'x'\"}
    - {id: both, matcher: write|edit, command: exit 2, when: \"${TOOL_INPUT.old_string} == ${TOOL_INPUT.pth}\"}
";
    let sandbox = Sandbox::with_hooks(hooks);
    assert_eq!(
        warned(&sandbox),
        [
            "3:56 unknown_input comand command",
            "5:82 unknown_input comand command",
            "6:71 unknown_input content -",
            "10:104 unknown_input pth path",
        ]
    );
    let said = sandbox.run(&["check"]).stderr;
    for expected in [
        "warning: the tool `bash` has no input `comand`, so `${TOOL_INPUT.comand}` is always empty\n",
        "help: did you mean `${TOOL_INPUT.command}`?\n",
        "help: its inputs include command, cmd, description, timeout, timeout_ms\n",
        "warning: the tools `write`, `edit` have no input `pth`, so `${TOOL_INPUT.pth}` is always empty\n",
    ] {
        assert!(said.contains(expected), "{expected}{said}");
    }
    assert_eq!(sandbox.run(&["check", "--strict"]).code, 1);
}

#[test]
fn fire_warns_of_data_that_no_event_has() {
    let sandbox = Sandbox::with_hooks("hooks: {tool:pre_execute: [{command: 'true'}]}");
    let fire = |data: &str| sandbox.run(&["fire", "tool:pre_execute", "--data", data]);
    let ran = fire(r#"{"tool_nme": "bash", "toolInput": {}, "turn_id": "1", "my_field": 1}"#);
    assert_eq!(ran.code, 0);
    let said = "warning: no event has the field `tool_nme`
help: did you mean `tool_name`?
warning: no event has the field `my_field`
help: hooks find it in the JSON on standard input; it is not a variable, and `when` cannot use it
";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(fire(r#"{"tool_name": "bash", "tool_input": {}}"#).stderr, "");
    let explained = sandbox.run(&["explain", "tool:pre_execute", "--data", r#"{"tol_name": "x"}"#]);
    assert!(explained.stderr.contains("did you mean `tool_name`?"), "{}", explained.stderr);
    // Many of them do not flood the screen.
    let many: Vec<String> = (0..9).map(|number| format!("\"field{number}x\": 1")).collect();
    let said = fire(&format!("{{{}}}", many.join(", "))).stderr;
    assert_eq!(said.matches("no event has the field").count(), 5, "{said}");
    assert!(said.contains("and 4 other fields that no event has\n"), "{said}");
    // The data of events of the open namespace are not listed anywhere.
    let open = sandbox.run(&["fire", "claude:cwd_changed", "--data", r#"{"old_cwd": "/"}"#]);
    assert_eq!(open, Ran::new(0, "0 hooks\n", "no hook listens to claude:cwd_changed\n"));
}
