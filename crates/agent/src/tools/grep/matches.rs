//! What a search keeps of its files: lines, names or counts, within the limits.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};
use serde_json::{Value, json};

use super::super::file_session::FileSession;
use super::super::newest::Newest;
use super::with_limit;
use crate::limits::{GREP_BYTES_MAX, GREP_LINE_BYTES_MAX};

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The lines that match.
    Content { numbers: bool },
    /// The files with such lines.
    Files,
    /// How many such lines there are in each file.
    Count,
}

/// What was found in all files.
pub(super) struct Results {
    mode: Mode,
    /// Entries to leave out first.
    offset: usize,
    limit: usize,
    /// Lines of content, or counts.
    lines: Vec<String>,
    bytes: usize,
    files: Newest,
    /// How many entries there were, shown or not.
    seen: usize,
    matches: u64,
    files_with_matches: usize,
    cut_off: bool,
}

impl Results {
    pub(super) fn new(mode: Mode, offset: usize, limit: usize) -> Self {
        Self {
            mode,
            offset,
            limit,
            lines: Vec::new(),
            bytes: 0,
            files: Newest::new(offset.saturating_add(limit).saturating_add(1)),
            seen: 0,
            matches: 0,
            files_with_matches: 0,
            cut_off: false,
        }
    }

    /// Nothing that follows would be shown.
    pub(super) fn is_full(&self) -> bool {
        self.cut_off
    }

    /// Adds a line, unless it is before the offset or behind the limit.
    fn add_line(&mut self, line: String) {
        self.seen += 1;
        if self.seen <= self.offset {
            return;
        }
        if self.lines.len() >= self.limit || self.bytes + line.len() > GREP_BYTES_MAX {
            self.cut_off = true;
            return;
        }
        self.bytes += line.len() + 1;
        self.lines.push(line);
    }

    /// A file has been searched.
    pub(super) fn end_of_file(
        &mut self,
        path: &Path,
        shown: &str,
        matches: u64,
        modified: Option<SystemTime>,
    ) {
        if matches == 0 {
            return;
        }
        self.matches += matches;
        self.files_with_matches += 1;
        match self.mode {
            Mode::Content { .. } => {}
            Mode::Count => self.add_line(format!("{shown}:{matches}")),
            Mode::Files => self.files.add(path, modified),
        }
    }

    pub(super) fn into_response(self, session: &FileSession, notes: &[String]) -> (Value, String) {
        match self.mode {
            Mode::Files => self.files_response(session, notes),
            Mode::Content { .. } => {
                let response = json!({
                    "mode": "content",
                    "numFiles": 0,
                    "filenames": [],
                    "content": self.lines.join("\n"),
                    "numLines": self.lines.len(),
                });
                let response = with_limit(response, self.cut_off.then_some(self.limit));
                (response, text(self.lines, self.cut_off, notes))
            }
            Mode::Count => {
                let response = json!({
                    "mode": "count",
                    "numFiles": self.files_with_matches,
                    "filenames": [],
                    "content": self.lines.join("\n"),
                    "numMatches": self.matches,
                });
                let response = with_limit(response, self.cut_off.then_some(self.limit));
                (response, text(self.lines, self.cut_off, notes))
            }
        }
    }

    fn files_response(mut self, session: &FileSession, notes: &[String]) -> (Value, String) {
        let files = std::mem::replace(&mut self.files, Newest::new(0));
        for path in files.into_paths() {
            self.add_line(session.shown(&path));
        }
        let response = json!({
            "mode": "files_with_matches",
            "filenames": self.lines,
            "numFiles": self.lines.len(),
        });
        let response = with_limit(response, self.cut_off.then_some(self.limit));
        (response, text(self.lines, self.cut_off, notes))
    }
}

fn text(mut lines: Vec<String>, cut_off: bool, notes: &[String]) -> String {
    if lines.is_empty() {
        lines.push("no matches found".to_owned());
    }
    if cut_off {
        lines.push("(there is more: narrow the search, or go on with offset)".to_owned());
    }
    lines.extend(notes.iter().map(|note| format!("({note})")));
    lines.join("\n")
}

/// What is found in one file.
pub(super) struct FileMatches<'a> {
    results: &'a mut Results,
    shown: &'a str,
    count: u64,
}

impl<'a> FileMatches<'a> {
    pub(super) fn new(results: &'a mut Results, shown: &'a str) -> Self {
        Self { results, shown, count: 0 }
    }

    /// How many lines matched.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    fn line(&mut self, separator: char, number: Option<u64>, bytes: &[u8]) {
        let Mode::Content { numbers } = self.results.mode else { return };
        let line = shortened(bytes);
        let number = number.filter(|_| numbers).map(|number| format!("{number}{separator}"));
        let number = number.unwrap_or_default();
        self.results.add_line(format!("{}{separator}{number}{line}", self.shown));
    }
}

impl Sink for FileMatches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        for (line, number) in found.lines().zip(found.line_number().unwrap_or(1)..) {
            self.count += 1;
            self.line(':', Some(number), line);
        }
        // One match is enough to name a file.
        Ok(self.results.mode != Mode::Files && !self.results.cut_off)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        match context.kind() {
            SinkContextKind::Before | SinkContextKind::After | SinkContextKind::Other => {
                self.line('-', context.line_number(), context.bytes());
            }
        }
        Ok(!self.results.cut_off)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if matches!(self.results.mode, Mode::Content { .. }) {
            self.results.add_line("--".to_owned());
        }
        Ok(!self.results.cut_off)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> io::Result<()> {
        Ok(())
    }
}

fn shortened(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= GREP_LINE_BYTES_MAX {
        return String::from_utf8_lossy(line).into_owned();
    }
    let mut end = GREP_LINE_BYTES_MAX;
    while end > 0 && line[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let rest = line.len() - end;
    format!("{}… [{rest} more bytes]", String::from_utf8_lossy(&line[..end]))
}
