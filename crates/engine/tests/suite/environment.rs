use hookwright_engine::ports::Ports;
use hookwright_events::Status;
use serde_json::{Value, json};

use crate::support::{Host, only};

// Conformance: agent-pipelines-093
#[tokio::test]
async fn hostile_data_runs_nothing_and_the_hook_sees_the_value() {
    let host = Host::new(
        "hooks: {tool:pre_execute: [{command: 'printf %s \"$ERROR\" > error; printf %s \"${TOOL_INPUT.command}\" > command; printf %s \"$PATH\" > path; cat > stdin'}]}",
    );
    let hostile = "$(touch pwned); `touch pwned`\n'; touch pwned; '\" && touch pwned {{error}} * ~";
    let fired = host
        .fire(
            "tool:pre_execute",
            json!({
                "error": hostile, "tool_input": { "command": hostile },
                "path": "/evil", "bash_env": "evil.sh", "ld_preload": "evil.so", "ifs": "x",
                "env": "evil", "prompt": "a\u{0}b", "content": "x".repeat(1024 * 1024),
            }),
        )
        .await;
    assert_eq!(only(&fired), (Status::Success, String::new()));
    assert_eq!(host.read("error"), hostile);
    assert_eq!(host.read("command"), hostile);
    assert!(!host.read("path").contains("evil"));
    assert!(!host.exists("pwned"));
    let stdin: Value = serde_json::from_str(&host.read("stdin")).expect("one line of JSON");
    assert_eq!(stdin["content"].as_str().map(str::len), Some(1024 * 1024));
    assert_eq!(stdin["prompt"], "a\u{0}b");
    assert_eq!(stdin["path"], "/evil");
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_put_into_a_file() {
    let host = Host::new(
        "hooks: {Stop: [{command: 'cp \"$OUTPUT_FILE\" whole; cmp \"$OUTPUT_FILE\" \"$HOOKWRIGHT_OUTPUT_FILE\"; ! env | grep -q ^CONTENT='}]}",
    );
    let large = "ä".repeat(100_000);
    let fired = host.fire("Stop", json!({ "output": large, "content": "x\u{0}y" })).await;
    assert_eq!(only(&fired), (Status::Success, String::new()));
    assert_eq!(host.read("whole"), large);
}

#[tokio::test]
async fn a_command_that_names_such_a_value_cannot_start_and_names_its_file() {
    let host = Host::new(
        "hooks:
  tool:error: [{await: true, command: 'echo \"$OUTPUT\"'}]
  tool:pre_execute: [{command: 'echo \"${TOOL_INPUT.content}\"'}]
",
    );
    let large = "x".repeat(200_000);
    let fired = host.fire("tool:error", json!({ "output": large })).await;
    assert_eq!(
        only(&fired).1,
        "cannot start: `${OUTPUT}` has 200000 bytes, too many for an environment variable; read it from the \
         JSON on standard input, or from the file that `${OUTPUT_FILE}` names"
    );
    let fired = host.fire("tool:pre_execute", json!({ "tool_input": { "content": large } })).await;
    assert!(only(&fired).1.contains("`${TOOL_INPUT.content}` has 200000 bytes"), "{fired:?}");
}

#[tokio::test]
async fn a_hook_has_its_folder_shell_variables_and_attempt() {
    let host = Host::with(
        "hooks: {Stop: [{id: me, working_dir: sub, shell: sh, env: {MINE: a b},
          command: 'printf \"%s|\" \"$PWD\" \"$0\" \"$MINE\" \"$INHERITED\" \"$HOOKWRIGHT_HOOK\" \"$HOOKWRIGHT_ATTEMPT\" \"$HOOKWRIGHT_EVENT\" \"$STAGE\"'}]}",
        Ports::default(),
        &[("INHERITED", "yes"), ("STAGE", "another event's")],
    );
    std::fs::create_dir(host.path().join("sub")).expect("made");
    let fired = host.fire("Stop", json!({})).await;
    let folder = host.path().join("sub").canonicalize().expect("there");
    let shell = fired.reports[0].stdout.split('|').nth(1).expect("a shell").to_owned();
    assert!(shell.ends_with("/sh"), "{shell}");
    assert_eq!(
        fired.reports[0].stdout,
        format!("{}|{shell}|a b|yes|me|1|session:stop||", folder.display())
    );
}

#[tokio::test]
async fn every_hook_may_rely_on_folder_time_and_session() {
    let host = Host::new("hooks: {Stop: [{command: 'cat > stdin'}]}");
    host.fire("Stop", json!({ "session": "calm-fox" })).await;
    let stdin: Value = serde_json::from_str(&host.read("stdin")).expect("JSON");
    assert_eq!(stdin["cwd"], host.path().to_string_lossy().as_ref());
    assert_eq!(stdin["session"], "calm-fox");
    assert_eq!(stdin["stop_hook_active"], false);
    let time = stdin["timestamp"].as_str().expect("a time");
    assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
}

// Conformance: agent-pipelines-092, autoagent-066, code-forge-066
#[tokio::test]
async fn a_hook_has_exactly_the_rights_of_the_program_that_fired_its_event() {
    let rights = |status: &str| -> Vec<String> {
        let names = ["Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"];
        let is_right = |line: &&str| names.iter().any(|name| line.starts_with(name));
        status.lines().filter(is_right).map(str::to_owned).collect()
    };
    let host = Host::new("hooks: {session:start: [{await: true, command: cat /proc/self/status}]}");
    let fired = host.fire("session:start", json!({})).await;
    let ours = rights(&std::fs::read_to_string("/proc/self/status").expect("Linux"));
    assert_eq!(ours.len(), 7, "{ours:?}");
    assert_eq!(rights(&fired.reports[0].stdout), ours);
}
