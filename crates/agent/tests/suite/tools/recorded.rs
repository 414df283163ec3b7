//! Responses beside those of Claude Code's tools, recorded from its hooks (`tests/recordings/tools`) by
//! `cargo xtask peers --record-tools`. Version 2.1.325 has no Glob and no Grep, so those are from 2.0.76.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::Bench;

const RECORDED: &str = include_str!("../../recordings/tools/session.jsonl");
const THEIR_ROOT: &str = "/home/user/project";

#[test]
fn responses_are_those_of_the_tools_that_scripts_are_written_for() {
    let bench = Bench::new();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/tools/project");
    let copied = Command::new("cp").arg("-r").arg(project.join(".")).arg(bench.root()).status();
    assert!(copied.unwrap().success());
    let root = bench.root().to_string_lossy().into_owned();
    let mut tools = BTreeSet::new();
    for line in RECORDED.lines() {
        let recorded: Value = serde_json::from_str(&line.replace(THEIR_ROOT, &root)).unwrap();
        let tool = recorded["tool_name"].as_str().unwrap().to_lowercase();
        let (response, _) = bench.ran(&tool, recorded["tool_input"].clone());
        let theirs = recorded["tool_response"].clone();
        let input = &recorded["tool_input"];
        match tool.as_str() {
            // They mix both outputs, and a command that fails has no response there.
            "bash" => {
                let theirs = keys(&theirs).into_iter().chain(["exitCode".to_owned()]).collect();
                assert_eq!(keys(&response), theirs, "{input}");
            }
            "glob" => {
                assert_eq!(keys(&response), keys(&theirs), "{input}");
                assert_eq!(sorted(&response["filenames"]), sorted(&theirs["filenames"]));
            }
            // They write the whole path of a line of context, and of no other line.
            "grep" => {
                let mut theirs = theirs;
                if let Some(content) = theirs["content"].as_str() {
                    theirs["content"] = json!(content.replace(&format!("{root}/"), ""));
                }
                assert_eq!(response, theirs, "{input}");
            }
            _ => assert_eq!(response, theirs, "{input}"),
        }
        tools.insert(tool);
    }
    let all: BTreeSet<String> = bench.tools.iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(tools, all, "a recording of each");
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

fn sorted(names: &Value) -> BTreeSet<&str> {
    names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}
