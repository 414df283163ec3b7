//! `hookwright doctor`: what it says about homes with something wrong in them. The agents are programs
//! that print a version and nothing else, so nothing here proves that hooks hold: that is what a probe
//! of a real agent is for (`cargo xtask peers`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use hookwright_dialects::hosts::{self, Host};
use serde_json::{Value, json};

use crate::hook_claude::trust;
use crate::support::{Ran, Sandbox};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hookwright");

/// A home in which this agent is installed with this version, and a trusted guard.
fn installed(host: &Host, version: &str) -> Sandbox {
    let sandbox = Sandbox::with_hooks("hooks: {tool:pre_execute: [{command: 'true'}]}");
    let program = format!("../bin/{}", host.program.name);
    let sandbox = sandbox.program(&program, &format!("#!/bin/sh\necho '{version}'\n"));
    let bin = sandbox.path("../bin").canonicalize().unwrap();
    trust(sandbox.set("PATH", &format!("{}:/usr/bin:/bin", bin.display())))
}

/// The same, with the settings that we generate, changed in some way.
fn connected(name: &str, change: impl Fn(&str) -> String) -> Sandbox {
    let host = hosts::named(name).unwrap();
    let mut sandbox = installed(host, &host.program.measured.to_string());
    for file in host.files(PROGRAM) {
        let path = format!("../{}", file.path);
        let text = change(&file.text);
        sandbox = match file.is_program {
            true => sandbox.program(&path, &text),
            false => sandbox.file(&path, &text),
        };
        if name == "codex" {
            let path = sandbox.path("..").canonicalize().unwrap().join(file.path);
            sandbox = sandbox.file("../.codex/config.toml", codex_trust(&path, &text));
        }
    }
    sandbox
}

/// What Codex writes when all these hooks are trusted.
fn codex_trust(path: &Path, settings: &str) -> String {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    let mut text = String::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        let mut name = String::new();
        for letter in event.chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.extend(letter.to_lowercase());
        }
        let hook = &groups[0]["hooks"][0];
        let hook = json!({ "async": false, "command": hook["command"],
            "timeout": hook["timeout"], "type": "command" });
        let definition = json!({ "event_name": name, "hooks": [hook] }).to_string();
        let digest = sha256(&definition);
        text.push_str(&format!(
            "[hooks.state.\"{}:{name}:0:0\"]\ntrusted_hash = \"sha256:{digest}\"\n",
            path.display()
        ));
    }
    text
}

fn sha256(text: &str) -> String {
    use std::io::Write;
    let mut command = Command::new("sha256sum");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    String::from_utf8(output).unwrap()[..64].to_owned()
}

/// The one line about this, with its help.
fn line<'a>(ran: &'a Ran, start: &str) -> &'a str {
    let at = ran.stdout.find(start).unwrap_or_else(|| panic!("no `{start}`:\n{}", ran.stdout));
    let rest = &ran.stdout[at..];
    let mut end = 0;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        if number > 0 && !line.trim_start().starts_with("help:") {
            break;
        }
        end += line.len();
    }
    &rest[..end]
}

#[track_caller]
fn assert_open(name: &str, change: impl Fn(&str) -> String, expected: &[&str]) {
    let ran = connected(name, change).run(&["doctor", name]);
    assert_eq!(ran.code, 1, "{name}: {ran:?}");
    let said = line(&ran, "  open");
    for text in expected {
        assert!(said.contains(text), "{name}: expected `{text}` in:\n{}", ran.stdout);
    }
    assert!(said.contains("help: "), "{name}: {said}");
}

#[test]
fn with_the_settings_that_we_generate_no_guard_is_open_in_any_agent() {
    for host in hosts::all() {
        let ran = connected(host.name, str::to_owned).run(&["doctor", host.name]);
        assert_eq!(ran.code, 0, "{}:\n{}", host.name, ran.stdout);
        assert!(ran.stdout.contains("  ok    settings"), "{}:\n{}", host.name, ran.stdout);
        assert!(ran.stdout.ends_with("no guard is open\n"), "{}", ran.stdout);
        // Nothing has proven it yet.
        let probe = format!("hookwright doctor --probe {}", host.name);
        assert!(line(&ran, "  note  probe").contains(&probe), "{}", ran.stdout);
    }
}

#[test]
fn an_agent_that_does_not_call_us_is_an_open_guard() {
    for host in hosts::all() {
        let version = host.program.measured.to_string();
        let ran = installed(host, &version).run(&["doctor", host.name]);
        assert_eq!(ran.code, 1, "{}", host.name);
        let said = line(&ran, "  open  settings");
        assert!(said.contains("does not call hookwright"), "{}: {said}", host.name);
        assert!(ran.stdout.ends_with("1 guard open\n"), "{}", ran.stdout);
    }
}

#[test]
fn a_program_that_does_not_exist_is_an_open_guard() {
    for name in ["claude", "codex", "gemini"] {
        let change = |text: &str| text.replace(PROGRAM, "/no/such/hookwright");
        let ran = connected(name, change).run(&["doctor", name]);
        let said = line(&ran, "  open  settings");
        assert!(said.contains("/no/such/hookwright"), "{name}: {said}");
        assert_eq!(ran.code, 1);
    }
}

#[test]
fn a_program_without_its_path_and_another_program_are_noted() {
    let bare = connected("gemini", |text| text.replace(PROGRAM, "hookwright"));
    // A file that this process writes is busy while a process of another test has inherited it.
    let copied = Command::new("cp").arg(PROGRAM).arg(bare.path("../bin/hookwright")).status();
    assert!(copied.unwrap().success());
    let ran = bare.run(&["doctor", "gemini"]);
    assert!(line(&ran, "  note  settings").contains("bin/hookwright"), "{}", ran.stdout);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn a_deadline_after_the_agents_own_timeout_is_an_open_guard() {
    let expected = ["waits less than hookwright may take", "--deadline 5"];
    assert_open("droid", |text| text.replace("\"timeout\": 60", "\"timeout\": 5"), &expected);
    let milliseconds = |text: &str| text.replace("\"timeout\": 60000", "\"timeout\": 5000");
    assert_open("gemini", milliseconds, &expected);
    assert_open("copilot", |text| text.replace("Sec\": 60", "Sec\": 5"), &expected);
}

#[test]
fn tools_that_run_without_our_program_are_an_open_guard() {
    let expected = ["tools run if hookwright is missing or crashes"];
    for name in ["codex", "droid", "gemini", "qwen"] {
        assert_open(name, |text| text.replace(" || exit 2", ""), &expected);
    }
    assert_open("claude", |text| text.replace("onFailure", "onFailures"), &expected);
}

#[test]
fn settings_without_the_event_before_a_tool_are_an_open_guard_and_others_a_note() {
    let expected = ["tool calls reach no guard", "PreToolUse"];
    assert_open("qwen", |text| text.replace("\"PreToolUse\"", "\"Elsewhere\""), &expected);
    let other = connected("qwen", |text| text.replace("\"SessionStart\"", "\"Elsewhere\""));
    let ran = other.run(&["doctor", "qwen"]);
    assert!(line(&ran, "  note  settings").contains("SessionStart"), "{}", ran.stdout);
    assert_eq!(ran.code, 0);
}

#[test]
fn a_switch_of_the_agent_that_turns_hooks_off_is_an_open_guard() {
    let off = |text: &str| text.replacen('{', "{\"disableAllHooks\": true,", 1);
    assert_open("claude", off, &["switches hooks off", "disableAllHooks"]);
    let off = |text: &str| text.replacen('{', "{\"hooksConfig\": {\"enabled\": false},", 1);
    assert_open("gemini", off, &["switches hooks off", "hooksConfig"]);
    let droid = connected("droid", str::to_owned);
    let droid = droid.file("../.factory/settings.json", "{\"hooksDisabled\": true}");
    let ran = droid.run(&["doctor", "droid"]);
    assert!(line(&ran, "  open  switch").contains("hooksDisabled"), "{}", ran.stdout);
}

#[test]
fn a_generated_file_that_is_not_ours_any_more_is_an_open_guard() {
    let expected = ["is not what this version generates"];
    assert_open("opencode", |text| text.replace("throw new Error", "console.log"), &expected);
    assert_open("cline", |text| text.replace("\"cancel\"", "\"cancelled\""), &["PreToolUse"]);
}

#[test]
fn a_program_of_cline_that_is_not_executable_is_an_open_guard() {
    let sandbox = connected("cline", str::to_owned);
    let path = sandbox.path("../.cline/hooks/PreToolUse");
    assert!(Command::new("chmod").arg("-x").arg(&path).status().unwrap().success());
    let ran = sandbox.run(&["doctor", "cline"]);
    assert_eq!(ran.code, 1);
    let said = line(&ran, "  open  settings");
    assert!(said.contains("is not executable") && said.contains("help: chmod +x "), "{said}");
}

#[test]
fn hooks_that_codex_does_not_trust_are_an_open_guard() {
    let sandbox = connected("codex", str::to_owned);
    let config = sandbox.path("../.codex/config.toml");
    let trusted = fs::read_to_string(&config).unwrap();
    let opened = |text: &str, expected: &str| {
        fs::write(&config, text).unwrap();
        let ran = sandbox.run(&["doctor", "codex"]);
        assert_eq!(ran.code, 1, "{text}");
        let said = line(&ran, "  open  trust");
        assert!(said.contains(expected), "{said}");
    };
    opened("", "they are not trusted");
    opened(&trusted.replace("sha256:", "sha256:0"), "they have changed since they were trusted");
    opened(&trusted.replace("trusted_hash", "enabled = false\ntrusted_hash"), "switched off");
    opened(&format!("[features]\nhooks = false\n{trusted}"), "switches hooks off");
    opened("[hooks", "config.toml");
    fs::remove_file(&config).unwrap();
    let ran = sandbox.run(&["doctor", "codex"]);
    assert!(line(&ran, "  open  trust").contains("/hooks"), "{}", ran.stdout);
}

#[test]
fn settings_that_cannot_be_read_are_an_open_guard_with_their_place() {
    let expected = ["hooks.json:2:", "repair the file"];
    assert_open("codex", |text| text.replacen("\"hooks\": {", "\"hooks\" {", 1), &expected);
}

#[test]
fn a_version_before_the_measured_one_is_noted_and_one_that_lacks_something_is_open() {
    let codex = hosts::named("codex").unwrap();
    let ran = installed(codex, "codex-cli 0.100.0").run(&["doctor", "codex"]);
    let said = line(&ran, "  note  version");
    assert!(said.contains("0.100.0") && said.contains("npm install -g @openai/codex"), "{said}");
    let claude = hosts::named("claude").unwrap();
    let ran = installed(claude, "2.0.0 (Claude Code)").run(&["doctor", "claude"]);
    let said = line(&ran, "  open  version");
    assert!(said.contains("2.0.0 is too old") && said.contains("npm install"), "{said}");
    let ran = installed(codex, "no number").run(&["doctor", "codex"]);
    assert!(line(&ran, "  note  version").contains("`no number`"), "{}", ran.stdout);
}

#[test]
fn hook_files_that_are_not_trusted_or_have_faults_are_told_with_what_to_type() {
    let sandbox = connected("qwen", str::to_owned);
    let sandbox = sandbox.file("hookwright.yaml", "hooks: {tool:pre_execute: [{comand: 'true'}]}");
    let ran = sandbox.run(&["doctor", "qwen"]);
    let said = line(&ran, "  note  hook files");
    assert!(said.contains("has changed since it was trusted"), "{said}");
    assert!(said.contains("help: hookwright trust /"), "{said}");
    let said = line(&ran, "  note  check");
    assert!(
        said.contains("hookwright.yaml:1:") && said.contains("help: hookwright check"),
        "{said}"
    );
    // Both block what they would guard.
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    fs::remove_file(sandbox.path("hookwright.yaml")).unwrap();
    let ran = sandbox.run(&["doctor", "qwen"]);
    assert!(line(&ran, "  note  hook files").contains("help: hookwright init"), "{}", ran.stdout);
}

#[test]
fn the_switch_of_all_hooks_is_an_open_guard() {
    let ran = connected("qwen", str::to_owned).set("HOOKWRIGHT", "0").run(&["doctor", "qwen"]);
    assert!(line(&ran, "  open  switch").contains("help: unset HOOKWRIGHT"), "{}", ran.stdout);
    assert_eq!(ran.code, 1);
}

#[test]
fn without_a_name_every_installed_agent_is_looked_at_and_the_others_are_named() {
    let sandbox = connected("qwen", str::to_owned);
    let ran = sandbox.run(&["doctor"]);
    assert!(ran.stdout.starts_with("Qwen Code\n"), "{}", ran.stdout);
    let missing = line(&ran, "not installed: ");
    assert!(
        missing.contains("Claude Code, Cline, Codex") && !missing.contains("Qwen"),
        "{missing}"
    );
    let (code, found) = sandbox.json(&["doctor", "--json"]);
    assert_eq!(
        (code, &found["open"], &found["agents"][0]["agent"]),
        (0, &json!(0), &json!("qwen"))
    );
    let findings = found["agents"][0]["findings"].as_array().unwrap();
    let standings: Vec<&str> = findings.iter().filter_map(|it| it["standing"].as_str()).collect();
    assert_eq!(standings, ["ok", "ok", "note"]);
    assert_eq!(found["not_installed"].as_array().unwrap().len(), hosts::all().len() - 1);
    assert!(found["here"].as_array().is_some_and(|here| here.len() >= 3), "{found}");
}

#[test]
fn an_agent_that_is_not_installed_is_an_error_with_the_command_that_installs_it() {
    let sandbox = Sandbox::new().set("PATH", "/usr/bin:/bin");
    for arguments in [&["doctor", "gemini"][..], &["doctor", "--probe", "gemini"]] {
        let ran = sandbox.run(arguments);
        let expected = "error: Gemini CLI is not installed: no `gemini` in PATH\nhelp: install it: \
                        `npm install -g @google/gemini-cli`\n";
        assert_eq!(ran, Ran::new(1, "", expected));
    }
    let ran = sandbox.run(&["doctor", "gemni"]);
    assert!(ran.stderr.contains("'gemini'"), "{ran:?}");
}

#[test]
fn it_changes_nothing() {
    let sandbox = connected("codex", str::to_owned);
    let before = files(&sandbox.path(".."));
    assert!(before.len() > 5, "{before:?}");
    sandbox.run(&["doctor"]);
    sandbox.run(&["doctor", "codex", "--json"]);
    assert_eq!(files(&sandbox.path("..")), before);
}

/// Every file, with its size and its time.
fn files(folder: &Path) -> BTreeMap<String, (u64, Option<SystemTime>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        let name = path.display().to_string();
        match metadata.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(name, (metadata.len(), metadata.modified().ok()))),
        }
    }
    found
}

#[test]
fn hook_warns_once_in_a_session_if_the_probed_program_is_another_one_now() {
    let sandbox = connected("qwen", str::to_owned);
    let program = sandbox.path("../bin/qwen").canonicalize().unwrap();
    let record = json!({ "version": 1, "program": program, "size": 1, "changed": 0,
        "agent_version": "0.24.4", "at": "2026-01-02T03:04:05Z", "failed": false });
    let state = "../.local/state/hookwright/probes/qwen.json";
    let sandbox = sandbox.file(state, record.to_string());
    let call = |event: &str, session: &str| {
        let sent = json!({ "hook_event_name": event, "session_id": session, "prompt": "go",
            "cwd": sandbox.path(".").canonicalize().unwrap(), "source": "startup",
            "tool_name": "run_shell_command", "tool_input": { "command": "ls" } });
        use std::io::Write;
        let mut command = sandbox.command(&["hook", "qwen"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(sent.to_string().as_bytes()).unwrap();
        Ran::from(child.wait_with_output().unwrap()).stdout
    };
    let notice = "Qwen Code has changed since it was probed (0.24.4, 2026-01-02)";
    let first = call("SessionStart", "one");
    assert!(first.contains(notice) && first.contains("hookwright doctor --probe qwen"), "{first}");
    assert!(!call("UserPromptSubmit", "one").contains(notice));
    assert!(call("UserPromptSubmit", "two").contains(notice));
    // Tool calls are many, and don't look.
    assert!(!call("PreToolUse", "three").contains(notice));
    let ran = sandbox.run(&["doctor", "qwen"]);
    assert!(line(&ran, "  note  probe").contains("has changed since its probe"), "{}", ran.stdout);
    fs::remove_file(sandbox.path(state)).unwrap();
    assert!(!call("SessionStart", "four").contains(notice));
}
