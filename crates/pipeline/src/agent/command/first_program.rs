//! Whether the program that a command begins with is there: an agent that is not installed is one
//! clear error before anything starts, instead of exit code 127 in every iteration.
//!
//! Only what is certain is said. A command that begins with anything but a plain name, or with a
//! name that the shell may know by itself, is left to the shell.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use hookwright_process::find_program;

/// Names that bash or dash know without a program: reserved words and builtins.
const SHELLS_OWN: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// The first program's name, if there is certainly none of that name.
pub(super) fn missing<'a>(
    command: &'a str,
    env: &[(OsString, OsString)],
    working_dir: &Path,
) -> Option<&'a str> {
    let name = plain_name(command)?;
    // Without a PATH the shell has one of its own, which we don't know.
    let path = value_of("PATH", env)?;
    if may_be_a_function(name, env) {
        return None;
    }
    find_program(OsStr::new(name), path, working_dir).is_none().then_some(name)
}

/// The command's first word, if it can be nothing but a program's name.
fn plain_name(command: &str) -> Option<&str> {
    let command = command.trim_start();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
    let end = command.find(|c: char| !is_plain(c)).unwrap_or(command.len());
    let (name, rest) = command.split_at(end);
    let ends_the_word = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&']);
    // `name ()` defines a function.
    let is_function = rest.trim_start().starts_with('(');
    let is_program = !name.is_empty() && ends_the_word && !is_function;
    (is_program && !SHELLS_OWN.contains(&name)).then_some(name)
}

/// Bash takes functions from its environment, and reads a file that the environment names.
fn may_be_a_function(name: &str, env: &[(OsString, OsString)]) -> bool {
    let function = format!("BASH_FUNC_{name}%%");
    value_of(&function, env).is_some() || value_of("BASH_ENV", env).is_some()
}

fn value_of<'e>(name: &str, env: &'e [(OsString, OsString)]) -> Option<&'e OsStr> {
    env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_in(command: &str, env: &[(&str, &str)]) -> Option<String> {
        let env: Vec<(OsString, OsString)> =
            env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        missing(command, &env, Path::new("/")).map(str::to_owned)
    }

    const PATH: (&str, &str) = ("PATH", "/usr/bin:/bin");

    #[test]
    fn a_plain_name_that_no_folder_has_is_missing() {
        for (command, name) in [
            ("no-such-agent", "no-such-agent"),
            ("  no-such-agent -p 'x'", "no-such-agent"),
            ("\nno-such-agent\n", "no-such-agent"),
            ("no-such-agent; true", "no-such-agent"),
            ("no-such-agent|cat", "no-such-agent"),
            ("./no/such/agent.sh --x", "./no/such/agent.sh"),
            ("/no/such/agent", "/no/such/agent"),
        ] {
            assert_eq!(missing_in(command, &[PATH]).as_deref(), Some(name), "{command}");
        }
    }

    #[test]
    fn what_is_there_or_only_the_shell_can_tell_is_not_missing() {
        for command in [
            "",
            "cat",
            "/bin/cat x",
            "bin/cat",
            "cd no-such && no-such-agent",
            "X=1 no-such-agent",
            "X+=1 no-such-agent",
            "no-such-agent() { true; }; no-such-agent",
            "no-such-agent () { true; }",
            "function no-such-agent { true; }",
            "$AGENT -p",
            "~/no-such-agent",
            "'no-such-agent'",
            "no\\-such-agent",
            "no-such-agent*",
            "# comment\nno-such-agent",
            "{ no-such-agent; }",
            "(no-such-agent)",
            "! no-such-agent",
            "if no-such-agent; then true; fi",
            "[[ a ]]",
            "exec no-such-agent",
            "> x no-such-agent",
        ] {
            assert_eq!(missing_in(command, &[PATH]), None, "{command}");
        }
    }

    #[test]
    fn the_environment_may_know_better() {
        let command = "no-such-agent";
        assert_eq!(missing_in(command, &[]), None);
        assert_eq!(missing_in(command, &[PATH, ("BASH_ENV", "x")]), None);
        assert_eq!(missing_in(command, &[PATH, ("BASH_FUNC_no-such-agent%%", "() { :; }")]), None);
        assert_eq!(missing_in("cat", &[PATH, ("PATH", "/no/such")]).as_deref(), Some("cat"));
    }
}
