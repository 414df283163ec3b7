use hookwright_events::EventName;
use serde_json::json;

use super::*;
use crate::limits::{ENV_TOTAL_BYTES_MAX, ENV_VALUE_BYTES_MAX};
use crate::template::CommandText;

fn event(name: &str, data: Value) -> Event {
    let Value::Object(data) = data else { panic!("data must be an object") };
    Event::new(EventName::resolve(name).expect("a known event"), data)
}

fn environment(all: &[(&str, &str)]) -> Environment {
    Environment::new(all.iter().map(|(name, value)| (name.into(), value.into())))
}

fn child(event: &Event, environment: &Environment, command: &str) -> ChildEnvironment {
    let carried = Carried::default();
    let variables = Variables { event, carried: &carried, environment };
    let command = CommandText::new(command).expect("valid");
    ChildEnvironment::new(&variables, command.references(), &[], &[])
}

/// What the child sees: if a name occurs twice, the last one counts.
fn get(child: &ChildEnvironment, name: &str) -> Option<String> {
    let mut strings = child.strings.iter().rev().chain(child.inherited.iter());
    let found = strings.find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_string_lossy().into_owned())
}

/// Names that data must never set in a child's environment: they control the shell or the loader.
fn is_forbidden(name: &str) -> bool {
    const EXACT: &[&str] = &["PATH", "HOME", "SHELL", "IFS", "ENV", "PS4"];
    const STARTS: &[&str] = &["BASH_", "LD_", "DYLD_", "GIT_", "PYTHON", "NODE_"];
    EXACT.contains(&name)
        || STARTS.iter().any(|start| name.starts_with(start))
        || name.ends_with("_OPTIONS")
}

#[test]
fn none_of_our_variables_can_control_the_shell() {
    for name in names() {
        assert!(!is_forbidden(name), "{name}");
        assert!(!is_forbidden(&format!("{PREFIX}{name}")), "{PREFIX}{name}");
    }
    for name in ["PATH", "BASH_ENV", "LD_PRELOAD", "GIT_DIR", "PYTHONPATH", "NODE_OPTIONS"] {
        assert!(is_forbidden(name), "{name}");
    }
}

#[test]
fn a_hook_inherits_no_variable_that_steers_its_interpreter_and_may_set_one() {
    let steering = [
        ("BASH_ENV", "/tmp/yes"),
        ("LD_PRELOAD", "/tmp/yes.so"),
        ("BASH_FUNC_grep%%", "() { :; }"),
        ("PERL5OPT", "-Myes"),
    ];
    let kept = [("PATH", "/usr/bin"), ("LD_LIBRARY_PATH", "/opt/lib")];
    let host = environment(&[&steering[..], &kept[..]].concat());
    let event = event("tool:pre_execute", json!({ "tool_name": "bash" }));
    let variables = Variables { event: &event, carried: &Carried::default(), environment: &host };
    let inherits = ChildEnvironment::new(&variables, &[], &[], &[]);
    for (name, value) in kept {
        assert_eq!(get(&inherits, name).as_deref(), Some(value), "{name}");
    }
    for (name, _) in steering {
        assert_eq!(get(&inherits, name), None, "{name}");
    }
    let own = [("BASH_ENV".to_owned(), "/own".to_owned())];
    let sets = ChildEnvironment::new(&variables, &[], &[], &own);
    assert_eq!(get(&sets, "BASH_ENV").as_deref(), Some("/own"));
    assert!(host.for_agents().iter().any(|(name, _)| name == "BASH_ENV"));
}

#[test]
fn hostile_fields_stay_out_of_the_environment() {
    let hostile = event(
        "tool:pre_execute",
        json!({ "path": "/evil", "PATH": "/evil", "bash_env": "x", "ld_preload": "x", "ifs": "x",
                "env": "x", "node_options": "x", "tool_name": "bash" }),
    );
    let child = child(&hostile, &environment(&[("PATH", "/usr/bin")]), "true");
    assert_eq!(get(&child, "PATH").as_deref(), Some("/usr/bin"));
    for name in ["BASH_ENV", "LD_PRELOAD", "IFS", "ENV", "NODE_OPTIONS", "HOOKWRIGHT_PATH"] {
        assert_eq!(get(&child, name), None, "{name}");
    }
    assert_eq!(get(&child, "TOOL_NAME").as_deref(), Some("bash"));
}

#[test]
fn every_variable_exists_also_with_the_prefix() {
    let event = event("iteration:complete", json!({ "iteration": 7, "stage": "work" }));
    let child = child(&event, &environment(&[]), "true");
    for name in ["ITERATION", "HOOKWRIGHT_ITERATION"] {
        assert_eq!(get(&child, name).as_deref(), Some("7"));
    }
    assert_eq!(get(&child, "EVENT").as_deref(), Some("iteration:complete"));
    assert_eq!(get(&child, "SUBJECT").as_deref(), Some("work"));
}

// Conformance: agent-pipelines-060
#[test]
fn variables_of_agent_pipelines_without_a_value_are_empty() {
    let event = event("session:start", json!({}));
    let child = child(&event, &environment(&[("STAGE", "prod"), ("MODEL", "x")]), "true");
    assert_eq!(get(&child, "STAGE").as_deref(), Some(""), "the host's own STAGE is another thing");
    assert_eq!(get(&child, "MODEL"), None, "so is its MODEL");
}

#[test]
fn an_inner_hook_does_not_inherit_the_variables_of_an_outer_one() {
    let outer = environment(&[
        ("TOOL_NAME", "bash"),
        ("HOOKWRIGHT_TOOL_NAME", "bash"),
        ("PROMPT_FILE", "/tmp/x"),
        ("HOOKWRIGHT_REF_1", "x"),
        ("HOOKWRIGHT_RUN", "a:b"),
    ]);
    let child = child(&event("session:end", json!({})), &outer, "true");
    for name in ["TOOL_NAME", "HOOKWRIGHT_TOOL_NAME", "PROMPT_FILE", "HOOKWRIGHT_REF_1"] {
        assert_eq!(get(&child, name), None, "{name}");
    }
    assert_eq!(get(&child, "HOOKWRIGHT_RUN").as_deref(), Some("a:b"), "the marker is a chain");
}

#[test]
fn lists_of_paths_have_one_path_per_line_and_json_stays_json() {
    let event = event(
        "tool:pre_execute",
        json!({ "changed_files": ["a b.rs", "c.rs"], "tool_input": ["x", "y"], "success": true }),
    );
    let child = child(&event, &environment(&[]), "true");
    assert_eq!(get(&child, "CHANGED_FILES").as_deref(), Some("a b.rs\nc.rs"));
    assert_eq!(get(&child, "TOOL_INPUT").as_deref(), Some(r#"["x","y"]"#));
    assert_eq!(get(&child, "SUCCESS").as_deref(), Some("true"));
}

#[test]
fn a_path_reference_holds_exactly_the_value() {
    let input = json!({ "command": "$(touch x)", "edits": [{ "n": 1 }], "deep": { "a": null } });
    let event = event("tool:pre_execute", json!({ "tool_input": input }));
    let command = "echo ${TOOL_INPUT.command} ${TOOL_INPUT.edits.0.n} ${TOOL_INPUT.deep} \
                   ${TOOL_INPUT.deep.a} ${TOOL_INPUT.no.such} ${TOOL_INPUT.edits.x}";
    let child = child(&event, &environment(&[]), command);
    let values: Vec<Option<String>> =
        (1..=6).map(|n| get(&child, &format!("HOOKWRIGHT_REF_{n}"))).collect();
    let expected = ["$(touch x)", "1", r#"{"a":null}"#, "", "", ""];
    assert_eq!(values, expected.map(|text| Some(text.to_owned())));
}

#[test]
fn a_path_reaches_into_json_that_a_host_sent_as_text() {
    let event = event("tool:pre_execute", json!({ "tool_input": "{\"command\":\"ls\"}" }));
    let child = child(&event, &environment(&[]), "echo ${TOOL_INPUT.command}");
    assert_eq!(get(&child, "HOOKWRIGHT_REF_1").as_deref(), Some("ls"));
}

#[test]
fn a_value_that_is_too_large_or_holds_a_nul_is_left_out_whole() {
    let large = "x".repeat(ENV_VALUE_BYTES_MAX + 1);
    let event = event(
        "tool:pre_execute",
        json!({ "prompt": large, "error": "a\u{0}b", "content": "x".repeat(ENV_VALUE_BYTES_MAX) }),
    );
    let child = child(&event, &environment(&[]), "true");
    let left: Vec<&str> = child.left_out.iter().map(|left| left.name.as_str()).collect();
    assert_eq!(left, ["ERROR", "PROMPT"]);
    assert_eq!(child.left_out[1].value, large);
    assert_eq!(get(&child, "PROMPT"), None);
    assert_eq!(get(&child, "CONTENT").map(|text| text.len()), Some(ENV_VALUE_BYTES_MAX));
}

#[test]
fn beyond_the_total_the_largest_go_first() {
    let of = |kib: usize| "x".repeat(kib * 1024);
    let event = event(
        "tool:pre_execute",
        json!({ "prompt": of(95), "content": of(94), "output": of(93), "error": of(92),
                "message": of(91), "title": of(90) }),
    );
    let child = child(&event, &environment(&[]), "true");
    let left: Vec<&str> = child.left_out.iter().map(|left| left.name.as_str()).collect();
    assert_eq!(left, ["PROMPT"]);
    let kept: usize = child.strings.iter().map(|(_, value)| value.len()).sum();
    assert!(kept <= 2 * ENV_TOTAL_BYTES_MAX);
}

#[test]
fn the_authors_env_overrides_everything_else() {
    let event = event("session:start", json!({ "source": "startup" }));
    let (carried, environment) = (Carried::default(), environment(&[("A", "host")]));
    let variables = Variables { event: &event, carried: &carried, environment: &environment };
    let author = [("A".to_owned(), "mine".to_owned()), ("SOURCE".to_owned(), "also".to_owned())];
    let mut child = ChildEnvironment::new(&variables, &[], &[], &author);
    child.set("A", "last");
    assert_eq!(get(&child, "A").as_deref(), Some("last"));
    assert_eq!(get(&child, "SOURCE").as_deref(), Some("also"));
}

#[test]
fn the_json_on_standard_input_is_flat_and_a_superset_of_claudes() {
    let event = event(
        "tool:pre_execute",
        json!({ "session_id": "s", "tool_name": "Bash", "unknown": [1], "subject": "evil",
                "hook": "evil", "event": "evil" }),
    );
    let text = stdin_line(&event, "hookwright/x#0", 2);
    assert_eq!(text.find('\n'), Some(text.len() - 1), "one line");
    let line: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        line,
        json!({ "event": "tool:pre_execute", "hook_event_name": "PreToolUse", "subject": "bash",
                "session_id": "s", "tool_name": "Bash", "unknown": [1],
                "hook": { "id": "hookwright/x#0", "attempt": 2 } })
    );
}

#[test]
fn later_hooks_see_the_results_of_earlier_ones() {
    let event = event("session:start", json!({}));
    let environment = environment(&[("HOME", "/home/u")]);
    let carried = Carried {
        last_hook_status: Some("failed".into()),
        hook_response: Some(json!({ "action": "approve" })),
        spawn_output: Some(json!({ "status": "ok" })),
    };
    let variables = Variables { event: &event, carried: &carried, environment: &environment };
    assert_eq!(variables.at_path("HOOK_RESPONSE", &["action".into()]), "approve");
    assert_eq!(variables.value("LAST_HOOK_STATUS").as_deref(), Some(&json!("failed")));
    assert_eq!(
        variables.value("HOOKWRIGHT_SPAWN_OUTPUT").as_deref(),
        Some(&json!({ "status": "ok" }))
    );
    assert_eq!(variables.value("HOME").as_deref(), Some(&json!("/home/u")));
    assert_eq!(variables.value("CALLBACK_URL"), None);
}
