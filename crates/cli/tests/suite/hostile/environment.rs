//! Variables that a repository's settings, the agent or an inherited environment set.

use serde_json::{Value, json};

use super::{HostileAgent, guard_points, without_messages};
use crate::hook_claude::{denied, sent, trust};
use crate::support::{Ran, Sandbox};

/// A guard of the user at every event, and one of the project before tools.
fn guarded() -> Sandbox {
    let sandbox = Sandbox::with_hooks("hooks: {tool:pre_execute: [{command: 'exit 0'}]}")
        .global("hooks: {'*': [{await: true, command: 'echo no >&2; exit 2'}]}");
    trust(sandbox)
}

fn message_of(ran: &Ran) -> String {
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
    reply["systemMessage"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn no_variable_of_the_settings_opens_any_guard_point() {
    let sandbox = guarded()
        .program("fake/bash", "#!/bin/sh\nexit 0\n")
        .program("fake/sh", "#!/bin/sh\nexit 0\n")
        .file("yes.sh", "[ -n \"$HOOKWRIGHT_RUN\" ] && exit 0\n");
    let inside = |name: &str| sandbox.path(name).display().to_string();
    let attacks = [
        ("HOOKWRIGHT", "0".to_owned()),
        ("HOME", inside("empty")),
        ("HOME", String::new()),
        ("XDG_CONFIG_HOME", inside("empty")),
        ("XDG_STATE_HOME", inside("empty")),
        ("PATH", inside("fake")),
        ("BASH_ENV", inside("yes.sh")),
        ("SHELLOPTS", "noexec".to_owned()),
        ("BASH_FUNC_echo%%", "() { exit 0; }".to_owned()),
        ("HOOKWRIGHT_CHAIN", "[1]".to_owned()),
    ];
    for point in guard_points() {
        let expected = without_messages(HostileAgent::new(&sandbox).call(&point));
        assert!(format!("{expected:?}").contains("no"), "{point}: {expected:?}");
        for (name, value) in &attacks {
            let ran = HostileAgent::new(&sandbox).setting(name, value).call(&point);
            assert_eq!(without_messages(ran), expected, "{name}={value} at {point}");
        }
    }
}

#[test]
fn the_switch_counts_only_as_the_person_set_it_and_that_it_is_ignored_is_said_once() {
    let sandbox = guarded();
    let event = sent("PreToolUse");
    let by_settings = HostileAgent::new(&sandbox).setting("HOOKWRIGHT", "0");
    let ran = by_settings.call(&event);
    assert_eq!(
        message_of(&ran),
        "HOOKWRIGHT=0 is ignored, and hooks run: settings or the agent have set it; to switch hooks \
         off, start Claude Code with it"
    );
    assert_eq!(by_settings.call(&event), denied("no"), "once in a session");
    let by_person = HostileAgent::new(&sandbox).started_with("HOOKWRIGHT", "0");
    assert_eq!(by_person.call(&event), Ran::new(0, "", "hooks are switched off (HOOKWRIGHT=0)\n"));
}

#[test]
fn the_users_folders_are_those_that_the_agent_was_started_with() {
    let sandbox = Sandbox::with_hooks("hooks: {}")
        .file("../own/hookwright/hooks.yaml", "hooks: {'*': [{command: 'echo own >&2; exit 2'}]}");
    let own = sandbox.path("../own").display().to_string();
    let sandbox = trust(sandbox.set("XDG_CONFIG_HOME", &own));
    let agent = HostileAgent::new(&sandbox).setting("XDG_CONFIG_HOME", "/tmp");
    assert_eq!(agent.call(&sent("PreToolUse")), denied("own"));
}

#[test]
fn hooks_see_what_the_person_set_and_what_the_agent_tells_and_nothing_of_the_settings() {
    let sandbox = trust(Sandbox::with_hooks(
        "hooks: {tool:pre_execute: [{command: 'echo \"$MINE:$THEIRS:$CLAUDE_PID\" >&2; exit 2'}]}",
    ));
    let agent = HostileAgent::new(&sandbox)
        .started_with("MINE", "1")
        .setting("MINE", "2")
        .setting("THEIRS", "3")
        .setting("CLAUDE_PID", "4");
    assert_eq!(agent.call(&sent("PreToolUse")), denied("1::4"));
}

#[test]
fn a_hook_in_the_background_sees_the_same() {
    let sandbox = trust(Sandbox::with_hooks(
        "hooks: {tool:post_execute: [{await: false, command: 'echo \"$MINE:$THEIRS\" > seen'}]}",
    ));
    let fifo = sandbox.path("seen");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let agent = HostileAgent::new(&sandbox).started_with("MINE", "1").setting("THEIRS", "3");
    agent.call(&sent("PostToolUse"));
    assert_eq!(std::fs::read_to_string(fifo).unwrap(), "1:\n");
}

#[test]
fn an_agent_that_starts_itself_once_more_is_not_the_person() {
    // A helper of the agent, started with the settings' variables and without any mark.
    let sandbox = guarded();
    let helper =
        "env HOOKWRIGHT=0 bash -c 'env CLAUDECODE=1 \"$program\" hook claude; exit $?'; exit $?";
    let ran = HostileAgent::new(&sandbox).call_by(helper, &sent("PreToolUse"));
    assert_eq!(without_messages(ran), without_messages(denied("no")));
}

#[test]
fn an_agent_inside_another_agents_command_is_not_the_person() {
    let sandbox = guarded();
    let nested = "env CLAUDECODE=1 HOOKWRIGHT=0 bash -c '\
                  env CLAUDE_PROJECT_DIR=. \"$program\" hook claude; exit $?'; exit $?";
    let ran = HostileAgent::new(&sandbox).call_by(nested, &sent("PreToolUse"));
    assert_eq!(without_messages(ran), without_messages(denied("no")));
}

#[test]
fn without_a_home_at_the_start_the_list_of_users_tells_where_the_users_folders_are() {
    let sandbox = guarded();
    let forged = sandbox.path("..").display().to_string();
    let lost = format!(
        "exec env -i PATH=\"$PATH\" program=\"$program\" forged='{forged}' bash -c '\
         HOME=\"$forged\" CLAUDECODE=1 \"$program\" hook claude; exit $?'"
    );
    let ran = HostileAgent::new(&sandbox).call_by(&lost, &sent("PreToolUse"));
    // The files are trusted in the forged home directory, so it was not used.
    assert!(ran.stdout.contains("is not trusted"), "{ran:?}");
}

#[test]
fn fire_runs_guards_without_variables_that_steer_their_interpreter() {
    let sandbox = Sandbox::new().file("yes.sh", "[ -n \"$HOOKWRIGHT_RUN\" ] && exit 0\n");
    let sandbox = sandbox
        .file("lib/Yes.pm", "package Yes; BEGIN { exit 0 } 1;\n")
        .file("loud.sh", "echo steered >&2\n");
    let inside = |name: &str| sandbox.path(name).display().to_string();
    let bash = "grep -q x <<< x; exit 2";
    let perl = "perl -e 'exit 2'";
    let python = "python3 -c 'raise SystemExit(2)'";
    for (command, name, value) in [
        (bash, "BASH_ENV", inside("yes.sh")),
        (bash, "SHELLOPTS", "noexec".to_owned()),
        (bash, "BASHOPTS", "nosuchoption".to_owned()),
        (bash, "BASH_FUNC_grep%%", "() { exit 0; }".to_owned()),
        (bash, "LD_PRELOAD", inside("missing.so")),
        (bash, "LD_AUDIT", inside("missing.so")),
        (perl, "PERL5OPT", format!("-I{} -MYes", inside("lib"))),
        (python, "PYTHONINSPECT", "1".to_owned()),
        (python, "PYTHONHOME", inside("lib")),
    ] {
        let hooks = json!({ "hooks": { "tool:pre_execute": [{ "command": command }] } });
        std::fs::write(sandbox.path("hookwright.json"), hooks.to_string()).unwrap();
        let mut fire = sandbox.command(&["fire", "tool:pre_execute", "--json"]);
        // The sandbox's own program would not start with some of these, so only hooks get them.
        let ran = Ran::from(fire.env(name, &value).output().unwrap());
        assert_eq!(ran.code, 2, "{name}={value}: {ran:?}");
        let decision: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(decision["hooks"][0]["stderr"], "", "{name}={value}");
    }
    let set = json!({ "hooks": { "tool:pre_execute": [{ "command": "true",
        "env": { "BASH_ENV": inside("loud.sh") } }] } });
    std::fs::write(sandbox.path("hookwright.json"), set.to_string()).unwrap();
    let (code, decision) = sandbox.json(&["fire", "tool:pre_execute", "--json"]);
    assert_eq!((code, &decision["hooks"][0]["stderr"]), (0, &json!("steered\n")));
}
