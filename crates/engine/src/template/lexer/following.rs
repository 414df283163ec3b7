//! Where a value goes from where it stands, as far as the text shows it: into variables that are
//! evaluated, and to interpreters that read their programs. Asked when all of the text has been read,
//! because what counts may stand anywhere in it.

use std::collections::HashSet;
use std::ops::Range;

use super::{Evaluation, Form, Lexer, Mark, Quoting, Subject};

/// `name=value`, `for name in value`, `${name:=value}`.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    name: Range<usize>,
    value: Range<usize>,
    /// How many lists of commands stand around it.
    level: usize,
    is_followed: bool,
}

/// Where interpreters get their programs, where they don't have them as arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reading {
    Nothing,
    /// From their own pipe or redirection.
    OwnInput,
    /// From whatever the commands around them are given.
    WhateverComes,
}

impl Mark {
    /// The variable whose value is evaluated again here, if one is.
    fn evaluated_variable<'t>(&self, text: &'t str) -> Option<(&'t str, Evaluation)> {
        let Subject::Variable { name, form } = &self.subject else { return None };
        let why = match form {
            // In single quotes it is only a name, and whoever evaluates it gets the value.
            _ if self.place.quoting == Quoting::Single => None,
            Form::Measured => None,
            Form::Value | Form::Defaulted => self.place.evaluation,
            Form::Evaluated => self.place.evaluation.or(Some(Evaluation::VariableName)),
        };
        Some((&text[name.clone()], why?))
    }
}

impl Lexer<'_> {
    /// An assignment to a variable with attributes evaluates, wherever the declaration stands.
    pub(super) fn mark_attributed(&mut self) {
        if self.attributed.is_empty() && !self.declares_unseen {
            return;
        }
        let text = self.text;
        let attributed: HashSet<&str> =
            self.attributed.iter().map(|name| &text[name.clone()]).collect();
        let assigned = std::mem::take(&mut self.assigned);
        for Assignment { name, value, .. } in &assigned {
            if self.declares_unseen || attributed.contains(&text[name.clone()]) {
                self.evaluate(0, value, Evaluation::Declaration);
            }
        }
        self.assigned = assigned;
    }

    /// Whether a mark stands in an assigned value itself, not in what a command there is given.
    pub(super) fn keeps_marks(&self) -> bool {
        !self.marks.is_empty()
            && self.assigned.iter().any(|Assignment { value, level, .. }| {
                let from = self.marks.partition_point(|mark| mark.at.start < value.start);
                let within = self.marks[from..].iter().take_while(|mark| mark.at.start < value.end);
                within.into_iter().any(|mark| mark.level == *level)
            })
    }

    /// What is kept in a variable is evaluated where the variable is: `x=$title; eval "$x"`. What a
    /// command prints, reads or is called with isn't followed.
    pub(super) fn follow_assignments(&mut self) {
        let text = self.text;
        let mut assigned = std::mem::take(&mut self.assigned);
        assigned.sort_by_key(|assignment| &text[assignment.name.clone()]);
        let mut evaluated: Vec<(&str, Evaluation)> =
            self.marks.iter().filter_map(|mark| mark.evaluated_variable(text)).collect();
        while let Some((name, why)) = evaluated.pop() {
            let from = assigned.partition_point(|before| &text[before.name.clone()] < name);
            let of_name = assigned[from..].iter_mut();
            for assignment in of_name.take_while(|found| &text[found.name.clone()] == name) {
                // Each name once, so that this ends.
                if std::mem::replace(&mut assignment.is_followed, true) {
                    break;
                }
                for mark in self.marks_in(0, &assignment.value) {
                    if mark.level == assignment.level {
                        mark.place.evaluation.get_or_insert(why);
                        evaluated.extend(mark.evaluated_variable(text));
                    }
                }
            }
        }
    }

    /// Some command reads what stands at the marks since `first`.
    pub(super) fn feed(&mut self, first: usize) {
        if first < self.marks.len() {
            self.fed.push(first..self.marks.len());
        }
    }

    /// An interpreter may read its program from what the commands around it are given, and a function
    /// or an alias may be anything. Which of them meet is known only when they run.
    pub(super) fn mark_read_elsewhere(&mut self) {
        let reads = self.interpreters_read;
        let all = self.defines_functions && reads != Reading::Nothing
            || self.writes_to_commands && reads == Reading::WhateverComes;
        let marks = self.marks.len();
        if self.defines_aliases {
            self.evaluate_marks(0..marks, Evaluation::Eval);
        } else if all {
            self.evaluate_marks(0..marks, Evaluation::Program);
        } else if reads == Reading::WhateverComes {
            for marks in std::mem::take(&mut self.fed) {
                self.evaluate_marks(marks, Evaluation::Program);
            }
        }
    }

    fn evaluate_marks(&mut self, marks: Range<usize>, why: Evaluation) {
        self.evaluates = true;
        for mark in &mut self.marks[marks] {
            mark.place.evaluation.get_or_insert(why);
        }
    }

    pub(super) fn assign(&mut self, name: Range<usize>, value: Range<usize>) {
        self.assigned.push(Assignment { name, value, level: self.level, is_followed: false });
    }
}
