//! What would happen at an event, and why.

use hookwright_config::{ConfigFile, load_text};
use hookwright_engine::Chain;
use hookwright_engine::explain::{ExplainOptions, Fate, MissReason, explain};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_events::{Event, EventName};
use serde_json::{Value, json};

fn fates(text: &str, layer: Layer, name: &str, data: Value) -> Vec<(String, Fate)> {
    let Value::Object(data) = data else { panic!("data must be an object") };
    let event = Event::new(EventName::resolve(name).expect("known"), data);
    let file = ConfigFile::native("h.yaml", "h.yaml", layer);
    let loaded = load_text(text, &file, &Environment::default());
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let (chain, environment) = (Chain::default(), Environment::default());
    let skip = ["skipped".into()];
    let asked = ExplainOptions { skip: &skip, chain: &chain, environment: &environment };
    explain(&loaded.hooks, &event, asked)
        .into_iter()
        .map(|explained| (explained.hook.id.clone(), explained.fate))
        .collect()
}

#[test]
fn explain_lists_what_would_run_and_what_would_not_with_reasons() {
    let found = fates(
        "
hooks:
  session:start: [{id: elsewhere, command: x}]
  tool:pre_execute:
    - {id: runs, command: x}
    - {id: off, command: x, enabled: false}
    - {id: skipped, command: x}
    - {id: unmet, command: x, when: \"${TOOL_NAME} == 'read'\"}
    - {id: met, command: x, when: \"${TOOL_NAME} == 'bash'\"}
    - {id: depends, command: x, when: \"${LAST_HOOK_STATUS} == 'failed'\"}
    - {id: fails, command: x, when: \"'a' % 2 == 0\"}
    - {id: commit, type: git-commit}
    - {id: child, pipeline: x}
    - {id: other, command: x, matcher: read}
",
        Layer::Project,
        "tool:pre_execute",
        json!({ "tool_name": "bash" }),
    );
    let shape: Vec<(&str, String)> = found
        .iter()
        .map(|(id, fate)| {
            let text = match fate {
                Fate::Runs { .. } => "runs".to_owned(),
                Fate::Depends { on, .. } => format!("depends on {on}"),
                Fate::Skipped { reason } => format!("skipped: {reason}"),
                Fate::Fails { reason, .. } => format!("fails: {reason}"),
                Fate::Missed { why } => format!("missed: {why:?}"),
            };
            (id.as_str(), text)
        })
        .collect();
    let expected = [
        ("runs", "runs"),
        ("off", "skipped: enabled: false"),
        ("skipped", "skipped: --skip skipped"),
        ("unmet", "skipped: when: ${TOOL_NAME} == 'read'"),
        ("met", "runs"),
        ("depends", "depends on met"),
        (
            "fails",
            "fails: its condition `'a' % 2 == 0` cannot be evaluated: `%` needs a number but",
        ),
        ("commit", "runs"),
        ("child", "runs"),
        ("elsewhere", "missed: Event"),
        ("other", "missed: Subject { subject: Some(\"bash\") }"),
    ];
    let seen: Vec<&str> = shape.iter().map(|(id, _)| *id).collect();
    assert_eq!(seen, expected.map(|(id, _)| id));
    for ((id, found), (_, wanted)) in shape.iter().zip(expected) {
        assert!(found.starts_with(wanted.split(" but").next().expect("text")), "{id}: {found}");
    }
}

#[test]
fn names_that_wake_for_certain_reasons_and_disabled_global_hooks_are_explained() {
    let reason = fates(
        "hooks: {on_session_complete: [{id: a, command: x}]}",
        Layer::Project,
        "session:end",
        json!({ "reason": "error" }),
    );
    let only = &["completed", "max_iterations"][..];
    assert_eq!(reason[0].1, Fate::Missed { why: MissReason::Reason { only } });
    let global = fates(
        "disable_global_hooks: true\nhooks: {stage:start: [{id: a, command: x}]}",
        Layer::Global,
        "stage:start",
        json!({ "stage": "s" }),
    );
    assert_eq!(global[0].1, Fate::Missed { why: MissReason::GlobalDisabled });
}
