//! Guards that people copy: those of the documentation, the templates and the examples. Each runs
//! with harmless calls, which no guard may block.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::docs::{blocks, copy};
use crate::support::{Sandbox, examples, repository};

/// Where each system reads its hooks, by the page that shows them.
const FILES: &[(&str, &str, &str)] = &[
    ("dialects/claude.md", "json", ".claude/settings.json"),
    ("dialects/code-forge.md", "json", ".forge/hooks.json"),
    ("dialects/iteratr.md", "yaml", ".iteratr.hooks.yml"),
];

/// A project with guards, their origin, and the name of its file.
struct Written {
    place: String,
    sandbox: Sandbox,
    named: &'static [&'static str],
}

/// The file name for a block of YAML, and its option.
fn kind(block: &str) -> (&'static str, &'static [&'static str]) {
    let has = |key: &str| block.lines().any(|line| line.starts_with(key));
    match (has("stages:"), has("prompt:")) {
        (true, _) => ("pipeline.yaml", &["--config", "pipeline.yaml"]),
        (_, true) => ("loop.yaml", &["--config", "loop.yaml"]),
        _ => ("hookwright.yaml", &[]),
    }
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md")];
    for folder in ["docs", "docs/dialects"] {
        let entries = fs::read_dir(repository().join(folder)).unwrap();
        pages.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    pages.sort();
    pages
}

fn of_page(page: &Path) -> Vec<Written> {
    let text = fs::read_to_string(page).unwrap();
    let named = |(name, _, _): &&(&str, &str, &str)| page.ends_with(name);
    let foreign = FILES.iter().find(named);
    let language = foreign.map_or("yaml", |(_, language, _)| *language);
    let has_hooks = |block: &&str| {
        block.contains("\"hooks\"") || block.lines().any(|line| line.starts_with("hooks:"))
    };
    let written = |block: &str| {
        let (file, named) = foreign.map_or_else(|| kind(block), |(_, _, file)| (*file, &[][..]));
        let sandbox = Sandbox::new().file(file, block);
        // The scripts that pages name are those of this example.
        copy(&repository().join("examples/block-sudo/guards"), &sandbox.path("guards"));
        let place = page.file_name().unwrap().to_string_lossy().into_owned();
        Written { place, sandbox, named }
    };
    blocks(&text, language).into_iter().filter(has_hooks).map(written).collect()
}

fn of_templates() -> Vec<Written> {
    let (_, listed) = Sandbox::new().json(&["template", "list", "--json"]);
    let names = listed["templates"].as_array().unwrap().iter();
    let names = names.map(|template| template["name"].as_str().unwrap().to_owned());
    let written = |name: String| {
        let shown = Sandbox::new().run(&["template", "show", &name]).stdout;
        let sandbox = Sandbox::with_hooks(&format!("hooks:\n{shown}"));
        Written { place: format!("template {name}"), sandbox, named: &[] }
    };
    names.map(written).collect()
}

fn of_examples() -> Vec<Written> {
    let written = |folder: PathBuf| {
        let sandbox = Sandbox::new();
        copy(&folder, &sandbox.path("."));
        Written { place: folder.display().to_string(), sandbox, named: &[] }
    };
    examples().into_iter().map(written).collect()
}

/// Calls that must not be blocked.
fn harmless() -> Vec<(&'static str, Value)> {
    let call = |tool: &str, input: Value| {
        json!({ "session_id": "1", "transcript_path": "", "tool_use_id": "1", "tool_name": tool,
            "tool_input": input })
    };
    vec![
        ("tool:pre_execute", call("Bash", json!({ "command": "ls -l" }))),
        ("tool:pre_execute", call("Write", json!({ "file_path": "a.txt", "content": "a" }))),
        ("tool:pre_execute", call("Read", json!({ "file_path": "a.txt" }))),
        ("user:prompt_submit", json!({ "prompt": "go on" })),
    ]
}

#[test]
fn no_guard_that_we_show_blocks_a_harmless_call() {
    let pages = pages();
    let of_pages = pages.iter().flat_map(|page| of_page(page));
    let mut looked = Vec::new();
    for Written { place, sandbox, named } in of_pages.chain(of_templates()).chain(of_examples()) {
        let (_, listed) = sandbox.json_and_talk(&[&["list", "--json"], named].concat());
        let hooks = listed["hooks"].as_array().cloned().unwrap_or_default();
        // Webhooks would leave the machine, and questions need a person.
        let leaves = hooks.iter().filter(|hook| hook["type"] == "webhook");
        let skip =
            leaves.flat_map(|hook| ["--skip".to_owned(), hook["id"].as_str().unwrap().to_owned()]);
        let skip: Vec<String> = skip.collect();
        for (event, data) in harmless() {
            let data = data.to_string();
            let mut arguments = [&["fire", event, "--json", "--data", &data], named].concat();
            arguments.extend(skip.iter().map(String::as_str));
            let (_, fired) = sandbox.json_and_talk(&arguments);
            let decision = fired["decision"].as_str().unwrap_or("none");
            assert!(!["block", "deny", "ask", "stop"].contains(&decision), "{place}: {fired}");
            let ran = fired["hooks"].as_array().cloned().unwrap_or_default();
            looked.extend(ran.iter().map(|hook| format!("{place}: {}", hook["id"])));
        }
    }
    // Guards did run, including those of the pages.
    for (place, id) in [
        ("README.md", "no-sudo"),
        ("claude-code.md", "no-sudo"),
        ("claude.md", "settings/PreToolUse#0"),
        ("tutorial.md", "no-curl-into-shell"),
        ("testing.md", "no-force-push"),
        ("template block-sudo", "block-sudo"),
    ] {
        assert!(looked.contains(&format!("{place}: {:?}", id)), "{place} {id}: {looked:?}");
    }
}
