use proptest::prelude::*;
use serde_json::json;

use super::*;

fn event(name: &str) -> EventName {
    EventName::resolve(name).unwrap()
}

fn read_here(stdout: &str) -> AnswerReading {
    read(stdout, true, &event("tool:pre_execute"))
}

fn deny(reason: &str) -> Answer {
    Answer {
        decision: Some(AnswerDecision::Deny),
        reason: Some(reason.into()),
        ..Answer::default()
    }
}

fn decided(decision: AnswerDecision) -> Answer {
    Answer { decision: Some(decision), ..Answer::default() }
}

fn context(text: &str) -> Answer {
    Answer { additional_context: vec![text.into()], ..Answer::default() }
}

fn broken(why: &str) -> AnswerReading {
    AnswerReading::Broken { why: why.into() }
}

fn expect(table: &[(&str, AnswerReading)]) {
    for (stdout, expected) in table {
        assert_eq!(read_here(stdout), *expected, "{stdout}");
    }
}

#[test]
fn every_decision_word_means_allow_ask_or_deny() {
    let words = [
        ("allow", AnswerDecision::Allow),
        ("approve", AnswerDecision::Allow),
        ("ask", AnswerDecision::Ask),
        ("deny", AnswerDecision::Deny),
        ("block", AnswerDecision::Deny),
    ];
    for (word, decision) in words {
        let stdout = json!({ "decision": word }).to_string();
        assert_eq!(read_here(&stdout), AnswerReading::Whole(decided(decision)), "{word}");
    }
}

#[test]
fn every_native_field_is_read() {
    let stdout = json!({
        "decision": "deny", "reason": "why", "feedback": "do this",
        "continue": false, "stopReason": "enough", "systemMessage": "for the user",
        "additionalContext": ["one", "two"], "updatedInput": { "command": "ls" },
        "updatedOutput": "shorter", "suppressOutput": true, "somebodyElses": 1
    });
    assert_eq!(
        read_here(&stdout.to_string()),
        AnswerReading::Whole(Answer {
            decision: Some(AnswerDecision::Deny),
            reason: Some("why\ndo this".into()),
            stop: true,
            stop_reason: Some("enough".into()),
            system_message: Some("for the user".into()),
            additional_context: vec!["one".into(), "two".into()],
            updated_input: Some(json!({ "command": "ls" })),
            updated_output: Some(json!("shorter")),
            updated_mcp_output: None,
            suppress_output: true,
            must_reach_agent: false,
            updated_permissions: None,
        })
    );
}

#[test]
fn one_field_is_enough() {
    let reason = Answer { reason: Some("x".into()), ..Answer::default() };
    expect(&[
        (r#"{"reason": "x"}"#, AnswerReading::Whole(reason.clone())),
        (r#"{"feedback": "x"}"#, AnswerReading::Whole(reason)),
        (r#"{"additionalContext": "x"}"#, AnswerReading::Whole(context("x"))),
        (r#"{"continue": true}"#, AnswerReading::Whole(Answer::default())),
        (
            r#"{"continue": false}"#,
            AnswerReading::Whole(Answer { stop: true, ..Answer::default() }),
        ),
        (r#"{"hookSpecificOutput": {}}"#, AnswerReading::Whole(Answer::default())),
    ]);
}

#[test]
fn null_and_empty_text_are_as_good_as_nothing() {
    expect(&[
        (r#"{"decision": null, "reason": null}"#, AnswerReading::Nothing),
        (
            r#"{"decision": "deny", "reason": "", "feedback": "x", "stopReason": null,
                "additionalContext": ["", "a"], "updatedInput": null,
                "hookSpecificOutput": {"hookEventName": null, "decision": null}}"#,
            AnswerReading::Whole(Answer { additional_context: vec!["a".into()], ..deny("x") }),
        ),
        (r#"{"decision": "deny", "hookSpecificOutput": null}"#, {
            AnswerReading::Whole(decided(AnswerDecision::Deny))
        }),
    ]);
}

// Conformance: claude-code-005
#[test]
fn claudes_fields_are_read() {
    let table = [
        (
            json!({
                "hookEventName": "PreToolUse", "permissionDecision": "allow",
                "permissionDecisionReason": "fine", "updatedInput": { "a": 1 },
                "additionalContext": "note"
            }),
            Answer {
                decision: Some(AnswerDecision::Allow),
                reason: Some("fine".into()),
                updated_input: Some(json!({ "a": 1 })),
                ..context("note")
            },
        ),
        (json!({ "permissionDecision": "deny" }), decided(AnswerDecision::Deny)),
        (json!({ "permissionDecision": "ask" }), decided(AnswerDecision::Ask)),
        (json!({ "permissionDecision": "defer" }), decided(AnswerDecision::Ask)),
        (
            json!({ "updatedToolOutput": [1], "updatedMCPToolOutput": 2 }),
            Answer {
                updated_output: Some(json!([1])),
                updated_mcp_output: Some(Box::new(json!(2))),
                ..Answer::default()
            },
        ),
        (
            json!({ "updatedMCPToolOutput": 2 }),
            Answer { updated_mcp_output: Some(Box::new(json!(2))), ..Answer::default() },
        ),
        (
            json!({ "decision": {
                "behavior": "allow", "updatedInput": { "a": 2 }, "updatedPermissions": [{}]
            } }),
            Answer {
                updated_input: Some(json!({ "a": 2 })),
                updated_permissions: Some(json!([{}])),
                ..decided(AnswerDecision::Allow)
            },
        ),
        (
            json!({ "decision": { "behavior": "deny", "message": "no", "interrupt": true } }),
            Answer { stop: true, stop_reason: Some("no".into()), ..deny("no") },
        ),
        (
            json!({ "decision": { "behavior": "deny", "message": "no", "interrupt": false } }),
            deny("no"),
        ),
    ];
    for (specific, expected) in table {
        let stdout = json!({ "hookSpecificOutput": specific }).to_string();
        assert_eq!(read_here(&stdout), AnswerReading::Whole(expected), "{stdout}");
    }
}

#[test]
fn the_special_place_wins_but_a_deny_anywhere_is_a_deny_and_an_ask_beats_an_allow() {
    let decision = |top: &str, permission: &str| {
        let stdout = json!({
            "decision": top, "reason": "top",
            "hookSpecificOutput": {
                "permissionDecision": permission, "permissionDecisionReason": "special"
            }
        });
        read_here(&stdout.to_string())
    };
    let whole = |decision, reason: &str| {
        AnswerReading::Whole(Answer {
            decision: Some(decision),
            reason: Some(reason.into()),
            ..Answer::default()
        })
    };
    assert_eq!(decision("allow", "allow"), whole(AnswerDecision::Allow, "special"));
    assert_eq!(decision("deny", "allow"), whole(AnswerDecision::Deny, "top"));
    assert_eq!(decision("allow", "deny"), whole(AnswerDecision::Deny, "special"));
    assert_eq!(decision("ask", "allow"), whole(AnswerDecision::Ask, "top"));
    assert_eq!(decision("ask", "deny"), whole(AnswerDecision::Deny, "special"));
    expect(&[
        (
            r#"{"additionalContext": "top", "updatedInput": {"a": 1}, "updatedOutput": 1,
                "hookSpecificOutput": {"additionalContext": "special", "updatedInput": {"a": 2},
                                       "updatedToolOutput": 2}}"#,
            AnswerReading::Whole(Answer {
                updated_input: Some(json!({ "a": 2 })),
                updated_output: Some(json!(2)),
                ..context("special")
            }),
        ),
        (
            r#"{"decision": "deny", "hookSpecificOutput": {"decision": {"behavior": "allow"}}}"#,
            AnswerReading::Whole(decided(AnswerDecision::Deny)),
        ),
    ]);
}

#[test]
fn a_reason_never_speaks_for_a_weaker_decision() {
    expect(&[
        (
            r#"{"decision": "deny", "hookSpecificOutput":
                {"permissionDecision": "allow", "permissionDecisionReason": "looks fine"}}"#,
            AnswerReading::Whole(decided(AnswerDecision::Deny)),
        ),
        (
            r#"{"reason": "no decision beside it",
                "hookSpecificOutput": {"permissionDecision": "deny"}}"#,
            AnswerReading::Whole(deny("no decision beside it")),
        ),
    ]);
}

#[test]
fn an_answer_for_another_event_is_broken() {
    let stdout = |name: &str| {
        let specific = json!({ "hookEventName": name, "additionalContext": "x" });
        json!({ "hookSpecificOutput": specific }).to_string()
    };
    for name in ["PreToolUse", "tool:pre_execute"] {
        assert_eq!(read_here(&stdout(name)), AnswerReading::Whole(context("x")), "{name}");
    }
    for name in ["PostToolUse", "pretooluse", "Nonsense"] {
        let why = format!("`hookSpecificOutput.hookEventName` is `{name}`, expected PreToolUse");
        assert_eq!(read_here(&stdout(name)), broken(&why));
    }
    for name in ["PostToolBatch", "claude:post_tool_batch"] {
        assert_eq!(
            read(&stdout(name), true, &event("claude:post_tool_batch")),
            AnswerReading::Whole(context("x")),
            "{name}"
        );
    }
}

#[test]
fn a_wrong_word_or_type_makes_the_answer_invalid_and_is_named() {
    let in_specific = "`hookSpecificOutput.";
    let table = [
        (
            json!({ "decision": "maybe" }),
            "`decision` is `maybe`, expected allow, approve, deny, block or ask".to_owned(),
        ),
        (
            json!({ "decision": "Denied" }),
            "`decision` is `Denied`, expected allow, approve, deny, block or ask".into(),
        ),
        (
            json!({ "decision": "" }),
            "`decision` is empty, expected allow, approve, deny, block or ask".into(),
        ),
        (
            json!({ "decision": true }),
            "`decision` is `true`, expected allow, approve, deny, block or ask".into(),
        ),
        (
            json!({ "decision": "deny", "reason": ["a"] }),
            "`reason` is a list, expected text".into(),
        ),
        (json!({ "continue": "no" }), "`continue` is `no`, expected true or false".into()),
        (json!({ "stopReason": 5 }), "`stopReason` is `5`, expected text".into()),
        (json!({ "systemMessage": {} }), "`systemMessage` is an object, expected text".into()),
        (json!({ "additionalContext": 1 }), "`additionalContext` is `1`, expected text".into()),
        (
            json!({ "additionalContext": ["a", 1] }),
            "`additionalContext` contains `1`, expected only strings".into(),
        ),
        (json!({ "updatedInput": "ls" }), "`updatedInput` is `ls`, expected an object".into()),
        (json!({ "suppressOutput": 0 }), "`suppressOutput` is `0`, expected true or false".into()),
        (json!({ "feedback": false }), "`feedback` is `false`, expected text".into()),
        (
            json!({ "hookSpecificOutput": [] }),
            "`hookSpecificOutput` is a list, expected an object".into(),
        ),
        (
            json!({ "hookSpecificOutput": { "permissionDecision": "block" } }),
            format!(
                "{in_specific}permissionDecision` is `block`, expected allow, deny, ask or defer"
            ),
        ),
        (
            json!({ "hookSpecificOutput": { "decision": "deny" } }),
            format!("{in_specific}decision` is `deny`, expected an object"),
        ),
        (
            json!({ "hookSpecificOutput": { "decision": { "behavior": "ask" } } }),
            format!("{in_specific}decision.behavior` is `ask`, expected allow or deny"),
        ),
        (
            json!({ "hookSpecificOutput": { "decision": { "message": "no" } } }),
            format!("{in_specific}decision.behavior` is missing, expected allow or deny"),
        ),
        (
            json!({ "hookSpecificOutput": { "decision":
                { "behavior": "allow", "updatedPermissions": {} } } }),
            format!("{in_specific}decision.updatedPermissions` is an object, expected a list"),
        ),
        (
            json!({ "decision": "x".repeat(100) }),
            format!(
                "`decision` is `{}…`, expected allow, approve, deny, block or ask",
                "x".repeat(60)
            ),
        ),
    ];
    for (stdout, why) in table {
        assert_eq!(read_here(&stdout.to_string()), AnswerReading::Broken { why }, "{stdout}");
    }
}

#[test]
fn output_that_is_not_meant_for_us_is_ignored() {
    expect(&[
        ("", AnswerReading::Nothing),
        (" \n\t", AnswerReading::Nothing),
        ("all tests passed\n", AnswerReading::Nothing),
        ("{}", AnswerReading::Nothing),
        (r#"{"level": "info", "message": "x"}"#, AnswerReading::Nothing),
        (
            "{\"level\": \"info\"}\n{\"level\": \"warn\", \"message\": \"x\"}\n",
            AnswerReading::Nothing,
        ),
        ("{\"reason\": \"x\"}\n{\"feedback\": \"y\"}", AnswerReading::Nothing),
        (r#""{\"decision\": \"deny\"}""#, AnswerReading::Nothing),
        (r#"[{"decision": "deny"}]"#, AnswerReading::Nothing),
        ("[1, 2]", AnswerReading::Nothing),
        ("42", AnswerReading::Nothing),
        ("null", AnswerReading::Nothing),
        ("log: {\"decision\": \"deny\"}", AnswerReading::Nothing),
        ("starting\n{broken\n", AnswerReading::Nothing),
        ("starting\n{\"decision\": \"merged\", \"systemMessage\": \"x\"}", AnswerReading::Nothing),
        ("starting\n{\"systemMessage\": 5}", AnswerReading::Nothing),
        ("{\"result\": {\"decision\": \"deny\"}}", AnswerReading::Nothing),
        ("log\n{\n  \"result\":\n  {\"decision\": \"deny\"}\n}", AnswerReading::Nothing),
        ("\0\0\0", AnswerReading::Nothing),
    ]);
}

#[test]
fn an_answer_among_other_text_restricts_and_adds() {
    let denied = AnswerReading::Among(deny("no"));
    let pretty = "checking\n  {\n    \"decision\": \"deny\",\n    \"reason\": \"no\"\n  }\ndone";
    expect(&[
        ("{\"decision\":\"deny\",\"reason\":\"no\"}\nlog line", denied.clone()),
        ("log line\n{\"decision\":\"deny\",\"reason\":\"no\"}", denied.clone()),
        ("log\r\n \t{\"decision\":\"deny\",\"reason\":\"no\"}\r\nlog\r\n", denied.clone()),
        ("{\"decision\":\"deny\",\"reason\":\"no\"} trailing", denied.clone()),
        ("{\"decision\":\"deny\",\"reason\":\"no\"}\0", denied.clone()),
        ("\0\n{\"decision\":\"deny\",\"reason\":\"no\"}", denied.clone()),
        ("{unfinished\n{\"decision\":\"deny\",\"reason\":\"no\"}", denied.clone()),
        ("{\"a\":1}{\"decision\":\"deny\",\"reason\":\"no\"}", denied.clone()),
        ("{\"a\":1}  {\"decision\":\"deny\",\"reason\":\"no\"} x", denied.clone()),
        (pretty, denied),
        (
            "log\n{\"continue\": false, \"stopReason\": \"enough\"}",
            AnswerReading::Among(Answer {
                stop: true,
                stop_reason: Some("enough".into()),
                ..Answer::default()
            }),
        ),
        ("log\n{\"additionalContext\": \"x\"}", AnswerReading::Among(context("x"))),
    ]);
}

#[test]
fn a_log_grants_and_rewrites_nothing() {
    let all = json!({
        "decision": "allow", "reason": "fine", "updatedInput": {}, "updatedOutput": 1,
        "suppressOutput": true, "systemMessage": "kept",
        "hookSpecificOutput": {
            "permissionDecision": "allow",
            "decision": { "behavior": "allow", "updatedPermissions": [], "updatedInput": {} }
        }
    });
    assert_eq!(
        read_here(&format!("log\n{all}")),
        AnswerReading::Among(Answer { system_message: Some("kept".into()), ..Answer::default() })
    );
}

#[test]
fn several_answers_become_one() {
    let stdout = r#"
        {"additionalContext": "1", "systemMessage": "a", "reason": "of nothing"}
        {"decision": "allow", "reason": "of allow"}
        {"decision": "ask", "reason": "of ask"}
        {"decision": "deny"}
        {"decision": "deny", "reason": "of the first deny", "additionalContext": ["2", "3"]}
        {"continue": false}
        {"decision": "block", "reason": "of another deny", "systemMessage": "b"}
        {"continue": false, "stopReason": "of stop"}
        {"stopReason": "of nothing"}"#;
    assert_eq!(
        read_here(stdout),
        AnswerReading::Among(Answer {
            stop: true,
            stop_reason: Some("of stop".into()),
            system_message: Some("a\nb".into()),
            additional_context: vec!["1".into(), "2".into(), "3".into()],
            ..deny("of the first deny")
        })
    );
    expect(&[(
        "{\"decision\":\"allow\"}\n{\"decision\":\"ask\",\"reason\":\"x\"}\n{\"decision\":\"allow\"}",
        AnswerReading::Among(Answer { reason: Some("x".into()), ..decided(AnswerDecision::Ask) }),
    )]);
}

#[test]
fn a_restricting_object_among_text_with_a_wrong_field_is_invalid() {
    let why = broken("`reason` is `5`, expected text");
    expect(&[
        ("log\n{\"decision\": \"deny\", \"reason\": 5}", why.clone()),
        ("log\n{\"continue\": false, \"reason\": 5}", why.clone()),
        (
            "log\n{\"hookSpecificOutput\": {\"permissionDecision\": \"ask\"}, \"reason\": 5}",
            why.clone(),
        ),
        (
            "{\"decision\": \"deny\", \"reason\": 5}\n{\"systemMessage\": \"x\"}\n{\"decision\": \"ask\"}",
            why,
        ),
        (
            "log\n{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"decision\": {\"behavior\": \"deny\"}}}",
            broken("`hookSpecificOutput.hookEventName` is `Stop`, expected PreToolUse"),
        ),
        (
            "{\"decision\": \"deny\", \"reason\": 5}\n{\"decision\": \"deny\", \"reason\": \"no\"}",
            AnswerReading::Among(deny("no")),
        ),
        ("log\n{\"decision\": \"allow\", \"reason\": 5}", AnswerReading::Nothing),
    ]);
}

#[test]
fn output_that_begins_like_an_object_but_is_not_one_is_invalid() {
    let begins = "it begins with `{` but is not JSON:";
    let table = [
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("{\"decision\": \"deny\"", "EOF while parsing an object at line 1 column 19"),
        ("{decision: deny}", "key must be a string at line 1 column 2"),
        ("\u{feff}{'decision': 'deny'}\nlog", "key must be a string at line 1 column 2"),
        (
            "{\"decision\": \"de\0ny\"}",
            "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 17",
        ),
    ];
    for (stdout, cause) in table {
        assert_eq!(read_here(stdout), broken(&format!("{begins} {cause}")), "{stdout}");
    }
}

#[test]
fn spaces_and_a_byte_order_mark_around_the_object_do_not_matter() {
    for stdout in [
        "\n {\"decision\":\"allow\"} \n\n",
        "\u{feff}{\"decision\":\"allow\"}\n",
        " \u{feff} {\"decision\":\"allow\"}",
        "{\n\t\"decision\": \"allow\"\r\n}\r\n",
    ] {
        assert_eq!(
            read_here(stdout),
            AnswerReading::Whole(decided(AnswerDecision::Allow)),
            "{stdout}"
        );
    }
}

#[test]
fn output_that_was_cut_grants_nothing_and_is_broken_without_an_answer() {
    let cut = |stdout: &str| read(stdout, false, &event("tool:pre_execute"));
    let too_long = broken("it begins with `{` but was truncated because it is too long");
    assert_eq!(cut("{\"decision\":\"allow\"}"), AnswerReading::Among(Answer::default()));
    assert_eq!(cut("{\"decision\":\"deny\",\"reason\":\"no\"}"), AnswerReading::Among(deny("no")));
    assert_eq!(cut("{\"level\":\"info\"}\n{\"level\":\"in"), too_long);
    assert_eq!(cut("{\"updatedInput\":{\"text\":\"aaa"), too_long);
    assert_eq!(cut("plain text"), AnswerReading::Nothing);
    assert_eq!(
        cut("text\n{\"decision\":\"deny\",\"reason\":\"no\"}"),
        AnswerReading::Among(deny("no"))
    );
}

#[test]
fn the_first_line_can_send_the_hook_to_the_background() {
    let table = [
        (r#"{"async": true}"#, Some(ASYNC_TIMEOUT)),
        ("\u{feff} {\"async\":true,\"asyncTimeout\":1.5}\r\n", Some(Duration::from_millis(1500))),
        (r#"{"async": true, "asyncTimeout": 90}"#, Some(Duration::from_secs(90))),
        (r#"{"async": true, "asyncTimeout": 1e300}"#, Some(ASYNC_TIMEOUT_MAX)),
        (r#"{"async": true, "asyncTimeout": 0}"#, Some(ASYNC_TIMEOUT)),
        (r#"{"async": true, "asyncTimeout": -5}"#, Some(ASYNC_TIMEOUT)),
        (r#"{"async": true, "asyncTimeout": "5"}"#, Some(ASYNC_TIMEOUT)),
        (r#"{"async": false}"#, None),
        (r#"{"async": "true"}"#, None),
        (r#"{"async": true"#, None),
        (r#"[{"async": true}]"#, None),
        (r#"{"async": true, "decision": "deny"}"#, None),
        ("", None),
    ];
    for (line, expected) in table {
        assert_eq!(async_for(line, Duration::from_secs(1)), expected, "{line}");
    }
}

#[test]
fn the_async_line_is_not_part_of_the_late_answer() {
    expect(&[
        ("{\"async\": true}", AnswerReading::Nothing),
        ("{\"async\": true}\nlog", AnswerReading::Nothing),
        (
            "{\"async\": true, \"asyncTimeout\": 5}\n{\"additionalContext\": \"x\"}\n",
            AnswerReading::Whole(context("x")),
        ),
        (
            "log\n{\"async\": true}\n{\"additionalContext\": \"x\"}",
            AnswerReading::Among(context("x")),
        ),
        (
            "{\"async\": true, \"decision\": \"deny\"}",
            AnswerReading::Whole(decided(AnswerDecision::Deny)),
        ),
    ]);
}

#[test]
fn deep_nesting_is_not_parsable_and_does_not_exhaust_the_stack() {
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let why = "it begins with `{` but is not JSON: recursion limit exceeded at line 1 column 636";
    assert_eq!(read_here(&deep), broken(why));
    assert_eq!(read_here(&"[".repeat(1 << 20)), AnswerReading::Nothing);
    assert_eq!(
        read_here(&format!("{deep}\n{{\"decision\":\"deny\",\"reason\":\"no\"}}")),
        AnswerReading::Among(deny("no"))
    );
}

/// Takes as long as reading a megabyte a few times; reading it once per line would take minutes.
#[test]
fn a_megabyte_of_openings_is_read_in_linear_time() {
    const SIZE: usize = 1 << 20;
    let read_after =
        |line: &str, last: &str| read_here(&format!("{}\n{last}", line.repeat(SIZE / line.len())));
    for line in ["{", "{\n", "{}\n", "{} ", "x\n", "{\"a\":1,\n", "{\"a\":[1]}\n"] {
        assert_eq!(
            read_after(line, "{\"decision\":\"deny\",\"reason\":\"no\"}"),
            AnswerReading::Among(deny("no")),
            "{line}"
        );
    }
    for line in [" {\"a\":\n", "{\"a\":[\n"] {
        assert_eq!(
            read_after(line, "{\"decision\":\"allow\"}"),
            broken("it contains too many unfinished JSON objects to search for an answer"),
            "{line}"
        );
    }
}

#[test]
fn the_search_for_objects_ends_after_too_many_failed_bytes() {
    let padding = "\"x\",\n".repeat((1 << 20) / 5);
    let nested = "{\"a\":[\n".repeat(60);
    let some_context = "{\"additionalContext\":\"x\"}";
    assert_eq!(
        read_here(&format!("{some_context}\n{nested}{padding}")),
        broken("it contains too many unfinished JSON objects to search for an answer")
    );
    assert_eq!(
        read_here(&format!("{{\"decision\":\"deny\",\"reason\":\"no\"}}\n{nested}{padding}")),
        AnswerReading::Among(deny("no"))
    );
}

fn any_answer() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["allow", "approve", "deny", "block", "ask", "maybe"]);
    let specific = prop::sample::select(vec![
        json!(null),
        json!({ "permissionDecision": "allow", "updatedInput": { "a": 1 } }),
        json!({ "permissionDecision": "deny" }),
        json!({ "decision": { "behavior": "allow", "updatedPermissions": [] } }),
        json!({ "updatedToolOutput": 1, "additionalContext": "x" }),
    ]);
    (word, specific, any::<bool>()).prop_map(|(word, specific, pretty)| {
        let value = json!({
            "decision": word, "updatedInput": { "a": 1 }, "updatedOutput": 1,
            "suppressOutput": true, "hookSpecificOutput": specific
        });
        if pretty { format!("{value:#}") } else { value.to_string() }
    })
}

proptest! {
    #[test]
    fn reading_never_panics(stdout in any::<String>(), whole in any::<bool>()) {
        let _ = read(&stdout, whole, &event("tool:pre_execute"));
        let _ = async_for(&stdout, Duration::from_secs(1));
    }

    #[test]
    fn reading_text_like_json_never_panics(
        stdout in r#"([{}\[\]":,\n \u{feff}\x00é]|"decision"|"deny"|"async"|true|-1e9){0,40}"#
    ) {
        let _ = read_here(&stdout);
        let _ = async_for(&stdout, Duration::from_secs(1));
    }

    #[test]
    fn an_answer_among_any_text_grants_nothing(
        before in "(\\PC|[\n {}\"])*", answers in prop::collection::vec(any_answer(), 1..4),
        between in "(\\PC|[\n {}])*", after in "(\\PC|[\n {}])*", whole in any::<bool>()
    ) {
        let stdout = format!("{before}\n{}\n{after}", answers.join(&between));
        if let AnswerReading::Among(answer) = read(&stdout, whole, &event("tool:pre_execute")) {
            prop_assert_eq!(answer.clone().restricting(), answer);
        }
    }

    #[test]
    fn a_deny_on_its_own_line_is_never_lost(
        before in "((\\PC|[\" ]){0,20}\n){0,4}", after in "\n(\\PC|[\n {}])*"
    ) {
        let stdout = format!("{before}{{\"decision\":\"deny\"}}{after}");
        let decision = match read_here(&stdout) {
            AnswerReading::Whole(answer) | AnswerReading::Among(answer) => answer.decision,
            AnswerReading::Nothing | AnswerReading::Broken { .. } => None,
        };
        prop_assert_eq!(decision, Some(AnswerDecision::Deny));
    }
}

#[test]
fn a_deny_that_the_attacked_value_has_spoilt_is_broken_and_does_not_pass() {
    let event = EventName::resolve("tool:pre_execute").unwrap();
    for text in [
        "{\"decision\":\"deny\",\"reason\":\"x\"\n{}\"}",
        "log\n{\"decision\":\"deny\",\"reason\":\"a \"quoted\" word\"}",
        "log\n{\"decision\":\"deny\",\"n\":NaN}",
        "log\n{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\",\"x\":\"\t\"}}\nmore",
        "log\n{\"continue\":false,\"stopReason\":\"\\ud800\"}",
    ] {
        assert!(matches!(read(text, true, &event), AnswerReading::Broken { .. }), "{text:?}");
    }
}

#[test]
fn a_deny_is_found_after_the_value_that_broke_it_and_logs_raise_no_alarm() {
    let event = EventName::resolve("tool:pre_execute").unwrap();
    for text in [
        "{\"reason\":\"x\n{}\nsudo\",\"decision\":\"deny\"}",
        "checking\n{\n  \"reason\": \"a \"word\"\",\n  \"decision\": \"deny\"\n}",
        "log\n{'decision': 'deny'}",
        "{\"decision\":\"deny\",\"reason\":\"x\",\"decision\":\"allow\"}",
        "log\n{\"decision\":\"deny\",\"decision\":\"allow\"}",
        "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\",\"permissionDecision\":\"allow\"}}",
    ] {
        assert!(matches!(read(text, true, &event), AnswerReading::Broken { .. }), "{text:?}");
    }
    for text in [
        "log\n{ print \"continue\" }",
        "log\n{ type: \"continue\" }",
        "log\n{\"decision\":\"merged\",\"x\":",
        "log\n{\"level\":\"info\",\"level\":\"warn\"}",
        "log\n{\nfn main() {}\n}",
    ] {
        assert_eq!(read(text, true, &event), AnswerReading::Nothing, "{text:?}");
    }
}

#[test]
fn a_deny_counts_after_invisible_characters() {
    let event = EventName::resolve("tool:pre_execute").unwrap();
    for before in [
        "log\n\u{1b}[0m",
        "log\n\u{1b}(B",
        "log\n\u{1b}]0;t\u{7}",
        "log\n\u{a0}",
        "log\n\u{1b}[1;31m ",
        "log\r",
        "log\n\0",
        "log\n\u{feff}",
    ] {
        for word in ["deny", "Deny", "BLOCK"] {
            let text = format!("{before}{{\"decision\":\"{word}\"}}\nlog");
            let AnswerReading::Among(answer) = read(&text, true, &event) else {
                panic!("{text:?}")
            };
            assert_eq!(answer.decision, Some(AnswerDecision::Deny));
        }
    }
}

#[test]
fn an_events_own_data_in_a_log_sends_no_guard_away() {
    assert_eq!(
        async_for(r#"{"async": true, "command": "sudo rm -rf /"}"#, Duration::from_secs(1)),
        None
    );
    assert!(async_for(r#"{"async": true, "asyncTimeout": 5}"#, Duration::from_secs(1)).is_some());
}
