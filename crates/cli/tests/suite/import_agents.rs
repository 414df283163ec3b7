//! `hookwright import` of the hook files of agents. A case is a folder without Rust:
//!
//! ```text
//! tests/imports/<agent>/<case>/
//!     home/…       the project's files; `import` reads the only one
//!     about.md     what the case is about
//!     printed      the exit code, standard output and standard error
//! ```
//!
//! `HOOKWRIGHT_UPDATE=1` rewrites `printed`; review the difference like code. What is printed on
//! standard output has to be a file that `hookwright check` has nothing to say about.

use std::fs;
use std::path::{Path, PathBuf};

use crate::hook_claude::trust;
use crate::hook_hosts::{call, is_denied, sent};
use crate::support::{Sandbox, repository};

fn folder() -> PathBuf {
    repository().join("crates/cli/tests/imports")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// The only file below a folder.
fn only_file(folder: &Path) -> PathBuf {
    match &sorted(folder)[..] {
        [one] if one.is_dir() => only_file(one),
        [one] => one.clone(),
        other => panic!("{other:?}"),
    }
}

fn difference(case: &Path) -> Option<String> {
    let project = case.join("home");
    let file = only_file(&project);
    let name = file.strip_prefix(&project).unwrap().to_str().unwrap();
    let sandbox = Sandbox::new().file(name, fs::read(&file).unwrap());
    let ran = sandbox.run(&["import", name]);
    let printed = format!("exit code {}\n\n{}\n---\n{}", ran.code, ran.stdout, ran.stderr);
    if !ran.stdout.is_empty() {
        fs::write(sandbox.path("hookwright.yaml"), &ran.stdout).unwrap();
        let checked = sandbox.run(&["check"]);
        assert_eq!(checked.code, 0, "{}: {checked:?}\n{}", case.display(), ran.stdout);
    }
    let expected = case.join("printed");
    if std::env::var_os("HOOKWRIGHT_UPDATE").is_some() {
        fs::write(&expected, &printed).unwrap();
    }
    let expected = fs::read_to_string(&expected).unwrap_or_default();
    (printed != expected).then(|| format!("{}:\n{printed}", case.display()))
}

#[test]
fn every_agents_file_is_imported_as_its_case_says() {
    let agents = sorted(&folder());
    let names: Vec<&str> = agents.iter().filter_map(|agent| agent.file_name()?.to_str()).collect();
    assert_eq!(names, ["codex", "copilot", "droid", "gemini", "qwen"]);
    let cases = agents.iter().flat_map(|agent| sorted(agent));
    let differences: Vec<String> = cases.filter_map(|case| difference(&case)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_file_with_another_name_is_read_as_the_agent_that_is_named() {
    let hooks = r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true",
        "timeout": 1500}]}]}}"#;
    let sandbox = Sandbox::new().file("mine.json", hooks);
    let ran = sandbox.run(&["import", "mine.json"]);
    assert!(ran.code == 1 && ran.stderr.contains("|gemini|"), "{ran:?}");
    let ran = sandbox.run(&["import", "mine.json", "--dialect", "gemini"]);
    assert!(ran.code == 0 && ran.stdout.contains("timeout: 1.5\n"), "{ran:?}");
}

#[test]
fn a_file_that_an_agent_runs_is_not_replaced() {
    let hooks =
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let sandbox = Sandbox::new().file(".codex/hooks.json", hooks);
    let ran = sandbox.run(&["import", ".codex/hooks.json", "--replace"]);
    assert!(ran.code == 1 && ran.stderr.contains("the agent reads this file itself"), "{ran:?}");
    assert!(!sandbox.path("hookwright.yaml").exists());
}

#[test]
fn no_other_command_reads_the_files_of_agents() {
    let hooks =
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let sandbox = Sandbox::with_hooks("hooks: {}");
    let sandbox = [".codex/hooks.json", ".qwen/settings.json", ".gemini/settings.json"]
        .into_iter()
        .fold(sandbox, |sandbox, name| sandbox.file(name, hooks));
    let listed = sandbox.run(&["list"]);
    assert!(!listed.stdout.contains("true"), "{listed:?}");
}

#[test]
fn an_imported_guard_denies_in_its_agent_as_before() {
    let guard = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command",
        "command": "read -r line; case $line in *'\"command\":\"echo hello\"'*) echo not hello >&2; exit 2;; esac"}]}]}}"#;
    for (host, file, case) in [
        ("codex", ".codex/hooks.json", "03-PreToolUse-Bash"),
        ("qwen", ".qwen/settings.json", "05-PreToolUse-run_shell_command"),
        ("droid", ".factory/settings.json", "02-PreToolUse-Execute"),
    ] {
        let sandbox = Sandbox::new().file(file, guard);
        let imported = sandbox.run(&["import", file]);
        assert_eq!(imported.code, 0, "{imported:?}");
        let sandbox = trust(sandbox.file("hookwright.yaml", &imported.stdout));
        let ran = call(&sandbox, host, &sent(&sandbox, host, case));
        assert!(is_denied(&ran, "not hello"), "{host}: {ran:?}\n{}", imported.stdout);
    }
}
