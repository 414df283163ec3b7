//! Advice about patterns, matchers and conditions that cannot be parsed.

use hookwright_engine::condition::ConditionError;
use hookwright_engine::matcher::MatcherError;
use hookwright_engine::pattern::PatternError;

use super::Advice;

pub(super) fn pattern(error: &PatternError, near: Option<String>) -> Advice {
    match error {
        PatternError::UnknownEvent { name, .. } => Advice::new(
            error.to_string(),
            near.unwrap_or_else(|| "`hookwright events` lists every event".into()),
        )
        .found(name),
        PatternError::NoSubject { name, event } => {
            Advice::new(error.to_string(), format!("write `{event}` alone"))
                .found(name)
                .expected(*event)
        }
        PatternError::BadSubject { name, event } => Advice::new(
            error.to_string(),
            format!("write `{event}` and put a regular expression in `matcher: /…/`"),
        )
        .found(name),
        PatternError::BadGlob { name } => Advice::new(
            error.to_string(),
            "write one pattern for each, separated by commas, or use `matcher`",
        )
        .found(name),
        PatternError::Empty => Advice::new(
            error.to_string(),
            "write a name between the commas, as in `tool:pre_execute, session:stop`",
        ),
    }
}

pub(super) fn matcher(error: &MatcherError) -> Advice {
    let help = match error {
        MatcherError::BadRegex { .. } => {
            "fix the expression between the slashes, or remove the slashes to match plain names"
        }
        MatcherError::EmptyName => "remove the `|` that has no name beside it",
        MatcherError::Comma => "write `A|B`",
        MatcherError::OddName { .. } => {
            "use `/…/` for a regular expression, `*` for any characters, `A|B` for several names"
        }
    };
    Advice::new(error.to_string(), help)
}

pub(super) fn condition(error: &ConditionError, near: Option<String>) -> Advice {
    const EXAMPLE: &str =
        "a condition looks like `${ITERATION} % 10 == 0 && ${STAGE} in ['plan', 'work']`";
    let message = error.to_string();
    match error {
        ConditionError::Empty { .. } => Advice::new(message, "write a condition, or remove `when`"),
        ConditionError::UnknownVariable { name, .. } => {
            Advice::new(message, near.unwrap_or_else(variable_help)).found(name)
        }
        ConditionError::Unexpected { expected, found, .. } => {
            Advice::new(message, if found == "=" { "compare with `==`" } else { EXAMPLE })
                .found(found)
                .expected(expected.as_ref())
        }
        ConditionError::UnterminatedString { .. } => {
            Advice::new(message, "close it with the quote it began with")
        }
        ConditionError::BadRegex { pattern, .. } => Advice::new(
            message,
            "fix the expression, or use `contains` or `startsWith` to compare plain text",
        )
        .found(pattern),
        ConditionError::TooLong { length } => {
            Advice::new(message, IN_A_SCRIPT).found(format!("{length} bytes"))
        }
        ConditionError::TooDeep { .. } => Advice::new(message, IN_A_SCRIPT),
    }
}

const IN_A_SCRIPT: &str =
    "test it in the hook's command: a script can exit with 0 when it has nothing to do";

pub(super) fn variable_help() -> String {
    "use a variable that `hookwright events NAME` lists, or set it in the environment".into()
}
