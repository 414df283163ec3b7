//! Tests that cannot be cases: those that depend on the machine's shell, values too big for a file,
//! and the conversion of hooks to the native format.

use std::path::PathBuf;
use std::process::Command;

use hookwright_config::{ConfigFile, Loaded, load_text};
use hookwright_dialects::{named, native};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Event, Firing, Setup};
use serde_json::{Value, json};

#[expect(clippy::disallowed_methods, reason = "a test is a program")]
fn environment() -> Environment {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Environment::new([("PATH".into(), path), ("LC_ALL".into(), "C".into())])
}

#[expect(clippy::disallowed_methods, reason = "a test is a program")]
fn path_of(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&path).map(|folder| folder.join(program));
    paths.find(|path| path.is_file()).unwrap()
}

fn load(hooks: &str) -> Loaded {
    let file = ConfigFile::native(".iteratr.hooks.yml", ".iteratr.hooks.yml", Layer::Project);
    let file = file.in_dialect(named("iteratr").map(|foreign| foreign as _));
    let loaded = load_text(&format!("hooks:\n{hooks}"), &file, &environment());
    assert_eq!(loaded.left_out, []);
    loaded
}

/// The text that the agent gets from these hooks at an event.
fn piped(hooks: &str, event: &str, data: Value) -> String {
    let place = tempfile::tempdir().unwrap();
    let engine = Engine::new(Setup::new(load(hooks).hooks, place.path().to_owned(), environment()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let event = Event::named(event, data).unwrap();
        engine.fire(event, Firing::default()).await.decision.piped_output
    })
}

#[test]
fn the_shells_message_about_an_unparsable_command_is_the_text_of_its_failure() {
    for command in ["if", "sh ./missing.sh", ". ./missing.sh"] {
        let place = tempfile::tempdir().unwrap();
        // Started by its path, as hooks are, since its messages contain the name it was called by.
        let mut shell = Command::new(path_of("sh"));
        let shell = shell.args(["-c", command]).current_dir(place.path()).env("LC_ALL", "C");
        let said = shell.output().unwrap();
        let (code, stderr) = (said.status.code().unwrap(), String::from_utf8(said.stderr).unwrap());
        let hooks = format!("  session_start: [{{command: '{command}', pipe_output: true}}]\n");
        let shown = piped(&hooks, "session_start", json!({}));
        assert_eq!(
            shown,
            format!("[Hook command failed: exit status {code}]\n\n[stderr]\n{stderr}")
        );
    }
}

#[test]
fn a_big_value_arrives_completely_and_one_too_big_for_the_environment_is_reported() {
    let hooks = "  on_task_complete: [{command: 'printf %s {{task_content}} | wc -c | tr -d \" \"', pipe_output: true}]\n";
    let shown = |bytes: usize| {
        piped(hooks, "on_task_complete", json!({ "task_content": "x".repeat(bytes) }))
    };
    assert_eq!(shown(90_000), "90000\n");
    assert_eq!(
        shown(200_000),
        "[Hook command failed: `{{task_content}}` has 200000 bytes, too many for an environment variable]\n"
    );
}

#[test]
fn hooks_are_converted_to_native_ones_if_those_do_the_same_and_else_keep_their_dialect() {
    let loaded = load(
        "
  session_start: [{command: 'echo {{session}}', timeout: 5}]
  post_iteration: [{command: 'echo {{iteration}} {{error}}'}, {command: go test, pipe_output: true}]
  on_task_complete: [{command: './validate {{task_id}}'}]
  on_error: [{command: 'echo {{error}}', pipe_output: true}]
",
    );
    let foreign = named("iteratr").unwrap();
    let said = |number: usize| {
        let native::NativeHook { event, fields, differences } =
            native::said(foreign, &loaded.hooks.hooks()[number]).unwrap();
        (event, Value::Object(fields), differences)
    };
    let raw = "its piped output reaches the agent unchanged, in iteratr's wording";
    assert_eq!(
        (0..5).map(said).collect::<Vec<_>>(),
        [
            (
                "session:start".to_owned(),
                json!({ "command": "echo \"${SESSION}\"", "shell": "sh", "await": true,
                    "timeout": 5, "on_failure": "continue" }),
                vec![],
            ),
            (
                "iteration:complete".to_owned(),
                json!({ "command": "echo {{iteration}} {{error}}", "dialect": "iteratr" }),
                vec!["its `{{…}}` have values that no native variable has there"],
            ),
            (
                "iteration:complete".to_owned(),
                json!({ "command": "go test", "pipe_output": true, "dialect": "iteratr" }),
                vec![raw],
            ),
            (
                "task:complete".to_owned(),
                json!({ "command": "./validate {{task_id}}", "dialect": "iteratr" }),
                vec!["exit code 2 does not reopen a finished task"],
            ),
            (
                "iteration:error".to_owned(),
                json!({ "command": "echo {{error}}", "pipe_output": true, "dialect": "iteratr" }),
                vec![raw, "a session continues after an error that the hook handled"],
            ),
        ]
    );
}
