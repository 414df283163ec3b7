//! Checks whether the program at the beginning of a command exists. An agent that is not installed
//! is then one clear error before anything starts, instead of exit code 127 in every iteration, and
//! a guard whose script was renamed is reported before it is needed.
//!
//! Only certain cases are reported. A command that does not begin with a plain name, or begins with
//! a name that the shell may define itself, is left to the shell.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use hookwright_process::find_program;

/// Reserved words and builtins of bash or dash, which need no program.
const SHELL_WORDS: &[&str] = &[
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

/// The name of the command's first program, if that program certainly does not exist.
pub fn missing<'a>(
    command: &'a str,
    env: &[(OsString, OsString)],
    working_dir: &Path,
) -> Option<&'a str> {
    let name = plain_name(command)?;
    // Without a PATH the shell uses its own default, which we don't know.
    let path = value_of("PATH", env)?;
    if may_be_a_function(name, env) {
        return None;
    }
    find_program(OsStr::new(name), path, working_dir).is_none().then_some(name)
}

/// Programs that run the script given as their first argument.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "ksh", "zsh", "python", "python3", "node", "deno", "bun", "ruby", "perl",
    "php",
];

/// What a command begins with and cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CannotRun<'a> {
    /// The program or script, a part of the command's text.
    pub name: &'a str,
    /// Why it cannot be run.
    pub cause: CannotRunCause,
}

/// Why a program or script cannot be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CannotRunCause {
    /// It does not exist.
    NotThere,
    /// It exists, but is not executable.
    NotExecutable,
}

/// What a command certainly cannot run: its first program, or the script that its first program
/// would run. `paths_count` says whether a relative path means a file in `working_dir`.
pub fn cannot_run<'a>(
    command: &'a str,
    env: &[(OsString, OsString)],
    working_dir: &Path,
    paths_count: bool,
) -> Option<CannotRun<'a>> {
    let name = plain_name(command)?;
    let is_path = |name: &str| name.contains('/');
    let is_certain = |name: &str| paths_count || !is_path(name) || name.starts_with('/');
    if missing(command, env, working_dir).is_some() {
        let is_there = is_path(name) && working_dir.join(name).is_file();
        let cause = if is_there { CannotRunCause::NotExecutable } else { CannotRunCause::NotThere };
        return Some(CannotRun { name, cause }).filter(|_| is_certain(name));
    }
    let behind = command.trim_start()[name.len()..].trim_start_matches([' ', '\t']);
    let script = plain_word(behind)?;
    let is_script = !script.starts_with('-') && (is_path(script) || script.contains('.'));
    let runs_scripts = name.rsplit('/').next().is_some_and(|name| INTERPRETERS.contains(&name));
    if !runs_scripts || !is_script || !is_certain(script) || !paths_count {
        return None;
    }
    // Shells look for a script without a slash in PATH, too.
    let is_there = working_dir.join(script).exists()
        || (!is_path(script)
            && find_program(OsStr::new(script), value_of("PATH", env)?, working_dir).is_some());
    (!is_there).then_some(CannotRun { name: script, cause: CannotRunCause::NotThere })
}

/// The command's first word, if it can only be the name of a program.
fn plain_name(command: &str) -> Option<&str> {
    let name = plain_word(command.trim_start())?;
    // `name ()` defines a function.
    let is_function = command.trim_start()[name.len()..].trim_start().starts_with('(');
    (!is_function && !SHELL_WORDS.contains(&name)).then_some(name)
}

/// The word at the beginning of a text, if no part of it is special to a shell.
fn plain_word(text: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
    let end = text.find(|c: char| !is_plain(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let ends_the_word = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&']);
    (!word.is_empty() && ends_the_word).then_some(word)
}

/// Bash imports functions from its environment, and reads a file that the environment names.
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
    fn a_plain_name_that_is_in_no_folder_of_path_is_missing() {
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
    fn an_existing_program_or_a_name_only_the_shell_knows_is_not_missing() {
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
    fn scripts_of_interpreters_are_checked_too() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("there.sh"), "").expect("written");
        let env: Vec<(OsString, OsString)> = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let found = |command: &'static str, paths_count: bool| {
            let found = cannot_run(command, &env, folder.path(), paths_count);
            found.map(|found| (found.name, found.cause))
        };
        for (command, expected) in [
            ("./guard.sh x", Some(("./guard.sh", CannotRunCause::NotThere))),
            ("./there.sh", Some(("./there.sh", CannotRunCause::NotExecutable))),
            ("sh there.sh", None),
            ("sh  ./gone.sh && true", Some(("./gone.sh", CannotRunCause::NotThere))),
            ("bash gone.sh", Some(("gone.sh", CannotRunCause::NotThere))),
            ("sh -c ./gone.sh", None),
            ("sh gone", None),
            ("sh \"$X/gone.sh\"", None),
            ("cat ./gone.sh", None),
            ("no-such-program", Some(("no-such-program", CannotRunCause::NotThere))),
        ] {
            assert_eq!(found(command, true), expected, "{command}");
        }
        // The working directory is unknown.
        for command in ["./guard.sh", "sh ./gone.sh", "bash gone.sh"] {
            assert_eq!(found(command, false), None, "{command}");
        }
        assert!(found("no-such-program", false).is_some());
        assert!(found("/no/such/program", false).is_some());
    }

    #[test]
    fn a_path_or_function_in_the_environment_is_respected() {
        let command = "no-such-agent";
        assert_eq!(missing_in(command, &[]), None);
        assert_eq!(missing_in(command, &[PATH, ("BASH_ENV", "x")]), None);
        assert_eq!(missing_in(command, &[PATH, ("BASH_FUNC_no-such-agent%%", "() { :; }")]), None);
        assert_eq!(missing_in("cat", &[PATH, ("PATH", "/no/such")]).as_deref(), Some("cat"));
    }
}
