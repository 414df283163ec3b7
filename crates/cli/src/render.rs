//! Text about hooks, sessions and their timelines. [`Table`] shows foreign text only through
//! `crate::text`.

mod agent_lines;
pub(crate) mod human;
pub(crate) mod journal_line;
pub(crate) mod session;
pub(crate) mod session_table;
mod session_wait;
pub(crate) mod table;
pub(crate) mod timeline;
pub(crate) mod yaml;

use hookwright_config::limits::ITERATIONS_MAX;

use crate::text::count;

pub(crate) use table::Table;

/// The maximum number of a stage's iterations. A folder of issues has its own bound.
pub(crate) fn at_most(iterations: u32) -> String {
    match iterations {
        ITERATIONS_MAX.. => "until the work is done".to_owned(),
        most => format!("at most {}", count(most as usize, "iteration")),
    }
}
