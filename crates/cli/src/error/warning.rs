//! What a person should do about a command of a hook that may not do what was meant.

use hookwright_engine::config::{Warning, WarningKind};
use hookwright_engine::template::{Evaluation, WarningKind as OfVariable};
use serde_json::{Value, json};

use super::firing::unfired_advice;
use super::{Advice, did_you_mean};

/// A warning as one JSON object.
pub(crate) fn warning_json(warning: &Warning) -> Value {
    let advice = warning_advice(warning);
    json!({
        "file": warning.source.path.display().to_string(),
        "line": warning.place.line,
        "column": warning.place.column,
        "kind": match &warning.kind {
            WarningKind::Variable(OfVariable::Literal) => "literal",
            WarningKind::Variable(OfVariable::Unquoted) => "unquoted",
            WarningKind::Variable(OfVariable::EvaluatedAgain(_)) => "evaluated_again",
            WarningKind::Variable(OfVariable::Unknown) => "unknown",
            WarningKind::NotEnforced => "not_enforced",
            WarningKind::NothingFires { .. } => "nothing_fires",
        },
        "message": advice.heading,
        "found": warning.name,
        "nearest": warning.nearest,
        "help": advice.help,
    })
}

/// What a person is told about a warning.
pub(crate) fn warning_advice(warning: &Warning) -> Advice {
    let Warning { name, reference, .. } = warning;
    match &warning.kind {
        WarningKind::Variable(kind) => variable_advice(*kind, warning),
        WarningKind::NotEnforced => Advice::new(
            format!("nothing enforces the rules of `{reference}` yet, so they protect nothing"),
            "write a hook at `tool:pre_execute` that denies, or set the permissions of the agent itself",
        ),
        WarningKind::NothingFires { hosts } => unfired_advice(reference, name, hosts),
    }
}

fn variable_advice(kind: OfVariable, warning: &Warning) -> Advice {
    let Warning { name, reference, .. } = warning;
    match kind {
        OfVariable::Literal => Advice::new(
            format!("`{reference}` stays as it is in single quotes, no value takes its place"),
            format!("use double quotes: `\"{reference}\"`"),
        ),
        OfVariable::Unquoted => Advice::new(
            format!("the value of `{reference}` may be any text, and outside quotes it is split into words"),
            format!("put it in double quotes: `\"{reference}\"`"),
        ),
        OfVariable::EvaluatedAgain(evaluation) => Advice::new(
            format!(
                "the value of `{reference}` may be any text, and the shell evaluates it again {evaluation}, \
                 so it could run commands"
            ),
            evaluation_help(evaluation, reference),
        ),
        OfVariable::Unknown => Advice::new(
            format!("nobody sets the variable `{name}`"),
            did_you_mean(warning.nearest.as_deref()).unwrap_or_else(|| {
                format!("set it in the command or in `env:`, or write `${{{name}:-}}` where it may be missing")
            }),
        ),
    }
}

fn evaluation_help(evaluation: Evaluation, reference: &str) -> String {
    match evaluation {
        Evaluation::Arithmetic | Evaluation::Let | Evaluation::NumericTest => format!(
            "compare with `[ \"{reference}\" -gt 3 ]`, which takes numbers only, calculate with `expr`, or move \
             the test into `when:`"
        ),
        Evaluation::Subscript | Evaluation::VariableName => {
            format!("choose among names you write: `case \"{reference}\" in a) … ;; esac`")
        }
        Evaluation::Declaration => format!("assign it without attributes: `value=\"{reference}\"`"),
        Evaluation::Eval | Evaluation::Trap => {
            format!("let single quotes keep the name for then: `'… \"{reference}\" …'`")
        }
        Evaluation::Program => {
            format!("pass it as an argument: `sh -c '… \"$1\" …' sh \"{reference}\"`")
        }
    }
}
