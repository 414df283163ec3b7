use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::node;
use super::*;

fn source(name: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: PathBuf::from(name), text: text.into() })
}

fn read(text: &str) -> Value {
    node::parse(&source("a.json", text)).expect(text).to_json()
}

fn fault(text: &str) -> String {
    node::parse(&source("a.json", text)).expect_err(text).to_string()
}

#[test]
fn every_json_text_is_read_as_other_json_readers_read_it() {
    let long_key = "k".repeat(5_000);
    let many: Vec<String> = (0..300).map(|n| format!("\"k{n}\": {n}")).collect();
    for text in [
        "{}",
        "[]",
        " [ ] ",
        r#"{"a": [1, -2, 0, 1.5, -0.25, 1e3, 1E+3, 2.5e-3, 12345678901, true, false, null]}"#,
        r#"{"a":{"b":{"c":[[],[{}],[[""]]]}}}"#,
        "{\n\t\"a\"\t:\n\t\t[\n\t\t1\n\t,\n\t2]\n}",
        "{\"a\"\n:\n\"b\"\n,\n\"c\"\n:\n1}",
        "{\r\n  \"a\": \"b\",\r\n  \"c\": [1,\r\n2]\r\n}\r\n",
        r#"{"a": "\" \\ \/ \b \f \n \r \t \u0000 \u00e9 \u20AC \ud83d\ude00 \uD83D\uDE00x"}"#,
        r#"{"yes": "no", "~": "null", "1": "0x10", "<<": {"a": 1}, "": " : # & * ! | > % @ ` "}"#,
        "{\"ä\": \"日本語 \u{7f}\u{85}\u{2028}\u{fffe}\u{10ffff}\"}",
        &format!("{{\"{long_key}\": 1}}"),
        &format!("{{{}}}", many.join(", ")),
    ] {
        assert_eq!(read(text), serde_json::from_str::<Value>(text).expect(text), "{text}");
    }
}

#[test]
fn a_mark_at_the_beginning_and_comments_are_passed_over() {
    let text =
        "\u{feff}// ours\n{\"a\": /* one \n * or two */ 1, // the last\n \"b\": \"// no\"}\n/**/";
    assert_eq!(read(text), json!({"a": 1, "b": "// no"}));
    assert_eq!(read("// nothing but this"), Value::Null);
}

#[test]
fn a_number_beyond_what_is_counted_exactly_is_still_a_number() {
    assert_eq!(read("[9223372036854775807]"), json!([i64::MAX]));
    assert_eq!(read("[9223372036854775808]"), json!([9_223_372_036_854_775_808.0]));
    assert_eq!(fault("[1e999]"), "a.json:1:2: expected a number but found `1e999`");
}

#[test]
fn a_key_that_stands_twice_is_a_fault_at_its_second_place_however_it_is_written() {
    assert_eq!(fault("{\"a\": 1,\n \"\\u0061\": 2}"), "a.json:2:2: the key `a` appears twice");
    let mut many: Vec<String> = (0..40).map(|n| format!("\"k{n}\":{n}")).collect();
    many.push("\"k3\":0".into());
    assert_eq!(
        fault(&format!("{{{}}}", many.join(",\n"))),
        "a.json:41:1: the key `k3` appears twice"
    );
    assert_eq!(read(r#"{"a": {"x": 1}, "b": {"x": 2}}"#)["b"], json!({"x": 2}));
}

#[test]
fn what_is_no_json_is_said_where_it_stands() {
    for (text, said) in [
        ("{", "1:2: expected a key in double quotes but found the end of the file"),
        ("{a: 1}", "1:2: expected a key in double quotes but found `a`"),
        ("{'a': 1}", "1:2: expected a key in double quotes but found `'`"),
        ("{\"a\" 1}", "1:6: expected `:` but found `1`"),
        ("{\"a\": }", "1:7: expected a value but found `}`"),
        ("{\"a\": 1,}", "1:9: expected a key in double quotes but found `}`"),
        ("{\"a\": 1\n\"b\": 2}", "2:1: expected `,` or `}` but found `\"`"),
        ("[1,]", "1:4: expected a value but found `]`"),
        ("[1 2]", "1:4: expected `,` or `]` but found `2`"),
        ("[1", "1:3: expected `,` or `]` but found the end of the file"),
        ("[yes]", "1:2: expected a value but found `y`"),
        ("[trues]", "1:2: expected a value but found `t`"),
        ("[01]", "1:2: expected a number but found `01`"),
        ("[1.]", "1:2: expected a number but found `1.`"),
        ("[.5]", "1:2: expected a value but found `.`"),
        ("[+1]", "1:2: expected a value but found `+`"),
        ("[1e]", "1:2: expected a number but found `1e`"),
        ("[-]", "1:2: expected a number but found `-`"),
        ("[NaN]", "1:2: expected a value but found `N`"),
        ("{} {}", "1:4: expected the end of the file but found `{`"),
        ("[\"ä\nb\"]", "1:4: a string cannot contain this character, write `\\n`"),
        ("[\"a\tb\"]", "1:4: a string cannot contain this character, write `\\t`"),
        ("[\"\u{1b}\"]", "1:3: a string cannot contain this character, write `\\u001b`"),
        ("[\"\r\"]", "1:3: a string cannot contain this character, write `\\r`"),
        ("[\n \"a]", "2:2: the string has no closing quote"),
        ("[\"\\x41\"]", "1:3: unknown escape sequence"),
        ("[\"\\", "1:3: unknown escape sequence"),
        ("[\"\\u12g4\"]", "1:3: expected four hexadecimal digits after `\\u`"),
        ("[\"\\u+123\"]", "1:3: expected four hexadecimal digits after `\\u`"),
        ("[\"\\u12", "1:3: expected four hexadecimal digits after `\\u`"),
        ("[\"\\ud83d\"]", "1:3: incomplete surrogate pair: the other `\\u` is missing"),
        ("[\"\\ud83d\\u0041\"]", "1:3: incomplete surrogate pair: the other `\\u` is missing"),
        ("[\"\\ude00\\ud83d\"]", "1:3: incomplete surrogate pair: the other `\\u` is missing"),
        ("[/ 1]", "1:2: expected a value but found `/`"),
        ("[/* 1]", "1:2: the comment has no end"),
    ] {
        assert_eq!(fault(text), format!("a.json:{said}"), "{text}");
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(node::parse(&source("a.json", &nested(CONFIG_DEPTH_MAX))).is_ok());
    assert_eq!(
        fault(&nested(100_000)),
        "a.json:1:66: expected at most 64 levels of nesting but found more"
    );
}

#[test]
fn places_count_characters_and_lines() {
    let source = source("a.json", "\u{feff}{\"ä\": \"😀\",\r\n\t\"\\u00e4b\": 12.50}");
    let root = node::parse(&source).expect("valid");
    let Raw::Map(fields) = &root.raw else { panic!("a map") };
    let shown = |mark: Mark| {
        let place = mark.place(&source);
        (place.line, place.column, &source.text[place.range])
    };
    assert_eq!(shown(root.at), (1, 1, "{"));
    assert_eq!(shown(fields[0].at), (1, 2, "\"ä\""));
    assert_eq!(shown(fields[0].value.at), (1, 7, "\"😀\""));
    assert_eq!(shown(fields[1].at), (2, 2, "\"\\u00e4b\""));
    assert_eq!(shown(fields[1].value.at), (2, 13, "12.50"));
}

#[test]
fn what_only_begins_like_json_stays_yaml_in_a_file_that_is_not_named_json() {
    let yaml = "{hooks: {session:start: [{command: a}]}} # flow";
    let read = node::parse(&source("hookwright.yaml", yaml)).expect("valid").to_json();
    assert_eq!(read, json!({"hooks": {"session:start": [{"command": "a"}]}}));
    assert_eq!(fault(yaml), "a.json:1:2: expected a key in double quotes but found `h`");
    let text = "{\"a\": 1, \"a\": 2}";
    let twice = node::parse(&source("hookwright.yaml", text)).expect_err("twice").to_string();
    assert_eq!(twice, "hookwright.yaml:1:10: the key `a` appears twice");
}
