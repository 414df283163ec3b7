//! Where a value goes from where it stands, as far as the text shows it: into variables that are
//! evaluated, and to interpreters that read their programs. Asked when all of the text has been read,
//! because what counts may stand anywhere in it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Evaluation, Form, Lexer, Mark, Quoting, Subject};

/// `name=value`, `for name in value`, `${name:=value}`.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    name: Range<usize>,
    value: Range<usize>,
    /// How many lists of commands stand around it.
    level: usize,
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

    /// What is kept in a variable is evaluated where the variable is: `x=$title; eval "$x"`. What a
    /// command prints, reads or is called with isn't followed. Whether there is a mark in an
    /// assigned value at all.
    pub(super) fn follow_assignments(&mut self) -> bool {
        let text = self.text;
        let mut values: HashMap<&str, Vec<Assignment>> = HashMap::new();
        for assignment in std::mem::take(&mut self.assigned) {
            if !self.marks_in(0, &assignment.value).is_empty() {
                values.entry(&text[assignment.name.clone()]).or_default().push(assignment);
            }
        }
        let keeps_marks = !values.is_empty();
        if !keeps_marks || !self.wants_variables {
            return keeps_marks;
        }
        let mut evaluated: Vec<(&str, Evaluation)> =
            self.marks.iter().filter_map(|mark| mark.evaluated_variable(text)).collect();
        while let Some((name, why)) = evaluated.pop() {
            // Each name once, so that this ends.
            for Assignment { value, level, .. } in values.remove(name).unwrap_or_default() {
                for mark in self.marks_in(0, &value).iter_mut().filter(|mark| mark.level == level) {
                    mark.place.evaluation.get_or_insert(why);
                    evaluated.extend(mark.evaluated_variable(text));
                }
            }
        }
        keeps_marks
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
        for mark in &mut self.marks[marks] {
            mark.place.evaluation.get_or_insert(why);
        }
    }

    pub(super) fn assign(&mut self, name: Range<usize>, value: Range<usize>) {
        self.assigned.push(Assignment { name, value, level: self.level });
    }
}
