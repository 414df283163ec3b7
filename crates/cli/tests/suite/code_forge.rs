//! Code-Forge's files, found by their names.

use std::fs;

use serde_json::json;

use crate::support::{Ran, Sandbox};

fn timeless(mut ran: Ran) -> Ran {
    ran.stdout = crate::docs::timeless(&ran.stdout);
    ran.stderr = crate::docs::timeless(&ran.stderr);
    ran
}

fn hooks(hooks: serde_json::Value) -> Sandbox {
    Sandbox::new().file(".forge/hooks.json", json!({ "hooks": hooks }).to_string())
}

// Conformance: code-forge-062
#[test]
fn a_hook_that_triggers_itself_is_found_out_and_runs_once() {
    let hookwright = env!("CARGO_BIN_EXE_hookwright");
    let again = format!("echo ran >> ran; '{hookwright}' fire session:start > inner 2>&1");
    let sandbox = hooks(json!([{ "event": "session:*", "command": again }]));
    let ran = timeless(sandbox.run(&["fire", "session:start"]));
    let stdout = "\
session:start         forge/session:*#0             success        Nms
1 hook: 1 success
";
    assert_eq!(ran, Ran::new(0, stdout, ""));
    assert_eq!(fs::read_to_string(sandbox.path("ran")).unwrap(), "ran\n");
    let inner = fs::read_to_string(sandbox.path("inner")).unwrap();
    let id = "session:start (forge/session:*#0)";
    let line = "session:start         forge/session:*#0             failed         Nms";
    let circle = format!("cannot start: it would wake itself again: {id} → {id}");
    assert_eq!(crate::docs::timeless(&inner), format!("{line}  {circle}\n1 hook: 1 failed\n"));
}

// Conformance: code-forge-028
#[test]
fn standard_error_of_a_hook_that_succeeds_is_shown_as_a_warning() {
    let sandbox = hooks(json!([
        { "event": "session:start", "command": "printf 'disk is full\\n\\nreally\\033[2J\\n' >&2" },
        { "event": "session:start", "command": "echo fine" },
    ]));
    let ran = timeless(sandbox.run(&["fire", "session:start"]));
    let stdout = "\
session:start         forge/session:start#0         success        Nms
                 warning: disk is full
                 warning: really␛[2J
session:start         forge/session:start#1         success        Nms
2 hooks: 2 success
";
    assert_eq!(ran, Ran::new(0, stdout, ""));
}

// Conformance: code-forge-062
#[test]
fn two_hooks_that_trigger_each_other_end_as_well() {
    let hookwright = env!("CARGO_BIN_EXE_hookwright");
    let fire = |event: &str| format!("echo {event} >> ran; '{hookwright}' fire {event}");
    let sandbox = hooks(json!([
        { "event": "session:start", "command": fire("session:end") },
        { "event": "session:end", "command": fire("session:start") },
    ]));
    assert_eq!(sandbox.run(&["fire", "session:start"]).code, 0);
    let ran = fs::read_to_string(sandbox.path("ran")).unwrap();
    assert_eq!(ran, "session:end\nsession:start\n");
}

// Conformance: code-forge-033
#[test]
fn a_guard_of_the_user_blocks_in_every_project_with_its_own_words() {
    let guard = json!({ "hooks": [{ "event": "tool:pre_execute:bash",
        "command": "case \"$FORGE_TOOL_ARGS\" in *sudo*) echo 'no sudo'; exit 1 ;; esac" }] });
    let sandbox = Sandbox::new().file("../.config/forge/hooks.json", guard.to_string());
    let fire = |command: &str| {
        let data = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        timeless(sandbox.run(&["fire", "tool:pre_execute", "--data", &data.to_string()]))
    };
    let stdout = "\
tool:pre_execute      forge-user/tool:pre_execute:bash#0  blocked        Nms
                 no sudo
block: no sudo
1 hook: 1 blocked
";
    assert_eq!(fire("sudo reboot"), Ran::new(2, stdout, ""));
    assert_eq!(fire("ls").code, 0);
}

// Conformance: code-forge-061, code-forge-064
#[test]
fn check_names_what_is_left_out_and_the_rest_is_listed() {
    let text = r#"{"hooks": [
  {"event": "tool:pre_exec", "command": "true"},
  {"event": "session:start", "command": "true"}
]}
"#;
    let sandbox = Sandbox::new().file(".forge/hooks.json", text);
    let stderr = r#"warning: unknown event `tool:pre_exec`
 --> .forge/hooks.json:2:14
  |
2 |   {"event": "tool:pre_exec", "command": "true"},
  |              ^^^^^^^^^^^^^
help: did you mean `tool:pre_execute`?

"#;
    let stdout = "1 file checked, 1 hook, no faults, 1 warning\n";
    assert_eq!(sandbox.run(&["check"]), Ran::new(0, stdout, stderr));
    // For a loop it is not mentioned.
    let sandbox =
        sandbox.file("loop.yaml", "prompt: p\nagent: {command: 'true'}\nmax_iterations: 1\n");
    let stdout = "1 file checked, 0 hooks, no faults\n";
    assert_eq!(sandbox.run(&["check", "loop.yaml"]), Ran::new(0, stdout, ""));
    let listed = sandbox.run(&["list", "--json"]).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let ids: Vec<&str> =
        listed["hooks"].as_array().unwrap().iter().map(|h| h["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["forge/session:start#0"]);
}

#[test]
fn import_says_what_native_hooks_cannot() {
    let sandbox = hooks(json!([
        { "event": " tool:pre_execute:bash, ", "command": "./guard.sh", "timeout": 5.0 },
        { "event": "session:start", "command": "true", "enabled": false },
    ]));
    let ran = sandbox.run(&["import", ".forge/hooks.json"]);
    let stdout = "\
# The hooks of .forge/hooks.json (code-forge).
version: 1
hooks:
  tool:pre_execute:bash:
    # it reads `FORGE_…` variables, `type` and `data`
    # any exit code but 0 blocks, and standard output is the reason
    # a hook that cannot start, times out or is killed does not block
    - command: ./guard.sh
      timeout: 5
      dialect: code-forge
  session:start:
    # it reads `FORGE_…` variables, `type` and `data`
    - enabled: false
      command: \"true\"
      dialect: code-forge
";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, stdout));
}
