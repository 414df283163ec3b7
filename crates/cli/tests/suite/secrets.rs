//! `secrets.env` beside the user's file for all projects.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::Sandbox;

const HOOKS: &str = "hooks: {Stop: [{command: 'echo \"$TOKEN\"; printf %s \"$TOKEN\" > got'}]}";

fn with_secrets(hooks: &str, text: &str, mode: u32) -> Sandbox {
    let sandbox = Sandbox::with_hooks(hooks).file("../.config/hookwright/secrets.env", text);
    let path = sandbox.path("../.config/hookwright/secrets.env");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    sandbox
}

#[test]
fn a_hook_that_names_a_secret_gets_it_and_it_is_never_shown() {
    let sandbox = with_secrets(HOOKS, "TOKEN=hunter22\n", 0o600);
    for arguments in [
        &["fire", "Stop", "--json"][..],
        &["fire", "Stop"],
        &["fire", "Stop", "--no-global-hooks"],
        &["fire", "Stop", "--config", "hookwright.yaml"],
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(fs::read_to_string(sandbox.path("got")).unwrap(), "hunter22");
        fs::remove_file(sandbox.path("got")).unwrap();
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hunter"), "{}", ran.stdout);
    }
    let ran = sandbox.run(&["fire", "Stop", "--json"]);
    assert!(ran.stdout.contains("[secret TOKEN]"), "{}", ran.stdout);
}

#[test]
fn a_file_that_others_can_read_blocks_and_says_how_to_fix_it() {
    let sandbox = with_secrets(HOOKS, "TOKEN=hunter22\n", 0o644);
    let ran = sandbox.run(&["check"]);
    assert_eq!(ran.code, 1);
    let said = "error: others can read or change the file (mode 644)";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(ran.stderr.contains("chmod 600 ~/.config/hookwright/secrets.env"), "{}", ran.stderr);
    let guarded = sandbox.run(&["fire", "PreToolUse"]);
    assert_eq!(guarded.code, 2);
    assert!(guarded.stdout.contains("secrets.env"), "{}", guarded.stdout);
    assert_eq!(sandbox.run(&["fire", "session:start"]).code, 1);
    assert!(!sandbox.path("got").exists());
}

#[test]
fn faults_are_shown_with_their_lines_but_never_with_a_value() {
    let text = "# keys\nTOKEN=hunter2\nhunter22 is it\nKEY=\"hunter$22\"\n";
    let sandbox = with_secrets(HOOKS, text, 0o600);
    for arguments in [&["check"][..], &["check", "--json"]] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 1);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!shown.contains("hunter"), "{shown}");
        assert!(shown.contains("secrets.env") && shown.contains("TOKEN"), "{shown}");
    }
    let ran = sandbox.run(&["check"]);
    for part in ["secrets.env:2:1", "secrets.env:3:1", "secrets.env:4:1", "TOKEN=…", "3 faults"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[test]
fn what_a_queues_command_says_when_it_fails_is_told_and_recorded_without_secrets() {
    let queue = "grep hunter22 ../.config/hookwright/secrets.env >&2; exit 4";
    let termination = "termination: {type: queue, source: {command: 'sh ./queue'}}";
    let sandbox = with_secrets("hooks: {}", "TOKEN=hunter22\n", 0o600)
        .file("loop.yaml", format!("prompt: p\nagent: {{command: 'true'}}\n{termination}\n"))
        .file("queue", queue);
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 5, "{}{}", ran.stdout, ran.stderr);
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let reason = "the queue's command `sh ./queue` failed: it exited with 4: TOKEN=[secret TOKEN]";
    assert_eq!(shown["session"]["reason"], reason);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hunter"), "{}", ran.stdout);
}
