//! `hookwright init`, `template`, `schema`, `completions`: what a newcomer types first.

use std::fs;

use serde_json::Value;

use crate::docs::timeless;
use crate::support::{Ran, Sandbox, examples};

#[test]
fn a_first_file_works_as_it_is() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["init", "--template", "block-sudo", "--template", "audit-log"]);
    assert_eq!(
        ran,
        Ran::new(
            0,
            "wrote hookwright.yaml with block-sudo, audit-log\nwrote .hookwright/hookwright.schema.json\n",
            "next: `hookwright list`, then `hookwright fire tool:pre_execute --data '…'`\n"
        )
    );
    assert_eq!(sandbox.run(&["check"]).code, 0);
    let fire = |command: &str| {
        let data = serde_json::json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        sandbox.run(&["fire", "PreToolUse", "--data", &data.to_string()])
    };
    let blocked = fire("sudo ls");
    assert_eq!(blocked.code, 2, "{}", blocked.stderr);
    assert!(timeless(&blocked.stdout).contains("block: sudo is not allowed here"));
    assert_eq!(fire("pseudo --sudoku").code, 0, "another word is not sudo");
    let log = fs::read_to_string(sandbox.path(".hookwright/audit.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 2, "every event left a line");
}

#[test]
fn without_a_terminal_and_without_names_the_first_template_is_taken() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["init"]).code, 0);
    let (_, hooks) = sandbox.json(&["list", "--json"]);
    assert_eq!(hooks["hooks"][0]["id"], "block-sudo");
}

#[test]
fn init_never_overwrites() {
    for name in ["hookwright.yaml", "hookwright.yml", "hookwright.json"] {
        let sandbox = Sandbox::new().file(name, "# mine\n");
        let ran = sandbox.run(&["init"]);
        let said = format!(
            "error: `{name}` already exists, and `init` never overwrites a file\n\
             help: `hookwright template show NAME` prints hooks to copy into it\n"
        );
        assert_eq!(ran, Ran::new(1, "", &said));
        assert_eq!(fs::read_to_string(sandbox.path(name)).unwrap(), "# mine\n");
    }
    let unknown = Sandbox::new().run(&["init", "--template", "block-sudoo"]);
    assert_eq!(
        unknown,
        Ran::new(
            1,
            "",
            "error: unknown template `block-sudoo`\nhelp: did you mean `block-sudo`?\n"
        )
    );
}

#[test]
fn in_a_terminal_it_asks_and_asks_again() {
    let sandbox = Sandbox::new();
    // `script` gives it a terminal; its standard input is what is typed.
    let inner = sandbox.command(&["init"]);
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &format!("'{}' init", inner.get_program().display()), "/dev/null"]);
    command.current_dir(sandbox.path(".")).env("HOME", sandbox.path(".."));
    let typed = sandbox.path("typed");
    fs::write(&typed, "nonsense\n2, notify\n").unwrap();
    let output = command.stdin(fs::File::open(&typed).unwrap()).output().unwrap();
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(screen.contains("unknown template `nonsense`"), "{screen}");
    assert!(screen.contains("wrote hookwright.yaml with audit-log, notify"), "{screen}");
    assert_eq!(sandbox.run(&["check"]).code, 0);
}

// Conformance: code-forge-046
#[test]
fn every_template_can_be_listed_shown_and_used() {
    let sandbox = Sandbox::new();
    let (_, listed) = sandbox.json(&["template", "list", "--json"]);
    let names: Vec<&str> = listed["templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["block-sudo", "audit-log", "notify", "git-auto-commit"]);
    for name in names {
        let shown = sandbox.run(&["template", "show", name]);
        assert_eq!(shown.code, 0);
        let whole = Sandbox::with_hooks(&format!("hooks:\n{}", shown.stdout));
        let checked = whole.run(&["check"]);
        assert_eq!(checked.code, 0, "{name}: {}", checked.stderr);
        assert!(sandbox.run(&["template", "list"]).stdout.contains(name));
    }
}

// Conformance: code-forge-046
#[test]
fn the_template_that_commits_commits_what_the_agent_wrote() {
    let sandbox = Sandbox::new().set("GIT_CONFIG_NOSYSTEM", "1");
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .current_dir(sandbox.path("."))
            .env("HOME", sandbox.path(".."))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet", "."]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@example.org"]);
    assert_eq!(sandbox.run(&["init", "--template", "git-auto-commit"]).code, 0);
    fs::write(sandbox.path("new.txt"), "hello").unwrap();
    let data = r#"{"tool_name": "Write", "tool_input": {"file_path": "new.txt"}}"#;
    let ran = sandbox.run(&["fire", "PostToolUse", "--data", data]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert_eq!(git(&["log", "--format=%s"]), "Auto-save: new.txt\n");
}

#[test]
fn the_schema_accepts_what_the_reader_accepts_and_refuses_common_slips() {
    let (code, schema) = Sandbox::new().json(&["schema"]);
    assert_eq!(code, 0);
    let valid = accepted_by(&schema);
    for example in examples() {
        let path = example.join("hookwright.yaml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(valid(&text), "{}", path.display());
    }
    for (text, is_valid) in [
        ("hooks: {tool:pre_execute:bash: [{command: x, timeout: 5m, retries: 2}]}", true),
        ("hooks: {'*': [{command: x}], 'session:start,session:end': [{url: 'https://x'}]}", true),
        ("hooks: [{event: Stop, command: x}]", true),
        ("hooks: {PostExecutionEnd: [{type: git-commit, message: done}]}", true),
        ("hooks: {Stop: [{comand: x}]}", false),
        ("hooks: {Stop: [{command: 5}]}", false),
        ("hooks: {Stop: [{command: x, on_failure: explode}]}", false),
        ("hooks: {Stopp: [{command: x}]}", false),
        ("hoks: {}", false),
        ("version: 2", false),
    ] {
        assert_eq!(valid(text), is_valid, "{text}");
        let checked = Sandbox::with_hooks(text).run(&["check"]);
        assert_eq!(checked.code == 0, is_valid, "{text}: {}", checked.stderr);
    }
}

/// Whether a schema accepts a file's text.
pub(crate) fn accepted_by(schema: &Value) -> impl Fn(&str) -> bool {
    let validator = jsonschema::validator_for(schema).unwrap();
    move |yaml| {
        let value: Value = serde_saphyr::from_str(yaml).unwrap();
        validator.is_valid(&value)
    }
}

#[test]
fn shells_get_a_script_that_completes_our_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = Sandbox::new().run(&["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("explain"), "{shell}");
    }
    // Bash can parse the script.
    let script = Sandbox::new().run(&["completions", "bash"]).stdout;
    let read = std::process::Command::new("bash").args(["-n", "-c", &script]).status().unwrap();
    assert!(read.success());
    assert_eq!(Sandbox::new().run(&["completions", "tcsh"]).code, 1);
}
