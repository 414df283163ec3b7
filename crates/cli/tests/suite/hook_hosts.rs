//! `hookwright hook HOST` for every host but Claude Code: recorded events come on standard input, and
//! the real program answers. What each reply looks like is in `crates/dialects/tests/hosts`; these
//! tests check that one file of hooks guards all agents.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hookwright_dialects::hosts;
use serde_json::{Value, json};

use crate::hook_claude::trusted;
use crate::interrupts::until;
use crate::support::{Ran, Sandbox, repository};

/// A host, and the recordings of a shell command, of a new file, of its result, and of a stop.
pub(crate) struct Recorded {
    pub(crate) host: &'static str,
    pub(crate) shell: &'static str,
    file: &'static str,
    result: &'static str,
    /// If a stop can be blocked there.
    stop: Option<&'static str>,
}

pub(crate) const RECORDED: &[Recorded] = &[
    Recorded {
        host: "cline",
        shell: "02-PreToolUse-run_commands",
        file: "06-PreToolUse-editor",
        result: "03-PostToolUse-run_commands",
        stop: None,
    },
    Recorded {
        host: "codex",
        shell: "03-PreToolUse-Bash",
        file: "07-PreToolUse-apply_patch",
        result: "04-PostToolUse-Bash",
        stop: Some("20-Stop"),
    },
    Recorded {
        host: "copilot",
        shell: "04-preToolUse-bash",
        file: "10-preToolUse-create",
        result: "06-postToolUse-bash",
        stop: Some("34-agentStop"),
    },
    Recorded {
        host: "droid",
        shell: "02-PreToolUse-Execute",
        file: "05-PreToolUse-Create",
        result: "03-PostToolUse-Execute",
        stop: Some("14-Stop"),
    },
    Recorded {
        host: "gemini",
        shell: "07-BeforeTool-run_shell_command",
        file: "15-BeforeTool-write_file",
        result: "08-AfterTool-run_shell_command",
        stop: Some("25-AfterAgent"),
    },
    Recorded {
        host: "opencode",
        shell: "18-tool_execute_before-bash",
        file: "21-tool_execute_before-write",
        result: "20-tool_execute_after-bash",
        stop: None,
    },
    Recorded {
        host: "qwen",
        shell: "05-PreToolUse-run_shell_command",
        file: "13-PreToolUse-write_file",
        result: "06-PostToolUse-run_shell_command",
        stop: Some("33-Stop"),
    },
];

/// A recorded event, moved into the sandbox's project.
pub(crate) fn sent(sandbox: &Sandbox, host: &str, case: &str) -> Value {
    let folder = repository().join("crates/dialects/tests/hosts").join(host).join(case);
    let text = fs::read_to_string(folder.join("sent.json")).unwrap();
    let project = sandbox.path(".").canonicalize().unwrap();
    let text = text.replace("/home/user/project", project.to_str().unwrap());
    serde_json::from_str(&text).unwrap()
}

fn start(sandbox: &Sandbox, host: &str, arguments: &[&str], text: &str) -> Child {
    let mut command: Command = sandbox.command(&[&["hook", host], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program need not read everything; only its answer counts.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child
}

pub(crate) fn call(sandbox: &Sandbox, host: &str, event: &Value) -> Ran {
    let child = start(sandbox, host, &[], &event.to_string());
    Ran::from(child.wait_with_output().unwrap())
}

/// Whether the agent is told not to run the tool, for this reason.
pub(crate) fn is_denied(ran: &Ran, reason: &str) -> bool {
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let says_no = reply["decision"] == "block" || reply["deny"].is_string();
    says_no && ran.stdout.contains(reason)
}

#[test]
fn every_host_has_a_row_here() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["hook", "nothing"]);
    let (_, known) = ran.stderr.split_once("[possible values: ").unwrap();
    let known: Vec<&str> = known.split_once(']').unwrap().0.split(", ").collect();
    let rows: Vec<&str> = RECORDED.iter().map(|it| it.host).collect();
    assert_eq!(known, [&["claude"], &rows[..]].concat());
}

#[test]
fn one_guard_for_bash_covers_every_agents_shell() {
    let hooks = "hooks: {tool:pre_execute:bash: [{command: 'echo no shell >&2; exit 2', \
                 when: \"${TOOL_INPUT.command} matches 'echo hello'\"}]}";
    for it in RECORDED {
        let sandbox = trusted(hooks);
        let ran = call(&sandbox, it.host, &sent(&sandbox, it.host, it.shell));
        assert!(is_denied(&ran, "no shell"), "{}: {ran:?}", it.host);
        let ran = call(&sandbox, it.host, &sent(&sandbox, it.host, it.file));
        assert!(!is_denied(&ran, "no shell"), "{}: {ran:?}", it.host);
    }
}

#[test]
fn one_guard_of_files_covers_every_agents_way_to_write() {
    let hooks = "hooks: {tool:pre_execute:write: [{command: 'echo not a.txt >&2; exit 2', \
                 when: \"${TOOL_INPUT.file_path} matches 'a.txt$'\"}]}";
    for it in RECORDED {
        let sandbox = trusted(hooks);
        let ran = call(&sandbox, it.host, &sent(&sandbox, it.host, it.file));
        assert!(is_denied(&ran, "not a.txt"), "{}: {ran:?}", it.host);
        let ran = call(&sandbox, it.host, &sent(&sandbox, it.host, it.shell));
        assert!(!is_denied(&ran, "not a.txt"), "{}: {ran:?}", it.host);
    }
}

#[test]
fn input_that_is_no_event_and_events_of_other_agents_are_refused() {
    let sandbox = trusted("hooks: {}");
    for it in RECORDED {
        for text in ["", "{", "{}", "[]"] {
            let ran = start(&sandbox, it.host, &[], text).wait_with_output().unwrap();
            let ran = Ran::from(ran);
            assert!(is_denied(&ran, "expected"), "{} {text}: {ran:?}", it.host);
        }
        let cursor = json!({ "hook_event_name": "beforeShellExecution", "conversation_id": "c",
            "generation_id": "g", "command": "ls" });
        let ran = call(&sandbox, it.host, &cursor);
        assert!(is_denied(&ran, "is an event of Cursor"), "{}: {ran:?}", it.host);
    }
    let gemini = json!({ "hook_event_name": "BeforeTool", "tool_name": "x", "tool_input": {} });
    let ran = call(&sandbox, "codex", &gemini);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("call `hookwright hook gemini`"), "{ran:?}");
}

#[test]
fn without_trust_every_agents_tools_are_blocked() {
    for it in RECORDED {
        let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: 'true'}]}");
        let ran = call(&sandbox, it.host, &sent(&sandbox, it.host, it.shell));
        assert!(is_denied(&ran, "is not trusted"), "{}: {ran:?}", it.host);
    }
}

#[test]
fn a_guard_that_is_too_slow_says_no_before_the_agent_goes_on() {
    let hooks = "hooks: {tool:pre_execute: [{command: 'sleep 600'}]}";
    for it in RECORDED {
        let sandbox = trusted(hooks);
        let event = sent(&sandbox, it.host, it.shell).to_string();
        let ran = start(&sandbox, it.host, &["--deadline", "2"], &event);
        let ran = Ran::from(ran.wait_with_output().unwrap());
        assert!(is_denied(&ran, "had not answered after 1.4 s"), "{}: {ran:?}", it.host);
    }
}

#[test]
fn context_before_a_tool_reaches_the_agent_at_the_latest_with_the_result() {
    let hooks = "hooks: {tool:pre_execute: [{command: \
                 'echo \"{\\\"additionalContext\\\": \\\"REMEMBER\\\"}\"'}]}";
    for it in RECORDED {
        let sandbox = trusted(hooks);
        let before = call(&sandbox, it.host, &sent(&sandbox, it.host, it.shell));
        let after = call(&sandbox, it.host, &sent(&sandbox, it.host, it.result));
        let told = [&before, &after].map(|ran| ran.stdout.contains("REMEMBER"));
        assert!(
            told == [true, false] || told == [false, true],
            "{}: {before:?} {after:?}",
            it.host
        );
    }
}

#[test]
fn blocked_stops_come_to_an_end_in_every_agent_that_can_be_kept_going() {
    let hooks = "hooks: {session:stop: [{await: true, command: 'echo go on >&2; exit 2'}]}";
    for it in RECORDED {
        let Some(stop) = it.stop else { continue };
        let sandbox = trusted(hooks);
        let mut event = sent(&sandbox, it.host, stop);
        let mut blocked = 0;
        while blocked < 20 {
            let ran = call(&sandbox, it.host, &event);
            if !is_denied(&ran, "go on") {
                break;
            }
            blocked += 1;
            event["stop_hook_active"] = json!(true);
        }
        assert_eq!(blocked, 8, "{}", it.host);
    }
}

/// Processes that have a file of this folder open.
fn openers(folder: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let has = |process: PathBuf| {
        let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|file| file.starts_with(folder))
    };
    processes.filter(|process| has(process.path())).count()
}

#[test]
fn a_call_that_is_delivered_twice_runs_its_hooks_once() {
    let hooks = "hooks: {tool:pre_execute: [{command: \
                 'echo ran >> ran; until test -e go; do sleep 0.01; done; echo no >&2; exit 2'}]}";
    let sandbox = trusted(hooks);
    let event = sent(&sandbox, "codex", "03-PreToolUse-Bash").to_string();
    let first = start(&sandbox, "codex", &[], &event);
    until("the hook runs", || sandbox.path("ran").exists());
    let second = start(&sandbox, "codex", &[], &event);
    let calls = sandbox.path("../.local/state/hookwright/agents/calls").canonicalize().unwrap();
    until("the second waits", || openers(&calls) == 2);
    fs::write(sandbox.path("go"), "").unwrap();
    for delivery in [first, second] {
        let ran = Ran::from(delivery.wait_with_output().unwrap());
        assert!(is_denied(&ran, "no"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(sandbox.path("ran")).unwrap(), "ran\n");
}

#[test]
fn without_a_call_id_the_hooks_run_for_every_delivery() {
    let sandbox = trusted("hooks: {tool:pre_execute: [{command: 'echo ran >> ran'}]}");
    let event = sent(&sandbox, "droid", "02-PreToolUse-Execute");
    for _ in 0..2 {
        assert_eq!(call(&sandbox, "droid", &event), Ran::new(0, "", ""));
    }
    assert_eq!(fs::read_to_string(sandbox.path("ran")).unwrap(), "ran\nran\n");
}

#[test]
fn check_knows_the_settings_of_every_host() {
    let hooks = "hooks: {tool:pre_execute:bash: [{id: guard, command: 'exit 2'}]}";
    for (host, file, settings) in [
        (
            "codex",
            ".codex/hooks.json",
            json!({ "hooks": { "PreToolUse": [{ "hooks": [
            { "type": "command", "command": "hookwright hook codex --deadline 60 || exit 2" }] }] } }),
        ),
        (
            "droid",
            ".factory/hooks.json",
            json!({ "PreToolUse": [{ "hooks": [
            { "type": "command", "command": "/opt/hookwright hook droid" }] }] }),
        ),
        (
            "qwen",
            ".qwen/settings.json",
            json!({ "hooks": { "PreToolUse": [{ "hooks": [
            { "type": "command", "command": "hookwright hook qwen" }] }] } }),
        ),
        (
            "copilot",
            ".github/hooks/hookwright.json",
            json!({ "version": 1, "hooks": {
            "PreToolUse": [{ "type": "command", "bash": "hookwright hook copilot" }] } }),
        ),
    ] {
        let unknown = Sandbox::with_hooks(hooks).run(&["check"]);
        assert!(unknown.stderr.contains("nothing here"), "{unknown:?}");
        let known = Sandbox::with_hooks(hooks).file(file, settings.to_string()).run(&["check"]);
        assert_eq!((known.code, known.stderr.as_str()), (0, ""), "{host}");
    }
    for (host, folder) in [("cline", ".clinerules/hooks"), ("opencode", ".opencode/plugins")] {
        let host = hosts::named(host).unwrap();
        let mut sandbox = Sandbox::with_hooks(hooks);
        for file in host.files("hookwright") {
            let name = Path::new(file.path).file_name().unwrap().to_str().unwrap();
            sandbox = sandbox.file(&format!("{folder}/{name}"), file.text);
        }
        let known = sandbox.run(&["check"]);
        assert_eq!((known.code, known.stderr.as_str()), (0, ""), "{}", host.name);
    }
}

/// Puts the program of Cline's event into the project, calling the real program, and runs it.
fn run_shim(sandbox: &Sandbox, program: &str, event: &Value) -> Ran {
    let files = hosts::named("cline").unwrap().files(program);
    let shim = files.into_iter().find(|file| file.path.ends_with("/PreToolUse")).unwrap();
    assert!(shim.is_program);
    let path = sandbox.path("shim");
    fs::write(&path, shim.text).unwrap();
    let ours = sandbox.command(&[]);
    let mut command = Command::new("sh");
    command.arg(&path).env_clear().current_dir(sandbox.path("."));
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn the_program_for_cline_cancels_a_call_that_could_not_be_checked() {
    let sandbox = trusted("hooks: {tool:pre_execute:bash: [{command: 'echo no >&2; exit 2'}]}");
    let event = sent(&sandbox, "cline", "02-PreToolUse-run_commands");
    let real = sandbox.command(&[]);
    let real = real.get_program().to_str().unwrap();
    let cancels = |ran: &Ran| {
        let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(ran.code, 0);
        (reply["cancel"].clone(), reply["errorMessage"].clone())
    };
    assert_eq!(cancels(&run_shim(&sandbox, real, &event)), (json!(true), json!("no")));
    for broken in ["./nothing", "false", "sh -c 'kill -9 $$'"] {
        let (cancel, _) = cancels(&run_shim(&sandbox, broken, &event));
        assert_eq!(cancel, json!(true), "{broken}");
    }
    let harmless = sent(&sandbox, "cline", "10-PreToolUse-read_files");
    assert_eq!(run_shim(&sandbox, real, &harmless).stdout.trim(), "");
}

#[test]
fn the_plugin_for_opencode_passes_decisions_on_and_blocks_what_could_not_be_checked() {
    let hooks = "hooks:
  tool:pre_execute:bash:
    - {command: 'echo no >&2; exit 2', when: \"${TOOL_INPUT.command} matches 'sudo'\"}
    - {command: 'echo \"{\\\"updatedInput\\\": {\\\"command\\\": \\\"ls\\\"}}\"', when: \"${TOOL_INPUT.command} == 'dir'\"}
  tool:post_execute:bash:
    - {await: true, command: 'echo \"{\\\"additionalContext\\\": \\\"REMEMBER\\\"}\"'}
";
    let sandbox = trusted(hooks);
    let program = sandbox.command(&[]).get_program().to_str().unwrap().to_owned();
    let script = "
        import { Hookwright } from process.argv[2]
        const hooks = await Hookwright({ directory: process.cwd() })
        const before = hooks['tool.execute.before'], after = hooks['tool.execute.after']
        const call = { tool: 'bash', sessionID: 's', callID: 'c' + Math.random() }
        for (const command of ['sudo ls', 'dir', 'pwd']) {
            const output = { args: { command } }
            const args = output.args
            try { await before(call, output); console.log(command + ': ' + args.command) }
            catch (error) { console.log(command + ': ' + error.message) }
        }
        const output = { output: 'x' }
        await after({ ...call, args: { command: 'pwd' } }, output)
        console.log(JSON.stringify(output.output))
    ";
    let script = script.replace(
        "import { Hookwright } from process.argv[2]",
        "const { Hookwright } = await import(process.argv[2])",
    );
    let run = |program: &str| {
        let [plugin] = &hosts::named("opencode").unwrap().files(program)[..] else { panic!("one") };
        let path = sandbox.path("plugin.mjs");
        fs::write(&path, &plugin.text).unwrap();
        fs::write(sandbox.path("script.mjs"), &script).unwrap();
        let ours = sandbox.command(&[]);
        let mut command = Command::new("node");
        command.arg(sandbox.path("script.mjs")).arg(&path).current_dir(sandbox.path("."));
        command.env_clear().envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::from(command.output().unwrap())
    };
    assert_eq!(
        run(&program),
        Ran::new(0, "sudo ls: no\ndir: ls\npwd: pwd\n\"x\\nREMEMBER\"\n", "")
    );
    for broken in ["./nothing", "false", "true", "echo"] {
        let ran = run(broken);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines.len(), 4, "{broken}: {ran:?}");
        let blocked = |line: &&str| line.contains(": hookwright could not check this: ");
        assert!(lines[..3].iter().all(blocked), "{broken}: {ran:?}");
    }
}

/// Calls `hook codex` as an agent that a command of another agent started. Only that command has set
/// this variable.
fn call_nested(sandbox: &Sandbox, variable: &str, event: &Value) -> Ran {
    let hook = sandbox.command(&["hook", "codex"]);
    let inner = "env CLAUDECODE=1 \"$variable\" sh -c '\"$@\"; exit $?' codex \"$@\"; exit $?";
    let mut command = Command::new("sh");
    command.args(["-c", inner, "claude"]).arg(hook.get_program()).args(hook.get_args());
    command.env_clear().envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("variable", variable).current_dir(sandbox.path("."));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn an_agent_cannot_start_another_one_without_hooks() {
    let sandbox = trusted("hooks: {tool:pre_execute:bash: [{command: 'echo no >&2; exit 2'}]}");
    let event = sent(&sandbox, "codex", "03-PreToolUse-Bash");
    for variable in ["HOOKWRIGHT=0", "HOME=/nowhere", "XDG_CONFIG_HOME=/nowhere"] {
        let ran = call_nested(&sandbox, variable, &event);
        assert!(is_denied(&ran, "no"), "{variable}: {ran:?}");
    }
}
