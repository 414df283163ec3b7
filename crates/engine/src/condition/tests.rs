use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Variables with values. Reading another one is a mistake of the test unless it is listed in
/// `NAMES`.
struct Variables(BTreeMap<String, Value>);

impl Values for Variables {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.0.get(name).map(Cow::Borrowed)
    }
}

/// Returns copies, like a host that computes its values on demand.
struct Copies(Variables);

impl Values for Copies {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.0.value(name).map(|value| Cow::Owned(value.into_owned()))
    }
}

const NAMES: &[&str] = &[
    "ITERATION",
    "STAGE",
    "NEXT_STAGE",
    "LAST_DECISION",
    "LAST_HOOK_STATUS",
    "CHANGED_FILES",
    "TOOL_INPUT",
    "HOOK_RESPONSE",
    "HOOKWRIGHT_STAGE",
    "X",
    "Y",
];

fn parse(text: &str) -> Result<Condition, ConditionError> {
    Condition::parse(text, &|name| NAMES.contains(&name), &|| {
        NAMES.iter().map(ToString::to_string).collect()
    })
}

fn answer(text: &str, values: Value) -> Result<bool, EvaluateError> {
    let Value::Object(map) = values else { panic!("values must be an object") };
    let condition = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let variables = Variables(map.into_iter().collect());
    let borrowed = condition.holds(&variables);
    assert_eq!(condition.holds(&Copies(variables)), borrowed, "{text} with owned values");
    borrowed
}

/// Checks each condition's result for `values`.
fn expect(values: Value, table: &[(&str, bool)]) {
    for (text, expected) in table {
        assert_eq!(answer(text, values.clone()), Ok(*expected), "{text} with {values}");
    }
}

fn unexpected(expected: &'static str, found: &str, at: Range<usize>) -> Result<(), ConditionError> {
    Err(ConditionError::Unexpected { expected: expected.into(), found: found.into(), at })
}

fn fault(text: &str) -> Result<(), ConditionError> {
    parse(text).map(|_| ())
}

// Conformance: agent-pipelines-055, agent-pipelines-056, agent-pipelines-057, agent-pipelines-058
#[test]
fn every_example_of_the_specification_evaluates_as_specified() {
    expect(
        json!({ "ITERATION": 10, "STAGE": "plan", "LAST_DECISION": "stop" }),
        &[
            ("${ITERATION} == 10", true),
            ("${ITERATION} % 10 == 0", true),
            ("${STAGE} == 'plan'", true),
            ("${LAST_DECISION} == 'stop'", true),
            ("${ITERATION} > 5 && ${STAGE} == 'work'", false),
            ("${ITERATION} == 1", false),
            ("${STAGE} == 'work' && ${ITERATION} > 5", false),
            ("${LAST_HOOK_STATUS} == 'failed'", false),
            ("${NEXT_STAGE} == 'deploy'", false),
        ],
    );
    expect(
        json!({
            "ITERATION": "11", "STAGE": "work", "LAST_DECISION": "continue",
            "LAST_HOOK_STATUS": "failed", "NEXT_STAGE": "deploy"
        }),
        &[
            ("${ITERATION} == 10", false),
            ("${ITERATION} % 10 == 0", false),
            ("${STAGE} == 'plan'", false),
            ("${LAST_DECISION} == 'stop'", false),
            ("${ITERATION} > 5 && ${STAGE} == 'work'", true),
            ("${STAGE} == 'work' && ${ITERATION} > 5", true),
            ("${LAST_HOOK_STATUS} == 'failed'", true),
            ("${NEXT_STAGE} == 'deploy'", true),
        ],
    );
    expect(json!({ "ITERATION": 1 }), &[("${ITERATION} == 1", true)]);
}

#[test]
fn a_text_that_reads_as_a_number_compares_as_a_number() {
    for ten in [json!(10), json!("10"), json!("10.0"), json!(10.0), json!(" 10\n")] {
        expect(
            json!({ "ITERATION": ten }),
            &[
                ("${ITERATION} == 10", true),
                ("${ITERATION} == '10'", true),
                ("${ITERATION} != 10", false),
                ("${ITERATION} > 9", true),
                ("${ITERATION} >= 10.5", false),
                ("${ITERATION} > '9'", true),
                ("-${ITERATION} == -10", true),
            ],
        );
    }
    expect(
        json!({}),
        &[
            ("'10' == 10", true),
            ("'9' < '10'", true),
            ("'-9' > '-10'", true),
            ("9223372036854775807 == 9223372036854775806", false),
            ("'12345678901234567890' == '12345678901234567891'", false),
            ("12345678901234567890 > 5", true),
        ],
    );
}

#[test]
fn everything_else_compares_as_text() {
    expect(
        json!({ "STAGE": "work", "X": ["a", 1], "Y": { "b": 2 } }),
        &[
            ("${STAGE} == 'work'", true),
            ("${STAGE} == \"work\"", true),
            ("'abc' < 5", false),
            ("'abc' > 5", true),
            ("'10a' < '9a'", true),
            ("'1e2' == 100", false),
            ("'+1' == 1", false),
            ("'Work' == 'work'", false),
            ("'' == 0", false),
            ("${NEXT_STAGE} == ''", true),
            ("${NEXT_STAGE} < 1", true),
            ("${X} == '[\"a\",1]'", true),
            ("${X} == ['a', '1']", true),
            ("${X} == ['a']", false),
            ("${Y} == '{\"b\":2}'", true),
        ],
    );
}

#[test]
fn true_and_false_equal_their_words() {
    for yes in [json!(true), json!("true")] {
        expect(
            json!({ "X": yes }),
            &[
                ("${X} == true", true),
                ("${X} != false", true),
                ("${X} == 1", false),
                ("${X}", true),
            ],
        );
    }
    expect(json!({}), &[("(1 == 1) == true", true), ("true == 'true'", true)]);
}

#[test]
fn nothing_zero_false_and_the_empty_list_are_false_on_their_own() {
    let values = [
        (json!(null), false),
        (json!(false), false),
        (json!("false"), false),
        (json!(""), false),
        (json!(0), false),
        (json!("0"), false),
        (json!(0.0), false),
        (json!([]), false),
        (json!(true), true),
        (json!("no"), true),
        (json!(" "), true),
        (json!(-1), true),
        (json!([0]), true),
        (json!({}), true),
    ];
    for (value, expected) in values {
        expect(
            json!({ "X": value }),
            &[("${X}", expected), ("!${X}", !expected), ("${X} && true", expected)],
        );
    }
    expect(json!({}), &[("${X}", false), ("[]", false), ("['']", true), ("'x'", true)]);
}

#[test]
fn a_path_leads_into_json_and_into_text_that_holds_json() {
    let input = json!({ "command": "sudo ls", "list": [{ "deep-er": 7 }], "0": "zero" });
    for value in [input.clone(), json!(input.to_string()), json!(format!("\n {input}"))] {
        expect(
            json!({ "TOOL_INPUT": value }),
            &[
                ("${TOOL_INPUT.command} startsWith 'sudo'", true),
                ("${TOOL_INPUT.list.0.deep-er} == 7", true),
                ("${TOOL_INPUT.0} == 'zero'", true),
                ("${TOOL_INPUT.list.1} == ''", true),
                ("${TOOL_INPUT.list.x} == ''", true),
                ("${TOOL_INPUT.list.99999999999999999999} == ''", true),
                ("${TOOL_INPUT.nothing.at.all} == ''", true),
                ("${TOOL_INPUT.command.more} == ''", true),
            ],
        );
    }
    expect(
        json!({ "X": { "body": "{\"action\": \"approve\"}" }, "Y": "{broken" }),
        &[
            ("${X.body.action} == 'approve'", true),
            ("${Y.body} == ''", true),
            ("${HOOK_RESPONSE.action} == ''", true),
        ],
    );
}

#[test]
fn in_looks_for_an_item_of_a_list_an_array_or_lines() {
    let files = json!("src/a.rs\r\nsrc/b.rs\n12\n");
    expect(
        json!({
            "STAGE": "plan", "CHANGED_FILES": files, "X": ["plan", 1], "Y": "[\"plan\", 2]"
        }),
        &[
            ("${STAGE} in ['plan', 'work']", true),
            ("${STAGE} in ['Plan', 1, true]", false),
            ("${STAGE} in []", false),
            ("1 in ['1']", true),
            ("${STAGE} in ['x', ${X.0}]", true),
            ("'src/a.rs' in ${CHANGED_FILES}", true),
            ("'src' in ${CHANGED_FILES}", false),
            ("12.0 in ${CHANGED_FILES}", true),
            ("${STAGE} in ${X}", true),
            ("'1' in ${X}", true),
            ("'work' in ${X}", false),
            ("${STAGE} in ${Y}", true),
            ("'' in ${NEXT_STAGE}", false),
            ("!(${STAGE} in ['work'])", true),
        ],
    );
}

#[test]
fn a_value_without_items_is_not_a_list() {
    for (value, shown) in [(json!(5), "5"), (json!(true), "true"), (json!({ "a": 1 }), "{\"a\":1}")]
    {
        assert_eq!(
            answer("'a' in ${X.y}", json!({ "X": { "y": value } })),
            Err(EvaluateError::NotAList {
                operand: Box::new(Operand { variable: Some("X.y".into()), value: shown.into() })
            })
        );
    }
}

#[test]
fn contains_finds_a_text_in_a_text_and_an_item_in_a_list() {
    expect(
        json!({ "CHANGED_FILES": "src/a.rs\nsrc/b.rs", "X": ["src", 7], "Y": { "cmd": "sudo" } }),
        &[
            ("${CHANGED_FILES} contains 'src/'", true),
            ("${CHANGED_FILES} contains 'test'", false),
            ("${X} contains 'src'", true),
            ("${X} contains 'sr'", false),
            ("${X} contains '7'", true),
            ("['a', 'b'] contains 'a'", true),
            ("['a', 'b'] contains 'c'", false),
            ("${Y} contains 'sudo'", true),
            ("105 contains 0", true),
        ],
    );
}

#[test]
fn texts_are_asked_how_they_begin_end_and_look() {
    expect(
        json!({ "TOOL_INPUT": { "command": "git push --force" }, "ITERATION": 12 }),
        &[
            ("${TOOL_INPUT.command} startsWith 'git '", true),
            ("${TOOL_INPUT.command} endsWith 'force'", true),
            ("${TOOL_INPUT.command} endsWith 'git'", false),
            (r"${TOOL_INPUT.command} matches 'push\s+--force\b'", true),
            (r"${TOOL_INPUT.command} matches '^push'", false),
            (r"${ITERATION} matches '^\d\d$'", true),
            ("${TOOL_INPUT} matches 'command.*push'", true),
            ("${NEXT_STAGE} matches '^$'", true),
        ],
    );
}

#[test]
fn a_backslash_escapes_its_quote_and_itself_and_is_plain_elsewhere() {
    expect(
        json!({ "X": "it's", "Y": r"a\nb" }),
        &[
            (r"${X} == 'it\'s'", true),
            (r#"${X} == "it's""#, true),
            (r#"'"' == "\"""#, true),
            (r"${Y} == 'a\nb'", true),
            (r"${Y} == 'a\\nb'", true),
            (r"'\\' == '\\'", true),
            (r#"'\"' == '"'"#, false),
            ("'é ü' endsWith 'ü'", true),
        ],
    );
}

#[test]
fn numbers_are_calculated_exactly_while_they_fit() {
    expect(
        json!({ "X": "7", "Y": 2 }),
        &[
            ("${X} + ${Y} == 9", true),
            ("${X} - ${Y} == 5", true),
            ("${X} * ${Y} == 14", true),
            ("${X} / ${Y} == 3.5", true),
            ("${X} % ${Y} == 1", true),
            ("-7 % 2 == -1", true),
            ("7.5 % 2 == 1.5", true),
            ("6 / 3 == 2", true),
            ("9007199254740993 + 0 == 9007199254740993", true),
            ("9223372036854775807 + 1 > 9223372036854770000", true),
            ("(-9223372036854775807 - 1) % -1 == 0", true),
            ("(-9223372036854775807 - 1) / -1 > 0", true),
            ("-(-9223372036854775807 - 1) > 0", true),
            ("3 -1 == 2", true),
            ("- -3 == 3", true),
        ],
    );
}

#[test]
fn arithmetic_with_a_value_that_is_not_a_number_fails() {
    let table = [
        ("'a' % 2 == 0", "%", None, "a"),
        ("1 + '' == 1", "+", None, ""),
        ("${STAGE} * 2", "*", Some("STAGE"), "work"),
        ("2 - ${NEXT_STAGE}", "-", Some("NEXT_STAGE"), ""),
        ("-${X.a.0}", "-", Some("X.a.0"), "b"),
        ("1 + 2 - true", "-", None, "true"),
        ("${X} / 2", "/", Some("X"), "{\"a\":[\"b\"]}"),
    ];
    for (text, operator, variable, value) in table {
        let operand =
            Box::new(Operand { variable: variable.map(str::to_owned), value: value.to_owned() });
        assert_eq!(
            answer(text, json!({ "STAGE": "work", "X": { "a": ["b"] } })),
            Err(EvaluateError::NotANumber { operator, operand }),
            "{text}"
        );
    }
    for (text, operator) in [("1 % 0", "%"), ("1 / 0.0", "/"), ("${X} / ${Y}", "/")] {
        assert_eq!(
            answer(text, json!({ "X": 1, "Y": "0" })),
            Err(EvaluateError::DivisionByZero { operator }),
            "{text}"
        );
    }
}

#[test]
fn an_error_names_the_variable_and_shortens_its_value() {
    let message = |text, values| answer(text, values).map_err(|error| error.to_string());
    assert_eq!(
        message("${NEXT_STAGE} % 2", json!({})),
        Err("`%` needs a number but `${NEXT_STAGE}` is empty".into())
    );
    assert_eq!(
        message("${X} % 2", json!({ "X": "é".repeat(100) })),
        Err(format!("`%` needs a number but `${{X}}` is `{}…`", "é".repeat(60)))
    );
    assert_eq!(message("'a' % 2", json!({})), Err("`%` needs a number but found `a`".into()));
    assert_eq!(message("1 % 0", json!({})), Err("`%` by zero".into()));
}

#[test]
fn operators_have_the_precedence_of_the_table() {
    expect(
        json!({ "X": 5 }),
        &[
            ("true || true && false", true),
            ("(true || true) && false", false),
            ("1 + 2 * 3 == 7", true),
            ("(1 + 2) * 3 == 9", true),
            ("10 - 2 - 3 == 5", true),
            ("10 - (2 - 3) == 11", true),
            ("100 / 10 / 5 == 2", true),
            ("2 * 7 % 4 == 2", true),
            ("1 + 1 in [2]", true),
            ("1 < 2 && 2 < 3 || false", true),
            ("-2 * -2 == 4", true),
            ("!${X} == 1", false),
            ("!(${X} == 1)", true),
            ("!!${X}", true),
            ("!false && !false", true),
        ],
    );
}

#[test]
fn the_side_that_does_not_matter_is_not_asked() {
    expect(
        json!({}),
        &[
            ("true || 'a' % 2 == 0", true),
            ("false && 'a' % 2 == 0", false),
            ("false || true || 'a' % 2", true),
            ("'b' in ['b', 'a' % 2]", true),
        ],
    );
    assert!(answer("false || 'a' % 2 == 0", json!({})).is_err());
}

#[test]
fn an_unknown_variable_is_a_fault_with_its_place_and_the_nearest_name() {
    let table = [
        ("${ITERATON} % 10 == 0", "ITERATON", 2..10, Some("ITERATION")),
        ("1 == 1 || ${stage.x} == 1", "stage", 12..17, Some("STAGE")),
        ("${HOOKWRIGHT_STAG}", "HOOKWRIGHT_STAG", 2..17, Some("HOOKWRIGHT_STAGE")),
        ("${SOMETHING_ELSE}", "SOMETHING_ELSE", 2..16, None),
    ];
    for (text, name, at, nearest) in table {
        assert_eq!(
            fault(text),
            Err(ConditionError::UnknownVariable {
                name: name.into(),
                at,
                nearest: nearest.map(str::to_owned)
            })
        );
    }
}

#[test]
fn the_variables_of_a_condition_are_each_listed_once() {
    let condition =
        parse("${X.a} == ${Y} && (${STAGE} in [${X}, 1] || -${ITERATION} < 0)").unwrap();
    assert_eq!(condition.variables().collect::<Vec<_>>(), ["X", "Y", "STAGE", "ITERATION"]);
    assert_eq!(
        condition.source(),
        "${X.a} == ${Y} && (${STAGE} in [${X}, 1] || -${ITERATION} < 0)"
    );
}

#[test]
fn a_fault_names_what_was_expected_and_its_place() {
    let chain = "`&&`, `||` or parentheses between two comparisons";
    let table = [
        ("$STAGE == 'plan'", "`${STAGE}`", "$STAGE", 0..6),
        ("$ == 1", "`${NAME}`", "$", 0..1),
        ("STAGE == 'plan'", "`${STAGE}`", "STAGE", 0..5),
        ("${STAGE} == plan", "`${plan}` or text in quotes", "plan", 12..16),
        ("${STAGE} = 'plan'", "`==`", "=", 9..10),
        ("${X} and ${Y}", "`&&`", "and", 5..8),
        ("${X} | ${Y}", "`||`", "|", 5..6),
        ("not ${X}", "`!`", "not", 0..3),
        ("1 == 1 == 1", chain, "==", 7..9),
        ("1 < 2 in [1]", chain, "in", 6..8),
        ("1 ==", "a value", "", 4..4),
        ("1 == in", "a value", "in", 5..7),
        ("(1 == 1", "an operator or `)`", "", 7..7),
        ("1 == 1)", "an operator", ")", 6..7),
        ("10abc", "an operator", "abc", 2..5),
        ("1.", "an operator", ".", 1..2),
        ("['a' 'b']", "`,` or `]`", "'b'", 5..8),
        ("['a'", "`,` or `]`", "", 4..4),
        ("${X", "`.` or `}`", "", 3..3),
        ("${X:-1}", "`.` or `}`", ":", 3..4),
        ("${X.}", "the name or number of a part", "}", 4..5),
        ("${}", "a variable's name", "}", 2..3),
        ("${1}", "a variable's name", "1", 2..3),
        ("'a' in 'abc'", "a list or a variable", "'abc'", 7..12),
        ("'a' in (1 + 2) && 1", "a list or a variable", "(1 + 2)", 7..14),
        ("${X} matches ${Y}", "a regular expression in quotes", "${Y}", 13..17),
        ("é == 1", "a value", "é", 0..2),
    ];
    for (text, expected, found, at) in table {
        assert_eq!(fault(text), unexpected(expected, found, at), "{text}");
    }
}

#[test]
fn faults_of_the_text_itself_are_named() {
    assert_eq!(fault(""), Err(ConditionError::Empty { at: 0..0 }));
    assert_eq!(fault(" \n"), Err(ConditionError::Empty { at: 0..2 }));
    assert_eq!(fault("1 == 'a"), Err(ConditionError::UnterminatedString { at: 5..7 }));
    assert_eq!(fault(r"'a\'"), Err(ConditionError::UnterminatedString { at: 0..4 }));
    assert_eq!(
        fault("${X} matches '(' "),
        Err(ConditionError::BadRegex {
            pattern: "(".into(),
            cause: "unclosed group".into(),
            at: 13..16
        })
    );
    assert_eq!(
        fault("${X} matches '(a{1000}){1000}'"),
        Err(ConditionError::BadRegex {
            pattern: "(a{1000}){1000}".into(),
            cause: "it needs more than 1048576 bytes".into(),
            at: 13..30
        })
    );
}

#[test]
fn every_fault_has_a_message_and_a_place() {
    let table = [
        ("", "the condition is empty", 0..0),
        ("${ITERATON}", "unknown variable `ITERATON`", 2..10),
        ("1 ==", "expected a value but found the end", 4..4),
        ("1 = 1", "expected `==` but found `=`", 2..3),
        ("'", "the string that begins here has no closing quote", 0..1),
        ("1 matches '('", "`(` is not a valid regular expression: unclosed group", 10..13),
    ];
    for (text, message, at) in table {
        let error = parse(text).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.at()), (message, at));
    }
    let long = parse(&"1".repeat(CONDITION_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(long, ConditionError::TooLong { length: 10_001 });
    assert_eq!(long.at(), 0..0);
    assert_eq!(long.to_string(), "the condition has 10001 bytes, expected at most 10000");
}

#[test]
fn nesting_is_bounded_for_every_kind_of_nesting() {
    for opening in ["(", "[", "!", "-", "(!", "1 + (", "true && ![("] {
        let text = opening.repeat(CONDITION_BYTES_MAX / opening.len());
        assert!(matches!(fault(&text), Err(ConditionError::TooDeep { .. })), "{opening}");
    }
    let deepest =
        format!("{}1{}", "(".repeat(CONDITION_DEPTH_MAX), ")".repeat(CONDITION_DEPTH_MAX));
    expect(json!({}), &[(&deepest, true)]);
    let deeper = format!("({deepest})");
    assert_eq!(
        fault(&deeper),
        Err(ConditionError::TooDeep { at: CONDITION_DEPTH_MAX..CONDITION_DEPTH_MAX + 1 })
    );
}

#[test]
fn a_long_chain_is_not_deep() {
    for (link, end) in [("1+", "1"), ("true&&", "true"), ("0||", "1"), ("1*1+", "1")] {
        let text = format!("{}{end}", link.repeat((CONDITION_BYTES_MAX - end.len()) / link.len()));
        expect(json!({}), &[(&text, true)]);
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "-?[0-9]{0,25}(\\.[0-9]{0,3})?".prop_map(Value::from),
        "[{\\[]\\PC{0,5}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c0-2]", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

const VALID: &[&str] = &[
    "${ITERATION} % 10 == 0 && ${STAGE} == 'work'",
    "!(${X.a} in ['a', \"b\", 1.5, -2, true]) || ${Y.0.b} contains 'x'",
    "${X} matches '^a\\d+$' && ${Y} startsWith 'é' || ${X} endsWith ${Y}",
    "-(${X} + 1) * 2 / ${Y} - 3 < 4 && ${X} <= ${Y} && ${X} >= 1 && ${X} != [1, [2]]",
    "${X} in ${Y} || ${X} > ${Y} || ${X} % ${Y} || ${X} * ${Y} + ${X}",
];

proptest! {
    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn parsing_text_like_a_condition_never_panics(
        text in r#"(\$\{X[.}]?|[-()\[\]!&|=<>'"\\,.+*/% 0-9aé]| in | matches | contains |true){0,40}"#
    ) {
        let _ = parse(&text);
    }

    #[test]
    fn a_damaged_condition_is_answered_or_faulty_with_a_place_inside_its_text(
        which in 0..VALID.len(),
        place in any::<prop::sample::Index>(),
        removed in 0..4usize,
        inserted in r#"[-()\[\]!&|='"\\,.${}é0a ]{0,3}"#,
        value in any_value(),
    ) {
        let mut characters: Vec<char> = VALID[which].chars().collect();
        let start = place.index(characters.len());
        let end = (start + removed).min(characters.len());
        characters.splice(start..end, inserted.chars());
        let text: String = characters.into_iter().collect();
        match parse(&text) {
            Ok(condition) => {
                let _ = condition.holds(&Variables([("X".to_owned(), value)].into()));
            }
            Err(error) => prop_assert!(text.get(error.at()).is_some(), "{error} at {:?}", error.at()),
        }
    }

    #[test]
    fn evaluating_never_panics_and_is_the_same_for_owned_and_borrowed_values(
        which in 0..VALID.len(), x in any_value(), y in any_value()
    ) {
        let condition = parse(VALID[which]).unwrap();
        let values = Variables([("X".to_owned(), x), ("Y".to_owned(), y)].into());
        let borrowed = condition.holds(&values);
        prop_assert_eq!(condition.holds(&Copies(values)), borrowed);
    }

    #[test]
    fn the_six_comparisons_agree(x in any_value(), y in any_value()) {
        let values = json!({ "X": x, "Y": y });
        let holds = |text| answer(text, values.clone()).unwrap();
        prop_assert_eq!(holds("${X} == ${Y}"), holds("${Y} == ${X}"));
        prop_assert_ne!(holds("${X} == ${Y}"), holds("${X} != ${Y}"));
        prop_assert_eq!(holds("${X} < ${Y}"), holds("${Y} > ${X}"));
        prop_assert_ne!(holds("${X} <= ${Y}"), holds("${X} > ${Y}"));
        prop_assert_eq!(holds("${X} == ${X}"), true);
    }
}
