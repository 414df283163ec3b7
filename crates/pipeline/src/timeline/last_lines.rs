//! The last lines of a hook's output, which show why it failed.
//!
//! The journal has a hook's output once, with the end of each attempt. The report that follows is
//! written without it.

use std::collections::BTreeMap;

use hookwright_events::{Outcome, Output, Report, Status};

use crate::limits::{HOOK_LINE_CHARS_MAX, HOOK_LINES_MAX, UNDER_WAY_MAX};

/// The last output of hooks whose reports are not known yet, by firing and hook.
#[derive(Debug, Clone, Default)]
pub(super) struct PrintedLines(BTreeMap<(u64, String), Vec<String>>);

impl PrintedLines {
    /// Notes the end of an attempt; the last one counts.
    pub(super) fn see(&mut self, firing: u64, hook: &str, outcome: &Outcome) {
        let lines = outcome.output().map(last_lines).unwrap_or_default();
        self.0.insert((firing, hook.to_owned()), lines);
        if self.0.len() > UNDER_WAY_MAX {
            self.0.pop_first();
        }
    }

    /// The last output of a hook that did not succeed, unless the reason says the same.
    pub(super) fn take(&mut self, firing: u64, report: &Report) -> Vec<String> {
        let lines = self.0.remove(&(firing, report.id.clone())).unwrap_or_default();
        let is_shown = match report.status {
            Status::Success | Status::Skipped | Status::Started => false,
            Status::Blocked | Status::Failed | Status::TimedOut => !report.hides_output,
        };
        let reason = report.reason.as_deref().unwrap_or_default().trim_end();
        match is_shown && !reason.ends_with(&lines.join("\n")) {
            true => lines,
            false => Vec::new(),
        }
    }
}

/// The last lines that are not blank: of standard output, then of standard error.
fn last_lines(output: &Output) -> Vec<String> {
    let newest_first = output.stderr.lines().rev().chain(output.stdout.lines().rev());
    let told = newest_first.map(str::trim_end).filter(|line| !line.is_empty());
    let mut lines: Vec<String> = told.take(HOOK_LINES_MAX).map(shortened).collect();
    lines.reverse();
    lines
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(HOOK_LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_standard_error_follow_those_of_standard_output() {
        let many: String = (1..=20).map(|number| format!("{number}\n\n")).collect();
        let long = "é".repeat(HOOK_LINE_CHARS_MAX + 1);
        for (stdout, stderr, expected) in [
            ("", "", vec![]),
            ("out  \n \n", "\nerr", vec!["out".to_owned(), "err".to_owned()]),
            (&*many, "", (11..=20).map(|number| number.to_string()).collect()),
            (
                "out",
                &*long,
                vec!["out".to_owned(), format!("{}…", "é".repeat(HOOK_LINE_CHARS_MAX))],
            ),
        ] {
            let (stdout, stderr) = (stdout.to_owned(), stderr.to_owned());
            assert_eq!(last_lines(&Output { stdout, stderr, ..Output::default() }), expected);
        }
    }
}
