//! read: shows lines of a text file, with their numbers. Bounded whatever the file is: large, one long
//! line, not text, no file at all.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::file_session::{FileSession, Fingerprint, Fingerprinting};
use super::file_tool::{FileAccess, FileCall, FileTool};
use super::{ToolFailure, ToolOutput, input, spec};
use crate::limits::{
    BINARY_CHECK_BYTES, READ_BYTES_MAX, READ_LINE_BYTES_MAX, READ_LINES, READ_SCAN_BYTES_MAX,
};

pub(super) fn tool(session: Arc<FileSession>) -> FileTool {
    let spec = spec(
        "read",
        "Shows a text file with line numbers. Without offset and limit it shows the first 2000 \
         lines of a file of up to 256 KiB; with them, a part of any file. Read a file before you \
         change it.",
        &["file_path"],
        json!({
            "file_path": { "type": "string", "minLength": 1, "description": "The file." },
            "offset": {
                "type": "integer", "minimum": 0,
                "description": "The first line to show, counted from 1.",
            },
            "limit": {
                "type": "integer", "minimum": 1, "description": "How many lines to show.",
            },
        }),
    );
    FileTool { spec, session, access: FileAccess::Read, path_field: "file_path", work: read }
}

/// The lines that are asked for.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    first: u64,
    count: u64,
}

fn read(call: &FileCall<'_>) -> Result<ToolOutput, ToolFailure> {
    let FileCall { session, input, judged, cancel } = call;
    let located = session.to_read(input::needed(input, "file_path")?, judged)?;
    let (file, path) = (located.open_file()?, located.path());
    let shown = session.shown(path);
    let (offset, limit) = (input::number(input, "offset"), input::number(input, "limit"));
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let wanted =
        Wanted { first: offset.unwrap_or(1).max(1), count: limit.unwrap_or(READ_LINES as u64) };
    let mut lines = ShownLines::new(wanted, session.fingerprinting());
    let too_large = bytes > READ_BYTES_MAX as u64 && offset.is_none() && limit.is_none();
    lines.take(file, cancel, too_large.then_some(BINARY_CHECK_BYTES as u64)).map_err(|stop| {
        match stop {
            Stop::Cancelled => ToolFailure::Interrupted,
            Stop::Binary => ToolFailure::Because(format!(
                "`{shown}` is a binary file of {bytes} bytes, which cannot be shown as text: use \
                 bash with a program that knows its format"
            )),
            Stop::System(error) => ToolFailure::Because(format!("cannot read `{shown}`: {error}")),
        }
    })?;
    if too_large {
        return Err(ToolFailure::Because(format!(
            "`{shown}` has {bytes} bytes, more than the {READ_BYTES_MAX} that are shown at once: \
             read a part of it with offset and limit, or search it with grep"
        )));
    }
    if let Some(fingerprint) = lines.fingerprint() {
        session.remember(path, fingerprint);
    }
    Ok(report(&lines, wanted, path))
}

fn report(lines: &ShownLines, wanted: Wanted, path: &Path) -> ToolOutput {
    let count = lines.shown.len() as u64;
    let response = json!({
        "type": "text",
        "file": {
            "filePath": path.to_string_lossy(),
            "content": lines.shown.join("\n"),
            "numLines": count,
            "startLine": wanted.first,
            "totalLines": lines.number,
        },
    });
    let mut text = String::new();
    let end_of_file = wanted.first + count > lines.number;
    let empty_end = lines.shown.last().is_some_and(String::is_empty) && end_of_file;
    // The last line break of a file begins no line that a person would count.
    let numbered = lines.shown.len() - usize::from(empty_end);
    for (number, line) in (wanted.first..).zip(&lines.shown[..numbered]) {
        text.push_str(&format!("{number}\t{line}\n"));
    }
    for note in notes(lines, wanted, count, end_of_file) {
        text.push_str(&format!("({note})\n"));
    }
    text.truncate(text.trim_end_matches('\n').len());
    ToolOutput { response, text }
}

fn notes(lines: &ShownLines, wanted: Wanted, count: u64, end_of_file: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if lines.bytes == 0 {
        notes.push("the file is empty".to_owned());
    } else if count == 0 {
        let (total, first) = (lines.number, wanted.first);
        notes.push(format!("the file has {total} lines, so there is no line {first}"));
    } else if !end_of_file {
        let next = wanted.first + count;
        let total = lines.number;
        notes.push(format!(
            "lines {} to {} of {total}; go on with offset {next}",
            wanted.first,
            next - 1
        ));
    }
    if lines.cut_lines > 0 {
        notes.push(format!(
            "{} lines are longer than {READ_LINE_BYTES_MAX} bytes and are cut",
            lines.cut_lines
        ));
    }
    if !lines.is_utf8 {
        notes.push(
            "the file is not valid UTF-8: what cannot be read is shown as \u{fffd}. write and edit \
             refuse it; change it with a command that keeps its encoding"
                .to_owned(),
        );
    }
    if !lines.complete {
        notes.push(format!("only the first {} bytes of the file were looked at", lines.bytes));
    }
    notes
}

/// Why reading stopped.
enum Stop {
    Cancelled,
    Binary,
    System(std::io::Error),
}

/// The lines of a file while it is read. Only what is shown is kept.
struct ShownLines {
    wanted: Wanted,
    fingerprinting: Fingerprinting,
    shown: Vec<String>,
    shown_bytes: usize,
    /// The number of the line that is being read.
    number: u64,
    /// Its beginning.
    line: Vec<u8>,
    line_bytes: u64,
    cut_lines: u64,
    is_utf8: bool,
    bytes: u64,
    /// The whole file was read.
    complete: bool,
}

impl ShownLines {
    fn new(wanted: Wanted, fingerprinting: Fingerprinting) -> Self {
        Self {
            wanted,
            fingerprinting,
            shown: Vec::new(),
            shown_bytes: 0,
            number: 1,
            line: Vec::new(),
            line_bytes: 0,
            cut_lines: 0,
            is_utf8: true,
            bytes: 0,
            complete: false,
        }
    }

    fn take(
        &mut self,
        mut file: File,
        cancel: &CancellationToken,
        bytes_max: Option<u64>,
    ) -> Result<(), Stop> {
        let bytes_max = bytes_max.unwrap_or(READ_SCAN_BYTES_MAX);
        let mut chunk = vec![0; 64 * 1024];
        while self.bytes < bytes_max {
            if cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let read = match file.read(&mut chunk) {
                Ok(0) => {
                    self.complete = true;
                    break;
                }
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Stop::System(error)),
            };
            let unchecked =
                BINARY_CHECK_BYTES.saturating_sub(self.bytes.try_into().unwrap_or(usize::MAX));
            if chunk[..read.min(unchecked)].contains(&0) {
                return Err(Stop::Binary);
            }
            self.bytes += read as u64;
            self.fingerprinting.add(&chunk[..read]);
            self.push(&chunk[..read]);
        }
        self.end_line();
        Ok(())
    }

    fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend_line(&bytes[..end]);
            self.end_line();
            self.number += 1;
            bytes = &bytes[end + 1..];
        }
        self.extend_line(bytes);
    }

    fn is_wanted(&self) -> bool {
        let Wanted { first, count } = self.wanted;
        (first..first.saturating_add(count)).contains(&self.number)
            && self.shown_bytes < READ_BYTES_MAX
            // Nothing behind the first line that did not fit.
            && self.shown.len() as u64 == self.number - first
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        self.line_bytes += bytes.len() as u64;
        if self.is_wanted() {
            // A character more than is shown, so that the cut can go between two.
            let room = (READ_LINE_BYTES_MAX + 4).saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            let line = self.shown_line();
            self.shown_bytes += line.len() + 1;
            self.shown.push(line);
        }
        self.line.clear();
        self.line_bytes = 0;
    }

    fn shown_line(&mut self) -> String {
        let is_long = self.line_bytes > (READ_LINE_BYTES_MAX + 4) as u64;
        if !is_long {
            let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
            self.is_utf8 &= std::str::from_utf8(line).is_ok();
            return String::from_utf8_lossy(line).into_owned();
        }
        let mut end = READ_LINE_BYTES_MAX;
        // Back to the beginning of a character.
        while end > READ_LINE_BYTES_MAX - 4 && self.line[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        let line = &self.line[..end];
        self.is_utf8 &= std::str::from_utf8(line).is_ok();
        self.cut_lines += 1;
        let rest = self.line_bytes - end as u64;
        format!("{}… [{rest} more bytes]", String::from_utf8_lossy(line))
    }

    /// What tells this content from another, if the whole of it is known.
    fn fingerprint(&self) -> Option<Fingerprint> {
        self.complete.then(|| self.fingerprinting.finish())
    }
}
