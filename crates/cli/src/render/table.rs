//! Aligned plain columns.

use std::fmt;

use super::{visible, width};

/// Rows of columns, each as wide as its widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    /// On a terminal.
    columns: usize,
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
        let shown = |cell: S| {
            let mut text = visible(cell.as_ref()).into_owned();
            if text.contains(['\n', '\t']) {
                text = text.replace(['\n', '\t'], " ");
            }
            let columns = match text.is_ascii() {
                true => text.len(),
                false => text.chars().map(width).sum(),
            };
            Cell { text, columns }
        };
        self.rows.push(cells.into_iter().map(shown).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widest: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                match widest.get_mut(at) {
                    Some(most) => *most = cell.columns.max(*most),
                    None => widest.push(cell.columns),
                }
            }
        }
        for row in &self.rows {
            // Nothing stands behind the last word of a line.
            let mut blanks = 0;
            for (cell, most) in row.iter().zip(&widest) {
                let text = cell.text.trim_end();
                if !text.is_empty() {
                    write!(f, "{:blanks$}{text}", "")?;
                    blanks = cell.text.len() - text.len();
                } else {
                    blanks += cell.text.len();
                }
                blanks += most - cell.columns + 2;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
