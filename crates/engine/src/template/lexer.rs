//! Where in a shell command something stands.
//!
//! [`places`] reads command text as bash and dash do and says, for each range it is asked about, how
//! the shell reads it there: quoted or not, and whether the shell evaluates what stands there once
//! more. What it can't place is a [`LexError`], never a guess; where bash and dash differ, or where
//! what runs depends on values, it takes the side on which nothing can run.
//!
//! The promise is about the place: what stands there is never evaluated by where it stands. A value is
//! followed a little further, where that can be seen in the text: through assignments
//! (`x=…; eval "$x"`), and through pipes, here-documents and redirections to an interpreter that reads
//! its program, also in and behind compound commands. Where functions, aliases or `>(…)` stand
//! between, everything that may meet is taken to meet. Not followed is what a command makes of a value
//! it was given: `read`, a function's arguments, a file, the output of `$( … )`, a program of
//! the author's own.
//!
//! One pass over the bytes, no text is copied. `commands.rs` reads lists of commands, `compound.rs` and
//! `conditional.rs` what reserved words begin, `words.rs` words and quotes, `expansions.rs` and
//! `parameters.rs` what begins with `$` or a backtick, `here_documents.rs` their bodies; `meaning.rs`
//! and `declarations.rs` know the commands that evaluate their arguments, and `programs.rs` those that
//! take a program as an argument or read one; `following.rs` says where values go from there, and
//! `bare_names.rs` finds the variables that are evaluated without a `$`.

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

/// How deep substitutions, subshells and expansions may stand in each other.
const DEPTH_MAX: usize = 48;

/// Where each of `ranges` stands. They are in order, don't overlap, and hold neither quotes,
/// backslashes nor white space: each is taken as one thing, whatever characters it has.
pub fn places(text: &str, ranges: &[Range<usize>]) -> Result<Vec<ShellPlace>, LexError> {
    let lexed = ShellLexer::new(text, ranges, false).run()?;
    Ok(lexed
        .marks
        .iter()
        .filter(|mark| mark.subject == MarkSubject::Asked)
        .map(|m| m.place)
        .collect())
}

/// Everything a text says about variables: where each stands, and which ones it sets itself.
pub(super) fn variables(text: &str) -> Result<Lexed, LexError> {
    ShellLexer::new(text, &[], true).run()
}

/// What was found in a text.
pub(super) struct Lexed {
    /// In the order of the text.
    pub(super) marks: Vec<LexedMark>,
    /// The names of the variables that the command sets.
    pub(super) set: Vec<Range<usize>>,
    /// Whether it may set others too, whose names we can't see: `eval`, `source`.
    pub(super) sets_others: bool,
}

/// Something whose place is of interest.
#[derive(Debug, Clone)]
pub(super) struct LexedMark {
    pub(super) at: Range<usize>,
    pub(super) subject: MarkSubject,
    pub(super) place: ShellPlace,
    /// An argument of a program that has variables of its own: what `$X` is in single quotes there
    /// is that program's business.
    pub(super) is_foreign: bool,
    /// How many lists of commands stand around it.
    level: usize,
}

/// What stands at a [`LexedMark`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkSubject {
    /// One of the ranges we were asked about.
    Asked,
    /// `$X`, `${X…}`, or `X` in arithmetic.
    Variable { name: Range<usize>, form: LookupForm },
}

/// How a variable is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupForm {
    /// Its value is wanted.
    Value,
    /// Only its length, or whether it is set.
    Measured,
    /// Its value, or something else where it isn't set.
    Defaulted,
    /// Its value as a name (`${!X}`) or as a prompt (`${X@P}`): evaluated.
    Evaluated,
    /// Its name alone, in a word that is evaluated: `[[ X -eq 1 ]]`.
    Bare,
}

/// A word of a simple command.
#[derive(Debug, Clone)]
struct CommandWord {
    at: Range<usize>,
    /// No expansion stands in it.
    is_static: bool,
    /// Quotes or backslashes stand in it.
    quoted: bool,
    /// For `name=…`: where the name ends.
    name_end: Option<usize>,
}

/// A here-document whose body hasn't been reached.
struct Pending {
    at: Range<usize>,
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    /// An interpreter reads it as its program.
    evaluation: Option<Evaluation>,
}

struct ShellLexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    /// Where the text that is being read ends: the whole, or the inside of backticks.
    end: usize,
    asked: std::slice::Iter<'t, Range<usize>>,
    /// The next range we are asked about; at the end, one beyond the text.
    next: Range<usize>,
    /// The text is as its author wrote it: `${A.b}` may stand there, and what looks like a variable in
    /// single quotes is of interest too.
    is_unwritten: bool,
    depth: usize,
    evaluation: Option<Evaluation>,
    splits: bool,
    marks: Vec<LexedMark>,
    words: Vec<CommandWord>,
    pending: Vec<Pending>,
    /// How many of them belong to a line outside the substitution that is being read.
    pending_outer: usize,
    set: Vec<Range<usize>>,
    sets_others: bool,
    /// Where marks stand that some command reads: before a pipe, in here-documents, in redirections.
    fed: Vec<Range<usize>>,
    /// How interpreters get their programs, where they don't have them as arguments.
    interpreters_read: ProgramSource,
    defines_functions: bool,
    defines_aliases: bool,
    /// `>(…)`: what a command prints is read there.
    writes_to_commands: bool,
    /// Names that have been declared integers, arrays or references: assigning evaluates.
    attributed: Vec<Attributed>,
    /// Code that is evaluated declares something, so any name may have been.
    declares_unseen: Option<Attribute>,
    /// Where names without a `$` are evaluated.
    searched: Vec<Searched>,
    /// `$(…)`, `<(…)` and backticks, with what opens and closes them.
    substitutions: Vec<Range<usize>>,
    /// Every assignment.
    assigned: Vec<Assignment>,
    /// How many lists of commands stand around here.
    level: usize,
    /// Something in the text is evaluated again, whatever it is.
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
            // Some rule above took the beginning of a range for something else.
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

    /// The byte `ahead` of here, or 0 beyond the end.
    fn peek(&self, ahead: usize) -> u8 {
        let at = self.pos + ahead;
        if at < self.end { self.bytes[at] } else { 0 }
    }

    fn starts(&self, text: &str) -> bool {
        self.bytes[self.pos..self.end].starts_with(text.as_bytes())
    }

    /// Whether a range we are asked about begins here; if so it is marked and passed.
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

    /// Passes text in which nothing has a meaning, up to `to`.
    fn pass(&mut self, to: usize, quoting: Quoting) {
        while self.next.start < to && self.next.start >= self.pos {
            self.pos = self.next.start;
            self.take_asked(quoting);
        }
        self.pos = self.pos.max(to);
    }

    /// The marks since `first` that stand in `at`. Marks are in the order of the text.
    fn marks_in(&mut self, first: usize, at: &Range<usize>) -> &mut [LexedMark] {
        let from = first + self.marks[first..].partition_point(|mark| mark.at.start < at.start);
        let to = from + self.marks[from..].partition_point(|mark| mark.at.start < at.end);
        &mut self.marks[from..to]
    }

    /// Every mark since `first` that stands in `at` is evaluated again.
    fn evaluate(&mut self, first: usize, at: &Range<usize>, why: Evaluation) {
        self.evaluates = true;
        for mark in self.marks_in(first, at) {
            mark.place.evaluate(why);
        }
    }

    /// Reads something nested, with its own reason to be evaluated.
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

    /// How many bytes from here are of a name.
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
