//! Aligned plain columns.

use std::fmt;

use crate::text::columns::wrapped;
use crate::text::{Paint, visible, width};

/// Between two columns.
const GAP: usize = 2;

/// The indentation of cells in a stacked row, which is too wide for columns.
const INDENT: usize = 4;

/// Rows of columns; each column is as wide as its widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
    has_headings: bool,
    /// The column with status words.
    outcomes: Option<usize>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    /// Width on a terminal.
    columns: usize,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn with_headings(headings: &[&str]) -> Self {
        let mut table = Self { has_headings: true, ..Self::default() };
        table.row(headings.iter().copied());
        table
    }

    /// Colours the words of this column, from 0, by their meaning.
    pub(crate) fn with_outcomes_in(self, column: usize) -> Self {
        Self { outcomes: Some(column), ..self }
    }

    /// The table within this width, if there is one: long cells are wrapped, and if even that is
    /// too wide, the cells of a row are stacked.
    pub(crate) fn fitted(&self, columns_max: Option<usize>) -> String {
        let mut widths = self.widest();
        let total =
            |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let Some(columns_max) = columns_max.filter(|max| total(&widths) > *max) else {
            return self.to_string();
        };
        let least = self.longest_words();
        while total(&widths) > columns_max {
            let can_shrink = |column: &usize| widths[*column] > least[*column];
            let widest = (0..widths.len()).filter(can_shrink).max_by_key(|column| widths[*column]);
            match widest {
                Some(widest) => widths[widest] -= 1,
                None => return self.stacked(columns_max),
            }
        }
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&widths).map(|(cell, width)| wrapped(&cell.text, *width)).collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0).max(1) {
                let mut blanks = 0;
                for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                    let part = cell.get(line).map_or("", String::as_str);
                    if !part.is_empty() {
                        let painted = self.painted(number, column, part);
                        text.push_str(&format!("{:blanks$}{painted}", ""));
                        blanks = 0;
                    }
                    blanks += width - crate::text::columns::columns(part) + GAP;
                }
                text.push('\n');
            }
        }
        text
    }

    /// Each row as lines: its first cell, and the others below it with their headings.
    fn stacked(&self, columns_max: usize) -> String {
        let headings = self.rows.first().filter(|_| self.has_headings);
        let widest = headings.iter().flat_map(|row| row.iter()).map(|cell| cell.columns).max();
        let label_width = widest.unwrap_or(0);
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate().skip(usize::from(self.has_headings)) {
            for (column, cell) in row.iter().enumerate() {
                if column == 0 {
                    for line in wrapped(&cell.text, columns_max) {
                        text.push_str(&self.painted(number, column, &line));
                        text.push('\n');
                    }
                    continue;
                }
                let label = headings.and_then(|row| row.get(column)).map_or("", |cell| &cell.text);
                let room = columns_max.saturating_sub(INDENT + label_width + GAP).max(1);
                let lines = wrapped(&cell.text, room).into_iter().filter(|line| !line.is_empty());
                for (at, line) in lines.enumerate() {
                    let label = if at == 0 { label } else { "" };
                    let line = self.painted(number, column, &line);
                    let label = format!("{:INDENT$}{label:label_width$}{:GAP$}", "", "");
                    text.push_str(&format!("{label}{line}\n"));
                }
            }
        }
        text
    }

    /// The width of the widest cell of each column.
    fn widest(&self) -> Vec<usize> {
        self.of_columns(|cell| cell.columns)
    }

    /// The width of the longest word of each column: its minimum.
    fn longest_words(&self) -> Vec<usize> {
        self.of_columns(|cell| {
            cell.text.split(' ').map(crate::text::columns::columns).max().unwrap_or_default()
        })
    }

    fn of_columns(&self, of_cell: impl Fn(&Cell) -> usize) -> Vec<usize> {
        let mut most: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                match most.get_mut(at) {
                    Some(most) => *most = of_cell(cell).max(*most),
                    None => most.push(of_cell(cell)),
                }
            }
        }
        most
    }

    /// A cell's text with colour.
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
        let widest = self.widest();
        for (number, row) in self.rows.iter().enumerate() {
            // No spaces at the end of a line.
            let mut blanks = 0;
            for (column, (cell, most)) in row.iter().zip(&widest).enumerate() {
                let text = cell.text.trim_end();
                if !text.is_empty() {
                    write!(f, "{:blanks$}{}", "", self.painted(number, column, text))?;
                    blanks = cell.text.len() - text.len();
                } else {
                    blanks += cell.text.len();
                }
                blanks += most - cell.columns + GAP;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::with_headings(&["event", "aliases", "when"]);
        table.row(["session:end", "on_session_complete, SessionEnd", "the session has ended"]);
        table.row(["user:interrupt", "", "the user has interrupted"]);
        table
    }

    #[test]
    fn a_table_that_fits_is_unchanged() {
        for columns_max in [None, Some(73), Some(200)] {
            assert_eq!(table().fitted(columns_max), table().to_string());
        }
    }

    #[test]
    fn long_cells_take_several_lines() {
        assert_eq!(
            table().fitted(Some(56)),
            "event           aliases               when
session:end     on_session_complete,  the session has
                SessionEnd            ended
user:interrupt                        the user has
                                      interrupted
"
        );
    }

    #[test]
    fn cells_are_stacked_if_words_would_have_to_be_split() {
        assert_eq!(
            table().fitted(Some(40)),
            "session:end
    aliases  on_session_complete,
             SessionEnd
    when     the session has ended
user:interrupt
    when     the user has interrupted
"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_bound_that_its_words_allow() {
        for columns_max in 34..100 {
            for line in table().fitted(Some(columns_max)).lines() {
                assert!(
                    crate::text::columns::columns(line) <= columns_max,
                    "{columns_max}: {line}"
                );
            }
        }
    }
}
