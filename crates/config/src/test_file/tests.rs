use std::fs;

use serde_json::json;

use super::*;

fn read(text: &str) -> TestFile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hookwright.test.yaml");
    fs::write(&path, text).expect("written");
    fs::write(folder.path().join("data.json"), r#"{"tool_name": "Bash"}"#).expect("written");
    fs::write(folder.path().join("broken.json"), "[1]").expect("written");
    load_test_file(&path, Path::new("hookwright.test.yaml"))
}

fn faults(text: &str) -> Vec<String> {
    read(text).faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_case_is_read_whole() {
    let file = read(
        "version: 1
cases:
  - name: all there is
    event: PreToolUse
    data_file: data.json
    session: calm-fox
    env: {A: 1}
    files: {a/b.txt: text, empty: }
    setup: git init
    expect:
      decision: block
      reason: {contains: [a, b], matches: ^a}
      contexts: [one, {contains: two}]
      messages: []
      updated_input: null
      piped_output: null
      hooks: [first, {second: timed_out}]
      files: {new: created, old: {is: changed, content: x}, gone: deleted}
",
    );
    assert_eq!(file.faults, []);
    let case = &file.cases[0];
    assert_eq!((case.name.as_str(), case.line), ("all there is", 3));
    assert_eq!(case.session.as_deref(), Some("calm-fox"));
    assert_eq!(case.env, [("A".to_owned(), "1".to_owned())]);
    assert_eq!(case.setup.as_deref(), Some("git init"));
    assert_eq!(
        case.files,
        [("a/b.txt".into(), "text".to_owned()), ("empty".into(), String::new())]
    );
    let [step] = &case.steps[..] else { panic!("{case:?}") };
    assert_eq!(step.event.name.as_str(), "tool:pre_execute");
    assert_eq!(step.event.data["tool_name"], "Bash");
    let expected = &step.expected;
    assert_eq!(expected.decision, Some("block"));
    assert_eq!(expected.updated_input, Some(json!(null)));
    assert_eq!(expected.updated_output, None);
    assert_eq!(expected.messages.as_ref().map(Vec::len), Some(0));
    assert_eq!(
        expected.hooks.as_ref().expect("read"),
        &[
            WantedHook { id: "first".into(), status: None },
            WantedHook { id: "second".into(), status: Some(Status::TimedOut) },
        ]
    );
    let touches: Vec<_> =
        expected.files.as_ref().expect("read").iter().map(|file| file.touch).collect();
    assert_eq!(
        touches,
        [Some(FileChange::Created), Some(FileChange::Changed), Some(FileChange::Deleted)]
    );
}

#[test]
fn steps_come_one_after_the_other_and_only_one_has_to_expect_something() {
    let file = read(
        "cases: [{name: n, files: {a: b}, steps: [{event: Stop}, {event: Stop, files: {c: d}, expect: {decision: }}]}]",
    );
    assert_eq!(file.faults, []);
    let case = &file.cases[0];
    assert_eq!(case.steps[0].files, []);
    assert_eq!(case.steps[1].files, [("c".into(), "d".to_owned())]);
    assert_eq!(case.steps[1].expected.decision, Some("none"));
}

#[test]
fn every_fault_is_told_with_its_place() {
    let case = |rest: &str| format!("cases:\n- {{name: n, {rest}}}\n");
    for (text, told) in [
        (String::new(), "1:1: missing `cases`"),
        ("cases: {}".into(), "1:8: expected a list of cases but found a map"),
        ("case: []".into(), "1:1: unknown key `case`, expected one of: version, cases"),
        ("version: 2\ncases: []".into(), "1:10: expected version 1 but found `2`"),
        (
            "cases: [{event: Stop, expect: {decision: block}}]".into(),
            "1:9: missing `name`",
        ),
        (case("event: Stop"), "2:3: missing `expect`"),
        (case("event: Stop, expect: {}"), "2:26: missing `expect`"),
        (case("expect: {decision: block}"), "2:3: missing `event` or `steps`"),
        (case("steps: []"), "2:13: missing `event` or `steps`"),
        (case("event: Stopp, expect: {decision: block}"), "2:20: unknown event `Stopp`"),
        (
            case("event: Stop, expect: {decision: deny}"),
            "2:45: expected none, allow, ask, block, stop, abort but found `deny`",
        ),
        (
            case("event: Stop, expect: {reason: {matches: '('}}"),
            "2:53: `(` is not a valid regular expression: unclosed group",
        ),
        (case("event: Stop, expect: {reason: {}}"), "2:43: missing `contains` or `matches`"),
        (
            case("event: Stop, expect: {hooks: [{a: succes}]}"),
            "2:47: expected success, blocked, failed, timed_out, skipped but found `succes`",
        ),
        (
            case("event: Stop, expect: {files: {../a: created}}"),
            "2:43: expected a path within the project, like src/main.rs but found `../a`",
        ),
        (
            case("event: Stop, files: {/a: b}, expect: {decision: block}"),
            "2:34: expected a path within the project, like src/main.rs but found `/a`",
        ),
        (
            case("event: Stop, expect: {files: {a: {is: deleted, content: x}}}"),
            "2:60: a deleted file has no content",
        ),
        (
            case("event: Stop, data: {hook_event_name: PreToolUse}, expect: {decision: block}"),
            "2:32: expected data of the event that the case names but found `PreToolUse`",
        ),
        (
            case("event: Stop, env: {ITERATION: 3}, expect: {decision: block}"),
            "2:32: expected a variable that no event sets; an event's values belong in `data` but found `ITERATION`",
        ),
        (
            case("event: Stop, data: {}, data_file: data.json, expect: {decision: block}"),
            "2:36: `data_file` cannot be combined with `data`",
        ),
        (
            case("event: Stop, steps: [{event: Stop, expect: {decision: block}}]"),
            "2:13: with `steps`, this key belongs in a step",
        ),
        (
            case("event: Stop, setup: x, in_place: true, expect: {decision: block}"),
            "2:36: `in_place` cannot be combined with `files` or `setup`, which would change the project",
        ),
        (
            "cases:\n- {name: n, event: Stop, expect: {decision: }}\n- {name: n, event: Stop, expect: {decision: }}\n".into(),
            "3:10: the name `n` appears twice, first in line 2",
        ),
    ] {
        assert_eq!(faults(&text), [format!("hookwright.test.yaml:{told}")], "{text}");
    }
}

#[test]
fn a_file_with_data_is_read_as_carefully() {
    let case = |file: &str| {
        faults(&format!(
            "cases: [{{name: n, event: Stop, data_file: {file}, expect: {{decision: }}}}]"
        ))
    };
    assert_eq!(case("data.json"), [""; 0]);
    assert_eq!(
        case("broken.json"),
        ["broken.json:1:1: expected a map with the event's data but found a list"]
    );
    let missing = case("missing.json");
    assert!(missing[0].starts_with("missing.json: the file cannot be read"), "{missing:?}");
}

#[test]
fn white_space_at_the_end_of_a_text_does_not_count_and_empty_is_nothing() {
    let exactly = WantedText::Exactly("a b\n".into());
    assert!(exactly.fits("a b"));
    assert!(exactly.fits("a b\n\n"));
    assert!(!exactly.fits(" a b"));
    assert!(WantedText::Nothing.fits("\n"));
    assert!(!WantedText::Nothing.fits("a"));
    let like = WantedText::Like {
        contains: vec!["a".into(), "b".into()],
        matches: vec![Regex::new("^b").expect("a regular expression")],
    };
    assert!(like.fits("b a"));
    assert!(!like.fits("a b"));
    assert!(!like.fits("b"));
}

#[test]
fn every_verdict_has_its_word() {
    let reason = String::new;
    let words = [
        Verdict::Proceed { rewritten_input: None },
        Verdict::Allow { reason: None, rewritten_input: None },
        Verdict::Ask { reason: None, rewritten_input: None },
        Verdict::Block { reason: reason() },
        Verdict::Stop { reason: reason() },
        Verdict::Abort { reason: reason() },
    ]
    .map(|verdict| decision_of(&verdict));
    assert_eq!(words, DECISIONS);
}
