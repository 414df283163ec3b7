use super::*;

/// Lines of the version before the three levels, at least one for each kind; kinds with optional
/// fields have one with and one without them.
const RECORDED: &str = include_str!("recorded.jsonl");

#[test]
fn every_kind_is_read_and_written_as_it_was_recorded() {
    for line in RECORDED.lines() {
        let event = RunEvent::from_json(line).expect(line);
        assert_eq!(serde_json::to_string(&event).expect("plain data"), line);
        assert_eq!(serde_json::from_str::<RunEvent>(line).expect(line), event);
    }
}

#[test]
fn the_fields_of_a_line_may_be_in_any_order() {
    for line in RECORDED.lines() {
        let fields: serde_json::Map<String, Value> = serde_json::from_str(line).expect(line);
        let turned: serde_json::Map<String, Value> = fields.into_iter().rev().collect();
        let turned = serde_json::to_string(&turned).expect("plain data");
        let event = RunEvent::from_json(line).expect(line);
        assert_eq!(RunEvent::from_json(&turned).expect(&turned), event);
    }
    let within = r#"{"data":{"kind":"hook_output"},"version":1,"firing":1,"at":"","session":null,"kind":"fired","event":"stage:start","subject":null}"#;
    assert!(RunEvent::from_json(within).is_ok());
}

#[test]
fn a_kind_that_is_unknown_or_lacks_a_field_is_an_error_that_says_so() {
    let head = r#"{"version":1,"firing":3,"at":"x","session":null"#;
    for (rest, said) in [
        (r#","kind":"hook_eaten"}"#, "unknown variant `hook_eaten`"),
        (r#","kind":"eaten"}"#, "unknown variant `eaten`"),
        (r#","kind":"hook_skipped","hook":"a"}"#, "missing field `reason`"),
        ("}", "missing field `kind`"),
        ("", "EOF"),
    ] {
        let error = RunEvent::from_json(&format!("{head}{rest}")).expect_err(rest).to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn what_only_people_watch_is_not_journalled() {
    let shown = |event: &RunEvent| !event.kind.is_journalled();
    let events = RECORDED.lines().map(|line| RunEvent::from_json(line).expect(line));
    let shown: Vec<RunEvent> = events.filter(shown).collect();
    let kinds = serde_json::to_value(shown).expect("plain data");
    let kinds: Vec<&str> =
        kinds.as_array().expect("a list").iter().flat_map(|e| e["kind"].as_str()).collect();
    assert_eq!(kinds, ["taken_up", "hook_output", "agent_prompted", "agent_output"]);
}

#[test]
fn the_address_of_a_wait_is_shown_but_not_kept() {
    let mut waiting = RunEventKind::Firing(FiringEvent::HookWaiting {
        hook: "a".into(),
        wait: "w".into(),
        question: "deploy?".into(),
        since: "2026-01-02T03:04:05Z".into(),
        until: "2026-01-02T04:04:05Z".into(),
        url: Some("http://127.0.0.1/callback/token".into()),
    });
    assert!(waiting.is_journalled());
    let url = waiting.take_unkept();
    assert_eq!(url.as_deref(), Some("http://127.0.0.1/callback/token"));
    let line = serde_json::to_string(&waiting).expect("plain data");
    assert!(!line.contains("token"), "{line}");
    waiting.give_back(url);
    assert!(serde_json::to_string(&waiting).expect("plain data").contains("token"));
}
