use hookwright_events::{Event, EventName};
use serde_json::{Value, json};

use super::*;
use crate::variables::{Carried, Environment};

fn secrets() -> Secrets {
    Secrets::new(vec![("TOKEN".into(), "a/b c&hunter22".into())])
}

fn fill(written: &str, data: Value, writing: ValueWriting) -> Result<FilledText, FillError> {
    let Value::Object(data) = data else { panic!("data must be an object") };
    let event = Event::new(EventName::resolve("execution:post_end").expect("known"), data);
    let environment = Environment::new([
        ("USER_TEAM".into(), "blue".into()),
        ("SLACK_WEBHOOK".into(), "https://chat.example/T0/x?y=1".into()),
    ]);
    let (event, carried, environment) = (&event, &Carried::default(), &environment);
    let variables = Variables { event, carried, environment };
    TextTemplate::new(written).fill(
        &Filling {
            variables,
            secrets: &secrets(),
            wire: &crate::native::NativeWire,
            has_callback: false,
        },
        writing,
    )
}

fn filled(written: &str, data: Value, writing: ValueWriting) -> Result<String, String> {
    let filled = fill(written, data, writing).map_err(|error| error.within("it"))?;
    filled.reveal(&secrets()).map_err(|error| error.within("it"))
}

#[test]
fn names_and_paths_are_replaced_by_their_values_and_no_value_is_expanded_again() {
    let data = json!({
        "issue_number": 7,
        "issue_title": "${ERROR} $(touch x)",
        "tool_input": { "edits": [{ "file": "a b" }] },
        "files_modified": ["a", "b"],
        "error": "secret",
    });
    let filled = |written| filled(written, data.clone(), ValueWriting::Plain);
    assert_eq!(filled("#${ISSUE_NUMBER}"), Ok("#7".into()));
    assert_eq!(filled("${ISSUE_TITLE}!"), Ok("${ERROR} $(touch x)!".into()));
    assert_eq!(filled("${HOOKWRIGHT_TOOL_INPUT.edits.0.file}"), Ok("a b".into()));
    assert_eq!(filled("${FILES_MODIFIED}"), Ok("a\nb".into()));
    assert_eq!(filled("by ${USER_TEAM}"), Ok("by blue".into()));
    assert_eq!(filled("[${STAGE}][${TOOL_INPUT.x}]"), Ok("[][]".into()));
    assert_eq!(filled("$5 }${ERROR"), Ok("$5 }${ERROR".into()));
    assert_eq!(filled("$ERROR $${ISSUE_NUMBER}"), Ok("$ERROR $7".into()));
    assert_eq!(filled(""), Ok(String::new()));
}

#[test]
fn an_unknown_name_is_named() {
    for (written, said) in [
        ("${NOBODY}", "unknown variable `NOBODY`"),
        ("${USER_TEAM.x}", "unknown variable `USER_TEAM`"),
        ("${TOKEN.x}", "unknown variable `TOKEN`"),
        ("${X:-y}", "unknown variable `X:-y`"),
        ("${}", "unknown variable ``"),
        ("${ERROR and }", "unknown variable `ERROR and `"),
        ("${ISUE_TITLE}", "unknown variable `ISUE_TITLE` in it, did you mean `ISSUE_TITLE`?"),
    ] {
        for writing in [ValueWriting::Plain, ValueWriting::Url, ValueWriting::Header] {
            let error = filled(written, json!({}), writing).expect_err("unknown");
            assert!(error.starts_with(said), "{written}: {error}");
        }
    }
}

#[test]
fn in_an_address_values_are_percent_encoded_unless_one_is_the_whole_address() {
    let data = json!({ "stage": "a/../b?x=1&y=é #", "tool_input": { "url": "http://127.0.0.1/" } });
    for (written, expected) in [
        (
            "https://h/${STAGE}?t=${TOKEN}",
            "https://h/a%2F..%2Fb%3Fx%3D1%26y%3D%C3%A9%20%23?t=a%2Fb%20c%26hunter22",
        ),
        ("${SLACK_WEBHOOK}", "https://chat.example/T0/x?y=1"),
        ("${TOOL_INPUT.url}", "http://127.0.0.1/"),
        ("${TOKEN}", "a/b c&hunter22"),
        ("${SLACK_WEBHOOK}/x", "https%3A%2F%2Fchat.example%2FT0%2Fx%3Fy%3D1/x"),
    ] {
        assert_eq!(
            filled(written, data.clone(), ValueWriting::Url),
            Ok(expected.into()),
            "{written}"
        );
    }
}

#[test]
fn a_value_cannot_lead_out_of_the_path_of_an_address() {
    for (written, stage, expected) in [
        ("https://h/team/${STAGE}/notify", "..", Some("..")),
        ("https://h/team/${STAGE}", "..", Some("..")),
        ("https://h/team/${STAGE}?x=1", ".", Some(".")),
        ("https://h/team/${STAGE}#x", "..", Some("..")),
        ("https://h/team/.${STAGE}/notify", ".", Some("..")),
        ("https://h/team/${STAGE}${STAGE}/notify", ".", Some("..")),
        ("https://h/team/.${STAGE}./notify", "", Some("..")),
        ("https://h/team/%2e${STAGE}/notify", ".", Some("..")),
        ("https://h/team/%2${STAGE}%2E/notify", "e", Some("..")),
        ("https://h/team\\.\t${STAGE}\\notify", ".", Some("..")),
        ("https://h/team/${STAGE}/notify", "...", None),
        ("https://h/team/${STAGE}/notify", "../..", None),
        ("https://h/team/${STAGE}/notify", "%2e%2e", None),
        ("https://h/team/a${STAGE}/notify", "..", None),
        ("https://h/team/../${STAGE}", "x", None),
        ("https://h/team?x=/${STAGE}/", "..", None),
        ("${TOOL_INPUT.url}", "..", None),
    ] {
        let data = json!({ "stage": stage, "tool_input": { "url": "https://h/a/../b" } });
        let refused = fill(written, data, ValueWriting::Url).err();
        let expected =
            expected.map(|segment| FillError::DotSegment { name: "STAGE".into(), segment });
        assert_eq!(refused, expected, "{written} with {stage}");
    }
    let dots = Secrets::new(vec![("TOKEN".into(), "..".into())]);
    let text = fill("https://h/${TOKEN}/x", json!({}), ValueWriting::Url).expect("no dots yet");
    assert!(matches!(text.reveal(&dots), Err(FillError::DotSegment { segment: "..", .. })));
    let plain = fill("${STAGE}/x", json!({ "stage": ".." }), ValueWriting::Plain);
    assert!(plain.is_ok(), "no address, no path");
}

#[test]
fn a_value_cannot_end_a_header() {
    for hostile in ["a\r\nX-Admin: 1", "a\nb", "a\0b", "\u{7f}"] {
        let error = fill("v ${STAGE}", json!({ "stage": hostile }), ValueWriting::Header);
        assert_eq!(error, Err(FillError::ControlCharacter { name: "STAGE".into() }));
    }
    let fine = filled("v ${STAGE}", json!({ "stage": "a\tb é" }), ValueWriting::Header);
    assert_eq!(fine, Ok("v a\tb é".into()));
}

#[test]
fn shown_and_stored_texts_contain_no_secret() {
    let text = fill("https://h/${TOKEN}/${STAGE}", json!({ "stage": "w" }), ValueWriting::Url);
    let text = text.expect("all names are known");
    assert_eq!(text.redacted(), "https://h/[secret TOKEN]/w");
    assert_eq!(text.secrets().collect::<Vec<_>>(), ["TOKEN"]);
    let line = serde_json::to_string(&text).expect("plain data");
    assert!(!line.contains("hunter"), "{line}");
    let back: FilledText = serde_json::from_str(&line).expect("as written");
    assert_eq!(back, text);
    assert_eq!(back.reveal(&secrets()), Ok("https://h/a%2Fb%20c%26hunter22/w".into()));
}
