//! `hookwright test`: cases beside the hooks, run by the real binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::first_steps::accepted_by;
use crate::interrupts::{Left, start, until};
use crate::support::{Ran, Sandbox, examples};

const GUARD: &str = "hooks:
  tool:pre_execute:
    - id: no-sudo
      command: 'echo \"looked at ${TOOL_INPUT.command}\" >&2; case \"${TOOL_INPUT.command}\" in *sudo*) echo no sudo >&2; exit 2 ;; esac'
";

/// A project with these hooks and these cases. Copies are made where a test can find them.
fn project(hooks: &str, cases: &str) -> Sandbox {
    let sandbox = Sandbox::with_hooks(hooks).file("hookwright.test.yaml", cases);
    let temporary = sandbox.path("../tmp");
    fs::create_dir(&temporary).unwrap();
    sandbox.set("TMPDIR", temporary.to_str().unwrap())
}

/// The copies that were not removed.
fn left_of_copies(sandbox: &Sandbox) -> Vec<PathBuf> {
    fs::read_dir(sandbox.path("../tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Runs one case with these hooks; the text below `expect` is indented.
fn one_case(hooks: &str, case: &str) -> Ran {
    project(hooks, &format!("cases:\n  - name: it\n{case}")).run(&["test"])
}

#[test]
fn a_case_is_a_line_and_the_exit_code_says_whether_all_passed() {
    let sandbox = project(
        GUARD,
        "cases:
  - name: sudo is blocked
    event: PreToolUse
    data: {tool_name: Bash, tool_input: {command: sudo ls}}
    expect: {decision: block, reason: {contains: no sudo}, hooks: [no-sudo: blocked], files: {}}
  - name: ls passes
    event: PreToolUse
    data: {tool_name: Bash, tool_input: {command: ls}}
    expect: {decision: null, hooks: [no-sudo: success]}
",
    );
    assert_eq!(
        sandbox.run(&["test"]),
        Ran::new(
            0,
            "hookwright.test.yaml\n  ok      sudo is blocked\n  ok      ls passes\n2 cases: 2 passed\n",
            ""
        )
    );
    assert_eq!(left_of_copies(&sandbox), [""; 0].map(PathBuf::from));
}

#[test]
fn a_case_that_fails_shows_what_was_expected_what_came_and_what_the_hooks_said() {
    let sandbox = project(
        GUARD,
        "cases:
  - name: ls is blocked
    event: PreToolUse
    data: {tool_name: Bash, tool_input: {command: \"ls \\e[2J\"}}
    expect:
      decision: block
      reason: no ls
      hooks: [no-sudo: blocked]
  - name: sudo is blocked
    event: PreToolUse
    data: {tool_name: Bash, tool_input: {command: sudo ls}}
    expect: {decision: block}
",
    );
    assert_eq!(
        sandbox.run(&["test"]),
        Ran::new(
            5,
            "hookwright.test.yaml
  FAILED  ls is blocked (line 2)
          decision
          - block
          + none
          reason
          - no ls
          + nothing
          hooks
          - no-sudo: blocked
          + no-sudo: success
          hook no-sudo: success
            | looked at ls ␛[2J
  ok      sudo is blocked
2 cases: 1 passed, 1 failed (- expected, + came)
",
            ""
        )
    );
    assert_eq!(left_of_copies(&sandbox), [""; 0].map(PathBuf::from));
}

#[test]
fn whatever_a_decision_carries_can_be_expected() {
    let hooks = "hooks:
  tool:pre_execute:
    - id: rewrite
      command: |
        echo '{\"updatedInput\": {\"command\": \"ls\"}, \"additionalContext\": \"for the agent\", \"systemMessage\": \"for the user\", \"decision\": \"ask\", \"reason\": \"sure?\"}'
  on_iteration_complete:
    - {id: piped, command: 'echo tests ok', pipe_output: true}
    - {id: ends, await: true, command: 'echo \"{\\\"continue\\\": false, \\\"stopReason\\\": \\\"enough\\\"}\"', when: '${ITERATION} == 2'}
    - {id: aborts, on_failure: abort, command: 'exit 1', when: '${ITERATION} == 3'}
";
    let ran = project(
        hooks,
        "cases:
  - name: before a tool
    event: PreToolUse
    data: {tool_name: Bash, tool_input: {command: rm}}
    expect: {decision: ask, reason: sure?, updated_input: {command: ls}, contexts: [for the agent], messages: [{matches: user$}]}
  - name: piped
    event: on_iteration_complete
    data: {iteration: 1}
    expect: {piped_output: tests ok, hooks: [piped: success, ends: skipped, aborts: skipped]}
  - {name: stop, event: on_iteration_complete, data: {iteration: 2}, expect: {decision: stop, reason: enough}}
  - {name: abort, event: on_iteration_complete, data: {iteration: 3}, expect: {decision: abort, hooks: [piped, aborts: failed]}}
",
    )
    .run(&["test"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn hooks_work_in_a_copy_that_only_its_owner_can_enter_and_the_project_stays_as_it_is() {
    let sandbox = project(
        "hooks: {session:start: [{id: writes, await: true, command: './run.sh'}]}",
        "cases:
  - name: writes
    event: session:start
    expect:
      hooks: [writes: success]
      files: {new/log: {is: created, content: \"700\\nproject\\n\"}, given: deleted, run.sh: changed}
  - name: the next one begins anew
    event: session:start
    expect: {files: {new/log: created, given: deleted, run.sh: changed}}
",
    )
    .file("given", "")
    .file(
        "run.sh",
        "#!/bin/sh\nmkdir new; stat -c %a .. > new/log; basename \"$PWD\" >> new/log; rm given; echo >> run.sh\n",
    );
    fs::set_permissions(sandbox.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = sandbox.run(&["test"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(sandbox.path("given").exists());
    assert!(!sandbox.path("new").exists());
    assert_eq!(left_of_copies(&sandbox), [""; 0].map(PathBuf::from));
}

#[test]
fn in_place_hooks_work_in_the_project_itself() {
    let hooks = "hooks: {session:start: [{await: true, command: 'touch made-$STAGE'}]}";
    let sandbox = project(
        hooks,
        "cases:
  - {name: by key, event: session:start, data: {stage: key}, in_place: true, expect: {files: {made-key: created}}}
  - {name: by flag, event: session:start, data: {stage: flag}, expect: {files: {made-flag: created}}}
  - {name: prepared, event: session:start, data: {stage: copy}, files: {made-copy-too: x}, expect: {files: {made-copy: created}}}
",
    );
    assert_eq!(sandbox.run(&["test", "--filter", "by key"]).code, 0);
    assert!(sandbox.path("made-key").exists());
    let ran = sandbox.run(&["test", "--filter", "by flag"]);
    assert_eq!((ran.code, sandbox.path("made-flag").exists()), (0, false), "{}", ran.stdout);
    let ran = sandbox.run(&["test", "--in-place", "--filter", "by flag"]);
    assert_eq!((ran.code, sandbox.path("made-flag").exists()), (0, true), "{}", ran.stdout);
    // A case that creates files never does so in the project.
    let ran = sandbox.run(&["test", "--in-place", "--filter", "prepared"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(!sandbox.path("made-copy").exists() && !sandbox.path("made-copy-too").exists());
}

#[test]
fn what_nothing_waits_for_is_waited_for_before_anything_is_compared() {
    let ran = one_case(
        "hooks: {session:start: [{id: slow, command: 'sleep 0.3; echo done > log; exit 3'}]}",
        "    event: session:start
    expect: {hooks: [slow: failed], files: {log: {content: done}}}
",
    );
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn what_hooks_leave_running_ends_with_the_case() {
    let sandbox = project(
        "hooks: {session:start: [{await: true, command: 'setsid sleep 1000 > /dev/null 2>&1 & echo $! > \"$PIDS/pid\"'}]}",
        "cases: [{name: it, event: session:start, expect: {decision: none}}]",
    );
    let sandbox = {
        let pids = sandbox.path(".");
        sandbox.set("PIDS", pids.to_str().unwrap())
    };
    let left = Left::by(&sandbox, "pid");
    let ran = sandbox.run(&["test"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(left.has_run() && left.is_gone());
}

#[test]
fn the_steps_of_a_case_share_a_session_and_the_first_failure_ends_it() {
    let hooks = "hooks:
  iteration:complete:
    - {id: tests, await: true, command: '[ ! -e bug ]'}
    - {id: once, once: true, await: true, command: 'echo $SESSION >> log'}
  stage:complete:
    - {id: mourn, await: true, command: 'true', when: \"${LAST_HOOK_STATUS} == 'failed'\"}
";
    let cases = "cases:
  - name: in order
    session: calm-fox
    files: {bug: ''}
    steps:
      - event: iteration:complete
        expect: {hooks: [tests: failed, once: success], files: {log: {content: calm-fox}}}
      - event: iteration:complete
        expect: {hooks: [tests: failed, once: skipped], files: {}}
      - event: stage:complete
        expect: {hooks: [mourn]}
      - event: stage:complete
        files: {other: text}
        expect: {hooks: [], files: {}}
";
    let sandbox = project(hooks, cases);
    assert_eq!(sandbox.run(&["test"]).code, 0, "{}", sandbox.run(&["test"]).stdout);
    let wrong = cases.replace("hooks: [mourn]", "hooks: []");
    let ran = project(hooks, &wrong).run(&["test"]);
    assert_eq!(
        ran,
        Ran::new(
            5,
            "hookwright.test.yaml
  FAILED  in order (line 2)
          step 3, stage:complete (line 10)
          hooks
          - none
          + mourn: success
          hook mourn: success
1 case: 0 passed, 1 failed (- expected, + came)
",
            ""
        )
    );
}

#[test]
fn a_case_has_its_own_variables_and_setup() {
    let hooks = "hooks:
  session:start:
    - {id: deploys, await: true, command: 'echo $TARGET > to', when: \"${TARGET} != ''\"}
";
    let sandbox = project(
        hooks,
        "cases:
  - name: set up
    event: session:start
    env: {TARGET: staging}
    files: {name: world}
    setup: echo hello $(cat name) > greeting; chmod 500 .; chmod 700 .
    expect: {hooks: [deploys], files: {to: {content: staging}}}
  - name: setup fails
    event: session:start
    env: {TARGET: ''}
    setup: echo it broke >&2; exit 3
    expect: {hooks: []}
  - name: without the variable
    event: session:start
    expect: {hooks: []}
",
    );
    assert_eq!(
        sandbox.run(&["test"]),
        Ran::new(
            5,
            "hookwright.test.yaml
  ok      set up
  FAILED  setup fails (line 8)
          setup failed: exit code 3: it broke
  FAILED  without the variable (line 13)
          hookwright.yaml:3:73: unknown variable `TARGET`
          help: use a variable that `hookwright events NAME` lists, or set it in the environment
3 cases: 1 passed, 2 failed (- expected, + came)
",
            ""
        )
    );
}

#[test]
fn a_hook_that_calls_git_reaches_only_what_is_in_the_copy() {
    let sandbox = project(
        "hooks: {session:start: [{id: commit, await: true, command: 'git add -A && git commit -qm hook'}]}",
        "cases:
  - name: with a repository of its own
    event: session:start
    setup: git init -q . && git config user.name a && git config user.email a@example.org
    expect: {hooks: [commit: success], files: {}}
  - name: without
    event: session:start
    expect: {hooks: [commit: failed]}
",
    );
    // A repository around project and copies, as a hook of git itself would name it.
    let home = sandbox.path("..");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(&home).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q", "."]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@example.org"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let sandbox = sandbox.set("GIT_DIR", home.join(".git").to_str().unwrap());
    let ran = sandbox.run(&["test"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(git(&["log", "--format=%s"]), "first\n");
}

#[test]
fn an_id_that_no_hook_has_is_said_to_be_a_slip() {
    let ran = one_case(
        GUARD,
        "    event: PreToolUse
    data: {tool_name: read}
    expect: {hooks: [no-sud: skipped]}
",
    );
    assert_eq!(ran.code, 5);
    assert!(
        ran.stdout
            .contains("no hook has the id `no-sud`\n          help: did you mean `no-sudo`?\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_hooks_of_a_file_that_is_named_are_those_of_the_copy() {
    let sandbox = project(
        "hooks: {session:start: [{id: other, command: exit}]}",
        "cases:
  - name: it
    event: session:start
    files: {conf/hooks.yaml: 'hooks: {session:start: [{id: laid-down, await: true, command: exit}]}'}
    expect: {hooks: [laid-down: success]}
",
    )
    .file("conf/hooks.yaml", "hooks: {session:start: [{id: named, command: exit}]}");
    let ran = sandbox.run(&["test", "--config", "conf/hooks.yaml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // A file from elsewhere is read at its own path.
    let outside = sandbox.file(
        "../hooks.yaml",
        "hooks: {session:start: [{id: laid-down, await: true, command: exit}]}",
    );
    let ran = outside.run(&["test", "--config", "../hooks.yaml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn hooks_for_all_projects_are_left_out_unless_they_are_asked_for() {
    let sandbox = project(
        GUARD,
        "cases: [{name: it, event: PreToolUse, data: {tool_name: read}, expect: {hooks: [no-sudo]}}]",
    )
    .global("hooks: {PreToolUse: [{id: mine, command: exit 2}]}");
    assert_eq!(sandbox.run(&["test"]).code, 0);
    let ran = sandbox.run(&["test", "--global-hooks"]);
    assert_eq!(ran.code, 5);
    assert!(ran.stdout.contains("+ mine: blocked"), "{}", ran.stdout);
}

#[test]
fn test_files_are_found_beside_the_hooks_in_tests_and_where_they_are_named() {
    let case = |name: &str| {
        format!(
            "cases: [{{name: {name}, event: PreToolUse, data: {{tool_name: read}}, expect: {{decision: none}}}}]"
        )
    };
    let sandbox = project(GUARD, &case("beside"))
        .file("tests/b.hookwright.test.yaml", case("in tests"))
        .file(
            "tests/a.hookwright.test.json",
            r#"{"cases": [{"name": "json", "event": "Stop", "expect": {"hooks": []}}]}"#,
        )
        .file("tests/nohookwright.test.yaml", "nonsense")
        .file("tests/other.yaml", "nonsense")
        .file("more/c.hookwright.test.yml", case("named"));
    let listed = |arguments: &[&str]| {
        let ran = sandbox.run(&[&["test", "--list"], arguments].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        ran.stdout
    };
    assert_eq!(
        listed(&[]),
        "hookwright.test.yaml:1: beside\ntests/a.hookwright.test.json:1: json\ntests/b.hookwright.test.yaml:1: in tests\n"
    );
    assert_eq!(
        listed(&["more", "tests/b.hookwright.test.yaml", "more/c.hookwright.test.yml"]),
        "more/c.hookwright.test.yml:1: named\ntests/b.hookwright.test.yaml:1: in tests\n"
    );
    assert_eq!(listed(&["--filter", "in t"]), "tests/b.hookwright.test.yaml:1: in tests\n");
    let sandbox = sandbox.inside("more");
    let ran = sandbox.run(&["test", "--filter", "beside"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
}

#[test]
fn no_hooks_no_files_no_cases_and_no_match_are_errors_that_say_what_to_do() {
    let ran = Sandbox::new().run(&["test"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: expected a `hookwright.yaml`"), "{}", ran.stderr);
    let ran = Sandbox::with_hooks(GUARD).run(&["test"]);
    assert_eq!(
        ran,
        Ran::new(
            1,
            "",
            "error: found no `hookwright.test.yaml` and no `*.hookwright.test.yaml` in this folder or in `tests` below it
 --> ~/project
help: write `hookwright.test.yaml` beside your hooks:
  cases:
    - name: sudo is blocked
      event: tool:pre_execute
      data: {tool_name: bash, tool_input: {command: sudo ls}}
      expect: {decision: block}
"
        )
    );
    // The example in the message works.
    let example: String = ran.stderr.lines().skip(3).map(|line| format!("{line}\n")).collect();
    let sandbox = project(GUARD, &example);
    assert_eq!(sandbox.run(&["test"]).code, 0, "{}", sandbox.run(&["test"]).stdout);
    assert_eq!(
        sandbox.run(&["test", "--filter", "nothing"]),
        Ran::new(
            1,
            "",
            "error: no case has `nothing` in its name\nhelp: `hookwright test --list` lists them\n"
        )
    );
    let empty = project(GUARD, "cases: []").run(&["test"]);
    assert!(
        empty.stderr.starts_with("error: the test files contain no cases\n"),
        "{}",
        empty.stderr
    );
    let off = sandbox.set("HOOKWRIGHT", "0").run(&["test"]);
    assert_eq!((off.code, off.stdout.as_str()), (1, ""));
    assert!(off.stderr.contains("switched off (HOOKWRIGHT=0)"), "{}", off.stderr);
}

#[test]
fn every_fault_of_hooks_and_cases_is_shown_before_anything_runs() {
    let sandbox = project(
        "hooks: {session:start: [{comand: touch ran}]}",
        "cases:
  - name: it
    evnt: session:start
    event: session:begin
    data_file: missing.json
    expect: {decison: block}
",
    );
    let ran = sandbox.run(&["test", "--in-place"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    for told in [
        "error: unknown key `comand`\n --> hookwright.yaml:1:26\n",
        "error: unknown key `evnt`\n --> hookwright.test.yaml:3:5\n",
        "help: did you mean `event`?",
        "error: unknown event `session:begin`\n --> hookwright.test.yaml:4:12\n",
        "error: unknown key `decison`\n --> hookwright.test.yaml:6:14\n",
        " --> missing.json\n",
        "5 faults, so no case was run\n",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let (code, value) = sandbox.json(&["test", "--json"]);
    assert_eq!(code, 1);
    assert_eq!(value["faults"].as_array().unwrap().len(), 5);
}

#[test]
fn programs_read_everything_in_one_value() {
    let sandbox = project(
        GUARD,
        "cases:
  - {name: right, event: PreToolUse, data: {tool_name: read}, expect: {decision: none}}
  - {name: wrong, event: PreToolUse, data: {tool_name: read}, expect: {decision: block}}
",
    );
    let (code, value) = sandbox.json(&["test", "--json"]);
    assert_eq!(code, 5);
    assert_eq!((&value["passed"], &value["failed"]), (&json!(1), &json!(1)));
    assert_eq!(value["interrupted"], false);
    let [right, wrong] = value["cases"].as_array().unwrap().as_slice() else { panic!("{value}") };
    assert_eq!((&right["name"], &right["passed"]), (&json!("right"), &json!(true)));
    assert_eq!((&wrong["file"], &wrong["line"]), (&json!("hookwright.test.yaml"), &json!(3)));
    let step = &wrong["steps"][0];
    assert_eq!(
        step["differences"],
        json!([{ "what": "decision", "expected": ["block"], "came": ["none"] }])
    );
    assert_eq!(step["fired"]["hooks"][0]["id"], "no-sudo");
    let (code, listed) = sandbox.json(&["test", "--list", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(
        listed["cases"][0],
        json!({ "file": "hookwright.test.yaml", "line": 2, "name": "right" })
    );
    let timed = sandbox.run(&["test", "--time", "--filter", "right"]);
    assert!(
        timed.stdout.contains("  ok      right  ") && timed.stdout.contains("ms\n"),
        "{}",
        timed.stdout
    );
}

#[test]
fn a_link_that_leads_out_is_left_out_of_the_copy_and_said_to_be() {
    let sandbox = project(
        "hooks: {session:start: [{id: writes, await: true, command: 'echo hooked > out/file; echo hooked > in'}]}",
        "cases:
  - {name: it, event: session:start, files: {here: ''}, expect: {files: {here: changed}}}
",
    )
    .file("../secret/file", "mine\n");
    symlink("../secret", sandbox.path("out")).unwrap();
    symlink("here", sandbox.path("in")).unwrap();
    let ran = sandbox.run(&["test"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stderr, "note: `out` points outside the project and was not copied\n");
    assert_eq!(fs::read_to_string(sandbox.path("../secret/file")).unwrap(), "mine\n");
}

#[test]
fn a_project_that_is_too_large_to_copy_says_what_to_do() {
    let sandbox = project(
        GUARD,
        "cases: [{name: it, event: PreToolUse, data: {tool_name: read}, expect: {decision: none}}]",
    );
    let large = fs::File::create(sandbox.path("large")).unwrap();
    large.set_len(300 * 1024 * 1024).unwrap();
    let ran = sandbox.run(&["test"]);
    assert_eq!(
        ran,
        Ran::new(
            1,
            "",
            "error: the project cannot be copied for each case: there are more than 268435456 bytes
 --> ~/project
help: add what hooks do not need to .gitignore, or run in the project itself: `hookwright test --in-place`
"
        )
    );
    assert_eq!(sandbox.run(&["test", "--in-place"]).code, 0);
    fs::create_dir(sandbox.path("target")).unwrap();
    fs::rename(sandbox.path("large"), sandbox.path("target/large")).unwrap();
    assert_eq!(sandbox.run(&["test"]).code, 0, "what is built is not copied");
}

#[test]
fn a_copy_is_removed_whatever_a_hook_did_to_it() {
    let sandbox = project(
        "hooks: {session:start: [{id: closes, await: true, command: 'mkdir -p a/b; touch a/b/c; chmod 500 a/b a; chmod 0 a/b'}]}",
        "cases: [{name: it, event: session:start, expect: {hooks: [closes: success]}}]",
    );
    assert_eq!(sandbox.run(&["test"]).code, 0);
    assert_eq!(left_of_copies(&sandbox), [""; 0].map(PathBuf::from));
}

#[test]
fn an_interrupt_ends_the_hooks_and_removes_the_copy() {
    let hooks = "hooks: {session:start: [{kill_grace: GRACE, await: true, command: \"TRAP echo $$ > \\\"$PIDS/pid\\\"; while :; do sleep 0.05; done\"}]}";
    for (grace, trap, signals) in [("2s", "", 1), ("1h", "trap '' TERM INT HUP;", 2)] {
        let sandbox = project(
            &hooks.replace("GRACE", grace).replace("TRAP", trap),
            "cases:
  - {name: first, event: session:end, expect: {hooks: []}}
  - {name: second, event: session:start, expect: {decision: none}}
  - {name: third, event: session:end, expect: {hooks: []}}
",
        );
        let pids = sandbox.path(".");
        let sandbox = sandbox.set("PIDS", pids.to_str().unwrap());
        let hook = Left::by(&sandbox, "pid");
        let mut started = start(&sandbox, &["test"]);
        until("the hook runs", || hook.has_run());
        assert_eq!(left_of_copies(&sandbox).len(), 1);
        started.signal("-INT");
        if signals == 2 {
            started.wait_for_first_words(b"interrupted");
            started.signal("-INT");
        }
        let ran = started.ran();
        assert_eq!(ran.code, 130, "{}{}", ran.stdout, ran.stderr);
        if signals == 1 {
            assert!(ran.stdout.ends_with("1 case: 1 passed\n"), "{}", ran.stdout);
            assert!(ran.stderr.ends_with("2 cases did not finish\n"), "{}", ran.stderr);
        }
        until("nothing is left", || hook.is_gone());
        assert_eq!(left_of_copies(&sandbox), [""; 0].map(PathBuf::from));
    }
}

#[test]
fn every_example_holds_in_all_its_cases() {
    let examples = examples();
    assert!(examples.len() >= 12, "{examples:?}");
    for folder in examples {
        let ran = passes(&folder);
        assert!(ran["cases"].as_array().unwrap().len() > 1, "{}", folder.display());
    }
}

fn passes(folder: &Path) -> Value {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["test", "--json", "--cwd", folder.to_str().unwrap()]);
    let told = sandbox.run(&["test", "--cwd", folder.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}: {}{}", folder.display(), told.stdout, told.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_schema_of_test_files_accepts_what_the_reader_accepts_and_refuses_common_slips() {
    let (code, schema) = Sandbox::new().json(&["schema", "--tests"]);
    assert_eq!(code, 0);
    let valid = accepted_by(&schema);
    for example in examples() {
        let path = example.join("hookwright.test.yaml");
        assert!(valid(&fs::read_to_string(&path).unwrap()), "{}", path.display());
    }
    for (case, is_valid) in [
        ("name: it, event: Stop, expect: {decision: null, reason: {contains: [a]}}", true),
        (
            "name: it, event: Stop, data: {a: 1}, env: {A: 1}, expect: {hooks: [a, b: skipped]}",
            true,
        ),
        ("name: it, event: Stop, expect: {files: {a: created, b: {content: {matches: x}}}}", true),
        ("name: it, steps: [{event: Stop, files: {a: }, expect: {contexts: [a]}}]", true),
        ("event: Stop, expect: {decision: none}", false),
        ("name: it, event: Stop", false),
        ("name: it, event: Stop, expect: {decision: deny}", false),
        ("name: it, event: Stop, expect: {hooks: [a: sucess]}", false),
        ("name: it, event: Stop, expect: {files: {a: touched}}", false),
        ("name: it, event: Stop, expect: {reason: {}}", false),
        ("name: it, event: Stop, expct: {decision: none}", false),
    ] {
        let text = format!("cases: [{{{case}}}]");
        assert_eq!(valid(&text), is_valid, "{text}");
        let listed = project(GUARD, &text).run(&["test", "--list"]);
        assert_eq!(listed.code == 0, is_valid, "{text}: {}", listed.stderr);
    }
}
