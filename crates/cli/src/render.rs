//! What people read.
//!
//! Text that others wrote (ids, commands, file names, output) never reaches a terminal raw: it goes
//! through [`visible`] or [`one_line`]. [`Table`] and [`faults`] do that themselves.

pub(crate) mod faults;
pub(crate) mod human;
mod paint;
pub(crate) mod session;
mod table;
mod visible;

pub(crate) use paint::Paint;
pub(crate) use table::Table;
pub(crate) use visible::{escaped, one_line, visible, width};

/// `1 hook`, `2 hooks`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
