//! Properties of any text as a `when:`.

use std::borrow::Cow;

use hookwright_engine::condition::{Condition, ConditionError, EvaluateError, Values};
use hookwright_engine::variables;
use serde_json::{Value, json};

/// Values of every kind, chosen by the variable's name and the round.
struct Rounds {
    all: Vec<Option<Value>>,
    round: usize,
}

impl Values for Rounds {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        let place = name.bytes().fold(self.round, |sum, byte| sum.wrapping_mul(31) + byte as usize);
        self.all[place % self.all.len()].as_ref().map(Cow::Borrowed)
    }
}

/// A condition is refused with a place within it, or has one result, whatever the values are.
pub(super) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let condition = match parsed(text) {
        Ok(condition) => condition,
        Err(error) => {
            assert!(text.get(error.at()).is_some(), "{error} is at {:?}", error.at());
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(condition.source(), text);
    let names: Vec<&str> = condition.variables().collect();
    for (number, name) in names.iter().enumerate() {
        assert!(variables::is_ours(name), "{name} is no variable");
        assert!(!names[..number].contains(name), "{name} appears twice");
    }
    let mut values = Rounds { all: values(), round: 0 };
    for round in 0..4 {
        values.round = round;
        let answer = condition.holds(&values);
        assert_eq!(condition.holds(&values), answer, "the second answer is another");
        agree(text, &values, &answer);
    }
}

/// Conditions built around a condition follow from it. A long or deep one may leave no room for
/// that.
fn agree(text: &str, values: &Rounds, answer: &Result<bool, EvaluateError>) {
    let of = |written: String| match parsed(&written) {
        Ok(condition) => Some(condition.holds(values)),
        Err(ConditionError::TooLong { .. } | ConditionError::TooDeep { .. }) => None,
        Err(error) => panic!("{written}: {error}"),
    };
    let same = [format!("({text})"), format!("true && ({text})"), format!("({text}) || false")];
    for written in same {
        assert!(of(written.clone()).is_none_or(|other| other == *answer), "{written}");
    }
    let negated = answer.clone().map(|holds| !holds);
    assert!(of(format!("!({text})")).is_none_or(|other| other == negated));
    assert!(of(format!("true || ({text})")).is_none_or(|other| other == Ok(true)));
    assert!(of(format!("false && ({text})")).is_none_or(|other| other == Ok(false)));
}

fn parsed(text: &str) -> Result<Condition, ConditionError> {
    let names = || variables::names().map(str::to_owned).collect();
    Condition::parse(text, &variables::is_ours, &names)
}

fn values() -> Vec<Option<Value>> {
    vec![
        None,
        Some(json!("")),
        Some(json!(0)),
        Some(json!(-3.5)),
        Some(json!(u64::MAX)),
        Some(json!("10")),
        Some(json!("src/main.rs\nREADME.md")),
        Some(json!("[\"a\", 1]")),
        Some(json!("false")),
        Some(json!(true)),
        Some(json!(["a", "b", 3, null, { "k": [1] }])),
        Some(json!({ "command": "git push", "edits": [{ "n": 1 }] })),
    ]
}
