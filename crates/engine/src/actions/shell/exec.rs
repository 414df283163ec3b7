//! A program that runs without a shell: its arguments are literal.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::HookAttempt;

/// The program and its arguments, with the dialect's variables filled in.
pub(super) fn program(
    attempt: &HookAttempt,
    words: &[String],
    working_dir: &Path,
    variables: &[(Cow<'static, str>, String)],
) -> Result<(PathBuf, Vec<OsString>), String> {
    let mut words = words.iter().map(|word| filled(word, variables));
    let name = words.next().unwrap_or_default();
    let around = &attempt.surroundings;
    match around.shells.find(&name, &around.environment, working_dir) {
        Some(program) => Ok((program, words.map(OsString::from).collect())),
        None => Err(format!("program `{name}` not found")),
    }
}

/// The word with each known `${NAME}` replaced, once; all others stay.
fn filled(word: &str, variables: &[(Cow<'static, str>, String)]) -> String {
    let mut text = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("${") {
        text.push_str(before);
        let known = after.split_once('}').and_then(|(name, behind)| {
            let (_, value) = variables.iter().find(|(known, _)| known == name)?;
            Some((value, behind))
        });
        match known {
            Some((value, behind)) => {
                text.push_str(value);
                rest = behind;
            }
            None => {
                text.push_str("${");
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_variables_are_replaced_once_and_all_else_stays() {
        let variables =
            [("DIR", "/a b/${HOME}"), ("X", "${DIR}")].map(|(n, v)| (n.into(), v.to_owned()));
        for (word, wanted) in [
            ("plain", "plain"),
            ("${DIR}/x", "/a b/${HOME}/x"),
            ("${X}${X}", "${DIR}${DIR}"),
            ("$HOME ${HOME} $DIR", "$HOME ${HOME} $DIR"),
            ("${", "${"),
            ("${DIR", "${DIR"),
            ("${a${X}", "${a${DIR}"),
            ("$(touch pwned) `x` ; *", "$(touch pwned) `x` ; *"),
        ] {
            assert_eq!(filled(word, &variables), wanted);
        }
    }
}
