//! Which entries of an agent's settings call this program (`hookwright hook HOST`).
//!
//! The agent runs them to run native hooks. If native hooks run without the agent, such an entry
//! would run all of them a second time, so it is skipped.

/// The program's file name.
const PROGRAM: &str = "hookwright";

/// A call of this program, as it is written in an agent's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnCall<'a> {
    /// The program as it is written, without its quotes.
    pub(crate) program: &'a str,
    /// The value of `--deadline`.
    pub(crate) deadline: Option<&'a str>,
    /// Whether the command ends with the exit code that blocks if the program is missing.
    pub(crate) blocks_otherwise: bool,
}

/// The suffix that makes agents block if the program is missing.
const BLOCK_OTHERWISE: &str = "|| exit 2";

/// Whether a shell command is only such a call: with anything beside it, it is its author's own
/// hook.
pub(crate) fn is_command(host: &str, command: &str) -> bool {
    in_command(host, command).is_some()
}

/// The call that a shell command consists of.
pub(crate) fn in_command<'a>(host: &str, command: &'a str) -> Option<OwnCall<'a>> {
    let whole = command.trim();
    let command = whole.strip_suffix(BLOCK_OTHERWISE).map_or(whole, str::trim_end);
    let (program, rest) = first_word(command)?;
    let call = with_args(host, program, &rest.split_whitespace().collect::<Vec<_>>())?;
    Some(OwnCall { blocks_otherwise: command.len() < whole.len(), ..call })
}

/// The same for a program that is started without a shell.
pub(crate) fn is_program_with(host: &str, program: &str, args: &[&str]) -> bool {
    with_args(host, program, args).is_some()
}

/// The call that a program with these arguments is.
pub(crate) fn with_args<'a>(host: &str, program: &'a str, args: &[&'a str]) -> Option<OwnCall<'a>> {
    let is_ours = program == PROGRAM
        || program.strip_suffix(PROGRAM).is_some_and(|folder| folder.ends_with('/'));
    let ["hook", called, options @ ..] = args else { return None };
    let deadline = match options {
        [] => None,
        ["--deadline", span] => Some(*span),
        [option] => Some(option.strip_prefix("--deadline=")?),
        _ => return None,
    };
    let is_call = is_ours && *called == host && deadline.is_none_or(is_span);
    is_call.then_some(OwnCall { program, deadline, blocks_otherwise: false })
}

/// This program's path as a word of a shell.
pub(crate) fn for_shell(program: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%".contains(letter);
    match program.chars().all(is_plain) {
        true => program.to_owned(),
        false => format!("'{program}'"),
    }
}

/// Whether settings with this path of the program call it, and we recognise the call.
pub fn can_be_called(program: &str) -> bool {
    let command = format!("{} hook x", for_shell(program));
    is_command("x", &command) && !program.contains('\'') && !program.chars().any(char::is_control)
}

fn is_span(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

/// The first word of a command, quoted or not, and what follows it.
fn first_word(command: &str) -> Option<(&str, &str)> {
    let quote = command.chars().next().filter(|first| matches!(first, '"' | '\''));
    let (word, rest) = match quote {
        Some(quote) => command[1..].split_once(quote)?,
        None => command.split_once(char::is_whitespace)?,
    };
    let is_plain = |letter: char| !";|&<>()`\\\n".contains(letter);
    (word.chars().all(is_plain) && !word.contains("$(")).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_this_program_is_known_however_its_path_is_written() {
        for command in [
            "hookwright hook claude",
            "  hookwright  hook claude ",
            "/usr/local/bin/hookwright hook claude",
            "\"/home/me/my tools/hookwright\" hook claude --deadline 30",
            "'$HOME/.cargo/bin/hookwright' hook claude",
            "$HOME/.cargo/bin/hookwright hook claude --deadline=1.5",
            "~/.cargo/bin/hookwright hook claude || exit 2",
        ] {
            assert!(is_command("claude", command), "{command}");
        }
        assert!(is_program_with("claude", "/opt/bin/hookwright", &["hook", "claude"]));
    }

    #[test]
    fn whatever_does_more_than_that_is_a_hook_of_its_own() {
        for command in [
            "",
            "hookwright",
            "hookwright hook claude; ./guard.sh",
            "hookwright hook claude && ./guard.sh",
            "hookwright hook claude || ./guard.sh",
            "hookwright hook claude --deadline $(./guard.sh)",
            "hookwright fire PreToolUse",
            "hookwright hook gemini",
            "nothookwright hook claude",
            "./guard.sh;./hookwright hook claude",
            "\"$(./guard.sh)/hookwright\" hook claude",
            "`./guard.sh`/hookwright hook claude",
            "\"hookwright hook claude",
        ] {
            assert!(!is_command("claude", command), "{command}");
        }
        assert!(!is_program_with("claude", "hookwright", &["hook", "claude", "./guard.sh"]));
    }
}
