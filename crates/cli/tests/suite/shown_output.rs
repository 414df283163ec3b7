//! Output that is always shown: AutoAgent's hooks, in `fire` and in `run`.

use crate::runs::run;
use crate::support::Sandbox;

/// The lines below a hook's own.
fn below(text: &str, hook: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !line.contains(hook)).skip(1);
    let mut found = Vec::new();
    while let Some(line) = lines.next().and_then(|line| line.strip_prefix("                 ")) {
        found.push(line.to_owned());
    }
    found
}

const HOOKS: &str = r#"{"hooks": {"Stop": [
    {"type": "command", "command": "printf 'checked \\033[2J\\nall is well\\n'; echo quiet >&2"},
    {"type": "command", "command": "echo '{\"suppressOutput\": true}'"},
    {"type": "command", "command": "echo out; echo err >&2; exit 1"}
]}}"#;

// Conformance: autoagent-024
#[test]
fn fire_shows_it_once_also_where_all_is_well() {
    let sandbox = Sandbox::new().file(".autoagent/config.json", HOOKS);
    let ran = sandbox.run(&["fire", "Stop"]);
    assert_eq!(ran.code, 0);
    assert_eq!(below(&ran.stdout, "Stop#0"), ["checked ␛[2J", "all is well"]);
    assert_eq!(below(&ran.stdout, "Stop#1"), Vec::<String>::new());
    assert_eq!(below(&ran.stdout, "Stop#2"), ["out", "err"]);
    let both = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(both.matches("all is well").count(), 1);
}

// Conformance: autoagent-024
#[test]
fn run_shows_it_once_too() {
    let sandbox = Sandbox::new()
        .file(".autoagent/config.json", HOOKS)
        .file(
            "loop.yaml",
            "prompt: p\nagent: {script: t.yaml}\ntermination: {type: fixed, iterations: 1}\n",
        )
        .file("t.yaml", "turns: [[{status: {decision: continue}}]]");
    let ran = run(&sandbox, ".", 0);
    assert_eq!(below(&ran.stdout, "Stop#0"), ["checked ␛[2J", "all is well"]);
    assert_eq!(below(&ran.stdout, "Stop#2"), ["out", "err"]);
    let both = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(both.matches("all is well").count(), 1);
}
