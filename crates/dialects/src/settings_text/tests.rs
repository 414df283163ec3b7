use serde_json::{Value, json};

use super::change::{NewPart, SettingsChange, changed, filled};
use super::*;

pub(crate) mod generator;

fn add(text: &str, path: &[usize], key: Option<&str>, value: Value) -> String {
    let root = parse(text).unwrap().expect("a value");
    let new = NewPart { key: key.map(str::to_owned), value };
    changed(text, &root, &[SettingsChange::append(path, vec![new])]).unwrap()
}

fn remove(text: &str, path: &[usize], entries: &[usize]) -> String {
    let root = parse(text).unwrap().expect("a value");
    changed(text, &root, &[SettingsChange::remove(path, entries.to_vec())]).unwrap()
}

#[test]
fn a_new_entry_is_written_like_its_neighbours() {
    for (before, after) in [
        ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"k\": [\n    1\n  ]\n}\n"),
        ("{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"k\": [\n\t\t1\n\t]\n}"),
        (
            "{\r\n    \"a\": 1\r\n}\r\n",
            "{\r\n    \"a\": 1,\r\n    \"k\": [\r\n        1\r\n    ]\r\n}\r\n",
        ),
        ("{\"a\": 1}", "{\"a\": 1, \"k\": [1]}"),
        ("{\"a\": 1,}", "{\"a\": 1, \"k\": [1],}"),
        ("{}", "{\n  \"k\": [\n    1\n  ]\n}"),
        ("{\n}\n", "{\n  \"k\": [\n    1\n  ]\n}\n"),
        ("\u{feff}{}\n", "\u{feff}{\n  \"k\": [\n    1\n  ]\n}\n"),
        ("{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"k\": [\n    1\n  ],\n}"),
        ("{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"k\": [\n    1\n  ]\n}"),
        (
            "{\n  \"a\": 1 // }\n  // end\n}",
            "{\n  \"a\": 1, // }\n  // end\n  \"k\": [\n    1\n  ]\n}",
        ),
        ("{ // none\n}", "{ // none\n  \"k\": [\n    1\n  ]\n}"),
        ("{ /* none */ }", "{ /* none */\n  \"k\": [\n    1\n  ]\n }"),
        ("{\"a\": 1,\n \"b\": 2}", "{\"a\": 1,\n \"b\": 2,\n \"k\": [\n  1\n ]}"),
    ] {
        assert_eq!(add(before, &[], Some("k"), json!([1])), after, "{before:?}");
    }
    assert_eq!(add("{\"a\":[1]}", &[0], None, json!({"b": 2})), "{\"a\":[1, {\"b\":2}]}");
}

#[test]
fn a_removed_entry_takes_its_line_and_its_comma() {
    for (before, entries, after) in [
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", &[1][..], "{\n  \"a\": 1\n}\n"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", &[0], "{\n  \"b\": 2\n}\n"),
        ("{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}", &[1], "{\r\n  \"a\": 1\r\n}"),
        ("{\n  \"a\": 1,\n  \"b\": 2,\n}", &[1], "{\n  \"a\": 1,\n}"),
        ("{\"a\": 1, \"b\": 2, \"c\": 3}", &[1], "{\"a\": 1, \"c\": 3}"),
        ("{\"a\": 1, \"b\": 2, \"c\": 3}", &[2], "{\"a\": 1, \"b\": 2}"),
        ("{\"a\": 1, \"b\": 2, \"c\": 3}", &[1, 2], "{\"a\": 1}"),
        ("{\"a\": 1, \"b\": 2}", &[0, 1], "{}"),
        (
            "{\n  \"a\": 1, // one\n  // two\n  \"b\": 2\n}",
            &[1],
            "{\n  \"a\": 1 // one\n  // two\n}",
        ),
        ("{\n  // c\n  \"a\": 1, \"b\": 2\n}", &[0], "{\n  // c\n  \"b\": 2\n}"),
        ("{\n  \"a\": 1 /* x */,\n  \"b\": 2\n}", &[0], "{\n  /* x */\n  \"b\": 2\n}"),
    ] {
        assert_eq!(remove(before, &[], entries), after, "{before:?}");
    }
}

#[test]
fn a_file_with_nothing_but_comments_gets_its_first_value_after_them() {
    assert_eq!(filled("", &json!({})), "{}\n");
    assert_eq!(filled("// a\n", &json!({"k": 1})), "// a\n{\n  \"k\": 1\n}\n");
    assert_eq!(filled("\u{feff}", &json!({})), "\u{feff}{}\n");
    assert_eq!(filled("// a", &json!({})), "// a\n{}\n");
}

#[test]
fn a_fault_has_its_place() {
    let place = |text: &str| {
        let fault = parse(text).expect_err("a fault").in_file(Path::new("s.json"), text);
        let at = fault.place.as_ref().expect("a place");
        let message = match &fault.kind {
            FaultKind::Syntax { message, .. } => message.clone(),
            other => other.to_string(),
        };
        (at.line, at.column, text[at.range.clone()].to_owned(), message)
    };
    let expected = |line, column, found: &str, message: &str| {
        (line, column, found.to_owned(), message.to_owned())
    };
    assert_eq!(
        place("{\n  \"a\": 1\n  \"b\": 2\n}"),
        expected(3, 3, "\"", "expected `,` or `}` but found `\"`")
    );
    assert_eq!(
        place("\u{feff}{a: 1}"),
        expected(1, 2, "a", "expected a key in double quotes but found `a`")
    );
    assert_eq!(place("{\"a\": yes}"), expected(1, 7, "y", "expected a value but found `y`"));
    assert_eq!(place("{} x"), expected(1, 4, "x", "expected the end of the file but found `x`"));
    assert_eq!(place("{\"a"), expected(1, 2, "\"", "the string has no closing quote"));
    assert_eq!(
        place("{\"\\q\": 1}"),
        expected(1, 2, "\"\\q\"", "the string has an unknown escape sequence")
    );
    assert_eq!(place("/* x"), expected(1, 1, "/*", "the comment has no end"));
    assert_eq!(
        place("{"),
        expected(1, 2, "", "expected a key in double quotes but found the end of the file")
    );
    assert_eq!(place(&"[".repeat(200)).3, "more than 128 brackets in each other");
}

#[test]
fn no_text_is_read_wrongly_or_ends_the_reader() {
    let mut dice = generator::Dice::new(7);
    for _ in 0..3_000 {
        let mut text = generator::settings(&mut dice, &["A", "B"], "{\"command\": \"x\"}");
        // Cut and doubled anywhere.
        let at = usize::try_from(dice.below(text.len() as u64 + 1)).unwrap();
        if text.is_char_boundary(at) {
            match dice.below(3) {
                0 => text.truncate(at),
                1 => text.insert_str(at, "\"\\"),
                _ => text.insert(at, '}'),
            }
        }
        let ours = parse(&text);
        let theirs =
            serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches('\u{feff}'));
        assert!(ours.is_ok() || theirs.is_err(), "{text}");
    }
}
