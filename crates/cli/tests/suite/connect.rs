//! `hookwright connect`: the real program with settings of every agent. The agents' programs are
//! scripts that print a version; Codex's also answers as `codex app-server` was recorded.

mod killed;
mod people;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use hookwright_dialects::hosts;
use serde_json::{Value, json};

use crate::docs::blocks;
use crate::support::{Ran, Sandbox};

/// What `codex app-server` answers: its hooks from the file, and their trust from its configuration.
const CODEX: &str = r#"#!/usr/bin/env python3
import hashlib, json, os, re, sys
if sys.argv[1:] == ["--version"]:
    print("codex-cli 0.166.0")
    sys.exit()
home = os.environ["HOME"] + "/.codex"
config = home + "/config.toml"
def text():
    return open(config).read() if os.path.exists(config) else ""
def hooks():
    found = []
    try:
        entries = json.load(open(home + "/hooks.json"))["hooks"]
    except FileNotFoundError:
        return []
    for event, groups in entries.items():
        for i, group in enumerate(groups):
            for j, hook in enumerate(group["hooks"]):
                snake = re.sub("(?<!^)(?=[A-Z])", "_", event).lower()
                key = f"{home}/hooks.json:{snake}:{i}:{j}"
                digest = "sha256:" + hashlib.sha256(json.dumps(hook).encode()).hexdigest()
                is_trusted = f'"{key}"]\ntrusted_hash = "{digest}"' in text()
                found.append({"key": key, "command": hook["command"], "currentHash": digest,
                    "sourcePath": home + "/hooks.json",
                    "trustStatus": "trusted" if is_trusted else "untrusted"})
    return found
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialized":
        continue
    print(json.dumps({"method": "configWarning", "params": {}}))
    result = {}
    if request["method"] == "hooks/list":
        result = {"data": [{"cwd": "/", "hooks": hooks(), "warnings": [], "errors": []}]}
    if request["method"] == "config/batchWrite":
        new = text()
        for edit in request["params"]["edits"]:
            if edit["value"] is None:
                key = json.loads(edit["keyPath"][len("hooks.state."):])
                new = re.sub(r'\n\[hooks\.state\."%s"\]\n.*\n' % re.escape(key), "", new)
            else:
                for key, value in edit["value"].items():
                    new += f'\n[hooks.state."{key}"]\ntrusted_hash = "{value["trusted_hash"]}"\n'
        open(config, "w").write(new)
    print(json.dumps({"id": request["id"], "result": result}), flush=True)
"#;

/// A home with programs of these agents in `~/bin`, which is first in `PATH`.
fn with_agents(agents: &[&str]) -> Sandbox {
    let mut sandbox = Sandbox::new();
    for agent in agents {
        let host = hosts::named(agent).unwrap();
        let script = match *agent {
            "codex" => CODEX.to_owned(),
            _ => format!("#!/bin/sh\necho 'agent {}'\n", host.program.measured),
        };
        sandbox = sandbox.program(&format!("../bin/{}", host.program.name), &script);
    }
    let home = fs::canonicalize(sandbox.path("..")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", home.join("bin").display());
    // A variable that is set later counts.
    sandbox.set("PATH", &path)
}

/// Every file of the user's home but the programs and our state, with its mode.
fn home(sandbox: &Sandbox) -> Vec<(String, u32, Vec<u8>)> {
    let root = fs::canonicalize(sandbox.path("..")).unwrap();
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            if name == "bin" || name == ".local" {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            files.push((name, metadata.permissions().mode(), fs::read(&path).unwrap_or_default()));
        }
    }
    files.sort();
    files
}

fn names() -> Vec<&'static str> {
    hosts::all().iter().map(|host| host.name).collect()
}

fn statuses(sandbox: &Sandbox) -> Vec<(String, String)> {
    let (code, value) = sandbox.json(&["connect", "--detect", "--json"]);
    assert_eq!(code, 0);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let agents = value["agents"].as_array().unwrap().iter();
    agents.map(|agent| (text(&agent["agent"]), text(&agent["status"]))).collect()
}

#[test]
fn every_agent_is_connected_once_and_undone_byte_for_byte() {
    let sandbox = with_agents(&names())
        .file("../.claude/settings.json", "{\n  // mine\n  \"model\": \"opus\",\n}\n")
        .file("../.codex/config.toml", "[features]\nweb = true # mine\n")
        .file("../.gemini/settings.json", "\u{feff}{\"theme\":\"dark\"}\r\n")
        .file("../.cline/other", "x");
    let before = home(&sandbox);
    let all = |status: &str| names().iter().map(|name| ((*name).into(), status.into())).collect();
    let expected: Vec<(String, String)> = all("not_connected");
    assert_eq!(statuses(&sandbox), expected);

    let ran = sandbox.run(&["connect", "--all", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("Codex: connected, and it now trusts 9 entries\n"), "{ran:?}");
    let expected: Vec<(String, String)> = all("connected");
    assert_eq!(statuses(&sandbox), expected);
    let connected = home(&sandbox);
    let claude = fs::read_to_string(sandbox.path("../.claude/settings.json")).unwrap();
    assert!(claude.starts_with("{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {"), "{claude}");
    assert!(claude.contains("\"onFailure\": \"block\""), "{claude}");
    let program = env!("CARGO_BIN_EXE_hookwright");
    for (name, mode, content) in &connected {
        let text = String::from_utf8_lossy(content);
        if text.contains(" hook ") {
            assert!(text.contains(program), "{name}: {text}");
        }
        let is_shim = name.starts_with(".cline/hooks/");
        assert_eq!(is_shim, mode & 0o111 == 0o111 && !content.is_empty(), "{name}");
    }

    let again = sandbox.run(&["connect", "--all"]);
    assert_eq!(again.code, 0, "nothing is asked: {again:?}");
    assert!(again.stdout.lines().all(|line| line.ends_with(": already connected")), "{again:?}");
    assert_eq!(home(&sandbox), connected);

    let undone = sandbox.run(&["connect", "--all", "--undo", "--yes"]);
    assert_eq!((undone.code, undone.stderr.as_str()), (0, ""), "{undone:?}");
    assert_eq!(home(&sandbox), before);
    assert_eq!(sandbox.run(&["connect", "--all", "--undo"]).code, 0);
    assert_eq!(home(&sandbox), before);
}

#[test]
fn trust_that_an_agent_has_lost_is_given_again_after_it_was_shown() {
    let sandbox = with_agents(&["codex"]);
    assert_eq!(sandbox.run(&["connect", "codex", "--yes"]).code, 0);
    let config = sandbox.path("../.codex/config.toml");
    let trusted = fs::read_to_string(&config).unwrap();
    fs::write(&config, "model = \"mine\"\n").unwrap();
    let asked = sandbox.run(&["connect", "codex"]);
    let program = env!("CARGO_BIN_EXE_hookwright");
    assert_eq!(
        asked.stdout,
        format!(
            "Codex will be told to trust:\n  {program} hook codex --deadline 3\n  {program} hook codex \
             --deadline 60\n  {program} hook codex --deadline 60 || exit 2\n"
        )
    );
    let error = "error: hooks are not trusted yet, and there is no terminal to ask in\n";
    assert!(asked.code == 1 && asked.stderr.starts_with(error), "{asked:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "model = \"mine\"\n");
    assert_eq!(sandbox.run(&["connect", "codex", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&config).unwrap(), format!("model = \"mine\"\n{trusted}"));
    assert_eq!(sandbox.run(&["connect", "codex"]).code, 0, "nothing is asked any more");
    // The file was changed by others, so only the trust is taken back.
    assert_eq!(sandbox.run(&["connect", "codex", "--undo", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&config).unwrap(), "model = \"mine\"\n");
    assert!(!sandbox.path("../.codex/hooks.json").exists());
}

#[test]
fn other_hooks_of_an_agent_are_never_trusted_for_the_user() {
    let sandbox = with_agents(&["codex"]).file(
        "../.codex/hooks.json",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"./theirs\"}, \
         {\"type\": \"command\", \"command\": \"hookwright hook codex; ./theirs\"}]}]}}",
    );
    assert_eq!(sandbox.run(&["connect", "codex", "--yes"]).code, 0);
    let config = fs::read_to_string(sandbox.path("../.codex/config.toml")).unwrap();
    assert!(!config.contains(":stop:0:"), "{config}");
    assert!(config.contains(":stop:1:0"), "{config}");
}

#[test]
fn a_project_is_connected_where_its_agents_look() {
    let sandbox =
        with_agents(&["claude", "cline", "copilot", "droid", "gemini", "opencode", "qwen"]);
    let ran = sandbox.run(&["connect", "--all", "--project", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for path in [
        ".claude/settings.json",
        ".clinerules/hooks/PreToolUse",
        ".github/hooks/hookwright.json",
        ".factory/hooks.json",
        ".gemini/settings.json",
        ".opencode/plugins/hookwright.js",
        ".qwen/settings.json",
    ] {
        assert!(sandbox.path(path).is_file(), "{path}");
    }
    assert!(!sandbox.path("../.claude").exists());
    for warning in [
        "warning: with `--skip-trust`, Gemini CLI runs no hooks of a project and says nothing\n",
        "warning: Copilot CLI reads a project's hooks only with `--trust-folder`\n",
    ] {
        assert!(ran.stderr.contains(warning), "{ran:?}");
    }
    let undone = sandbox.run(&["connect", "--all", "--project", "--undo", "--yes"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(fs::read_dir(sandbox.path(".")).unwrap().count(), 0);
}

#[test]
fn without_a_terminal_the_difference_is_shown_and_nothing_changes() {
    let sandbox = with_agents(&["qwen"]).file("../.qwen/settings.json", "{\n  \"a\": 1\n}\n");
    let before = home(&sandbox);
    let ran = sandbox.run(&["connect", "qwen"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("@@ line 1 @@\n {\n-  \"a\": 1\n+  \"a\": 1,\n+  \"hooks\": {\n"),
        "{ran:?}"
    );
    assert_eq!(
        ran.stderr,
        "error: 1 file would change, and there is no terminal to ask in\nhelp: nothing was changed; \
         read the differences above, then run: `hookwright connect qwen --yes`\n"
    );
    let dry = sandbox.run(&["connect", "qwen", "--dry-run"]);
    assert_eq!((dry.code, &dry.stdout), (0, &ran.stdout));
    assert_eq!(dry.stderr, "nothing was changed (--dry-run)\n");
    let (code, value) = sandbox.json(&["connect", "qwen", "--json"]);
    assert_eq!((code, &value["done"]), (1, &json!(false)));
    assert_eq!(value["agents"][0]["files"][0]["change"], "update");
    assert_eq!(home(&sandbox), before);
    let (code, value) = sandbox.json(&["connect", "qwen", "--json", "--yes"]);
    assert_eq!((code, &value["done"]), (0, &json!(true)));
    assert_ne!(home(&sandbox), before);
}

#[test]
fn what_is_asked_for_wrongly_is_said_and_nothing_is_written() {
    let sandbox = with_agents(&["qwen"])
        .program("../bin/claude", "#!/bin/sh\necho '2.1.197 (Claude Code)'\n")
        .file("../.qwen/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n");
    let before = home(&sandbox);
    let said = |arguments: &[&str]| {
        let ran = sandbox.run(&[&["connect"], arguments, &["--yes"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert_eq!(home(&sandbox), before);
        ran.stderr
    };
    assert!(said(&["qwenn"]).contains("a similar value exists: 'qwen'"));
    assert_eq!(
        said(&["droid"]),
        "error: Droid is not installed: found no program `droid` in PATH\nhelp: install it: `npm \
         install -g droid`\nnothing was changed\n"
    );
    assert_eq!(
        said(&["claude"]),
        "error: Claude Code 2.1.197 is too old: it runs the tool if a hook's program is missing or \
         crashes\nhelp: update it to 2.1.295 or newer: `npm install -g @anthropic-ai/claude-code`\n\
         nothing was changed\n"
    );
    let path = fs::canonicalize(sandbox.path("../.qwen/settings.json")).unwrap();
    assert_eq!(
        said(&["qwen"]),
        format!(
            "error: expected `,` or `}}` but found `\"`\n --> {}:3:3\n  |\n3 |   \"b\": 2\n  |   ^\n\
             help: look for a missing comma, quote or bracket nearby; keys and strings need double \
             quotes\n\nnothing was changed\n",
            path.display()
        )
    );
    assert!(said(&[]).contains("required"));
}

#[test]
fn a_file_that_cannot_be_replaced_is_refused_with_the_reason() {
    let sandbox = with_agents(&["qwen"]).file("../.qwen/settings.json", "{}");
    let path = fs::canonicalize(sandbox.path("../.qwen")).unwrap().join("settings.json");
    let refused = |heading: &str| {
        let ran = sandbox.run(&["connect", "qwen", "--yes"]);
        assert_eq!(ran.code, 1);
        let expected = format!("error: {heading}\n --> {}\n", path.display());
        assert!(ran.stderr.starts_with(&expected), "{ran:?}");
    };
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    refused("the file is read-only");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/no/such/file", &path).unwrap();
    refused("this is a link to `/no/such/file`, which does not exist");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("expected a file but found a folder, a pipe or a device");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
    refused("the file is not UTF-8 (byte 7)");
    assert_eq!(fs::read(&path).unwrap(), b"{\"a\": \"\xff\"}");
}

#[test]
fn a_link_stays_and_its_target_is_replaced_with_its_mode() {
    let sandbox = with_agents(&["qwen"]).file("../dotfiles/qwen.json", "{}\n");
    let target = sandbox.path("../dotfiles/qwen.json");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(sandbox.path("../.qwen")).unwrap();
    let link = sandbox.path("../.qwen/settings.json");
    std::os::unix::fs::symlink("../dotfiles/qwen.json", &link).unwrap();
    let ran = sandbox.run(&["connect", "qwen", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("/.qwen/settings.json -> /"), "the target is named: {ran:?}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("hook qwen"));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(sandbox.run(&["connect", "qwen", "--undo", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}\n");
}

#[test]
fn a_program_of_the_user_for_an_event_is_never_replaced() {
    let sandbox =
        with_agents(&["cline"]).program("../.cline/hooks/PreToolUse", "#!/bin/sh\n./mine\n");
    let before = home(&sandbox);
    let ran = sandbox.run(&["connect", "cline", "--yes"]);
    let heading = "error: Cline starts this program for its event, and it is not from hookwright\n";
    assert!(ran.code == 1 && ran.stderr.starts_with(heading), "{ran:?}");
    assert_eq!(home(&sandbox), before);
}

#[test]
fn what_keeps_the_hooks_from_running_is_said() {
    let sandbox = with_agents(&["claude", "gemini", "copilot", "qwen"])
        .file(".claude/settings.local.json", "{\"disableAllHooks\": true}")
        .file("../.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}");
    assert_eq!(sandbox.run(&["connect", "claude", "qwen", "--project", "--yes"]).code, 0);
    let said = |agent: &str| sandbox.run(&["connect", agent, "--yes"]).stderr;
    let project = fs::canonicalize(sandbox.path(".")).unwrap();
    let home = project.parent().unwrap();
    for (agent, warning) in [
        (
            "claude",
            format!(
                "Claude Code runs no hooks of yours: `disableAllHooks: true` in {}",
                project.join(".claude/settings.local.json").display()
            ),
        ),
        (
            "gemini",
            format!(
                "Gemini CLI runs no hooks of yours: `hooksConfig.enabled: false` in {}",
                home.join(".gemini/settings.json").display()
            ),
        ),
        (
            "qwen",
            format!(
                "Qwen Code calls hookwright twice for each event: also from {}",
                project.join(".qwen/settings.json").display()
            ),
        ),
        (
            "copilot",
            format!(
                "Copilot CLI also reads {}, made for Claude Code",
                project.join(".claude/settings.json").display()
            ),
        ),
    ] {
        let said = said(agent);
        assert!(said.contains(&format!("warning: {warning}")), "{said}");
    }
}

#[test]
fn the_program_in_path_is_written_even_if_it_is_a_link() {
    let sandbox = with_agents(&["qwen"]);
    let link = fs::canonicalize(sandbox.path("../bin")).unwrap().join("hookwright");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hookwright"), &link).unwrap();
    assert_eq!(sandbox.run(&["connect", "qwen", "--yes"]).code, 0);
    let text = fs::read_to_string(sandbox.path("../.qwen/settings.json")).unwrap();
    assert!(text.contains(&format!("\"{} hook qwen", link.display())), "{text}");
}

#[test]
fn what_was_connected_runs_the_hooks() {
    let sandbox = with_agents(&["qwen", "cline"])
        .file("hookwright.yaml", "hooks: {tool:pre_execute: [{command: 'echo no >&2; exit 2'}]}\n");
    assert_eq!(sandbox.run(&["connect", "qwen", "cline", "--yes"]).code, 0);
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
    let text = fs::read_to_string(sandbox.path("../.qwen/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let event = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "run_shell_command",
        "cwd": sandbox.path("."), "tool_input": { "command": "ls" }, "tool_use_id": "t",
        "transcript_path": "/t", "timestamp": "2026-01-01T00:00:00Z",
    });
    let ran = as_the_agent(&sandbox, &["sh", "-c", command], &event);
    assert_eq!((ran.code, ran.stderr.trim()), (2, "no"), "{ran:?}");
}

/// A command that an agent starts, with an event on its standard input.
fn as_the_agent(sandbox: &Sandbox, words: &[&str], event: &Value) -> Ran {
    let inner = sandbox.command(&[]);
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .current_dir(sandbox.path("."))
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::from(fs::File::open(file_with(sandbox, event)).unwrap()));
    Ran::from(command.output().unwrap())
}

fn file_with(sandbox: &Sandbox, event: &Value) -> std::path::PathBuf {
    let path = sandbox.path("../event.json");
    fs::write(&path, event.to_string()).unwrap();
    path
}

/// The settings of the one agent that the tests of this folder connect.
fn qwen_settings(sandbox: &Sandbox) -> std::path::PathBuf {
    Path::new(&sandbox.path("../.qwen/settings.json")).to_owned()
}

#[test]
fn the_three_lines_of_the_first_page_connect_and_trust_and_are_understood() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/hosts.md");
    let page = fs::read_to_string(page).unwrap();
    let lines = blocks(&page, "sh")[0].lines();
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix("hookwright ").unwrap()).collect();
    let [connect, trust, probe] = lines[..] else { panic!("three lines, not {lines:?}") };
    let sandbox = with_agents(&["claude", "gemini"])
        .file("hookwright.yaml", "hooks:\n  tool:pre_execute:bash:\n    - command: exit 2\n");
    for line in [connect, trust] {
        let words: Vec<&str> = line.split(' ').chain(["--yes"]).collect();
        let ran = sandbox.run(&words);
        assert_eq!(ran.code, 0, "{line}: {}{}", ran.stdout, ran.stderr);
    }
    for agent in ["claude", "gemini"] {
        let settings = sandbox.path("..").join(format!(".{agent}/settings.json"));
        let settings = fs::read_to_string(settings).unwrap();
        assert!(settings.contains("hook") && settings.contains(agent), "{settings}");
    }
    // A probe needs the real agent, which is not here. It says so; the words are understood.
    let ran = sandbox.run(&probe.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("not installed"), "{}{}", ran.stdout, ran.stderr);
}
