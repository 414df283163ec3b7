//! Only a person connects and disconnects: agents, sessions and hooks are refused, and a terminal is
//! asked.

use std::fs;
use std::process::Command;

use super::{home, qwen_settings, with_agents};
use crate::support::{Ran, Sandbox};

/// A terminal: waits for the question, then types.
const TERMINAL: &str = r#"
import os, pty, sys
program, typed = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(program, [program, "connect", "qwen"])
screen = b""
while not screen.endswith(b"[y/N] "):
    screen += os.read(terminal, 4096)
os.write(terminal, typed.encode())
try:
    while more := os.read(terminal, 4096):
        screen += more
except OSError:
    pass  # How the end of a terminal is told.
sys.stdout.write(screen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// A program with the sandbox's environment.
fn run(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> Ran {
    let inner = sandbox.command(&[]);
    let mut command = Command::new(program);
    command.args(arguments).current_dir(sandbox.path(".")).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::from(command.output().unwrap())
}

#[test]
fn in_a_terminal_it_asks_and_only_a_clear_yes_is_one() {
    let sandbox = with_agents(&["qwen"]);
    let before = home(&sandbox);
    let program = env!("CARGO_BIN_EXE_hookwright");
    for typed in ["\n", "n\n", "yess\n", "\u{4}"] {
        let ran = run(&sandbox, "python3", &["-c", TERMINAL, program, typed]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stdout.contains("change 1 file? [y/N] "), "{ran:?}");
        assert!(ran.stdout.ends_with("nothing was changed\r\n"), "{ran:?}");
        assert_eq!(home(&sandbox), before);
    }
    let ran = run(&sandbox, "python3", &["-c", TERMINAL, program, "y\n"]);
    assert!(ran.code == 0 && ran.stdout.ends_with("Qwen Code: connected\r\n"), "{ran:?}");
    assert!(qwen_settings(&sandbox).is_file());
}

#[test]
fn an_agent_can_neither_connect_nor_disconnect_nor_trust_by_its_own_marks() {
    let sandbox = with_agents(&["qwen"]).file("hookwright.yaml", "version: 1\nhooks: {}\n");
    assert_eq!(sandbox.run(&["connect", "qwen", "--yes"]).code, 0);
    let before = home(&sandbox);
    for mark in hookwright_dialects::hosts::marks() {
        for arguments in [
            &["connect", "qwen", "--yes"][..],
            &["connect", "qwen", "--undo", "--yes"],
            &["trust", "--yes"],
        ] {
            let mut command = sandbox.command(arguments);
            let ran = Ran::from(command.env(mark, "1").output().unwrap());
            assert_eq!(ran.code, 1, "{mark} {ran:?}");
            assert!(ran.stderr.contains("from inside "), "{mark} {ran:?}");
            let help = "help: a person has to do it, in a terminal that no agent has started\n";
            assert!(ran.stderr.ends_with(help), "{mark} {ran:?}");
        }
    }
    assert_eq!(home(&sandbox), before);
}

#[test]
#[cfg(target_os = "linux")]
fn an_agent_that_clears_the_environment_is_known_by_its_process() {
    let sandbox = with_agents(&["qwen"]).file("hookwright.yaml", "version: 1\nhooks: {}\n");
    assert_eq!(sandbox.run(&["connect", "qwen", "--yes"]).code, 0);
    let before = home(&sandbox);
    let program = env!("CARGO_BIN_EXE_hookwright");
    for (name, line) in [
        ("gemini", "connect qwen --undo --yes"),
        ("claude", "connect qwen --yes"),
        ("codex", "trust --yes"),
    ] {
        let script = format!(
            "#!/bin/sh\nenv -i HOME=\"$HOME\" PATH=\"$PATH\" sh -c '{program} {line}; exit $?'\nexit $?\n"
        );
        let agent = format!("../agents/{name}");
        let sandbox = &sandbox;
        install(sandbox, &agent, &script);
        let path = fs::canonicalize(sandbox.path(&agent)).unwrap();
        let ran = run(sandbox, path.to_str().unwrap(), &[]);
        assert_eq!(ran.code, 1, "{ran:?}");
        let place =
            ["Gemini CLI", "Claude Code", "Codex"].map(|it| format!("inside {it} (process "));
        assert!(place.iter().any(|place| ran.stderr.contains(place)), "{ran:?}");
    }
    fs::remove_dir_all(sandbox.path("../agents")).unwrap();
    assert_eq!(home(&sandbox), before);
}

/// Writes a program by another process: one that is open for writing here cannot be started.
fn install(sandbox: &Sandbox, name: &str, script: &str) {
    let source = sandbox.path("../script");
    fs::write(&source, script).unwrap();
    let mut command = Command::new("install");
    command.args(["-D", "-m", "755"]).arg(&source).arg(sandbox.path(name));
    assert!(command.status().unwrap().success());
    fs::remove_file(source).unwrap();
}

#[test]
fn a_hook_cannot_remove_the_entries_that_call_it() {
    let program = env!("CARGO_BIN_EXE_hookwright");
    let sandbox = with_agents(&["qwen"]).file(
        "hookwright.yaml",
        format!("hooks: {{session:start: [{{command: '{program} connect qwen --undo --yes'}}]}}\n"),
    );
    assert_eq!(sandbox.run(&["connect", "qwen", "--yes"]).code, 0);
    let before = home(&sandbox);
    let ran = sandbox.run(&["fire", "session:start"]);
    assert!(
        format!("{}{}", ran.stdout, ran.stderr)
            .contains("agents cannot be connected or disconnected from inside a session or a hook"),
        "{ran:?}"
    );
    assert_eq!(home(&sandbox), before);
}
