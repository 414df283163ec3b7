//! Where a value goes from its place, as far as the text shows it: into variables that are
//! evaluated, and to interpreters that read their programs. Computed after the whole text has been
//! read, because any part of it may matter.

use std::collections::HashMap;
use std::ops::Range;

use super::bare_names::{INTEGERS, NameSearch};
use super::{Evaluation, LexedMark, LookupForm, MarkSubject, Quoting, ShellLexer};

/// `name=value`, `for name in value`, `${name:=value}`.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    name: Range<usize>,
    value: Range<usize>,
    /// How many lists of commands enclose it.
    level: usize,
    followed: Option<Depth>,
}

/// A name declared with an attribute.
#[derive(Debug, Clone)]
pub(super) struct Attributed {
    name: Range<usize>,
    attribute: Attribute,
}

/// What makes an assignment evaluate; the one that evaluates most is last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attribute {
    /// The value may be a list with subscripts.
    Array,
    /// The value names another variable.
    Reference,
    /// The value is calculated.
    Integer,
}

/// How deep a value is evaluated, deepest last: a later one finds everything that an earlier one
/// finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Code,
    Name,
    Arithmetic,
}

impl Depth {
    fn from_evaluation(why: Evaluation) -> Self {
        match why {
            Evaluation::Eval | Evaluation::Trap | Evaluation::Program => Self::Code,
            Evaluation::VariableName => Self::Name,
            Evaluation::Arithmetic
            | Evaluation::NumericTest
            | Evaluation::Subscript
            | Evaluation::Let
            | Evaluation::Declaration => Self::Arithmetic,
        }
    }
}

/// Whether the shell calculates the value, and with it the variables that it names.
pub(super) fn is_arithmetic(why: Evaluation) -> bool {
    Depth::from_evaluation(why) == Depth::Arithmetic
}

/// How interpreters get programs that are not arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProgramSource {
    Nothing,
    /// From their own pipe or redirection.
    OwnInput,
    /// From any input of the commands around them.
    WhateverComes,
}

impl LexedMark {
    /// The variable whose value is evaluated again here, if there is one.
    fn evaluated_variable<'t>(&self, text: &'t str) -> Option<(&'t str, Evaluation)> {
        let MarkSubject::Variable { name, form } = &self.subject else { return None };
        let why = match form {
            // In single quotes it is only a name; the program that evaluates it gets the value.
            _ if self.place.quoting == Quoting::Single => None,
            LookupForm::Measured => None,
            LookupForm::Value | LookupForm::Defaulted | LookupForm::Bare => self.place.evaluation,
            LookupForm::Evaluated => self.place.evaluation.or(Some(Evaluation::VariableName)),
        };
        Some((&text[name.clone()], why?))
    }
}

impl ShellLexer<'_> {
    /// Marks assignments to variables with attributes as evaluated, wherever the declaration is.
    pub(super) fn mark_attributed(&mut self) {
        let text = self.text;
        let mut attributed: HashMap<&str, Attribute> = HashMap::new();
        for Attributed { name, attribute } in &self.attributed {
            let known = attributed.entry(&text[name.clone()]).or_insert(*attribute);
            *known = (*known).max(*attribute);
        }
        let assigned = std::mem::take(&mut self.assigned);
        for Assignment { name, value, .. } in &assigned {
            let name = &text[name.clone()];
            let by_bash = INTEGERS.contains(&name).then_some(Attribute::Integer);
            let declared = attributed.get(name).copied();
            let Some(attribute) = by_bash.max(declared).max(self.declares_unseen) else { continue };
            self.evaluate(0, value, Evaluation::Declaration);
            let (why, search) = match attribute {
                Attribute::Integer => (Evaluation::Declaration, NameSearch::Everywhere),
                Attribute::Reference => (Evaluation::Subscript, NameSearch::InBrackets),
                Attribute::Array => continue,
            };
            self.search_names(value.clone(), why, search);
        }
        self.assigned = assigned;
    }

    pub(super) fn attribute(&mut self, name: Range<usize>, attribute: Attribute) {
        self.attributed.push(Attributed { name, attribute });
    }

    /// Whether a mark is in an assigned value itself, not in the argument of a command there.
    pub(super) fn keeps_marks(&self) -> bool {
        !self.marks.is_empty()
            && self.assigned.iter().any(|Assignment { value, level, .. }| {
                let from = self.marks.partition_point(|mark| mark.at.start < value.start);
                let within = self.marks[from..].iter().take_while(|mark| mark.at.start < value.end);
                within.into_iter().any(|mark| mark.level == *level)
            })
    }

    /// A value in a variable is evaluated where the variable is: `x=$title; eval "$x"`. What a
    /// command prints, reads or gets as an argument isn't followed.
    pub(super) fn follow_assignments(&mut self) {
        let text = self.text;
        let mut assigned = std::mem::take(&mut self.assigned);
        assigned.sort_by_key(|assignment| &text[assignment.name.clone()]);
        let mut evaluated: Vec<(&str, Evaluation)> =
            self.marks.iter().filter_map(|mark| mark.evaluated_variable(text)).collect();
        let mut bare = Vec::new();
        while let Some((name, why)) = evaluated.pop() {
            let from = assigned.partition_point(|before| &text[before.name.clone()] < name);
            let of_name = assigned[from..].iter_mut();
            for assignment in of_name.take_while(|found| &text[found.name.clone()] == name) {
                // Each name once for each depth, so that this terminates.
                if assignment.followed >= Some(Depth::from_evaluation(why)) {
                    break;
                }
                assignment.followed = Some(Depth::from_evaluation(why));
                for mark in self.marks_in(0, &assignment.value) {
                    if mark.level == assignment.level {
                        mark.place.evaluate(why);
                        evaluated.extend(mark.evaluated_variable(text));
                    }
                }
                let Some(search) = NameSearch::for_reason(why) else { continue };
                let why = if is_arithmetic(why) { why } else { Evaluation::Subscript };
                for name in self.bare_names(assignment.value.clone(), search) {
                    evaluated.push((&text[name.clone()], why));
                    bare.push((name, why));
                }
            }
        }
        self.insert_marks(bare);
    }

    /// Notes that some command reads the marks since `first`.
    pub(super) fn feed(&mut self, first: usize) {
        if first < self.marks.len() {
            self.fed.push(first..self.marks.len());
        }
    }

    /// An interpreter may read its program from any input of the commands around it, and a function
    /// or an alias may be anything. Which of them meet is known only at run time.
    pub(super) fn mark_read_elsewhere(&mut self) {
        let reads = self.interpreters_read;
        let all = self.defines_functions && reads != ProgramSource::Nothing
            || self.writes_to_commands && reads == ProgramSource::WhateverComes;
        let marks = self.marks.len();
        if self.defines_aliases {
            self.evaluate_marks(0..marks, Evaluation::Eval);
        } else if all {
            self.evaluate_marks(0..marks, Evaluation::Program);
        } else if reads == ProgramSource::WhateverComes {
            for marks in std::mem::take(&mut self.fed) {
                self.evaluate_marks(marks, Evaluation::Program);
            }
        }
    }

    fn evaluate_marks(&mut self, marks: Range<usize>, why: Evaluation) {
        self.evaluates = true;
        for mark in &mut self.marks[marks] {
            mark.place.evaluate(why);
        }
    }

    pub(super) fn assign(&mut self, name: Range<usize>, value: Range<usize>) {
        self.assigned.push(Assignment { name, value, level: self.level, followed: None });
    }
}
