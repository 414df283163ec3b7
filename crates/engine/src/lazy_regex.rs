//! [`LazyRegex`]: a regular expression that is checked when it is read and compiled on first use.
//!
//! A compiled expression takes about 13 KB and tens of microseconds, and most are never used: their
//! events don't happen. So an expression is compiled at once only if its syntax can't tell whether
//! it is valid.

use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use crate::limits::{PLAIN_REGEX_BYTES_MAX, REGEX_BYTES_MAX};

/// Whether upper and lower case differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// They differ.
    Matters,
    /// They don't differ.
    Ignored,
}

/// A regular expression. Clones share the compiled form.
#[derive(Debug, Clone)]
pub struct LazyRegex {
    shared: Arc<SharedRegex>,
}

#[derive(Debug)]
struct SharedRegex {
    text: Box<str>,
    case: Case,
    /// `None` if it could not be compiled.
    compiled: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    /// Parses an expression. The error says in one line what is wrong.
    pub fn new(text: &str, case: Case) -> Result<Self, String> {
        if !(is_plain(text) && is_well_formed(text, case)) {
            compile(text, case).map_err(|error| one_line(&error.to_string()))?;
        }
        let shared = SharedRegex { text: text.into(), case, compiled: OnceLock::new() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Whether the expression matches somewhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        let SharedRegex { text: expression, case, compiled } = &*self.shared;
        let compiled = compiled.get_or_init(|| compile(expression, *case).ok());
        // It was checked, so it compiles. If it did not, the guard must still run.
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }

    #[cfg(test)]
    fn is_compiled(&self) -> bool {
        self.shared.compiled.get().is_some()
    }
}

fn compile(text: &str, case: Case) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text)
        .case_insensitive(case == Case::Ignored)
        .size_limit(REGEX_BYTES_MAX)
        .build()
}

/// Whether its compiled form cannot be too large: it has no counted repetitions and no classes of
/// characters except the dot.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_- ,:/|.*+?^$()".contains(&byte);
    text.len() <= PLAIN_REGEX_BYTES_MAX && text.bytes().all(is_plain)
}

fn is_well_formed(text: &str, case: Case) -> bool {
    ParserBuilder::new().case_insensitive(case == Case::Ignored).build().parse(text).is_ok()
}

/// The regex crate formats its errors over several lines; the last one says what is wrong.
pub fn one_line(error: &str) -> String {
    let last = error.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(error);
    last.trim().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LazyRegex, String> {
        LazyRegex::new(text, Case::Matters)
    }

    #[test]
    fn an_expression_is_compiled_on_first_use_and_copies_share_it() {
        for text in ["mcp__.*", "^Ba+sh?$", "a{3}", r"\w+", "[a-z]+"] {
            let regex = read(text).unwrap();
            let copy = regex.clone();
            assert!(!regex.is_compiled(), "{text}");
            regex.is_match("x");
            assert!(copy.is_compiled(), "{text}");
        }
        assert!(read("mcp__.*").unwrap().is_match("mcp__github__search"));
        assert!(!read("^Bash$").unwrap().is_match("bash"));
        assert!(LazyRegex::new("^Bash$", Case::Ignored).unwrap().is_match("bash"));
    }

    #[test]
    fn an_invalid_expression_is_found_when_it_is_read() {
        for text in [
            "(",
            "a)",
            "*",
            "a**b|(",
            "(?",
            "[",
            "a{2",
            r"\",
            "(?P<x",
            "x{1001}{1001}",
            "(a{1000}){1000}",
            r"(\w{100}){100}",
        ] {
            let compiled =
                compile(text, Case::Matters).map_err(|error| one_line(&error.to_string()));
            assert_eq!(read(text).err(), compiled.err(), "{text}");
        }
        let deep = format!("{}a{}", "(".repeat(300), ")".repeat(300));
        assert!(read(&deep).is_err());
    }

    /// Checks the largest expression that its characters and length allow.
    #[test]
    fn a_plain_expression_is_never_too_large() {
        let longest = |part: &str| part.repeat(PLAIN_REGEX_BYTES_MAX / part.len());
        let nested = |part: &str| {
            let deep = 100;
            format!(
                "{}{}{}",
                "(".repeat(deep),
                part,
                ")+".repeat(deep / 2) + &")*".repeat(deep / 2)
            )
        };
        for part in [".", ".*", ".+", ".?", "(.+)+", "(.|.)", "k", "k|", "(k*)+", ".|", "s?"] {
            for case in [Case::Matters, Case::Ignored] {
                let text = longest(part);
                assert!(is_plain(&text) && compile(&text, case).is_ok(), "{text}");
            }
        }
        let text = nested(".");
        assert!(text.len() <= PLAIN_REGEX_BYTES_MAX + 100 && compile(&text, Case::Ignored).is_ok());
    }
}
