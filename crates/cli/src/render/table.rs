//! Aligned plain columns.

use std::fmt;

use super::{Paint, visible, width};

/// Rows of columns, each as wide as its widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
    has_headings: bool,
    /// The column whose words say how something ended.
    outcomes: Option<usize>,
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
        let mut table = Self { has_headings: true, ..Self::default() };
        table.row(headings.iter().copied());
        table
    }

    /// The same table, whose words in this column, from 0, are painted by what they mean.
    pub(crate) fn with_outcomes_in(self, column: usize) -> Self {
        Self { outcomes: Some(column), ..self }
    }

    /// A cell's text as it is painted.
    fn painted(&self, row: usize, column: usize, text: &str) -> String {
        let paint = Paint::of_results();
        match (row, column) {
            (0, _) if self.has_headings => paint.strong(text),
            (_, column) if self.outcomes == Some(column) => paint.outcome(text),
            _ => text.to_owned(),
        }
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
        for (number, row) in self.rows.iter().enumerate() {
            // Nothing stands behind the last word of a line.
            let mut blanks = 0;
            for (column, (cell, most)) in row.iter().zip(&widest).enumerate() {
                let text = cell.text.trim_end();
                if !text.is_empty() {
                    write!(f, "{:blanks$}{}", "", self.painted(number, column, text))?;
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
