//! Advice about hook commands that may not do what their author expects.

use std::path::Path;

use hookwright_config::first_program::CannotRunCause;
use hookwright_config::{Warning, WarningKind};
use hookwright_engine::template::{CommandWarningKind as OfVariable, Evaluation};
use hookwright_events::tool;
use hookwright_pipeline::limits::FOLDER_ENTRIES_MAX;
use serde_json::{Value, json};

use super::firing::unfired_advice;
use super::{Advice, did_you_mean};

/// The maximum number of a tool's inputs that a message names.
const INPUTS_NAMED_MAX: usize = 5;

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
            WarningKind::CannotRun(CannotRunCause::NotThere) => "no_program",
            WarningKind::CannotRun(CannotRunCause::NotExecutable) => "not_executable",
            WarningKind::UnknownTool => "unknown_tool",
            WarningKind::UnknownInput { .. } => "unknown_input",
        },
        "message": advice.heading,
        "found": warning.name,
        "nearest": warning.nearest,
        "help": advice.help,
    })
}

/// The advice about a warning.
pub(crate) fn warning_advice(warning: &Warning) -> Advice {
    let Warning { name, reference, .. } = warning;
    match &warning.kind {
        WarningKind::Variable(kind) => variable_advice(*kind, warning),
        WarningKind::NotEnforced => Advice::new(
            format!(
                "only the built-in agent obeys the rules of `{reference}`: other agents do not"
            ),
            "write a hook at `tool:pre_execute` that denies, or set the agent's own permissions",
        ),
        WarningKind::NothingFires { hosts } => unfired_advice(reference, name, hosts),
        WarningKind::CannotRun(CannotRunCause::NotThere)
            if name.contains('/') || name.contains('.') =>
        {
            Advice::new(
                format!("there is no file `{name}`, so hook `{reference}` cannot run it"),
                "create it, or fix its path; paths begin at the project root, or at `working_dir`",
            )
        }
        WarningKind::CannotRun(CannotRunCause::NotThere) => Advice::new(
            format!("there is no program `{name}`, so hook `{reference}` cannot run it"),
            "install it, or fix its name",
        ),
        WarningKind::CannotRun(CannotRunCause::NotExecutable) => Advice::new(
            format!("`{name}` is not executable, so hook `{reference}` cannot run it"),
            format!("make it executable: `chmod +x {name}`"),
        ),
        WarningKind::UnknownTool => Advice::new(
            format!("no agent has a tool `{name}`, so hook `{reference}` never wakes for it"),
            did_you_mean(warning.nearest.as_deref()).unwrap_or_else(|| {
                format!("for a tool of your own, use a regular expression: `matcher: /^{name}$/`")
            }),
        ),
        WarningKind::UnknownInput { tools } => Advice::new(
            format!("{} no input `{name}`, so `{reference}` is always empty", have(tools)),
            match &warning.nearest {
                Some(near) => format!("did you mean `${{TOOL_INPUT.{near}}}`?"),
                None => {
                    let known =
                        tools.first().and_then(|tool| tool::inputs(tool)).unwrap_or_default();
                    let known = known.iter().take(INPUTS_NAMED_MAX).copied().collect::<Vec<_>>();
                    format!("its inputs include {}", known.join(", "))
                }
            },
        ),
    }
}

/// `the tool \`bash\` has`.
fn have(tools: &[String]) -> String {
    let names: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    match &names[..] {
        [one] => format!("the tool {one} has"),
        several => format!("the tools {} have", several.join(", ")),
    }
}

fn variable_advice(kind: OfVariable, warning: &Warning) -> Advice {
    let Warning { name, reference, .. } = warning;
    match kind {
        OfVariable::Literal => Advice::new(
            format!("the shell does not replace `{reference}` in single quotes"),
            format!("use double quotes: `\"{reference}\"`"),
        ),
        OfVariable::Unquoted => Advice::new(
            format!(
                "the value of `{reference}` can be any text, and the shell splits it into \
                 words outside quotes"
            ),
            format!("put it in double quotes: `\"{reference}\"`"),
        ),
        OfVariable::EvaluatedAgain(evaluation) => Advice::new(
            format!(
                "the value of `{reference}` can be any text, and the shell evaluates it again \
                 {evaluation}, so it could run commands"
            ),
            evaluation_help(evaluation, reference),
        ),
        OfVariable::Unknown => Advice::new(
            format!("nothing sets the variable `{name}`"),
            did_you_mean(warning.nearest.as_deref()).unwrap_or_else(|| {
                format!(
                    "set it in the command or in `env:`, or write `${{{name}:-}}` if it may \
                     be missing"
                )
            }),
        ),
    }
}

fn evaluation_help(evaluation: Evaluation, reference: &str) -> String {
    match evaluation {
        Evaluation::Arithmetic | Evaluation::Let | Evaluation::NumericTest => format!(
            "compare with `[ \"{reference}\" -gt 3 ]`, which accepts only numbers, calculate with \
             `expr`, or move the test to `when:`"
        ),
        Evaluation::Subscript | Evaluation::VariableName => {
            format!("choose among names you write: `case \"{reference}\" in a) … ;; esac`")
        }
        Evaluation::Declaration => format!("assign it without attributes: `value=\"{reference}\"`"),
        Evaluation::Eval | Evaluation::Trap => {
            format!(
                "use single quotes so that the shell reads the value only then: `'… \
                 \"{reference}\" …'`"
            )
        }
        Evaluation::Program => {
            format!("pass it as an argument: `sh -c '… \"$1\" …' sh \"{reference}\"`")
        }
    }
}

/// The note about a folder that was not searched completely.
pub(crate) fn cut_folder(folder: &Path) -> Advice {
    Advice::new(
        format!(
            "`{}` has more than {FOLDER_ENTRIES_MAX} entries: only the first ones were searched \
             for loops and pipelines",
            folder.display()
        ),
        "check the others by name: `hookwright check FILE`",
    )
}
