//! Rules of `rule.rs`.

use serde_json::json;

use super::*;

fn call(tool: &str, input: serde_json::Value) -> Event {
    let data = json!({ "tool_name": tool, "tool_input": input, "cwd": "/srv/app" });
    Event::named("PreToolUse", data).unwrap()
}

fn fits(rule: &str, event: &Event) -> bool {
    Rule::parse(rule, Some("/home/me")).unwrap_or_else(|| panic!("{rule} is a rule")).fits(event)
}

#[test]
fn a_command_fits_if_any_of_its_subcommands_does() {
    for command in [
        "git push",
        "git",
        "  git   push  ",
        "cd x && git push",
        "ls; git push",
        "ls | git apply",
        "ls & git push",
        "ls\ngit push",
        "A=1 B='x y' git push",
        "echo $(git log)",
        "echo \"$(git log)\"",
        "echo `git log`",
        "(git push)",
        "if true; then git push; fi",
        "{ git push; }",
        "! git push",
        "time git push",
        "g\\it push",
        "g'i't push",
        "\"git\" push",
        "gi\\\nt push",
        "x=$(cd $(git rev-parse))",
        "diff <(git show) x",
        "ls 2>&1 && git push",
        "ls &>log; git push",
        "echo a # comment\ngit push",
    ] {
        assert!(fits("Bash(git *)", &call("Bash", json!({ "command": command }))), "{command}");
    }
    for command in [
        "ls",
        "gitk",
        "echo git push",
        "echo 'git push'",
        "echo \"; git push\"",
        "echo '$(git log)'",
        "echo a # ; git push",
        "echo \\; git",
        "",
    ] {
        assert!(!fits("Bash(git *)", &call("Bash", json!({ "command": command }))), "{command}");
    }
}

#[test]
fn a_command_that_cannot_be_read_fits() {
    let deep = format!("{}ls{}", "$(".repeat(40), ")".repeat(40));
    for command in ["echo 'open", "echo \"open", "echo $(open", "cat <<EOF\nx\nEOF", "ls )", &deep]
    {
        assert!(fits("Bash(git *)", &call("Bash", json!({ "command": command }))), "{command}");
    }
    assert!(fits("Bash(git *)", &call("Bash", json!({}))));
    assert!(!fits("Bash(git *)", &call("Bash", json!({ "command": "cat <<< x" }))));
}

#[test]
fn commands_are_compared_whole_by_their_beginning_or_with_stars() {
    for (rule, command, wanted) in [
        ("Bash", "anything", true),
        ("Bash()", "anything", true),
        ("Bash(*)", "anything", true),
        ("Bash(npm run test:*)", "npm run test -- x", true),
        ("Bash(npm run test:*)", "npm run test", true),
        ("Bash(npm run test:*)", "npm run testing", false),
        ("Bash(ls)", "ls", true),
        ("Bash(ls)", "ls -l", false),
        ("Bash(git * main)", "git push origin main", true),
        ("Bash(git * main)", "git push origin dev", false),
        ("Bash(* --force)", "git push --force", true),
        ("Bash(rm*)", "rmdir x", true),
        ("Bash(a.c)", "abc", false),
    ] {
        assert_eq!(fits(rule, &call("Bash", json!({ "command": command }))), wanted, "{rule}");
    }
}

#[test]
fn paths_are_compared_as_a_gitignore_would() {
    for (rule, path, wanted) in [
        ("Edit(*.ts)", "/srv/app/src/a.ts", true),
        ("Edit(*.ts)", "src/a.ts", true),
        ("Edit(*.ts)", "/srv/app/a.tsx", false),
        ("Edit(src/**)", "/srv/app/src/deep/a.rs", true),
        ("Edit(src/**)", "/other/src/a.rs", false),
        ("Edit(./src/*.rs)", "/srv/app/src/a.rs", true),
        ("Edit(./src/*.rs)", "/srv/app/src/deep/a.rs", false),
        ("Edit(/src)", "/srv/app/src/deep/a.rs", true),
        ("Edit(//etc/**)", "/etc/passwd", true),
        ("Edit(//etc/**)", "/srv/app/etc/passwd", false),
        ("Edit(//srv/app/x)", "x", true),
        ("Edit(~/.ssh/**)", "/home/me/.ssh/id", true),
        ("Edit(~/.ssh/**)", "/home/you/.ssh/id", false),
        ("Edit(.env)", "./.env", true),
        ("Edit(a?c/)", "/srv/app/abc/x", true),
        ("Edit(**/secret/*)", "/srv/app/a/b/secret/x", true),
        ("Edit(src/**)", "/srv/app/other/../src/a", true),
    ] {
        let event = call("Edit", json!({ "file_path": path }));
        assert_eq!(fits(rule, &event), wanted, "{rule} {path}");
    }
    let data = json!({ "tool_name": "Edit", "tool_input": { "file_path": "/x" } });
    let nowhere = Event::named("PreToolUse", data).unwrap();
    assert!(fits("Edit(src/x)", &nowhere), "its working directory is unknown");
    assert!(
        Rule::parse("Edit(~/x)", None).unwrap().fits(&call("Edit", json!({ "file_path": "/h/x" })))
    );
}

#[test]
fn other_tools_are_compared_by_their_own_input() {
    let fetch = |url: &str| call("WebFetch", json!({ "url": url }));
    assert!(fits("WebFetch(domain:Example.com)", &fetch("https://u@example.com:1/x?y")));
    assert!(fits("WebFetch(domain:example.com)", &fetch("https://api.example.com/")));
    assert!(!fits("WebFetch(domain:example.com)", &fetch("https://badexample.com/")));
    assert!(fits("WebFetch(domain:example.com)", &fetch("no address")));
    assert!(fits("WebFetch(other)", &fetch("https://x")));
    let agent = call("task", json!({ "subagent_type": "reviewer" }));
    assert!(fits("Agent(reviewer)", &agent) && fits("Task(reviewer)", &agent));
    assert!(!fits("Agent(writer)", &agent));
    assert!(fits("Skill(x)", &call("Skill", json!({}))));
}

#[test]
fn a_rule_is_about_its_own_tool_and_those_that_share_its_rules() {
    for (rule, tool, wanted) in [
        ("Bash", "bash", true),
        ("Bash", "Read", false),
        ("Edit", "Write", true),
        ("Edit", "NotebookEdit", true),
        ("Write", "Edit", false),
        ("Read", "Grep", true),
        ("Read", "Edit", false),
        ("mcp__github", "mcp__github__create", true),
        ("mcp__github", "mcp__githubby__create", false),
        ("mcp__github__*", "mcp__github__create", true),
        ("mcp__github__create", "mcp__github__create", true),
    ] {
        assert_eq!(fits(rule, &call(tool, json!({}))), wanted, "{rule} {tool}");
    }
    let nameless = Event::named("PreToolUse", json!({})).unwrap();
    assert!(fits("Bash", &nameless));
}

#[test]
fn invalid_rules_are_refused() {
    for text in ["", "*", "(x)", "Bash(", "Bash(x", "Ba*", "Bash Edit", "Bash|Edit", "Bash)x("] {
        assert!(Rule::parse(text, None).is_none(), "{text}");
    }
}
