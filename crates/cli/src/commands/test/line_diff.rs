//! Line differences of two lists.

/// With more pairs than this, finding the shortest difference takes too long.
const PAIRS_MAX: usize = 1_000_000;

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiffLine {
    /// Expected and found.
    Both(String),
    /// Expected but not found.
    Expected(String),
    /// Found but not expected.
    Came(String),
}

/// The difference with the most common lines, which are shown as expected.
pub(super) fn line_diff<E, C>(
    expected: &[E],
    came: &[C],
    fits: impl Fn(&E, &C) -> bool,
    show_expected: impl Fn(&E) -> String,
    show_came: impl Fn(&C) -> String,
) -> Vec<DiffLine> {
    let (rows, columns) = (expected.len(), came.len());
    let in_common = (rows.saturating_mul(columns) <= PAIRS_MAX)
        .then(|| longest_in_common(expected, came, &fits));
    // Whether the next expected line comes before the next actual one.
    let expected_first = |row: usize, column: usize| {
        in_common.as_ref().is_none_or(|table| table[row + 1][column] >= table[row][column + 1])
    };
    let (mut row, mut column) = (0, 0);
    let mut lines = Vec::new();
    while row < rows || column < columns {
        let both_left = row < rows && column < columns;
        if both_left && in_common.is_some() && fits(&expected[row], &came[column]) {
            lines.push(DiffLine::Both(show_expected(&expected[row])));
            (row, column) = (row + 1, column + 1);
        } else if row < rows && (column == columns || expected_first(row, column)) {
            lines.push(DiffLine::Expected(show_expected(&expected[row])));
            row += 1;
        } else {
            lines.push(DiffLine::Came(show_came(&came[column])));
            column += 1;
        }
    }
    lines
}

/// For every pair of remainders: the length of their longest common part.
fn longest_in_common<E, C>(
    expected: &[E],
    came: &[C],
    fits: &impl Fn(&E, &C) -> bool,
) -> Vec<Vec<u32>> {
    let mut table = vec![vec![0; came.len() + 1]; expected.len() + 1];
    for row in (0..expected.len()).rev() {
        for column in (0..came.len()).rev() {
            table[row][column] = if fits(&expected[row], &came[column]) {
                table[row + 1][column + 1] + 1
            } else {
                table[row + 1][column].max(table[row][column + 1])
            };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(expected: &str, came: &str) -> String {
        let (expected, came): (Vec<char>, Vec<char>) =
            (expected.chars().collect(), came.chars().collect());
        let lines = line_diff(&expected, &came, |a, b| a == b, char::to_string, char::to_string);
        let draw = |line| match line {
            DiffLine::Both(text) => format!(" {text}"),
            DiffLine::Expected(text) => format!("-{text}"),
            DiffLine::Came(text) => format!("+{text}"),
        };
        lines.into_iter().map(draw).collect()
    }

    #[test]
    fn common_lines_appear_once_with_the_rest_around_them() {
        assert_eq!(drawn("abc", "abc"), " a b c");
        assert_eq!(drawn("abc", "axc"), " a-b+x c");
        assert_eq!(drawn("ab", "b"), "-a b");
        assert_eq!(drawn("b", "ab"), "+a b");
        assert_eq!(drawn("", "ab"), "+a+b");
        assert_eq!(drawn("ab", ""), "-a-b");
    }

    #[test]
    fn what_is_too_long_to_compare_is_shown_whole() {
        let long = "a".repeat(1_001);
        let drawn = drawn(&long, &long);
        assert_eq!(drawn, format!("{}{}", "-a".repeat(1_001), "+a".repeat(1_001)));
    }
}
