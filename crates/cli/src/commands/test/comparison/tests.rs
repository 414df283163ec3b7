use hookwright_config::test_file::load_test_file;
use serde_json::json;

use super::*;

/// The expected result, as written in a test file.
fn expected(expect: &str) -> ExpectedResult {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hookwright.test.yaml");
    let text = format!("cases: [{{name: n, event: PreToolUse, expect: {{{expect}}}}}]");
    std::fs::write(&path, text).expect("written");
    let mut file = load_test_file(&path, &path);
    assert_eq!(file.faults, [], "{expect}");
    file.cases.remove(0).steps.remove(0).expected
}

fn report(id: &str, status: Status) -> Report {
    Report {
        id: id.into(),
        action: "shell".into(),
        source: "hookwright.yaml:1".into(),
        status,
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
        attempts: 1,
        duration_ms: 1.0,
        reason: None,
        interrupted: false,
        shows_output: false,
        hides_output: false,
    }
}

fn touched(path: &str, touch: FileChange, content: Option<&str>) -> TouchedFile {
    TouchedFile { path: path.into(), touch, content: content.map(str::to_owned) }
}

/// The differences, as a person sees them.
fn wrong(
    expect: &str,
    decision: &Decision,
    reports: &[Report],
    touched: &[TouchedFile],
) -> Vec<String> {
    let came = Came { decision, reports, touched };
    let draw = |line: &DiffLine| match line {
        DiffLine::Both(text) => format!(" {text}"),
        DiffLine::Expected(text) => format!("-{text}"),
        DiffLine::Came(text) => format!("+{text}"),
    };
    let shown = |difference: Difference| {
        let lines: Vec<String> = difference.lines.iter().map(draw).collect();
        format!("{}: {}", difference.what, lines.join(" "))
    };
    differences(&expected(expect), &came).into_iter().map(shown).collect()
}

fn nothing() -> [String; 0] {
    []
}

#[test]
fn decision_and_reason_are_compared_for_every_verdict() {
    let verdicts = [
        ("none", Verdict::Proceed { rewritten_input: None }, "null"),
        ("allow", Verdict::Allow { reason: Some("why".into()), rewritten_input: None }, "why"),
        ("ask", Verdict::Ask { reason: None, rewritten_input: None }, "null"),
        ("block", Verdict::Block { reason: "why\n".into() }, "why"),
        ("stop", Verdict::Stop { reason: "why".into() }, "{contains: wh, matches: y$}"),
        ("abort", Verdict::Abort { reason: "why".into() }, "why"),
    ];
    for (word, verdict, reason) in verdicts {
        let decision = Decision { verdict, ..Decision::default() };
        let fits = format!("decision: {word}, reason: {reason}");
        assert_eq!(wrong(&fits, &decision, &[], &[]), nothing(), "{word}");
        let other = if word == "block" { "allow" } else { "block" };
        assert_eq!(
            wrong(&format!("decision: {other}"), &decision, &[], &[]),
            [format!("decision: -{other} +{word}")]
        );
    }
    let decision =
        Decision { verdict: Verdict::Block { reason: "a\nb".into() }, ..Decision::default() };
    assert_eq!(wrong("reason: \"a\\nc\"", &decision, &[], &[]), ["reason:  a -c +b"]);
    assert_eq!(
        wrong("reason: {contains: c, matches: ^a}", &decision, &[], &[]),
        ["reason: -contains: c -matches: ^a +a +b"]
    );
    assert_eq!(wrong("reason: null", &decision, &[], &[]), ["reason: -nothing +a +b"]);
    assert_eq!(wrong("reason: x", &Decision::default(), &[], &[]), ["reason: -x +nothing"]);
}

#[test]
fn what_travels_beside_the_verdict_is_compared_whole_and_in_order() {
    let decision = Decision {
        verdict: Verdict::Proceed { rewritten_input: Some(json!({ "command": "ls" })) },
        additional_context: vec!["one".into(), "two".into()],
        system_messages: vec!["hello".into()],
        updated_output: Some(json!("out")),
        piped_output: "tests ok\n".into(),
        ..Decision::default()
    };
    let fits = "contexts: [one, {contains: w}], messages: [hello], updated_input: {command: ls}, \
                updated_output: out, piped_output: tests ok";
    assert_eq!(wrong(fits, &decision, &[], &[]), nothing());
    let other = "contexts: [two, one], messages: [], updated_input: null, updated_output: null, \
                 piped_output: null";
    assert_eq!(
        wrong(other, &decision, &[], &[]),
        [
            "contexts: -two  one +two",
            "messages: -none +hello",
            "updated_input: -nothing +{ +  \"command\": \"ls\" +}",
            "updated_output: -nothing +\"out\"",
            "piped_output: -nothing +tests ok",
        ]
    );
}

#[test]
fn the_hooks_that_ran_are_compared_in_order_and_skipped_ones_only_where_they_are_named() {
    let none = Decision::default();
    let reports =
        [report("a", Status::Success), report("b", Status::Skipped), report("c", Status::Failed)];
    for fits in ["hooks: [a, c]", "hooks: [a: success, b: skipped, c: failed]"] {
        assert_eq!(wrong(fits, &none, &reports, &[]), nothing(), "{fits}");
    }
    for (expect, told) in [
        ("hooks: [c, a]", "hooks: -c  a +c: failed"),
        ("hooks: [a, b, c]", "hooks:  a -b  c"),
        ("hooks: [a: failed, c]", "hooks: -a: failed +a: success  c"),
        ("hooks: [a]", "hooks:  a +c: failed"),
        ("hooks: []", "hooks: -none +a: success +c: failed"),
        ("hooks: [a: skipped, c]", "hooks: -a: skipped +a: success  c"),
    ] {
        assert_eq!(wrong(expect, &none, &reports, &[]), [told], "{expect}");
    }
    assert_eq!(wrong("hooks: [a]", &none, &[], &[]), ["hooks: -a +none"]);
}

#[test]
fn files_that_were_touched_are_compared_all_of_them() {
    let none = Decision::default();
    let came = [
        touched("gone", FileChange::Deleted, None),
        touched("log", FileChange::Created, Some("line\n")),
        touched("old", FileChange::Changed, None),
    ];
    let fits = "files: {old: changed, log: {content: line}, gone: deleted}";
    assert_eq!(wrong(fits, &none, &[], &came), nothing());
    for (expect, told) in [
        ("files: {}", "files: -none +gone: deleted +log: created +old: changed"),
        (
            "files: {old: changed, log: created}",
            "files: +gone: deleted  log: created  old: changed",
        ),
        (
            "files: {old: created, log: created, gone: deleted}",
            "files:  gone: deleted  log: created -old: created +old: changed",
        ),
        (
            "files: {old: changed, log: {is: created, content: other}, gone: deleted}",
            "content of log: -other +line",
        ),
        (
            "files: {old: changed, log: created, gone: {content: x}}",
            "files: -gone: created or changed +gone: deleted  log: created  old: changed",
        ),
    ] {
        assert_eq!(wrong(expect, &none, &[], &came), [told], "{expect}");
    }
    assert_eq!(wrong("files: {a: created}", &none, &[], &[]), ["files: -a: created +none"]);
}

#[test]
fn what_is_not_expected_is_not_looked_at() {
    let decision =
        Decision { verdict: Verdict::Block { reason: "a".into() }, ..Decision::default() };
    let came = [touched("log", FileChange::Created, None)];
    let reports = [report("a", Status::Success)];
    assert_eq!(wrong("decision: block", &decision, &reports, &came), nothing());
}
