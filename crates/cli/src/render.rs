//! What people read.
//!
//! Text that others wrote (ids, commands, file names, output) never reaches a terminal raw: it goes
//! through [`visible`] or [`one_line`]. [`Table`] and [`faults`] do that themselves.

mod agent_lines;
pub(crate) mod columns;
pub(crate) mod faults;
pub(crate) mod human;
pub(crate) mod journal_line;
mod paint;
pub(crate) mod session;
pub(crate) mod session_table;
pub(crate) mod table;
pub(crate) mod timeline;
mod visible;
pub(crate) mod yaml;

pub(crate) use paint::Paint;
pub(crate) use table::Table;
pub(crate) use visible::{escaped, one_line, visible, width};

/// `1 hook`, `2 hooks`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
