//! What a person should do about a pattern, a matcher or a condition that cannot be read.

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
            format!("write `{event}` and put a regular expression into `matcher: /…/`"),
        )
        .found(name),
        PatternError::BadGlob { name } => Advice::new(
            error.to_string(),
            "write one pattern for each, separated by commas, or narrow with `matcher`",
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
            "fix the expression between the slashes, or leave them out to match plain names"
        }
        MatcherError::EmptyName => "remove the `|` that has no name beside it",
        MatcherError::Comma => "write `A|B`",
        MatcherError::OddName { .. } => {
            "write a regular expression as `/…/`, any characters as `*`, several names as `A|B`"
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
            "fix the expression; `contains` and `startsWith` compare plain text",
        )
        .found(pattern),
        ConditionError::TooLong { length } => {
            Advice::new(message, IN_A_SCRIPT).found(format!("{length} bytes"))
        }
        ConditionError::TooDeep { .. } => Advice::new(message, IN_A_SCRIPT),
    }
}

const IN_A_SCRIPT: &str =
    "let the hook's command decide: a script can exit 0 when it has nothing to do";

pub(super) fn variable_help() -> String {
    "`hookwright events NAME` lists an event's variables; others have to be in the environment"
        .into()
}
