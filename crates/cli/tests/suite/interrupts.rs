//! Ctrl-C and its kin while hooks run, and what is left of them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Ran, Sandbox};

/// Waits for something that no event announces, at most half a minute.
fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited in vain: {what}");
}

fn start(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    sandbox.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn process(sandbox: &Sandbox, file: &str) -> PathBuf {
    let pid = std::fs::read_to_string(sandbox.path(file)).unwrap();
    Path::new("/proc").join(pid.trim())
}

#[test]
fn an_interrupt_ends_the_hooks_and_blocks_where_a_guard_had_not_answered() {
    for (name, event, code) in [
        ("-INT", "tool:pre_execute", 2),
        ("-TERM", "tool:pre_execute", 2),
        ("-HUP", "session:start", 130),
    ] {
        let sandbox = Sandbox::with_hooks(
            "hooks: {'*': [{id: slow, await: true, command: 'sleep 1000 & echo $! > pid; wait'}]}",
        );
        let child = start(&sandbox, &["fire", event]);
        until("the hook runs", || sandbox.path("pid").exists());
        until("its pid is written", || !std::fs::read(sandbox.path("pid")).unwrap().is_empty());
        signal(&child, name);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, code, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("interrupted: ending hooks"), "{}", ran.stderr);
        assert!(ran.stdout.contains("interrupted"), "{}", ran.stdout);
        let left = process(&sandbox, "pid");
        until("nothing is left", || !left.exists());
    }
}

#[test]
fn an_interrupt_while_waiting_for_background_hooks_ends_them() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:start: [{id: slow, command: 'echo $$ > pid; exec sleep 1000'}]}",
    );
    let child = start(&sandbox, &["fire", "session:start"]);
    until("the hook runs", || std::fs::read(sandbox.path("pid")).is_ok_and(|pid| !pid.is_empty()));
    signal(&child, "-INT");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130);
    assert!(ran.stderr.contains("waiting for 1 hook in the background: slow"), "{}", ran.stderr);
    let left = process(&sandbox, "pid");
    until("nothing is left", || !left.exists());
}

#[test]
fn a_second_interrupt_leaves_at_once_and_still_leaves_nothing_running() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {Stop: [{kill_grace: 1h, command: \"trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done\"}]}",
    );
    let mut child = start(&sandbox, &["fire", "Stop"]);
    until("the hook runs", || std::fs::read(sandbox.path("pid")).is_ok_and(|pid| !pid.is_empty()));
    signal(&child, "-INT");
    // Its first words say that it has heard us.
    let mut heard = [0; 11];
    std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut heard).unwrap();
    assert_eq!(&heard, b"interrupted");
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left = process(&sandbox, "pid");
    until("nothing is left", || !left.exists());
}

#[test]
fn a_timeout_ends_what_left_the_process_group_too() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {Stop: [{timeout: 1s, kill_grace: 10ms, command: 'setsid sh -c \"echo \\$\\$ > pid; exec sleep 1000\" & setsid -f sh -c \"echo \\$\\$ > pid2; exec sleep 1000\"; sleep 1000'}]}",
    );
    let ran = sandbox.run(&["fire", "Stop"]);
    assert!(ran.stdout.contains("timed out after 1 s"), "{}", ran.stdout);
    // On a machine so busy that they had not started within the second there is nothing to end.
    for file in ["pid", "pid2"] {
        if std::fs::read(sandbox.path(file)).is_ok_and(|pid| !pid.is_empty()) {
            assert!(!process(&sandbox, file).exists(), "{file} is still alive");
        }
    }
}
