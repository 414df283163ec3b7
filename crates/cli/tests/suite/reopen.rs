//! `hookwright reopen` with several folders of issues.

use serde_json::json;

use crate::support::{Ran, Sandbox};

/// Two folders with a failed issue 1 each.
fn two_folders() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for folder in ["bugs", "issues"] {
        sandbox = sandbox.file(&format!("{folder}/1-a.md"), format!("# One of the {folder}\n")).file(
            &format!("{folder}.yaml"),
            format!(
                "prompt: p\nagent: {{command: exit 1}}\ntermination: {{type: queue, source: {{issues: {folder}}}}}\n"
            ),
        );
        let ran = sandbox.run(&["run", &format!("{folder}.yaml")]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }
    sandbox
}

fn states(sandbox: &Sandbox) -> Vec<String> {
    let (_, status) = sandbox.json(&["status", "--json"]);
    let issues = status["work"]["issues"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    issues.map(|issue| format!("{} {}", text(&issue["folder"]), text(&issue["state"]))).collect()
}

#[test]
fn the_folder_says_which_of_several_issues_is_meant() {
    let sandbox = two_folders();
    assert_eq!(states(&sandbox), ["bugs failed", "issues failed"]);
    assert_eq!(
        sandbox.run(&["reopen", "1"]),
        Ran::new(
            1,
            "",
            "error: several folders have an issue 1: bugs, issues\nhelp: choose one with `--folder bugs`\n"
        )
    );
    assert_eq!(states(&sandbox), ["bugs failed", "issues failed"]);
    assert_eq!(
        sandbox.run(&["reopen", "1", "--folder", "./issues/"]),
        Ran::new(0, "issue 1 is open again, it was failed: One of the issues\n", "")
    );
    assert_eq!(states(&sandbox), ["bugs failed", "issues open"]);
    let (code, reopened) = sandbox.json(&["reopen", "1", "--folder", "bugs", "--json"]);
    let bug = json!({ "item": "issue 1", "was": "failed", "title": "One of the bugs" });
    assert_eq!((code, reopened), (0, json!({ "version": 1, "reopened": [bug] })));
    assert_eq!(states(&sandbox), ["bugs open", "issues open"]);
}

#[test]
fn a_folder_without_such_an_issue_has_none() {
    let ran = two_folders().run(&["reopen", "1", "--folder", "nowhere"]);
    let said = "error: there is no issue 1 in this project\nhelp: there are 2 issues; `hookwright status` lists them\n";
    assert_eq!(ran, Ran::new(1, "", said));
}
