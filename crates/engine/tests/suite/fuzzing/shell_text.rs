//! Properties of any text as a command.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use hookwright_engine::template::{
    CommandText, Filled, Names, Problem, Quoting, Reference, Rewritten, TextError, Value, places,
    rewrite, warnings,
};
use hookwright_engine::variables;

/// Occurs in no text under test.
const VALUE: &str = "\u{1}value\u{1}";

/// A command is refused with a place within it, or gets its values only from the environment, where
/// no shell evaluates them again.
pub(super) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if text.contains(['\0', '\u{1}']) || text.contains("HOOKWRIGHT_REF_") {
        return;
    }
    templates(text);
    paths(text);
    odd_places(text);
}

fn known(name: &str) -> Reference {
    match name {
        "x" | "y" => Reference::Scalar,
        "l" => Reference::List,
        _ => Reference::Unknown,
    }
}

fn templates(text: &str) {
    match rewrite(text, &known) {
        Ok(rewritten) => {
            for elements in [0, 1, 3] {
                let filled = rewritten.fill(&|name| match known(name) {
                    Reference::List => Value::List(vec![Cow::Borrowed(VALUE); elements]),
                    Reference::Scalar | Reference::Unknown => Value::Scalar(Cow::Borrowed(VALUE)),
                });
                is_filled_well(text, &rewritten, &filled);
            }
        }
        Err(error) => {
            let at = text.get(error.at.clone()).expect("the place is within the text");
            match error.problem {
                Problem::Unreadable(_) => {}
                Problem::Misplaced { .. }
                | Problem::EvaluatedAgain { .. }
                | Problem::ListAsCommand { .. } => {
                    assert!(at.starts_with("{{") && at.ends_with("}}"), "{at}");
                    assert!(error.problem.fix().is_some(), "{} has no fix", error.problem);
                }
            }
        }
    }
}

fn is_filled_well(text: &str, rewritten: &Rewritten, filled: &Filled<'_>) {
    if rewritten.references().is_empty() {
        assert_eq!(filled.text, text, "nothing was to be done");
        return;
    }
    assert!(!filled.text.contains(VALUE), "a value is in the text");
    for template in ["{{x}}", "{{y}}", "{{l}}"] {
        assert!(!filled.text.contains(template), "{template} is left in {:?}", filled.text);
    }
    let set: HashSet<&str> = filled.environment.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(set.len(), filled.environment.len(), "a variable is set twice");
    let found = generated(&filled.text);
    let named: HashSet<&str> =
        found.iter().map(|at| &filled.text[at.start + 2..at.end - 1]).collect();
    assert_eq!(named, set, "in {:?}", filled.text);
    // The text with its references reads as the text with its templates did: nothing moved.
    let read = places(&filled.text, &found).expect("what was readable stays so");
    for (at, place) in found.iter().zip(read) {
        let reference = &filled.text[at.clone()];
        assert_eq!(place.evaluation, None, "{reference} is evaluated in {:?}", filled.text);
        assert!(
            matches!(place.quoting, Quoting::Double | Quoting::HereDocument),
            "{reference} is in {:?} in {:?}",
            place.quoting,
            filled.text
        );
    }
}

/// Every reference to a generated variable.
fn generated(text: &str) -> Vec<Range<usize>> {
    let starts = text.match_indices("${HOOKWRIGHT_REF_T").map(|(at, _)| at);
    starts.map(|at| at..at + text[at..].find('}').expect("it is closed") + 1).collect()
}

fn paths(text: &str) {
    match CommandText::new(text) {
        Ok(command) => {
            assert_eq!(command.source(), text);
            if command.references().is_empty() {
                assert_eq!(command.for_shell(), text);
            }
            for path in command.references() {
                assert!(variables::is_ours(&path.variable));
                assert!(command.names(&path.generated), "{} is not named", path.generated);
            }
        }
        Err(TextError::UnknownVariable { name, at, .. }) => {
            assert_eq!(text.get(at), Some(name.as_str()));
        }
        Err(TextError::EvaluatedAgain { reference, at }) => {
            assert_eq!(text.get(at), Some(reference.as_str()));
        }
        Err(TextError::Template(error)) => panic!("native texts have no templates: {error}"),
    }
}

fn odd_places(text: &str) {
    let names = Names {
        is_ours: &variables::is_ours,
        is_free_text: &variables::is_free_text,
        is_list: &variables::is_list,
        is_in_environment: &|name| name == "HOME",
    };
    let mut passed = 0;
    for warning in warnings(text, &names) {
        assert!(passed <= warning.at.start, "{warning:?} is before the one before it");
        passed = warning.at.end;
        assert_eq!(text.get(warning.name_at.clone()), Some(warning.name.as_str()));
        assert!(warning.at.start <= warning.name_at.start && warning.name_at.end <= warning.at.end);
    }
}
