//! Colour and weight by meaning: on a terminal, unless the user disables it.

use crate::support::Sandbox;

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const FAINT: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";

fn painted(colour: &str, word: &str) -> String {
    format!("{colour}{word}\x1b[0m")
}

/// Hooks of every outcome, a loop that fails, one that completes, and a test of each kind.
fn project() -> Sandbox {
    let hooks = "
hooks:
  tool:pre_execute:
    - {id: good, command: 'true'}
    - {id: bad, command: 'exit 1', on_failure: continue}
    - {id: no, command: 'echo stop it >&2; exit 2', matcher: bash}
    - {id: left, command: 'true', when: '${TOOL_NAME} == ''other'''}
";
    let one = |does: &str| {
        format!(
            "prompt: p\ntermination: {{type: fixed, iterations: 1}}\nagent: {{command: '{does}'}}\n"
        )
    };
    let tests = "
cases:
  - {name: blocks, event: 'tool:pre_execute', data: {tool_name: bash}, expect: {decision: block}}
  - {name: allows, event: 'tool:pre_execute', data: {tool_name: bash}, expect: {decision: allow}}
";
    Sandbox::with_hooks(hooks)
        .file("good.yaml", one("true"))
        .file("bad.yaml", one("exit 1"))
        .file("hookwright.test.yaml", tests)
}

const FIRE: &[&str] = &["fire", "tool:pre_execute", "--data", r#"{"tool_name": "bash"}"#];

#[test]
fn every_outcome_has_its_own_colour() {
    let sandbox = project();
    let runs = |words: &[&str]| {
        let ran = sandbox.run(&[&["--color", "always"], words].concat());
        ran.stdout
    };
    let has = |text: &str, all: &[String]| {
        for one in all {
            assert!(text.contains(one), "no {one:?} in {text}");
        }
    };
    let [good, bad] = ["good.yaml", "bad.yaml"]
        .map(|file| runs(&["run", file, "--session", file.strip_suffix(".yaml").unwrap()]));
    has(&good, &[painted(BOLD, "session good"), painted(GREEN, "completed")]);
    has(&bad, &[painted(BOLD, "session bad"), painted(RED, "failed")]);
    let fired = [painted(GREEN, "success"), painted(RED, "failed"), painted(YELLOW, "blocked")];
    has(
        &runs(FIRE),
        &[&fired[..], &[painted(YELLOW, "block"), painted(FAINT, "skipped")]].concat(),
    );
    let explain = [&["explain"], &FIRE[1..]].concat();
    has(&runs(&explain), &[painted(GREEN, "runs"), painted(FAINT, "skipped")]);
    has(&runs(&["test"]), &[painted(GREEN, "ok"), painted(RED, "FAILED")]);
    has(&runs(&["list"]), &[painted(BOLD, "event")]);
    has(&runs(&["sessions", "list"]), &[painted(GREEN, "completed"), painted(RED, "failed")]);
    has(&runs(&["sessions", "show", "bad"]), &[painted(BOLD, "bad"), painted(RED, "failed")]);
    has(&runs(&["status"]), &[painted(BOLD, "can be resumed:"), painted(RED, "failed")]);
    has(&runs(&["run", "--help"]), &[painted(BOLD, "Options:"), painted("\x1b[36m", "--dry-run")]);
}

#[test]
fn the_words_are_the_same_with_and_without_colour() {
    let sandbox = project();
    let plain = |text: &str| -> String {
        let mut parts = text.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
    };
    assert_eq!(sandbox.run(&["run", "bad.yaml", "--session", "s"]).code, 5);
    for words in
        [&["sessions", "list"][..], &["sessions", "show", "s"], &["status"], &["list"], &["--help"]]
    {
        let coloured = sandbox.run(&[words, &["--color=always"]].concat());
        let without = sandbox.run(words);
        assert!(!without.stdout.contains('\x1b'), "{words:?} has no terminal");
        assert!(coloured.stdout.contains('\x1b'), "{words:?}");
        assert_eq!(plain(&coloured.stdout), without.stdout, "{words:?}");
    }
}

/// `script` gives the binary a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_colour_unless_the_user_wants_none() {
    let in_terminal = |sandbox: &Sandbox, words: &str| {
        let binary = sandbox.command(&[]);
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &format!("{} {words}", binary.get_program().display()), "/dev/null"])
            .current_dir(sandbox.path("."))
            .env_clear()
            .envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().expect("the tests need `script`");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let coloured = in_terminal(&project(), "list");
    assert!(coloured.starts_with(&painted(BOLD, "id")), "{coloured:?}");
    assert!(in_terminal(&project().set("NO_COLOR", "1"), "list --color always").contains('\x1b'));
    for (sandbox, words) in [
        (project().set("NO_COLOR", "1"), "list"),
        (project().set("TERM", "dumb"), "list"),
        (project(), "list --color never"),
    ] {
        let plain = in_terminal(&sandbox, words);
        assert!(plain.starts_with("id ") && !plain.contains('\x1b'), "{plain:?}");
    }
}

#[test]
fn what_others_wrote_is_never_a_colour() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {stage:start: [{id: evil, await: true, command: 'printf \"\\033[31mred\" >&2; exit 1'}]}",
    );
    let ran = sandbox.run(&["--color", "always", "fire", "stage:start"]);
    assert!(ran.stdout.contains("␛[31mred"), "{ran:?}");
}
