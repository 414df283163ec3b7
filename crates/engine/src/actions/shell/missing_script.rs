//! Whether a command names a script that is not there.
//!
//! `python missing.py`, `node missing.js` and `sh missing.sh` exit with 2 (or 127), as a hook does
//! that blocks on purpose. The file system tells the two apart. Only plain words are looked at: where
//! the shell would still change a word, nothing is claimed.

use std::path::Path;

const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "ksh", "lua", "node", "perl", "php", "python", "python2",
    "python3", "ruby", "sh", "tclsh", "ts-node", "tsx", "uv", "zsh",
];

/// The first script of the command that an interpreter is asked to run and that does not exist.
pub(super) fn find<'a>(command: &'a str, folder: &Path) -> Option<&'a str> {
    // After a `cd` the folder is anybody's guess.
    if words(command).any(|word| word == "cd" || word == "pushd") {
        return None;
    }
    command
        .split(['\n', ';', '|', '&', '(', ')', '{', '}'])
        .filter_map(script_of)
        .find(|script| !folder.join(script).exists())
}

fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split_whitespace()
}

/// `python3 -u "guard.py" x` → `guard.py`.
fn script_of(simple_command: &str) -> Option<&str> {
    let mut words = words(simple_command)
        .skip_while(|word| is_assignment(word) || matches!(*word, "exec" | "env" | "then" | "do"));
    let program = unquoted(words.next()?)?;
    let name = program.rsplit('/').next()?;
    if !INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
        && !INTERPRETERS.contains(&name)
    {
        return None;
    }
    for word in words {
        let word = unquoted(word)?;
        match word {
            // The program stands in the command, or is a module, or comes from standard input.
            "-c" | "-m" | "-e" | "-p" | "-" | "-s" | "--eval" | "run" => return None,
            option if option.starts_with('-') => {}
            redirection if redirection.starts_with(['<', '>']) => return None,
            script => return Some(script),
        }
    }
    None
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// A word without its quotes, if the shell would not change it any further.
fn unquoted(word: &str) -> Option<&str> {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(word);
    (!inner.contains(['$', '`', '"', '\'', '\\', '*', '?', '[', '~'])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_is_not_there_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("here.py"), "").expect("written");
        for (command, missing) in [
            ("python missing.py", Some("missing.py")),
            ("python3 -u 'missing.py' x", Some("missing.py")),
            ("/usr/bin/python3.11 missing.py", Some("missing.py")),
            ("A=1 exec node ./missing.js", Some("./missing.js")),
            ("true && bash missing.sh | cat", Some("missing.sh")),
            ("if true; then sh missing.sh; fi", Some("missing.sh")),
            ("python here.py", None),
            ("python -c 'exit(2)'", None),
            ("python -m guard", None),
            ("node -e 'process.exit(2)' missing", None),
            ("bash -s missing", None),
            ("bash < missing.sh", None),
            ("cd sub && python missing.py", None),
            ("python $SCRIPT", None),
            ("echo no >&2; exit 2", None),
            ("grep -q x missing.txt", None),
            ("python", None),
        ] {
            assert_eq!(find(command, folder.path()), missing, "{command}");
        }
    }
}
