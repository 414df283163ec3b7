//! Where a command has the prompt, if the prompt is an argument.
//!
//! The prompt never enters the command's text: the text says `"$@"`, and the shell has the prompt as
//! its one argument. An author who writes `"$1"`, `"$@"` or `"$*"` has chosen the place. Otherwise
//! `"$@"` is put behind the text, and then the text's end decides what the shell makes of it: after a
//! comment it is lost, after `&` it would be run as a program, after `>` it would name a file. So the
//! engine's reader of shell text is asked how the shell would read it there, and where that is not
//! plainly "an argument", the command is refused before anything starts.

use std::ops::Range;

use hookwright_engine::template::{LexError, Quoting, places};

/// Why a prompt cannot be an argument of this command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptPlaceError {
    /// Its end is a comment, a here-document, an operator, a bracket…
    #[error("this command takes no argument at its end")]
    NotBehindIt,
    /// It cannot be read.
    #[error("cannot tell where the prompt would go in this command: {0}")]
    Unreadable(LexError),
    /// The shell, or a program that it starts, would run what the prompt says.
    #[error("this command would run its prompt as a program")]
    Runs,
    /// Several arguments would be made of it.
    #[error("the shell would split the prompt into words here")]
    Splits,
}

/// What is put behind a command that has no place of its own.
const BEHIND: &str = " \"$@\"";

/// How the place of a prompt can be written.
const WRITTEN: &[&str] = &["$1", "$@", "$*", "${1}", "${@}", "${*}"];

/// The command with a place for the prompt.
pub(super) fn with_place(command: &str) -> Result<String, PromptPlaceError> {
    // A newline at the end of a block of YAML would make the prompt a command of its own.
    let command = command.trim();
    if written_places(command)? {
        return Ok(command.to_owned());
    }
    // The reader does not tell an argument from the name of a file that is written to.
    if command.is_empty() || command.ends_with(['<', '>', '&', '|', ';']) || ends_escaping(command)
    {
        return Err(PromptPlaceError::NotBehindIt);
    }
    let text = format!("{command}{BEHIND}");
    let at = text.len() - "$@\"".len()..text.len() - 1;
    // What can be read without it and cannot with it has an end that takes no argument.
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
    // If it named the command, a new one would begin there.
    if place.quoting != Quoting::Double || place.names_command {
        return Err(PromptPlaceError::NotBehindIt);
    }
    Ok(text)
}

/// Whether the author has chosen a place, and every such place is sound.
fn written_places(command: &str) -> Result<bool, PromptPlaceError> {
    let ranges = written(command);
    if ranges.is_empty() {
        return Ok(false);
    }
    let found = places(command, &ranges).map_err(PromptPlaceError::Unreadable)?;
    let mut is_placed = false;
    for place in found {
        let is_expanded = match place.quoting {
            // There `$1` is a text, such as a part of a program for awk.
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

/// The position of something that could be the prompt's place.
fn written(command: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in command.match_indices('$') {
        let form = WRITTEN.iter().find(|form| command[at..].starts_with(**form));
        found.extend(form.map(|form| at..at + form.len()));
    }
    found
}

/// Whether a backslash at the end would take the space behind it for a part of a word.
fn ends_escaping(command: &str) -> bool {
    command.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_stands_behind_the_command_unless_its_author_has_chosen_a_place() {
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
    fn where_no_argument_can_stand_the_command_is_refused() {
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
