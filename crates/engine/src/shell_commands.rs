//! The commands within a shell command: between `;`, `&&`, `|` and the like, in `$(…)`, in
//! backticks and in parentheses, each without the variables that are set for it.

use crate::limits::SUBSTITUTION_DEPTH_MAX;

/// Keywords that a command may follow.
const BEFORE_COMMANDS: &[&str] = &[
    "{", "!", "if", "then", "elif", "else", "while", "until", "do", "time", "nohup", "command",
    "exec", "builtin",
];

/// Replaces a quoted space during parsing, since it does not separate words.
const QUOTED_BLANK: char = '\u{e000}';

/// Every command in the text; `None` if it cannot be parsed.
pub fn split(text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut reading = SubcommandReader { rest: text, found: &mut found, depth: 0 };
    reading.list(None)?;
    Some(found)
}

struct SubcommandReader<'t, 'f> {
    rest: &'t str,
    found: &'f mut Vec<String>,
    depth: usize,
}

impl<'t> SubcommandReader<'t, '_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    /// Commands up to a closing character, or to the end of the text.
    fn list(&mut self, end: Option<char>) -> Option<()> {
        self.depth += 1;
        if self.depth > SUBSTITUTION_DEPTH_MAX {
            return None;
        }
        let mut command = String::new();
        loop {
            let before = self.rest;
            let Some(letter) = self.next() else {
                self.keep(&command);
                self.depth -= 1;
                return end.is_none().then_some(());
            };
            match letter {
                closing if Some(closing) == end => {
                    self.keep(&command);
                    self.depth -= 1;
                    return Some(());
                }
                ')' => return None,
                ';' | '\n' | '|' => self.keep(&std::mem::take(&mut command)),
                // `2>&1` and `&>file` redirect.
                '&' if command.ends_with('>') || self.rest.starts_with('>') => command.push('&'),
                '&' => self.keep(&std::mem::take(&mut command)),
                '(' => {
                    self.keep(&std::mem::take(&mut command));
                    self.list(Some(')'))?;
                }
                '#' if command.is_empty() || command.ends_with(char::is_whitespace) => {
                    self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
                }
                '<' if self.rest.starts_with("<<") => {
                    self.rest = &self.rest[2..];
                    command.push_str("<<<");
                }
                // The end of a here-document is not known here.
                '<' if self.rest.starts_with('<') => return None,
                _ => self.part_of_word(letter, before, &mut command)?,
            }
        }
    }

    /// A character, or the quotation or substitution that begins with it.
    fn part_of_word(&mut self, letter: char, before: &'t str, command: &mut String) -> Option<()> {
        match letter {
            '\\' => {
                // An escaped line end is removed.
                let escaped = self.next()?;
                if escaped != '\n' {
                    command.push(quoted(escaped));
                }
            }
            '\'' => {
                let (inside, rest) = self.rest.split_once('\'')?;
                command.extend(inside.chars().map(quoted));
                self.rest = rest;
            }
            '"' => self.double_quoted(command)?,
            '`' => self.list(Some('`'))?,
            '$' if self.rest.starts_with('(') => {
                self.next();
                self.list(Some(')'))?;
                command.push_str(&before[..before.len() - self.rest.len()]);
            }
            letter => command.push(letter),
        }
        Some(())
    }

    fn double_quoted(&mut self, command: &mut String) -> Option<()> {
        loop {
            let before = self.rest;
            match self.next()? {
                '"' => return Some(()),
                '\'' => command.push('\''),
                blank if blank.is_whitespace() => command.push(QUOTED_BLANK),
                letter => self.part_of_word(letter, before, command)?,
            }
        }
    }

    fn keep(&mut self, command: &str) {
        let command = without_settings(command.trim());
        if !command.is_empty() {
            self.found.push(words(&command.replace(QUOTED_BLANK, " ")));
        }
    }
}

fn quoted(letter: char) -> char {
    if letter.is_whitespace() { QUOTED_BLANK } else { letter }
}

/// `git push` of `A=1 B=2 then git push`.
fn without_settings(command: &str) -> &str {
    let mut rest = command;
    loop {
        let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let name = first.split_once('=').map(|(name, _)| name.trim_end_matches('+'));
        let sets = name.is_some_and(|name| {
            !name.is_empty()
                && !name.starts_with(|letter: char| letter.is_ascii_digit())
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        });
        if !(sets || BEFORE_COMMANDS.contains(&first)) || rest.is_empty() {
            return rest;
        }
        rest = more.trim_start();
    }
}

/// The same text with single blanks.
pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
