//! Programs that are arguments (`sh -c …`, `python -c …`, `awk …`, `ssh host …`) or input (`… |
//! sh`, `psql <<E`).
//!
//! Every word of a command is searched for shells, because anything may precede them. Other
//! interpreters are searched where the command has its name, and after commands that run another.

use std::borrow::Cow;
use std::ops::Range;

use super::{Evaluation, MarkSubject, ShellLexer};

/// After how many interpreters in one command all further words count as programs.
const INTERPRETERS_MAX: usize = 8;

/// Where an interpreter has its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgramPlace {
    /// In the first operand, after an option with `c`.
    Shell,
    /// In the word after an option with one of these letters, or attached to it. Without such an
    /// option it reads its program, unless an operand names its file.
    Option(&'static str),
    /// The same, but its operands name no file: `su somebody`.
    OptionOrInput(&'static str),
    /// The same, but it never reads a program.
    OptionOnly(&'static str),
    /// In such an option, or in the first operand if there is none.
    Operand(&'static str),
    /// In every operand. For `ssh` in the first too: a host `-oProxyCommand=…` runs.
    All,
    /// It reads commands, whatever its arguments are.
    Input,
}

/// Commands that run the command after them.
const WRAPPERS: &[&str] = &[
    "sudo",
    "doas",
    "env",
    "exec",
    "nohup",
    "timeout",
    "nice",
    "ionice",
    "stdbuf",
    "setsid",
    "xargs",
    "find",
    "time",
    "chroot",
    "docker",
    "podman",
    "kubectl",
    "flock",
    "strace",
    "unshare",
    "nsenter",
    "systemd-run",
    "busybox",
    "chrt",
    "taskset",
    "fakeroot",
    "gosu",
    "su-exec",
    "pkexec",
    "firejail",
    "bwrap",
    "runuser",
    "su",
    "script",
    "unbuffer",
];

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn interpreter(name: &str) -> Option<ProgramPlace> {
    let name = base_name(name);
    if name == "m4" {
        return Some(ProgramPlace::Input);
    }
    Some(match name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.') {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh" | "fish" | "rbash" => {
            ProgramPlace::Shell
        }
        "python" | "pypy" | "tclsh" | "expect" => ProgramPlace::Option("c"),
        "su" | "runuser" | "script" | "psql" | "pwsh" | "powershell" => {
            ProgramPlace::OptionOrInput("cC")
        }
        "mysql" | "mariadb" => ProgramPlace::OptionOrInput("e"),
        "flock" => ProgramPlace::OptionOnly("c"),
        "vi" | "vim" | "nvim" => ProgramPlace::OptionOnly("cS"),
        "emacs" | "emacsclient" | "nix-shell" => ProgramPlace::OptionOnly("e"),
        "env" => ProgramPlace::OptionOnly("S"),
        "perl" | "ruby" => ProgramPlace::Option("eE"),
        "node" | "nodejs" | "bun" | "deno" => ProgramPlace::Option("ep"),
        "lua" | "luajit" | "osascript" | "R" | "Rscript" | "julia" | "octave" | "gnuplot"
        | "elixir" | "groovy" => ProgramPlace::Option("e"),
        "php" => ProgramPlace::Option("rBRE"),
        "awk" | "gawk" | "mawk" | "nawk" => ProgramPlace::Operand("ef"),
        "sed" | "gsed" => ProgramPlace::Operand("ef"),
        "ssh" | "watch" | "parallel" | "make" | "gmake" | "tmux" | "screen" | "sqlite" => {
            ProgramPlace::All
        }
        "at" | "batch" | "crontab" | "ed" | "ex" | "dc" | "gdb" | "irb" | "jshell" => {
            ProgramPlace::Input
        }
        _ => return None,
    })
}

/// Whether a word contains the name of an interpreter: `${SHELL:-sh}`, `'bash -s'`.
fn names_interpreter(word: &str) -> bool {
    let is_apart = |letter: char| !letter.is_ascii_alphanumeric() && !"._".contains(letter);
    word.split(is_apart).any(|part| {
        matches!(part, "SHELL" | "BASH")
            || matches!(
                interpreter(part),
                Some(
                    ProgramPlace::Shell | ProgramPlace::Option(_) | ProgramPlace::OptionOrInput(_)
                )
            )
    })
}

impl ShellLexer<'_> {
    /// Marks every program among the words as evaluated again. `named` is the last word that may be
    /// the command's name. Returns whether one of the interpreters reads its program.
    pub(super) fn programs(&mut self, marks: usize, words: Range<usize>, named: usize) -> bool {
        let mut reads = false;
        let mut interpreters = 0;
        let first = self.literal(&self.words[named]);
        let is_wrapped = first.is_some_and(|first| WRAPPERS.contains(&base_name(&first)));
        for at in words.clone() {
            let program = match self.literal(&self.words[at]) {
                Some(name) => interpreter(&name),
                // `"$SHELL" -c …`: an unknown word may be a shell.
                None => (at <= named).then_some(ProgramPlace::Shell),
            };
            let Some(program) = program else { continue };
            // `npm run watch`, `grep node`: only shells are searched everywhere.
            let is_run = is_wrapped || at <= named;
            if !is_run && program != ProgramPlace::Shell {
                continue;
            }
            interpreters += 1;
            if interpreters > INTERPRETERS_MAX {
                self.evaluate_all(marks, at + 1..words.end, Evaluation::Program);
                return true;
            }
            reads |= self.program(program, marks, at, words.end) && is_run;
            reads |=
                is_wrapped && self.is_given_by_xargs(words.start..at, program, at + 1..words.end);
        }
        reads
    }

    /// The words of a list can be options or a command: `sh {{list}}` runs the second if the first
    /// is `-c`.
    pub(super) fn spread_words(&mut self, marks: usize, words: Range<usize>, named: usize) {
        let mut room = self.own_operands(named);
        for at in named + 1..words.end {
            let word = self.words[at].at.clone();
            if room > 0 {
                for mark in self.marks_in(marks, &word) {
                    mark.place.evaluated_as_words = Some(Evaluation::Program);
                }
            }
            let Some(text) = self.literal(&self.words[at]) else { continue };
            let after_option = self.literal(&self.words[at - 1]).is_some_and(|before| {
                before.starts_with('-') && !matches!(&*before, "-" | "--" | "-m")
            });
            let is_operand = !text.starts_with(['-', '+']) && !text.contains('=') && !after_option;
            // A wrapper may run another wrapper. After `find` any word may be a command.
            let own = self.own_operands(at);
            let is_shell = interpreter(&text) == Some(ProgramPlace::Shell);
            room = match room {
                usize::MAX => room,
                _ if own > 0 && (room > 0 || is_shell) => own,
                _ => room.saturating_sub(usize::from(is_operand)),
            };
        }
    }

    /// How many operands the command at `at` takes for itself, before those of the command that it
    /// runs.
    fn own_operands(&self, at: usize) -> usize {
        let word = &self.words[at];
        let Some(name) = self.literal(word) else {
            return usize::from(names_interpreter(&self.text[word.at.clone()]));
        };
        match base_name(&name) {
            "find" => usize::MAX,
            "docker" | "podman" | "kubectl" => 3,
            "timeout" | "flock" | "chroot" | "chrt" | "taskset" | "gosu" | "su-exec" | "su"
            | "runuser" | "script" => 2,
            name if WRAPPERS.contains(&name) => 1,
            name => usize::from(interpreter(name).is_some()),
        }
    }

    /// Marks what one interpreter, the word at `at`, evaluates. Returns whether it reads its
    /// program.
    fn program(&mut self, program: ProgramPlace, marks: usize, at: usize, end: usize) -> bool {
        let rest = at + 1..end;
        match program {
            ProgramPlace::Shell => {
                let word = &self.words[at];
                // An unknown word is usually some other program.
                let is_known = word.is_static || names_interpreter(&self.text[word.at.clone()]);
                self.shell(marks, rest, is_known) && is_known
            }
            ProgramPlace::Option(letters) => {
                let is_given = self.program_option(marks, rest.clone(), letters);
                // `deno eval …`
                let is_word = |word| self.literal(word).as_deref() == Some("eval");
                if self.words[rest.clone()].iter().any(is_word) {
                    self.evaluate_all(marks, rest.clone(), Evaluation::Program);
                }
                !is_given && self.operands(rest) == 0
            }
            ProgramPlace::OptionOrInput(letters) => !self.program_option(marks, rest, letters),
            ProgramPlace::OptionOnly(letters) => {
                self.program_option(marks, rest, letters);
                false
            }
            ProgramPlace::Operand(letters) => {
                if !self.program_option(marks, rest.clone(), letters) {
                    self.first_operand(marks, rest);
                }
                false
            }
            ProgramPlace::All => {
                self.evaluate_all(marks, rest.clone(), Evaluation::Program);
                let mut words = self.words[rest.clone()].iter();
                let names = words.any(|word| names_interpreter(&self.text[word.at.clone()]));
                names || self.operands(rest) < 2
            }
            ProgramPlace::Input => true,
        }
    }

    /// `xargs` turns its input into arguments. They are a program if they replace `{}` in one, if
    /// they come first after `sh -c`, and if every argument is one.
    fn is_given_by_xargs(
        &self,
        before: Range<usize>,
        program: ProgramPlace,
        after: Range<usize>,
    ) -> bool {
        let mut words = self.words[before].iter().filter_map(|word| self.literal(word));
        if !words.any(|word| base_name(&word) == "xargs") {
            return false;
        }
        let replaces = |word: &str| {
            word.starts_with("-I") || word.starts_with("-i") || word.starts_with("--replace")
        };
        let is_last = self.words[after.clone()]
            .iter()
            .all(|word| self.text[word.at.clone()].starts_with('-'));
        words.any(|word| replaces(&word)) || program == ProgramPlace::All || is_last
    }

    /// The number of words that are not options.
    fn operands(&self, words: Range<usize>) -> usize {
        let words = &self.words[words];
        words.iter().filter(|word| !self.text[word.at.clone()].starts_with('-')).count()
    }

    /// The program of a shell: its first operand, after an option with `c`. Returns whether it has
    /// neither that nor a file.
    fn shell(&mut self, marks: usize, words: Range<usize>, is_known: bool) -> bool {
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
        } else if is_known && self.asks(marks, at) {
            // The value may be `-c`, and then the next word is a program.
            self.evaluate_all(marks, at + 1..words.end, Evaluation::Program);
        }
        reads && !is_program
    }

    /// Whether a given range is in this word.
    fn asks(&mut self, marks: usize, word: usize) -> bool {
        let at = self.words[word].at.clone();
        self.marks_in(marks, &at).iter().any(|mark| mark.subject == MarkSubject::Asked)
    }

    /// Marks the value of an option that takes a program. Returns whether there was one.
    fn program_option(&mut self, marks: usize, words: Range<usize>, letters: &str) -> bool {
        let mut found = false;
        for at in words.clone() {
            let raw = self.text[self.words[at].at.clone()].trim_start_matches(['"', '\'']);
            let Some(cluster) = raw.strip_prefix('-') else { continue };
            let is_long = matches!(
                self.literal(&self.words[at]).as_deref(),
                Some(
                    "--eval"
                        | "--print"
                        | "--expression"
                        | "--command"
                        | "--split-string"
                        | "--run"
                )
            );
            let long_value =
                ["-eval=", "-print=", "-expression=", "-command=", "-split-string=", "-run="];
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

    /// Marks the first operand, and the next one too if the first is a list that may be empty.
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
