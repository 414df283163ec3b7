use serde_json::json;

use super::*;

const WORKSPACE: &str = "/srv/app";

fn rules(texts: &[&str]) -> Vec<PermissionRule> {
    let home = Path::new("/home/me");
    texts.iter().map(|text| PermissionRule::parse(text, Some(home)).expect("a rule")).collect()
}

fn permissions(mode: &str, allow: &[&str], ask: &[&str], deny: &[&str]) -> Permissions {
    Permissions {
        mode: PermissionMode::named(mode).expect("a mode"),
        allow: rules(allow),
        ask: rules(ask),
        deny: rules(deny),
        workspace: WORKSPACE.into(),
    }
}

fn bash(command: &str) -> Touches {
    Touches::Command(command.to_owned())
}

fn level(
    permissions: &Permissions,
    tool: &str,
    touches: &Touches,
    hooks: &CallVerdict,
) -> PermissionLevel {
    permissions.judge(JudgedCall { tool, touches }, hooks).level
}

fn is_denied(rule: &str, tool: &str, touches: &Touches) -> bool {
    let permissions = permissions("bypassPermissions", &[], &[], &[rule]);
    level(&permissions, tool, touches, &CallVerdict::NoOpinion) == PermissionLevel::Deny
}

fn is_allowed(rule: &str, tool: &str, touches: &Touches) -> bool {
    let permissions = permissions("default", &[rule], &[], &[]);
    level(&permissions, tool, touches, &CallVerdict::NoOpinion) == PermissionLevel::Allow
}

/// Each row beats all rows below it.
#[test]
fn the_strongest_word_decides() {
    use CallVerdict::{Allow, Ask, Deny, NoOpinion};
    let git = &["bash(git *)"][..];
    let none = &[][..];
    for (mode, allow, ask, deny, hooks, expected) in [
        ("bypassPermissions", git, git, git, Allow, PermissionLevel::Deny),
        ("bypassPermissions", git, git, none, Deny("no".into()), PermissionLevel::Deny),
        ("plan", git, git, none, Allow, PermissionLevel::Deny),
        ("bypassPermissions", git, git, none, Allow, PermissionLevel::Ask),
        ("bypassPermissions", git, none, none, Ask(None), PermissionLevel::Ask),
        ("default", none, none, none, Allow, PermissionLevel::Allow),
        ("default", git, none, none, NoOpinion, PermissionLevel::Allow),
        ("dontAsk", git, none, none, NoOpinion, PermissionLevel::Allow),
        ("dontAsk", git, git, none, NoOpinion, PermissionLevel::Deny),
        ("dontAsk", none, none, none, Ask(None), PermissionLevel::Deny),
        ("dontAsk", none, none, none, NoOpinion, PermissionLevel::Deny),
        ("bypassPermissions", none, none, none, NoOpinion, PermissionLevel::Allow),
        ("acceptEdits", none, none, none, NoOpinion, PermissionLevel::Ask),
        ("default", none, none, none, NoOpinion, PermissionLevel::Ask),
    ] {
        let permissions = permissions(mode, allow, ask, deny);
        let found = level(&permissions, "bash", &bash("git push"), &hooks);
        assert_eq!(found, expected, "{mode} {allow:?} {ask:?} {deny:?} {hooks:?}");
    }
}

#[test]
fn modes_differ_in_what_they_permit_without_a_rule() {
    let read = Touches::Reads("/srv/app/x".into());
    let change = Touches::Changes("/srv/app/x".into());
    for (mode, expected) in [
        ("default", [PermissionLevel::Allow, PermissionLevel::Ask, PermissionLevel::Ask]),
        ("acceptEdits", [PermissionLevel::Allow, PermissionLevel::Allow, PermissionLevel::Ask]),
        ("plan", [PermissionLevel::Allow, PermissionLevel::Deny, PermissionLevel::Deny]),
        ("dontAsk", [PermissionLevel::Allow, PermissionLevel::Deny, PermissionLevel::Deny]),
        (
            "bypassPermissions",
            [PermissionLevel::Allow, PermissionLevel::Allow, PermissionLevel::Allow],
        ),
    ] {
        let permissions = permissions(mode, &[], &[], &[]);
        let calls = [("read", &read), ("write", &change), ("bash", &bash("ls"))];
        let found = calls
            .map(|(tool, touches)| level(&permissions, tool, touches, &CallVerdict::NoOpinion));
        assert_eq!(found, expected, "{mode}");
    }
}

#[test]
fn no_mode_permits_more_outside_of_the_workspace_than_the_rule_that_names_the_folder() {
    for mode in ["default", "acceptEdits"] {
        let permissions = permissions(mode, &["read(//srv/data/*.csv)"], &[], &[]);
        let judged = |tool: &str, touches: Touches| {
            level(&permissions, tool, &touches, &CallVerdict::NoOpinion)
        };
        let path = |name: &str| PathBuf::from("/srv/data").join(name);
        assert_eq!(judged("read", Touches::Reads(path("a.csv"))), PermissionLevel::Allow, "{mode}");
        assert_eq!(judged("read", Touches::Reads(path("key"))), PermissionLevel::Ask, "{mode}");
        assert_eq!(
            judged("write", Touches::Changes(path("a.csv"))),
            PermissionLevel::Ask,
            "{mode}"
        );
    }
}

#[test]
fn a_path_that_a_tool_refuses_is_denied_whatever_the_rules_say() {
    let permissions = permissions("bypassPermissions", &["write"], &[], &[]);
    let refused = Touches::Refused("it is outside the workspace".to_owned());
    let judged =
        permissions.judge(JudgedCall { tool: "write", touches: &refused }, &CallVerdict::Allow);
    assert_eq!(judged.level, PermissionLevel::Deny);
    assert_eq!(judged.reason, "it is outside the workspace");
}

#[test]
fn a_rule_that_restricts_fits_any_command_of_the_line_and_in_doubt() {
    for line in [
        "git push",
        "git push origin main",
        "git status && git push",
        "cd x; git push",
        "true | git push",
        "echo $(git push)",
        "echo \"$(git push)\"",
        "(git push)",
        "A=1 git push",
        "env A=1 git push",
        "sudo -u me git push",
        "timeout 5 git push",
        "sh -c 'git push'",
        "echo git push | sh",
        "xargs git push",
        "/usr/bin/git push",
        "'git' \"push\"",
        "gi''t push",
        "\\git push",
        "git -C . push",
        "git --no-pager push",
        "git $what",
        "$git push",
        "git p{us,}h",
        "cat <<EOF\nx\nEOF",
        "git \\\n push",
        "nohup git push &",
        "find . -exec git push {} +",
    ] {
        assert!(is_denied("bash(git push *)", "bash", &bash(line)), "{line}");
    }
    for line in ["git status", "ls", "echo git push", "git log --oneline", "gitk push"] {
        assert!(!is_denied("bash(git push *)", "bash", &bash(line)), "{line}");
    }
    assert!(is_denied("bash", "Bash", &bash("ls")));
    assert!(is_denied("Bash(rm:*)", "bash", &bash("rm -rf /")));
    assert!(!is_denied("bash(git push *)", "write", &Touches::Changes("/srv/app/x".into())));
}

#[test]
fn a_rule_that_permits_fits_only_if_all_commands_do_for_certain() {
    for line in ["git status", "git", "git log 'a b' \"c\"", "git add -A && git commit -m x"] {
        assert!(is_allowed("bash(git *)", "bash", &bash(line)), "{line}");
    }
    for line in [
        "git status && rm x",
        "rm x; git status",
        "git log $(rm x)",
        "git log `rm x`",
        "git log > /etc/passwd",
        "git log < x",
        "GIT_SSH_COMMAND=x git fetch",
        "git log \"$X\"",
        "git log $X",
        "git log {a,b}",
        "git log *",
        "(git status)",
        "! git status",
        "git status # x\nrm x",
        "git\\ status",
        "git 'log",
        "",
        ";",
        "git log & rm x",
        "/tmp/git status",
        "gitx status",
    ] {
        assert!(!is_allowed("bash(git *)", "bash", &bash(line)), "{line}");
    }
    assert!(is_allowed("bash(npm run test)", "bash", &bash("npm run test")));
    assert!(!is_allowed("bash(npm run test)", "bash", &bash("npm run test --x")));
    assert!(is_allowed("bash(npm run test:*)", "bash", &bash("npm run test --x")));
    assert!(is_allowed("bash(npm run test-*)", "bash", &bash("npm run test-unit")));
}

#[test]
fn paths_are_compared_from_the_workspace_the_home_folder_or_the_root() {
    let changes = |path: &str| Touches::Changes(path.into());
    for (rule, path, fits) in [
        ("edit(src/**)", "/srv/app/src/a/b.rs", true),
        ("edit(/src/**)", "/srv/app/src/a.rs", true),
        ("edit(./src)", "/srv/app/src/a.rs", true),
        ("edit(src/*.rs)", "/srv/app/src/a/b.rs", false),
        ("edit(.env)", "/srv/app/deep/.env", true),
        ("edit(.ENV)", "/srv/app/.env", true),
        ("edit(//etc/**)", "/etc/hosts", true),
        ("edit(~/notes/*)", "/home/me/notes/x", true),
        ("edit(etc/**)", "/etc/hosts", false),
        ("edit(src/**)", "/srv/other/src/a.rs", false),
    ] {
        assert_eq!(is_denied(rule, "edit", &changes(path)), fits, "{rule} {path}");
        assert_eq!(is_allowed(rule, "edit", &changes(path)), fits, "{rule} {path}");
    }
    assert!(!is_allowed("edit", "edit", &changes("/etc/hosts")), "it reaches outside");
}

#[test]
fn what_may_not_be_written_is_not_edited_and_what_may_not_be_read_is_not_searched() {
    let change = Touches::Changes("/srv/app/a".into());
    assert!(is_denied("write(a)", "edit", &change) && is_denied("edit(a)", "write", &change));
    assert!(is_allowed("edit(a)", "write", &change) && !is_allowed("write(a)", "edit", &change));
    for (path, denied) in [("/srv/app", true), ("/srv/app/secrets", true), ("/srv/app/src", false)]
    {
        let read = Touches::Reads(path.into());
        assert_eq!(is_denied("read(secrets/**)", "grep", &read), denied, "{path}");
    }
    assert!(!is_denied("read(secrets/**)", "write", &change));
}

#[test]
fn tools_of_servers_are_named_by_server_and_by_prefix() {
    for rule in ["mcp__github", "mcp__github__*", "mcp__github__push", "mcp__*", "*"] {
        assert!(is_denied(rule, "mcp__github__push", &Touches::Other), "{rule}");
    }
    for rule in ["mcp__git", "mcp__gitlab__*", "bash"] {
        assert!(!is_denied(rule, "mcp__github__push", &Touches::Other), "{rule}");
    }
}

#[test]
fn what_is_no_rule_is_refused() {
    for (text, error) in [
        ("", RuleError::NoTool),
        ("(git *)", RuleError::NoTool),
        ("bash(git", RuleError::Unclosed),
        ("bash(git) x", RuleError::Unclosed),
        ("mcp__x__y(z)", RuleError::NoContent("mcp__x__y".into())),
    ] {
        assert_eq!(PermissionRule::parse(text, None).expect_err(text), error);
    }
    assert!(matches!(PermissionRule::parse("edit(a[)", None), Err(RuleError::BadPattern(_))));
}

#[test]
fn a_hook_changes_rules_for_the_session_and_takes_no_guard_away() {
    let mut all = permissions("default", &[], &["bash(git push *)"], &[]);
    let git = json!([{ "toolName": "Bash", "ruleContent": "git *" }]);
    let update = |change: &str, behavior: &str| json!([{ "type": change, "rules": git, "behavior": behavior, "destination": "session" }]);
    assert_eq!(all.update(&update("addRules", "allow")), []);
    let status = bash("git status");
    assert_eq!(level(&all, "bash", &status, &CallVerdict::NoOpinion), PermissionLevel::Allow);
    assert_eq!(all.update(&update("removeRules", "allow")), []);
    assert_eq!(level(&all, "bash", &status, &CallVerdict::NoOpinion), PermissionLevel::Ask);
    assert_eq!(all.update(&json!({ "type": "setMode", "mode": "plan" })), []);
    assert_eq!(all.mode, PermissionMode::Plan);
    for update in [
        update("removeRules", "ask"),
        update("replaceRules", "deny"),
        json!([{ "type": "addRules", "rules": git, "behavior": "allow", "destination": "userSettings" }]),
        json!([{ "type": "addDirectories", "directories": ["/"] }]),
        json!([{ "type": "setMode", "mode": "auto" }]),
        json!(["x"]),
    ] {
        assert_eq!(all.update(&update).len(), 1, "{update}");
    }
    assert_eq!((all.allow.len(), all.ask.len(), all.mode), (0, 1, PermissionMode::Plan));
}
