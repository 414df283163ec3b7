//! Variables that are named without a `$`.
//!
//! In arithmetic bash reads a word as a variable's name and evaluates the value again, including
//! the names in that value: `[[ n -eq 1 ]]`, `let n`, `declare -i m=n`, `unset 'a[n]'`. Quotes
//! change nothing about it. So the words at such places are searched for names as written.
//!
//! A place is noted when its command has been read ([`ShellLexer::search_names`]), and searched
//! after the whole text has been read: only then it is known what else it contains.

use std::ops::Range;

use super::following::is_arithmetic;
use super::{
    Evaluation, LexedMark, LookupForm, MarkSubject, Quoting, ShellLexer, ShellPlace, is_name_byte,
};

/// Variables that bash itself declares as integers: assigning evaluates.
pub(super) const INTEGERS: [&str; 8] =
    ["BASHPID", "EPOCHSECONDS", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

/// Which names of a text are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameSearch {
    /// All: the text is arithmetic.
    Everywhere,
    /// Those in brackets: the text names a variable, perhaps an element of an array.
    InBrackets,
}

impl NameSearch {
    /// Which names are evaluated in a value that is evaluated for this reason.
    pub(super) fn for_reason(why: Evaluation) -> Option<Self> {
        match why {
            _ if is_arithmetic(why) => Some(Self::Everywhere),
            Evaluation::VariableName => Some(Self::InBrackets),
            _ => None,
        }
    }
}

/// A part of the text that is searched for names at the end.
#[derive(Debug, Clone)]
pub(super) struct Searched {
    at: Range<usize>,
    why: Evaluation,
    search: NameSearch,
}

impl ShellLexer<'_> {
    /// Notes that the names in `at` are evaluated.
    pub(super) fn search_names(&mut self, at: Range<usize>, why: Evaluation, search: NameSearch) {
        self.evaluates = true;
        self.searched.push(Searched { at, why, search });
    }

    /// The same for words of the current command.
    pub(super) fn search_words(
        &mut self,
        words: Range<usize>,
        why: Evaluation,
        search: NameSearch,
    ) {
        if let (Some(first), Some(last)) =
            (self.words.get(words.start), self.words.get(words.end.wrapping_sub(1)))
        {
            self.search_names(first.at.start..last.at.end, why, search);
        }
    }

    /// Notes a substitution. Its output is not followed, so its text is not searched.
    pub(super) fn note_substitution(&mut self, start: usize) {
        self.substitutions.push(start..self.pos);
    }

    /// Marks the names in all noted places.
    pub(super) fn mark_bare_names(&mut self) {
        self.substitutions.sort_by_key(|at| (at.start, std::cmp::Reverse(at.end)));
        let mut found = Vec::new();
        for Searched { at, why, search } in std::mem::take(&mut self.searched) {
            let names = self.bare_names(at, search);
            found.extend(names.into_iter().map(|name| (name, why)));
        }
        self.insert_marks(found);
    }

    /// The names without a `$` in this part of the text, except given ranges and names already
    /// marked.
    pub(super) fn bare_names(&self, within: Range<usize>, search: NameSearch) -> Vec<Range<usize>> {
        let mut names = Vec::new();
        let mut substitutions = {
            let first = self.substitutions.partition_point(|at| at.start < within.start);
            self.substitutions[first..].iter().peekable()
        };
        let mut brackets = 0_usize;
        let mut at = within.start;
        while at < within.end {
            while substitutions.next_if(|found| found.start < at).is_some() {}
            if let Some(found) = substitutions.next_if(|found| found.start == at) {
                at = found.end;
                continue;
            }
            match self.bytes[at] {
                b'$' => at = self.after_variable(at),
                b'[' => {
                    brackets += 1;
                    at += 1;
                }
                b']' => {
                    brackets = brackets.saturating_sub(1);
                    at += 1;
                }
                byte if is_name_byte(byte) => {
                    let length = self.word_len(at);
                    let is_searched = search == NameSearch::Everywhere || brackets > 0;
                    let name = at..at + length;
                    at += length;
                    if !byte.is_ascii_digit() && is_searched && !self.is_marked(name.start) {
                        names.push(name);
                    }
                }
                _ => at += 1,
            }
        }
        names
    }

    /// The end of the name in `$x` or `${x`, including `${#x}` and the path of `${x.y}`.
    fn after_variable(&self, dollar: usize) -> usize {
        let mut at = dollar + 1;
        let is_braced = self.bytes.get(at) == Some(&b'{');
        if is_braced {
            at += 1;
            at += usize::from(matches!(self.bytes.get(at), Some(b'#' | b'!')));
        }
        at += self.word_len(at);
        if is_braced && self.bytes.get(at) == Some(&b'.') {
            let path = &self.bytes[at..];
            at +=
                path.iter().take_while(|byte| is_name_byte(**byte) || b".-".contains(byte)).count();
        }
        at
    }

    fn word_len(&self, from: usize) -> usize {
        self.bytes[from..].iter().take_while(|byte| is_name_byte(**byte)).count()
    }

    fn is_marked(&self, at: usize) -> bool {
        let after = self.marks.partition_point(|mark| mark.at.start <= at);
        after.checked_sub(1).is_some_and(|before| self.marks[before].at.end > at)
    }

    /// Adds marks for names, in the order of the text, each name once.
    pub(super) fn insert_marks(&mut self, found: Vec<(Range<usize>, Evaluation)>) {
        if found.is_empty() {
            return;
        }
        for (name, why) in found {
            let place = ShellPlace {
                quoting: Quoting::Bare,
                evaluation: Some(why),
                splits: false,
                names_command: false,
                in_default: false,
                evaluated_as_words: None,
                is_target: false,
            };
            let subject = MarkSubject::Variable { name: name.clone(), form: LookupForm::Bare };
            // Level 0: a place that is already evaluated is not followed further.
            self.marks.push(LexedMark { at: name, subject, place, is_foreign: false, level: 0 });
        }
        self.marks.sort_by_key(|mark| mark.at.start);
        self.marks.dedup_by(|next, before| next.at == before.at);
    }
}
