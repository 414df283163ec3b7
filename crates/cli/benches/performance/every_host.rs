//! `hookwright hook HOST` for every host, with the recorded tool call of its real agent.

use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hookwright_dialects::hosts::{self, Host};

use super::compared::compare;
use super::{base_environment, installed};

/// The guard, and what runs it alone.
const GUARD: &str = "true";

/// The recorded call of a shell command. Its path is in `crates/dialects/tests/hosts`.
const SHELL_CALLS: &[(&str, &str)] = &[
    ("claude", "03-PreToolUse-Bash"),
    ("cline", "02-PreToolUse-run_commands"),
    ("codex", "03-PreToolUse-Bash"),
    ("copilot", "04-preToolUse-bash"),
    ("droid", "02-PreToolUse-Execute"),
    ("gemini", "07-BeforeTool-run_shell_command"),
    ("opencode", "18-tool_execute_before-bash"),
    ("qwen", "05-PreToolUse-run_shell_command"),
];

/// A call of one host.
struct HostCallBench<'a> {
    host: &'static Host,
    event: String,
    /// The id of the call, if the agent sends one. Each call has another: the reply to a call that is
    /// delivered twice is repeated, and its hooks do not run.
    id: Option<String>,
    calls: Cell<u64>,
    home: &'a Path,
    folder: &'a Path,
}

/// Two rows for each host: nothing to run, and one shell guard.
pub(super) fn calls_of_every_host(home: &Path, rounds: usize) {
    let folder = home.join("hosts");
    std::fs::create_dir_all(&folder).unwrap();
    assert_eq!(SHELL_CALLS.len(), hosts::all().len());
    for (name, case) in SHELL_CALLS {
        let host = hosts::named(name).unwrap();
        let event = event(name, case, &folder);
        let read = host.read_call(&event).unwrap();
        let id = read.event.text("tool_use_id").map(str::to_owned);
        let call = HostCallBench { host, event, id, calls: Cell::default(), home, folder: &folder };
        for (what, hooks, has_guard, target) in [
            (
                "nothing to run",
                "hooks: {session:end: [{command: x}]}\n",
                false,
                "at most 3 ms more",
            ),
            (
                "one shell guard",
                &*format!("hooks: {{tool:pre_execute: [{{command: '{GUARD}'}}]}}\n"),
                true,
                "at most 1.10 of the guard, and 3 ms more",
            ),
        ] {
            std::fs::write(folder.join("hookwright.yaml"), hooks).unwrap();
            call.trusts_its_hooks();
            let floor = || match has_guard {
                true => {
                    call.fed(Path::new("true"), &[]);
                    call.fed(Path::new("bash"), &["-c", GUARD]);
                }
                false => call.fed(Path::new("true"), &[]),
            };
            let beside =
                if has_guard { "an empty process and the guard" } else { "an empty process" };
            compare(rounds, floor, || call.fed(installed(), &["hook", name]))
                .print(&format!("`hookwright hook {name}` with {what}, beside {beside}"), target);
        }
    }
}

/// The event as the agent sent it, in this folder.
fn event(host: &str, case: &str, folder: &Path) -> String {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dialects/tests/hosts");
    let file: PathBuf = recorded.join(host).join(case).join("sent.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    text.replace("/home/user/project", folder.to_str().unwrap())
}

impl HostCallBench<'_> {
    /// A person trusts the hook file, outside of the agent.
    fn trusts_its_hooks(&self) {
        let mut trust = Command::new(installed());
        trust.args(["trust", "--yes"]).current_dir(self.folder);
        trust.env_clear().envs(base_environment()).env("HOME", self.home);
        let output = trust.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Runs a program with the event as its input.
    fn fed(&self, program: &Path, arguments: &[&str]) {
        let number = self.calls.get() + 1;
        self.calls.set(number);
        let event = match self.id.as_deref().filter(|id| !id.is_empty()) {
            Some(id) => self.event.replace(id, &format!("call-{number}")),
            None => self.event.clone(),
        };
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.folder)
            .env_clear()
            .envs(base_environment())
            .env("HOME", self.home)
            .envs(self.host.marks.iter().map(|mark| (mark, self.folder)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // An empty process may have ended before it gets its input.
        let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{} {arguments:?}: {output:?}", self.host.name);
    }
}
