//! `hookwright import --replace`: a native file replaces another system's file, and nothing is lost
//! on the way.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Ran, Sandbox};

const OLD: &str = ".iteratr.hooks.yml";
const ITERATR: &str = "hooks:\n  session_start:\n    - command: echo started\n";

fn iteratr() -> Sandbox {
    Sandbox::new().file(OLD, ITERATR)
}

/// How many hooks run at `session:start`.
fn hooks_at_start(sandbox: &Sandbox) -> usize {
    let (_, fired) = sandbox.json_and_talk(&["fire", "session:start", "--json"]);
    fired["hooks"].as_array().map_or(0, Vec::len)
}

/// Every file of the project, with its content.
fn files(sandbox: &Sandbox) -> Vec<(String, String)> {
    let entries = fs::read_dir(sandbox.path(".")).expect("a folder").flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut files: Vec<(String, String)> = files
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).expect("text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn import_says_that_hooks_run_twice_while_the_old_file_is_found() {
    let sandbox = iteratr();
    let ran = sandbox.run(&["import", OLD]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            0,
            "1 hook
note: hookwright still finds .iteratr.hooks.yml, so these hooks run twice once a native file has them too
help: `hookwright import .iteratr.hooks.yml --replace` writes the native file and renames .iteratr.hooks.yml
"
        )
    );
    let sandbox = sandbox.file("hookwright.yaml", ran.stdout);
    assert_eq!(hooks_at_start(&sandbox), 2);
    // A file that is not found by itself runs once.
    let elsewhere = Sandbox::new().file("other.yml", ITERATR);
    assert_eq!(elsewhere.run(&["import", "other.yml", "--dialect", "iteratr"]).stderr, "1 hook\n");
}

#[test]
fn replace_writes_the_native_file_and_renames_the_old_one() {
    let sandbox = iteratr();
    let native = sandbox.run(&["import", OLD]).stdout;
    assert_eq!(
        sandbox.run(&["import", OLD, "--replace"]),
        Ran::new(
            0,
            "wrote hookwright.yaml
renamed .iteratr.hooks.yml to .iteratr.hooks.yml.before-import
agents run the hooks of hookwright.yaml once you trust it: `hookwright trust`
to undo: `rm hookwright.yaml && mv .iteratr.hooks.yml.before-import .iteratr.hooks.yml`
",
            "1 hook\n"
        )
    );
    assert_eq!(
        files(&sandbox),
        [
            (".iteratr.hooks.yml.before-import".to_owned(), ITERATR.to_owned()),
            ("hookwright.yaml".to_owned(), native)
        ]
    );
    assert_eq!(hooks_at_start(&sandbox), 1);
    assert_eq!(sandbox.run(&["list"]).stderr, "1 hook in 1 file\n");
    // Others may read it like any other new file.
    let mode = |name: &str| fs::metadata(sandbox.path(name)).expect("there").permissions().mode();
    fs::write(sandbox.path("new"), "").expect("written");
    assert_eq!(mode("hookwright.yaml"), mode("new"));
}

#[test]
fn no_backup_is_ever_overwritten() {
    let first = format!("{OLD}.before-import");
    let sandbox = iteratr().file(&first, "mine");
    let ran = sandbox.run(&["import", OLD, "--replace"]);
    assert!(ran.stdout.contains("to .iteratr.hooks.yml.before-import-2\n"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(sandbox.path(&first)).unwrap(), "mine");
    // A dangling link also takes a name.
    let sandbox = iteratr();
    std::os::unix::fs::symlink("nowhere", sandbox.path(&first)).expect("made");
    let ran = sandbox.run(&["import", OLD, "--replace"]);
    assert!(ran.stdout.contains("to .iteratr.hooks.yml.before-import-2\n"), "{}", ran.stdout);
    assert!(fs::symlink_metadata(sandbox.path(&first)).unwrap().is_symlink());
}

/// Checks that nothing is changed, and returns the error.
fn refused(sandbox: &Sandbox, file: &str) -> String {
    let before = files(sandbox);
    let text = fs::read_to_string(sandbox.path(file)).expect("there");
    let ran = sandbox.run(&["import", file, "--replace"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert_eq!(files(sandbox), before);
    assert_eq!(fs::read_to_string(sandbox.path(file)).expect("there"), text);
    let error = ran.stderr.find("error: ").expect("an error");
    ran.stderr[error..].to_owned()
}

#[test]
fn a_native_file_that_is_there_is_never_overwritten() {
    for name in ["hookwright.yaml", "hookwright.json"] {
        let sandbox = iteratr().file(name, "{\"hooks\": {}}");
        let said = refused(&sandbox, OLD);
        let expected =
            format!("error: `{name}` already exists, and is never overwritten\n --> {OLD}\n");
        assert!(said.starts_with(&expected), "{said}");
    }
}

#[test]
fn nothing_is_replaced_if_an_entry_would_be_lost() {
    let sandbox = Sandbox::new().file(
        ".forge/hooks.json",
        r#"{"hooks": [{"event": "session:start", "command": "true"}, {"event": "session:strat", "command": "true"}]}"#,
    );
    let said = refused(&sandbox, ".forge/hooks.json");
    assert!(said.starts_with("error: 1 of its entries cannot be imported"), "{said}");
}

#[test]
fn a_file_that_its_system_needs_stays() {
    let autoagent =
        r#"{"providers": ["claude"], "hooks": {"Stop": [{"type": "command", "command": "true"}]}}"#;
    let sandbox = Sandbox::new().file(".autoagent/config.json", autoagent);
    let said = refused(&sandbox, ".autoagent/config.json");
    assert!(said.starts_with("error: the file holds more than hooks: `providers`\n"), "{said}");

    let claude = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let sandbox = Sandbox::new().file(".claude/settings.json", claude);
    let said = refused(&sandbox, ".claude/settings.json");
    assert!(said.starts_with("error: the agent reads this file itself"), "{said}");
    let said = sandbox.run(&["import", ".claude/settings.json"]).stderr;
    assert!(said.ends_with("help: then remove them from .claude/settings.json\n"), "{said}");
}

#[test]
fn a_file_that_nothing_finds_is_not_renamed() {
    let sandbox = Sandbox::new().file("other.yml", ITERATR);
    let ran = sandbox.run(&["import", "other.yml", "--dialect", "iteratr", "--replace"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("hookwright does not look for this file"), "{}", ran.stderr);
    assert_eq!(files(&sandbox).len(), 1);
}

#[test]
fn where_the_old_file_cannot_be_renamed_the_native_one_is_taken_back() {
    let mut sandbox = iteratr();
    for number in 1..=100 {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        sandbox = sandbox.file(&format!("{OLD}.before-import{number}"), "mine");
    }
    let said = refused(&sandbox, OLD);
    assert!(
        said.starts_with("error: the file cannot be renamed: there are 100 backups already\n"),
        "{said}"
    );
}

#[test]
fn a_replacement_that_was_cut_off_is_finished_by_the_same_command() {
    let sandbox = iteratr();
    let native = sandbox.run(&["import", OLD]).stdout;
    let sandbox = sandbox.file("hookwright.yaml", native);
    assert_eq!(sandbox.run(&["import", OLD, "--replace"]).code, 0);
    assert_eq!(hooks_at_start(&sandbox), 1);
}

#[test]
fn the_users_file_becomes_the_native_one_for_all_projects() {
    let hooks = r#"{"hooks": [{"event": "session:start", "command": "true"}]}"#;
    let sandbox = Sandbox::new().file("../.config/forge/hooks.json", hooks);
    let ran = sandbox.run(&["import", "../.config/forge/hooks.json", "--replace"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("wrote ~/.config/hookwright/hooks.yaml\n"), "{}", ran.stdout);
    assert!(sandbox.path("../.config/hookwright/hooks.yaml").is_file());
    assert_eq!(hooks_at_start(&sandbox), 1);
}

#[test]
fn hooks_that_count_again_without_the_old_file_are_named() {
    let hooks = |command: &str| {
        format!(
            r#"{{"hooks": {{"PostExecutionEnd": [{{"type": "command", "command": "{command}"}}]}}}}"#
        )
    };
    let sandbox = Sandbox::new()
        .file(".autoagent/config.json", hooks("echo project"))
        .file("../.autoagent/config.json", hooks("echo mine"));
    let ran = sandbox.run(&["import", ".autoagent/config.json", "--replace"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said = "the hook of ~/.autoagent/config.json:1 is active now: .autoagent/config.json had replaced it\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}
