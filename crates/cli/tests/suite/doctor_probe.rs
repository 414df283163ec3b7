//! `hookwright doctor --probe` around the agent: which home and environment it gets, what is ended
//! afterwards, and that an agent which obeys nothing proves nothing. The agents here are scripts; real
//! ones are probed by `cargo xtask peers --probe`.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts;
use serde_json::{Value, json};

use crate::support::Sandbox;

/// A home with a Codex that keeps what it sees in `~/seen/NUMBER`: its environment, its arguments, its
/// home, and the number of a process that it leaves behind.
fn with_codex(rest: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new().file("../seen/README", "");
    let seen = sandbox.path("../seen").canonicalize().unwrap();
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo codex-cli 0.166.0; exit; fi\n\
         seen={}/$$\nmkdir $seen\nenv > $seen/env\nprintf '%s\\n' \"$@\" > $seen/arguments\n\
         cp -r \"$HOME/.codex\" $seen/codex\nsleep 98765 > /dev/null 2>&1 &\necho $! > $seen/left\n{rest}\n",
        seen.display()
    );
    let sandbox = sandbox.program("../bin/codex", &script);
    let bin = sandbox.path("../bin").canonicalize().unwrap();
    (sandbox.set("PATH", &format!("{}:/usr/bin:/bin", bin.display())), seen)
}

/// The user's settings, with everything that must stay with the user.
fn with_settings(sandbox: Sandbox) -> Sandbox {
    let program = env!("CARGO_BIN_EXE_hookwright");
    let mut settings: Value =
        serde_json::from_str(&hosts::named("codex").unwrap().files(program)[0].text).unwrap();
    let theirs = json!({ "hooks": [{ "type": "command", "command": "/theirs/hook.sh" }] });
    settings["hooks"]["PreToolUse"].as_array_mut().unwrap().push(theirs);
    let home = sandbox.path("..").canonicalize().unwrap();
    let config = format!(
        "model_provider = \"company\"\n[model_providers.company]\nenv_key = \"SECRET_KEY\"\n\
         [mcp_servers.theirs]\ncommand = \"/theirs/server\"\n\
         [hooks.state.\"{}/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:abc\"\n",
        home.display()
    );
    sandbox
        .file("../.codex/hooks.json", settings.to_string())
        .file("../.codex/config.toml", config)
        .file("../.codex/auth.json", "{\"token\": \"SECRET_KEY\"}")
}

/// What each run of the agent saw.
fn runs(seen: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(seen).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn an_agent_that_does_nothing_proves_nothing() {
    let (sandbox, seen) = with_codex("exit 0");
    let sandbox = with_settings(sandbox);
    let (code, report) = sandbox.json_and_talk(&["doctor", "--probe", "codex", "--json"]);
    assert_eq!(code, 1);
    assert_eq!((&report["failed"], &report["connected"]), (&json!(true), &json!(true)));
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.len() > 15, "{report:#}");
    for row in rows {
        for seen in [&row["clean"], &row["yours"]] {
            let word = seen.as_str().unwrap_or("-");
            // That a tool does not run without our program needs no model.
            let is_ended = row["check"].as_str().unwrap().starts_with("hookwright is");
            let expected = is_ended || ["not proven", "not heard", "-"].contains(&word);
            assert!(expected, "{row:#}");
        }
    }
    assert!(!runs(&seen).is_empty());
}

#[test]
fn the_agent_gets_an_empty_environment_and_none_of_the_users_credentials_servers_and_hooks() {
    let (sandbox, seen) = with_codex("exit 0");
    let sandbox =
        with_settings(sandbox).set("SECRET_KEY", "secret").set("OPENAI_BASE_URL", "https://x");
    let home = sandbox.path("..").canonicalize().unwrap();
    sandbox.run(&["doctor", "--probe", "codex"]);
    let runs = runs(&seen);
    let mut of_user = 0;
    for run in &runs {
        let environment = read(run, "env");
        for name in ["SECRET_KEY", "OPENAI_BASE_URL"] {
            assert!(!environment.contains(name), "{environment}");
        }
        assert!(!environment.contains(&format!("HOME={}\n", home.display())), "{environment}");
        assert!(environment.contains("HTTPS_PROXY=http://127.0.0.1:9\n"), "{environment}");
        let config = read(run, "codex/config.toml");
        assert!(config.contains("base_url = \"http://127.0.0.1:"), "{config}");
        assert!(!run.join("codex/auth.json").exists());
        for text in [&config, &read(run, "codex/hooks.json")] {
            assert!(!text.contains("theirs") && !text.contains("SECRET_KEY"), "{text}");
            assert!(!text.contains("company"), "{text}");
        }
        // Trust is for the file where it is now.
        let throws_away = environment.lines().find_map(|line| line.strip_prefix("HOME="));
        let key = format!(
            "[hooks.state.\"{}/.codex/hooks.json:pre_tool_use:0:0\"]",
            throws_away.unwrap()
        );
        let is_users = config.contains("hooks.state");
        assert_eq!(config.contains(&key), is_users, "{config}");
        let bypasses = read(run, "arguments").contains("--dangerously-bypass-hook-trust");
        assert_eq!(bypasses, !is_users, "only a home that no person has trusted");
        of_user += usize::from(is_users);
    }
    assert_eq!((runs.len(), of_user), (7, 1));
}

#[test]
fn everything_that_the_agent_started_is_ended_and_its_homes_are_removed() {
    let (sandbox, seen) = with_codex("exit 0");
    sandbox.run(&["doctor", "--probe", "codex"]);
    let runs = runs(&seen);
    assert_eq!(runs.len(), 6, "without settings of the user there are only clean homes");
    for run in runs {
        let left = read(&run, "left");
        // A process that ended and was not collected yet is none.
        let status =
            fs::read_to_string(format!("/proc/{}/status", left.trim())).unwrap_or_default();
        assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
        let environment = read(&run, "env");
        let home = environment.lines().find_map(|line| line.strip_prefix("HOME=")).unwrap();
        assert!(!Path::new(home).exists(), "{home}");
    }
}

#[test]
fn without_settings_that_call_us_it_says_so_and_fails() {
    let (sandbox, _) = with_codex("exit 0");
    let ran = sandbox.run(&["doctor", "--probe", "codex"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.starts_with("Codex 0.166.0 ("), "{}", ran.stdout);
    assert!(ran.stderr.contains("your settings of Codex do not call hookwright"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhelp: "), "{}", ran.stderr);
    // The result is known afterwards, and the program that it is about.
    let ran = sandbox.run(&["doctor", "codex"]);
    assert!(
        ran.stdout.contains("  open  probe       checks failed (0.166.0, 20"),
        "{}",
        ran.stdout
    );
    let program = sandbox.path("../bin/codex");
    fs::write(&program, format!("{}\n# new", fs::read_to_string(&program).unwrap())).unwrap();
    let ran = sandbox.run(&["doctor", "codex"]);
    assert!(ran.stdout.contains("the program has changed since its probe"), "{}", ran.stdout);
}

#[test]
fn a_settings_file_that_cannot_be_read_is_an_error_with_its_place() {
    let (sandbox, seen) = with_codex("exit 0");
    let sandbox = sandbox.file("../.codex/hooks.json", "{\"hooks\" {}}");
    let ran = sandbox.run(&["doctor", "--probe", "codex"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("the settings of Codex cannot be read: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("/.codex/hooks.json"), "{}", ran.stderr);
    assert!(runs(&seen).is_empty());
}
