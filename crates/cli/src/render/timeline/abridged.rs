//! [`Abridged`]: a long list of which the first and last items and those with problems are shown.
//!
//! Only the last ones are held back, so memory stays bounded however long the list is.

use std::collections::VecDeque;

/// Items shown at the beginning.
const FIRST_SHOWN: usize = 3;

/// Items shown at the end.
const LAST_SHOWN: usize = 5;

/// Items with problems shown between them.
const TROUBLE_SHOWN_MAX: usize = 10;

/// Decides as items come.
#[derive(Debug)]
pub(super) struct Abridged<T> {
    first: usize,
    troubles: usize,
    held_back: VecDeque<(T, bool)>,
    /// Items left out since the last one that was shown.
    gap: usize,
    /// All items left out.
    pub(super) left_out: usize,
}

/// What to show now.
#[derive(Debug, PartialEq)]
pub(super) enum AbridgedEntry<T> {
    One(T),
    /// This many are left out here.
    Gap(usize),
}

impl<T> Default for Abridged<T> {
    fn default() -> Self {
        Self { first: 0, troubles: 0, held_back: VecDeque::new(), gap: 0, left_out: 0 }
    }
}

impl<T> Abridged<T> {
    /// Adds the next item.
    pub(super) fn push(&mut self, one: T, is_trouble: bool) -> Vec<AbridgedEntry<T>> {
        if self.first < FIRST_SHOWN {
            self.first += 1;
            return vec![AbridgedEntry::One(one)];
        }
        self.held_back.push_back((one, is_trouble));
        if self.held_back.len() <= LAST_SHOWN {
            return Vec::new();
        }
        match self.held_back.pop_front() {
            Some((trouble, true)) if self.troubles < TROUBLE_SHOWN_MAX => {
                self.troubles += 1;
                self.take_gap().into_iter().chain([AbridgedEntry::One(trouble)]).collect()
            }
            Some(_) => {
                self.gap += 1;
                self.left_out += 1;
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// The items that were held back, now that they are the last.
    pub(super) fn flush(&mut self) -> Vec<AbridgedEntry<T>> {
        let gap = self.take_gap();
        let held_back = std::mem::take(&mut self.held_back).into_iter();
        gap.into_iter().chain(held_back.map(|(one, _)| AbridgedEntry::One(one))).collect()
    }

    /// Begins another list.
    pub(super) fn begin(&mut self) {
        (self.first, self.troubles) = (0, 0);
    }

    fn take_gap(&mut self) -> Option<AbridgedEntry<T>> {
        match std::mem::take(&mut self.gap) {
            0 => None,
            number => Some(AbridgedEntry::Gap(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_the_last_and_the_troubled_ones_are_shown() {
        let mut list = Abridged::default();
        let mut shown: Vec<AbridgedEntry<u32>> =
            (1..=30).flat_map(|number| list.push(number, number == 15)).collect();
        shown.extend(list.flush());
        let expected =
            [1, 2, 3].map(AbridgedEntry::One).into_iter().chain([AbridgedEntry::Gap(11)]);
        let expected = expected.chain([AbridgedEntry::One(15), AbridgedEntry::Gap(10)]);
        let expected: Vec<AbridgedEntry<u32>> =
            expected.chain((26..=30).map(AbridgedEntry::One)).collect();
        assert_eq!(shown, expected);
        assert_eq!(list.left_out, 21);
    }
}
