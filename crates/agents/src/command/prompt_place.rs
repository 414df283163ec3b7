//! Finds the place in a command for a prompt that is an argument.
//!
//! The prompt never enters the command's text: the text contains `"$@"`, and the shell gets the
//! prompt as its only argument. An author who writes `"$1"`, `"$@"` or `"$*"` has chosen the place.
//! Otherwise `"$@"` is appended, and then its meaning depends on the end of the text: after a
//! comment it is ignored, after `&` it would be run as a program, after `>` it would name a file.
//! So the engine's parser of shell text is asked how the shell would read it there. If it would not
//! clearly be an argument, the command is refused before anything starts.

use std::ops::Range;

use hookwright_engine::template::{LexError, Quoting, places};

/// Why a prompt cannot be an argument of this command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptPlaceError {
    /// The command ends with a comment, a here-document, an operator, a bracket…
    #[error("this command takes no argument at its end")]
    NotBehindIt,
    /// It cannot be read.
    #[error("cannot tell where the prompt would go in this command: {0}")]
    Unreadable(LexError),
    /// The shell, or a program that it starts, would run the prompt's text.
    #[error("this command would run its prompt as a program")]
    Runs,
    /// The prompt would be split into several arguments.
    #[error("the shell would split the prompt into words here")]
    Splits,
}

/// Appended to a command that does not place the prompt itself.
const BEHIND: &str = " \"$@\"";

/// The ways to write the prompt's place.
const WRITTEN: &[&str] = &["$1", "$@", "$*", "${1}", "${@}", "${*}"];

/// The command with a place for the prompt.
pub(super) fn with_place(command: &str) -> Result<String, PromptPlaceError> {
    // A newline at the end of a YAML block would make the prompt a separate command.
    let command = command.trim();
    if written_places(command)? {
        return Ok(command.to_owned());
    }
    // The parser does not distinguish an argument from the name of a file that is written to.
    if command.is_empty() || command.ends_with(['<', '>', '&', '|', ';']) || ends_escaping(command)
    {
        return Err(PromptPlaceError::NotBehindIt);
    }
    let text = format!("{command}{BEHIND}");
    let at = text.len() - "$@\"".len()..text.len() - 1;
    // If the text can be parsed alone but not with the addition, its end takes no argument.
    let place = match places(&text, std::slice::from_ref(&at)) {
        Ok(found) => found.into_iter().next().ok_or(PromptPlaceError::NotBehindIt)?,
        Err(error) => {
            return Err(match places(command, &[]) {
                Ok(_) => PromptPlaceError::NotBehindIt,
                Err(_) => PromptPlaceError::Unreadable(error),
            });
        }
    };
    if place.evaluation.is_some() {
        return Err(PromptPlaceError::Runs);
    }
    // A prompt in place of the command's name would begin a new command.
    if place.quoting != Quoting::Double || place.names_command {
        return Err(PromptPlaceError::NotBehindIt);
    }
    Ok(text)
}

/// Whether the author has chosen a place. An error if any such place is unsafe.
fn written_places(command: &str) -> Result<bool, PromptPlaceError> {
    let ranges = written(command);
    if ranges.is_empty() {
        return Ok(false);
    }
    let found = places(command, &ranges).map_err(PromptPlaceError::Unreadable)?;
    let mut is_placed = false;
    for place in found {
        let is_expanded = match place.quoting {
            // In single quotes `$1` is text, such as a part of an awk program.
            Quoting::Single
            | Quoting::AnsiC
            | Quoting::QuotedHereDocument
            | Quoting::Comment
            | Quoting::Escaped
            | Quoting::AfterDollar => false,
            Quoting::Bare if place.splits => return Err(PromptPlaceError::Splits),
            Quoting::Bare
            | Quoting::Double
            | Quoting::DoublePattern
            | Quoting::HereDocument
            | Quoting::NestedBackticks
            | Quoting::ParameterName
            | Quoting::Disputed => true,
        };
        if is_expanded && (place.evaluation.is_some() || place.names_command) {
            return Err(PromptPlaceError::Runs);
        }
        is_placed |= is_expanded;
    }
    Ok(is_placed)
}

/// The positions that could be the prompt's place.
fn written(command: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in command.match_indices('$') {
        let form = WRITTEN.iter().find(|form| command[at..].starts_with(**form));
        found.extend(form.map(|form| at..at + form.len()));
    }
    found
}

/// Whether the command ends with a backslash, which would escape the space after it.
fn ends_escaping(command: &str) -> bool {
    command.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_is_appended_unless_the_author_has_chosen_a_place() {
        for (command, text) in [
            ("agent -p", "agent -p \"$@\""),
            ("agent", "agent \"$@\""),
            ("cd sub && agent -p\n", "cd sub && agent -p \"$@\""),
            ("agent > log 2>&1", "agent > log 2>&1 \"$@\""),
            ("agent --model ${MODEL}", "agent --model ${MODEL} \"$@\""),
            ("agent $(cat options)", "agent $(cat options) \"$@\""),
            ("agent 'it # is'", "agent 'it # is' \"$@\""),
            ("agent \\\\", "agent \\\\ \"$@\""),
            ("awk '{print $1}' x; agent", "awk '{print $1}' x; agent \"$@\""),
            ("agent costs \\$1", "agent costs \\$1 \"$@\""),
            ("bash -c 'agent -p \"$1\"' agent", "bash -c 'agent -p \"$1\"' agent \"$@\""),
            ("agent \"$1\" | tee log", "agent \"$1\" | tee log"),
            ("agent \"$@\" # as it is", "agent \"$@\" # as it is"),
            ("(agent \"${1}\") &", "(agent \"${1}\") &"),
            ("said=$1\nagent \"$said\"", "said=$1\nagent \"$said\""),
            ("agent <<END\n$1\nEND", "agent <<END\n$1\nEND"),
        ] {
            assert_eq!(with_place(command).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_command_whose_end_takes_no_argument_is_refused() {
        for command in [
            "",
            "agent # and a comment",
            "agent <<END\nhello\nEND",
            "agent &",
            "agent;",
            "agent |",
            "agent >",
            "agent >&",
            "agent <<<",
            "agent \\",
            "agent -p \\\n",
            "(agent)",
            "{ agent; }",
            "if true; then agent; fi",
            "f() { agent; }",
            "[[ a == a ]]",
            "agent # \"$1\"",
            "X=1",
            "agent && X=1",
            "if agent; then",
        ] {
            let refused = with_place(command);
            assert_eq!(refused, Err(PromptPlaceError::NotBehindIt), "{command}");
        }
        for command in ["agent 'open", "agent \"$1", "agent $(x"] {
            let refused = with_place(command);
            assert!(
                matches!(refused, Err(PromptPlaceError::Unreadable(_))),
                "{command} {refused:?}"
            );
        }
    }

    #[test]
    fn a_prompt_that_would_be_run_or_split_is_refused() {
        for command in [
            "bash -c",
            "eval",
            "ssh host",
            "\"$1\"",
            "eval \"$1\"",
            "bash -c \"$1\"",
            "echo $((\"$1\"))",
        ] {
            assert_eq!(with_place(command), Err(PromptPlaceError::Runs), "{command}");
        }
        for command in ["agent $1", "agent $@", "agent ${*}", "for x in $*; do agent; done"] {
            assert_eq!(with_place(command), Err(PromptPlaceError::Splits), "{command}");
        }
    }
}
