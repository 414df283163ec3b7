//! Programs that are given as an argument: `sh -c …`, `python -c …`, `awk …`, `ssh host …`.
//!
//! Shells are looked for in every word of a command, because anything may stand before them; the
//! others where the command has its name, and after those that run another.

use std::borrow::Cow;
use std::ops::Range;

use super::{Evaluation, Lexer, Subject};

/// How many interpreters one command is searched for; what stands after more is all taken for
/// programs.
const INTERPRETERS_MAX: usize = 8;

/// Where an interpreter has its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    /// In the first operand, if an option with `c` stands before it.
    Shell,
    /// In the word after an option with one of these letters, or attached to it.
    Option(&'static str),
    /// The same, and in the first operand where there is no such option.
    Operand(&'static str),
    /// In every operand. For `ssh` in the first too: a host `-oProxyCommand=…` runs.
    All,
}

/// Commands that run what comes after them.
const WRAPPERS: [&str; 16] = [
    "sudo", "doas", "env", "exec", "nohup", "timeout", "nice", "ionice", "stdbuf", "setsid",
    "xargs", "find", "time", "chroot", "docker", "kubectl",
];

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn interpreter(name: &str) -> Option<Program> {
    Some(
        match base_name(name).trim_end_matches(|last: char| last.is_ascii_digit() || last == '.') {
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh" | "fish" | "rbash" => {
                Program::Shell
            }
            "python" | "pypy" | "su" | "runuser" | "flock" | "script" => Program::Option("c"),
            "perl" | "ruby" => Program::Option("eE"),
            "node" | "nodejs" | "bun" | "deno" => Program::Option("ep"),
            "lua" | "luajit" | "osascript" => Program::Option("e"),
            "php" => Program::Option("rBRE"),
            "env" => Program::Option("S"),
            "awk" | "gawk" | "mawk" | "nawk" => Program::Operand("ef"),
            "sed" | "gsed" => Program::Operand("ef"),
            "ssh" | "watch" | "parallel" => Program::All,
            _ => return None,
        },
    )
}

impl Lexer<'_> {
    /// Every program among the words is evaluated again. `named` is the last that may be the
    /// command's name. Whether an interpreter without a program is among them: it reads one.
    pub(super) fn programs(&mut self, marks: usize, words: Range<usize>, named: usize) -> bool {
        let mut reads = false;
        let mut interpreters = 0;
        let first = self.literal(&self.words[named]);
        let is_wrapped = first.is_some_and(|first| WRAPPERS.contains(&base_name(&first)));
        for at in words.clone() {
            let program = match self.literal(&self.words[at]) {
                Some(name) => interpreter(&name),
                // `"$SHELL" -c …`: what isn't known may be a shell.
                None => (at <= named).then_some(Program::Shell),
            };
            let Some(program) = program else { continue };
            // `npm run watch`, `grep node`: only a shell is looked for everywhere.
            let is_run = is_wrapped || at <= named;
            if !is_run && program != Program::Shell {
                continue;
            }
            let rest = at + 1..words.end;
            interpreters += 1;
            if interpreters > INTERPRETERS_MAX {
                self.evaluate_all(marks, rest, Evaluation::Program);
                return true;
            }
            match program {
                // What isn't known has its program elsewhere, more often than not.
                Program::Shell => {
                    reads |= self.shell(marks, rest) && is_run && self.words[at].is_static;
                }
                Program::Option(letters) => {
                    let is_given = self.program_option(marks, rest.clone(), letters);
                    reads |= !is_given && self.operands(rest) == 0;
                }
                Program::Operand(letters) => {
                    if !self.program_option(marks, rest.clone(), letters) {
                        self.first_operand(marks, rest);
                    }
                }
                Program::All => {
                    self.evaluate_all(marks, rest.clone(), Evaluation::Program);
                    reads |= self.operands(rest) < 2;
                }
            }
        }
        reads
    }

    /// How many words are no options.
    fn operands(&self, words: Range<usize>) -> usize {
        let words = &self.words[words];
        words.iter().filter(|word| !self.text[word.at.clone()].starts_with('-')).count()
    }

    /// The program of a shell: its first operand, after an option with `c`. Whether it has neither
    /// that nor a file.
    fn shell(&mut self, marks: usize, words: Range<usize>) -> bool {
        let mut is_program = false;
        let mut reads = false;
        let mut at = words.start;
        while at < words.end {
            match self.literal(&self.words[at]) {
                Some(option) if option.starts_with("--") => {
                    if matches!(&*option, "--rcfile" | "--init-file") {
                        at += 1;
                    }
                }
                Some(option) if option.len() > 1 && option.starts_with(['-', '+']) => {
                    is_program |= option.contains('c');
                    reads |= option.contains('s');
                    if option.ends_with(['o', 'O']) {
                        at += 1;
                    }
                }
                _ => break,
            }
            at += 1;
        }
        if at >= words.end {
            return !is_program;
        }
        let operand = &self.text[self.words[at].at.clone()];
        reads |= operand == "-" || operand.contains("/dev/");
        if is_program || operand.starts_with("<(") {
            self.evaluate_first(marks, at..words.end, Evaluation::Program);
        } else if self.asks(marks, at) {
            // The value may be `-c`, and then the next word is a program.
            self.evaluate_all(marks, at + 1..words.end, Evaluation::Program);
        }
        reads && !is_program
    }

    /// Whether a range we were asked about stands in this word.
    fn asks(&mut self, marks: usize, word: usize) -> bool {
        let at = self.words[word].at.clone();
        self.marks_in(marks, &at).iter().any(|mark| mark.subject == Subject::Asked)
    }

    /// What comes with an option that takes a program. Whether there was one.
    fn program_option(&mut self, marks: usize, words: Range<usize>, letters: &str) -> bool {
        let mut found = false;
        for at in words.clone() {
            let raw = self.text[self.words[at].at.clone()].trim_start_matches(['"', '\'']);
            let Some(cluster) = raw.strip_prefix('-') else { continue };
            let is_long = matches!(
                self.literal(&self.words[at]).as_deref(),
                Some("--eval" | "--print" | "--expression" | "--command" | "--split-string")
            );
            let long_value = ["-eval=", "-print=", "-expression=", "-command=", "-split-string="];
            if is_long {
                found = true;
            } else if long_value.iter().any(|option| cluster.starts_with(option)) {
                found = true;
                self.evaluate_word(marks, at, Evaluation::Program);
                continue;
            } else {
                let letter = cluster.find(|letter: char| {
                    !letter.is_ascii_alphanumeric() || letters.contains(letter)
                });
                let Some(letter) = letter.filter(|letter| {
                    cluster[*letter..].starts_with(|letter| letters.contains(letter))
                }) else {
                    continue;
                };
                found = true;
                if letter + 1 < cluster.len() {
                    self.evaluate_word(marks, at, Evaluation::Program);
                }
            }
            self.evaluate_first(marks, at + 1..words.end, Evaluation::Program);
        }
        found
    }

    /// The first operand, and the one after it where a list that may be empty is the first.
    fn first_operand(&mut self, marks: usize, words: Range<usize>) {
        let mut skip = false;
        for at in words {
            if std::mem::take(&mut skip) {
                continue;
            }
            match self.literal(&self.words[at]) {
                // `awk -v x=…`, `awk -F :`
                Some(Cow::Borrowed("-v" | "-F")) => skip = true,
                Some(option) if option.starts_with('-') && option.len() > 1 => {}
                literal => {
                    let is_known = literal.is_some();
                    self.evaluate_word(marks, at, Evaluation::Program);
                    if is_known || self.words[at].quoted {
                        return;
                    }
                }
            }
        }
    }
}
