use std::ffi::OsString;

use hookwright_engine::limits::HOOKS_MAX;
use serde_json::{Value, json};

use super::super::templates;
use super::*;

/// A registry for a temporary folder.
fn registry() -> (Registry, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    #[expect(clippy::disallowed_methods, reason = "a test is a program")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = folder.path().as_os_str().to_owned();
    let environment = [("PATH", path), ("HOME", home), ("LC_ALL", OsString::from("C"))];
    (Registry::new(folder.path(), environment), folder)
}

fn with(entries: impl IntoIterator<Item = Entry>) -> (Registry, tempfile::TempDir) {
    let (mut registry, folder) = registry();
    for entry in entries {
        registry.register(entry).expect("it can be used");
    }
    (registry, folder)
}

fn event(name: &str, data: Value) -> Event {
    Event::named(name, data).expect("known")
}

fn bash(command: &str) -> Event {
    let data = json!({ "tool_name": "bash", "tool_input": { "command": command } });
    event("tool:pre_execute", data)
}

fn patterns<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<&'a str> {
    entries.into_iter().map(|entry| entry.event.as_str()).collect()
}

/// A result without its duration.
fn said(result: &HookResult) -> Value {
    json!([
        result.hook.command,
        result.exit_code,
        result.stdout,
        result.stderr,
        result.timed_out,
        result.error,
        result.success(),
        result.should_continue(),
    ])
}

async fn execute(registry: &Registry, event: &Event, on_failure: AfterFailure) -> Vec<Value> {
    registry.execute(event, on_failure).await.iter().map(said).collect()
}

// Conformance: code-forge-010, code-forge-017, code-forge-019, code-forge-075
#[test]
fn hooks_are_found_in_the_order_of_their_registration_and_only_if_enabled() {
    let off = Entry { enabled: false, ..Entry::new("*", "off") };
    let (registry, _folder) = with([
        Entry::new("tool:*", "a"),
        Entry::new("tool:pre_execute:bash", "b"),
        off,
        Entry::new("session:start", "c"),
        Entry::new("*:bash", "d"),
    ]);
    assert_eq!(registry.hooks().count(), 5);
    let at = |event| patterns(registry.hooks_at(&event));
    assert_eq!(at(bash("ls")), ["tool:*", "tool:pre_execute:bash", "*:bash"]);
    assert_eq!(at(event("session:start", json!({}))), ["session:start"]);
    assert!(at(event("user:interrupt", json!({}))).is_empty());
}

// Conformance: code-forge-018
#[test]
fn unregistering_removes_every_hook_of_that_pattern_and_returns_whether_there_was_one() {
    let all = ["tool:*", "*", "tool:*", "session:start"].map(|event| Entry::new(event, "true"));
    let (mut registry, _folder) = with(all);
    assert!(registry.unregister("tool:*"));
    assert!(!registry.unregister("tool:*"));
    assert!(!registry.unregister("session:*"), "a pattern is compared as it is written");
    assert_eq!(patterns(registry.hooks()), ["*", "session:start"]);
    registry.register(Entry::new("tool:*", "true")).expect("it can be used");
    assert_eq!(patterns(registry.hooks_at(&bash("ls"))), ["*", "tool:*"]);
    registry.clear();
    assert_eq!(registry.hooks().count(), 0);
    assert!(registry.hooks_at(&bash("ls")).is_empty());
}

#[test]
fn an_unusable_hook_is_refused_with_all_its_faults() {
    let (mut registry, _folder) = registry();
    let refused = registry.register(Entry::new("tool:pre_exec", " ")).expect_err("refused");
    let why = "unknown event `tool:pre_exec`; expected a command but found ` `";
    assert_eq!(refused.to_string(), why);
    assert_eq!(registry.hooks().count(), 0);
}

// Conformance: code-forge-019
#[test]
fn ten_thousand_hooks_are_the_most_and_are_found_by_their_tool() {
    let (mut registry, _folder) = registry();
    for number in 0..HOOKS_MAX {
        let pattern = format!("tool:pre_execute:tool{number}");
        registry.register(Entry::new(pattern, "true")).expect("there is room");
    }
    let refused = registry.register(Entry::new("*", "true")).expect_err("full");
    assert_eq!(refused.to_string(), "more than 10000 hooks");
    let one = event("tool:pre_execute", json!({ "tool_name": "tool4711" }));
    assert_eq!(patterns(registry.hooks_at(&one)), ["tool:pre_execute:tool4711"]);
}

// Conformance: code-forge-023, code-forge-024, code-forge-025, code-forge-035, code-forge-037
// Conformance: code-forge-075
#[tokio::test]
async fn the_first_failure_stops_the_chain_or_does_not() {
    let (registry, _folder) = with([
        Entry::new("*", "echo fine"),
        Entry::new("*", "echo no; echo why >&2; exit 3"),
        Entry::new("*", "echo behind"),
    ]);
    let fine = json!(["echo fine", 0, "fine\n", "", false, null, true, true]);
    let no = "echo no; echo why >&2; exit 3";
    let no = json!([no, 3, "no\n", "why\n", false, null, false, false]);
    let behind = json!(["echo behind", 0, "behind\n", "", false, null, true, true]);
    // At any event, whether it can be blocked or not.
    for event in [bash("ls"), event("session:end", json!({}))] {
        let stopped = execute(&registry, &event, AfterFailure::Stop).await;
        assert_eq!(stopped, [fine.clone(), no.clone()], "{}", event.name);
        let all = execute(&registry, &event, AfterFailure::GoOn).await;
        assert_eq!(all, [fine.clone(), no.clone(), behind.clone()], "{}", event.name);
    }
}

// Conformance: code-forge-024, code-forge-025, code-forge-029, code-forge-059, code-forge-060
#[tokio::test]
async fn an_unfinished_hook_is_reported_and_stops_nothing() {
    let lost = Entry { working_dir: Some("nowhere".into()), ..Entry::new("*", "true") };
    let slow = Entry::new("*", "sleep 600").timeout(0.2);
    let (registry, folder) = with([
        slow,
        Entry::new("*", "no-such-command-here 2> /dev/null"),
        Entry::new("*", "kill -9 $$"),
        lost,
        Entry::new("*", "exit 1"),
    ]);
    let missing = "cannot start: exit code 127 (not found)";
    let nowhere = folder.path().join("nowhere");
    let nowhere =
        format!("cannot start: the working directory `{}` does not exist", nowhere.display());
    assert_eq!(
        execute(&registry, &bash("ls"), AfterFailure::Stop).await,
        [
            json!(["sleep 600", null, "", "", true, "timed out after 200 ms", false, true]),
            json!(["no-such-command-here 2> /dev/null", 127, "", "", false, missing, false, true]),
            json!(["kill -9 $$", null, "", "", false, "killed by signal 9", false, true]),
            json!(["true", null, "", "", false, nowhere, false, true]),
            json!(["exit 1", 1, "", "", false, null, false, false]),
        ]
    );
}

// Conformance: code-forge-009, code-forge-024
#[tokio::test]
async fn the_default_time_limit_applies_to_hooks_without_their_own() {
    let (mut registry, _folder) =
        with([Entry::new("*", "sleep 600"), Entry::new("*", "true").timeout(600.0)]);
    registry.set_default_timeout(Duration::from_millis(300));
    let results = registry.execute(&event("user:interrupt", json!({})), AfterFailure::GoOn).await;
    let errors: Vec<Option<&str>> = results.iter().map(|result| result.error.as_deref()).collect();
    assert_eq!(errors, [Some("timed out after 300 ms"), None]);
    assert!(results[0].duration >= Duration::from_millis(300));
}

// Conformance: code-forge-034
#[tokio::test]
async fn an_answer_that_a_hook_prints_is_in_its_result() {
    let rewrites = "echo '{\"updatedInput\": {\"command\": \"ls -l\"}}'";
    let denies = "echo '{\"decision\": \"deny\", \"reason\": \"not here\"}'";
    let (registry, _folder) =
        with([Entry::new("*", rewrites), Entry::new("*", denies), Entry::new("*", "true")]);
    let results = registry.execute(&bash("ls"), AfterFailure::Stop).await;
    assert_eq!(results.len(), 2);
    let rewritten = results[0].decision.verdict.rewritten_input();
    assert_eq!(rewritten, Some(&json!({ "command": "ls -l" })));
    let blocked = Verdict::Block { reason: "not here".into() };
    assert_eq!(results[1].decision.verdict, blocked);
    assert!(!results[1].should_continue());
}

#[tokio::test]
async fn more_than_a_hundred_hooks_of_an_event_all_run() {
    let (registry, _folder) = with((0..101).map(|_| Entry::new("session:end", "true")));
    let results = registry.execute(&event("session:end", json!({})), AfterFailure::GoOn).await;
    assert_eq!(results.iter().filter(|result| result.success()).count(), 101);
}

// Conformance: code-forge-021, code-forge-062
#[tokio::test]
async fn a_hook_that_would_wake_itself_again_does_not_run() {
    let (outer, folder) = with([Entry::new("session:start", "printf '%s' \"$HOOKWRIGHT_CHAIN\"")]);
    let start = event("session:start", json!({}));
    let chain = outer.execute(&start, AfterFailure::Stop).await[0].stdout.clone();
    // The nested program has its own registry, and the chain in its environment.
    let mut inner = Registry::new(folder.path(), [("HOOKWRIGHT_CHAIN", chain)]);
    inner.register(Entry::new("session:start", "touch again")).expect("it can be used");
    let results = inner.execute(&start, AfterFailure::Stop).await;
    let id = "session:start (registered/session:start#0)";
    let circle = format!("cannot start: it would wake itself again: {id} → {id}");
    assert_eq!(results[0].error.as_deref(), Some(circle.as_str()));
    assert!(!folder.path().join("again").exists());
}

// Conformance: code-forge-020, code-forge-044
#[test]
fn hooks_of_files_come_users_first_and_only_they_are_saved() {
    let (mut registry, folder) = registry();
    let (project, config_home) = (folder.path().join("p"), folder.path().join("c"));
    let there = Whereabouts { project: &project, home: None, config_home: Some(&config_home) };
    hook_file::save_global(&there, &[Entry::new("*", "global")]).expect("saved");
    hook_file::save_project(&there, &[Entry::new("tool:*", "project")]).expect("saved");
    std::fs::create_dir_all(project.join(".forge")).expect("made");
    std::fs::write(project.join(".forge/hooks.json"), "{").expect("written");
    let left_out = registry.load_all(&there).expect("there is room");
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    std::fs::remove_file(project.join(".forge/hooks.json")).expect("there");
    registry.register(Entry::new("session:start", "mine")).expect("it can be used");
    registry.register(Entry::new("session:end", "kept")).expect("it can be used");
    let commands = |registry: &Registry| -> Vec<String> {
        registry.hooks().map(|entry| entry.command.clone()).collect()
    };
    assert_eq!(commands(&registry), ["global", "project", "mine", "kept"]);

    assert!(registry.keep("session:end", KeptIn::InTheProject));
    assert!(!registry.keep("user:interrupt", KeptIn::InTheProject));
    registry.save_global(&there).expect("saved");
    registry.save_project(&there).expect("saved");
    registry.end_session();
    assert_eq!(commands(&registry), ["global", "project", "kept"]);

    registry.clear();
    registry.load_all(&there).expect("there is room");
    assert_eq!(commands(&registry), ["global", "project", "kept"]);
}

// Conformance: code-forge-046
#[tokio::test]
async fn the_templates_do_what_their_names_say() {
    let (registry, folder) = with(templates::ALL.iter().map(|(_, make)| make()));
    assert_eq!(templates::named("block_sudo"), Some(templates::block_sudo()));
    assert_eq!(templates::named("nothing"), None);
    let blocked = registry.execute(&bash("sudo reboot"), AfterFailure::Stop).await;
    let verdicts: Vec<&Verdict> = blocked.iter().map(|result| &result.decision.verdict).collect();
    let reason = "Blocked: sudo commands not allowed".to_owned();
    let proceed = Verdict::Proceed { rewritten_input: None };
    assert_eq!(verdicts, [&proceed, &Verdict::Block { reason }]);
    assert!(
        registry
            .execute(&bash("echo pseudo"), AfterFailure::Stop)
            .await
            .iter()
            .all(HookResult::success)
    );

    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(arguments)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .output()
            .expect("git is there");
        String::from_utf8(ran.stdout).expect("text")
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "x"]);
    git(&["config", "user.email", "x@x.invalid"]);
    std::fs::write(folder.path().join("a.txt"), "").expect("written");
    let written = event("tool:post_execute", json!({ "tool_name": "Write", "tool_input": {} }));
    let results = registry.execute(&written, AfterFailure::GoOn).await;
    assert!(results.iter().all(HookResult::success), "{results:?}");
    assert_eq!(git(&["log", "--format=%s"]), "Auto-save after write\n");

    let started = registry.execute(&event("session:start", json!({})), AfterFailure::GoOn).await;
    assert_eq!(started.len(), 2);
    let log = std::fs::read_to_string(folder.path().join(".config/forge/events.log"));
    let log = log.expect("it is there");
    let lines: Vec<&str> =
        log.lines().map(|line| line.split_once(' ').expect("a time first").1).collect();
    let pre = "tool:pre_execute bash";
    assert_eq!(lines, [pre, pre, "tool:post_execute write", "session:start "]);
}
