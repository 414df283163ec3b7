//! The meaning of a command's words: which of them the shell evaluates again, and which variables
//! the command sets.

use std::borrow::Cow;
use std::ops::Range;

use super::bare_names::NameSearch;
use super::commands::LexedCommand;
use super::following::Attribute;
use super::{CommandWord, Evaluation, ProgramSource, ShellLexer};

/// Commands whose arguments are assignments.
pub(super) const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// The commands below that evaluate their arguments.
const EVALUATING: [&str; 16] = [
    "eval",
    "let",
    "trap",
    "alias",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "read",
    "unset",
    "printf",
    "mapfile",
    "readarray",
    "getopts",
    "test",
];

/// The commands that a computed name may become, judging by its text: `${prefix}eval`,
/// `${how:-eval}`. The content of a variable is up to the author.
fn evaluating_names_in(word: &str) -> impl Iterator<Item = &'static str> {
    let bytes = word.as_bytes();
    let is_whole = move |at: usize, name: &str| {
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let after = bytes.get(at + name.len()).copied().unwrap_or(b' ');
        before != b'/' && !super::is_name_byte(before) && !super::is_name_byte(after)
    };
    EVALUATING
        .into_iter()
        .filter(move |name| word.match_indices(name).any(|(at, _)| is_whole(at, name)))
}

impl ShellLexer<'_> {
    /// Settles the meaning of a finished command's words.
    pub(super) fn settle(&mut self, command: &LexedCommand) {
        let mut first = command.words;
        let end = self.words.len();
        // `command -p eval`, `builtin eval`; and `$nothing eval`, where the next word is the
        // command.
        while first + 1 < end {
            let word = &self.words[first];
            let passes = match self.literal(word) {
                Some(name) => {
                    matches!(&*name, "command" | "builtin")
                        || (first > command.words && name.starts_with('-'))
                }
                None => {
                    !word.quoted
                        && self.may_vanish(word)
                        && evaluating_names_in(&self.text[word.at.clone()]).next().is_none()
                }
            };
            if !passes {
                break;
            }
            first += 1;
        }
        let named = self.words[first].clone();
        let names = self.words[command.words].at.start..named.at.end;
        for mark in self.marks_in(command.marks, &names) {
            mark.place.names_command = true;
        }
        match self.literal(&named).map(Cow::into_owned) {
            Some(name) => self.settle_as(&name, command, first + 1..end),
            None => {
                for name in evaluating_names_in(&self.text[named.at]) {
                    self.settle_as(name, command, first + 1..end);
                }
            }
        }
        self.spread_words(command.marks, command.words..end, first);
        if self.programs(command.marks, command.words..end, first) {
            self.input_is_program(command);
        }
    }

    /// Whether a word may expand to nothing: it consists of expansions alone, as far as is visible.
    fn may_vanish(&self, word: &CommandWord) -> bool {
        let mut rest = &self.bytes[word.at.clone()];
        while let [b'$', after @ ..] = rest
            && after.first().is_some_and(|first| super::is_name_byte(*first))
        {
            let length = after.iter().take_while(|byte| super::is_name_byte(**byte)).count();
            rest = &after[length..];
        }
        match (rest.first(), rest.last()) {
            (None, _) => true,
            (Some(b'$' | b'`' | b'{'), Some(b'}' | b')' | b'`' | b'@' | b'*')) => true,
            (Some(b'$'), Some(last)) => super::is_name_byte(*last),
            _ => false,
        }
    }

    /// Settles the arguments of the command of this name.
    fn settle_as(&mut self, name: &str, command: &LexedCommand, arguments: Range<usize>) {
        let marks = command.marks;
        let end = arguments.end;
        match name {
            "let" => {
                self.evaluate_all(marks, arguments.clone(), Evaluation::Let);
                self.search_words(arguments.clone(), Evaluation::Let, NameSearch::Everywhere);
                for at in arguments {
                    self.set_prefix(at);
                }
            }
            "eval" => {
                self.sets_others = true;
                self.declared_by_code(arguments.clone());
                self.evaluate_all(marks, arguments, Evaluation::Eval);
            }
            "alias" => {
                self.defines_aliases = true;
                self.evaluate_all(marks, arguments, Evaluation::Eval);
            }
            "bind" | "complete" | "compgen" => {
                self.evaluate_all(marks, arguments, Evaluation::Eval);
            }
            "trap" => {
                self.declared_by_code(arguments.clone());
                self.evaluate_all(marks, arguments, Evaluation::Trap);
            }
            "." | "source" => {
                self.sets_others = true;
                self.sourced(command, arguments);
            }
            "declare" | "typeset" | "local" | "export" | "readonly" => {
                self.declaration(marks, arguments);
            }
            "read" => self.names(marks, arguments, "dinNptu", "a"),
            "mapfile" | "readarray" => self.names(marks, arguments, "dnOsuc", ""),
            "unset" => self.names(marks, arguments, "", ""),
            "wait" => self.option_name(marks, arguments, "-p"),
            "printf" => {
                self.option_name(marks, arguments.clone(), "-v");
                self.printed(arguments);
            }
            "getopts" => self.names(marks, arguments, "", ""),
            "jq" | "gojq" | "jaq" | "yq" | "envsubst" => {
                self.marks[marks..].iter_mut().for_each(|mark| mark.is_foreign = true);
            }
            "test" | "[" => {
                for at in arguments {
                    let is_test =
                        matches!(self.literal(&self.words[at]).as_deref(), Some("-v" | "-R"));
                    if is_test && at + 1 < end {
                        self.evaluate_first(marks, at + 1..end, Evaluation::VariableName);
                        self.search_words(
                            at + 1..at + 2,
                            Evaluation::Subscript,
                            NameSearch::InBrackets,
                        );
                    }
                }
            }
            _ => {}
        }
    }

    /// `. <(…)` runs what is printed there, `. /dev/stdin` what is read.
    fn sourced(&mut self, command: &LexedCommand, arguments: Range<usize>) {
        let Some(file) = self.words[arguments].first().map(|word| word.at.clone()) else { return };
        if self.text[file.clone()].starts_with("<(") {
            self.evaluate(command.marks, &file, Evaluation::Program);
        }
        if self.text[file].contains("/dev/") {
            self.input_is_program(command);
        }
    }

    /// Marks the command's input as a program: its here-documents and here-strings, and the input
    /// of the commands whose output it reads.
    fn input_is_program(&mut self, command: &LexedCommand) {
        let reading =
            if command.has_input { ProgramSource::OwnInput } else { ProgramSource::WhateverComes };
        self.interpreters_read = self.interpreters_read.max(reading);
        self.evaluates = true;
        // A line end within the command has already consumed those before it.
        for pending in self.pending.iter_mut().skip(command.pending) {
            pending.evaluation = Some(Evaluation::Program);
        }
        let words: Vec<_> = self.words[command.words..].iter().map(|w| w.at.clone()).collect();
        let mut words = words.into_iter().peekable();
        for mark in &mut self.marks[command.input..] {
            while words.next_if(|word| word.end <= mark.at.start).is_some() {}
            // Its own words are arguments; those of a redirection are not.
            if !words.peek().is_some_and(|word| word.contains(&mark.at.start)) {
                mark.place.evaluation.get_or_insert(Evaluation::Program);
            }
        }
    }

    /// A word without its quotes, if it contains no expansion.
    pub(super) fn literal(&self, word: &CommandWord) -> Option<Cow<'_, str>> {
        if !word.is_static {
            return None;
        }
        let text = &self.text[word.at.clone()];
        if !word.quoted {
            return Some(Cow::Borrowed(text));
        }
        let mut plain = String::with_capacity(text.len());
        let mut quote = None;
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match (character, quote) {
                ('\'' | '"', None) => quote = Some(character),
                (_, Some(open)) if character == open => quote = None,
                ('\\', None | Some('"')) => match characters.next() {
                    Some('\n') | None => {}
                    Some(next) => {
                        if quote.is_some() && !matches!(next, '$' | '`' | '"' | '\\') {
                            plain.push('\\');
                        }
                        plain.push(next);
                    }
                },
                _ => plain.push(character),
            }
        }
        Some(Cow::Owned(plain))
    }

    pub(super) fn evaluate_word(&mut self, marks: usize, word: usize, why: Evaluation) {
        let at = self.words[word].at.clone();
        self.evaluate(marks, &at, why);
    }

    /// Marks the first word as evaluated again, and the next if it may expand to nothing: `$v`.
    pub(super) fn evaluate_first(&mut self, marks: usize, words: Range<usize>, why: Evaluation) {
        for at in words {
            self.evaluate_word(marks, at, why);
            if self.words[at].is_static || self.words[at].quoted {
                return;
            }
        }
    }

    pub(super) fn evaluate_all(&mut self, marks: usize, words: Range<usize>, why: Evaluation) {
        if words.is_empty() {
            return;
        }
        let at = self.words[words.start].at.start..self.words[words.end - 1].at.end;
        self.evaluate(marks, &at, why);
    }

    /// A command whose operands are names of variables. Options in `with_value` take another word,
    /// those in `with_name` a name.
    fn names(&mut self, marks: usize, arguments: Range<usize>, with_value: &str, with_name: &str) {
        let mut skip = false;
        let mut options = true;
        for at in arguments {
            if std::mem::take(&mut skip) {
                continue;
            }
            let literal = self.literal(&self.words[at]).map(Cow::into_owned);
            if let Some(option) = literal.filter(|word| options && word.starts_with('-')) {
                options = option != "--";
                let cluster = &option[1..];
                if let Some(found) = cluster.find(|letter| with_value.contains(letter)) {
                    skip = found + 1 == cluster.len();
                }
                if cluster.contains(|letter| with_name.contains(letter))
                    && at + 1 < self.words.len()
                {
                    self.attribute(self.words[at + 1].at.clone(), Attribute::Array);
                }
                continue;
            }
            self.evaluate_word(marks, at, Evaluation::VariableName);
            self.search_words(at..at + 1, Evaluation::Subscript, NameSearch::InBrackets);
            self.set_prefix(at);
        }
    }

    /// An option whose word names a variable, separate or attached. Every word is searched for it:
    /// a list before it may be empty.
    fn option_name(&mut self, marks: usize, arguments: Range<usize>, option: &str) {
        for at in arguments.clone() {
            let word = self.words[at].at.clone();
            let text = &self.text[word.clone()];
            if text == option && at + 1 < arguments.end {
                self.evaluate_first(marks, at + 1..arguments.end, Evaluation::VariableName);
                self.search_words(at + 1..at + 2, Evaluation::Subscript, NameSearch::InBrackets);
                self.set_prefix(at + 1);
            }
            if text != option && text.starts_with(option) {
                self.evaluate_word(marks, at, Evaluation::VariableName);
                self.search_words(at..at + 1, Evaluation::Subscript, NameSearch::InBrackets);
                self.set.push(word.start + option.len()..word.end);
            }
        }
    }

    /// The command sets the variable whose name begins this word; a computed one may be any.
    fn set_prefix(&mut self, word: usize) {
        let word = &self.words[word];
        let quote = usize::from(matches!(self.bytes[word.at.start], b'"' | b'\''));
        let start = word.at.start + quote;
        let length = self.name_len(start).min(word.at.end.saturating_sub(start));
        if length == 0 || !word.is_static {
            self.sets_others = true;
        } else {
            self.set.push(start..start + length);
        }
    }
}
