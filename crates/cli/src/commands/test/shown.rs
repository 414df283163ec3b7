//! Prints the results of a run, for people and programs.

use std::fmt::Write as _;

use hookwright_config::test_file::TestCase;
use hookwright_events::{Report, Status};
use serde_json::{Value, json};

use super::case_run::{CaseResult, StepResult};
use super::comparison::Difference;
use super::line_diff::DiffLine;
use crate::render::human;
use crate::text::{Paint, count, one_line, visible};

/// The indentation of details about a failed case.
const INDENT: &str = "          ";

/// Lines of one difference that are shown.
const DIFF_LINES_MAX: usize = 40;

/// Lines of a hook's standard error that are shown.
const STDERR_LINES_MAX: usize = 20;

/// Characters of one line that are shown.
const LINE_CHARS_MAX: usize = 200;

/// One line, and the failures below it.
pub(super) fn case(case: &TestCase, result: &CaseResult, with_time: bool) -> String {
    let name = one_line(&case.name, LINE_CHARS_MAX);
    let took = human::duration(result.duration.as_secs_f64() * 1000.0);
    let took = if with_time { format!("  {took}") } else { String::new() };
    if result.passed() {
        return format!("  {}  {name}{took}\n", Paint::of_results().outcome("ok    "));
    }
    let failed = Paint::of_results().outcome("FAILED");
    let mut text = format!("  {failed}  {name} (line {}){took}\n", case.line);
    for (number, step) in result.steps.iter().enumerate() {
        if !step.differences.is_empty() {
            if case.steps.len() > 1 {
                let event = &step.fired.event.name;
                let _ = writeln!(text, "{INDENT}step {}, {event} (line {})", number + 1, step.line);
            }
            text.push_str(&failed_step(step));
        }
    }
    if let Some(problem) = &result.problem {
        for line in problem.lines().filter(|line| !line.trim().is_empty()) {
            let _ = writeln!(text, "{INDENT}{}", clipped(line));
        }
    }
    text
}

fn failed_step(step: &StepResult) -> String {
    let mut text: String = step.differences.iter().map(difference).collect();
    for report in &step.fired.reports {
        text.push_str(&hook(report));
    }
    text
}

fn difference(difference: &Difference) -> String {
    let mut text = format!("{INDENT}{}\n", clipped(&difference.what));
    let mut lines = Vec::new();
    for line in &difference.lines {
        let (mark, words) = match line {
            DiffLine::Both(words) => (' ', words),
            DiffLine::Expected(words) => ('-', words),
            DiffLine::Came(words) => ('+', words),
        };
        lines.extend(words.lines().map(|line| format!("{INDENT}{mark} {}", clipped(line))));
    }
    for line in lines.iter().take(DIFF_LINES_MAX) {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if lines.len() > DIFF_LINES_MAX {
        let more = lines.len() - DIFF_LINES_MAX;
        let _ = writeln!(text, "{INDENT}… {} more; all of it with --json", count(more, "line"));
    }
    text
}

/// How a hook ended, why, and its messages.
fn hook(report: &Report) -> String {
    let status = report.status.as_str().replace('_', " ");
    let mut text = format!("{INDENT}hook {}: {status}", visible(&report.id));
    match (report.status, &report.reason) {
        (Status::Success | Status::Started, _) | (_, None) => {}
        (_, Some(reason)) => {
            let _ = write!(text, ", {}", one_line(reason, LINE_CHARS_MAX));
        }
    }
    text.push('\n');
    let lines: Vec<&str> = report.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in &lines[lines.len().saturating_sub(STDERR_LINES_MAX)..] {
        let _ = writeln!(text, "{INDENT}  | {}", clipped(line));
    }
    text
}

/// A line with control characters escaped, shortened.
fn clipped(line: &str) -> String {
    let mut clipped: String = line.chars().take(LINE_CHARS_MAX).collect();
    if clipped.len() < line.len() {
        clipped.push('…');
    }
    visible(&clipped).into_owned()
}

/// `3 cases: 2 passed, 1 failed`.
pub(super) fn summary(passed: usize, failed: usize) -> String {
    let cases = count(passed + failed, "case");
    match failed {
        0 => format!("{cases}: {passed} passed\n"),
        _ => format!("{cases}: {passed} passed, {failed} failed (- expected, + came)\n"),
    }
}

/// A case as JSON.
pub(super) fn case_json(file: &str, case: &TestCase, result: Option<&CaseResult>) -> Value {
    let mut value = json!({ "file": file, "line": case.line, "name": case.name });
    let Some(result) = result else { return value };
    value["passed"] = json!(result.passed());
    value["duration_ms"] = json!(result.duration.as_secs_f64() * 1000.0);
    value["problem"] = json!(result.problem);
    value["steps"] = result.steps.iter().map(step_json).collect();
    value
}

fn step_json(step: &StepResult) -> Value {
    json!({
        "line": step.line,
        "event": step.fired.event.name,
        "differences": step.differences.iter().map(difference_json).collect::<Vec<_>>(),
        "fired": step.fired.record(),
    })
}

fn difference_json(difference: &Difference) -> Value {
    let (mut expected, mut came) = (Vec::new(), Vec::new());
    for line in &difference.lines {
        match line {
            DiffLine::Both(line) => {
                expected.push(line);
                came.push(line);
            }
            DiffLine::Expected(line) => expected.push(line),
            DiffLine::Came(line) => came.push(line),
        }
    }
    json!({ "what": difference.what, "expected": expected, "came": came })
}
