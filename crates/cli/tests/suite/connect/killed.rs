//! A kill at any moment leaves the old file or the new one, and the next run finishes the work.

use std::fs;
use std::process::Command;

use super::{qwen_settings, with_agents};
use crate::support::Sandbox;

const BEFORE: &str = "{\n  // mine\n  \"model\": \"x\"\n}\n";

/// System calls that change files. The program is killed as it makes one of them.
const CALLS: &[&str] =
    &["write", "fsync", "rename", "renameat2", "link", "unlink", "mkdir", "fchmod", "flock"];

/// Runs `connect` and kills it at this call of one kind. Returns whether it was killed.
fn killed_at(sandbox: &Sandbox, arguments: &[&str], kind: &str, call: usize) -> bool {
    let inner = sandbox.command(arguments);
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-o", "/dev/null", "-e"]).arg(format!("trace={kind}")).arg("-e");
    strace.arg(format!("inject={kind}:signal=KILL:when={call}"));
    strace.arg(inner.get_program()).args(inner.get_args());
    strace.current_dir(inner.get_current_dir().unwrap()).env_clear();
    strace.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = strace.output().unwrap();
    match output.status.code() {
        Some(0) => false,
        Some(137) | None => true,
        Some(_) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Kills a command at each of its calls; `check` looks at what is left each time.
fn kill_everywhere(start: &str, arguments: &[&str], check: impl Fn(&Sandbox, String)) {
    let mut kills = 0;
    for kind in CALLS {
        for call in 1.. {
            assert!(call < 500, "it ends");
            let sandbox = with_agents(&["qwen"]).file("../.qwen/settings.json", BEFORE);
            if start == "connected" {
                assert_eq!(sandbox.run(&["connect", "qwen", "--yes"]).code, 0);
            }
            if !killed_at(&sandbox, arguments, kind, call) {
                break;
            }
            kills += 1;
            let left = fs::read_to_string(qwen_settings(&sandbox)).unwrap();
            check(&sandbox, left);
        }
    }
    assert!(kills >= 8, "{kills} kills");
}

#[test]
fn a_killed_connection_leaves_the_old_file_or_the_new_one_and_can_be_finished_and_undone() {
    let whole = with_agents(&["qwen"]).file("../.qwen/settings.json", BEFORE);
    assert_eq!(whole.run(&["connect", "qwen", "--yes"]).code, 0);
    let connected = fs::read_to_string(qwen_settings(&whole)).unwrap();
    kill_everywhere("new", &["connect", "qwen", "--yes"], |sandbox, left| {
        assert!(left == BEFORE || left == connected, "{left}");
        assert_eq!(sandbox.run(&["connect", "qwen", "--yes"]).code, 0);
        assert_eq!(fs::read_to_string(qwen_settings(sandbox)).unwrap(), connected);
        assert_eq!(sandbox.run(&["connect", "qwen", "--undo", "--yes"]).code, 0);
        assert_eq!(fs::read_to_string(qwen_settings(sandbox)).unwrap(), BEFORE);
        let names = fs::read_dir(sandbox.path("../.qwen")).unwrap();
        assert_eq!(names.count(), 1, "no draft is left");
    });
}

#[test]
fn a_killed_undo_leaves_the_old_file_or_the_new_one_and_can_be_finished() {
    let whole = with_agents(&["qwen"]).file("../.qwen/settings.json", BEFORE);
    assert_eq!(whole.run(&["connect", "qwen", "--yes"]).code, 0);
    let connected = fs::read_to_string(qwen_settings(&whole)).unwrap();
    kill_everywhere("connected", &["connect", "qwen", "--undo", "--yes"], |sandbox, left| {
        assert!(left == BEFORE || left == connected, "{left}");
        assert_eq!(sandbox.run(&["connect", "qwen", "--undo", "--yes"]).code, 0);
        assert_eq!(fs::read_to_string(qwen_settings(sandbox)).unwrap(), BEFORE);
    });
}
