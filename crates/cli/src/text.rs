//! Texts that commands show.
//!
//! Foreign text (ids, commands, file names, output) never reaches a terminal raw: it goes through
//! [`visible()`] or [`one_line`].

pub(crate) mod columns;
mod local_time;
mod paint;
mod visible;

pub(crate) use local_time::{local, local_to_the_millisecond};
pub(crate) use paint::{ColorChoice, Paint, help};
pub(crate) use visible::{escaped, one_line, visible, visible_path, width};

/// `1 hook`, `2 hooks`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
