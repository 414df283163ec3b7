//! How the shell reads each place of a command.
//!
//! [`places`] reads command text as bash and dash do and says, for each given range, how the shell
//! reads it: quoted or not, and whether the shell evaluates the value there again. Text that it
//! can't place is a [`LexError`], never a guess. Where bash and dash differ, or where values
//! determine what runs, it assumes the case in which nothing can run.
//!
//! The guarantee is about the place: a value is never evaluated because of its place. A value is
//! also followed a little further if the text shows the way: through assignments (`x=…; eval
//! "$x"`), and through pipes, here-documents and redirections to an interpreter that reads its
//! program, also in and after compound commands. With functions, aliases or `>(…)` in between,
//! everything that may meet is assumed to meet. It does not follow what a command makes of a value:
//! `read`, a function's arguments, a file, the output of `$( … )`, a program of the author.
//!
//! The lexer makes one pass over the bytes and copies no text. Its files:
//!
//! - `commands.rs`: lists of commands; `compound.rs` and `conditional.rs`: what reserved words
//!   begin.
//! - `words.rs`: words and quotes; `expansions.rs` and `parameters.rs`: what begins with `$` or a
//!   backtick; `here_documents.rs`: their bodies.
//! - `meaning.rs` and `declarations.rs`: commands that evaluate their arguments; `programs.rs`:
//!   those that take a program as an argument or read one.
//! - `following.rs`: where values go from there; `bare_names.rs`: variables that are evaluated
//!   without a `$`.

use std::ops::Range;

mod bare_names;
mod commands;
mod compound;
mod conditional;
mod declarations;
mod expansions;
mod following;
mod here_documents;
mod meaning;
mod parameters;
mod place;
mod programs;
#[cfg(test)]
mod tests;
mod words;

use bare_names::Searched;
use following::{Assignment, Attribute, Attributed, ProgramSource};
pub use place::{Evaluation, LexError, Quoting, ShellPlace, Trouble};

/// How deep substitutions, subshells and expansions may nest.
const DEPTH_MAX: usize = 48;

/// How the shell reads each of `ranges`. They are in order, don't overlap, and contain neither
/// quotes, backslashes nor white space: each is treated as one unit, whatever its characters.
pub fn places(text: &str, ranges: &[Range<usize>]) -> Result<Vec<ShellPlace>, LexError> {
    let lexed = ShellLexer::new(text, ranges, false).run()?;
    Ok(lexed
        .marks
        .iter()
        .filter(|mark| mark.subject == MarkSubject::Asked)
        .map(|m| m.place)
        .collect())
}

/// All variables of a text: the place of each, and which ones the text sets itself.
pub(super) fn variables(text: &str) -> Result<Lexed, LexError> {
    ShellLexer::new(text, &[], true).run()
}

pub(super) struct Lexed {
    /// In the order of the text.
    pub(super) marks: Vec<LexedMark>,
    /// The names of the variables that the command sets.
    pub(super) set: Vec<Range<usize>>,
    /// Whether it may set others too, with unknown names: `eval`, `source`.
    pub(super) sets_others: bool,
}

/// A place of interest.
#[derive(Debug, Clone)]
pub(super) struct LexedMark {
    pub(super) at: Range<usize>,
    pub(super) subject: MarkSubject,
    pub(super) place: ShellPlace,
    /// An argument of a program with variables of its own: `$X` in single quotes there belongs to
    /// that program.
    pub(super) is_foreign: bool,
    /// How many lists of commands enclose it.
    level: usize,
}

/// What a [`LexedMark`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkSubject {
    /// One of the given ranges.
    Asked,
    /// `$X`, `${X…}`, or `X` in arithmetic.
    Variable { name: Range<usize>, form: LookupForm },
}

/// How a variable is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupForm {
    /// For its value.
    Value,
    /// Only for its length, or whether it is set.
    Measured,
    /// For its value, or a default if it isn't set.
    Defaulted,
    /// For its value as a name (`${!X}`) or as a prompt (`${X@P}`), which is evaluated.
    Evaluated,
    /// By its name alone, in a word that is evaluated: `[[ X -eq 1 ]]`.
    Bare,
}

/// A word of a simple command.
#[derive(Debug, Clone)]
struct CommandWord {
    at: Range<usize>,
    /// It contains no expansion.
    is_static: bool,
    /// It contains quotes or backslashes.
    quoted: bool,
    /// For `name=…`: the end of the name.
    name_end: Option<usize>,
}

/// A here-document whose body hasn't been reached.
struct Pending {
    at: Range<usize>,
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    /// Set if an interpreter reads it as its program.
    evaluation: Option<Evaluation>,
}

struct ShellLexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    /// The end of the text being read: the whole, or the inside of backticks.
    end: usize,
    asked: std::slice::Iter<'t, Range<usize>>,
    /// The next given range; after the last, one beyond the text.
    next: Range<usize>,
    /// The text is as written: it may contain `${A.b}`, and apparent variables in single quotes are
    /// of interest too.
    is_unwritten: bool,
    depth: usize,
    evaluation: Option<Evaluation>,
    splits: bool,
    marks: Vec<LexedMark>,
    words: Vec<CommandWord>,
    pending: Vec<Pending>,
    /// How many of them belong to a line outside the current substitution.
    pending_outer: usize,
    set: Vec<Range<usize>>,
    sets_others: bool,
    /// The places of marks that some command reads: before a pipe, in here-documents, in
    /// redirections.
    fed: Vec<Range<usize>>,
    /// How interpreters get programs that are not arguments.
    interpreters_read: ProgramSource,
    defines_functions: bool,
    defines_aliases: bool,
    /// There is a `>(…)`, which reads what a command prints.
    writes_to_commands: bool,
    /// Names declared as integers, arrays or references: assigning evaluates.
    attributed: Vec<Attributed>,
    /// Evaluated code declares something, so any name may be declared.
    declares_unseen: Option<Attribute>,
    /// Where names without a `$` are evaluated.
    searched: Vec<Searched>,
    /// `$(…)`, `<(…)` and backticks, including their delimiters.
    substitutions: Vec<Range<usize>>,
    assigned: Vec<Assignment>,
    /// How many lists of commands enclose the current position.
    level: usize,
    /// Something in the text is evaluated again.
    evaluates: bool,
}

impl<'t> ShellLexer<'t> {
    fn new(text: &'t str, ranges: &'t [Range<usize>], is_unwritten: bool) -> Self {
        let mut asked = ranges.iter();
        let next = asked.next().cloned().unwrap_or(usize::MAX..usize::MAX);
        Self {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            end: text.len(),
            asked,
            next,
            is_unwritten,
            depth: 0,
            evaluation: None,
            splits: true,
            marks: Vec::with_capacity(ranges.len().max(4)),
            words: Vec::with_capacity(16),
            pending: Vec::new(),
            pending_outer: 0,
            set: Vec::new(),
            sets_others: false,
            fed: Vec::new(),
            interpreters_read: ProgramSource::Nothing,
            defines_functions: false,
            defines_aliases: false,
            writes_to_commands: false,
            attributed: Vec::new(),
            declares_unseen: None,
            searched: Vec::new(),
            substitutions: Vec::new(),
            assigned: Vec::new(),
            level: 0,
            evaluates: false,
        }
    }

    fn run(mut self) -> Result<Lexed, LexError> {
        self.list(commands::ListUntil::End)?;
        if self.next.start < self.text.len() {
            // Some rule above consumed the beginning of a range.
            return Err(LexError { trouble: Trouble::Unexpected, at: self.next });
        }
        self.mark_attributed();
        self.mark_read_elsewhere();
        if self.evaluates && (self.is_unwritten || self.keeps_marks()) {
            self.mark_bare_names();
            self.follow_assignments();
        }
        let Self { marks, set, sets_others, .. } = self;
        Ok(Lexed { marks, set, sets_others })
    }

    fn fail<T>(&self, trouble: Trouble, from: usize) -> Result<T, LexError> {
        let mut to = (from + 1).min(self.text.len());
        while !self.text.is_char_boundary(to) {
            to += 1;
        }
        Err(LexError { trouble, at: from.min(self.text.len())..to })
    }

    /// The byte `ahead` of the current position, or 0 beyond the end.
    fn peek(&self, ahead: usize) -> u8 {
        let at = self.pos + ahead;
        if at < self.end { self.bytes[at] } else { 0 }
    }

    fn starts(&self, text: &str) -> bool {
        self.bytes[self.pos..self.end].starts_with(text.as_bytes())
    }

    /// Whether a given range begins here; if so, it is marked and skipped.
    fn take_asked(&mut self, quoting: Quoting) -> bool {
        if self.pos != self.next.start {
            return false;
        }
        self.mark(self.next.clone(), MarkSubject::Asked, quoting);
        self.pos = self.next.end;
        self.next = self.asked.next().cloned().unwrap_or(usize::MAX..usize::MAX);
        true
    }

    fn mark(&mut self, at: Range<usize>, subject: MarkSubject, quoting: Quoting) {
        let place = ShellPlace {
            quoting,
            evaluation: self.evaluation,
            splits: self.splits,
            is_target: false,
            names_command: false,
            in_default: false,
            evaluated_as_words: None,
        };
        self.marks.push(LexedMark { at, subject, place, is_foreign: false, level: self.level });
    }

    /// Skips literal text up to `to`.
    fn pass(&mut self, to: usize, quoting: Quoting) {
        while self.next.start < to && self.next.start >= self.pos {
            self.pos = self.next.start;
            self.take_asked(quoting);
        }
        self.pos = self.pos.max(to);
    }

    /// The marks since `first` within `at`. Marks are in the order of the text.
    fn marks_in(&mut self, first: usize, at: &Range<usize>) -> &mut [LexedMark] {
        let from = first + self.marks[first..].partition_point(|mark| mark.at.start < at.start);
        let to = from + self.marks[from..].partition_point(|mark| mark.at.start < at.end);
        &mut self.marks[from..to]
    }

    /// Marks everything since `first` within `at` as evaluated again.
    fn evaluate(&mut self, first: usize, at: &Range<usize>, why: Evaluation) {
        self.evaluates = true;
        for mark in self.marks_in(first, at) {
            mark.place.evaluate(why);
        }
    }

    /// Reads a nested part, with its own reason to be evaluated.
    fn nested<T>(
        &mut self,
        evaluation: Option<Evaluation>,
        read: impl FnOnce(&mut Self) -> Result<T, LexError>,
    ) -> Result<T, LexError> {
        if self.depth == DEPTH_MAX {
            return self.fail(Trouble::TooDeep, self.pos);
        }
        let outer = self.evaluation;
        let splits = self.splits;
        self.depth += 1;
        self.evaluates |= evaluation.is_some();
        self.evaluation = outer.or(evaluation);
        let result = read(self);
        self.depth -= 1;
        self.evaluation = outer;
        self.splits = splits;
        result
    }

    /// The length of the name that begins at `from`.
    fn name_len(&self, from: usize) -> usize {
        let bytes = &self.bytes[from.min(self.end)..self.end];
        if bytes.first().is_none_or(u8::is_ascii_digit) {
            return 0;
        }
        bytes.iter().take_while(|byte| is_name_byte(**byte)).count()
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_name(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| !first.is_ascii_digit())
        && bytes.iter().all(|byte| is_name_byte(*byte))
}
