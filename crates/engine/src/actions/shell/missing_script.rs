//! Whether a command that exited with 2 only named a script that does not exist.
//!
//! `python missing.py`, `node missing.js` and `sh missing.sh` exit with 2, as a hook does that
//! blocks on purpose. A block must never be mistaken for such a typo, so all of this must hold: one
//! simple command of plain words, an interpreter and a script that does not exist, no output, and a
//! message on standard error that names the script.

use std::path::Path;

const INTERPRETERS: &[&str] =
    &["bash", "dash", "ksh", "lua", "node", "perl", "php", "python", "ruby", "sh", "tclsh", "zsh"];

/// Options without a value. After any other option the next word may be its value, not the script.
const LONE_OPTIONS: &[&str] =
    &["-B", "-S", "-e", "-eu", "-eux", "-ex", "-s", "-u", "-ux", "-w", "-x"];

/// The script that an interpreter could not find.
pub(super) fn find<'a>(
    command: &'a str,
    folder: &Path,
    stdout: &str,
    stderr: &str,
) -> Option<&'a str> {
    if !stdout.is_empty() {
        return None;
    }
    let script = script_of(command.trim())?;
    // The interpreters' own messages. A script that did run has others; bash also searches PATH.
    let complains = ["No such file", "an't open", "annot open", "not found"]
        .iter()
        .any(|words| stderr.contains(words));
    (complains && stderr.contains(script) && !folder.join(script).exists()).then_some(script)
}

/// `python3 -u "guard.py" x` → `guard.py`.
fn script_of(command: &str) -> Option<&str> {
    // If it is more than one simple command, it is unclear which part printed the message.
    if command.contains(['\n', ';', '|', '&', '(', ')', '<', '>', '`', '#']) {
        return None;
    }
    let mut words =
        command.split_whitespace().skip_while(|word| is_assignment(word) || *word == "exec");
    let program = unquoted(words.next()?)?;
    let name = program.rsplit('/').next()?;
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    // For shells `-s` means "read standard input", and the next word is not a script.
    let is_shell = matches!(name, "bash" | "dash" | "ksh" | "sh" | "zsh");
    for word in words {
        let word = unquoted(word)?;
        if !word.starts_with('-') {
            return Some(word);
        }
        if !LONE_OPTIONS.contains(&word)
            || (is_shell && word == "-s")
            || (!is_shell && word == "-e")
        {
            return None;
        }
    }
    None
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// A word without its quotes, if the shell would not change it further.
fn unquoted(word: &str) -> Option<&str> {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(word);
    (!inner.contains(['$', '"', '\'', '\\', '*', '?', '[', '~', '{'])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(command: &'a str, stdout: &str, stderr: &str) -> Option<&'a str> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("here.py"), "").expect("written");
        find(command, folder.path(), stdout, stderr)
    }

    #[test]
    fn a_missing_script_is_recognised() {
        for (command, missing) in [
            ("python missing.py", Some("missing.py")),
            ("python3 -u 'missing.py' x", Some("missing.py")),
            ("/usr/bin/python3.11 missing.py", Some("missing.py")),
            ("A=1 exec node ./missing.js", Some("./missing.js")),
            ("bash -eu missing.sh", Some("missing.sh")),
        ] {
            let complaint = "can't open file 'missing.py' ./missing.js missing.sh";
            assert_eq!(found(command, "", complaint), missing, "{command}");
        }
    }

    #[test]
    fn a_block_on_purpose_is_never_taken_for_one() {
        let stderr = "no: pipefail ignore dotenv/config guard.sh g.py missing fix.py here.py x";
        for command in [
            "python here.py",
            "bash -o pipefail guard.sh",
            "bash -euo pipefail guard.sh",
            "python3 -W ignore g.py",
            "node -r dotenv/config g.js",
            "python -c missing",
            "python -m missing",
            "node -e missing x",
            "bash -s missing",
            "bash < missing.sh",
            "cat <<X\npython fix.py\nX\nexit 2",
            "true && bash missing",
            "cd sub && python missing.py",
            "python $SCRIPT",
            "echo no >&2; exit 2",
            "grep -q x missing",
            "python",
        ] {
            assert_eq!(found(command, "", stderr), None, "{command}");
        }
        assert_eq!(found("python missing.py", "said something", "missing.py"), None);
        assert_eq!(found("python missing.py", "", "not allowed"), None);
    }
}
