//! [`CommandPattern`]: the pattern of a rule such as `bash(git push *)`, compared with every command
//! of a shell line.

use hookwright_engine::shell_commands;

/// A pattern in words. `*` within a word matches any text; as the last word, any further words.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    words: Vec<String>,
    /// Further words may follow.
    is_open: bool,
}

/// Programs that run the command behind them, or a text as a command.
const WRAPPERS: &[&str] = &[
    "env", "sudo", "doas", "su", "nice", "nohup", "timeout", "time", "command", "exec", "builtin",
    "xargs", "parallel", "watch", "stdbuf", "setsid", "ionice", "taskset", "chroot", "unshare",
    "nsenter", "strace", "ltrace", "script", "ssh", "find", "fd", "git", "make", "busybox", "sh",
    "bash", "dash", "zsh", "ksh", "fish", "eval", "source", ".", "trap", "coproc", "python",
    "python3", "perl", "ruby", "node", "awk", "gawk", "sed", "vim", "vi", "ed", "npx", "npm",
    "cargo", "docker", "podman",
];

/// Programs that run what they read as a command.
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "eval", "source", "."];

impl CommandPattern {
    pub(super) fn parse(text: &str) -> Self {
        let text =
            text.strip_suffix(":*").map_or_else(|| text.to_owned(), |stem| format!("{stem} *"));
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let is_open = words.last().is_some_and(|word| word == "*");
        if is_open {
            words.pop();
        }
        Self { words, is_open }
    }

    /// Whether any command of the line may be meant.
    pub(super) fn may_match(&self, line: &str) -> bool {
        let Some(commands) = shell_commands::split(line) else { return true };
        let commands: Vec<Vec<&str>> =
            commands.iter().map(|command| command.split_whitespace().collect()).collect();
        // What one command prints, another may run.
        let feeds_a_shell = commands.len() > 1
            && commands
                .iter()
                .any(|words| words.first().is_some_and(|word| is_one_of(word, SHELLS)));
        commands.iter().any(|words| {
            let first = words.first().copied().unwrap_or_default();
            // The name of the program is known only when the line runs.
            if first.contains(['$', '`', '*', '?', '[', '{', '~']) {
                return true;
            }
            let wraps = feeds_a_shell || is_one_of(first, WRAPPERS);
            let starts = if wraps { words.len() } else { 1 };
            (0..starts).any(|start| self.fits_loosely(&words[start..]))
        })
    }

    /// Whether every command of the line is meant for certain.
    pub(super) fn surely_matches(&self, line: &str) -> bool {
        plain_commands(line).is_some_and(|commands| {
            !commands.is_empty() && commands.iter().all(|words| self.fits(words))
        })
    }

    fn fits(&self, words: &[String]) -> bool {
        let enough = match self.is_open {
            true => words.len() >= self.words.len(),
            false => words.len() == self.words.len(),
        };
        enough && self.words.iter().zip(words).all(|(pattern, word)| wild(pattern, word))
    }

    /// The same, whatever options are in between, and whatever the path of the program is.
    fn fits_loosely(&self, words: &[&str]) -> bool {
        let Some((first, rest)) = words.split_first() else { return self.words.is_empty() };
        let Some((pattern, more)) = self.words.split_first() else { return true };
        let name = first.rsplit('/').next().unwrap_or(first);
        let name = name.trim_start_matches('\\');
        (wild(pattern, first) || wild(pattern, name)) && self.rest_fits(more, rest)
    }

    fn rest_fits(&self, patterns: &[String], words: &[&str]) -> bool {
        let Some((pattern, more)) = patterns.split_first() else {
            return self.is_open
                || words.iter().all(|word| word.starts_with('-'))
                || words.is_empty();
        };
        let Some((word, rest)) = words.split_first() else { return false };
        // A word that the shell still has to expand may become anything.
        if (wild(pattern, word) || word.contains(['$', '`', '*', '?', '[', '{']))
            && self.rest_fits(more, rest)
        {
            return true;
        }
        // An option, and perhaps its value.
        word.starts_with('-')
            && (self.rest_fits(patterns, rest)
                || rest.split_first().is_some_and(|(_, rest)| self.rest_fits(patterns, rest)))
    }
}

fn is_one_of(word: &str, names: &[&str]) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    names.contains(&name)
}

/// `*` in a pattern matches any text.
fn wild(pattern: &str, word: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = word.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.ends_with(last)
}

/// The commands of a line that holds nothing but plain words, quoted or not, and what separates
/// commands. `None` if it holds anything else: an expansion, a redirection, a group, an assignment.
fn plain_commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => commands.last_mut()?.extend(word.take()),
            ';' | '&' | '|' | '\n' => {
                commands.last_mut()?.extend(word.take());
                commands.push(Vec::new());
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '$' | '`' | '\\' | '!' => return None,
                        letter => word.push(letter),
                    }
                }
            }
            letter if letter.is_alphanumeric() || "-_./:=,+@%^".contains(letter) => {
                word.get_or_insert_default().push(letter);
            }
            _ => return None,
        }
    }
    commands.last_mut()?.extend(word.take());
    commands.retain(|words| !words.is_empty());
    let assigns = commands.iter().any(|words| words[0].contains('='));
    (!assigns).then_some(commands)
}
