//! What people read.
//!
//! Text that others wrote (ids, commands, file names, output) never reaches a terminal raw: it goes
//! through [`visible()`] or [`one_line`]. [`Table`] and [`faults`] do that themselves.

mod agent_lines;
pub(crate) mod columns;
pub(crate) mod faults;
pub(crate) mod human;
pub(crate) mod journal_line;
mod local_time;
mod paint;
pub(crate) mod session;
pub(crate) mod session_table;
mod session_wait;
pub(crate) mod table;
pub(crate) mod timeline;
mod visible;
pub(crate) mod yaml;

use hookwright_config::limits::ITERATIONS_MAX;

pub(crate) use local_time::{local, local_to_the_millisecond};
pub(crate) use paint::{ColorChoice, Paint, help};
pub(crate) use table::Table;
pub(crate) use visible::{escaped, one_line, visible, visible_path, width};

/// How many iterations a stage may have. A folder of issues bounds itself.
pub(crate) fn at_most(iterations: u32) -> String {
    match iterations {
        ITERATIONS_MAX.. => "until the work is done".to_owned(),
        most => format!("at most {}", count(most as usize, "iteration")),
    }
}

/// `1 hook`, `2 hooks`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
