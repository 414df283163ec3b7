//! Which hooks match an event, and in which order.

use hookwright_config::{ConfigFile, load_text};
use hookwright_engine::hook::{Hook, Layer};
use hookwright_engine::limits::HOOKS_MAX;
use hookwright_engine::policy::Policy;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Full, HookSet};
use hookwright_events::{Event, EventName};
use serde_json::{Map, Value, json};

fn set(files: &[(&str, Layer, &str)]) -> HookSet {
    let mut whole = HookSet::new();
    for (name, layer, text) in files {
        let file = ConfigFile::native(name, name, *layer);
        let loaded = load_text(text, &file, &Environment::default());
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        for hook in loaded.hooks.hooks() {
            whole.add(Hook::clone(hook)).expect("not full");
        }
    }
    whole
}

fn project(text: &str) -> HookSet {
    set(&[("p.yaml", Layer::Project, text)])
}

fn event(name: &str, data: Value) -> Event {
    let Value::Object(data) = data else { panic!("data must be an object") };
    Event::new(EventName::resolve(name).expect("known"), data)
}

fn woken(set: &HookSet, name: &str, data: Value) -> Vec<String> {
    set.woken(&event(name, data)).iter().map(|hook| hook.action.summary().to_owned()).collect()
}

#[test]
fn an_event_wakes_the_hooks_that_listen_there_in_the_order_they_are_written() {
    let set = project(
        "hooks:
  tool:pre_execute:bash: [{command: literal}]
  'tool:*': [{command: glob}]
  tool:pre_execute: [{command: exact}, {command: named, matcher: Edit|Bash}, {command: re, matcher: /^ba/}]
  '*': [{command: all}]
  'tool:*:write': [{command: write}]
  session:start: [{command: other}]
  tool:pre_execute:bash,PreToolUse: [{command: twice}]
  'tool:pre_execute:b*': [{command: both, matcher: '*sh'}]
",
    );
    assert_eq!(
        woken(&set, "tool:pre_execute", json!({ "tool_name": "run_shell_command" })),
        ["literal", "glob", "exact", "named", "re", "all", "twice", "both"]
    );
    assert_eq!(
        woken(&set, "PreToolUse", json!({ "tool_name": "Write" })),
        ["glob", "exact", "all", "write", "twice"]
    );
    assert_eq!(woken(&set, "tool:error", json!({})), ["glob", "all"]);
    assert_eq!(woken(&set, "session:start", json!({})), ["all", "other"]);
    assert_eq!(woken(&set, "claude:config_change", json!({})), ["all"]);
}

#[test]
fn loop_then_pipeline_then_project_then_global_and_guards_of_the_user_first() {
    let all = |name: &str| format!("hooks: {{'*': [{{command: {name}}}]}}");
    let pipeline = format!("stages: [{{loop: x}}]\n{}", all("pipeline"));
    let set = set(&[
        ("g.yaml", Layer::Global, &all("global")),
        ("p.yaml", Layer::Project, &all("project")),
        ("l.yaml", Layer::Loop, &all("loop")),
        ("pl.yaml", Layer::Pipeline, &pipeline),
    ]);
    assert_eq!(
        woken(&set, "iteration:complete", json!({})),
        ["loop", "pipeline", "project", "global"]
    );
    assert_eq!(
        woken(&set, "tool:pre_execute", json!({})),
        ["global", "loop", "pipeline", "project"]
    );
}

// Conformance: agent-pipelines-078
#[test]
fn a_repository_cannot_switch_the_users_guards_off() {
    let mut set = set(&[("g.yaml", Layer::Global, "hooks: {'*': [{command: global}]}")]);
    set.disable_global();
    assert_eq!(woken(&set, "iteration:complete", json!({})), [""; 0]);
    assert_eq!(woken(&set, "tool:pre_execute", json!({})), ["global"]);
}

// Conformance: agent-pipelines-008
#[test]
fn on_session_complete_wakes_for_success_and_the_iteration_limit_only() {
    let set = project(
        "hooks: {on_session_complete: [{command: complete}], session_end: [{command: end}]}",
    );
    for (reason, expected) in [
        ("completed", vec!["complete", "end"]),
        ("max_iterations", vec!["complete", "end"]),
        ("error", vec!["end"]),
        ("interrupted", vec!["end"]),
    ] {
        assert_eq!(woken(&set, "session:end", json!({ "reason": reason })), expected);
    }
}

#[test]
fn a_stage_named_like_a_tool_is_not_a_tool() {
    let set = project(
        "hooks: {iteration:start:shell: [{command: x}], iteration:start:bash: [{command: y}]}",
    );
    assert_eq!(woken(&set, "iteration:start", json!({ "stage": "Shell" })), ["x"]);
}

#[test]
fn a_full_set_takes_no_more() {
    let hook = Hook::clone(&project("hooks: {Stop: [{command: x}]}").hooks()[0]);
    let mut set = HookSet::new();
    for _ in 0..HOOKS_MAX {
        set.add(hook.clone()).expect("there is room");
    }
    assert_eq!(set.add(hook), Err(Full));
}

#[test]
fn an_empty_set_wakes_nothing() {
    assert!(
        HookSet::new()
            .woken(&Event::new(EventName::resolve("tool:pre_execute").expect("known"), Map::new()))
            .is_empty()
    );
}

#[test]
fn a_guard_runs_if_the_tool_is_unknown() {
    let set = project(
        "hooks: {tool:pre_execute:bash: [{command: literal}], PreToolUse: [{command: re, matcher: /^other$/}],
                 tool:post_execute:bash: [{command: observer}]}",
    );
    for data in [
        json!({}),
        json!({ "tool_name": null }),
        json!({ "tool_name": "" }),
        json!({ "tool_name": " " }),
        json!({ "tool_name": ["Bash"] }),
        json!({ "tool_name": { "name": "Bash" } }),
    ] {
        assert_eq!(woken(&set, "tool:pre_execute", data.clone()), ["literal", "re"], "{data}");
        assert!(woken(&set, "tool:post_execute", data).is_empty());
    }
    let globs = project(
        "hooks: {'tool:*:bash': [{command: glob}], PreToolUse: [{command: re, matcher: /^bash$/}]}",
    );
    assert_eq!(woken(&globs, "PreToolUse", json!({ "tool_name": " Bash\n" })), ["glob", "re"]);
    for name in ["Bash ", "bash\n", "BASH"] {
        assert_eq!(woken(&set, "tool:pre_execute", json!({ "tool_name": name })), ["literal"]);
    }
    for field in ["ToolName", "TOOL_NAME", "toolName", "tool"] {
        assert_eq!(woken(&set, "tool:pre_execute", json!({ field: "read" })), [""; 0], "{field}");
    }
}

#[test]
fn an_invalid_entry_affects_only_the_events_that_it_would_match() {
    let file = ConfigFile::native("p.yaml", "p.yaml", Layer::Project);
    let text = "hooks: {tool:pre_execute:bash: [{comand: x}], on_session_complete: [{comand: x}]}";
    let loaded = load_text(text, &file, &Environment::default());
    let broken = |name: &str, data: Value| loaded.hooks.broken_for(&event(name, data)).count();
    assert_eq!(broken("tool:pre_execute", json!({ "tool_name": "Bash" })), 1);
    assert_eq!(broken("tool:pre_execute", json!({ "tool_name": "read" })), 0);
    assert_eq!(broken("tool:pre_execute", json!({ "tool_name": null })), 1);
    assert_eq!(broken("session:end", json!({ "reason": "completed" })), 1);
    assert_eq!(broken("session:end", json!({ "reason": "error" })), 0);
}

#[test]
fn an_event_is_heard_if_a_hook_or_an_invalid_entry_may_match_it_with_some_data() {
    let hears = |set: &HookSet, name: &str| set.hears(&EventName::resolve(name).expect("known"));
    let set = project(
        "hooks: {tool:pre_execute:bash: [{command: a}], PostToolUse: [{command: b, matcher: /^x/}],
                 'claude:*': [{command: c}]}",
    );
    for heard in ["tool:pre_execute", "tool:post_execute", "claude:anything"] {
        assert!(hears(&set, heard), "{heard}");
    }
    for unheard in ["session:message", "tool:error", "codex:anything"] {
        assert!(!hears(&set, unheard), "{unheard}");
    }
    let file = ConfigFile::native("p.yaml", "p.yaml", Layer::Project);
    let loaded =
        load_text("hooks: {tool:pre_execute: [{comand: x}]}", &file, &Environment::default());
    assert!(hears(&loaded.hooks, "tool:pre_execute"));
    assert!(!hears(&HookSet::new(), "tool:pre_execute"));
}

#[test]
fn a_subject_and_a_matcher_both_have_to_match_even_in_the_hash_map() {
    let set = project(
        "hooks:
  tool:pre_execute:bash: [{command: both, matcher: /^ba/}, {command: never, matcher: /^x/}]
  tool:pre_execute:bash|write: [{command: either, matcher: 'Write|Bash'}]
",
    );
    let at = |tool: &str| woken(&set, "tool:pre_execute", json!({ "tool_name": tool }));
    assert_eq!(at("Bash"), ["both", "either"]);
    assert_eq!(at("write"), ["either"]);
    assert!(at("read").is_empty());
    // If the tool is unknown, every guard runs.
    assert_eq!(woken(&set, "tool:pre_execute", json!({})), ["both", "never", "either"]);
}

#[test]
fn if_a_policy_sets_it_the_users_hooks_run_first_at_every_event() {
    static GLOBAL_FIRST: Policy = Policy { global_first: true, ..Policy::NATIVE };
    let files = set(&[
        ("p.yaml", Layer::Project, "hooks: {'*': [{command: project}]}"),
        ("g.yaml", Layer::Global, "hooks: {'*': [{command: global}]}"),
    ]);
    let mut first = HookSet::new();
    for hook in files.hooks() {
        first.add(Hook { policy: &GLOBAL_FIRST, ..Hook::clone(hook) }).expect("not full");
    }
    assert_eq!(woken(&files, "session:end", json!({})), ["project", "global"]);
    assert_eq!(woken(&first, "session:end", json!({})), ["global", "project"]);
    assert_eq!(woken(&first, "tool:pre_execute", json!({})), ["global", "project"]);
}

#[test]
fn hooks_that_run_after_the_fact_are_split_from_those_that_decide() {
    static AFTERWARDS: Policy =
        Policy { after_the_fact_at: &[EventName::TASK_COMPLETE], ..Policy::NATIVE };
    let mut whole = project("hooks: {task:complete: [{command: guard}, {command: told}]}");
    assert!(whole.split_after_the_fact(&EventName::TASK_COMPLETE).1.is_none());
    let mut told = Hook::clone(&whole.hooks()[1]);
    told.policy = &AFTERWARDS;
    whole.add(told).expect("not full");
    let (before, after) = whole.split_after_the_fact(&EventName::TASK_COMPLETE);
    let of = |set: &HookSet| woken(set, "task:complete", json!({}));
    assert_eq!(
        (of(&before), after.as_ref().map(of)),
        (vec!["guard".to_owned(), "told".to_owned()], Some(vec!["told".to_owned()]))
    );
    assert!(whole.split_after_the_fact(&EventName::SESSION_END).1.is_none());
}
