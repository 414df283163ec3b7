//! `hookwright fire`.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

const DENY: &str = "version: 1
hooks:
  tool:pre_execute:bash:
    - {id: no-sudo, command: 'echo sudo is not allowed here >&2; exit 2'}
    - {id: never, command: touch never}
  tool:pre_execute:
    - {id: audit, command: cat > seen.json, await: false, on_failure: continue}
";

/// The screen with every duration as `Nms`, at the same width.
fn timeless(mut ran: Ran) -> Ran {
    ran.stdout = crate::docs::timeless(&ran.stdout);
    ran.stderr = crate::docs::timeless(&ran.stderr);
    ran
}

// Conformance: code-forge-065
#[test]
fn one_line_a_hook_then_the_decision_then_the_count() {
    let sandbox = Sandbox::with_hooks(DENY);
    let ran = sandbox.run(&["fire", "tool:pre_execute", "--data", r#"{"tool_name": "bash"}"#]);
    let stdout = "\
tool:pre_execute      no-sudo                       blocked        Nms
                 sudo is not allowed here
tool:pre_execute      never                         skipped             no-sudo blocked
tool:pre_execute      audit                         started             in the background
block: sudo is not allowed here
tool:pre_execute      audit                         success        Nms
3 hooks: 1 success, 1 blocked, 1 skipped
";
    let stderr = "waiting for 1 hook in the background: audit\n";
    assert_eq!(timeless(ran), Ran::new(2, stdout, stderr));
    assert!(!sandbox.path("never").exists());
    let seen: Value =
        serde_json::from_slice(&fs::read(sandbox.path("seen.json")).unwrap()).unwrap();
    assert_eq!(seen["hook_event_name"], "PreToolUse");
    assert_eq!(seen["transcript_path"], "/dev/null");
    assert!(seen["session_id"].as_str().unwrap().starts_with("fire-"));
    assert_eq!(seen["cwd"], sandbox.path("").to_str().unwrap().trim_end_matches('/'));
}

#[test]
fn the_decision_as_json_has_the_documented_shape() {
    let sandbox = Sandbox::with_hooks(
        "hooks:\n  tool:pre_execute:bash:\n    - command: echo sudo is not allowed here >&2; exit 2\n",
    );
    let data = r#"{"tool_name": "bash"}"#;
    let (code, mut record) = sandbox.json(&["fire", "tool:pre_execute", "--data", data, "--json"]);
    assert!(record["hooks"][0]["duration_ms"].as_f64().unwrap() > 0.0);
    record["hooks"][0]["duration_ms"] = json!(3.1);
    assert_eq!(code, 2);
    assert_eq!(
        record,
        json!({"version": 1, "event": "tool:pre_execute", "subject": "bash", "decision": "block",
            "reason": "sudo is not allowed here", "continue": true, "stop_reason": null,
            "abort": false, "additional_context": [], "system_messages": [],
            "updated_input": null, "updated_output": null, "suppress_output": false,
            "piped_output": "",
            "hooks": [{"id": "hookwright/tool:pre_execute:bash#0", "type": "shell",
                "source": "hookwright.yaml:3", "status": "blocked", "exit_code": 2, "stdout": "",
                "stderr": "sudo is not allowed here\n", "attempts": 1, "duration_ms": 3.1,
                "reason": "sudo is not allowed here"}]})
    );
}

#[test]
fn the_exit_code_says_what_the_host_must_do() {
    for (command, event, code) in [
        ("true", "tool:pre_execute", 0),
        ("echo '{\"decision\": \"allow\"}'", "tool:pre_execute", 0),
        ("exit 2", "tool:pre_execute", 2),
        ("exit 1", "tool:pre_execute", 2),
        ("exit 1", "session:stop", 0),
        ("exit 2", "session:stop", 2),
        ("exit 1", "stage:start", 0),
        ("echo '{\"continue\": false}'", "tool:pre_execute", 3),
        ("echo '{\"decision\": \"ask\"}'", "tool:pre_execute", 4),
        ("echo '{\"decision\": \"block\"}'", "tool:post_execute", 0),
    ] {
        let sandbox = Sandbox::new().file(
            "hookwright.json",
            json!({ "hooks": { "*": [{ "command": command, "await": true }] } }).to_string(),
        );
        assert_eq!(sandbox.run(&["fire", event]).code, code, "{command} at {event}");
    }
    let sandbox =
        Sandbox::with_hooks("hooks: {stage:start: [{command: exit 1, on_failure: abort}]}");
    assert_eq!(sandbox.run(&["fire", "stage:start"]).code, 3);
}

#[test]
fn data_come_from_the_command_line_from_a_file_or_from_standard_input() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: 'echo \"$ERROR\"'}]}")
        .file("data.json", r#"{"error": "from a file"}"#)
        .file("sub/data.json", r#"{"error": "from below"}"#);
    let said = |ran: Ran| {
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let record: Value = serde_json::from_str(&ran.stdout).unwrap();
        record["hooks"][0]["stdout"].as_str().unwrap().trim().to_owned()
    };
    let fire = |data: &str| sandbox.run(&["fire", "Stop", "--json", "--data", data]);
    assert_eq!(said(fire(r#"{"error": "said"}"#)), "said");
    assert_eq!(said(fire("@data.json")), "from a file");
    let below = sandbox.run(&["fire", "Stop", "--json", "--cwd", "sub", "--data", "@data.json"]);
    assert_eq!(said(below), "from below");
    let piped = sandbox
        .command(&["fire", "Stop", "--json", "--data", "-"])
        .stdin(fs::File::open(sandbox.path("data.json")).unwrap())
        .output()
        .unwrap();
    assert_eq!(said(Ran::from(piped)), "from a file");
}

#[test]
fn bad_usage_is_one_and_never_two() {
    let sandbox = Sandbox::with_hooks("hooks: {tool:pre_execute: [{command: touch ran}]}");
    for (arguments, said) in [
        (&["fire"][..], "required arguments were not provided"),
        (&["fire", "tool:pre_exec"], "did you mean `tool:pre_execute`?"),
        (&["fire", "PreToolUse", "--nonsense"], "unexpected argument"),
        (&["fire", "PreToolUse", "--data", "{"], "the event's data is not JSON"),
        (
            &["fire", "PreToolUse", "--data", "[1]"],
            "expected a JSON object as the event's data but found a list",
        ),
        (&["fire", "PreToolUse", "--data", "@missing.json"], "cannot read the event's data"),
        (
            &["fire", "PreToolUse", "--data", r#"{"hook_event_name": "Stop"}"#],
            "but `tool:pre_execute` was fired",
        ),
        (&["fire", "PreToolUse", "--cwd", "nowhere"], "`--cwd` names no usable folder"),
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn a_faulty_configuration_starts_nothing_and_blocks_where_something_can_be_blocked() {
    let bomb: String = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &"bcdefghi"
            .chars()
            .zip("abcdefgh".chars())
            .map(|(name, before)| {
                format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(","))
            })
            .collect::<String>();
    let good =
        "  tool:pre_execute: [{command: touch ran}]\n  stage:start: [{command: touch ran}]\n";
    let with = |more: &str| format!("hooks:\n{good}{more}");
    for (what, text) in [
        ("empty", String::new()),
        ("50 MB", "#".repeat(50 * 1024 * 1024)),
        ("bomb", bomb),
        ("duplicate key", with("  stage:start: []\n")),
        ("wrong type", with("  Stop: [{command: 5}]\n")),
        ("unknown event", with("  stop: [{command: x}]\n")),
        ("unknown variable", with("  Stop: [{command: x, when: \"${NOBODY} == 1\"}]\n")),
        ("impossible pattern", with("  'tool:*:*:*:x:*y': []\n  'nope:*': [{command: x}]\n")),
        ("invalid regex", with("  PreToolUse: [{command: x, matcher: '/(/'}]\n")),
        ("unknown key", with("  Stop: [{command: x, nope: 1}]\n")),
        ("not YAML", with("  Stop: [{\n")),
        ("not text", "\u{0}".to_owned()),
    ] {
        let sandbox = Sandbox::with_hooks(&text);
        let observed = sandbox.run(&["fire", "stage:start"]);
        assert_eq!((observed.code, observed.stdout.as_str()), (1, ""), "{what}");
        assert!(observed.stderr.contains("hookwright.yaml"), "{what}: {}", observed.stderr);
        let ran = sandbox.run(&["fire", "tool:pre_execute", "--json"]);
        let record: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, &record["decision"]), (2, &json!("block")), "{what}");
        let reason = record["reason"].as_str().unwrap();
        assert!(reason.contains("hookwright.yaml"), "{what}: {reason}");
        assert_eq!(ran.stderr, observed.stderr, "{what}");
        assert!(!sandbox.path("ran").exists(), "{what}");
    }
    // A folder, a link to itself, two files, a pipe.
    let folder = Sandbox::new().file("hookwright.yaml/x", "");
    let link = Sandbox::new();
    std::os::unix::fs::symlink("hookwright.yaml", link.path("hookwright.yaml")).unwrap();
    let two = Sandbox::with_hooks("hooks: {}").file("hookwright.json", "{}");
    let pipe = Sandbox::new();
    let made = std::process::Command::new("mkfifo").arg(pipe.path("hookwright.yaml")).status();
    assert!(made.unwrap().success());
    for sandbox in [folder, link, two, pipe] {
        assert_eq!(sandbox.run(&["fire", "stage:start"]).code, 1);
        assert_eq!(sandbox.run(&["fire", "tool:pre_execute"]).code, 2);
    }
}

#[test]
fn hooks_of_the_project_and_of_the_user_both_run_the_users_guards_first() {
    let sandbox = Sandbox::with_hooks(
        "disable_global_hooks: true\nhooks: {'*': [{id: project, command: 'true', await: true}]}",
    )
    .global("hooks: {'*': [{id: user, command: 'true', await: true}]}");
    let order = |arguments: &[&str]| {
        let (_, record) = sandbox.json(arguments);
        let hooks = record["hooks"].as_array().unwrap();
        hooks.iter().map(|hook| hook["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(order(&["fire", "tool:pre_execute", "--json"]), ["user", "project"]);
    assert_eq!(order(&["fire", "stage:start", "--json"]), ["project"]);
    assert_eq!(order(&["fire", "tool:pre_execute", "--json", "--no-global-hooks"]), ["project"]);
}

#[test]
fn named_files_are_the_only_ones_that_are_read_in_their_order() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{id: found, command: 'true'}]}")
        .file("a.yaml", "hooks: {Stop: [{id: a, command: 'true'}]}")
        .file("b.json", r#"{"hooks": {"Stop": [{"id": "b", "command": "true"}]}}"#)
        .file("loop.yaml", "name: x\nhooks: {Stop: [{id: loop, command: 'true'}]}");
    let (_, record) = sandbox.json(&[
        "fire",
        "Stop",
        "--json",
        "--config",
        "b.json",
        "--config",
        "a.yaml",
        "--config",
        "loop.yaml",
    ]);
    let ids: Vec<&Value> = record["hooks"].as_array().unwrap().iter().map(|h| &h["id"]).collect();
    assert_eq!(ids, ["loop", "b", "a"]);
}

#[test]
fn each_way_to_switch_hooks_off_says_so() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {Stop: [{id: a, command: touch a}, {id: b, command: touch b}]}",
    );
    let ran = sandbox.run(&["fire", "Stop", "--no-hooks"]);
    assert_eq!(ran, Ran::new(0, "", "hooks are switched off (--no-hooks)\n"));
    let off = Sandbox::with_hooks("hooks: {Stop: [{command: exit 2}]}").set("HOOKWRIGHT", "0");
    let ran = off.run(&["fire", "Stop"]);
    assert_eq!(ran, Ran::new(0, "", "hooks are switched off (HOOKWRIGHT=0)\n"));
    let ran = timeless(sandbox.run(&["fire", "Stop", "--skip", "a", "--skip", "c"]));
    let stdout = "\
session:stop          a                             skipped             --skip a
session:stop          b                             success        Nms
2 hooks: 1 success, 1 skipped
";
    assert_eq!(ran, Ran::new(0, stdout, "warning: --skip: no hook has the id `c`\n"));
    assert!(!sandbox.path("a").exists() && sandbox.path("b").exists());
}

#[test]
fn a_failed_hook_shows_the_last_lines_of_what_it_printed_and_nothing_raw() {
    let sandbox = Sandbox::with_hooks(
        r#"hooks: {Stop: [{id: "e\e[2Jvil", command: 'seq 1 20; printf "\033[2Jwiped\n" >&2; exit 1'}]}"#,
    );
    let ran = timeless(sandbox.run(&["fire", "Stop"]));
    let lines: String = (12..=20).map(|n| format!("                 {n}\n")).collect();
    let stdout = format!(
        "session:stop          e␛[2Jvil                      failed         Nms  exit code 1: ␛[2Jwiped\n\
        {indent}... last 10 of 21 lines; all of it with --json\n{lines}{indent}␛[2Jwiped\n\
        1 hook: 1 failed\n",
        indent = " ".repeat(17)
    );
    assert_eq!(ran, Ran::new(0, &stdout, ""));
}

#[test]
fn an_event_without_hooks_says_so() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: x}]}");
    let ran = sandbox.run(&["fire", "tool:error", "--data", r#"{"tool_name": "Bash"}"#]);
    assert_eq!(ran, Ran::new(0, "0 hooks\n", "no hook listens to tool:error (bash)\n"));
    let nothing = Sandbox::new().run(&["fire", "Stop"]);
    assert_eq!(nothing, Ran::new(0, "0 hooks\n", "no hook listens to session:stop\n"));
}

#[test]
fn the_session_is_named_to_hooks() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: 'echo $SESSION $SESSION_ID'}]}");
    let (_, record) = sandbox.json(&["fire", "Stop", "--json", "--session", "calm-fox"]);
    assert_eq!(record["hooks"][0]["stdout"], "calm-fox calm-fox\n");
}

#[test]
fn a_hook_that_fires_its_own_event_is_stopped_across_processes_and_the_circle_is_named() {
    let sandbox = Sandbox::with_hooks(
        "hooks:
  tool:pre_execute: [{id: guard, command: '\"$BINARY\" fire tool:error --json > inner.json || exit 1'}]
  tool:error: [{id: outer, await: true, on_failure: abort, command: '\"$BINARY\" fire tool:pre_execute'}]
",
    )
    .set("BINARY", env!("CARGO_BIN_EXE_hookwright"));
    let (code, record) = sandbox.json(&["fire", "tool:error", "--json"]);
    assert_eq!(code, 3);
    let said = record["hooks"][0]["stdout"].as_str().unwrap();
    assert!(said.contains("guard"), "{said}");
    // The innermost firing found the cycle, long before the depth limit.
    let inner = fs::read_to_string(sandbox.path("inner.json")).unwrap();
    assert!(inner.contains("would wake itself again"), "{inner}");
    let inner: Value = serde_json::from_str(&inner).unwrap();
    let reason = inner["hooks"][0]["reason"].as_str().unwrap();
    let (_, circle) = reason.split_once("would wake itself again: ").expect(reason);
    let links: Vec<&str> = circle.split(" → ").collect();
    assert_eq!(links.len(), 3, "{reason}");
    let wanted = [("tool:error", "outer"), ("tool:pre_execute", "guard"), ("tool:error", "outer")];
    for (link, (event, hook)) in links.into_iter().zip(wanted) {
        assert!(link.contains(event) && link.contains(hook), "{reason}");
    }
    let chained = Sandbox::with_hooks("hooks: {Stop: [{id: me, command: 'true'}]}");
    let file = chained.path("hookwright.yaml");
    let chain = json!([{ "event": "session:stop", "hook": "me", "file": file }]).to_string();
    let chained = chained.set("HOOKWRIGHT_CHAIN", &chain);
    let (code, record) = chained.json(&["fire", "Stop", "--json"]);
    // Any program can set this variable, so the event does not skip the hook.
    assert_eq!(
        record["hooks"][0]["reason"],
        "hook me failed (cannot start: it would wake itself again: session:stop (me) → \
         session:stop (me))"
    );
    assert_eq!(code, 2);
    let deep = r#"[{"event":"a","hook":"1"},{"event":"b","hook":"2"},{"event":"c","hook":"3"},{"event":"d","hook":"4"}]"#;
    let chained = Sandbox::with_hooks("hooks: {Stop: [{id: me, command: 'true'}]}")
        .set("HOOKWRIGHT_CHAIN", deep);
    let (_, record) = chained.json(&["fire", "Stop", "--json"]);
    let reason = record["hooks"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("events are already nested 4 deep: a (1) → b (2)"), "{reason}");
}

#[test]
fn a_pipeline_is_not_started_outside_of_a_session_and_the_hook_says_so() {
    let sandbox = Sandbox::with_hooks("hooks: {PostExecutionEnd: [{pipeline: x}]}");
    let (code, record) = sandbox.json(&["fire", "PostExecutionEnd", "--json"]);
    let hook = &record["hooks"][0];
    assert_eq!((code, hook["status"].as_str()), (0, Some("failed")));
    let reason = "pipelines need a session, but this event was fired outside a session";
    assert_eq!(hook["reason"], reason);
}

#[test]
fn a_block_that_cannot_be_printed_is_a_block_and_every_hook_still_ends() {
    let sandbox = Sandbox::with_hooks(
        "hooks:
  tool:pre_execute:
    - {command: exit 2}
    - {command: 'until [ -e seen ]; do sleep 0.01; done; touch audit', await: false, on_failure: continue}
    - {command: touch seen, await: false, on_failure: continue}
  session:start: [{command: 'true', await: true}]
",
    );
    let into_a_full_disk = |event: &str| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = sandbox.command(&["fire", event, "--json"]).stdout(full).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = into_a_full_disk("tool:pre_execute");
    assert_eq!(code, Some(2));
    assert!(said.contains("standard output cannot be written to"), "{said}");
    assert!(sandbox.path("audit").exists(), "a hook was lost");
    assert_eq!(into_a_full_disk("session:start").0, Some(1), "nothing was blocked, but not told");
}

#[test]
fn a_home_that_leads_nowhere_does_not_let_the_users_guards_vanish() {
    let sandbox = Sandbox::new().set("HOME", "relative");
    let ran = sandbox.run(&["fire", "tool:pre_execute"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("HOME is `relative`, expected an absolute path"), "{}", ran.stderr);
    assert_eq!(sandbox.run(&["fire", "session:start"]).code, 1);
}

#[test]
fn after_an_interrupt_a_faulty_file_does_not_keep_a_session_from_ending() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{comand: x}]}");
    for (reason, code) in [("completed", 2), ("interrupted", 1), ("error", 1)] {
        let data = format!(r#"{{"reason": "{reason}"}}"#);
        assert_eq!(sandbox.run(&["fire", "Stop", "--data", &data]).code, code, "{reason}");
    }
}

#[test]
fn hooks_of_two_files_may_have_one_id_and_stay_apart() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:start: [{id: log, command: exit 1, await: true, once: true}]}",
    )
    .global("hooks: {session:start: [{id: log, command: 'true', once: true}]}");
    let ran = sandbox.run(&["fire", "session:start"]);
    assert!(ran.stdout.ends_with("2 hooks: 1 success, 1 failed\n"), "{}", ran.stdout);
    // Another project's hook with the same id is not a cycle.
    let other =
        Sandbox::with_hooks("hooks: {Stop: [{command: '\"$BINARY\" fire Stop --cwd other'}]}")
            .file("other/hookwright.yaml", "hooks: {Stop: [{command: touch ran}]}")
            .set("BINARY", env!("CARGO_BIN_EXE_hookwright"));
    assert_eq!(other.run(&["fire", "Stop"]).code, 0);
    assert!(other.path("other/ran").exists());
}

#[test]
fn data_may_begin_with_a_byte_order_mark() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: 'true'}]}");
    assert_eq!(sandbox.run(&["fire", "Stop", "--data", "\u{feff}{}"]).code, 0);
}

#[test]
fn what_an_action_fires_in_the_background_is_told_under_its_own_event() {
    let sandbox = Sandbox::with_hooks(
        "hooks:
  PostExecutionEnd: [{id: commit, type: git-commit, message: m, await: false}]
  git:pre_commit: [{id: guard, command: 'true'}]
  '*': [{id: audit, command: 'true', await: false, on_failure: continue}]
",
    );
    make_repository(&sandbox, ".");
    let ran = sandbox.run(&["fire", "PostExecutionEnd"]);
    let mut lines: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words[..3].join(" ")
        })
        .collect();
    let summary = lines.pop().unwrap();
    lines.sort();
    assert_eq!(
        lines,
        [
            "execution:post_end audit started",
            "execution:post_end audit success",
            "execution:post_end commit started",
            "execution:post_end commit success",
            "git:post_commit audit success",
            "git:pre_commit audit success",
            "git:pre_commit guard success",
        ]
    );
    assert_eq!((ran.code, summary.as_str()), (0, "2 hooks: 2"));
    assert!(ran.stdout.contains("committed 1 file on `main`: m"), "{}", ran.stdout);
}

#[test]
fn a_project_within_a_repository_commits_what_is_its_own() {
    let sandbox = Sandbox::new()
        .file("other/file", "x")
        .inside("sub")
        .file("hookwright.yaml", "hooks: {Stop: [{id: commit, type: git-commit, message: m}]}");
    make_repository(&sandbox, "..");
    let (_, record) = sandbox.json(&["fire", "Stop", "--json"]);
    assert_eq!(record["hooks"][0]["reason"], "committed 1 file on `main`: m");
    assert_eq!(git(&sandbox, ".", &["status", "--short"]), "?? ../other/\n");
}

fn make_repository(sandbox: &Sandbox, folder: &str) {
    git(sandbox, folder, &["init", "-q", "-b", "main"]);
    git(sandbox, folder, &["config", "user.name", "Me"]);
    git(sandbox, folder, &["config", "user.email", "me@example.com"]);
    git(sandbox, folder, &["config", "status.relativePaths", "true"]);
}

fn git(sandbox: &Sandbox, folder: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(arguments)
        .current_dir(sandbox.path(folder))
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", sandbox.path(folder))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_reason_of_a_faulty_file_says_in_one_line_where_and_how_to_fix_it() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: x, whn: y}]}");
    let ran = sandbox.run(&["fire", "Stop", "--json"]);
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        record["reason"],
        "the hooks cannot be read, so the event is blocked: hookwright.yaml:1:29: unknown key `whn` \
         (did you mean `when`?)"
    );
}
