//! Rules for the whole tree: which crate uses which, and which words may appear where.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::repository;

/// Allowed dependencies. A new one is a line here.
const ARROWS: &[(&str, &[&str])] = &[
    ("hookwright-events", &[]),
    ("hookwright-process", &[]),
    ("hookwright-engine", &["hookwright-events", "hookwright-process"]),
    ("hookwright-config", &["hookwright-engine", "hookwright-events", "hookwright-process"]),
    ("hookwright-dialects", &["hookwright-config", "hookwright-engine", "hookwright-events"]),
    ("hookwright-store", &["hookwright-events"]),
    (
        "hookwright-agents",
        &["hookwright-config", "hookwright-engine", "hookwright-events", "hookwright-process"],
    ),
    ("hookwright-model-script", &[]),
    (
        "hookwright-agent",
        &[
            "hookwright-engine",
            "hookwright-events",
            "hookwright-model-script",
            "hookwright-process",
        ],
    ),
    ("hookwright-model-server", &["hookwright-model-script"]),
    ("hookwright-machine-lab", &[]),
    ("hookwright-postgres-server", &[]),
    (
        "hookwright-pipeline",
        &[
            "hookwright-agents",
            "hookwright-config",
            "hookwright-dialects",
            "hookwright-engine",
            "hookwright-events",
            "hookwright-process",
            "hookwright-store",
        ],
    ),
    (
        "hookwright-server",
        &[
            "hookwright-config",
            "hookwright-engine",
            "hookwright-events",
            "hookwright-pipeline",
            "hookwright-store",
        ],
    ),
    (
        "hookwright",
        &[
            "hookwright-agent",
            "hookwright-agents",
            "hookwright-config",
            "hookwright-dialects",
            "hookwright-engine",
            "hookwright-events",
            "hookwright-model-server",
            "hookwright-pipeline",
            "hookwright-process",
            "hookwright-server",
            "hookwright-store",
        ],
    ),
    ("xtask", &["hookwright-dialects", "hookwright-model-server"]),
];

/// Names of other products, which stop at the alias columns of the tables.
const FOREIGN_NAMES: &[&str] = &[
    "claude",
    "iteratr",
    "autoagent",
    "codex",
    "gemini",
    "opencode",
    "agent-pipelines",
    "agent_pipelines",
    "code-forge",
    "code_forge",
];

/// Too short to search inside other words.
const FOREIGN_WORDS: &[&str] = &["forge"];

/// Files that may have them.
const ALIAS_TABLES: &[&str] = &[
    "crates/events/src/table.rs",
    "crates/events/src/tool.rs",
    "crates/events/src/field.rs",
    "crates/events/src/event.rs",
];

/// Folders about these products.
const ABOUT_OTHERS: &[&str] = &[
    "crates/agent/src/model/anthropic.rs",
    "crates/model-server",
    "crates/agents/src/presets",
    "crates/agents/src/presets.rs",
    "crates/dialects",
    "crates/cli/src/commands/config",
    "crates/cli/src/commands/doctor",
    "crates/cli/src/probe/user_settings.rs",
    "crates/cli/src/commands/help.rs",
    "crates/cli/src/commands/hook",
    "crates/cli/src/config_files.rs",
    "crates/cli/src/env_file.rs",
    "crates/model-server",
];

// Conformance: claude-code-056
#[test]
fn every_arrow_between_crates_is_written_down() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(repository())
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> =
        packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let real: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .map(|package| {
            let name = package["name"].as_str().expect("a name");
            let uses = package["dependencies"]
                .as_array()
                .expect("dependencies")
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .filter_map(|dependency| dependency["name"].as_str())
                .filter(|used| ours.contains(used));
            (name, uses.collect())
        })
        .collect();
    let written: BTreeMap<&str, BTreeSet<&str>> =
        ARROWS.iter().map(|(name, uses)| (*name, uses.iter().copied().collect())).collect();
    assert_eq!(real, written);
}

#[test]
fn no_product_of_others_is_named_outside_the_alias_tables_and_the_dialects() {
    let mut found = Vec::new();
    let mut files = files_below(&repository().join("crates"));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    for path in files {
        let shown = path.strip_prefix(repository()).expect("below").to_owned();
        let in_src = shown.components().nth(2).is_some_and(|part| part.as_os_str() == "src");
        let is_tests = shown.ends_with("tests.rs");
        let is_about_others = ABOUT_OTHERS.iter().any(|folder| shown.starts_with(folder));
        if !in_src
            || is_tests
            || is_about_others
            || ALIAS_TABLES.iter().any(|table| Path::new(table) == shown)
        {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable");
        // Tests are at the end and may name what they imitate.
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let said = line.split("//").next().unwrap_or_default().to_lowercase();
            let names = FOREIGN_NAMES.iter().any(|name| said.contains(name));
            let mut words = said.split(|letter: char| !letter.is_alphanumeric());
            if !names && !words.any(|word| FOREIGN_WORDS.contains(&word)) {
                continue;
            }
            found.push(format!("{}:{}: {}", shown.display(), number + 1, line.trim()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn nothing_points_outside_of_the_repository() {
    // Joined, so that this file does not match itself.
    let neighbours = [concat!("..", "/shared"), concat!("/wo", "rk/")];
    let files = files_in_git().unwrap_or_else(|| files_below(repository()));
    assert!(files.iter().any(|path| path.ends_with("architecture.rs")), "{files:?}");
    let mut found = Vec::new();
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let path = path.strip_prefix(repository()).expect("below").display();
        for (number, line) in text.lines().enumerate() {
            if neighbours.iter().any(|neighbour| begins_a_path(line, neighbour)) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Whether the line has `start` at the beginning of a path: `loops/work/x` has not.
fn begins_a_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "_~.-/}".contains(letter))
    })
}

/// Files that git tracks or would add; `None` without git.
fn files_in_git() -> Option<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(repository())
        .output()
        .ok()?;
    let names = String::from_utf8(output.stdout).ok()?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    output.status.success().then(|| names.map(|name| repository().join(name)).collect())
}

/// All files below a folder, except build output and git's own.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_name() == "target" || entry.file_name() == ".git" {
            continue;
        }
        if entry.file_type().expect("a type").is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}
