//! Globs over event names and subjects: `*`, `?`, `[…]`. `*` crosses `:`.
//!
//! A set may contain ten thousand globs, so a glob is a few tokens and not a compiled automaton.
//! All event names are known when a file is read. [`Glob::after`] returns what remains of a glob
//! for the subject, so that firing compares subjects only.

/// A compiled glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    tokens: Box<[GlobToken]>,
    case: GlobCase,
}

/// Whether `A` matches `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlobCase {
    /// It does; the tokens are in lower case.
    Ignored,
    Kept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobToken {
    Is(char),
    /// Any one character.
    Any,
    /// Any number of characters, or none.
    Many,
    /// One character inside these ranges, or outside them.
    OneOf {
        ranges: Box<[(char, char)]>,
        negated: bool,
    },
}

/// Whether the text contains a glob character.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

impl Glob {
    /// Compiles a glob that ignores ASCII case. A `[` that is not closed is literal.
    pub fn new(text: &str) -> Self {
        Self::compile(text, GlobCase::Ignored)
    }

    /// Compiles a glob for systems in which case counts.
    pub fn case_sensitive(text: &str) -> Self {
        Self::compile(text, GlobCase::Kept)
    }

    fn compile(text: &str, case: GlobCase) -> Self {
        let letters: Vec<char> = text.chars().map(|letter| case.fold(letter)).collect();
        let mut tokens = Vec::with_capacity(letters.len());
        let mut at = 0;
        while at < letters.len() {
            let (token, next) = match letters[at] {
                '*' => (GlobToken::Many, at + 1),
                '?' => (GlobToken::Any, at + 1),
                '[' => class(&letters, at).unwrap_or((GlobToken::Is('['), at + 1)),
                letter => (GlobToken::Is(letter), at + 1),
            };
            // Two stars mean the same as one.
            if token != GlobToken::Many || tokens.last() != Some(&GlobToken::Many) {
                tokens.push(token);
            }
            at = next;
        }
        Self { tokens: tokens.into(), case }
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let tokens = &self.tokens;
        let (mut token, mut rest) = (0, text.chars());
        // Where to continue if the guess for the last star turns out wrong.
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            if tokens.get(token) == Some(&GlobToken::Many) {
                retry = Some((token + 1, rest.clone()));
                token += 1;
                continue;
            }
            let here = rest.clone();
            match (tokens.get(token), rest.next()) {
                (None, None) => return true,
                (Some(wanted), Some(letter)) if wanted.fits(self.case.fold(letter)) => token += 1,
                _ => {
                    let Some((after_star, mut from)) = retry.take() else {
                        return false;
                    };
                    drop(here);
                    if from.next().is_none() {
                        return false;
                    }
                    retry = Some((after_star, from.clone()));
                    (token, rest) = (after_star, from);
                }
            }
        }
    }

    /// Whether it can match a name of this domain.
    pub fn reaches(&self, domain: &str) -> bool {
        !self.after(&format!("{domain}:")).is_empty()
    }

    /// What remains of this glob after it has matched `prefix`: any of these may match the rest.
    pub fn after(&self, prefix: &str) -> Vec<Glob> {
        let tokens = &self.tokens;
        let mut live = vec![false; tokens.len() + 1];
        live[0] = true;
        self.skip_stars(&mut live);
        for letter in prefix.chars() {
            let mut next = vec![false; tokens.len() + 1];
            for (at, token) in tokens.iter().enumerate().filter(|(at, _)| live[*at]) {
                match token {
                    GlobToken::Many => next[at] = true,
                    token if token.fits(self.case.fold(letter)) => next[at + 1] = true,
                    _ => {}
                }
            }
            self.skip_stars(&mut next);
            live = next;
        }
        (0..tokens.len())
            .filter(|at| live[*at])
            .map(|at| Glob { tokens: tokens[at..].into(), case: self.case })
            .collect()
    }

    fn skip_stars(&self, live: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            if live[at] && *token == GlobToken::Many {
                live[at + 1] = true;
            }
        }
    }
}

impl GlobCase {
    fn fold(self, letter: char) -> char {
        match self {
            GlobCase::Ignored => letter.to_ascii_lowercase(),
            GlobCase::Kept => letter,
        }
    }
}

impl GlobToken {
    fn fits(&self, letter: char) -> bool {
        match self {
            GlobToken::Is(wanted) => *wanted == letter,
            GlobToken::Any => true,
            GlobToken::Many => false,
            GlobToken::OneOf { ranges, negated } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated
            }
        }
    }
}

/// The class that opens at `[`, and the index after its `]`.
fn class(letters: &[char], open: usize) -> Option<(GlobToken, usize)> {
    let negated = matches!(letters.get(open + 1), Some('!' | '^'));
    let first = open + 1 + usize::from(negated);
    // A `]` in first place is literal.
    let close = (first + 1..letters.len()).find(|at| letters[*at] == ']')?;
    let mut ranges = Vec::new();
    let mut at = first;
    while at < close {
        if at + 2 < close && letters[at + 1] == '-' {
            ranges.push((letters[at], letters[at + 2]));
            at += 3;
        } else {
            ranges.push((letters[at], letters[at]));
            at += 1;
        }
    }
    Some((GlobToken::OneOf { ranges: ranges.into(), negated }, close + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_patterns_of_the_specifications_match_as_specified() {
        for (glob, text, fits) in [
            ("tool:*", "tool:pre_execute", true),
            ("tool:*", "llm:pre_request", false),
            ("*", "anything:at:all", true),
            ("tool:*:write", "tool:post_execute:write", true),
            ("tool:*:write", "tool:post_execute", false),
            ("*:bash", "permission:check:bash", true),
            ("t*", "tool:error", true),
            ("mcp__*", "mcp__github__create_issue", true),
            ("mcp__*", "bash", false),
            ("B?SH", "bash", true),
            ("[a-c]ash", "bash", true),
            ("[!a-c]ash", "bash", false),
            ("[]x]", "]", true),
            ("[open", "[open", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("*ü", "grün-ü", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Glob::new(glob).matches(text), fits, "{glob} on {text}");
        }
    }

    #[test]
    fn case_matters_only_on_request() {
        for (glob, text, fits) in [
            ("tool:*", "tool:error", true),
            ("TOOL:*", "tool:error", false),
            ("b?sh", "BASH", false),
            ("[A-Z]ash", "Bash", true),
            ("[A-Z]ash", "bash", false),
        ] {
            assert_eq!(Glob::case_sensitive(glob).matches(text), fits, "{glob} on {text}");
            let (first, rest) = text.split_at(1);
            let left = Glob::case_sensitive(glob).after(first);
            assert_eq!(left.iter().any(|glob| glob.matches(rest)), fits, "{glob} on {text}");
        }
    }

    #[test]
    fn the_rest_of_a_glob_after_the_event_matches_the_subject() {
        let left = Glob::new("tool:*:write").after("tool:pre_execute:");
        assert!(left.iter().any(|glob| glob.matches("write")));
        assert!(!left.iter().any(|glob| glob.matches("bash")));
        assert!(Glob::new("llm:*:x").after("tool:pre_execute:").is_empty());
    }

    proptest! {
        #[test]
        fn reading_a_prefix_first_changes_nothing(
            glob in "[ab*?:]{0,8}", prefix in "[ab:]{0,5}", rest in "[ab:]{1,5}"
        ) {
            let whole = format!("{prefix}{rest}");
            let left = Glob::new(&glob).after(&prefix);
            prop_assert_eq!(
                Glob::new(&glob).matches(&whole),
                left.iter().any(|glob| glob.matches(&rest))
            );
        }
    }
}
