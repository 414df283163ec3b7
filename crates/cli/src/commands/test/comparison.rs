//! Compares expected and actual results. Pure: nothing is read, run or printed here.

use std::path::PathBuf;

use hookwright_config::test_file::{
    ExpectedResult, FileChange, WantedFile, WantedHook, WantedText, decision_of,
};
use hookwright_events::{Decision, Report, Status, Verdict};
use serde_json::Value;

use super::line_diff::{DiffLine, line_diff};

/// Actual result of an event.
pub(super) struct Came<'a> {
    pub(super) decision: &'a Decision,
    /// Every hook's report, in running order.
    pub(super) reports: &'a [Report],
    /// The changed files, by path.
    pub(super) touched: &'a [TouchedFile],
}

/// A file that was created, changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TouchedFile {
    pub(super) path: PathBuf,
    pub(super) touch: FileChange,
    /// Its current content, if an expectation needs it.
    pub(super) content: Option<String>,
}

/// A difference between the expected and the actual result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// `decision`, `reason`, `content of a.txt`…
    pub(super) what: String,
    pub(super) lines: Vec<DiffLine>,
}

/// All differences.
pub(super) fn differences(expected: &ExpectedResult, came: &Came<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    let verdict = &came.decision.verdict;
    let mut note = |what: &str, lines: Option<Vec<DiffLine>>| {
        found.extend(lines.map(|lines| Difference { what: what.to_owned(), lines }));
    };
    note("decision", expected.decision.and_then(|wanted| word(wanted, decision_of(verdict))));
    note("reason", expected.reason.as_ref().and_then(|wanted| text(wanted, reason_of(verdict))));
    let contexts = &came.decision.additional_context;
    note("contexts", expected.contexts.as_ref().and_then(|wanted| texts(wanted, contexts)));
    let messages = &came.decision.system_messages;
    note("messages", expected.messages.as_ref().and_then(|wanted| texts(wanted, messages)));
    let input = verdict.rewritten_input();
    note("updated_input", expected.updated_input.as_ref().and_then(|wanted| json(wanted, input)));
    let output = came.decision.updated_output.as_ref();
    note("updated_output", expected.updated_output.as_ref().and_then(|v| json(v, output)));
    let piped = &came.decision.piped_output;
    note("piped_output", expected.piped_output.as_ref().and_then(|wanted| text(wanted, piped)));
    note("hooks", expected.hooks.as_ref().and_then(|wanted| hooks(wanted, came.reports)));
    if let Some(wanted) = &expected.files {
        note("files", files(wanted, came.touched));
        for (wanted, file) in with_content(wanted, came.touched) {
            let content = file.content.as_deref().unwrap_or_default();
            let what = format!("content of {}", file.path.display());
            note(&what, wanted.content.as_ref().and_then(|wanted| text(wanted, content)));
        }
    }
    found
}

fn reason_of(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Proceed { .. } => "",
        Verdict::Allow { reason, .. } | Verdict::Ask { reason, .. } => {
            reason.as_deref().unwrap_or_default()
        }
        Verdict::Block { reason } | Verdict::Stop { reason } | Verdict::Abort { reason } => reason,
    }
}

fn word(wanted: &str, came: &str) -> Option<Vec<DiffLine>> {
    (wanted != came).then(|| vec![DiffLine::Expected(wanted.into()), DiffLine::Came(came.into())])
}

fn text(wanted: &WantedText, came: &str) -> Option<Vec<DiffLine>> {
    if wanted.fits(came) {
        return None;
    }
    let came = if came.trim().is_empty() { "nothing" } else { came.trim_end() };
    let wanted_text = wanted.to_string();
    let exact = matches!(wanted, WantedText::Exactly(_));
    let (wanted, came): (Vec<&str>, Vec<&str>) =
        (wanted_text.lines().collect(), came.lines().collect());
    Some(line_diff(
        &wanted,
        &came,
        |a, b| exact && a == b,
        |line| (*line).into(),
        |line| (*line).into(),
    ))
}

fn texts(wanted: &[WantedText], came: &[String]) -> Option<Vec<DiffLine>> {
    let all_fit = wanted.len() == came.len()
        && wanted.iter().zip(came).all(|(wanted, came)| wanted.fits(came));
    (!all_fit).then(|| {
        let shown = |text: &String| text.trim_end().to_owned();
        let fits = |wanted: &WantedText, came: &String| wanted.fits(came);
        or_none(line_diff(wanted, came, fits, ToString::to_string, shown))
    })
}

fn json(wanted: &Value, came: Option<&Value>) -> Option<Vec<DiffLine>> {
    let came = came.unwrap_or(&Value::Null);
    if wanted == came {
        return None;
    }
    let pretty = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        value => format!("{value:#}"),
    };
    let (wanted, came) = (pretty(wanted), pretty(came));
    let (wanted, came): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), came.lines().collect());
    Some(line_diff(&wanted, &came, |a, b| a == b, |line| (*line).into(), |line| (*line).into()))
}

/// Skipped hooks count only if the expectation names the hook as skipped.
fn hooks(wanted: &[WantedHook], reports: &[Report]) -> Option<Vec<DiffLine>> {
    let named_as_skipped = |report: &Report| {
        wanted.iter().any(|hook| hook.id == report.id && hook.status == Some(Status::Skipped))
    };
    let came: Vec<&Report> = reports
        .iter()
        .filter(|report| report.status != Status::Skipped || named_as_skipped(report))
        .collect();
    let fits = |hook: &WantedHook, report: &&Report| {
        hook.id == report.id
            && hook
                .status
                .map_or(report.status != Status::Skipped, |status| status == report.status)
    };
    let all_fit = wanted.len() == came.len()
        && wanted.iter().zip(&came).all(|(hook, report)| fits(hook, report));
    let wanted_line = |hook: &WantedHook| match hook.status {
        Some(status) => format!("{}: {}", hook.id, status.as_str()),
        None => hook.id.clone(),
    };
    let came_line = |report: &&Report| format!("{}: {}", report.id, report.status.as_str());
    (!all_fit).then(|| or_none(line_diff(wanted, &came, fits, wanted_line, came_line)))
}

fn files(wanted: &[WantedFile], came: &[TouchedFile]) -> Option<Vec<DiffLine>> {
    let mut wanted: Vec<&WantedFile> = wanted.iter().collect();
    wanted.sort_by(|a, b| a.path.cmp(&b.path));
    let fits = |wanted: &&WantedFile, came: &TouchedFile| {
        wanted.path == came.path
            && wanted.touch.map_or(came.touch != FileChange::Deleted, |touch| touch == came.touch)
    };
    let all_fit = wanted.len() == came.len()
        && wanted.iter().zip(came).all(|(wanted, came)| fits(wanted, came));
    let wanted_line = |file: &&WantedFile| {
        let how = file.touch.map_or("created or changed", FileChange::as_str);
        format!("{}: {how}", file.path.display())
    };
    let came_line =
        |file: &TouchedFile| format!("{}: {}", file.path.display(), file.touch.as_str());
    (!all_fit).then(|| or_none(line_diff(&wanted, came, fits, wanted_line, came_line)))
}

/// An empty list is shown as such.
fn or_none(mut lines: Vec<DiffLine>) -> Vec<DiffLine> {
    if !lines.iter().any(|line| matches!(line, DiffLine::Expected(_) | DiffLine::Both(_))) {
        lines.insert(0, DiffLine::Expected("none".into()));
    }
    if !lines.iter().any(|line| matches!(line, DiffLine::Came(_) | DiffLine::Both(_))) {
        lines.push(DiffLine::Came("none".into()));
    }
    lines
}

fn with_content<'a>(
    wanted: &'a [WantedFile],
    came: &'a [TouchedFile],
) -> impl Iterator<Item = (&'a WantedFile, &'a TouchedFile)> {
    wanted.iter().filter_map(|wanted| {
        let is_it =
            |file: &&TouchedFile| file.path == wanted.path && file.touch != FileChange::Deleted;
        came.iter().find(is_it).map(|file| (wanted, file))
    })
}

#[cfg(test)]
mod tests;
