//! Aligned plain columns.

use std::fmt;

use super::{visible, width};

/// Rows of columns, each as wide as its widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose first row are these words.
    pub(crate) fn with_headings(headings: &[&str]) -> Self {
        let mut table = Self::default();
        table.row(headings.iter().copied());
        table
    }

    /// Adds a row.
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let shown = |cell: S| visible(cell.as_ref()).replace(['\n', '\t'], " ");
        self.rows.push(cells.into_iter().map(shown).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = |text: &str| text.chars().map(width).sum::<usize>();
        let mut widest: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                match widest.get_mut(at) {
                    Some(most) => *most = columns(cell).max(*most),
                    None => widest.push(columns(cell)),
                }
            }
        }
        for row in &self.rows {
            let mut line = String::new();
            for (cell, most) in row.iter().zip(&widest) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', most - columns(cell) + 2));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
