use serde_json::{Map, json};

use super::*;
use crate::EventName;

fn with(verdict: Verdict) -> Decision {
    Decision { verdict, ..Decision::default() }
}

fn proceed(input: Option<Value>) -> Decision {
    with(Verdict::Proceed { rewritten_input: input })
}

fn block(reason: &str) -> Decision {
    with(Verdict::Block { reason: reason.into() })
}

fn ask(reason: &str) -> Decision {
    with(Verdict::Ask { reason: Some(reason.into()), rewritten_input: None })
}

fn allow() -> Decision {
    with(Verdict::Allow { reason: None, rewritten_input: None })
}

fn stop(reason: &str) -> Decision {
    with(Verdict::Stop { reason: reason.into() })
}

fn abort(reason: &str) -> Decision {
    with(Verdict::Abort { reason: reason.into() })
}

#[test]
fn abort_beats_stop_beats_block_beats_ask_beats_allow_beats_nothing() {
    let ladder = [proceed(None), allow(), ask("a"), block("b"), stop("s"), abort("x")];
    for (strong, part) in ladder.iter().enumerate() {
        for weaker in &ladder[..strong] {
            for pair in [[part.clone(), weaker.clone()], [weaker.clone(), part.clone()]] {
                assert_eq!(Decision::combine(pair).verdict, part.verdict);
            }
        }
    }
}

#[test]
fn among_equals_the_first_in_order_gives_the_reason() {
    let whole = Decision::combine([block("first"), block("second")]);
    assert_eq!(whole.verdict, Verdict::Block { reason: "first".into() });
}

#[test]
fn the_last_rewrite_in_configuration_order_wins_whichever_hook_gives_the_verdict() {
    let whole = Decision::combine([
        proceed(Some(json!({ "command": "one" }))),
        ask("sure?"),
        proceed(Some(json!({ "command": "two" }))),
        allow(),
    ]);
    assert_eq!(
        whole.verdict,
        Verdict::Ask {
            reason: Some("sure?".into()),
            rewritten_input: Some(json!({ "command": "two" }))
        }
    );
}

#[test]
fn what_is_blocked_is_not_rewritten() {
    let whole = Decision::combine([proceed(Some(json!({}))), block("no")]);
    assert_eq!(whole.verdict.rewritten_input(), None);
}

#[test]
fn all_contexts_and_messages_are_kept_in_configuration_order() {
    let part = |name: &str| Decision {
        additional_context: vec![format!("context {name}")],
        system_messages: vec![format!("message {name}")],
        piped_output: format!("output {name}"),
        ..block(name)
    };
    let whole = Decision::combine([part("a"), part("b")]);
    assert_eq!(whole.additional_context, ["context a", "context b"]);
    assert_eq!(whole.system_messages, ["message a", "message b"]);
    assert_eq!(whole.piped_output, "output a\noutput b");
}

#[test]
fn beside_output_that_always_reaches_the_agent_news_of_success_does_too() {
    let part = |raw: bool, text: &str, must_reach_agent: bool| Decision {
        piped_output: text.into(),
        piped_raw: raw,
        must_reach_agent,
        ..Decision::default()
    };
    for (parts, must_reach) in [
        ([part(false, "a", false), part(false, "b", false)], false),
        ([part(false, "a", false), part(false, "b", true)], true),
        ([part(true, "a", false), part(true, "b", false)], false),
        ([part(true, "a", false), part(false, "b", false)], true),
        ([part(false, "a", false), part(true, "", false)], false),
    ] {
        assert_eq!(Decision::combine(parts.clone()).must_reach_agent, must_reach, "{parts:?}");
    }
}

#[test]
fn the_record_has_every_field_of_the_documented_shape() {
    let event = Event::new(
        EventName::resolve("tool:pre_execute").expect("known"),
        Map::from_iter([("tool_name".to_owned(), json!("Bash"))]),
    );
    assert_eq!(
        block("sudo is not allowed here").record(&event, &[]),
        json!({
            "version": 1, "event": "tool:pre_execute", "subject": "bash", "decision": "block",
            "reason": "sudo is not allowed here", "continue": true, "stop_reason": null,
            "abort": false, "additional_context": [], "system_messages": [],
            "updated_input": null, "updated_output": null, "suppress_output": false,
            "piped_output": "", "hooks": [],
        })
    );
}

#[test]
fn a_reader_of_decision_alone_is_safe_when_the_session_has_to_end() {
    let at = |name: &str| Event::new(EventName::resolve(name).expect("known"), Map::new());
    let record = stop("enough").record(&at("tool:pre_execute"), &[]);
    assert_eq!(record["decision"], "block");
    assert_eq!((&record["continue"], &record["stop_reason"]), (&json!(false), &json!("enough")));
    let record = abort("broken").record(&at("iteration:complete"), &[]);
    assert_eq!((&record["decision"], &record["abort"]), (&json!(null), &json!(true)));
}

#[test]
fn a_decision_comes_back_from_its_record() {
    let event = Event::new(EventName::resolve("tool:pre_execute").expect("known"), Map::new());
    let beside = Decision {
        additional_context: vec!["c".into()],
        system_messages: vec!["m".into()],
        updated_output: Some(json!("o")),
        suppress_output: true,
        piped_output: "p".into(),
        must_reach_agent: true,
        updated_permissions: Some(json!([1])),
        ..Decision::default()
    };
    for verdict in [
        proceed(None).verdict,
        proceed(Some(json!({ "a": 1 }))).verdict,
        allow().verdict,
        ask("sure?").verdict,
        block("no").verdict,
        stop("enough").verdict,
        abort("broken").verdict,
    ] {
        let decision = Decision { verdict, ..beside.clone() };
        assert_eq!(Decision::from_record(&decision.record(&event, &[])), decision);
    }
}
