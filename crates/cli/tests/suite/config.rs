//! `hookwright config`: switching hooks on and off.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;

use crate::support::{Ran, Sandbox};

const CONFIG: &str = ".autoagent/config.json";

fn text(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.path(name)).unwrap()
}

// Conformance: autoagent-043, autoagent-045
#[test]
fn commit_and_push_are_added_to_autoagents_file_as_its_specification_writes_them() {
    let before = "{\n  \"logLevel\": \"info\"\n}\n";
    let sandbox = Sandbox::new().file(CONFIG, before);
    assert_eq!(
        sandbox.run(&["config", "set-auto-push", "true"]),
        Ran::new(0, "added a git-push hook at PostExecutionEnd to .autoagent/config.json\n", "")
    );
    assert_eq!(
        sandbox.run(&["config", "set-auto-commit", "true"]),
        Ran::new(0, "added a git-commit hook at PostExecutionEnd to .autoagent/config.json\n", "")
    );
    assert_eq!(
        text(&sandbox, CONFIG),
        r#"{
  "logLevel": "info",
  "hooks": {
    "PostExecutionEnd": [
      {
        "type": "git-commit",
        "message": "Complete issue #{{issueNumber}}: {{issueTitle}}"
      },
      {
        "type": "git-push",
        "remote": "origin"
      }
    ]
  }
}
"#
    );
    let ran = sandbox.run(&["list"]);
    assert_eq!(ran.code, 0);
    for (word, kind) in [("set-auto-commit", "git-commit"), ("set-auto-push", "git-push")] {
        let said =
            format!("removed the {kind} hook at PostExecutionEnd from .autoagent/config.json\n");
        assert_eq!(sandbox.run(&["config", word, "false"]), Ran::new(0, &said, ""));
    }
    assert_eq!(text(&sandbox, CONFIG), before);
}

#[test]
fn without_that_file_it_is_the_native_one_which_is_made_if_it_is_not_there() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["config", "set-auto-commit", "true"]);
    let said = "added a git-commit hook at execution:post_end to hookwright.yaml\n";
    assert_eq!(ran, Ran::new(0, said, ""));
    sandbox.run(&["config", "set-auto-push", "true"]);
    assert_eq!(
        text(&sandbox, "hookwright.yaml"),
        r#"version: 1
hooks:
  execution:post_end:
    - type: git-commit
      message: "Complete issue #${ISSUE_NUMBER}: ${ISSUE_TITLE}"
      await: true
    - type: git-push
      remote: origin
      await: true
"#
    );
    let checked = Ran::new(0, "1 file checked, 2 hooks, no faults\n", "");
    assert_eq!(sandbox.run(&["check", "--strict"]), checked);
    sandbox.run(&["config", "set-auto-commit", "false"]);
    sandbox.run(&["config", "set-auto-push", "false"]);
    assert_eq!(text(&sandbox, "hookwright.yaml"), "version: 1\n");
}

#[test]
fn comments_and_layout_of_yaml_stay() {
    let before =
        "# ours\nhooks:\n    Stop:   # the end\n    - {command: 'true'}\n\n\nmodel:  opus\n";
    let sandbox = Sandbox::with_hooks(before).inside("sub/folder");
    let said = "added a git-push hook at execution:post_end to ~/project/hookwright.yaml\n";
    assert_eq!(sandbox.run(&["config", "set-auto-push", "true"]), Ran::new(0, said, ""));
    assert_eq!(
        text(&sandbox, "../../hookwright.yaml"),
        "# ours\nhooks:\n    Stop:   # the end\n    - {command: 'true'}\n    execution:post_end:\n    \
         - type: git-push\n      remote: origin\n      await: true\n\n\nmodel:  opus\n"
    );
    sandbox.run(&["config", "set-auto-push", "false"]);
    assert_eq!(text(&sandbox, "../../hookwright.yaml"), before);
}

#[test]
fn global_means_the_users_file_autoagents_if_it_is_there() {
    let sandbox = Sandbox::new().file("../.autoagent/config.json", "{}").file(CONFIG, "{}");
    let ran = sandbox.run(&["config", "set-auto-push", "true", "--global"]);
    let said = "added a git-push hook at PostExecutionEnd to ~/.autoagent/config.json\n";
    assert_eq!(ran, Ran::new(0, said, ""));
    assert_eq!(text(&sandbox, CONFIG), "{}");
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["config", "set-auto-push", "true", "--global"]);
    let said = "added a git-push hook at execution:post_end to ~/.config/hookwright/hooks.yaml\n";
    assert_eq!(ran, Ran::new(0, said, ""));
    assert_eq!(
        text(&sandbox, "../.config/hookwright/hooks.yaml"),
        "version: 1\nhooks:\n  execution:post_end:\n    - type: git-push\n      remote: origin\n      await: \
         true\n"
    );
}

#[test]
fn what_is_so_already_is_said_and_nothing_is_written() {
    let hooks = "{\"hooks\": {\"PostExecutionEnd\":\n  [{\"type\": \"git-commit\", \"message\": \"mine\"}]}}";
    let sandbox = Sandbox::new().file(CONFIG, hooks);
    let said =
        "nothing to do: .autoagent/config.json:2 has a git-commit hook at PostExecutionEnd\n";
    assert_eq!(sandbox.run(&["config", "set-auto-commit", "true"]), Ran::new(0, said, ""));
    let said = "nothing to do: .autoagent/config.json has no git-push hook at PostExecutionEnd\n";
    assert_eq!(sandbox.run(&["config", "set-auto-push", "false"]), Ran::new(0, said, ""));
    assert_eq!(text(&sandbox, CONFIG), hooks);
    let sandbox = Sandbox::new();
    let said = "nothing to do: hookwright.yaml has no git-commit hook at execution:post_end\n";
    assert_eq!(sandbox.run(&["config", "set-auto-commit", "false"]), Ran::new(0, said, ""));
    assert!(!sandbox.path("hookwright.yaml").exists());
}

// Conformance: autoagent-041
#[test]
fn each_issue_is_committed_and_pushed_before_the_next_one_begins() {
    let agent = "git rev-list --count origin/main >> ../seen; touch work-$ISSUE_NUMBER";
    let plan = format!(
        "prompt: Work.\nagent: {{command: '{agent}'}}\ntermination: {{type: queue, source: {{issues: \
         issues/}}}}\n"
    );
    let sandbox = Sandbox::new()
        .file("loop.yaml", plan)
        .file("issues/1-one.md", "# One\n")
        .file("issues/2-two.md", "# Two\n")
        .file("issues/3-three.md", "# Three\n")
        .file("../.gitconfig", "[user]\nname = Me\nemail = me@example.com\n");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(sandbox.path("")).env("HOME", sandbox.path(".."));
        let output = git.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for word in ["set-auto-commit", "set-auto-push"] {
        assert_eq!(sandbox.run(&["config", word, "true"]).code, 0);
    }
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=first"]);
    git(&["init", "--quiet", "--bare", "--initial-branch=main", "../remote.git"]);
    git(&["remote", "add", "origin", "../remote.git"]);
    git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    let ran = sandbox.run(&["run", "loop.yaml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(text(&sandbox, "../seen"), "1\n2\n3\n");
    assert_eq!(
        git(&["--git-dir=../remote.git", "log", "--reverse", "--format=%s", "main"]),
        "first\nComplete issue #1: One\nComplete issue #2: Two\nComplete issue #3: Three\n"
    );
}

#[test]
fn a_git_hook_that_is_there_and_runs_in_the_background_is_named() {
    let hook =
        |more: &str| format!("hooks:\n  execution:post_end:\n    - {{type: git-push{more}}}\n");
    for (more, is_named) in [
        ("", true),
        (", await: false", true),
        (", await: true", false),
        (", on_failure: abort", false),
    ] {
        let sandbox = Sandbox::with_hooks(&hook(more));
        let ran = sandbox.run(&["config", "set-auto-push", "true"]);
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.starts_with("nothing to do: hookwright.yaml:3 has a git-push hook"));
        let note = "note: this hook runs in the background, at the same time as other git hooks \
             and the next piece of work; to avoid that, add `await: true` to it\n";
        assert_eq!(ran.stderr, if is_named { note } else { "" }, "{more}");
    }
}

#[test]
fn programs_read_json() {
    let sandbox = Sandbox::new().file(CONFIG, "{}\n");
    let (code, said) = sandbox.json(&["config", "set-auto-commit", "true", "--json"]);
    let expected = json!({
        "version": 1, "file": ".autoagent/config.json", "event": "PostExecutionEnd",
        "type": "git-commit", "on": true, "changed": true,
    });
    assert_eq!((code, said), (0, expected));
    let (_, said) = sandbox.json(&["config", "set-auto-commit", "true", "--json"]);
    assert_eq!(said["changed"], false);
}

#[test]
fn a_file_that_cannot_be_read_or_edited_is_one_clear_error_and_stays() {
    for (content, said) in [
        (
            "{\n  \"hooks\": {,}\n}\n",
            "error: the file cannot be edited: expected a key in double quotes but found `,`\n --> \
             .autoagent/config.json:2:13\nhelp: nothing was changed; fix the file first: \
             `hookwright check` shows what is wrong\n",
        ),
        (
            "{\"hooks\": []}\n",
            "error: the file cannot be edited without changing more than the hook\n --> \
             .autoagent/config.json\nhelp: nothing was changed; edit `{\"type\":\"git-commit\",\"message\":\"Complete issue \
             #{{issueNumber}}: {{issueTitle}}\"}` at PostExecutionEnd yourself\n",
        ),
    ] {
        let sandbox = Sandbox::new().file(CONFIG, content);
        assert_eq!(sandbox.run(&["config", "set-auto-commit", "true"]), Ran::new(1, "", said));
        assert_eq!(text(&sandbox, CONFIG), content);
    }
    let sandbox = Sandbox::new().file(CONFIG, b"\xff{}");
    let said = "error: the file cannot be edited: the file is not UTF-8 text (byte 0)\n --> \
                .autoagent/config.json\nhelp: nothing was changed; fix the file first: \
                `hookwright check` shows what is wrong\n";
    assert_eq!(sandbox.run(&["config", "set-auto-commit", "true"]), Ran::new(1, "", said));
}

#[test]
fn a_read_only_file_stays_as_it_is() {
    let sandbox = Sandbox::new().file(CONFIG, "{}\n");
    fs::set_permissions(sandbox.path(CONFIG), PermissionsExt::from_mode(0o444)).unwrap();
    let ran = sandbox.run(&["config", "set-auto-commit", "true"]);
    let said = "error: the file cannot be written: it is read-only\n --> .autoagent/config.json\nhelp: \
                nothing was changed; make the file and its folder writable\n";
    assert_eq!(ran, Ran::new(1, "", said));
    assert_eq!(text(&sandbox, CONFIG), "{}\n");
}

#[test]
fn a_link_stays_a_link_and_the_files_mode_stays() {
    let sandbox =
        Sandbox::new().file("../dotfiles/autoagent.json", "{}\n").file(".autoagent/x", "");
    symlink("../../dotfiles/autoagent.json", sandbox.path(CONFIG)).unwrap();
    let target = sandbox.path("../dotfiles/autoagent.json");
    fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!(sandbox.run(&["config", "set-auto-push", "true"]).code, 0);
    assert!(fs::symlink_metadata(sandbox.path(CONFIG)).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::read_to_string(&target).unwrap().contains("git-push"));
    let left: Vec<_> = fs::read_dir(sandbox.path("../dotfiles")).unwrap().collect();
    assert_eq!(left.len(), 1, "no draft is left behind");
}

#[test]
fn first_hooks_of_a_project_say_that_the_users_no_longer_count() {
    let hooks = r#"{"hooks": {"Stop": [{"type": "command", "command": "true"}]}}"#;
    let sandbox = Sandbox::new().file("../.autoagent/config.json", hooks).file(CONFIG, "{}\n");
    let ran = sandbox.run(&["config", "set-auto-push", "true"]);
    let note = "note: the hooks of ~/.autoagent/config.json no longer run in this project: a project's own hooks replace them\n";
    assert_eq!(ran.stderr, note);
    assert_eq!(sandbox.run(&["config", "set-auto-commit", "true"]).stderr, "");
    assert_eq!(sandbox.run(&["config", "set-auto-push", "false"]).stderr, "");
    let note = "note: the hooks of ~/.autoagent/config.json run \
                again: a project's own hooks replace them\n";
    assert_eq!(sandbox.run(&["config", "set-auto-commit", "false"]).stderr, note);
}

#[test]
fn only_true_and_false_are_words_for_it() {
    for word in ["yes", "TRUE", "1", ""] {
        let ran = Sandbox::new().run(&["config", "set-auto-commit", word]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{word}");
    }
}

// Conformance: autoagent-046
#[test]
fn commit_and_push_are_hooks_and_no_options_of_run() {
    let sandbox = Sandbox::new().file("loop.yaml", "prompt: p\nagent: {command: touch worked}\n");
    for option in ["--commit", "--push"] {
        let ran = sandbox.run(&["run", "loop.yaml", option]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("unexpected argument '{option}'")), "{}", ran.stderr);
    }
    assert!(!sandbox.path("worked").exists());
}
